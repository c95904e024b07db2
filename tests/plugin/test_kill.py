"""kill -9 at random moments of a training run that saves every few steps."""

import os
import random
import signal
import subprocess
import sys
import time

import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

KILLS = 20
SAVE_EVERY = 3


class Runs:
    """Starts training runs, one after another, each in a process of its own."""

    def __init__(self, model_dir, steps):
        arguments = [model_dir, str(steps), "--save-every", str(SAVE_EVERY), "--serve"]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.plugin.trainer"] + arguments,
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
        pid = self.start()
        start = time.time()
        while step_of(model_dir) < step:
            assert time.time() < start + 120, "no progress"
            time.sleep(0.05)
        self.kill(pid)
        return time.time() - start

    def close(self):
        self._server.stdin.close()
        self._server.wait()


def step_of(model_dir):
    latest = tf.train.latest_checkpoint(model_dir)
    return int(tf.train.load_variable(latest, "global_step")) if latest else -1


def test_every_restart_continues_from_a_whole_checkpoint(tmp_path):
    seed = int(os.environ.get("EP_TEST_SEED", time.time()))
    print("EP_TEST_SEED=%d" % seed)
    moments = random.Random(seed)
    killed, whole = str(tmp_path / "killed"), str(tmp_path / "whole")
    runs = Runs(killed, 10**6)
    longest_life = 1.3 * runs.seconds_to_reach(killed, 5 * SAVE_EVERY)
    reached = [step_of(killed)]
    for _ in range(KILLS - 1):
        pid = runs.start()
        time.sleep(moments.uniform(0.0, longest_life))
        runs.kill(pid)
        reached.append(step_of(killed))
        content = support.checkpoint_content(killed)  # Every tensor, checksums included.
        assert content["dense"]["global_step"] == reached[-1]
    runs.close()
    assert reached == sorted(reached) and len(set(reached)) > KILLS // 4, reached
    steps = reached[-1] + 2
    for model_dir in (killed, whole):
        command = [sys.executable, "-m", "tests.plugin.trainer", model_dir, str(steps)]
        subprocess.run(command, cwd=support.ROOT, check=True, stderr=subprocess.DEVNULL)
    assert support.checkpoint_content(killed) == support.checkpoint_content(whole)
    assert ep.checkpoint.table_names(killed) == ["item", "user"]
    assert not [name for name in os.listdir(killed) if name.endswith("_temp")]
