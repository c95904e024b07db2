"""How tables join `tf.train.Checkpoint`: keys as upstream's, restored by logical table.

    <path>/<stack>/.ATTRIBUTES/VARIABLE_VALUE         [rows, width], shard-major
    <path>/<stack>.S<slot>/.ATTRIBUTES/VARIABLE_VALUE
    <path>/_sparse_core_table_layouts/...             the layouts, serialized

TensorFlow restores an object's children by name, each into the object that `_lookup_dependency`
gives. A checkpoint of another stacking has other children: whatever it has is received, and once
all is there the tables are put together.
"""

import tensorflow as tf

from .. import tf_compat
from . import layout, restoring


class Receiver(tf_compat.Trackable):
    """Takes one tensor of a checkpoint for a Restore."""

    def __init__(self, restore, name):
        self._restore = restore
        self._name = name

    def _serialize_to_tensors(self):
        self._restore.expect(self._name)
        return {tf_compat.VARIABLE_VALUE: tf.zeros([])}

    def _restore_from_tensors(self, restored):
        return self._restore.receive(self._name, restored[tf_compat.VARIABLE_VALUE])


class LayoutsState(tf.train.experimental.PythonState):
    """The layouts in a checkpoint. They are read before any tensor is, when restoring is set up.

    Args:
      layouts: iterable of SparseCoreTableLayout, what is saved.

    Attributes:
      restore: the Restore that gets what is read, or None.
    """

    def __init__(self, layouts):
        self._serialized = layout.serialized(layouts)
        self.restore = None

    def serialize(self):
        """What a checkpoint gets: bytes."""
        return self._serialized

    def deserialize(self, string_value):
        """Passes on what a checkpoint has."""
        if self.restore is not None:
            self.restore.layouts = layout.parsed(string_value)

    def _serialize_to_tensors(self):
        return {tf_compat.VARIABLE_VALUE: tf.constant(self._serialized)}


class Restore:
    """One restoring of an embedding's tables.

    Args:
      plan: plan.Plan.
      assign: callable (stack name, slot, tensor) that returns the operation that restores it.
      children: the dict that TensorFlow passes along while it restores one object once: what tells
        restores apart.
      done: callable, called once everything is restored.

    Attributes:
      layouts: OrderedDict table name -> SparseCoreTableLayout that the checkpoint has; None until
        they are read, and where it has none.
    """

    def __init__(self, plan, assign, children, done):
        self._plan = plan
        self._done = done
        self._assign = assign
        self._children = children
        self._missing = set()
        self._tensors = {}
        self.layouts = None

    def is_of(self, children):
        """Whether it is the restoring that `children` belongs to."""
        return self._children is children

    def expect(self, name):
        """Says that `receive` will be called for `name`. All names come before any tensor."""
        self._missing.add(name)

    def receive(self, name, tensor):
        """Takes a tensor; the last one restores. The operation that does, or None."""
        self._tensors[name] = tensor
        self._missing.discard(name)
        if self._missing:
            return None
        source = restoring.Source(self.layouts, self._tensors)
        assigned = [self._assign(*value) for value in source.values(self._plan)]
        self._done()
        return None if tf.executing_eagerly() else tf.group(*assigned)
