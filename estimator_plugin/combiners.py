"""Pooling of embeddings: sum, mean and sqrtn over the ids of an example.

The semantics are those of `tf.nn.embedding_lookup_sparse`; examples without ids give zeros, as in
`tf.nn.safe_embedding_lookup_sparse`. The id -1 is no id: it adds nothing and is not counted.
"""

import tensorflow as tf

from . import constants

COMBINERS = ("sum", "mean", "sqrtn")


def pool_dense(combiner, ids, embeddings, weights):
    """Pools over the last dimension of `ids`.

    Args:
      combiner: one of COMBINERS.
      ids: int64 [..., k]; -1 is no id.
      embeddings: float32 [..., k, dim], zeros where the id is -1.
      weights: float32 [..., k], or None for ones.

    Returns:
      float32 [..., dim].
    """
    if weights is not None:
        weights = _without_padding(ids, weights)
        embeddings = embeddings * tf.expand_dims(weights, -1)
    total = tf.reduce_sum(embeddings, axis=-2)
    if combiner == "sum":
        return total
    if weights is None:
        weights = tf.cast(tf.not_equal(ids, constants.NO_KEY), tf.float32)
    return _divided(combiner, total, weights, lambda x: tf.reduce_sum(x, axis=-1))


def pool_segments(combiner, ids, embeddings, weights, segments, num_segments):
    """Pools ids that belong to the same segment.

    Args:
      combiner: one of COMBINERS.
      ids: int64 [n]; -1 is no id.
      embeddings: float32 [n, dim], zeros where the id is -1.
      weights: float32 [n], or None for ones.
      segments: int64 [n], which of the `num_segments` results an id belongs to, in any order.
      num_segments: scalar int64 tensor.

    Returns:
      float32 [num_segments, dim].
    """

    def summed(values):
        return tf.math.unsorted_segment_sum(values, segments, num_segments)

    if weights is not None:
        weights = _without_padding(ids, weights)
        embeddings = embeddings * tf.expand_dims(weights, -1)
    total = summed(embeddings)
    if combiner == "sum":
        return total
    if weights is None:
        weights = tf.cast(tf.not_equal(ids, constants.NO_KEY), tf.float32)
    return _divided(combiner, total, weights, summed)


def _without_padding(ids, weights):
    return tf.where(tf.equal(ids, constants.NO_KEY), tf.zeros_like(weights), weights)


def _divided(combiner, total, weights, summed):
    divisor = summed(weights) if combiner == "mean" else tf.sqrt(summed(tf.square(weights)))
    return tf.math.divide_no_nan(total, tf.expand_dims(divisor, -1))
