"""How tables join `tf.compat.v1.train.Saver`, that of an Estimator included.

A checkpoint has, by name, `<stack>` and `<stack>/<slot>`, whole and shard-major, and the layouts in
`_sparse_core_table_layouts`. A Saver restores each tensor from the name it was saved under; tables
come from wherever the layouts in the checkpoint say, which is known only when the restore runs. So
each variable says how it is saved, and the layouts alone say how all are restored.
"""

import tensorflow as tf

from .. import tf_compat
from . import layout, restoring, sharding
from .layout import Placement
from .variables import slots_of, variable_name


class VariableSaveable(tf_compat.SaveableObject):
    """Saves one variable; restoring is LayoutsSaveable's.

    Args:
      state: the SavedVariable.
    """

    def __init__(self, state):
        self.op = state.variable.handle
        self.name = state.checkpoint_name
        self._state = state
        self._is_saved = False
        self._spec = tf_compat.SaveSpec(
            self._read, "", self.name, dtype=tf.float32, device=state.variable.device
        )

    @property
    def specs(self):
        """The variable, until a Saver has put it into its save; from then on nothing.

        A Saver saves `specs` and then restores `specs`, by name; in a checkpoint of another
        stacking there may be no such name, and reading it would fail.
        """
        return [] if self._is_saved else [self._spec]

    @property
    def device(self):
        return self._state.variable.device

    def restore(self, restored_tensors, restored_shapes):
        del restored_tensors, restored_shapes
        return tf.no_op()

    def _read(self):
        self._is_saved = True
        return self._state.read()


class LayoutsSaveable(tf_compat.SaveableObject):
    """Saves the layouts, and restores all tables of an embedding by them.

    Args:
      plan: plan.Plan.
      assign: callable (stack name, slot, tensor) that returns the operation that restores it.
      prefix: str before the names in a checkpoint.
    """

    def __init__(self, plan, assign, prefix):
        self._plan = plan
        self._assign = assign
        self._prefix = prefix
        self._own = layout.serialized(plan.layouts.values())
        self.op = tf.constant(self._own, name="sparse_core_table_layouts")
        self.name = prefix + layout.CHECKPOINT_NAME
        self.specs = [tf_compat.SaveSpec(self.op, "", self.name, dtype=tf.string)]

    def restore(self, restored_tensors, restored_shapes):
        """The operation that restores every table.

        Raises:
          ValueError: the tensors do not come from a checkpoint on disk.
        """
        del restored_shapes
        serialized = restored_tensors[0]
        reader = serialized.op
        if reader.type != "RestoreV2":
            raise ValueError(
                "%s: tables are restored from checkpoints only, got a tensor of %s"
                % (self.name, reader.type)
            )
        checkpoint = _Checkpoint(reader.inputs[0], serialized, self._prefix)
        assigned = []
        with tf.control_dependencies([checkpoint.checked(self._plan)]):
            is_same = tf.equal(serialized, self._own)
        for stack in self._plan.stacks.values():
            for slot in slots_of(stack):
                value = tf.cond(
                    is_same,
                    lambda stack=stack, slot=slot: checkpoint.variable(stack, slot),
                    lambda stack=stack, slot=slot: checkpoint.resharded(stack, slot),
                )
                assigned.append(self._assign(stack.name, slot, value))
        return tf.group(*assigned)


class _Checkpoint:
    """A checkpoint that is read while a graph runs.

    Args:
      path: scalar string tensor.
      serialized: scalar string tensor, the layouts in it.
      prefix: str before the names in it.
    """

    def __init__(self, path, serialized, prefix):
        self._path = path
        self._prefix = prefix
        self._fields = layout.decoded(serialized)

    def checked(self, plan):
        """An operation that fails unless the checkpoint has a table of the plan, or more."""
        there = self._fields["table_name"]
        common = [tf.reduce_any(tf.equal(there, name)) for name in plan.layouts]
        wanted = ", ".join(sorted(plan.layouts))
        return tf.debugging.Assert(
            tf.reduce_any(tf.stack(common)),
            ["the checkpoint has none of the tables %s; it has" % wanted, there],
            summarize=100,
        )

    def variable(self, stack, slot):
        """A variable as this program has it."""
        name = self._prefix + variable_name(stack.name, slot)
        return tf.ensure_shape(self._read(name, ""), [stack.rows, stack.width])

    def resharded(self, stack, slot):
        """A variable, put together of its tables."""
        blocks = []
        for stacked in stack.tables:
            is_name = tf.equal(self._fields["table_name"], stacked.table.name)
            block = tf.cond(
                tf.reduce_any(is_name),
                lambda is_name=is_name, stacked=stacked: self._block(is_name, stacked, slot),
                lambda stacked=stacked: restoring.starting_block(stack, stacked, slot),
            )
            place = stacked.placement
            blocks.append(tf.ensure_shape(block, [place.num_shards, place.rows, place.width]))
        return sharding.variable_of_blocks([s.placement for s in stack.tables], blocks)

    def _block(self, is_name, stacked, slot):
        """A table's block for this program, out of wherever the checkpoint has it."""
        index = tf.argmax(tf.cast(is_name, tf.int32))
        fields = {name: values[index] for name, values in self._fields.items()}
        shape = tf.cast(fields["unsharded_shape"], tf.int32)
        with tf.control_dependencies([_same_shape(stacked, shape)]):
            place = _placement_of(fields, shape)
        ending = variable_name("", slot)  # What follows the name of a stack.
        name = tf.strings.join([self._prefix, fields["stacked_table_name"], ending])
        source = self._source_block(name, place)
        return sharding.block_of_table(stacked.placement, sharding.table_of_block(place, source))

    def _source_block(self, name, place):
        """The block [N, rows, width] in the checkpoint: a slice of each shard."""
        rows = place.num_shards * place.shard_rows

        def shard(index):
            first = index * place.shard_rows + place.row_offset
            text = [tf.strings.as_string(n) for n in (rows, place.width, first, place.rows)]
            spec = tf.strings.join(
                [text[0], " ", text[1], " ", text[2], ",", text[3], ":0,", text[1]]
            )
            return self._read(name, spec)

        return tf.map_fn(shard, tf.range(place.num_shards), fn_output_signature=tf.float32)

    def _read(self, name, spec):
        names, specs = tf.reshape(name, [1]), tf.reshape(spec, [1])
        (value,) = tf.raw_ops.RestoreV2(
            prefix=self._path, tensor_names=names, shape_and_slices=specs, dtypes=[tf.float32]
        )
        return value


def _same_shape(stacked, shape):
    rows, columns = stacked.placement.shape
    return tf.debugging.Assert(
        tf.reduce_all(tf.equal(shape, [rows, columns])),
        [
            "table %r: the program has shape (%d, %d), the checkpoint"
            % (stacked.table.name, rows, columns),
            shape,
        ],
    )


def _placement_of(fields, shape):
    """The Placement of a table in the checkpoint, in scalar int32 tensors."""
    padded = tf.cast(tf.identity(fields["unsharded_padded_shape"]), tf.int32)
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
