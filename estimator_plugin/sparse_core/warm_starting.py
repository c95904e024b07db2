"""Stacked tables that start from a checkpoint: what `warm_start` asks of an embedding.

A table starts by its logical name, whatever topology and stacking saved it. The initializer of a
variable is the place, as it is for growing tables.
"""

import collections

import tensorflow as tf

from .. import tf_compat
from . import layout, stored_table
from .variables import PARAMETERS, slots_of, variable_name

# A table in a Saver's checkpoint: what comes before its variables' names, and its layout.
SavedTable = collections.namedtuple("SavedTable", ["prefix", "layout"])


class WarmStarter:
    """Starts the tables of one embedding.

    Args:
      plan: plan.Plan.
      variables: OrderedDict stack name -> OrderedDict slot -> tf.Variable.
      prefix: str before the names in graphs and checkpoints, "" or "<name>/".

    Attributes:
      names: list of str, the tables' names, the prefix included.
      variable_names: list of str, the variables' names.
    """

    def __init__(self, plan, variables, prefix):
        self._plan = plan
        self._variables = variables
        self._prefix = prefix
        self.names = [prefix + name for name in plan.layouts]
        self.variable_names = [v.name for made in variables.values() for v in made.values()]

    @staticmethod
    def tables_in(reader):
        """{name: SavedTable} of the tables in the checkpoint of a TensorReader."""
        found = collections.OrderedDict()
        for tensor in sorted(reader.shapes):
            prefix, is_one, rest = tensor.partition(layout.CHECKPOINT_NAME)
            if is_one and not rest:
                for name, its_layout in layout.parsed(reader.read(tensor)).items():
                    found[prefix + name] = SavedTable(prefix, its_layout)
        return found

    def start(self, starts):
        """Makes tables start from checkpoints and logs it.

        Args:
          starts: dict from a name of `names` to (Start, TensorReader of its checkpoint).

        Raises:
          ValueError: a table has another shape in its checkpoint.
        """
        for name, (source, reader) in starts.items():
            self._check(name, source, self.tables_in(reader)[source.name].layout)
        for stack in self._plan.stacks.values():
            of_stack = [starts.get(self._prefix + s.table.name) for s in stack.tables]
            if any(of_stack):
                for slot in slots_of(stack):
                    self._start_variable(stack, slot, of_stack)
        for name, (source, reader) in starts.items():
            self._log(name, source, reader)

    def _start_variable(self, stack, slot, of_stack):
        """`of_stack`: for each table of the stack its entry of `starts`, or None."""
        variable = self._variables[stack.name][slot]
        first = stack.tables[0].placement
        with variable.graph.as_default(), tf.control_dependencies(None), tf.device(variable.device):
            shape = [first.num_shards, first.shard_rows, first.width]
            value = tf.reshape(variable.initial_value, shape)
            for (path, prefix, layouts), names in self._reads(slot, of_stack).items():
                value = stored_table.shards_of(
                    stack, slot, names, tf.constant(path), tf.constant(layouts), prefix, value
                )
            value = tf.reshape(value, [stack.rows, stack.width])
            tf_compat.replace_initial_value(variable, value)

    def _reads(self, slot, of_stack):
        """{(checkpoint, prefix in it, layouts in it): names there of the stack's tables, "" for
        those that come from elsewhere}."""
        reads = collections.OrderedDict()
        for t, start in enumerate(of_stack):
            if start is None or not _has(slot, *start):
                continue
            source, reader = start
            prefix = self.tables_in(reader)[source.name].prefix
            layouts = reader.read(prefix + layout.CHECKPOINT_NAME)
            names = reads.setdefault((source.prefix, prefix, layouts), [""] * len(of_stack))
            names[t] = source.name[len(prefix) :]
        return reads

    def _check(self, name, source, saved):
        wanted = tuple(self._layout(name).unsharded_shape)
        there = tuple(saved.unsharded_shape)
        if wanted != there:
            raise ValueError(
                "warm start: stacked table %r has shape %s, table %r of %s has shape %s"
                % (name, wanted, source.name, source.prefix, there)
            )

    def _log(self, name, source, reader):
        slots = slots_of(self._plan.stack_of(name[len(self._prefix) :]))[1:]
        started = [slot for slot in slots if _has(slot, source, reader)]
        text = ", ".join(started) or "none"
        missing = [slot for slot in slots if slot not in started]
        if not source.with_slots:
            text = "left behind"
        elif missing:
            text += "; fresh: %s" % ", ".join(missing)
        tf.compat.v1.logging.info(
            "Warm-starting table: %s; prev_table: %s; checkpoint: %s; %d rows; slots: %s",
            name,
            "Unchanged" if source.name == name else source.name,
            source.prefix,
            self._layout(name).unsharded_shape[0],
            text,
        )

    def _layout(self, name):
        return self._plan.layouts[name[len(self._prefix) :]]


def _has(slot, source, reader):
    """Whether `source`, a Start, brings a slot along, and its checkpoint, `reader`, has it."""
    if slot == PARAMETERS:
        return True
    saved = WarmStarter.tables_in(reader)[source.name]
    name = saved.prefix + variable_name(saved.layout.stacked_table_name, slot)
    return source.with_slots and name in reader.shapes
