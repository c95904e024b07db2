"""Training lookups that count their keys, thresholds, and eviction."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import table_ops, transfer_ops, update_ops, usage_ops

tf1 = tf.compat.v1
errors = tf.errors


@pytest.fixture
def statistics(session):
    """statistics(handle) -> dict of a table's statistics by name."""

    def read(handle):
        return dict(zip(table_ops.STATISTICS, session.run(table_ops.table_statistics(handle))))

    return read


@pytest.fixture
def look_up(session):
    """look_up(handle, keys, now, **attrs of table_tracked_lookup) -> (embeddings, addresses)."""

    def run(handle, keys, now, **attrs):
        return session.run(usage_ops.table_tracked_lookup(handle, keys, 4, now, **attrs))

    return run


def test_a_key_gets_a_row_once_its_count_with_the_batch_is_enough(new_table, look_up, statistics):
    handle = new_table(initializer_kind="constant", initializer_arguments=[2.0])
    rows, addresses = look_up(handle, [[5, 6], [5, -1]], 10, access_threshold=3)
    np.testing.assert_array_equal(rows, np.zeros([2, 2, 4]))
    np.testing.assert_array_equal(addresses, [[-1, -1], [-1, -1]])
    rows, addresses = look_up(
        handle, [5, 6], 20, access_threshold=3, default_row=[9.0, 8.0, 7.0, 6.0]
    )
    np.testing.assert_array_equal(rows, [[2] * 4, [9, 8, 7, 6]])
    assert addresses[0] >= 0 and addresses[1] == -1
    counted = statistics(handle)
    assert (counted["rows"], counted["rows_admitted"], counted["waiting"]) == (1, 1, 1)
    assert (counted["keys_refused"], counted["clock"]) == (4, 20)
    assert (counted["access_threshold"], counted["frozen"]) == (3, 0)


def test_counts_and_times_are_exported(session, new_table, look_up):
    handle = new_table(num_buckets=1)
    look_up(handle, [1, 1, 2], 7, access_threshold=4, faae_coefficient=2)
    content = session.run(transfer_ops.table_export(handle, 1))
    assert (content.keys[0], content.counts[0], content.last_seen[0]) == ([1], [4], [7])
    waiting = session.run(transfer_ops.table_export_waiting(handle, 1))
    assert (waiting.keys[0], waiting.counts[0], waiting.last_seen[0]) == ([2], [2], [7])


def test_occurrences_of_unique_keys(new_table, look_up, statistics):
    handle = new_table()
    _, addresses = look_up(handle, [1, 2], 1, access_threshold=4, occurrences=[4, 3])
    assert list(addresses >= 0) == [True, False]
    with pytest.raises(errors.InvalidArgumentError, match=r"table 'user': occurrences\[1\] is -1"):
        look_up(handle, [1, 2], 1, access_threshold=4, occurrences=[4, -1])
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': occurrences has shape"):
        look_up(handle, [1, 2], 1, access_threshold=4, occurrences=[4])
    assert statistics(handle)["waiting"] == 1


@pytest.mark.parametrize(
    ("unit", "now", "message"),
    [("seconds", 0, "the timestamp is 0"), ("seconds", -5, "is -5"), ("steps", -1, "the step is")],
)
def test_a_time_that_cannot_be_is_an_error(new_table, look_up, statistics, unit, now, message):
    handle = new_table()
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': .*" + message):
        look_up(handle, [1], now, time_unit=unit)
    assert (statistics(handle)["rows"], statistics(handle)["clock"]) == (0, -1)


def test_the_first_step_may_be_zero(new_table, look_up, statistics):
    handle = new_table()
    look_up(handle, [1], 0, time_unit="steps")
    assert statistics(handle)["clock"] == 0


def test_a_time_of_another_shape_is_an_error(new_table):
    handle = new_table()
    with pytest.raises(ValueError, match="Shape must be rank 0"):
        usage_ops.table_tracked_lookup(handle, [1], 4, [1, 2])


def test_arguments_are_checked(new_table):
    handle = new_table()
    for attrs in (
        {"sketch_bytes": -1},
        {"combined": True, "admission_filter": "sketch"},
        {"admission_filter": "guess"},
        {"time_unit": "days"},
        {"access_threshold": -2},
        {"faae_coefficient": 0},
    ):
        with pytest.raises(ValueError):
            usage_ops.table_tracked_lookup(handle, [1], 4, 1, **attrs)


