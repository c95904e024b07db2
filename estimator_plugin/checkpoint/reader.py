"""Reading the tables of a checkpoint into numpy, without a graph or a session."""

import collections
import os

import numpy as np
import tensorflow as tf

from . import names, versions
from .table_reader import TableReader, TableRows
from .tensor_reader import TensorReader

_SAVED_MODEL_VARIABLES = os.path.join("variables", "variables")


def find_checkpoint(path):
    """The prefix that `path` stands for, or None when it stands for no checkpoint.

    Args:
      path: str, a checkpoint's prefix, a directory whose latest checkpoint is taken, or the
        directory of a SavedModel.
    """
    path = os.fspath(path)
    saved_model = os.path.join(path, _SAVED_MODEL_VARIABLES)
    if versions.exists(saved_model):
        return saved_model
    prefix = tf.train.latest_checkpoint(path) if tf.io.gfile.isdir(path) else path
    return prefix if prefix and versions.exists(prefix) else None


def table_names(checkpoint):
    """The sorted names of the tables in `checkpoint`, a prefix or a directory."""
    suffix = names.meta_name("")
    tensors = set(TensorReader(checkpoint).shapes)
    tables = [name[: -len(suffix)] for name in tensors if name.endswith(suffix)]
    # A variable may be called x/meta too.
    return sorted(table for table in tables if names.bucket_name(table, 0, "keys") in tensors)


def read_table(checkpoint, table):
    """All rows of one table, in no particular order of keys. Completes a delta from its parents.

    Args:
      checkpoint: str, the prefix of a checkpoint or a directory whose latest is taken.
      table: str, the table's name.

    Returns:
      TableRows.

    Raises:
      ValueError: there is no checkpoint, or it has no such table; the message lists those it has.
      tf.errors.OpError: the checkpoint, or one it is a delta of, cannot be read.

    >>> rows = read_table("/tmp/model", "user")
    >>> dict(zip(rows.keys, rows.embeddings))
    """
    reader = open_table(checkpoint, table)
    return concatenate(list(reader.buckets()))


def open_table(checkpoint, table):
    """A TableReader of one table; arguments and errors as `read_table`."""
    prefix = find_checkpoint(checkpoint)
    if prefix is None:
        raise ValueError("%s is no checkpoint and no directory with one" % checkpoint)
    known = table_names(prefix)
    if table not in known:
        raise ValueError(
            "%s has no table %r; its tables are %s"
            % (checkpoint, table, ", ".join(known) or "none")
        )
    return TableReader(prefix, table)


def concatenate(parts):
    """One TableRows of all of `parts`, a list of at least one."""
    return TableRows(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.embeddings for part in parts]),
        collections.OrderedDict(
            (slot, np.concatenate([part.slots[slot] for part in parts])) for slot in parts[0].slots
        ),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.last_seen for part in parts]),
        parts[0].meta,
    )
