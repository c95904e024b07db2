"""SavedVariable: a variable of a stack as checkpoints and collections see it."""

import tensorflow as tf

from .. import tf_compat
from .saver_checkpoint import VariableSaveable


class SavedVariable(tf_compat.Trackable):
    """Stands for a variable where savers look for variables.

    A Saver would save and restore a tf.Variable as it is; this it asks how. In the collection of
    global variables it is in the variable's place, and is otherwise as good as the variable: all
    attributes that it lacks are the variable's.

    Args:
      variable: the tf.Variable.
      checkpoint_name: str, its name in a Saver's checkpoint.
      flush: callable that returns the operations to run before the variable is saved.

    Attributes:
      variable, checkpoint_name: as above.
      layouts: callable that makes the LayoutsSaveable of the embedding; None but for one variable.
      receiver: the object_checkpoint.Receiver of the restoring that goes on, or of the last one.
    """

    def __init__(self, variable, checkpoint_name, flush):
        self.variable = variable
        self.checkpoint_name = checkpoint_name
        self.layouts = None
        self.receiver = None
        self._flush = flush

    def __getattr__(self, name):
        if name == "variable" or name.startswith("_self_"):  # Not set yet; Trackable tries them.
            raise AttributeError(name)
        return getattr(self.variable, name)

    def read(self):
        """The variable's value as it is saved: every update is in it."""
        with tf.control_dependencies(self._flush()):
            return getattr(self.variable, "read_value_no_copy", self.variable.read_value)()

    def _serialize_to_tensors(self):
        spec = tf_compat.SaveSpec(self.read, "", "", dtype=tf.float32, device=self.variable.device)
        return {tf_compat.VARIABLE_VALUE: spec}

    def _restore_from_tensors(self, restored):
        return self.receiver._restore_from_tensors(restored)

    def _gather_saveables_for_checkpoint(self):
        saveables = {"variable": lambda name="": VariableSaveable(self)}
        if self.layouts is not None:
            saveables["layouts"] = lambda name="": self.layouts()
        return saveables
