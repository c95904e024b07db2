"""The ids and weights of a lookup: checked, and as a flat list of keys."""

import tensorflow as tf

from . import validate


def checked_ids(owner, ids):
    """`ids` as a tf.Tensor, tf.SparseTensor or tf.RaggedTensor of int64.

    Raises:
      ValueError: `ids` are not int32 or int64; the message names their dtype.
    """
    if isinstance(ids, tf.compat.v1.SparseTensorValue):
        ids = tf.SparseTensor.from_value(ids)
    elif not isinstance(ids, (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)):
        try:
            ids = tf.convert_to_tensor(ids, dtype_hint=tf.int64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "%s: ids must be a tf.Tensor, tf.SparseTensor or tf.RaggedTensor of int32 or "
                "int64, got %s: %s" % (owner, validate.shown(ids), error)
            ) from error
    if ids.dtype not in (tf.int32, tf.int64):
        raise ValueError(
            "%s: ids must be int32 or int64, got %s; turn strings into ids with "
            "tf.strings.to_hash_bucket_fast or a vocabulary" % (owner, ids.dtype.name)
        )
    return ids if ids.dtype == tf.int64 else tf.cast(ids, tf.int64)


def checked_weights(owner, weights, ids):
    """The weights as float32 values in step with `ids`' flat values; None when there are none.

    Raises:
      ValueError: `weights` are not of the kind of `ids`, or their static shape differs.
    """
    if weights is None:
        return None
    kind = next(t for t in (tf.SparseTensor, tf.RaggedTensor, tf.Tensor) if isinstance(ids, t))
    if kind is tf.Tensor and not isinstance(weights, (tf.SparseTensor, tf.RaggedTensor)):
        weights = tf.convert_to_tensor(weights)
    if not isinstance(weights, kind):
        validate.fail(owner, "weights", weights, "a %s, as ids are" % kind.__name__)
    if not flat_values(weights).shape.is_compatible_with(flat_values(ids).shape):
        raise ValueError(
            "%s: weights have shape %s, ids have shape %s; they must have the same"
            % (owner, weights.shape, ids.shape)
        )
    return tf.cast(flat_values(weights), tf.float32)


def flat_values(tensor):
    """The values of a tensor of any of the three kinds, without its structure."""
    if isinstance(tensor, tf.SparseTensor):
        return tensor.values
    return tensor.flat_values if isinstance(tensor, tf.RaggedTensor) else tensor


def default_row(owner, value, dim):
    """The row that keys without a row read, float32 [dim]; None for zeros.

    Raises:
      ValueError: `value` cannot be broadcast to [dim].
    """
    if value is None:
        return None
    row = tf.cast(tf.convert_to_tensor(value), tf.float32)
    while row.shape.rank is not None and row.shape.rank > 1 and row.shape.as_list()[0] == 1:
        row = tf.squeeze(row, axis=0)
    if row.shape.rank not in (0, 1) or row.shape.as_list() not in ([], [1], [dim], [None]):
        raise ValueError(
            "%s: serving_default_value must be one value or a row of %d, got shape %s"
            % (owner, dim, row.shape)
        )
    return tf.broadcast_to(row, [dim])
