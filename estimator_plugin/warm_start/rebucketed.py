"""`table_load` for a TensorFlow whose ops cannot read checkpoints themselves (1.15): the rows pass
through numpy, and need their memory twice on the way.
"""

import numpy as np
import tensorflow as tf

from .. import hashing
from ..checkpoint import names, reader
from ..ops import library, transfer_ops

_DTYPES = {"keys": tf.int64, "rows": tf.float32, "counts": tf.int32, "last_seen": tf.int64}


def is_needed():
    """Whether the op library has no op that loads a table from a checkpoint."""
    return not hasattr(library.load(), "ep_table_load")


def load_rows(table, prefix, name, with_slots):
    """An operation that replaces the rows of `table`, an initialized EmbeddingTable.

    Args:
      table: EmbeddingTable.
      prefix: str, the checkpoint, full or delta.
      name: str, the table's name there.
      with_slots: bool, whether optimizer slots come along.
    """
    own = transfer_ops.table_export(table.handle, table.num_buckets)

    def read(meta):
        rows = reader.read_table(prefix, name)
        slots = list(rows.slots) if with_slots else []
        return [_with_slots(meta, rows.meta, slots)] + _buckets(rows, slots, table.num_buckets)

    dtypes = [tf.string] + [
        _DTYPES[a] for a in names.BUCKET_ARRAYS for _ in range(table.num_buckets)
    ]
    meta, *arrays = tf.numpy_function(read, [own.meta], dtypes)
    meta.set_shape([])
    for tensor in arrays:
        tensor.set_shape([None, None] if tensor.dtype == tf.float32 else [None])
    count = table.num_buckets
    per_array = [arrays[i * count : (i + 1) * count] for i in range(len(names.BUCKET_ARRAYS))]
    return transfer_ops.table_import(table.handle, meta, own.bank, *per_array)


def _with_slots(own, theirs, kept):
    """A table's meta text, `own`, for rows that have the slots `kept` of the meta `theirs`."""
    text = ",".join("%s:%r" % slot for slot in theirs.slots if slot[0] in kept)
    lines = own.decode("utf-8").splitlines()
    lines = ["slots=" + text if line.startswith("slots=") else line for line in lines]
    return "".join(line + "\n" for line in lines).encode("utf-8")


def _buckets(rows, slots, num_buckets):
    """The arrays of each of `num_buckets` buckets, keys of all first, then rows of all ..."""
    values = np.concatenate([rows.embeddings] + [rows.slots[slot] for slot in slots], axis=1)
    bucket = hashing.bucket_of_key(rows.keys, num_buckets)
    order = np.argsort(bucket, kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(1, num_buckets))
    arrays = (rows.keys, values, rows.counts, rows.last_seen)
    return [part for array in arrays for part in np.split(array[order], ends)]
