"""Training runs to be killed, each in a process of its own."""

import os
import signal
import subprocess
import sys
import time

import tensorflow as tf

from tests.plugin import support


class Runs:
    """Starts training runs, one after another.

    Args:
      module: str, a program that answers each line on its standard input as `trainer.serve` does.
      arguments: list of str.
    """

    def __init__(self, module, arguments):
        self._server = subprocess.Popen(
            [sys.executable, "-m", module] + arguments + ["--serve"],
            cwd=support.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )

    def start(self):
        """The process id of a new run."""
        self._server.stdin.write("run\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def kill(self, pid):
        """Ends the run as a machine that fails would, and waits for its end."""
        os.kill(pid, signal.SIGKILL)
        assert int(self._server.stdout.readline()) == signal.SIGKILL

    def seconds_to_reach(self, model_dir, step):
        """How long a run took to save a checkpoint of `step`; the run is killed then."""
        start = time.time()
        pid = self.start()
        while step_of(model_dir) < step:
            assert time.time() < start + 120, "no progress"
            time.sleep(0.05)
        self.kill(pid)
        return time.time() - start

    def close(self):
        self._server.stdin.close()
        self._server.wait()


def step_of(model_dir):
    """The step of the newest checkpoint, or -1."""
    latest = tf.train.latest_checkpoint(model_dir)
    return int(tf.train.load_variable(latest, "global_step")) if latest else -1
