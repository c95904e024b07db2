"""`merge`: a checkpoint and all it is a delta of, as one full checkpoint.

The result holds every variable and table and is restored by any Saver, wherever it is moved.
"""

import os
import shutil

import tensorflow as tf

from ..checkpoint import versions
from ..checkpoint.table_reader import TableReader
from ..checkpoint.tensor_reader import open_reader
from ..ops import bundle_ops, library, table_ops
from . import sources
from .report import OK, Report, bytes_text


def add_arguments(parser):
    parser.add_argument("checkpoint", help="a checkpoint, or a directory whose latest is taken")
    parser.add_argument(
        "--output",
        required=True,
        metavar="PREFIX",
        help="the checkpoint to write, e.g. out/model.ckpt-9",
    )


def run(arguments, progress):
    """The Report of `merge CHECKPOINT --output PREFIX`.

    The directory of PREFIX is made when it is missing, and gets a `checkpoint` file when it has
    none, so that it can be given as a model_dir.

    Raises:
      ValueError: CHECKPOINT is none, PREFIX is there already, or this is TensorFlow 1.15.
      tf.errors.OpError, OSError: reading or writing failed; nothing is left at PREFIX.
    """
    if not hasattr(library.load(), "ep_save_tables"):
        raise ValueError(
            "merge needs TensorFlow 2.6 or later, this is %s; it reads checkpoints of any version"
            % tf.__version__
        )
    prefix = sources.checkpoint(arguments.checkpoint)
    output = os.path.abspath(arguments.output)
    if os.path.isdir(output) or not os.path.basename(arguments.output):
        raise ValueError("--output %s must be a prefix, e.g. DIRECTORY/model.ckpt-9" % output)
    if versions.exists(output):
        raise ValueError("--output %s is a checkpoint already; nothing was written" % output)
    directory = os.path.dirname(output)
    os.makedirs(directory, exist_ok=True)
    temporary = output + "_temp"
    tables, variables = sources.tables_and_variables(prefix)
    rows = {}
    try:
        parts = [os.path.join(temporary, "part-%d" % i) for i in range(len(tables) + 1)]
        os.makedirs(temporary)
        for table, part in progress.track(zip(tables, parts[1:]), len(tables), "merging tables"):
            rows[table] = _copy_table(prefix, table, part)
        if variables:
            _copy_variables(prefix, variables, parts[0])
        _join(parts if variables else parts[1:], output)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if not os.path.exists(os.path.join(directory, "checkpoint")):
        tf.compat.v1.train.update_checkpoint_state(directory, os.path.basename(output))
    size = sources.size_in_bytes(output)
    data = {"checkpoint": prefix, "output": output, "bytes": size, "rows": rows}
    lines = ["table %s: %s rows" % (table, f"{n:,}") for table, n in rows.items()]
    lines += ["%d variables" % len(variables), "%s, %s" % (output, bytes_text(size))]
    return Report(data, lines, OK)


def _copy_table(prefix, table, part):
    """Writes one table whole into the bundle `part`. Returns its number of rows."""
    meta = TableReader(prefix, table).meta
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        handle = table_ops.table_handle(
            table_name=table,
            shared_name=table,
            dim=meta.dim,
            num_buckets=meta.num_buckets,
            key_dtype=meta.key_dtype,
            initializer_kind=meta.initializer,
            initializer_arguments=meta.initializer_arguments,
            seed=meta.seed - 2**64 if meta.seed >= 2**63 else meta.seed,  # An int64 attribute.
        )
        restore = bundle_ops.restore_tables(prefix, [table], [handle])
        save = bundle_ops.save_tables(part, [table], [handle])
        size = table_ops.table_size(handle)
        session.run(restore)
        session.run(save)
        return int(session.run(size))


def _copy_variables(prefix, variables, part):
    dtypes = open_reader(prefix).dtypes
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        whole = [""] * len(variables)
        values = tf.raw_ops.RestoreV2(
            prefix=prefix,
            tensor_names=variables,
            shape_and_slices=whole,
            dtypes=[dtypes[name] for name in variables],
        )
        session.run(
            tf.raw_ops.SaveV2(
                prefix=part, tensor_names=variables, shape_and_slices=whole, tensors=values
            )
        )


def _join(parts, output):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(
            tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=parts, destination_prefix=output, delete_old_dirs=True
            )
        )
