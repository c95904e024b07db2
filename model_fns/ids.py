"""From what a features dictionary holds to the int64 ids a table is asked for.

-1 means "no id": strings that are empty become -1, every other string is hashed to [0, 2^63 - 1).
"""

import tensorflow as tf

NO_ID = -1
# tf.strings.to_hash_bucket_fast (FarmHash Fingerprint64 modulo the bucket count): the same string
# has the same id on every machine and in every run, so that a checkpoint can be served anywhere.
STRING_HASH_BUCKETS = 2**63 - 1


def ids_of(feature, value):
    """The int64 ids of a `CategoricalFeature`: a `Tensor`, `SparseTensor` or `RaggedTensor`.

    A dense value comes back as `[batch]` when the feature has no combiner and as `[batch, n]` when
    it has one.

    Raises:
      ValueError: wrong dtype or rank, or several ids per example without a combiner.
    """
    if isinstance(value, tf.SparseTensor):
        _require_combiner(feature, "a SparseTensor")
        return tf.SparseTensor(value.indices, _to_int64(feature, value.values), value.dense_shape)
    if isinstance(value, tf.RaggedTensor):
        _require_combiner(feature, "a RaggedTensor")
        return value.with_flat_values(_to_int64(feature, value.flat_values))
    return _shape_dense(feature, _to_int64(feature, tf.convert_to_tensor(value)))


def _to_int64(feature, values):
    if values.dtype == tf.string:
        hashed = tf.strings.to_hash_bucket_fast(values, STRING_HASH_BUCKETS)
        return tf.where(
            tf.equal(values, ""), tf.fill(tf.shape(values), tf.constant(NO_ID, tf.int64)), hashed
        )
    if values.dtype in (tf.int32, tf.int64):
        return tf.cast(values, tf.int64)
    raise ValueError(
        "feature %r: ids must be int64, int32 or string, got %s" % (feature.name, values.dtype.name)
    )


def _shape_dense(feature, ids):
    rank = ids.shape.rank
    if rank not in (1, 2):
        raise ValueError(
            "feature %r: dense ids must be [batch] or [batch, n], got shape %s"
            % (feature.name, ids.shape)
        )
    if feature.combiner is not None:
        return ids if rank == 2 else tf.expand_dims(ids, 1)
    if rank == 2:
        if ids.shape[1] != 1:
            _require_combiner(feature, "ids of shape %s" % ids.shape)
        return tf.squeeze(ids, axis=1)
    return ids


def _require_combiner(feature, what):
    if feature.combiner is None:
        raise ValueError(
            "feature %r: %s may hold several ids per example; give the feature a combiner "
            "('sum', 'mean' or 'sqrtn')" % (feature.name, what)
        )
