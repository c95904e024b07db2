"""kill -9 at random moments of a training run that saves every few steps."""

import os
import random
import subprocess
import sys
import time

import estimator_plugin as ep
from tests.plugin import support
from tests.plugin.runs import Runs, step_of

KILLS = 20
SAVE_EVERY = 3


def test_every_restart_continues_from_a_whole_checkpoint(tmp_path):
    seed = int(os.environ.get("EP_TEST_SEED", time.time()))
    print("EP_TEST_SEED=%d" % seed)
    moments = random.Random(seed)
    killed, whole = str(tmp_path / "killed"), str(tmp_path / "whole")
    runs = Runs("tests.plugin.trainer", [killed, str(10**6), "--save-every", str(SAVE_EVERY)])
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
