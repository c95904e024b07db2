"""The example on a cluster of processes on this machine: `train --cluster 2ps,2workers`.

As a program it is one task of that cluster; TF_CONFIG says which:

    python -m examples.movielens.cluster MODEL MODEL_DIR MAX_STEPS
"""

import argparse
import os
import re
import sys
import time

import tensorflow as tf

import estimator_plugin as ep

from . import download, events, report, training

_SECONDS = 3600
_TITLE = "on servers"


def parse(text):
    """(servers, workers) of a text like "2ps,2workers".

    Raises:
      argparse.ArgumentTypeError: it is no such text.
    """
    match = re.match(r"([1-9]\d*)ps,(\d+)workers?$", text)
    if not match:
        raise argparse.ArgumentTypeError(
            "want servers and workers beside the chief, as in 2ps,2workers, got %r" % text
        )
    return int(match.group(1)), int(match.group(2))


def run(slices, arguments):
    """Trains on the cluster and evaluates on the held-out events. Returns the end table."""
    servers, workers = arguments.cluster
    model_dir = os.path.join(arguments.model_dir, arguments.model, "cluster")
    logs = os.path.join(model_dir, "logs")
    print(
        "%s on %d servers, chief and %d workers; what they say: %s"
        % (arguments.model, servers, workers, logs),
        flush=True,
    )
    command = [sys.executable, "-m", __name__, arguments.model, model_dir]
    command.append(str(arguments.max_steps))
    start = time.perf_counter()
    with ep.distribute.local_cluster(
        command, num_ps=servers, num_workers=workers, evaluator=True, log_dir=logs
    ) as cluster:
        cluster.wait(_SECONDS)
    seconds = time.perf_counter() - start
    estimator = training.make_estimator(
        arguments.model, "hash_table", model_dir, arguments.max_steps
    )
    result = training.held_out(estimator, slices, arguments.max_steps / seconds, seconds)
    text = report.format_report({_TITLE: result})
    print("\n%s\n\nCheckpoints and summaries: %s" % (text, model_dir), flush=True)
    return text


def main(model_name, model_dir, max_steps):
    """One task."""
    slices = events.make_slices(download.read_tables())
    estimator = training.make_estimator(model_name, "hash_table", model_dir, max_steps)
    rank = ep.distribute.rank_id()
    if rank > 0:
        # A worker that finds nothing to train on yet sleeps for 30 seconds: so much is all of this.
        while not tf.train.latest_checkpoint(model_dir):
            time.sleep(0.1)
    hooks = [ep.hooks.ProgressHook(max_steps)]
    training.train_and_evaluate(estimator, slices, max_steps, hooks, seed=training.SEED + rank)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
