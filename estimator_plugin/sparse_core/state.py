"""State: what an embedding has once it is built, its variables and what saves and restores them."""

import tensorflow as tf

from .. import graph_state, validate
from .layout import CHECKPOINT_NAME
from .object_checkpoint import LayoutsState, Receiver, Restore
from .pipelining import Pipeline
from .saved_variable import SavedVariable
from .saver_checkpoint import LayoutsSaveable
from .variables import TableVariables, slots_of, variable_name
from .warm_starting import WarmStarter

_COLLECTION = "estimator_plugin_sparse_core_names"


class State:
    """The variables of an embedding, made where it is made.

    Args:
      plan: plan.Plan.
      config: SparseCoreEmbeddingConfig.
      name: str or None, the embedding's name.
      is_pipelined: bool.
      draw: False where a restore is about to give all values. What it does not give, as it fails,
        `draw` gives; eagerly only: in a graph initializers run when they are told to.

    Attributes:
      variables: OrderedDict stack name -> OrderedDict slot -> tf.Variable.
      pipeline: pipelining.Pipeline or None.
      children: dict by which checkpoints know the variables and the layouts.

    Raises:
      ValueError: another embedding of the graph has this name.
    """

    def __init__(self, plan, config, name, is_pipelined, draw=True):
        self._plan = plan
        self._restore = None
        prefix = "" if name is None else name + "/"
        with tf.init_scope(), tf.compat.v1.name_scope(None):
            if not tf.executing_eagerly():
                _take_name(name)
                _check_free(prefix, plan)
            self._is_drawn = draw or not tf.executing_eagerly()
            fast = config.enable_fast_table_initialization
            self._made = TableVariables(plan, fast, prefix, self._is_drawn)
            self.variables = self._made.of_stack
            self.pipeline = Pipeline(plan, self.variables, prefix) if is_pipelined else None
            self._layouts = LayoutsState(plan.layouts.values())
            self._saved = {}
            for stack_name, variables in self.variables.items():
                for slot, variable in variables.items():
                    name = variable_name(stack_name, slot)
                    self._saved[name] = SavedVariable(variable, prefix + name, self._flush)
            next(iter(self._saved.values())).layouts = lambda: LayoutsSaveable(
                plan, self._assign, prefix
            )
            if not tf.executing_eagerly():
                for saved in self._saved.values():
                    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, saved)
                graph_state.of().stacked.append(WarmStarter(plan, self.variables, prefix))
        self.children = dict(self._saved)
        self.children[CHECKPOINT_NAME] = self._layouts

    def receiver_of(self, name, children):
        """What TensorFlow restores the child `name` of the embedding into.

        Args:
          name: str, a child of the embedding that was saved.
          children: see object_checkpoint.Restore.
        """
        if self._restore is None or not self._restore.is_of(children):
            self._restore = Restore(self._plan, self._assign, children, self._set_drawn)
        if name == CHECKPOINT_NAME:
            self._layouts.restore = self._restore
            return self._layouts
        receiver = Receiver(self._restore, name)
        if name not in self._saved:
            return receiver
        self._restore.expect(name)
        self._saved[name].receiver = receiver
        return self._saved[name]

    def draw(self):
        """Gives parameters what they start from, unless they were drawn or restored."""
        if not self._is_drawn:
            with tf.init_scope():
                self._made.draw()
            self._set_drawn()

    def _set_drawn(self):
        self._is_drawn = True

    def _flush(self):
        return [] if self.pipeline is None else self.pipeline.flush()

    def _assign(self, stack_name, slot, value):
        """The operation that restores a variable; what waits is of another time."""
        assigned = self.variables[stack_name][slot].assign(value, read_value=False)
        if self.pipeline is None:
            return assigned
        discarded = self.pipeline.discard(stack_name)
        return None if tf.executing_eagerly() else tf.group(assigned, discarded)


def _check_free(prefix, plan):
    """A Saver keeps one of two variables of one name, and says nothing."""
    taken = {variable.op.name for variable in tf.compat.v1.global_variables()}
    for stack in plan.stacks.values():
        for slot in slots_of(stack):
            variable = prefix + variable_name(stack.name, slot)
            if variable in taken:
                raise ValueError(
                    "TPUEmbeddingV2: the graph has a variable %r already; give the embedding a "
                    "name, or the table another" % variable
                )


def _take_name(name):
    taken = tf.compat.v1.get_collection_ref(_COLLECTION)
    if (name or "") in taken:
        validate.fail(
            "TPUEmbeddingV2", "name", name, "another: an embedding of this graph has it already"
        )
    taken.append(name or "")
