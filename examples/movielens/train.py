"""Trains a model on MovieLens-100K, on growing tables and on `tf.Variable`s, and compares the two.

python -m examples.movielens.train [--model deepfm] [--max_steps 700] [--model_dir DIR]
python -m examples.movielens.train --cluster 2ps,2workers
"""

import argparse
import collections
import os
import tempfile
import time

import tensorflow as tf

import estimator_plugin as ep

from . import cluster, download, events, inputs, model, report

COLUMNS = collections.OrderedDict([("hash_table", "growing tables"), ("variable", "tf.Variable")])
EVALUATION_BATCH_SIZE = 2000
EVALUATIONS = 3
WARM_UP_STEPS = 10
SEED = 1


class StepTimer(tf.compat.v1.train.SessionRunHook):
    """Adds up the time spent in training steps, the first few left out."""

    def __init__(self):
        self._steps, self._seconds, self._started = 0, 0.0, 0.0

    def before_run(self, run_context):
        self._started = time.perf_counter()

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._steps > WARM_UP_STEPS:
            self._seconds += time.perf_counter() - self._started

    def steps_per_second(self):
        counted = self._steps - WARM_UP_STEPS
        return counted / self._seconds if self._seconds > 0 else float("nan")


def make_estimator(model_name, embedding, model_dir, max_steps, sparse_core=None):
    """The Estimator of one of `model.MODELS`; for the other arguments see `model.make_model_fn`."""
    return tf.estimator.Estimator(
        model.make_model_fn(model_name, embedding, sparse_core=sparse_core),
        model_dir,
        tf.estimator.RunConfig(
            tf_random_seed=SEED,
            save_checkpoints_steps=max(max_steps // EVALUATIONS, 1),
            keep_checkpoint_max=EVALUATIONS + 2,  # So that an evaluator may take its time.
            experimental_max_worker_delay_secs=0,
        ),
    )


def train_and_evaluate(estimator, slices, max_steps, hooks, seed=SEED):
    """Trains on the events of `slices`, shuffled by `seed`, and evaluates each checkpoint."""
    validation = inputs.evaluation_input_fn(*slices.validation, batch_size=EVALUATION_BATCH_SIZE)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            inputs.training_input_fn(*slices.train, batch_size=model.BATCH_SIZE, seed=seed),
            max_steps,
            hooks=hooks,
        ),
        tf.estimator.EvalSpec(
            validation, steps=None, name="validation", start_delay_secs=0, throttle_secs=0
        ),
    )


def held_out(estimator, slices, steps_per_second, seconds):
    """The `Result` of a trained Estimator: how it does on the held-out events."""
    test = inputs.evaluation_input_fn(*slices.test, batch_size=EVALUATION_BATCH_SIZE)
    metrics = estimator.evaluate(test, name="test")
    checkpoint = estimator.latest_checkpoint()
    return report.Result(
        auc=metrics["auc"],
        log_loss=metrics["log_loss"],
        steps_per_second=steps_per_second,
        train_seconds=seconds,
        rows=report.rows_in_checkpoint(checkpoint),
        checkpoint_bytes=report.checkpoint_bytes(checkpoint),
    )


def train(slices, model_name, embedding, model_dir, max_steps, sparse_core=None):
    """Runs train_and_evaluate, then evaluates on the held-out events. Returns a `Result`."""
    estimator = make_estimator(model_name, embedding, model_dir, max_steps, sparse_core)
    timer = StepTimer()
    start = time.perf_counter()
    train_and_evaluate(estimator, slices, max_steps, [ep.hooks.ProgressHook(max_steps), timer])
    seconds = time.perf_counter() - start
    return held_out(estimator, slices, timer.steps_per_second(), seconds)


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
        results[title] = train(slices, arguments.model, embedding, model_dir, arguments.max_steps)
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
