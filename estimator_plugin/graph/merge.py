"""Several lookups that a table has in one step, as one operation.

A lookup with modify_graph=True gives what an Identity behind its operation gives. So the operation
can be replaced when all lookups of the step are known:

    ids of lookup 0 --+                      +--> Identity of lookup 0
                      +-- concat, look up, split
    ids of lookup 1 --+                      +--> Identity of lookup 1
"""

import collections
import contextlib

import tensorflow as tf

from .. import tf_compat
from ..ops import lookup_ops
from . import survey

_LOOKUP = "EpTableLookup"


def replaceable(embeddings, addresses):
    """The outputs of a lookup, such that `merge` can replace what computes them."""
    return tf.identity(embeddings, name="embeddings"), tf.identity(addresses, name="addresses")


def merge(lookups):
    """Makes those of `lookups`, of lookup_registry, one operation that do the same for one batch.

    They are of one table in one mode, their ids a function of one batch; they wait for the same
    operations and not for each other, and read the same where there is no row. Others stay as they
    are.
    """
    verdicts = survey.Survey()
    groups = collections.OrderedDict()
    for lookup in lookups:
        source = lookup.embeddings.op.inputs[0].op if lookup.embeddings.op.inputs else None
        if source is not None and source.type == _LOOKUP and source.graph is lookup.table.graph:
            verdict = verdicts.verdict(source.inputs[1].op)
            if verdict.blocker is None:
                alike = _alike(lookup, source, verdict.sources)
                groups.setdefault(alike, (lookup.table, []))[1].append(source)
    for table, operations in groups.values():
        apart = _apart(operations)
        if len(apart) > 1:
            _join(table, apart)


def _alike(lookup, source, batches):
    """What tells lookups apart that cannot be one operation."""
    default = tf.get_static_value(source.inputs[2])
    return (
        lookup.table.name,
        lookup.is_train,
        source.inputs[2].name if default is None else default.tobytes(),
        batches,
        frozenset(source.control_inputs),
    )


def _apart(operations):
    """Those of `operations` that wait for no other of them."""
    after = tf_compat.ops_after(operations)
    return [op for op in operations if op not in after]


def _join(table, operations):
    first = operations[0]
    keys = [op.inputs[1] for op in operations]
    with contextlib.ExitStack() as stack:
        stack.enter_context(first.graph.as_default())
        stack.enter_context(tf.control_dependencies(None))
        stack.enter_context(tf.control_dependencies(first.control_inputs))
        stack.enter_context(tf.device(first.device))
        stack.enter_context(tf.compat.v1.name_scope("%s/merged_lookup/" % table.name))
        merged = lookup_ops.table_lookup(
            first.inputs[0],
            tf.concat(keys, axis=0),
            table.dim,
            insert=first.get_attr("insert"),
            default_row=first.inputs[2],
        )
        sizes = [tf.size(part) for part in keys]
        parts = [tf.split(together, sizes) for together in merged]
    for op, outputs in zip(operations, zip(*parts)):
        for old, new in zip(op.outputs, outputs):
            new.set_shape(old.shape)
            tf_compat.repoint(old, new)
