"""A task of `tests.distribute.counting`: a server, or a worker that counts in tables.

    python -m tests.distribute.counting_task DIRECTORY SECONDS

A row starts at zero. Each occurrence of its key in a batch adds one to the column of the worker,
and one to the last column.
"""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from estimator_plugin.distribute import cluster  # noqa: E402
from tests.distribute import quick  # noqa: E402

v1 = tf.compat.v1
KEYS = 20000
HOT_KEY = 7
HOT_SHARE = 0.3  # Of all ids.
BATCH = 1000
_STEPS_TO_A_SAVE = 100
_SECONDS_FOR_OTHERS = 300


def draw(random):
    """The ids of a batch."""
    ids = random.randint(0, KEYS, BATCH)
    return np.where(random.random_sample(BATCH) < HOT_SHARE, HOT_KEY, ids)


class Counter:
    """The graph of a worker, and what it has sent."""

    def __init__(self, rank, size):
        self._rank = rank
        self._random = np.random.RandomState(rank)
        self.sent = np.zeros(KEYS, np.int64)  # Occurrences by key.
        self._ids = v1.placeholder(tf.int64, [BATCH])
        ones = tf.concat([tf.one_hot(rank, size), [1.0]], axis=0)
        by_worker = ep.create_table(tf.int64, size + 1, "by_worker", v1.zeros_initializer())
        total = ep.create_table(tf.int64, 1, "total", v1.zeros_initializer())
        self._rows = ep.sparse_lookup(
            by_worker, self._ids, access_and_evict_config={"access_threshold": 1}
        )
        loss = -tf.reduce_sum(self._rows * ones) - tf.reduce_sum(ep.sparse_lookup(total, self._ids))
        v1.train.get_or_create_global_step()
        self._train = ep.optimizers.gradient_descent.create_hash_optimizer(1.0).minimize(loss)
        self.saver = ep.checkpoint.saver(defer_build=True)

    def step(self, session):
        """One push, of what was not lost so far."""
        ids = draw(self._random)
        rows, _ = session.run([self._rows, self._train], {self._ids: ids})
        # What this worker has sent is there, and no row is half-written.
        np.testing.assert_array_equal(rows[:, self._rank], self.sent[ids])
        np.testing.assert_array_equal(rows[:, -1], rows[:, :-1].sum(axis=1))
        np.add.at(self.sent, ids, 1)


def count(target, rank, size, directory, seconds):
    """Counts for `seconds` and leaves what was sent in `directory`; the chief saves."""
    counter = Counter(rank, size)
    is_chief = rank == 0
    with v1.train.MonitoredTrainingSession(
        target,
        is_chief,
        scaffold=v1.train.Scaffold(saver=counter.saver),
        config=ep.distribute.session_config(),
        log_step_count_steps=None,
    ) as session:
        steps, end = 0, time.time() + seconds
        while time.time() < end:
            counter.step(session)
            steps += 1
            if is_chief and steps % _STEPS_TO_A_SAVE == 0:
                _save(counter.saver, session, directory, steps)
        _leave(directory, rank, counter.sent)
        print("%d steps" % steps)
        if is_chief:
            _wait_for_all(directory, size)
            _save(counter.saver, session, directory, steps + 1)


def _save(saver, session, directory, step):
    prefix = os.path.join(directory, "model.ckpt")

    def save(step_context):
        saver.save(step_context.session, prefix, step, write_meta_graph=False)

    session.run_step_fn(save)


def path_of_sent(directory, rank):
    return os.path.join(directory, "sent-%d.npy" % rank)


def _leave(directory, rank, sent):
    path = path_of_sent(directory, rank)
    with open(path + ".tmp", "wb") as file:
        np.save(file, sent)
    os.rename(path + ".tmp", path)


def _wait_for_all(directory, size):
    deadline = time.time() + _SECONDS_FOR_OTHERS
    while not all(os.path.exists(path_of_sent(directory, rank)) for rank in range(size)):
        assert time.time() < deadline, "a worker has not finished"
        time.sleep(0.1)


def main(directory, seconds):
    quick.set_up()
    settings = json.loads(os.environ["TF_CONFIG"])
    known = cluster.read()
    server = tf.distribute.Server(
        tf.train.ClusterSpec(settings["cluster"]),
        known.task_type,
        known.task_index,
        config=ep.distribute.session_config(),
    )
    if cluster.is_server():
        server.join()
    worker = "/job:%s/task:%d" % (known.task_type, known.task_index)
    placement = v1.train.replica_device_setter(
        ps_tasks=len(known.servers), worker_device=worker, merge_devices=True
    )
    with tf.Graph().as_default(), v1.device(placement):
        count(server.target, known.rank, known.size, directory, seconds)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
