"""A table's content as tensors, and as part of a TensorFlow checkpoint.

A table named `user` of 64 buckets is these tensors of a checkpoint: `user/meta` (a scalar string
of `name=value` lines), `user/bank` (float32 [r, dim], the rows of an initializer that has some) and
for each bucket b `user/bucket-<b>/keys` (int64 [n]), `/rows` (float32 [n, width]: embedding, then
slots), `/counts` (int32 [n]) and `/last_seen` (int64 [n]).
"""

import collections

from .library import load

TableContent = collections.namedtuple("TableContent", "meta bank keys rows counts last_seen")


def table_export(handle, num_buckets, name=None):
    """The whole content of a table, without copying it.

    The tensors are views of the table's memory, which they keep alive. Keys and their number are of
    one moment; a value that an op changes while another reads the view changes in it too. Arrays
    fetched by `session.run` may be views as well: `numpy.array(x)` is a copy for certain.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      num_buckets: int, the table's number of buckets.
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
    return TableContent(*load().ep_table_export(handle=handle, num_buckets=num_buckets, name=name))


def table_import(handle, meta, bank, keys, rows, counts, last_seen, name=None):
    """Replaces a table's content by what `table_export` gave, and makes the table ready.

    Slots come along as they are; the first update by another optimizer keeps those of the same
    name and starts the others afresh.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      meta, bank, keys, rows, counts, last_seen: as in TableContent.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      tf.errors.InvalidArgumentError: when run, the content is of a table of another dim, key dtype,
        number of buckets or hash; the table stays as it was. Or the arrays' shapes do not fit each
        other; the table is empty and uninitialized then.
      tf.errors.DataLossError: when run, meta cannot be read, or a bucket holds a key twice or a key
        of another bucket; in the latter case the table is empty and uninitialized then.

    >>> session.run(table_import(other_handle, *table_export(handle, num_buckets=1)))
    """
    return load().ep_table_import(handle, meta, bank, keys, rows, counts, last_seen, name=name)


def has_bundle_ops():
    """Whether `save_tables` and `restore_tables` exist: TensorFlow 1.15 cannot compile them.

    >>> has_bundle_ops()
    True
    """
    return hasattr(load(), "ep_save_tables")


def save_tables(prefix, table_names, handles, name=None):
    """Writes tables as a bundle of their own, bucket by bucket, without a copy in memory.

    `tf.raw_ops.MergeV2Checkpoints` joins it with the other parts of a checkpoint; until then no
    reader can mistake it for a whole one. A save that fails leaves no bundle behind.

    Args:
      prefix: scalar string tensor, a path no other bundle has.
      table_names: list of strings, the tables' names in the checkpoint.
      handles: list of as many scalar resource tensors.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      NotImplementedError: see `has_bundle_ops`.
      tf.errors.FailedPreconditionError: when run, a table is uninitialized.
      tf.errors.OpError: when run, of the kind the file system reports, naming table and prefix.

    >>> session.run(save_tables("/tmp/model.ckpt-1_temp/part-1", ["user"], [handle]))
    """
    return _bundle_op("ep_save_tables")(prefix, table_names, handles, name=name)


def restore_tables(prefix, table_names, handles, name=None):
    """Replaces the content of tables by a checkpoint's, and makes them ready.

    Needs the memory of a few buckets beside the tables. All checksums are verified.

    Args:
      prefix: scalar string tensor, e.g. from `tf.train.latest_checkpoint`.
      table_names: list of strings, the tables' names in the checkpoint.
      handles: list of as many scalar resource tensors.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      NotImplementedError: see `has_bundle_ops`.
      tf.errors.NotFoundError: when run, there is no such checkpoint, or it lacks a table.
      tf.errors.DataLossError: when run, a file is truncated or damaged; the message names the
        table and the checkpoint, and the table is empty and uninitialized then.
      tf.errors.InvalidArgumentError: as `table_import`.

    >>> session.run(restore_tables("/tmp/model.ckpt-1", ["user"], [handle]))
    """
    return _bundle_op("ep_restore_tables")(prefix, table_names, handles, name=name)


def _bundle_op(name):
    if not has_bundle_ops():
        raise NotImplementedError(
            "%s needs the header tensor_bundle.h, which this TensorFlow does not ship; save and "
            "restore tables with a stock tf.compat.v1.train.Saver" % name
        )
    return getattr(load(), name)
