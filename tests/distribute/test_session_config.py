"""session_config: the filters are those that TensorFlow's RunConfig has by default."""

import json

import pytest
import tensorflow as tf

import estimator_plugin as ep

v1 = tf.compat.v1
_JOBS = {"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1", "c:2"]}


def _be(monkeypatch, task_type, index, jobs=_JOBS):
    task = {"type": task_type, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": jobs, "task": task}))


def _canonical(filters):
    """The tasks that filters let through, /job:chief and /job:chief/task:0 being one."""
    tasks = [(job, i) for job, addresses in sorted(_JOBS.items()) for i in range(len(addresses))]
    specs = [tf.DeviceSpec.from_string(text) for text in filters]
    return [
        (job, i) for job, i in tasks if any(s.job == job and s.task in (None, i) for s in specs)
    ]


@pytest.mark.parametrize(
    "task_type, index", [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("ps", 1)]
)
def test_the_filters_of_a_task_are_those_of_tensorflow(monkeypatch, task_type, index):
    _be(monkeypatch, task_type, index)
    wanted = tf.estimator.RunConfig().session_config
    found = ep.distribute.session_config()
    assert wanted.device_filters
    assert _canonical(found.device_filters) == _canonical(wanted.device_filters)
    assert found.allow_soft_placement == wanted.allow_soft_placement
    own = tf.estimator.RunConfig(session_config=v1.ConfigProto()).session_config
    assert not own.device_filters  # Why session_config is needed.


def test_the_rest_of_a_configuration_stays(monkeypatch):
    _be(monkeypatch, "worker", 1)
    own = v1.ConfigProto(intra_op_parallelism_threads=3)
    found = ep.distribute.session_config(own)
    assert found.intra_op_parallelism_threads == 3
    assert list(found.device_filters) == ["/job:ps", "/job:worker/task:1"]
    assert not own.device_filters
    chosen = v1.ConfigProto(device_filters=["/job:ps"])
    assert ep.distribute.session_config(chosen) == chosen


def test_outside_a_cluster_there_is_nothing_to_filter(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert not ep.distribute.session_config().device_filters
    _be(monkeypatch, "evaluator", 0)
    assert not ep.distribute.session_config().device_filters


def test_what_is_no_configuration():
    with pytest.raises(ValueError, match="must be a tf.compat.v1.ConfigProto, got 3"):
        ep.distribute.session_config(3)
