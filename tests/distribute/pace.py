"""Holds a job back, so that on no machine, however busy, it is over before its test is.

The tasks share a directory with the test: in it stand the step that they may reach and, of each
task that trains, whether it has been through its data since it was last started.
"""

import contextlib
import os
import time

import tensorflow as tf

_SECONDS = 0.05


class Pace:
    """The test's side.

    Args:
      model_dir: the job's.
      tasks: how many of its tasks train.
    """

    def __init__(self, model_dir, tasks):
        self._directory = _directory(model_dir)
        self._tasks = tasks
        os.makedirs(self._directory, exist_ok=True)

    def allow(self, step):
        """Lets the job reach a global step, and go past it by what it does meanwhile."""
        path = os.path.join(self._directory, "step")
        with open(path + ".new", "w") as file:
            file.write(str(step))
        os.replace(path + ".new", path)

    def forget(self):
        """No task has been through its data: those that have will say so again."""
        for rank in range(self._tasks):
            with contextlib.suppress(FileNotFoundError):
                os.remove(_through(self._directory, rank))

    def all_through(self):
        ranks = range(self._tasks)
        return all(os.path.exists(_through(self._directory, rank)) for rank in ranks)


class PaceHook(tf.compat.v1.train.SessionRunHook):
    """A task's side: once through its data, it waits at the step that it may reach.

    Args:
      model_dir: the job's.
      rank: the task's.
      batches: how many batches its data has.
    """

    def __init__(self, model_dir, rank, batches):
        self._directory = _directory(model_dir)
        self._rank = rank
        self._batches = batches

    def begin(self):
        self._step = tf.compat.v1.train.get_global_step()

    def after_create_session(self, session, coord):
        self._trained = 0  # A new session starts with the first batch.

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        self._trained += 1
        while self._trained >= self._batches:
            with open(_through(self._directory, self._rank), "w"):
                pass
            with open(os.path.join(self._directory, "step")) as file:
                if run_values.results < int(file.read()):
                    return
            time.sleep(_SECONDS)


def _directory(model_dir):
    return os.path.join(model_dir, "pace")


def _through(directory, rank):
    return os.path.join(directory, "through-%d" % rank)
