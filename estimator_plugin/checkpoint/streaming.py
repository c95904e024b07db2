"""A saver builder that streams tables between their memory and the checkpoint, bucket by bucket.

The files are those of a stock Saver: same names, same bytes, one `model.ckpt-N`. Tables are
written straight from their memory into the checkpoint's temporary directory, everything else by
TensorFlow's own op, and one merge makes the checkpoint appear whole or not at all.
"""

import collections

import tensorflow as tf

from .. import tf_compat
from ..ops import bundle_ops, library, transfer_ops
from .saveable import TableSaveable


def _can_stream():
    """False with a TensorFlow that ships no header for its checkpoint format (1.15)."""
    return hasattr(library.load(), "ep_save_tables")


def _split(saveables):
    """`saveables` as (tables to stream, others)."""
    if not _can_stream():
        return [], list(saveables)
    tables = [x for x in saveables if isinstance(x, TableSaveable)]
    return tables, [x for x in saveables if not isinstance(x, TableSaveable)]


class StreamingSaverBuilder(tf_compat.BulkSaverBuilder):
    """The builder to give to `tf.compat.v1.train.Saver(builder=...)`; see `saver`.

    Each device's tables are one shard of the checkpoint, its other saveables another; a parameter
    server writes its own part of a table. With TensorFlow 1.15, which cannot stream, tables are
    saved as by a stock Saver.

    Args:
      delta: bool, default False. Whether saves hold only what changed in tables since the last
        whole checkpoint (`table_save_base`); everything else is saved whole.
    """

    def __init__(self, delta=False):
        super().__init__()
        self._delta = delta
        self._metas = {}  # Table name -> meta tensor of the save that is being built.

    def save_op(self, filename_tensor, saveables):
        tables, others = _split(saveables)
        if not tables:
            return super().save_op(filename_tensor, saveables)
        if others:
            raise ValueError("tables and variables must be in shards of their own")
        return bundle_ops.save_tables(
            filename_tensor,
            [x.table.name for x in tables],
            [x.partition.handle for x in tables],
            metas=[self._meta_of(x) for x in tables],
            with_head=[x.partition.is_head for x in tables],
            with_waiting=[x.has_waiting for x in tables],
        )

    def _build_internal(self, names_to_saveables, **kwargs):
        kwargs["sharded"] = True  # The merge of shards is what makes a save atomic.
        self._metas = {}
        return super()._build_internal(names_to_saveables, **kwargs)

    def _meta_of(self, saveable):
        """What this save is, decided once for all partitions of a table."""
        name = saveable.table.name
        if name not in self._metas:
            with tf.device(saveable.head.device):
                self._metas[name] = transfer_ops.table_new_save(
                    saveable.head.handle, delta=self._delta
                )
        return self._metas[name]

    def _GroupByDevices(self, saveables):  # noqa: N802
        tables, others = _split(saveables)
        tables_by_device = collections.OrderedDict()
        for saveable in tables:
            tables_by_device.setdefault(saveable.device, []).append(saveable)
        return super()._GroupByDevices(others) + list(tables_by_device.items())

    def _AddRestoreOps(  # noqa: N802
        self, filename_tensor, saveables, *args, **kwargs
    ):
        tables, others = _split(saveables)
        if not tables:
            return super()._AddRestoreOps(filename_tensor, saveables, *args, **kwargs)
        if others:
            raise ValueError("tables and variables must be in shards of their own")
        restore = bundle_ops.restore_tables(
            filename_tensor, [x.table.name for x in tables], [x.partition.handle for x in tables]
        )
        return tf.group(restore, name=kwargs.get("name", "restore_tables"))
