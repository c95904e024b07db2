"""Tracking: what a training lookup needs to count its keys and to note when they were seen."""

import collections

import tensorflow as tf

from . import admission, eviction, graph_state, thresholds, timestamps

# What holds for all training lookups of a table.
Rules = collections.namedtuple("Rules", ["thresholds", "time_unit"])
NO_RULES = Rules(thresholds.NONE, None)


def rules_of(table):
    """The Rules that the training lookups of `table` made so far agreed on."""
    return graph_state.of(table.graph).rules_of_table.get(table.name, NO_RULES)


def arguments(owner, table, keys, given, timestamp=None):
    """How a training lookup counts its keys and notes when they were seen.

    Args:
      keys: tensor, the keys of the lookup.
      given: Thresholds, those of this lookup; NONE takes what the table has.
      timestamp: scalar int64 tensor; None takes the collection ASCEND_TIMESTAMP or the global step.

    Returns:
      The keyword arguments of `usage_ops.table_tracked_lookup` beyond those of `table_lookup`; None
      when the table neither admits nor evicts.

    Raises:
      ValueError: `given` are not the thresholds of the table's other lookups; eviction by age
        has no time to go by; the lookups of the table go by different times.
    """
    state = graph_state.of(table.graph)
    known = state.rules_of_table.get(table.name)
    limits = _agreed(table, known, given)
    if limits == thresholds.NONE and not any(p.needs_tracking for p in table.eviction):
        state.rules_of_table[table.name] = NO_RULES
        return None
    now, time_unit = _now(owner, table, keys, limits, timestamp)
    if known is not None and known.time_unit != time_unit:
        raise ValueError(
            "%s: it would go by %s, other lookups of the table go by %s; give each batch a "
            "timestamp, or none" % (owner, time_unit, known.time_unit)
        )
    combined = admission.counts_are_combined()
    if combined and isinstance(table.admission, admission.CountingSketch):
        raise ValueError(
            "table %r: its %r cannot be shared, but %s is 1; count exactly, or unset it"
            % (table.name, table.admission, admission.COMBINE_VARIABLE)
        )
    if combined:
        counted = [name for name, rules in state.rules_of_table.items() if rules != NO_RULES]
        _check_same_places(table, [state.tables[name] for name in counted])
    state.rules_of_table[table.name] = Rules(limits, time_unit)
    return {
        "now": now,
        "time_unit": time_unit,
        "faae_coefficient": limits.coefficient,
        "access_threshold": thresholds.OFF if limits.access is None else limits.access,
        "admission_filter": table.admission.kind,
        "sketch_bytes": table.admission.max_bytes,
        "combined": combined,
    }


def _check_same_places(table, others):
    """Tables on servers can share a record only if a key lies on the same server for all."""

    def places(of, other):
        return [(p.device, p.buckets[1] * other.num_buckets) for p in of.partitions]

    for other in others:
        if places(table, other) != places(other, table):
            raise ValueError(
                "table %r: its keys do not lie on the servers that those of table %r are on, so "
                "they cannot share a record of counts; give both num_buckets=%d, or unset %s"
                % (table.name, other.name, other.num_buckets, admission.COMBINE_VARIABLE)
            )


def _agreed(table, known, given):
    if known is None:
        return given
    if given not in (thresholds.NONE, known.thresholds) and known.thresholds == thresholds.NONE:
        raise ValueError(
            "table %r: its first training lookup has no thresholds, so this one cannot have %s; "
            "give all lookups the same" % (table.name, thresholds.described(given))
        )
    return thresholds.agreed(table.name, known.thresholds, given)


def _now(owner, table, keys, limits, timestamp):
    """(now, time_unit) of a lookup."""
    if timestamp is None:
        timestamp = timestamps.of_graph(owner, keys)
    if timestamp is not None:
        return timestamp, "seconds"
    step = timestamps.of_steps(table.graph)
    if step is None:
        if any(policy.needs_time for policy in eviction.policies_of(table, limits)):
            raise ValueError(
                "%s: eviction by age needs a time: a timestamp in the batch (FeatureSpec(..., "
                "is_timestamp=True) or the collection ASCEND_TIMESTAMP), or a global step "
                "(tf.compat.v1.train.create_global_step(), before the lookup)" % owner
            )
        step = tf.constant(0, tf.int64)
    return step, "steps"
