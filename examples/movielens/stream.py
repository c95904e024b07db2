"""Trains on MovieLens-100K in order of time, with and without eviction, and draws table sizes.

python -m examples.movielens.stream [--days 7] [--chart FILE.svg] [--model_dir DIR]
"""

import argparse
import collections
import os
import tempfile

import numpy as np
import tensorflow as tf

import estimator_plugin as ep

from . import chart, download, events, inputs, model

# Table -> the features that look ids up in it.
TABLES = {"user": ["user_id"], "item": ["item_id", "liked", "disliked"]}
BATCH_SIZE = 128
STEPS_BETWEEN_EVICTIONS = 10
EVALUATION_BATCH_SIZE = 2000
SECONDS_PER_DAY = 86400
SEED = 1

# held-out AUC, and {table: rows after each step}.
Run = collections.namedtuple("Run", ["auc", "rows"])


class RowsOverTime(tf.compat.v1.train.SessionRunHook):
    """Notes the rows of `TABLES` after each step."""

    def __init__(self):
        self.rows = {name: [] for name in TABLES}

    def begin(self):
        tables = {table.name: table for table in ep.lookup_registry.tables_of_graph()}
        self._sizes = {name: tables[name].size() for name in TABLES}

    def after_run(self, run_context, run_values):
        for name, size in run_context.session.run(self._sizes).items():
            self.rows[name].append(int(size))


def train(slices, model_dir, max_age=None):
    """One pass over the training slice, oldest events first. Returns a `Run`."""
    config = tf.estimator.RunConfig(tf_random_seed=SEED, save_checkpoints_secs=10**6)
    model_fn = model.make_model_fn("deepfm", "hash_table", max_age)
    estimator = tf.estimator.Estimator(model_fn, model_dir, config)
    hooks = []
    if max_age is not None:
        hooks.append(ep.hooks.EvictHook(True, evict_step_interval=STEPS_BETWEEN_EVICTIONS))
    rows = RowsOverTime()  # After the eviction, so that it sees what is left.
    estimator.train(inputs.streaming_input_fn(*slices.train, batch_size=BATCH_SIZE), hooks + [rows])
    held_out = inputs.evaluation_input_fn(*slices.test, batch_size=EVALUATION_BATCH_SIZE)
    return Run(float(estimator.evaluate(held_out)["auc"]), rows.rows)


def batch_times(features):
    """The time of each batch, that of its last event."""
    last = np.arange(BATCH_SIZE, len(features["timestamp"]) + BATCH_SIZE, BATCH_SIZE) - 1
    return features["timestamp"][np.minimum(last, len(features["timestamp"]) - 1)]


def seen_lately(features, names, max_age):
    """How many ids of the features `names` the batches of the last `max_age` seconds hold."""
    times = batch_times(features)
    last_seen, counts = {}, []
    for step, now in enumerate(times):
        batch = slice(step * BATCH_SIZE, (step + 1) * BATCH_SIZE)
        for name in names:
            last_seen.update(dict.fromkeys(np.unique(features[name][batch]).tolist(), now))
        last_seen.pop(-1, None)
        counts.append(sum(now - seen < max_age for seen in last_seen.values()))
    return counts


def draw(slices, runs, days, path):
    """Writes the chart of table sizes to `path`, an SVG file."""
    features = slices.train[0]
    times = batch_times(features)
    days_since_start = (times - times[0]) / SECONDS_PER_DAY
    panels = []
    for table, names in TABLES.items():
        lines = collections.OrderedDict(
            ("rows, %s" % title, run.rows[table]) for title, run in runs.items()
        )
        title = "ids seen in the last %g days" % days
        lines[title] = seen_lately(features, names, days * SECONDS_PER_DAY)
        panels.append(chart.Panel('table "%s"' % table, days_since_start, lines))
    with open(path, "w", encoding="utf-8") as file:
        file.write(chart.svg(panels, "days of MovieLens-100K"))


def main(argv=None):
    """The command line. Returns {title: Run}."""
    arguments = _parse(argv)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    slices = events.make_slices(download.read_tables())
    max_age = int(arguments.days * SECONDS_PER_DAY)
    kept, evicted = "nothing leaves", "kept for %g days" % arguments.days
    runs = collections.OrderedDict()
    for title, folder, age in ((kept, "kept", None), (evicted, "evicted", max_age)):
        runs[title] = train(slices, os.path.join(arguments.model_dir, folder), age)
        at_end = ", ".join("%d rows of %s" % (r[-1], n) for n, r in runs[title].rows.items())
        print("%s: held-out AUC %.4f; at the end %s" % (title, runs[title].auc, at_end), flush=True)
    if arguments.chart:
        draw(slices, runs, arguments.days, arguments.chart)
    return runs


def _parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, default=7, help="how long rows are kept; default 7")
    parser.add_argument("--chart", metavar="FILE.svg", help="where to draw the size of the tables")
    parser.add_argument("--model_dir", help="default: a new temporary directory")
    arguments = parser.parse_args(argv)
    if arguments.model_dir is None:
        arguments.model_dir = tempfile.mkdtemp(prefix="movielens-stream-")
    if not arguments.days * SECONDS_PER_DAY >= 1:
        parser.error("--days must be above 0, got %g" % arguments.days)
    return arguments


if __name__ == "__main__":
    main()
