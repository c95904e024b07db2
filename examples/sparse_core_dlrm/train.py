"""Trains DLRM on MovieLens-100K on growing tables and on stacked tables, and compares the two.

python -m examples.sparse_core_dlrm.train [--max_steps 700] [--num_replicas 1] [--model_dir DIR]
"""

import argparse
import collections
import os
import tempfile

import tensorflow as tf

import estimator_plugin as ep
from examples.movielens import download, events, model, report, training

MODEL = "dlrm"
COLUMNS = collections.OrderedDict(
    [("hash_table", "growing tables"), ("sparse_core", "stacked tables")]
)


def make_options(num_replicas=1):
    """The `SparseCoreOptions`: what one batch holds and how many shards the tables have."""
    return ep.model_fns.SparseCoreOptions(
        model.BATCH_SIZE,
        evaluation_batch_size=training.EVALUATION_BATCH_SIZE,
        num_replicas=num_replicas,
        num_sc_per_chip=4,
    )


def main(argv=None):
    """The command line. Returns the text of the end table."""
    arguments = _parse(argv)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    slices = events.make_slices(download.read_tables())
    results = collections.OrderedDict()
    for embedding, title in COLUMNS.items():
        print("%s on %s" % (MODEL, title), flush=True)
        model_dir = os.path.join(arguments.model_dir, embedding)
        options = make_options(arguments.num_replicas) if embedding == "sparse_core" else None
        results[title] = training.train(
            slices, MODEL, embedding, model_dir, arguments.max_steps, options
        )
    text = report.format_report(results)
    print("\n%s\n\nCheckpoints and summaries: %s" % (text, arguments.model_dir), flush=True)
    return text


def _parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max_steps", type=int, default=model.MAX_STEPS)
    parser.add_argument("--num_replicas", type=int, choices=(1, 2, 4), default=1)
    parser.add_argument("--model_dir", help="default: a new temporary directory")
    arguments = parser.parse_args(argv)
    if arguments.max_steps < 1:
        parser.error("--max_steps must be at least 1, got %d" % arguments.max_steps)
    if arguments.model_dir is None:
        arguments.model_dir = tempfile.mkdtemp(prefix="sparse-core-dlrm-")
    return arguments


if __name__ == "__main__":
    main()
