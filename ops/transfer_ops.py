"""A table's content as tensors, and as part of a TensorFlow checkpoint.

A table named `user` of 64 buckets is these tensors of a checkpoint: `user/meta` (a scalar string
of `name=value` lines), `user/bank` (float32 [r, dim], the rows of an initializer that has some) and
for each bucket b `user/bucket-<b>/keys` (int64 [n]), `/rows` (float32 [n, width]: embedding, then
slots), `/counts` (int32 [n]) and `/last_seen` (int64 [n]).
"""

import collections

from .library import load

TableContent = collections.namedtuple("TableContent", "meta bank keys rows counts last_seen")
WaitingContent = collections.namedtuple("WaitingContent", "keys counts last_seen sketch")


def table_new_save(handle, delta=False, name=None):
    """Describes a save of a table that begins now: number, slots, and a delta's parent.

    Where a table is partitioned over servers one partition describes the save for all. Nothing
    changes until `save_tables` or `table_export` carries it out.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      delta: bool, default False. Whether the save has only what changed since the checkpoint that
        `table_save_base` gives.
      name: optional name of the operation.

    Returns:
      Scalar string tensor: the text that the checkpoint has as `<table>/meta`.

    Raises:
      tf.errors.FailedPreconditionError: when run, the table is uninitialized, or has nothing that a
        delta could be relative to.

    >>> meta = table_new_save(handle)
    >>> session.run(save_tables("/tmp/model.ckpt-1", ["user"], [handle], metas=[meta]))
    """
    return load().ep_table_new_save(handle, delta=delta, name=name)


def table_export(handle, num_buckets, meta=None, name=None):
    """The whole content of a table, without copying it.

    The tensors are views of the table's memory, which they keep alive. Keys and their number are of
    one moment; a value that an op changes while another reads the view changes in it too. Arrays
    fetched by `session.run` may be views as well: `numpy.array(x)` is a copy for certain.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      num_buckets: int, the number of buckets that are here: the table's, or a partition's.
      meta: scalar string tensor, from `table_new_save` of this table or of another partition of it;
        default: from this table.
      name: optional name of the operation.

    Returns:
      TableContent(meta, bank, keys, rows, counts, last_seen) of tensors as the module's text says;
      the last four are lists of `num_buckets`.

    Raises:
      tf.errors.InvalidArgumentError: when run, the table has another number of buckets.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> content = table_export(handle, num_buckets=1)
    >>> session.run(content.keys)
    [array([7, 9])]
    """
    if meta is None:
        meta = table_new_save(handle)
    content = load().ep_table_export(handle, meta, num_buckets=num_buckets, name=name)
    return TableContent(meta, *content)


def table_import(handle, meta, bank, keys, rows, counts, last_seen, checkpoint="", name=None):
    """Replaces a table's content by what `table_export` gave, and makes the table ready.

    Slots come along as they are; the first update by another optimizer keeps those of the same
    name and starts the others afresh.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      meta, bank, keys, rows, counts, last_seen: as in TableContent. Meta may be "", with any bank:
        both are read from `checkpoint` then. That is for a table's partitions beyond the first, as
        a checkpoint has one meta and bank a table.
      checkpoint: scalar string tensor, the prefix the content was read from. With it the next delta
        is relative to that checkpoint, and a delta's content is completed from the checkpoints it
        is relative to. Default "": none.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      tf.errors.InvalidArgumentError: when run, the content is of a table of another dim, key dtype,
        number of buckets or hash, or meta and checkpoint are both empty; the table stays as it
        was. Or the arrays' shapes do not fit each other; the table is empty and uninitialized then.
      tf.errors.UnimplementedError: when run, meta is empty and this is TensorFlow 1.15.
      tf.errors.DataLossError: when run, meta cannot be read, or a bucket holds a key twice or a key
        of another bucket; in the latter case the table is empty and uninitialized then.

    >>> session.run(table_import(other_handle, *table_export(handle, num_buckets=1)))
    """
    return load().ep_table_import(
        handle, checkpoint, meta, bank, keys, rows, counts, last_seen, name=name
    )


def table_export_waiting(handle, num_buckets, name=None):
    """The keys that a table counts and has not admitted yet.

    Make `table_export` depend on it: a key that is admitted in between is in both, and
    `table_import_waiting` leaves out a key that has a row.

    Args:
      handle, num_buckets, name: as for `table_export`.

    Returns:
      WaitingContent(keys, counts, last_seen, sketch) of lists of `num_buckets` vectors: int64 [w],
      int32 [w], int64 [w] of an exact filter, int32 cells of a sketch; empty where there is none.

    Raises:
      tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError: as `table_export`.

    >>> session.run(table_export_waiting(handle, num_buckets=1).keys)
    [array([], dtype=int64)]
    """
    return WaitingContent(
        *load().ep_table_export_waiting(handle=handle, num_buckets=num_buckets, name=name)
    )


def table_import_waiting(handle, keys, counts, last_seen, sketch, name=None):
    """Replaces the keys that wait for admission by what `table_export_waiting` gave.

    Args:
      handle: scalar resource tensor, from `table_handle`; its rows were imported before.
      keys, counts, last_seen, sketch: as in WaitingContent.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      tf.errors.InvalidArgumentError: when run, the lists are not as long as the table has buckets,
        or arrays of a bucket differ in length; no key waits then.
      tf.errors.DataLossError: when run, a key is not of its bucket, or a sketch is of no size that
        sketches have; no key waits in that bucket and the next ones then.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_import_waiting(handle, *table_export_waiting(handle, num_buckets=1)))
    """
    return load().ep_table_import_waiting(handle, keys, counts, last_seen, sketch, name=name)
