"""What a trained model is worth and costs, as a table of text."""

import collections
import dataclasses
import os
from typing import Dict

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.sparse_core import layout

FIRST_ORDER = "first-order weights"
EMBEDDINGS_SCOPE = "embeddings/"  # Where model_fns keep the tf.Variables of `embedding="variable"`.


@dataclasses.dataclass(frozen=True)
class Result:
    """One training run.

    Args:
      auc: area under the ROC curve on the held-out events.
      log_loss: mean log loss on the held-out events.
      steps_per_second: training steps by the time spent in them.
      train_seconds: the whole of train_and_evaluate, with evaluations and checkpoints.
      rows: rows of each table.
      checkpoint_bytes: size of the last checkpoint.
    """

    auc: float
    log_loss: float
    steps_per_second: float
    train_seconds: float
    rows: Dict[str, int]
    checkpoint_bytes: int


def checkpoint_bytes(prefix):
    """Bytes of a checkpoint's data and index files."""
    files = tf.io.gfile.glob(prefix + ".data-*") + [prefix + ".index"]
    return sum(os.path.getsize(file) for file in files)


def rows_in_checkpoint(prefix):
    """Dict from table, or variable that stands in for one, to its rows; of a stacked table, all.

    The many tables of first-order weights count as one, `FIRST_ORDER`.
    """
    rows = collections.Counter()
    for name in ep.checkpoint.table_names(prefix):
        rows[_shown_name(name)] += len(ep.checkpoint.read_table(prefix, name).keys)
    for name, shape in tf.train.list_variables(prefix):
        if name.startswith(EMBEDDINGS_SCOPE) and name.count("/") == 1:  # No optimizer slot.
            rows[_shown_name(name[len(EMBEDDINGS_SCOPE) :])] += shape[0]
        elif name == layout.CHECKPOINT_NAME:
            tables = layout.parsed(tf.train.load_variable(prefix, name))
            for table, place in tables.items():
                rows[_shown_name(table)] += place.unsharded_shape[0]
    return dict(rows)


def _shown_name(table):
    return FIRST_ORDER if table.endswith("_linear") else table


def format_report(results):
    """The end table.

    Args:
      results: ordered dict from a column's title to its `Result`.

    Returns:
      A text of several lines.
    """
    lines = [
        ("held-out AUC", "%.4f", lambda r: r.auc),
        ("held-out log loss", "%.4f", lambda r: r.log_loss),
        ("steps/s", "%.1f", lambda r: r.steps_per_second),
        ("seconds in all", "%.1f", lambda r: r.train_seconds),
        ("checkpoint, KB", "%.0f", lambda r: r.checkpoint_bytes / 1000),
    ]
    table = [[""] + list(results)]
    table += [[title] + [form % read(r) for r in results.values()] for title, form, read in lines]
    names = sorted({name for result in results.values() for name in result.rows})
    table += [
        ["rows of %s" % name] + [str(r.rows.get(name, "-")) for r in results.values()]
        for name in names
    ]
    return _aligned(table)


def _aligned(table):
    widths = [max(len(row[c]) for row in table) for c in range(len(table[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0])] + [v.rjust(w) for v, w in zip(row[1:], widths[1:])])
        for row in table
    )
