"""CSR buffers of a stack by TensorFlow's own ops, for one replica: all features of a stack at once.

Ids become keys that sort as the buffer does: by core, shard, row of the shard, sample.
"""

import collections

import numpy as np
import tensorflow as tf

from estimator_plugin.sparse_core.preprocessing import placements_of

ALIGNMENT = 8  # Segments begin, and a core's row pointers end, at multiples of it.
_PADDING = np.int32(2147483647)

Csr = collections.namedtuple("Csr", "row_pointers sorted_sample_ids sorted_token_ids sorted_gains")


def csr_of_stacks(plan, features):
    """Dict stack name -> Csr, for tables whose combiner is "mean" and ids without weights.

    Args:
      plan: the embedding's plan of one replica, its features in the order of `features`.
      features: sparse_core_features.Features.
    """
    position = {feature.path: i for i, feature in enumerate(plan.features)}
    return {
        name: _csr(plan.topology.num_sc_per_chip, stack, features, position)
        for name, stack in plan.stacks.items()
    }


def check_equal(ours, theirs):
    """Raises RuntimeError where two dicts of Csr arrays differ; gains may by their last bits."""
    for name, buffer in ours.items():
        for field, mine, other in zip(Csr._fields, buffer, theirs[name]):
            if mine.shape != other.shape or not np.allclose(mine, other, rtol=1e-6, atol=0):
                raise RuntimeError("%s of stack %s differs from TensorFlow's" % (field, name))


def _csr(cores, stack, features, position):
    core_samples = stack.sample_count // cores
    shard_rows = stack.rows // cores
    keys, gains = [], []
    for stacked, (feature, place) in zip(stack.features, placements_of(stack)):
        index = position[feature.path]
        splits, ids = features.splits[index], features.values[index]
        sample = features.samples_of_ids[index]
        per_core = feature.samples // cores
        row = sample % per_core + stacked.sample_offset // cores
        shard = (ids + place.rotation) % cores
        segment = sample // per_core * cores + shard
        token = ids // cores + place.row_offset
        keys.append((segment * shard_rows + token) * core_samples + row)
        lengths = tf.cast(splits[1:] - splits[:-1], tf.float32)
        gains.append(tf.gather(1.0 / lengths, sample))
    keys, gains = _merged(tf.concat(keys, 0), tf.concat(gains, 0))
    segment = keys // (shard_rows * core_samples)
    token, row = keys // core_samples % shard_rows, keys % core_samples
    return _padded(cores, tf.cast(segment, tf.int32), row, token, gains)


def _merged(keys, gains):
    """Distinct keys in order, each with the sum of its gains.

    Sorting all keys takes less time than `tf.unique` of them and sorting the distinct ones.
    """
    order = tf.argsort(keys)
    keys = tf.gather(keys, order)
    first = tf.concat([tf.ones_like(keys[:1], tf.bool), tf.not_equal(keys[1:], keys[:-1])], 0)
    segment = tf.cumsum(tf.cast(first, tf.int32)) - 1
    return tf.boolean_mask(keys, first), tf.math.segment_sum(tf.gather(gains, order), segment)


def _padded(cores, segment, row, token, gains):
    counts = tf.math.bincount(segment, minlength=cores * cores)
    room = (counts + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    starts = tf.cumsum(room, exclusive=True)
    shift = tf.gather(starts - tf.cumsum(counts, exclusive=True), segment)
    places = (tf.range(tf.size(segment)) + shift)[:, tf.newaxis]
    size = tf.reduce_sum(room)[tf.newaxis]

    def spread(values, padding):
        return tf.tensor_scatter_nd_update(tf.fill(size, padding), places, values)

    ends = tf.reshape(starts + counts, [cores, cores])
    last = tf.reshape(starts + room, [cores, cores])[:, -1:]
    pointers = tf.concat([ends, tf.repeat(last, ALIGNMENT - cores, axis=1)], 1)
    return Csr(
        tf.reshape(pointers, [-1]),
        spread(tf.cast(row, tf.int32), _PADDING),
        spread(tf.cast(token, tf.int32), _PADDING),
        spread(gains, np.float32(_PADDING)),
    )
