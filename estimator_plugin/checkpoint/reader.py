"""Reading the tables of a checkpoint into numpy, without a graph or a session."""

import collections

import numpy as np
import tensorflow as tf

from . import meta, names

TableRows = collections.namedtuple(
    "TableRows",
    [
        "keys",  # int64 [n].
        "embeddings",  # float32 [n, dim].
        "slots",  # Ordered dict from the slot's name to float32 [n, dim].
        "counts",  # int32 [n].
        "last_seen",  # int64 [n].
        "meta",  # TableMeta.
    ],
)


def table_names(checkpoint):
    """The sorted names of the tables in `checkpoint`, a prefix or a directory."""
    suffix = names.meta_name("")
    return sorted(
        name[: -len(suffix)]
        for name, _ in tf.train.list_variables(checkpoint)
        if name.endswith(suffix)
    )


def read_table(checkpoint, table):
    """All rows of one table, in no particular order of keys.

    Args:
      checkpoint: str, the prefix of a checkpoint or a directory whose latest is taken.
      table: str, the table's name.

    Returns:
      TableRows.

    Raises:
      ValueError: the checkpoint has no such table; the message lists those it has.
      tf.errors.OpError: the checkpoint cannot be read.

    >>> rows = read_table("/tmp/model", "user")
    >>> dict(zip(rows.keys, rows.embeddings))
    """
    reader = tf.train.load_checkpoint(checkpoint)
    if not reader.has_tensor(names.meta_name(table)):
        raise ValueError(
            "%s has no table %r; its tables are %s"
            % (checkpoint, table, ", ".join(table_names(checkpoint)) or "none")
        )
    facts = meta.parse_meta(reader.get_tensor(names.meta_name(table)))
    arrays = {
        array: np.concatenate(
            [
                reader.get_tensor(names.bucket_name(table, bucket, array))
                for bucket in range(facts.num_buckets)
            ]
        )
        for array in names.BUCKET_ARRAYS
    }
    parts = np.split(arrays["rows"], 1 + len(facts.slots), axis=1)
    slots = collections.OrderedDict(zip([name for name, _ in facts.slots], parts[1:]))
    return TableRows(arrays["keys"], parts[0], slots, arrays["counts"], arrays["last_seen"], facts)