def test_gradients_reach_admitted_rows_only(session, new_table, content_of):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    rows, addresses = usage_ops.table_tracked_lookup(handle, [1, 1, 2], 4, 1, access_threshold=2)
    gradient = tf.gradients(tf.reduce_sum(rows), handle)[0]
    update = update_ops.table_apply_gradients(
        handle, [0.25, 0.0], gradient.indices, gradient.values, "sgd"
    )
    session.run([update, addresses])
    assert {key: list(row) for key, row in content_of(handle).items()} == {1: [0.5] * 4}


def test_an_update_by_key_gives_no_row_to_a_key_that_waits(session, new_table, look_up, statistics):
    handle = new_table()
    look_up(handle, [1, 1, 2], 1, access_threshold=2)
    session.run(
        update_ops.table_apply_gradients_by_key(
            handle, [1.0, 0.0], np.array([1, 2]), np.ones([2, 4]), "sgd"
        )
    )
    assert (statistics(handle)["rows"], statistics(handle)["rows_updated"]) == (1, 1)


def test_thresholds_change_and_freeze(session, new_table, look_up, statistics):
    handle = new_table()

    def threshold(value):
        return session.run(usage_ops.table_set_threshold(handle, value, access_threshold=2))

    assert threshold([3]) == 1  # Before the first lookup: it stays.
    assert list(look_up(handle, [1, 1], 1, access_threshold=2)[1]) == [-1, -1]
    assert threshold([0]) == 1
    assert list(look_up(handle, [1, 1], 1, access_threshold=2)[1]) == [-1, -1]
    assert statistics(handle)["frozen"] == 1
    threshold(3)  # A scalar will do.
    assert look_up(handle, [1], 1, access_threshold=2)[1][0] >= 0
    for bad in ([-1], np.zeros([0], np.int32)):
        with pytest.raises(errors.InvalidArgumentError, match="table 'user': threshold"):
            threshold(bad)
    assert statistics(handle)["access_threshold"] == 3


def test_evictions(session, new_table, look_up, statistics):
    handle = new_table()
    look_up(handle, [1, 2, 3, 4, 4], 100)
    look_up(handle, [3], 160)
    evict = usage_ops.table_evict
    assert session.run(evict(handle, "older_than", 61)) == 0
    assert session.run(evict(handle, "least_frequent", 3)) == 1  # 1 and 2 once: 1 is smaller.
    assert session.run(evict(handle, "older_than", 60)) == 2
    assert session.run(evict(handle, "small_norm", 100.0)) == 1
    assert (statistics(handle)["rows"], statistics(handle)["rows_evicted"]) == (0, 4)
    for bad in (-1, float("nan")):
        with pytest.raises(errors.InvalidArgumentError, match="table 'user': the threshold of"):
            session.run(evict(handle, "older_than", bad))
    with pytest.raises(ValueError, match="oldest"):
        evict(handle, "oldest", 1)


def test_a_late_time_is_counted(new_table, look_up, statistics):
    handle = new_table()
    look_up(handle, [1], 100)
    look_up(handle, [1], 99)
    assert (statistics(handle)["clock"], statistics(handle)["backward_clocks"]) == (100, 1)


def test_tables_share_a_record(new_table, look_up):
    users, items = new_table("user"), new_table("item")
    look_up(users, [7], 1, access_threshold=3, combined=True)
    look_up(items, [7], 1, access_threshold=2, combined=True)
    assert look_up(users, [7], 1, access_threshold=3, combined=True)[1][0] >= 0


def test_uninitialized_tables_are_named(session):
    handle = table_ops.table_handle("user", 4)
    for op in (
        usage_ops.table_tracked_lookup(handle, [1], 4, 1),
        usage_ops.table_set_threshold(handle, [1], 1),
        usage_ops.table_evict(handle, "older_than", 1),
        transfer_ops.table_export_waiting(handle, 64),
    ):
        with pytest.raises(errors.FailedPreconditionError, match="table 'user' is uninitialized"):
            session.run(op)
