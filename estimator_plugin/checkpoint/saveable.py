"""How a table takes part in any Saver: a SaveableObject over the export and import ops.

Saving copies nothing: the exported tensors are views of the table's memory. Restoring through a
stock Saver needs the checkpoint's tensors in memory beside the table; `streaming` does not.
"""

import tensorflow as tf

from .. import graph_state, tf_compat
from ..ops import transfer_ops
from . import names

_BUCKET_DTYPES = {
    "keys": tf.int64,
    "rows": tf.float32,
    "counts": tf.int32,
    "last_seen": tf.int64,
    "waiting_keys": tf.int64,
    "waiting_counts": tf.int32,
    "waiting_last_seen": tf.int64,
    "sketch": tf.int32,
}


def _checkpoint_of(restored):
    """The prefix that a Saver's builder reads `restored` from: a Saver does not pass it on, and a
    delta is completed from the checkpoints beside it."""
    reader = restored.op
    return reader.inputs[0] if reader.type == "RestoreV2" else ""


def saveables_of(table):
    """The saveable objects of an EmbeddingTable: one for each of its partitions."""
    head = TableSaveable(table, table.partitions[0])
    return [head] + [TableSaveable(table, p, head) for p in table.partitions[1:]]


class TableSaveable(tf_compat.SaveableObject):
    """A partition of a table as Savers see it: four arrays a bucket, where keys have to be counted
    before they get a row another four, and with the first partition `<table>/meta` and
    `<table>/bank`, which are those of the table.

    The specs, some hundreds, are made and the export op joins the graph when a Saver first asks for
    them, so a graph that only streams, or never saves, has none.

    Args:
      table: the EmbeddingTable.
      partition: its Partition.
      head: the TableSaveable of its first partition; None is this one.

    Attributes:
      table, partition: as above.
      head: the Partition that tells the others what kind of save a save is.
    """

    def __init__(self, table, partition, head=None):
        self.table = table
        self.partition = partition
        self.op = partition.handle
        self.name = partition.handle.op.name  # Loading a SavedModel looks it up as an operation.
        self._head = head
        self._specs = None
        self._exported = None

    @property
    def head(self):
        return self.partition if self._head is None else self._head.partition

    @property
    def has_waiting(self):
        """Whether keys may have to wait for a row: the table's lookups have a threshold."""
        rules = graph_state.of(self.table.graph).rules_of_table.get(self.table.name)
        return rules is not None and rules.thresholds.access is not None

    @property
    def specs(self):
        if self._specs is None:
            self._specs = self._make_specs()
        return self._specs

    @property
    def device(self):
        return self.partition.device

    def restore(self, restored_tensors, restored_shapes):
        """An operation that replaces the partition's content with `restored_tensors`."""
        del restored_shapes  # A table has no shape to conform to.
        checkpoint = _checkpoint_of(restored_tensors[0])
        with tf.device(self.device):
            if self._head is None:
                meta, bank, *arrays = restored_tensors
            else:  # A Saver refuses to read a name twice: the op reads these two itself.
                meta, bank, arrays = "", tf.zeros([0, self.table.dim]), restored_tensors
            count = self.partition.num_buckets()
            arrays = [arrays[i : i + count] for i in range(0, len(arrays), count)]
            rows, waiting = arrays[: len(names.BUCKET_ARRAYS)], arrays[len(names.BUCKET_ARRAYS) :]
            restored = transfer_ops.table_import(
                self.partition.handle, meta, bank, *rows, checkpoint=checkpoint
            )
            if not waiting:
                return restored
            with tf.control_dependencies([restored]):
                return transfer_ops.table_import_waiting(self.partition.handle, *waiting)

    def _make_specs(self):
        name = self.table.name
        specs = []
        if self._head is None:
            specs.append(self._spec("meta", 0, names.meta_name(name), tf.string))
            specs.append(self._spec("bank", 0, names.bank_name(name), tf.float32))
        begin, end = self.partition.buckets
        for array in names.BUCKET_ARRAYS + self._waiting_arrays():
            for bucket in range(begin, end):
                tensor_name = names.bucket_name(name, bucket, array)
                specs.append(self._spec(array, bucket - begin, tensor_name, _BUCKET_DTYPES[array]))
        return specs

    def _spec(self, array, index, name, dtype):
        def tensor():
            value = self._export()[array]
            return value[index] if isinstance(value, list) else value

        return tf_compat.SaveSpec(tensor, "", name, dtype=dtype, device=self.device)

    def _waiting_arrays(self):
        return names.WAITING_ARRAYS if self.has_waiting else ()

    def _export(self):
        if self._exported is None:
            meta = None if self._head is None else self._head._export()["meta"]
            handle, buckets = self.partition.handle, self.partition.num_buckets()
            graph = self.table.graph
            with graph.as_default(), tf.control_dependencies(None), tf.device(self.device):
                waiting = ()
                if self._waiting_arrays():
                    waiting = tuple(transfer_ops.table_export_waiting(handle, buckets))
                # Rows come second: a key that gets one in between is in both, and its row counts.
                with tf.control_dependencies(waiting and waiting[0]):
                    outputs = tuple(transfer_ops.table_export(handle, buckets, meta)) + waiting
            fields = ("meta", "bank") + names.BUCKET_ARRAYS + names.WAITING_ARRAYS
            self._exported = {
                field: list(value) if isinstance(value, (list, tuple)) else value
                for field, value in zip(fields, outputs)
            }
        return self._exported
