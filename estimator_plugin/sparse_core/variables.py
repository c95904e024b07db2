"""The variables of stacks: one for the parameters and one for each slot of the optimizer.

All are float32 [stack.rows, stack.width] resource variables in shard-major order, named `<stack>`
and `<stack>/<slot>`. They are no trainable variables: dense optimizers leave them alone.
"""

import collections

import tensorflow as tf

from . import initialization

PARAMETERS = "parameters"


def variable_name(stack_name, slot):
    """The name of a stack's variable, in graphs and in checkpoints."""
    return stack_name if slot == PARAMETERS else "%s/%s" % (stack_name, slot)


def slots_of(stack):
    """PARAMETERS and the names of the stack's slots, in the rule's order."""
    return [PARAMETERS] + list(stack.rule.slots)


class TableVariables:
    """The variables of all stacks of a plan, made in the current graph.

    Args:
      plan: plan.Plan.
      fast: `enable_fast_table_initialization`.
      prefix: str before every name in a graph, "" or "<name>/".
      draw: False starts parameters from zeros, where they are about to be replaced.

    Attributes:
      of_stack: OrderedDict stack name -> OrderedDict "parameters" or slot name -> tf.Variable.
    """

    def __init__(self, plan, fast=False, prefix="", draw=True):
        self._plan = plan
        self._fast = fast
        self.of_stack = collections.OrderedDict()
        for stack in plan.stacks.values():
            made = collections.OrderedDict()
            for slot in slots_of(stack):
                values = self._starting_values(stack, slot, draw)
                made[slot] = _variable(prefix + variable_name(stack.name, slot), stack, values)
            self.of_stack[stack.name] = made

    def all(self):
        """Every variable, as a list."""
        return [variable for made in self.of_stack.values() for variable in made.values()]

    def draw(self):
        """Assigns parameters their starting values."""
        for stack in self._plan.stacks.values():
            values = self._starting_values(stack, PARAMETERS, True)
            self.of_stack[stack.name][PARAMETERS].assign(values())

    def _starting_values(self, stack, slot, draw):
        shape = [stack.rows, stack.width]
        if slot != PARAMETERS:
            start = stack.rule.slots[slot]
            return lambda: tf.fill(shape, tf.constant(start, tf.float32))
        if not draw:
            return lambda: tf.zeros(shape)
        replicas = self._plan.topology.num_replicas
        return lambda: initialization.stack_values(stack, replicas, self._fast)


def _variable(name, stack, values):
    # Graphs: checkpoint.savers puts it where Savers look, for they must not save it as it is.
    return tf.compat.v1.Variable(
        initial_value=values,
        trainable=False,
        collections=[],
        name=name,
        dtype=tf.float32,
        use_resource=True,
        expected_shape=[stack.rows, stack.width],
    )
