"""Lookups of a table that read the same batch count its keys together.

A key is admitted by how often the whole batch holds it, whichever of the lookups hold it. So the
first lookup that has a key counts all its occurrences, and the lookups run one after the other.
Which lookups read the same batch is known only when the last of them is made: each takes its
occurrences from a stable operation, which is pointed at new ones when another lookup joins.
"""

import tensorflow as tf

from . import graph_state, graph_walk, tf_compat
from .ops import table_ops


class BatchCounts:
    """The lookups of one table that read one batch.

    Args:
      sources: set of operations, where the batch comes from.
    """

    def __init__(self, sources):
        self._sources = sources
        self._keys = []
        self._occurrences = []
        self._lookups = []

    @property
    def occurrences(self):
        """The occurrences that the lookups take, int32 [n] each; none for a lookup of its own."""
        if len(self._keys) == 1:
            return []
        return [stable.op.inputs[0] for stable in self._occurrences]

    def join(self, keys, look_up):
        """Makes one lookup more.

        Args:
          keys: int64 [n].
          look_up: function from `occurrences`, int32 [n] or [0], to the outputs of the lookup.

        Returns:
          What look_up returned.
        """
        one_each = tf.zeros([0], tf.int32)
        of_any_size = tf.compat.v1.placeholder_with_default(one_each, [None])
        occurrences = tf.identity(of_any_size)  # Only an input of unknown size can be replaced.
        with tf.control_dependencies(self._lookups[-1:]):
            outputs = look_up(occurrences)
        self._keys.append(keys)
        self._occurrences.append(occurrences)
        self._lookups.append(outputs[0].op)
        if len(self._keys) > 1:
            for stable, new in zip(self._occurrences, _occurrences(self._keys)):
                tf_compat.update_input(stable.op, 0, new)
        return outputs

    def takes(self, above):
        """Whether a lookup whose keys the operations `above` compute may join."""
        return (
            bool(self._sources)
            and self._sources == graph_walk.sources(above)
            and not above.intersection(self._lookups)
            and tf_compat.runs_where_ops_are_made(self._lookups[-1])
        )


def of(table, keys):
    """The BatchCounts that a lookup of `keys` in `table` joins."""
    known = graph_state.of(table.graph).batch_counts_of_table.setdefault(table.name, [])
    above = graph_walk.ops_above(keys)
    for counts in known:
        if counts.takes(above):
            return counts
    known.append(BatchCounts(graph_walk.sources(above)))
    return known[-1]


def _occurrences(keys):
    """For each of `keys` of each lookup, how often all lookups have it where it stands first,
    else 0."""
    together = tf.concat(keys, axis=0)
    _, indices, counts = table_ops.unique_with_counts(together)
    size = tf.size(together)
    first = tf.math.unsorted_segment_min(tf.range(size), indices, tf.size(counts))
    occurrences = tf.scatter_nd(tf.expand_dims(first, 1), counts, tf.expand_dims(size, 0))
    return tf.split(occurrences, [tf.size(k) for k in keys])
