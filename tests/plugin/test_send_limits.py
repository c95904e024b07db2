"""init(use_dynamic=False): a lookup has room for send_count distinct ids, or says so."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
_PADDING = {"padding_keys": [7, 8], "padding_keys_mask": True}


@pytest.fixture
def static():
    ep.init(use_dynamic=False)
    yield
    ep.terminate_config_initializer()


def _outcome(session, fetches):
    try:
        return session.run(fetches)
    except tf.errors.InvalidArgumentError as error:
        return error.message


def test_one_distinct_id_too_many_fails_and_inserts_nothing(static):
    table = support.table()
    ids = v1.placeholder(tf.int64, [2, 3])
    rows = ep.sparse_lookup(table, ids, send_count=4, name="seen")
    with support.ready_session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(rows, {ids: [[1, 2, 3], [4, 5, 1]]})
        said = (
            "table user: more distinct ids than 4 for a server; raise send_count of lookup seen to"
        )
        assert said in error.value.message and "[5]" in error.value.message
        assert session.run(table.size()) == 0
        assert session.run(rows, {ids: [[1, 2, 3], [4, 1, 1]]}).shape == (2, 3, 4)
        assert session.run(rows, {ids: [[1, 2, 3], [4, -1, 1]]})[1, 1].tolist() == [0] * 4


def test_each_server_has_room_for_as_many(static):
    def distinct(count):
        with in_process.placed_on(count):
            table = support.table()
            ids = np.arange(100)
            buckets = ep.hashing.bucket_of_key(ids, table.num_buckets)
            ends = [partition.buckets[1] for partition in table.partitions]
            by_server = np.bincount(np.searchsorted(ends, buckets, side="right"))
            fits = ep.sparse_lookup(table, ids, send_count=int(by_server.max()))
            fails = ep.sparse_lookup(table, ids, send_count=int(by_server.max()) - 1)
            apart = tf.stop_gradient(fits)
        with in_process.session(count) as session:
            return by_server, _outcome(session, [apart, fails])

    by_server, message = distinct(3)
    assert len(set(by_server)) > 1 and str(list(by_server)).replace(",", "") in message


def test_a_limit_that_cannot_be_exceeded_costs_nothing(static):
    rows = ep.sparse_lookup(support.table(), tf.constant([1, 2, 3], tf.int64), send_count=3)
    assert not in_process.live_ops(rows, "Assert")


def test_padding_keys_len_takes_the_place_of_send_count(static):
    table = support.table(padding_keys_len=2, **_PADDING)
    rows = ep.sparse_lookup(table, tf.constant([1, 2, 7], tf.int64), send_count=100)
    with support.ready_session() as session:
        message = _outcome(session, rows)
    assert "raise padding_keys_len of the table to" in message and "[3]" in message


def test_the_limit_of_an_evaluation_holds_for_ids_of_any_number(static):
    ids = v1.placeholder(tf.int64, [None])
    rows = ep.sparse_lookup(support.table(), ids, send_count=2, is_train=False)
    with support.ready_session() as session:
        assert session.run(rows, {ids: [1, 2, 1, 2]}).shape == (4, 4)
        with pytest.raises(tf.errors.InvalidArgumentError, match="raise send_count"):
            session.run(rows, {ids: [1, 2, 3]})


@pytest.mark.parametrize(
    "make_ids, send_count, wanted",
    [
        (lambda: tf.constant([1], tf.int64), None, "send_count must be an int from 1.*got None"),
        (lambda: v1.placeholder(tf.int64, [None]), 5, "drop_remainder=True"),
        (lambda: tf.constant(1, tf.int64), 5, "rank 1 or more"),
    ],
)
def test_what_static_shapes_need(static, make_ids, send_count, wanted):
    with pytest.raises(ValueError, match="table 'user': .*" + wanted):
        ep.sparse_lookup(support.table(), make_ids(), send_count=send_count)


def test_without_static_shapes_it_has_no_effect():
    rows = ep.sparse_lookup(support.table(), tf.constant([1, 2], tf.int64), send_count=1)
    with support.ready_session() as session:
        assert session.run(rows).shape == (2, 4)
