"""A table's initializer that reads a checkpoint.

The initializer is the place: sessions run it when there is no checkpoint to restore and not
otherwise, on the chief alone, before hooks begin to train.
"""

import collections

import tensorflow as tf

from .. import hashing, tf_compat
from ..checkpoint.table_reader import open_chain
from ..ops import bundle_ops
from . import rebucketed

Start = collections.namedtuple(
    "Start",
    [
        "prefix",  # str, the checkpoint.
        "name",  # str, the table's name there.
        "with_slots",  # bool.
    ],
)


def start(table, source):
    """Makes `table` start from `source`, a Start, and logs it.

    Raises:
      ValueError: the tables differ in dim.
      tf.errors.OpError: the checkpoint cannot be read.
    """
    chain = open_chain(source.prefix, source.name)
    _check(table, source, chain[-1].meta)
    for partition in table.partitions:
        device = partition.device
        with table.graph.as_default(), tf.control_dependencies(None), tf.device(device):
            partition.initializer = _load(table, partition, source)
        tf_compat.replace_create_op(partition.handle, partition.initializer)
    table.gather_initializers()
    slots = [name for name, _ in chain[-1].meta.slots]
    tf.compat.v1.logging.info(
        "Warm-starting table: %s; prev_table: %s; checkpoint: %s; %s; slots: %s",
        table.name,
        "Unchanged" if source.name == table.name else source.name,
        source.prefix,
        _rows_text(chain),
        (", ".join(slots) or "none") if source.with_slots else "left behind",
    )


def _load(table, partition, source):
    with tf.control_dependencies([partition.initializer]), tf.compat.v1.name_scope(table.name):
        if rebucketed.is_needed():
            return rebucketed.load_rows(table, source.prefix, source.name, source.with_slots)
        rows = bundle_ops.table_load(
            partition.handle,
            source.prefix,
            source.name,
            with_slots=source.with_slots,
            name="warm_start",
        )
        return rows.op


def _check(table, source, meta):
    theirs = "table %r of %s has" % (source.name, source.prefix)
    if meta.dim != table.dim:
        raise ValueError(
            "warm start: table %r has dim %d, %s dim %d" % (table.name, table.dim, theirs, meta.dim)
        )
    if meta.hash_version != hashing.HASH_VERSION:
        raise ValueError(
            "warm start: table %r has hash version %d, %s hash version %d"
            % (table.name, hashing.HASH_VERSION, theirs, meta.hash_version)
        )


def _rows_text(chain):
    """How many rows are read, by the shapes alone: "20 rows, then deltas of 15 and 5 rows"."""
    text = "%d rows" % chain[0].saved_rows()
    if len(chain) > 1:
        text += ", then deltas of %s rows" % ", ".join(str(x.saved_rows()) for x in chain[1:])
    return text
