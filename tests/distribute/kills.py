"""Trains in a cluster whose tasks are killed at random moments, and checks what is left at the end.

    python -m tests.distribute.kills [--synchronous] [--kills N] [--seed S] [--log_dir DIR]

kills each of a worker, the chief and a server N times, 10 if not told otherwise.
"""

import argparse
import random
import sys
import tempfile
import time

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.cli.main import main as cli
from tests.distribute import pace, trainer
from tests.plugin import support

_STEPS_BETWEEN = (20, 60)
_STEPS_FOR_EACH = 200  # Reached after a kill and not passed before the next one.
_STEPS_AFTER = 300
_SECONDS = 600


class Job:
    """A running cluster of two servers, chief, worker and evaluator."""

    def __init__(self, cluster, model_dir, its_pace):
        self._cluster = cluster
        self._model_dir = model_dir
        self._pace = its_pace

    def step(self):
        """The step of the newest checkpoint, or -1."""
        latest = tf.train.latest_checkpoint(self._model_dir)
        return int(latest.rsplit("-", 1)[1]) if latest else -1

    def wait_for_progress(self, steps):
        """Waits until the job has saved `steps` more."""
        start = self.step()
        self._wait(lambda: self.step() >= start + steps)

    def wait_for_data(self):
        """Waits until every task that trains has been through its data after the last kill."""
        self._wait(self._pace.all_through)

    def kill_and_restart(self, task):
        self._cluster.kill(task)
        self._pace.forget()
        self._cluster.restart(task)

    def _wait(self, is_so):
        start, deadline = self.step(), time.time() + _SECONDS
        while not is_so():
            assert time.time() < deadline, "no progress since step %d" % start
            self._check_tasks()
            time.sleep(0.1)

    def _check_tasks(self):
        try:
            self._cluster.wait(0)
        except TimeoutError:
            return
        raise AssertionError("the job has ended too early")


def run(model_dir, victims, seed=0, synchronous=False, log_dir=None):
    """Runs a job to its end and kills the tasks `victims` on the way, one after another."""
    rng = random.Random(seed)
    max_steps = _STEPS_FOR_EACH * (len(victims) + 1) + _STEPS_AFTER
    its_pace = pace.Pace(model_dir, tasks=2)
    its_pace.allow(_STEPS_FOR_EACH)
    command = [sys.executable, "-m", "tests.distribute.trainer", model_dir, str(max_steps)]
    command += ["--synchronous"] if synchronous else []
    with ep.distribute.local_cluster(
        command,
        num_ps=2,
        num_workers=1,
        evaluator=True,
        env={"PYTHONPATH": support.ROOT},
        log_dir=log_dir,
    ) as cluster:
        job = Job(cluster, model_dir, its_pace)
        for i, victim in enumerate(victims):
            job.wait_for_progress(rng.randint(*_STEPS_BETWEEN))
            time.sleep(rng.random())  # Else it would always be just after a checkpoint.
            print("step %d: killing %s" % (job.step(), victim), flush=True)
            job.kill_and_restart(victim)
            its_pace.allow(_STEPS_FOR_EACH * (i + 2))
        job.wait_for_data()
        its_pace.allow(sys.maxsize)
        cluster.wait(_SECONDS)
    check(model_dir, max_steps)


def check(model_dir, max_steps):
    """The last checkpoint is whole, and every id of the data has its row in it."""
    latest = tf.train.latest_checkpoint(model_dir)
    assert tf.train.load_variable(latest, "global_step") >= max_steps
    assert cli(["verify", latest]) == 0
    rows = ep.checkpoint.read_table(model_dir, "user")
    keys = rows.keys.tolist()
    assert len(set(keys)) == len(keys)
    seen = {int(key) for rank in (0, 1) for key in trainer.users(rank).ravel()}
    assert set(keys) == seen, "of %d ids %d are missing" % (len(seen), len(seen - set(keys)))
    moved = (rows.slots["v"] != 0).any(axis=1)
    assert moved.all(), "%d rows were never updated" % (~moved).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--synchronous", action="store_true", help="trains synchronously")
    parser.add_argument("--kills", type=int, default=10, help="how often each kind is killed")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--log_dir", help="keeps what the tasks write")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    victims = ["worker:0", "chief"] * arguments.kills
    victims += [rng.choice(["ps:0", "ps:1"]) for _ in range(arguments.kills)]
    rng.shuffle(victims)
    print("seed %d" % arguments.seed, flush=True)
    with tempfile.TemporaryDirectory() as model_dir:
        run(
            model_dir,
            victims,
            seed=arguments.seed,
            synchronous=arguments.synchronous,
            log_dir=arguments.log_dir,
        )
    print("the job has ended whole after %d kills" % len(victims))


if __name__ == "__main__":
    main()
