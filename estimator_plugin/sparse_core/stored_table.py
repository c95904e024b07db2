"""The tables of a Saver's checkpoint, read while a graph runs, as a variable wants them.

One function puts any variable together, table after table: a graph has one call of it for each
variable, however many tables there are.
"""

import tensorflow as tf

from . import layout, sharding
from .layout import Placement
from .variables import variable_name

_STRING = tf.TensorSpec([], tf.string)


def shards_of(stack, slot, names, path, serialized, prefix, starting):
    """`restacked` for a variable of a stack.

    Args:
      stack: plan.Stack.
      slot: str, a slot or PARAMETERS.
      names: list of str, the names of the stack's tables in the checkpoint.
      path, serialized, starting: as there.
      prefix: str, as there.
    """
    places = [stacked.placement for stacked in stack.tables]
    return restacked(
        path,
        serialized,
        tf.constant(prefix),
        tf.constant(variable_name("", slot)),  # What follows the name of a stack.
        tf.constant(names),
        tf.constant([place.shape for place in places], tf.int32),
        tf.constant(_spans(places), tf.int32),
        starting,
    )


def _spans(places):
    """The `places` of `restacked`: (rows, offset, rotation, before, after)."""
    spans, end = [], 0
    for place in places:
        spans.append([place.rows, place.row_offset, place.rotation, place.row_offset - end, 0])
        end = place.row_offset + place.rows
    spans[-1][-1] = places[-1].shard_rows - end
    return spans


@tf.function(
    input_signature=[
        _STRING,
        _STRING,
        _STRING,
        _STRING,
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([None, 2], tf.int32),
        tf.TensorSpec([None, 5], tf.int32),
        tf.TensorSpec([None, None, None], tf.float32),
    ],
    autograph=False,
)
def restacked(path, serialized, prefix, ending, names, shapes, places, starting):
    """The values of a variable, put together of its tables.

    Args:
      path: scalar string, the checkpoint's prefix.
      serialized: scalar string, the layouts in the checkpoint.
      prefix: scalar string, what comes before the name of a stack in the names of variables.
      ending: scalar string, what comes after it: "" or "/<slot>".
      names: string [T], the variable's tables by row offset.
      shapes: int32 [T, 2], their logical shapes.
      places: int32 [T, 5]: rows in a shard, first of them, rotation, and how many rows without a
        table come before and after.
      starting: float32 [N, rows of a shard, width], what tables start from that the checkpoint
        lacks; [N, 0, width] if it lacks none.

    Returns:
      float32 [N, rows of a shard, width].

    Raises:
      tf.errors.InvalidArgumentError: when run, a table has another shape.
      tf.errors.NotFoundError: when run, the checkpoint has no such variable.
    """
    columns = layout.decoded(serialized)
    num_shards, width = tf.shape(starting)[0], tf.shape(starting)[2]

    def block(t):
        rows, offset, rotation, before, after = tf.unstack(places[t])
        place = Placement(num_shards, 0, rows, offset, rotation, tf.unstack(shapes[t]), width)
        is_name = tf.equal(columns["table_name"], names[t])

        def restored():
            fields = {
                name: values[tf.argmax(tf.cast(is_name, tf.int32))]
                for name, values in columns.items()
            }
            table = _table(path, prefix, ending, names[t], shapes[t], fields)
            return sharding.block_of_table(place, table)

        def started():
            return starting[:, offset : offset + rows, :]

        made = tf.cond(tf.reduce_any(is_name), restored, started)
        return tf.transpose(tf.pad(made, [[0, 0], [before, after], [0, 0]]), [1, 0, 2])

    count = tf.shape(names)[0]
    blocks = tf.TensorArray(tf.float32, count, infer_shape=False, element_shape=[None, None, None])
    _, blocks = tf.while_loop(
        lambda t, unused_blocks: t < count,
        lambda t, blocks: (t + 1, blocks.write(t, block(t))),
        (0, blocks),
        parallel_iterations=1,  # One table at a time is in memory twice.
    )
    return tf.transpose(blocks.concat(), [1, 0, 2])


def _table(path, prefix, ending, name, shape, fields):
    """A logical table [V, D]; `fields` are those of its layout in the checkpoint."""
    there = tf.cast(fields["unsharded_shape"], tf.int32)
    message = ["table", name, "has shape", shape, "in the program, in the checkpoint", there]
    is_same = tf.reduce_all(tf.equal(shape, there))
    with tf.control_dependencies([tf.debugging.Assert(is_same, message)]):
        variable = tf.strings.join([prefix, fields["stacked_table_name"], ending])
    place = _placement_of(fields, there)
    return sharding.table_of_block(place, _block(path, variable, place))


def read(path, name, spec):
    """The float32 tensor `name` of a checkpoint, or the slice `spec` of it."""
    names, specs = tf.reshape(name, [1]), tf.reshape(spec, [1])
    (value,) = tf.raw_ops.RestoreV2(
        prefix=path, tensor_names=names, shape_and_slices=specs, dtypes=[tf.float32]
    )
    return value


def _block(path, name, place):
    """The block [N, rows, width] of a table: a slice of each shard."""

    def shard(index):
        first = index * place.shard_rows + place.row_offset
        numbers = (place.num_shards * place.shard_rows, place.width, first, place.rows)
        rows, width, first, count = [tf.strings.as_string(number) for number in numbers]
        return read(path, name, tf.strings.join([rows, " ", width, " ", first, ",", count, ":-"]))

    return tf.map_fn(shard, tf.range(place.num_shards), fn_output_signature=tf.float32)


def _placement_of(fields, shape):
    """The Placement of a table in the checkpoint, in scalar int32 tensors."""
    padded = tf.cast(fields["unsharded_padded_shape"], tf.int32)
    shards = fields["num_sparse_cores"]
    return Placement(
        shards,
        tf.cast(fields["total_rows_per_sparse_core_shard"], tf.int32),
        padded[0] // shards,
        fields["sparse_core_shard_row_offset"],
        fields["sparse_core_shard_rotation"],
        (shape[0], shape[1]),
        padded[1],
    )
