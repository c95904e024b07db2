"""Lookups of tables on servers: what they read, and how many round trips they take."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
_NORMAL = v1.truncated_normal_initializer(stddev=0.1, seed=3)


def _served(fetches):
    return len(in_process.live_ops(fetches, "EpServeLookup"))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_lookups_of_every_kind_read_what_one_process_reads(count, tmp_path):
    random = np.random.RandomState(1)
    ids = random.randint(-1, 1000, [40, 3])

    def build():
        user = support.table("user", 4, _NORMAL)
        item = support.table("item", 3, v1.random_uniform_initializer(-1, 1, seed=5))
        sparse = tf.sparse.from_dense(tf.constant([[1, 2, 0], [0, 0, 7]], tf.int64))
        ragged = tf.ragged.constant([[1, 2], [], [2000, 5, 5]], dtype=tf.int64)
        train = [
            ep.sparse_lookup(user, ids),
            ep.sparse_lookup(item, ids[:, 0]),
            ep.sparse_lookup(user, sparse, combiner="mean"),
            ep.sparse_lookup(item, ragged, combiner="sum"),
            ep.sparse_lookup(item, ragged).flat_values,
            ep.sparse_lookup(user, np.zeros([0], np.int64)),
        ]
        unknown = [[-1, 1], [5000, 6000]]
        serve = [
            ep.sparse_lookup(user, unknown, is_train=False),
            ep.sparse_lookup(user, unknown, is_train=False, serving_default_value=7.0),
            ep.sparse_lookup(item, unknown, is_train=False, serving_default_value=[1.0, 2.0, 3.0]),
        ]
        sizes = [user.size(), item.size()]
        return [train, serve, sizes]

    expected = in_process.run(build, 0, 2, tmp_path)
    in_process.assert_same(expected, in_process.run(build, count, 2, tmp_path))


def test_lookups_of_several_tables_take_one_round_trip():
    with in_process.placed_on(2):
        user, item = support.table("user"), support.table("item", 2)
        rows = [ep.sparse_lookup(t, [1, 2]) for t in (user, item, user, item)]
        assert _served(rows) == 2 and _served(rows[0]) == 2
        unknown = ep.sparse_lookup(user, [3], is_train=False)
        assert _served(unknown) == 2 and _served(rows + [unknown]) == 4
    with in_process.session(2) as session:
        assert [x.shape for x in session.run(rows)] == [(2, 4), (2, 2)] * 2
        assert session.run([user.size(), item.size()]) == [2, 2]


def test_ids_that_depend_on_a_lookup_take_a_second_round_trip():
    with in_process.placed_on(2):
        first = support.table("first")
        second = support.table("second")
        rows = ep.sparse_lookup(first, [1, 2])
        ids = tf.cast(tf.reduce_sum(rows, axis=1), tf.int64)  # 4 ones.
        more = ep.sparse_lookup(second, ids)
        third = ep.sparse_lookup(first, [9])
        assert _served(more) == 4 and _served([more, third]) == 4
    with in_process.session(2) as session:
        session.run([more, third])
        assert session.run([first.size(), second.size()]) == [3, 1]
        assert session.run(second.find([4, 5]) >= 0).tolist() == [True, False]


def test_a_lookup_waits_for_what_it_is_told_to():
    with in_process.placed_on(2):
        table = support.table()
        rows = ep.sparse_lookup(table, [1])
        train = ep.optimizers.gradient_descent.create_hash_optimizer(0.5).minimize(
            tf.reduce_sum(rows)
        )
        with tf.control_dependencies([train]):
            after = ep.sparse_lookup(table, [1])
    with in_process.session(2) as session:
        assert session.run(after).tolist() == [[0.5] * 4]
        assert [x[0, 0] for x in session.run([rows, after])] == [0.5, 0.0]


def test_a_lookup_that_is_made_after_a_session_has_run():
    with in_process.placed_on(2):
        table = support.table()
        rows = ep.sparse_lookup(table, [1, 2])
        with in_process.session(2) as session:
            session.run(rows)
            more = ep.sparse_lookup(table, [3, 1, 2])
            train = ep.optimizers.gradient_descent.create_hash_optimizer(0.5).minimize(
                tf.reduce_sum(rows) + tf.reduce_sum(more[:1])
            )
            session.run(train)
            assert session.run(more)[:, 0].tolist() == [0.5, 0.5, 0.5]
            assert session.run(rows)[:, 0].tolist() == [0.5, 0.5]


def test_a_function_body_is_refused():
    with in_process.placed_on(1):
        table = support.table()
        with pytest.raises(ValueError, match="table 'user' lives on parameter servers.*outside"):
            tf.map_fn(
                lambda i: ep.sparse_lookup(table, i, is_train=False),
                tf.constant([[1], [2]], tf.int64),
                fn_output_signature=tf.float32,
            )


def test_maintenance_of_a_table():
    with in_process.placed_on(3):
        table = support.table(num_buckets=16)
        rows = ep.sparse_lookup(table, tf.range(100, dtype=tf.int64))
        found = table.find([5, 1000, -1])
        removed = table.remove([5, 6, 1000])
        state = [table.size(), table.capacity(), table.memory_bytes(), table.is_initialized()]
        statistics = table.statistics()
    with in_process.session(3) as session:
        session.run(rows)
        assert (session.run(found) >= 0).tolist() == [True, False, False]
        assert session.run(removed) == 2
        assert (session.run(found) >= 0).tolist() == [False, False, False]
        size, capacity, memory, ready = session.run(state)
        assert (size, capacity, ready) == (98, 98, True) and memory > 98 * 16
        assert session.run(statistics)[[0, 4, 5]].tolist() == [98, 100, 2]


def test_more_servers_than_buckets():
    with in_process.placed_on(3), pytest.raises(
        ValueError, match="num_buckets must be at least .* 3, got 2; use num_buckets=4"
    ):
        support.table(num_buckets=2)


@pytest.mark.parametrize("devices", ["/job:ps", [1], ["/cpu:0", "/device:CPU:0"]])
def test_servers_that_are_none(devices):
    with pytest.raises(ValueError, match="servers: "), ep.distribute.servers(devices):
        pass


def test_a_table_that_is_not_saved_outlives_a_worker():
    with in_process.placed_on(2):
        table = support.table(is_save=False)
        rows = ep.sparse_lookup(table, [1, 2])
        size = table.size()
        initialize = v1.local_variables_initializer(), ep.tables_initializer()
    with in_process.session(2) as session:
        session.run(rows)
        session.run(initialize)  # What each worker's session does when it begins.
        assert session.run(size) == 2
    assert not v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
