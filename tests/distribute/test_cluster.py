"""What TF_CONFIG says: servers, ranks, and errors."""

import json

import pytest

import estimator_plugin as ep
from estimator_plugin.distribute import cluster

_JOBS = {"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1", "c:2"]}


def _be(monkeypatch, task_type, index, jobs=_JOBS):
    task = {"type": task_type, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": jobs, "task": task}))


def test_alone_without_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert cluster.read() == cluster.Cluster((), "chief", 0, 0, 1)
    assert (ep.distribute.rank_id(), ep.distribute.rank_size()) == (0, 1)
    ep.init(rank_id=0, rank_size=1, use_mpi=True)


@pytest.mark.parametrize(
    "task_type, index, rank", [("chief", 0, 0), ("worker", 0, 1), ("worker", 1, 2)]
)
def test_ranks_count_the_chief_first(monkeypatch, task_type, index, rank):
    _be(monkeypatch, task_type, index)
    assert (ep.distribute.rank_id(), ep.distribute.rank_size()) == (rank, 3)
    assert cluster.read().servers == (
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:1/device:CPU:0",
    )
    assert cluster.is_chief() == (task_type == "chief")
    ep.init(rank_id=rank, rank_size=3)


@pytest.mark.parametrize("task_type", ["ps", "evaluator"])
def test_others_do_not_train(monkeypatch, task_type):
    _be(monkeypatch, task_type, 0)
    assert cluster.read().rank is None and ep.distribute.rank_size() == 3
    ep.init(rank_id=7, rank_size=9)  # A program passes the same to all of its tasks.


@pytest.mark.parametrize(
    "given, message",
    [
        ({"rank_id": 0}, "rank_id must be 2, as task worker:1 of TF_CONFIG's cluster is, got 0"),
        ({"rank_size": 2}, "rank_size must be 3, as task worker:1 .* got 2"),
    ],
)
def test_a_rank_that_disagrees_is_an_error(monkeypatch, given, message):
    _be(monkeypatch, "worker", 1)
    with pytest.raises(ValueError, match=message):
        ep.init(**given)
    ep.init(rank_id=2)  # The failed one has set nothing.


@pytest.mark.parametrize("text", ["{", "[]", '{"cluster": 3}', '{"task": {"index": "x"}}'])
def test_what_is_no_tf_config(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG must be a JSON object"):
        cluster.read()


def test_a_task_that_the_cluster_lacks(monkeypatch):
    _be(monkeypatch, "worker", 2)
    with pytest.raises(ValueError, match="no task worker:2"):
        cluster.read()
