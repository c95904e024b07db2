"""How tables join `tf.compat.v1.train.Saver`, that of an Estimator included.

A checkpoint has, by name, `<stack>` and `<stack>/<slot>`, whole and shard-major, and the layouts in
`_sparse_core_table_layouts`. A Saver restores each tensor from the name it was saved under; tables
come from wherever the layouts in the checkpoint say, which is known only when the restore runs. So
each variable says how it is saved, and the layouts alone say how all are restored.
"""

import tensorflow as tf

from .. import tf_compat
from . import layout, restoring, stored_table
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
        self._serialized = serialized
        self._prefix = prefix
        self._names = layout.decoded(serialized)["table_name"]

    def checked(self, plan):
        """An operation that fails unless the checkpoint has a table of the plan, or more."""
        common = [self._has(name) for name in plan.layouts]
        wanted = ", ".join(sorted(plan.layouts))
        return tf.debugging.Assert(
            tf.reduce_any(tf.stack(common)),
            ["the checkpoint has none of the tables %s; it has" % wanted, self._names],
            summarize=100,
        )

    def variable(self, stack, slot):
        """A variable as this program has it."""
        value = stored_table.read(self._path, self._prefix + variable_name(stack.name, slot), "")
        return tf.ensure_shape(value, [stack.rows, stack.width])

    def resharded(self, stack, slot):
        """A variable, put together of its tables."""
        first = stack.tables[0].placement
        shape = [first.num_shards, first.shard_rows, first.width]
        starting = tf.cond(
            tf.reduce_all(tf.stack([self._has(stacked.table.name) for stacked in stack.tables])),
            lambda: tf.zeros([first.num_shards, 0, first.width]),
            lambda: tf.reshape(restoring.starting_values(stack, slot), shape),
        )
        names = [stacked.table.name for stacked in stack.tables]
        shards = stored_table.shards_of(
            stack, slot, names, self._path, self._serialized, self._prefix, starting
        )
        return tf.reshape(tf.ensure_shape(shards, shape), [stack.rows, stack.width])

    def _has(self, table_name):
        return tf.reduce_any(tf.equal(self._names, table_name))
