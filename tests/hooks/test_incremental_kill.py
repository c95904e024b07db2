"""kill -9 at random moments of a run that saves a delta every 3 steps and removes rows."""

import os
import random
import subprocess
import sys
import time

import tensorflow as tf

from estimator_plugin.checkpoint import versions
from tests.hooks import incremental_trainer
from tests.plugin import support
from tests.plugin.runs import Runs, step_of

_PROGRAM = "tests.hooks.incremental_trainer"
KILLS = 30


def test_every_restart_continues_from_a_whole_version(tmp_path):
    seed = int(os.environ.get("EP_TEST_SEED", time.time()))
    print("EP_TEST_SEED=%d" % seed)
    moments = random.Random(seed)
    killed, whole = str(tmp_path / "killed"), str(tmp_path / "whole")
    runs = Runs(_PROGRAM, [killed, str(10**6)])
    longest_life = 1.3 * runs.seconds_to_reach(killed, 9)
    reached, kinds = [step_of(killed)], set()
    for _ in range(KILLS - 1):
        pid = runs.start()
        time.sleep(moments.uniform(0.0, longest_life))
        runs.kill(pid)
        reached.append(step_of(killed))
        latest = tf.train.latest_checkpoint(killed)
        kinds.add(versions.read_version(latest).kind)
        # What the list says is there: each version of it can be restored.
        read = {}
        for prefix in versions.recorded(killed):
            assert versions.is_whole(prefix, read), prefix
    runs.close()
    assert reached == sorted(reached) and len(set(reached)) > KILLS // 4, reached
    assert "delta" in kinds
    steps = reached[-1] + 5
    for model_dir in (killed, whole):
        command = [sys.executable, "-m", _PROGRAM, model_dir, str(steps)]
        subprocess.run(command, cwd=support.ROOT, check=True, stderr=subprocess.DEVNULL)
    assert support.checkpoint_content(killed) == support.checkpoint_content(whole)
    assert len(versions.recorded(killed)) <= incremental_trainer.KEEP + 7
    assert not [name for name in os.listdir(killed) if name.endswith("_temp")]
