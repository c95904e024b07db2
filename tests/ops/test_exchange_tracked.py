"""EpServeLookup of tables that count their keys: what the request says, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import exchange_ops, table_ops

errors = tf.errors
_ASKS_FOR_TWO = {"access_threshold": 2}


def _request(now, *keys_and_occurrences):
    """A request by docs/distributed.md's format, written by hand: pairs of keys and occurrences."""
    head, body = [now], []
    for keys, occurrences in keys_and_occurrences:
        head.append(2 * len(keys) + (0 if occurrences is None else 1))
        body += keys
        if occurrences is not None:
            padded = list(occurrences) + [0] * (len(occurrences) % 2)
            body += np.array(padded, np.int32).view(np.int64).tolist()
    return np.array(head + body, np.int64)


def _statistics(session, handle):
    return dict(zip(table_ops.STATISTICS, session.run(table_ops.table_statistics(handle)).tolist()))


def test_a_refused_key_has_no_row_in_the_response(session, new_table):
    """By hand: table 0 counts 7 twice and 8 once; table 1 is not tracked."""
    handles = [new_table("user", dim=2), new_table("item", dim=1)]
    request = _request(5, ([7, 8], [2, 1]), ([9], None))
    served = exchange_ops.serve_lookup(handles, request, True, {0: _ASKS_FOR_TWO})
    response, addresses, _ = session.run(served)
    assert [address >= 0 for address in addresses] == [True, False, True]
    assert response[:1].view(np.uint32)[0] == 0b101 and len(response) == 1 + 2 + 1
    assert _statistics(session, handles[0])["waiting"] == 1
    assert _statistics(session, handles[1])["clock"] == -1
    assert len(session.run(served[0])) == 1 + 2 * 2 + 1  # 8 is admitted by its second time.


def test_a_refused_key_takes_no_gradient(session, new_table, content_of):
    handle = new_table("user", dim=1)
    request = _request(5, ([7, 8], [2, 1]))
    served = exchange_ops.serve_lookup([handle], request, True, {0: _ASKS_FOR_TWO})
    packed = exchange_ops.pack_gradients([request], [[0, 1]], [[[1.0], [1.0]]], [0], [1], ["user"])
    update = exchange_ops.serve_update([handle], [0.5, 0.0], request, served[1], packed[0], "sgd")
    (response, _, _), _ = session.run([served, update])
    rows = content_of(handle)
    assert list(rows) == [7] and rows[7][0] == response[1] - np.float32(0.5)


@pytest.mark.parametrize(
    "rules, now, occurrences, said",
    [
        ({"time_unit": "seconds"}, 0, [1, 1], "table 'user': the timestamp is 0, want more than 0"),
        ({"time_unit": "steps"}, -1, [1, 1], "table 'user': the step is -1, want at least 0"),
        ({}, 5, [1, -3], r"table 'user': occurrences\[1\] is -3, want at least 0"),
    ],
)
def test_what_a_request_cannot_say(session, new_table, rules, now, occurrences, said):
    """Nothing is counted then, nor in the table that comes first."""
    handles = [new_table("item", dim=2), new_table("user", dim=2)]
    request = _request(now, ([1], [1]), ([7, 8], occurrences))
    tracked = {0: {"time_unit": "steps"}, 1: rules}
    if now < 0:
        del tracked[0]
    with pytest.raises(errors.InvalidArgumentError, match=said):
        session.run(exchange_ops.serve_lookup(handles, request, True, tracked))
    for handle in handles:
        statistics = _statistics(session, handle)
        assert (statistics["rows"], statistics["clock"], statistics["waiting"]) == (0, -1, 0)


def test_occurrences_that_are_not_there_are_one_each(session, new_table):
    handle = new_table("user", dim=2)
    served = exchange_ops.serve_lookup([handle], _request(5, ([7], None)), True, {0: _ASKS_FOR_TWO})
    assert [session.run(served[1]).tolist() == [-1] for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "tracked, said",
    [
        ({1: {}}, "tracked must name each of the tables 0 to 0"),
        ({0: {"faae_coefficient": 0}}, "faae_coefficient has 0, want at least 1"),
        ({0: {"access_threshold": -2}}, "access_threshold has -2, want at least -1"),
        ({0: {"sketch_bytes": -1}}, "sketch_bytes is -1"),
        ({0: {"combined": True, "admission_filter": "sketch"}}, "share one record count exactly"),
        ({0: {"time_unit": "days"}}, "time_unit"),
    ],
)
def test_rules_that_cannot_be(session, new_table, tracked, said):
    with pytest.raises(ValueError, match=said):
        exchange_ops.serve_lookup([new_table("user")], _request(5, ([7], [1])), True, tracked)


def test_keys_are_counted_only_where_they_may_get_a_row(session, new_table):
    with pytest.raises(ValueError, match="insert must be true"):
        exchange_ops.serve_lookup([new_table("user")], _request(5, ([7], [1])), False, {0: {}})


def test_a_key_of_another_server_counts_nothing(session):
    handle = table_ops.table_handle("user", 2, num_buckets=8, first_bucket=0, end_bucket=4)
    session.run(table_ops.table_initialize(handle, tf.zeros([0, 2])))
    request = _request(5, (list(range(20)), [1] * 20))
    with pytest.raises(errors.InvalidArgumentError, match="partition of buckets 0 to 3"):
        session.run(exchange_ops.serve_lookup([handle], request, True, {0: _ASKS_FOR_TWO}))
    statistics = _statistics(session, handle)
    assert (statistics["waiting"], statistics["clock"]) == (0, -1)
