"""The names of a table's tensors in a checkpoint: the twin of ops/core/table_meta.h."""

BUCKET_ARRAYS = ("keys", "rows", "counts", "last_seen")
# Of tables with an access threshold: the keys that wait for a row, and a sketch's cells.
WAITING_ARRAYS = ("waiting_keys", "waiting_counts", "waiting_last_seen", "sketch")
REMOVED = "removed"  # Of a delta's buckets: the keys it removes.


def meta_name(table):
    return table + "/meta"


def bank_name(table):
    return table + "/bank"


def bucket_name(table, bucket, array):
    """`array` is one of BUCKET_ARRAYS or WAITING_ARRAYS, or REMOVED in a delta."""
    return "%s/bucket-%d/%s" % (table, bucket, array)
