"""`export`: the embeddings of a checkpoint as plain numpy files."""

import os

import numpy as np
import tensorflow as tf

from . import notices, validate
from .checkpoint import reader

FILE_NAME = "key-emb.npz"


def export(table_list=None, checkpoint=None, output_dir=None):
    """Writes the keys and embeddings of tables as arrays that load without pickle.

    Each table becomes `<output_dir>/<table>/key-emb.npz` with int64 `keys` [n], in ascending order,
    and float32 `embeddings` [n, dim], row by row.

    Args:
      table_list: list of table names, or None for all tables of the checkpoint. A name the
        checkpoint does not have is left out with a warning.
      checkpoint: str, the prefix of a checkpoint, or a model_dir whose latest checkpoint is taken.
      output_dir: str; None is `export-<checkpoint>` beside the checkpoint.

    Returns:
      A dict from table name to the file written.

    Raises:
      ValueError: table_list is no list of names, or there is no checkpoint.
      tf.errors.OpError: the checkpoint cannot be read.

    >>> files = ep.export(["user"], checkpoint="/tmp/model")
    >>> np.load(files["user"])["embeddings"].shape
    (1000, 16)

    Semantics: `mx_rec.saver.sparse.export` of the Rec SDK, which pickles a dict.
    """
    validate.string("export", "checkpoint", checkpoint, 4096)
    prefix = tf.train.latest_checkpoint(checkpoint) if os.path.isdir(checkpoint) else checkpoint
    if prefix is None or not tf.io.gfile.exists(prefix + ".index"):
        validate.fail("export", "checkpoint", checkpoint, "a checkpoint or a directory with one")
    known = reader.table_names(prefix)
    wanted = known if table_list is None else _names(table_list)
    for name in sorted(set(wanted) - set(known)):
        notices.warn_once("export: %s has no table %r; it is left out" % (prefix, name))
    if output_dir is None:
        directory, basename = os.path.split(prefix)
        output_dir = os.path.join(directory, "export-" + basename)
    return {
        name: _write(reader.read_table(prefix, name), os.path.join(output_dir, name))
        for name in wanted
        if name in known
    }


def _names(table_list):
    if not isinstance(table_list, (list, tuple)) or not table_list:
        validate.fail("export", "table_list", table_list, "None or a list of at least one name")
    for name in table_list:
        validate.string("export", "table_list", name, 100)
    return list(table_list)


def _write(rows, directory):
    if not os.path.isdir(directory):
        os.makedirs(directory)
    path = os.path.join(directory, FILE_NAME)
    order = np.argsort(rows.keys)
    np.savez(path, keys=rows.keys[order], embeddings=rows.embeddings[order])
    return path
