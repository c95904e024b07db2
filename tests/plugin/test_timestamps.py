"""What time it is for a table: timestamps, or steps."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support
from tests.plugin.admitting import MODES, Training, dataset

v1 = tf.compat.v1


@pytest.mark.parametrize("mode", MODES)
def test_timestamps_never_go_back(mode):
    training = Training(mode, [[1], [2], [3]], times=[200, 50, 300], access_threshold=0)
    with training.running():
        for _ in range(3):
            training.step()
        seen = {key: row.last_seen for key, row in training.rows().items()}
        assert seen == {1: 200, 2: 200, 3: 300}
        assert training.statistics()["backward_clocks"] == 1


_LATE_LOOKUPS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"  # The log's level is read when TensorFlow is loaded.
os.dup2(1, 2)
import tensorflow as tf
import estimator_plugin as ep
from tests.plugin import support
v1 = tf.compat.v1
v1.disable_eager_execution()
time = v1.placeholder(tf.int64, [])
v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, time)
found = []
for name in ("user", "item"):
    table = support.table(name)
    for _ in range(2):
        config = {"access_threshold": 1}
        found.append(ep.sparse_lookup(table, [1], access_and_evict_config=config))
with support.ready_session() as session:
    for now in (100, 50, 40, 200, 60):
        session.run(found, {time: now})
"""


def test_the_first_late_timestamp_of_a_table_is_logged_once():
    said = support.run_program(_LATE_LOOKUPS)
    late = [line for line in said.splitlines() if "does not go back" in line]
    assert len(late) == 2
    for name in ("user", "item"):
        wanted = "table '%s': a lookup came with time 50, earlier than 100" % name
        assert sum(wanted in line for line in late) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("time", [0, -7])
def test_timestamps_are_above_0(mode, time):
    training = Training(mode, [[1], [2]], times=[time, 5], access_threshold=0)
    with training.running():
        with pytest.raises(tf.errors.InvalidArgumentError, match="user.*%d" % time):
            training.step()
        assert training.rows() == {}
        training.step()
        assert training.rows() == {2: (0, 5)}


def test_without_timestamps_steps_are_the_time():
    training = Training("config", [[1], [2], [1]], eviction_threshold=5)
    with training.running():
        for _ in range(3):
            training.step()
        assert {key: row.last_seen for key, row in training.rows().items()} == {1: 2, 2: 1}


@pytest.mark.parametrize(
    "value, wanted",
    [
        (np.array([5], np.int64), r"one scalar for the whole batch, got shape \(1,\)"),
        (np.float32(5), "must be an integer, got float32"),
    ],
)
def test_timestamps_are_integer_scalars(value, wanted):
    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, tf.constant(value))
    with pytest.raises(ValueError, match="table 'user'.*" + wanted):
        ep.sparse_lookup(support.table(), [1], access_and_evict_config={"access_threshold": 1})


def test_a_timestamp_of_unknown_shape_is_checked_when_run():
    time = v1.placeholder(tf.int32)
    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, time)
    table = support.table()
    found = ep.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 0})
    with support.ready_session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
            session.run(found, {time: [5, 6]})
        assert session.run(found, {time: 5}).all()


@pytest.mark.parametrize("policies", [None, ep.eviction.OlderThan(5), [ep.eviction.RowBudget(9)]])
def test_eviction_by_age_needs_a_time(policies):
    config = {"eviction_threshold": 5} if policies is None else None
    table = support.table(eviction=policies)
    with pytest.raises(ValueError, match="table 'user': eviction by age needs a time"):
        ep.sparse_lookup(table, [1], access_and_evict_config=config)


def test_admission_alone_needs_no_time():
    ep.sparse_lookup(support.table(), [1], access_and_evict_config={"access_threshold": 2})
    budget = ep.eviction.RowBudget(9, keep="frequent")
    ep.sparse_lookup(support.table("item", eviction=budget), [1])


def test_of_several_timestamps_it_is_that_of_the_same_iterator():
    first = v1.data.make_one_shot_iterator(dataset([[1], [1]], [10, 11])).get_next()
    second = v1.data.make_one_shot_iterator(dataset([[2], [2]], [20, 21])).get_next()
    for batch in (first, second):
        v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, batch["timestamp"])
    tables = [support.table(name) for name in ("a", "b")]
    config = {"access_threshold": 0}
    found = [
        ep.sparse_lookup(table, batch["ids"] + 0, access_and_evict_config=config)
        for table, batch in zip(tables, (first, second))
    ]
    with pytest.raises(ValueError, match="0 timestamps of the collection ASCEND_TIMESTAMP"):
        ep.sparse_lookup(support.table("c"), [1], access_and_evict_config=config)
    statistics = [ep.ops.table_ops.table_statistics(table.handle) for table in tables]
    clock = ep.ops.table_ops.STATISTICS.index("clock")
    with support.ready_session() as session:
        session.run(found[0])
        session.run(found)
        assert [x[clock] for x in session.run(statistics)] == [11, 20]


def test_lookups_of_a_table_go_by_one_time():
    table = support.table()
    v1.train.create_global_step()
    config = {"access_threshold": 2}
    ep.sparse_lookup(table, [1], access_and_evict_config=config)
    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, tf.constant(5))
    with pytest.raises(ValueError, match="'user': it would go by seconds.*go by steps"):
        ep.sparse_lookup(table, [1], access_and_evict_config=config)
