"""local_cluster: real processes, their ends, and a real tf.estimator job."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

# Prints its TF_CONFIG; servers wait for ever, as TensorFlow's do.
_PROGRAM = """
import json, os, sys, time
config = json.loads(os.environ["TF_CONFIG"])
print(json.dumps(config), flush=True)
while config["task"]["type"] == "ps" or os.environ.get("WAIT"):
    time.sleep(0.05)
sys.exit(int(os.environ.get("EXIT", 0)))
"""
_COMMAND = [sys.executable, "-c", _PROGRAM]


def _wait_until(condition):
    deadline = time.time() + 20
    while not condition():
        assert time.time() < deadline
        time.sleep(0.02)


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def test_every_task_is_told_its_place(tmp_path):
    with ep.distribute.local_cluster(
        _COMMAND, num_ps=2, num_workers=1, evaluator=True, log_dir=str(tmp_path)
    ) as cluster:
        assert cluster.tasks == ["ps:0", "ps:1", "chief", "worker:0", "evaluator"]
        cluster.wait(20)
        configs = {task: json.loads(cluster.output(task)) for task in cluster.tasks}
        assert not any(cluster.is_running(task) for task in cluster.tasks)
    jobs = configs["chief"]["cluster"]
    assert {job: len(addresses) for job, addresses in jobs.items()} == {
        "chief": 1,
        "worker": 1,
        "ps": 2,
    }
    assert len({a for addresses in jobs.values() for a in addresses}) == 4
    assert all(config["cluster"] == jobs for config in configs.values())
    assert configs["ps:1"]["task"] == {"type": "ps", "index": 1}
    assert configs["evaluator"]["task"] == {"type": "evaluator", "index": 0}
    assert "ps-1.log" in os.listdir(str(tmp_path))


def test_a_task_that_fails_is_an_error_with_its_output():
    message = "(?s)task chief ended with exit code 3.*cluster"
    failing = ep.distribute.local_cluster(_COMMAND, num_workers=0, env={"EXIT": "3"})
    with failing as cluster, pytest.raises(RuntimeError, match=message):
        cluster.wait(20)


def test_waiting_has_an_end_and_names_who_runs():
    with ep.distribute.local_cluster(_COMMAND, num_workers=0, env={"WAIT": "1"}) as cluster:
        with pytest.raises(TimeoutError, match="there still run: chief"):
            cluster.wait(0.2)
        assert cluster.is_running("chief")


def test_kill_and_restart():
    with ep.distribute.local_cluster(_COMMAND, num_workers=0) as cluster:
        _wait_until(lambda: cluster.output("ps:0"))
        with pytest.raises(RuntimeError, match="task ps:0 still runs"):
            cluster.restart("ps:0")
        cluster.kill("ps:0")
        assert not cluster.is_running("ps:0")
        cluster.restart("ps:0")
        _wait_until(lambda: cluster.output("ps:0").count("\n") == 2)
        first, second = cluster.output("ps:0").splitlines()
        assert first == second
        with pytest.raises(ValueError, match="no task 'worker:0'; there are ps:0, chief"):
            cluster.kill("worker:0")
        cluster.wait(20)


@pytest.mark.parametrize("number", [-1, 1.5, True])
def test_bad_numbers(number):
    cluster = ep.distribute.local_cluster(_COMMAND, num_ps=number)
    with pytest.raises(ValueError, match="num_ps must be an int of at least 0"), cluster:
        pass


def test_no_task():
    cluster = ep.distribute.local_cluster(_COMMAND, num_ps=0, num_workers=0, chief=False)
    with pytest.raises(ValueError, match="no task to run"), cluster:
        pass


def test_nothing_is_left_when_the_block_raises():
    waiting = ep.distribute.local_cluster(_COMMAND, env={"WAIT": "1"})
    with pytest.raises(KeyError), waiting as cluster:
        pids = [cluster._processes[task].pid for task in cluster.tasks]
        raise KeyError
    assert len(pids) == 3 and not any(_is_alive(pid) for pid in pids)


def test_nothing_is_left_when_the_parent_dies():
    program = """
import sys, time
from estimator_plugin.distribute import local_cluster
with local_cluster([sys.executable, "-c", "import time; time.sleep(100)"]) as cluster:
    print(*[cluster._processes[task].pid for task in cluster.tasks], flush=True)
    time.sleep(100)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], cwd=support.ROOT, stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 3 and all(_is_alive(pid) for pid in pids)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    _wait_until(lambda: not any(_is_alive(pid) for pid in pids))


def test_an_estimator_trains_plain_variables(tmp_path):
    command = [sys.executable, "-m", "tests.distribute.plain_trainer", str(tmp_path), "30"]
    with ep.distribute.local_cluster(
        command, num_ps=2, num_workers=1, evaluator=True, env={"PYTHONPATH": support.ROOT}
    ) as cluster:
        cluster.wait(120)
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert tf.train.load_variable(latest, "global_step") >= 30
    assert abs(tf.train.load_variable(latest, "weight") - 3) < 1e-3
    assert os.listdir(str(tmp_path / "eval"))
