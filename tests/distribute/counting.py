"""Workers on two servers count keys in the same tables at once, asynchronously, and the counts must
be exact.

    python -m tests.distribute.counting [--seconds S] [--workers N]

runs for 60 seconds with three workers beside the chief, if not told otherwise.
"""

import argparse
import sys
import tempfile

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.cli.main import main as cli
from tests.distribute import counting_task
from tests.plugin import support

_SECONDS_TO_START_AND_END = 600
_MOST_IN_A_FLOAT = 1 << 24  # Floats count no further.


def run(directory, seconds, workers):
    """Counts for `seconds`, then checks. Returns the number of pushed gradients."""
    command = [sys.executable, "-m", "tests.distribute.counting_task", directory, str(seconds)]
    with ep.distribute.local_cluster(
        command, num_ps=2, num_workers=workers, env={"PYTHONPATH": support.ROOT}
    ) as cluster:
        cluster.wait(seconds + _SECONDS_TO_START_AND_END)
    return check(directory, workers + 1)


def check(directory, size):
    """No push is lost, applied twice, or on the row of another key."""
    paths = [counting_task.path_of_sent(directory, rank) for rank in range(size)]
    sent = np.stack([np.load(path) for path in paths], axis=1)
    total = sent.sum(axis=1)
    assert (sent.sum(axis=0) > 0).all(), "every worker has sent something"
    assert total.max() < _MOST_IN_A_FLOAT, "run for less time"
    latest = tf.train.latest_checkpoint(directory)
    assert cli(["verify", latest]) == 0
    wanted = np.flatnonzero(total)
    by_worker, of_all = (ep.checkpoint.read_table(latest, name) for name in ("by_worker", "total"))
    for rows in (by_worker, of_all):
        assert sorted(rows.keys.tolist()) == wanted.tolist(), "each key is in one place"
    np.testing.assert_array_equal(by_worker.embeddings[:, :-1], sent[by_worker.keys])
    np.testing.assert_array_equal(by_worker.embeddings[:, -1], total[by_worker.keys])
    np.testing.assert_array_equal(by_worker.counts, total[by_worker.keys])
    np.testing.assert_array_equal(of_all.embeddings[:, 0], total[of_all.keys])
    return int(total.sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=3, help="beside the chief")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        pushed = run(directory, arguments.seconds, arguments.workers)
    print("%d gradients of %d workers, none lost" % (pushed, arguments.workers + 1))


if __name__ == "__main__":
    main()
