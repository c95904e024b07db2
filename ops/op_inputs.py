"""Checks and conversions of op inputs that several wrappers share."""

import tensorflow as tf


def int64_ids(ids, argument):
    """`ids` as an int64 tensor.

    Raises:
      TypeError: `ids` is neither int64 nor int32; the message names `argument`.
    """
    # A hint for Python numbers, [] above all; it would turn an array of booleans into numbers.
    hint = tf.int64 if isinstance(ids, (list, tuple, int)) else None
    ids = tf.convert_to_tensor(ids, dtype_hint=hint)
    if ids.dtype not in (tf.int64, tf.int32):
        raise TypeError(
            "%s has dtype %s, want int64 or int32 (%r)" % (argument, ids.dtype.name, ids)
        )
    return tf.cast(ids, tf.int64)


def row_or_zeros(default_row):
    """A default row for the ops: an empty vector means zeros."""
    return tf.zeros([0], tf.float32) if default_row is None else default_row


def lists_of(ids, gradients, argument):
    """Pairs of id and gradient tensors as two lists of equal length.

    Raises:
      ValueError: the lengths differ, or there is no pair; the message names `argument`.
    """
    ids = list(ids) if isinstance(ids, (list, tuple)) else [ids]
    gradients = list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
    if len(ids) != len(gradients) or not ids:
        raise ValueError(
            "%s and gradients are lists of %d and %d tensors; want the same number, at least one"
            % (argument, len(ids), len(gradients))
        )
    return [int64_ids(tensor, argument) for tensor in ids], gradients


def as_splits(indices_or_row_splits):
    """Row splits, or indices, as a tensor; `[]` alone would become a vector of floats."""
    hint = tf.int32 if isinstance(indices_or_row_splits, (list, tuple)) else None
    return tf.convert_to_tensor(indices_or_row_splits, dtype_hint=hint)


def float_weights(weights):
    """Weights as a float32 tensor."""
    return tf.cast(weights, tf.float32)


def limit(value, argument):
    """A limit as an int32 scalar tensor.

    Raises:
      ValueError: `value` is a number below 1; the message names `argument`.
    """
    if isinstance(value, int) and value < 1:
        raise ValueError("%s is %d; it must be at least 1" % (argument, value))
    return tf.cast(value, tf.int32)


def lists_of_length(length, of, **lists):
    """The arguments as lists.

    Raises:
      ValueError: one has another length than `length`, which is that of the argument `of`.
    """
    for argument, values in lists.items():
        if len(values) != length:
            raise ValueError(
                "%s has length %d; %s makes it %d" % (argument, len(values), of, length)
            )
    return {argument: list(values) for argument, values in lists.items()}
