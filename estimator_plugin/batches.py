"""The elements of a dataset: a dict, a tuple or list, a single tensor, or a pair that begins so.

A part of a batch has an index: its key in the dict, or its position in the flattened batch.
"""

import tensorflow as tf

from . import notices, validate

_TENSORS = (tf.Tensor, tf.SparseTensor, tf.RaggedTensor)
_ADDED_SUFFIX = "_read_emb_key"


def of_parts(parts):
    """The batch that `dataset.map` hands to a function as `parts`."""
    if not parts:
        raise ValueError("get_asc_insert_func: the batch is empty")
    return parts[0] if len(parts) == 1 else parts


def has(batch, index):
    """Whether a dict batch has the key `index`, with a notice if not; others count as having it."""
    features = dict_of(batch)
    if features is None or not isinstance(index, str) or index in features:
        return True
    notices.warn_once(
        "get_asc_insert_func: the batch has no %r, only %s" % (index, described(batch))
    )
    return False


def part(owner, batch, index):
    """The tensor at `index` of `batch`.

    Raises:
      ValueError: there is none, or what is there is no tensor.
    """
    features = dict_of(batch)
    if isinstance(batch, _TENSORS) and (isinstance(index, str) or index == 0):
        found = batch  # A batch of one tensor needs no name for it.
    elif isinstance(index, str):
        if features is None or index not in features:
            raise ValueError(
                "%s: the batch has no %r, it has %s" % (owner, index, described(batch))
            )
        found = features[index]
    else:
        flat = tf.nest.flatten(batch)
        if index >= len(flat):
            raise ValueError(
                "%s: the batch has no position %d, it has %s" % (owner, index, described(batch))
            )
        found = flat[index]
    if not isinstance(found, _TENSORS):
        validate.fail(owner, "the batch at %r" % (index,), found, "a tensor")
    return found


def position(batch, tensor):
    """The position of `tensor` in the flattened batch."""
    return next(i for i, value in enumerate(tf.nest.flatten(batch)) if value is tensor)


def checked_ids(owner, ids):
    """`ids`, if they are int32 or int64; else ValueError."""
    if ids.dtype not in (tf.int32, tf.int64):
        raise ValueError("%s: ids must be int32 or int64, got %s" % (owner, ids.dtype.name))
    return ids


def extended(batch, added):
    """`batch` with one more tensor, where the Rec SDK puts it; and that tensor's index.

    Raises:
      ValueError: the batch is empty, or a pair whose first part is none of the known kinds.
    """
    if isinstance(batch, dict):
        if not batch:
            raise ValueError("get_asc_insert_func: the batch is an empty dict")
        key = sorted(batch)[-1] + _ADDED_SUFFIX
        return dict(batch, **{key: added}), key
    if isinstance(batch, _TENSORS):
        mapped = (batch, added)
    elif len(batch) == 2:
        first, second = batch
        if isinstance(first, dict):
            first, key = extended(first, added)
            return (first, second), key
        if not isinstance(first, _TENSORS + (tuple, list)):
            validate.fail("get_asc_insert_func", "the batch", batch, "dicts, tuples and tensors")
        first = (first,) if isinstance(first, _TENSORS) else tuple(first)
        mapped = (first + (added,), second)
    else:
        mapped = tuple(batch) + (added,)
    return mapped, position(mapped, added)


def described(batch):
    """What a batch has, for error messages."""
    features = dict_of(batch)
    if features is not None:
        return "the keys %s" % ", ".join(repr(key) for key in sorted(features))
    return "%d tensors" % len(tf.nest.flatten(batch))


def dict_of(batch):
    """The dict that a batch is or begins with, else None."""
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        batch = batch[0]
    return batch if isinstance(batch, dict) else None
