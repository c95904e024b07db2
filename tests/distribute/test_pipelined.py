"""Work on ids of tables on parameter servers moves into the worker's input pipeline."""

import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import graph_state
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
_NORMAL = v1.truncated_normal_initializer(stddev=0.1, seed=3)


def _batch():
    """An iterator's batch of strings, numbers and a clock."""

    def sample(i):
        return {"text": tf.strings.as_string(i * i % 23), "number": i % 9, "clock": i + 1}

    dataset = tf.data.Dataset.range(200).map(sample).batch(10, drop_remainder=True)
    batch = v1.data.make_one_shot_iterator(dataset).get_next()
    return batch, batch["clock"][0]


def _model(modifies, limits=None, timed=False):
    """A training step of three lookups of two tables; the graph is modified or not."""
    batch, clock = _batch()
    if timed:
        v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, clock)
    users, items = support.table("user", 4, _NORMAL), support.table("item", 3, _NORMAL)
    hashed = tf.strings.to_hash_bucket_fast(batch["text"], 1000)
    rows = [
        ep.sparse_lookup(users, hashed, modify_graph=True, access_and_evict_config=limits),
        ep.sparse_lookup(users, tf.reverse(hashed, [0]) + 1, modify_graph=True),
        ep.sparse_lookup(items, tf.reshape(batch["number"], [5, 2]), modify_graph=True),
    ]
    loss = tf.add_n([tf.reduce_sum(tf.square(x)) for x in rows])
    step = v1.train.get_or_create_global_step()
    train = ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss, step)
    if modifies:
        ep.modify_graph_and_start_emb_cache()
    return [[rows, loss, train], [users.size(), items.size()]]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "limits, timed",
    [
        (None, False),
        ({"access_threshold": 2}, False),
        ({"access_threshold": 2, "eviction_threshold": 50}, True),
    ],
)
def test_results_are_those_of_one_process(count, limits, timed, tmp_path):
    def build(modifies):
        return lambda: _model(modifies, limits, timed)

    expected = in_process.run(build(False), 0, 20, tmp_path)
    in_process.assert_same(expected, in_process.run(build(True), count, 20, tmp_path))


@pytest.mark.parametrize("limits", [None, {"access_threshold": 2}])
def test_keys_are_made_unique_and_routed_in_the_pipeline(limits):
    with in_process.placed_on(2):
        fetches = _model(True, limits)
    moved = [op.type for part in graph_state.of().pipeline.cuts for op in part.moved]
    assert "EpRouteKeys" in moved and "StringToHashBucketFast" in moved
    assert not graph_state.of().pipeline.stayed
    assert not in_process.live_ops(fetches, "EpRouteKeys")
    assert len(in_process.live_ops(fetches, "EpServeLookup")) == 2


def test_a_lookup_of_fed_ids_keeps_the_routing_of_its_round_trip_in_the_step():
    with in_process.placed_on(1):
        batch, _ = _batch()
        table = support.table()
        fed = v1.placeholder_with_default(tf.constant([1], tf.int64), [None])
        rows = [
            ep.sparse_lookup(table, tf.cast(batch["number"], tf.int64) * 2, modify_graph=True),
            ep.sparse_lookup(table, fed),
        ]
        ep.modify_graph_and_start_emb_cache()
    (pipeline,) = [graph_state.of().pipeline]
    assert "Mul" in [op.type for part in pipeline.cuts for op in part.moved]
    assert len(pipeline.stayed) == 1 and repr(fed.op.name) in pipeline.stayed[0]
    assert len(in_process.live_ops(rows, "EpRouteKeys")) == 1
    with in_process.session(1) as session:
        assert [len(x) for x in session.run(rows, {fed: [3, 4]})] == [10, 2]


def _train_on_a_cluster(directory, kind):
    """What the chief printed and the content of the last checkpoint."""
    command = [support.sys.executable, "-m", "tests.distribute.pipelined", directory, "30", kind]
    with ep.distribute.local_cluster(
        command, num_ps=2, num_workers=0, evaluator=True, env={"PYTHONPATH": support.ROOT}
    ) as cluster:
        cluster.wait(120)
        printed = [cluster.output(task) for task in ("chief", "evaluator")]
    return printed, support.checkpoint_content(tf.train.latest_checkpoint(directory))


def test_a_job_on_a_cluster_trains_as_without_the_hook(tmp_path):
    plain, expected = _train_on_a_cluster(str(tmp_path / "plain"), "plain")
    modified, found = _train_on_a_cluster(str(tmp_path / "modified"), "modified")
    assert expected["dense"]["global_step"] == 30 and expected["tables"]["user"]
    assert found == expected
    assert "moved []" in plain[0] and "'EpRouteKeys'" in modified[0]
    assert "'StringToHashBucketFast'" in modified[1]  # The evaluator has tables of its own.
    assert os.listdir(str(tmp_path / "modified" / "eval"))
