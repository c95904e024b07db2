"""Restoring by logical table: whatever topology and stacking saved, whatever restores.

A checkpoint's layouts say where each table lay. Its rows are taken out of there, slots included,
and put where this program's layouts want them. What the two ways of reading a checkpoint share is
here: `object_checkpoint` has the tensors, `saver_checkpoint` reads them while a graph runs.

    a table of the program that the checkpoint lacks    starts from its initializer
    a table of the checkpoint that the program lacks    is left out
    none in common, another shape, a missing slot       an error
"""

import tensorflow as tf

from .. import notices
from . import initialization, sharding
from .layout import placement_of
from .variables import PARAMETERS, slots_of, variable_name


def starting_block(stack, stacked, slot):
    """The block that a table without a counterpart in the checkpoint gets."""
    if slot == PARAMETERS:
        return initialization.block_of(stacked)
    place = stacked.placement
    return tf.fill([place.num_shards, place.rows, place.width], float(stack.rule.slots[slot]))


def starting_values(stack, slot):
    """The values of a variable whose tables are all new."""
    blocks = [starting_block(stack, stacked, slot) for stacked in stack.tables]
    return sharding.variable_of_blocks([stacked.placement for stacked in stack.tables], blocks)


class Source:
    """The tensors of a checkpoint that are at hand, by name.

    Args:
      layouts: OrderedDict table name -> SparseCoreTableLayout, what the checkpoint has; None: it
        has whole tables, as of `tf.tpu.experimental.embedding.TPUEmbeddingForServing`.
      tensors: dict variable name -> float32 tensor.
    """

    def __init__(self, layouts, tensors):
        self._layouts = layouts
        self._tensors = tensors

    def values(self, plan):
        """The values of all variables of a plan: yields (stack name, slot, tensor).

        Raises:
          ValueError: the checkpoint has none of the tables, or has one that does not fit.
        """
        self._check(plan)
        for stack in plan.stacks.values():
            placements = [stacked.placement for stacked in stack.tables]
            for slot in slots_of(stack):
                blocks = [self._block(stack, stacked, slot) for stacked in stack.tables]
                yield stack.name, slot, sharding.variable_of_blocks(placements, blocks)

    def _tables(self):
        """The names of the checkpoint's tables."""
        if self._layouts is not None:
            return list(self._layouts)
        return [name for name in self._tensors if "/" not in name]

    def _check(self, plan):
        there, wanted = set(self._tables()), set(plan.layouts)
        if not there & wanted:
            raise ValueError(
                "the checkpoint has none of the tables %s; it has %s"
                % (", ".join(sorted(wanted)), ", ".join(sorted(there)) or "none at all")
            )
        for names, where in ((wanted - there, "started anew"), (there - wanted, "left out")):
            if names:
                notices.info_once(
                    "restoring tables: %s: not in both the checkpoint and the program, %s"
                    % (", ".join(sorted(names)), where)
                )

    def _block(self, stack, stacked, slot):
        name, place = stacked.table.name, stacked.placement
        if name not in self._tables():
            return starting_block(stack, stacked, slot)
        table = self._table(stack, name, slot)
        if table is None:
            return starting_block(stack, stacked, slot)
        if tuple(table.shape) != place.shape:
            raise ValueError(
                "table %r: the checkpoint has %s of shape %s, the program %s"
                % (name, slot, tuple(table.shape), place.shape)
            )
        return sharding.block_of_table(place, table)

    def _table(self, stack, name, slot):
        """A table's values, unpadded; None where a slot may be missing."""
        if self._layouts is None:
            key = variable_name(name, slot)
            without_slots = not any(t.startswith(name + "/") for t in self._tensors)
            if key not in self._tensors and without_slots:
                notices.warn_once(
                    "table %r: the checkpoint has no slots of it; %s starts anew" % (name, slot)
                )
                return None
        else:
            key = variable_name(self._layouts[name].stacked_table_name, slot)
        if key not in self._tensors:
            raise ValueError(
                "table %r: its optimizer, %s, needs the slot %r, and the checkpoint has no %r; it "
                "has %s"
                % (
                    name,
                    type(stack.optimizer).__name__,
                    slot,
                    key,
                    ", ".join(sorted(self._tensors)),
                )
            )
        if self._layouts is None:
            return self._tensors[key]
        return sharding.table_in_variable(placement_of(self._layouts[name]), self._tensors[key])
