"""Trains a model on MovieLens-100K, on growing tables and on `tf.Variable`s, and compares the two.

python -m examples.movielens.train [--model deepfm] [--max_steps 700] [--model_dir DIR]
python -m examples.movielens.train --cluster 2ps,2workers
"""

import argparse
import collections
import os
import tempfile

import tensorflow as tf

from . import cluster, download, events, model, report, training

COLUMNS = collections.OrderedDict([("hash_table", "growing tables"), ("variable", "tf.Variable")])


def main(argv=None):
    """The command line. Returns the text of the end table."""
    arguments = _parse(argv)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    slices = events.make_slices(download.read_tables())
    counts = ", ".join("%d %s" % (len(part[1]), name) for name, part in slices._asdict().items())
    print("MovieLens-100K by time: %s events" % counts, flush=True)
    if arguments.cluster:
        return cluster.run(slices, arguments)
    results = collections.OrderedDict()
    for embedding, title in COLUMNS.items():
        print("%s on %s" % (arguments.model, title), flush=True)
        model_dir = os.path.join(arguments.model_dir, arguments.model, embedding)
        results[title] = training.train(
            slices, arguments.model, embedding, model_dir, arguments.max_steps
        )
    text = report.format_report(results)
    print("\n%s\n\nCheckpoints and summaries: %s" % (text, arguments.model_dir), flush=True)
    return text


def _parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=model.MODELS, default="deepfm")
    steps = "steps of %d events; default %d" % (model.BATCH_SIZE, model.MAX_STEPS)
    parser.add_argument("--max_steps", type=int, default=model.MAX_STEPS, help=steps)
    parser.add_argument("--model_dir", help="default: a new temporary directory")
    parser.add_argument(
        "--cluster",
        type=cluster.parse,
        metavar="2ps,2workers",
        help="train growing tables on a cluster of processes on this machine, with so many "
        "parameter servers and so many workers beside the chief, and an evaluator",
    )
    arguments = parser.parse_args(argv)
    if arguments.model_dir is None:
        arguments.model_dir = tempfile.mkdtemp(prefix="movielens-")
    if arguments.max_steps < 1:
        parser.error("--max_steps must be at least 1, got %d" % arguments.max_steps)
    return arguments


if __name__ == "__main__":
    main()
