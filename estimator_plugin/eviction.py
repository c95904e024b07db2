"""Eviction: which rows leave a table. A policy is data; `evict` makes the operation.

    table = ep.create_table(..., eviction=ep.eviction.RowBudget(1000000))
    estimator.train(input_fn, hooks=[ep.hooks.EvictHook(evict_enable=True)])

A row that leaves takes its slots, its count and its last-seen time with it; its memory is used
again, and its key starts anew when it comes back.
"""

import dataclasses

import tensorflow as tf

from . import validate
from .ops import usage_ops

_KEEP = {"recent": "least_recent", "frequent": "least_frequent"}


@dataclasses.dataclass(frozen=True)
class OlderThan:
    """Rows whose key was last seen `age` ago or longer leave, and so do counts of waiting keys.

    Args:
      age: int from 1, in the units of the batches' timestamps, or in steps when they have none. It
        is measured from the latest time the table has seen, never from the wall clock.

    Raises:
      ValueError: age is out of range.

    >>> OlderThan(7 * 86400)
    OlderThan(age=604800)
    """

    age: int
    needs_tracking = needs_time = True

    def __post_init__(self):
        validate.integer("OlderThan", "age", self.age, 1, validate.INT32_MAX)

    def operation(self, partition):
        return usage_ops.table_evict(partition.handle, "older_than", self.age)


@dataclasses.dataclass(frozen=True)
class SmallNorm:
    """Rows whose embedding has an L2 norm below `norm` leave. It reads every row of the table.

    Args:
      norm: number above 0.

    Raises:
      ValueError: norm is out of range.

    >>> SmallNorm(0.001)
    SmallNorm(norm=0.001)
    """

    norm: float
    needs_tracking = needs_time = False

    def __post_init__(self):
        validate.real("SmallNorm", "norm", self.norm, 0, 1e30, above_low=True)

    def operation(self, partition):
        return usage_ops.table_evict(partition.handle, "small_norm", self.norm)


@dataclasses.dataclass(frozen=True)
class RowBudget:
    """At most `rows` rows stay; of equals the one with the smaller key leaves first. Of a table on
    parameter servers each keeps a share of `rows`, as it has a share of the buckets.

    Args:
      rows: int from 1.
      keep: "recent", the default: rows last seen longest ago leave first; or "frequent": rows
        seen least often.

    Raises:
      ValueError: rows or keep are out of range.

    >>> RowBudget(1000000, keep="frequent")
    RowBudget(rows=1000000, keep='frequent')
    """

    rows: int
    keep: str = "recent"
    needs_tracking = True
    needs_time = property(lambda self: self.keep == "recent")

    def __post_init__(self):
        validate.integer("RowBudget", "rows", self.rows, 1, 1 << 40)
        validate.choice("RowBudget", "keep", self.keep, sorted(_KEEP))

    def operation(self, partition):
        rows = partition.share_of(self.rows)
        return usage_ops.table_evict(partition.handle, _KEEP[self.keep], rows)


POLICIES = (OlderThan, SmallNorm, RowBudget)


def checked_policies(owner, value):
    """The policies of a table as a tuple, out of None, a policy or a list of policies."""
    policies = [] if value is None else [value] if isinstance(value, POLICIES) else value
    if not isinstance(policies, (list, tuple)):
        validate.fail(owner, "eviction", value, "None, a policy of ep.eviction or a list of them")
    for policy in policies:
        if not isinstance(policy, POLICIES):
            validate.fail(owner, "eviction", policy, "a policy of ep.eviction")
    return tuple(policies)


def policies_of(table, limits):
    """All policies of `table` with the Thresholds `limits`, in the order they are applied."""
    by_age = () if limits.eviction is None else (OlderThan(limits.eviction),)
    return by_age + table.eviction


def evict(table, policies):
    """Removes the rows of `table` that `policies` name.

    Args:
      table: EmbeddingTable.
      policies: a policy or a list of policies, applied in order.

    Returns:
      Scalar int64 tensor: how many rows left. Training steps may run meanwhile; a gradient for a
      row that has left is dropped.

    Raises:
      ValueError: policies are none.

    >>> session.run(evict(table, OlderThan(3600)))
    12
    """
    policies = checked_policies("table %r" % table.name, policies)
    if not policies:
        validate.fail("table %r" % table.name, "policies", policies, "at least one policy")
    return tf.add_n([_evict_from(partition, policies) for partition in table.partitions])


def _evict_from(partition, policies):
    counts = []
    with tf.device(partition.device):
        for policy in policies:
            with tf.control_dependencies(counts[-1:]):
                counts.append(policy.operation(partition))
        return tf.add_n(counts)
