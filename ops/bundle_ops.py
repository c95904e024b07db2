"""Tables in a TensorFlow checkpoint, written and read bucket by bucket without a copy in memory.

The names and bytes in the checkpoint are those that a Saver makes of `transfer_ops`.
"""

import tensorflow as tf

from .library import load
from .transfer_ops import table_new_save


def has_bundle_ops():
    """Whether `save_tables` and `restore_tables` exist: TensorFlow 1.15 cannot compile them.

    >>> has_bundle_ops()
    True
    """
    return hasattr(load(), "ep_save_tables")


def save_tables(
    prefix,
    table_names,
    handles,
    delta=False,
    metas=None,
    with_head=None,
    with_waiting=None,
    name=None,
):
    """Writes tables as a bundle of their own, bucket by bucket, without a copy in memory.

    `tf.raw_ops.MergeV2Checkpoints` joins it with the other parts of a checkpoint; until then no
    reader can mistake it for a whole one. A save that fails leaves no bundle behind.

    Args:
      prefix: scalar string tensor, a path no other bundle has.
      table_names: list of strings, the tables' names in the checkpoint.
      handles: list of as many scalar resource tensors.
      delta: bool, default False. Only rows touched and keys removed since the checkpoint that
        `table_save_base` gives; keys in `<table>/bucket-<b>/removed`.
      metas: list of as many scalar string tensors, each from `table_new_save` of the table or of
        another partition of it, which say all about the saves, `delta` included. Default: from the
        tables themselves.
      with_head: list of as many bools: whether to write `<table>/meta` and `<table>/bank`, which
        one partition of a table does. Default: all True.
      with_waiting: list of as many bools: whether to write the arrays of waiting keys though none
        waits and no lookup has brought a threshold yet. Default: all False.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      NotImplementedError: see `has_bundle_ops`.
      tf.errors.FailedPreconditionError: when run, a table is uninitialized, or has nothing that a
        delta could be relative to.
      tf.errors.OpError: when run, of the kind the file system reports, naming table and prefix.

    >>> session.run(save_tables("/tmp/model.ckpt-1_temp/part-1", ["user"], [handle]))
    """
    save = _bundle_op("ep_save_tables")
    if metas is None:
        metas = [table_new_save(handle, delta) for handle in handles]
    return save(
        prefix,
        table_names,
        handles,
        tf.stack(metas),
        with_head=[True] * len(handles) if with_head is None else with_head,
        with_waiting=[False] * len(handles) if with_waiting is None else with_waiting,
        name=name,
    )


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


def commit_save(prefix, table_names, handles, name=None):
    """Tells tables that the checkpoint `prefix` is whole: the next delta is relative to it.

    Rows count as changed until then, so a save that fails or is killed loses nothing.

    Args:
      prefix: scalar string tensor, a checkpoint that is complete on disk.
      table_names: list of strings, the tables' names in the checkpoint.
      handles: list of as many scalar resource tensors.
      name: optional name of the operation.

    Returns:
      bool tensor [number of tables]: whether the next delta is relative to it now. False where
      another save of the table began after this one; its changes stay changes.

    Raises:
      tf.errors.NotFoundError: when run, there is no such checkpoint, or it lacks a table.

    >>> session.run(commit_save("/tmp/model.ckpt-1", ["user"], [handle]))
    array([ True])
    """
    return _bundle_op("ep_commit_save")(prefix, table_names, handles, name=name)


def table_save_base(handle, name=None):
    """What the next delta of a table would be relative to.

    Returns:
      A pair of scalar tensors: string, the prefix of the last checkpoint known to be whole, ""
      where there is none; and bool, whether all changes since are known, so that a delta can be
      saved.

    Raises:
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_save_base(handle))
    (b'/tmp/model.ckpt-1', True)
    """
    return _bundle_op("ep_table_save_base")(handle, name=name)


def table_load(handle, prefix, table_name, with_slots=True, name=None):
    """Replaces the rows of an initialized table by those of a table of some checkpoint.

    The source may have another name, number of buckets, initializer and optimizer. All loaded rows
    count as changed.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      prefix: scalar string tensor, the checkpoint, full or delta.
      table_name: scalar string tensor, the table's name there.
      with_slots: bool, default True. Whether optimizer slots come along; else they start afresh.
      name: optional name of the operation.

    Returns:
      Scalar int64 tensor: the rows loaded.

    Raises:
      tf.errors.InvalidArgumentError: when run, the tables differ in dim.
      tf.errors.NotFoundError, tf.errors.DataLossError: as `restore_tables`; the table is empty
        then.

    >>> session.run(table_load(handle, "/tmp/old/model.ckpt-9", "user"))
    1000
    """
    return _bundle_op("ep_table_load")(handle, prefix, table_name, with_slots=with_slots, name=name)


def _bundle_op(name):
    if not has_bundle_ops():
        raise NotImplementedError(
            "%s needs the header tensor_bundle.h, which this TensorFlow does not ship; save and "
            "restore tables with a stock tf.compat.v1.train.Saver" % name
        )
    return getattr(load(), name)
