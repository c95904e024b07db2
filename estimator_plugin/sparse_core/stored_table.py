"""A logical table out of a Saver's checkpoint, read while a graph runs: one function for all."""

import tensorflow as tf

from . import layout, sharding
from .layout import Placement


@tf.function(
    input_signature=[tf.TensorSpec([], tf.string)] * 5 + [tf.TensorSpec([2], tf.int32)],
    autograph=False,
)
def stored_table(path, serialized, table_name, prefix, ending, shape):
    """The values of a table, or of a slot of it.

    Args:
      path: scalar string, the checkpoint's prefix.
      serialized: scalar string, the layouts in the checkpoint; the table is there.
      table_name: scalar string.
      prefix: scalar string, what comes before the name of a stack in the names of variables.
      ending: scalar string, what comes after it: "" or "/<slot>".
      shape: int32 [2], the shape that the table must have.

    Returns:
      float32 of that shape.

    Raises:
      tf.errors.InvalidArgumentError: when run, the table has another shape.
      tf.errors.NotFoundError: when run, the checkpoint has no such variable.
    """
    columns = layout.decoded(serialized)
    index = tf.argmax(tf.cast(tf.equal(columns["table_name"], table_name), tf.int32))
    fields = {name: values[index] for name, values in columns.items()}
    there = tf.cast(fields["unsharded_shape"], tf.int32)
    place = _placement_of(fields, there)
    message = ["table", table_name, "has shape", shape, "in the program, in the checkpoint", there]
    with tf.control_dependencies(
        [tf.debugging.Assert(tf.reduce_all(tf.equal(shape, there)), message)]
    ):
        name = tf.strings.join([prefix, fields["stacked_table_name"], ending])
    return sharding.table_of_block(place, _block(path, name, place))


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
