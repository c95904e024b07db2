"""What the commands' path arguments stand for."""

import os

import tensorflow as tf

from ..checkpoint import names, reader
from ..checkpoint.tensor_reader import open_reader


def checkpoint(path):
    """The prefix that the argument `path` stands for.

    Raises:
      ValueError: it stands for no checkpoint.
    """
    if path.endswith(".index"):  # What a shell completes a prefix to.
        path = path[: -len(".index")]
    prefix = reader.find_checkpoint(path)
    if prefix is None:
        raise ValueError(
            "%s is no checkpoint: give a prefix such as model/model.ckpt-100, or a directory "
            "with one" % path
        )
    return prefix


def tables_and_variables(prefix):
    """What a checkpoint holds: its table names, and the names of all tensors of no table."""
    tables = reader.table_names(prefix)
    tensors = sorted(open_reader(prefix).shapes)
    return tables, [name for name in tensors if not _belongs_to(name, tables)]


def size_in_bytes(prefix):
    """Bytes of a checkpoint's own files."""
    directory, basename = os.path.split(prefix)
    directory = directory or "."
    endings = (".index", ".meta", ".data-")
    return sum(
        tf.io.gfile.stat(os.path.join(directory, name)).length
        for name in tf.io.gfile.listdir(directory)
        if name.startswith(tuple(basename + ending for ending in endings))
    )


def require_table(prefix, table):
    """Raises ValueError when the checkpoint lacks the table."""
    known = reader.table_names(prefix)
    if table not in known:
        raise ValueError(
            "%s has no table %r; its tables are %s" % (prefix, table, ", ".join(known) or "none")
        )


def _belongs_to(tensor, tables):
    table = tensor.partition("/")[0]  # A table's name has no slash.
    return table in tables and tensor.startswith(
        (names.meta_name(table), names.bank_name(table), table + "/bucket-")
    )
