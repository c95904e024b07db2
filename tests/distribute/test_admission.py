"""Admission and eviction of tables on servers: the numbers of a table of one process."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.ops import table_ops
from tests.distribute import in_process
from tests.distribute.admitting import REFUSED, Admitting, batches
from tests.plugin import support

v1 = tf.compat.v1


def _same_everywhere(work, **kwargs):
    """What `work` gives on no servers, and on two: the same."""
    results = []
    for count in (0, 2):
        with tf.Graph().as_default():
            model = Admitting(count, **kwargs)
            extra = work.prepare(model) if hasattr(work, "prepare") else None
            with model.running():
                results.append(work(model) if extra is None else work(model, extra))
    assert results[0] == results[1]
    return results[0]


def test_a_key_is_admitted_by_all_its_occurrences_in_a_batch():
    """By hand: the table asks for 3; 7 is there twice in the first lookup and once in the other."""

    def work(model):
        found = model.step([7, 7, 7, 5, -1, 8], 10)
        assert found == [[1, 1]] * 3 + [[REFUSED] * 2, [0, 0], [REFUSED] * 2]
        assert model.step([5, 7, 5, 8], 20)[0] == [1, 1]
        return model.state()

    rows, waiting, statistics = _same_everywhere(work, access_threshold=3)
    # 5 and 7 have a row. The update of 7 is 0.125 * 2 * value for each of three occurrences.
    assert {key: row[1:] for key, row in rows.items()} == {7: (4, 20), 5: (3, 20)}
    assert rows[5][0] == [0.5, 0.5] and rows[7][0] == [0.1875, 0.1875]
    assert waiting == {8: (2, 20)}
    assert statistics["rows_admitted"] == 2 and statistics["clock"] == 20


@pytest.mark.parametrize(
    "thresholds",
    [
        {"access_threshold": 4},
        {"access_threshold": 7, "faae_coefficient": 2},
        {"access_threshold": 0, "eviction_threshold": 300},
        {"eviction_threshold": 300},
    ],
)
def test_training_gives_what_it_gives_in_one_process(thresholds):
    def work(model):
        return [model.step(ids, now) for ids, now in batches(6)], model.state()

    _, (rows, waiting, _) = _same_everywhere(work, **thresholds)
    assert len(rows) > 5
    assert bool(waiting) == (thresholds.get("access_threshold", 0) > 0)


def test_set_threshold_and_freeze_reach_all_servers():
    def work(model):
        found = []
        for threshold, seed in [(2, 1), (0, 2), (5, 3)]:
            model.change(threshold)
            found += [model.step(ids, now) for ids, now in batches(2, seed)]
            found.append(model.state())
        return found

    states = _same_everywhere(work, access_threshold=9)[2::3]
    assert [state[2]["access_threshold"] for state in states] == [2, 2, 5]
    assert [state[2]["frozen"] for state in states] == [0, 1, 0]
    assert states[0][1].items() <= dict(states[1][1]).items()


@pytest.mark.parametrize("policy", [ep.eviction.OlderThan(300), ep.eviction.SmallNorm(0.9)])
def test_eviction_acts_on_all_servers(policy):
    def work(model, evict):
        for ids, now in batches(6):
            model.step(ids, now)
        return int(model.session.run(evict)), model.state()

    def prepare(model):
        with in_process.placed_on(model.count):
            return ep.eviction.evict(model.table, policy)

    work.prepare = prepare
    evicted, (rows, waiting, statistics) = _same_everywhere(work, access_threshold=2)
    assert 0 < evicted == statistics["rows_evicted"] < statistics["rows_admitted"]
    if isinstance(policy, ep.eviction.OlderThan):  # The last time is 600.
        assert min(seen for _, _, seen in rows.values()) > 300
        assert min(seen for _, seen in waiting.values()) > 300


@pytest.mark.parametrize("keep", ["recent", "frequent"])
def test_a_row_budget_is_shared_out(keep):
    """Three servers have 21, 21 and 22 of 64 buckets, and keep as large parts of 50 rows."""
    with tf.Graph().as_default():
        model = Admitting(3, table={"eviction": ep.eviction.RowBudget(50, keep)})
        with in_process.placed_on(3):
            evict = ep.eviction.evict(model.table, model.table.eviction)
        with model.running():
            model.step(np.arange(600), 1)
            assert model.session.run([evict, model.table.size()])[0] == 550
            content = model.session.run(model.content)
        sizes = [sum(len(keys) for keys in exported.keys) for exported, _ in content]
        assert sizes == [16, 16, 18]


@pytest.mark.parametrize("count", [0, 2])
def test_a_wrong_time_counts_nothing(count):
    with tf.Graph().as_default():
        model = Admitting(count, access_threshold=2)
        with model.running():
            with pytest.raises(tf.errors.InvalidArgumentError, match="'user'.* timestamp is 0"):
                model.step([1, 1, 2], 0)
            assert model.state()[:2] == ({}, {})
            model.step([1, 2], 50)
            model.step([1, 2], 40)
            statistics = model.state()[2]
    # Two lookups are one request to servers.
    assert statistics["clock"] == 50 and statistics["backward_clocks"] == (1 if count else 2)


@pytest.mark.parametrize("times", [1, 2])
def test_lookups_of_one_time_share_an_exchange(times):
    with tf.Graph().as_default():
        with in_process.placed_on(2):
            clocks = [v1.placeholder(tf.int32, []) for _ in range(times)]
            found = []
            for i, name in enumerate(("user", "item", "plain")):
                table = support.table(name)
                if name != "plain":
                    v1.get_default_graph().clear_collection(ep.constants.ASCEND_TIMESTAMP)
                    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, clocks[i % times])
                limits = {"access_threshold": -1 if name == "plain" else 2}
                ids = tf.constant([1, 2, 2], tf.int64)
                found.append(ep.sparse_lookup(table, ids, access_and_evict_config=limits))
        assert len(in_process.live_ops(found, "EpServeLookup")) == 2 * times
        with in_process.session(2) as session:
            rows = session.run(found, {clock: 5 for clock in clocks})
            assert [each[:, 0].tolist() for each in rows] == [[0, 1, 1], [0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_lookups_that_go_by_the_global_step_share_an_exchange(use_resource):
    with tf.Graph().as_default():
        with in_process.placed_on(2):
            v1.get_variable(
                v1.GraphKeys.GLOBAL_STEP,
                initializer=tf.constant(6, tf.int64),
                trainable=False,
                use_resource=use_resource,
                collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP],
            )
            found, tables = [], [support.table("user"), support.table("item")]
            for table in tables:
                limits = {"access_threshold": 2, "eviction_threshold": 3}
                ids = tf.constant([1, 2, 2], tf.int64)
                found.append(ep.sparse_lookup(table, ids, access_and_evict_config=limits))
            statistics = [table.statistics() for table in tables]
        assert len(in_process.live_ops(found, "EpServeLookup")) == 2
        with in_process.session(2) as session:
            rows = session.run(found)
            assert [each[:, 0].tolist() for each in rows] == [[0, 1, 1]] * 2
            clock = list(table_ops.STATISTICS).index("clock")
            assert [values[clock] for values in session.run(statistics)] == [6, 6]


@pytest.mark.parametrize("kind", ["sketch", "combined"])
def test_a_sketch_and_a_combined_record(kind, monkeypatch):
    options = {}
    if kind == "sketch":
        options["table"] = {"admission": ep.admission.CountingSketch(1 << 14)}
    else:
        monkeypatch.setenv("USE_COMBINE_FAAE", "1")

    def work(model):
        return [model.step(ids, now) for ids, now in batches(4)], model.state()

    _, (rows, _, _) = _same_everywhere(work, access_threshold=4, **options)
    assert len(rows) > 5


def test_a_combined_record_needs_keys_on_one_server(monkeypatch):
    monkeypatch.setenv("USE_COMBINE_FAAE", "1")
    limits = {"access_threshold": 2}
    with tf.Graph().as_default(), in_process.placed_on(3):
        ids = tf.constant([1], tf.int64)
        v1.train.get_or_create_global_step()
        ep.sparse_lookup(support.table("user"), ids, access_and_evict_config=limits)
        ep.sparse_lookup(support.table("item"), ids, access_and_evict_config=limits)
        other = support.table("other", num_buckets=32)
        with pytest.raises(ValueError, match="'other'.*'user'.*num_buckets=64"):
            ep.sparse_lookup(other, ids, access_and_evict_config=limits)


def test_the_hooks(tmp_path):
    """By hand: rows 1 and 2 are 10 old when the second step's eviction comes."""
    with tf.Graph().as_default():
        model = Admitting(2, access_threshold=1, eviction_threshold=10)
        hooks = [
            ep.hooks.EvictHook(evict_enable=True, evict_step_interval=2),
            ep.hooks.TableStatsHook(every_n_steps=2, output_dir=str(tmp_path)),
        ]
        scaffold = v1.train.Scaffold(saver=model.saver)
        with v1.train.MonitoredTrainingSession(
            model.target, hooks=hooks, scaffold=scaffold, log_step_count_steps=None
        ) as session:
            for ids, now in (([1, 2], 10), ([3, 4], 20), ([4, 4], 21)):
                session.run(model.train_op, {model.ids: ids, model.now: now})
            assert session.run(model.statistics)[0] == 2  # Rows.
        shown = [
            {value.tag: value.simple_value for value in event.summary.value}
            for path in tmp_path.iterdir()
            for event in v1.train.summary_iterator(str(path))
            if event.summary.value
        ]
    assert shown[-1]["tables/user/evicted"] == 2 and shown[-1]["tables/user/admitted"] == 4
