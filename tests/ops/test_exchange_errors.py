"""The exchange's ops refuse what does not fit, above all what a wire may have made of a message."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import exchange_ops, table_ops

errors = tf.errors


def _route(keys=((1, 2),), table_of=(0,), num_buckets=(8,), counted=(False,), servers=2):
    return exchange_ops.route_keys(
        0, [np.array(k) for k in keys], list(table_of), list(num_buckets), list(counted), servers
    )


@pytest.mark.parametrize(
    "arguments, said",
    [
        (dict(servers=9), "a table of 8 buckets cannot be spread over 9 servers"),
        (dict(num_buckets=[6]), "a table of 6 buckets"),
        (dict(table_of=[1]), "table_of has 1, the tables are 0 to 0"),
        (dict(table_of=[0, 0]), "table_of has 2 entries, want 1"),
        (dict(counted=[]), "num_buckets and counted have 1 and 0 entries"),
    ],
)
def test_route_arguments(session, arguments, said):
    with pytest.raises(ValueError, match=said):
        _route(**arguments)


def test_keys_of_another_dtype():
    with pytest.raises(TypeError, match="keys has dtype float32"):
        exchange_ops.route_keys(0, [tf.zeros([3])], [0], [8], [False], 1)


def _unpack(response, request, positions=(0,), default_row=None, dims=(2,), table=0):
    return exchange_ops.unpack_rows(
        [np.array(response, np.float32)],
        [np.array(request, np.int64)],
        np.array(positions, np.int64),
        default_row,
        0.0,
        table,
        list(dims),
    )


ONE = np.array([1], np.uint32).view(np.float32)[0]  # The bits 0b1.
FIVE = np.array([5], np.uint32).view(np.float32)[0]


def test_a_response_by_hand(session):
    # Now, 3 keys, the keys; keys 0 and 2 have rows.
    got = session.run(_unpack([FIVE, 1, 2, 3, 4], [0, 6, 7, 8, 9], [2, 1, 0, -1], [8, 9]))
    assert got.tolist() == [[3, 4], [8, 9], [1, 2], [8, 9]]


@pytest.mark.parametrize(
    "request_words, said",
    [
        ([], "a request of 0 words has no head for 1 tables"),
        ([0], "a request of 1 words has no head"),
        ([0, 4, 7], "announces 2 keys of table 0 where 1 words are left"),
        ([0, -2, 7], "announces -1 keys"),
        ([0, 2**62, 7], "announces"),
        ([0, 2, 7, 8], "a request of 4 words ends after 3"),
        ([0, 3, 7], "announces 1 keys of table 0 where 1 words are left"),
    ],
)
def test_malformed_requests(session, new_table, request_words, said):
    handle = new_table(dim=2)
    request = np.array(request_words, np.int64)
    serve = exchange_ops.serve_lookup([handle], request, insert=True)
    with pytest.raises(errors.InvalidArgumentError, match="EpServeLookup: .*" + said):
        session.run(serve)
    with pytest.raises(errors.InvalidArgumentError, match="EpUnpackRows: .*" + said):
        session.run(_unpack([], request))
    packed = exchange_ops.pack_gradients([request], [[0]], [[[1.0, 1.0]]], [0], [2], ["user"])
    with pytest.raises(errors.InvalidArgumentError, match="EpPackGradients: .*" + said):
        session.run(packed)
    assert session.run(table_ops.table_size(handle)) == 0


@pytest.mark.parametrize(
    "response, said",
    [
        ([], "0 words have no bits for 3 keys"),
        ([FIVE, 1, 2, 3], "4 words do not hold the 2 rows of 3 keys"),
        ([FIVE, 1, 2, 3, 4, 5], "6 words do not hold"),
        ([np.array([9], np.uint32).view(np.float32)[0], 1, 2, 3, 4], "bits are set beyond"),
    ],
)
def test_malformed_responses(session, new_table, response, said):
    request = [0, 6, 7, 8, 9]
    with pytest.raises(errors.InvalidArgumentError, match="EpUnpackRows: .*" + said):
        session.run(_unpack(response, request))
    handle = new_table(dim=2)
    update = exchange_ops.serve_update(
        [handle], [0.1, 0.0], request, [-1, -1, -1], np.array(response, np.float32), "sgd"
    )
    with pytest.raises(errors.InvalidArgumentError, match="EpServeUpdate: .*" + said):
        session.run(update)


@pytest.mark.parametrize("position", [3, -2, 2**40])
def test_positions_out_of_range(session, position):
    said = ": position %d is out of range; the exchange has 3 keys of the table" % position
    with pytest.raises(errors.InvalidArgumentError, match="EpUnpackRows" + said):
        session.run(_unpack([FIVE, 1, 2, 3, 4], [0, 6, 7, 8, 9], [position]))
    packed = exchange_ops.pack_gradients(
        [[0, 6, 7, 8, 9]], [[position]], [[[1.0, 1.0]]], [0], [2], ["user"]
    )
    with pytest.raises(errors.InvalidArgumentError, match="EpPackGradients" + said):
        session.run(packed)


def test_unpack_arguments(session):
    with pytest.raises(ValueError, match="table_of has 1, the tables are 0 to 0"):
        _unpack([ONE, 1, 2], [0, 2, 7], table=1)
    with pytest.raises(ValueError, match="default_row has 3 values"):
        _unpack([ONE, 1, 2], [0, 2, 7], default_row=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="dims has 0; they must be from 1 to 8192"):
        _unpack([ONE, 1, 2], [0, 2, 7], dims=[0])


def test_pack_arguments(session):
    request = [[0, 2, 7]]
    with pytest.raises(ValueError, match="Dimension.* must be equal"):
        exchange_ops.pack_gradients(request, [[0]], [[[1.0, 1.0, 1.0]]], [0], [2], ["user"])
    with pytest.raises(ValueError, match="table_names and dims have 2 and 1 entries"):
        exchange_ops.pack_gradients(request, [[0]], [[[1.0, 1.0]]], [0], [2], ["user", "item"])
    unknown = tf.compat.v1.placeholder_with_default([[1.0, 1.0, 1.0]], None)
    packed = exchange_ops.pack_gradients(request, [[0]], [unknown], [0], [2], ["user"])
    with pytest.raises(
        errors.InvalidArgumentError, match=r"table 'user': gradients\[0\] has shape"
    ):
        session.run(packed)


def test_update_arguments(session, new_table):
    handle = new_table(dim=2)

    def update(addresses=(-1,), tables=None, rule="sgd", hyperparameters=(0.1, 0.0)):
        return exchange_ops.serve_update(
            [handle], hyperparameters, [0, 2, 7], addresses, [ONE, 1, 2], rule, tables
        )

    session.run(update())
    with pytest.raises(errors.InvalidArgumentError, match="want one for each of 1 keys"):
        session.run(update(addresses=[-1, -1]))
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': address 12345"):
        session.run(update(addresses=[12345]))
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': .*rule"):
        session.run(update(rule="magic"))
    for tables in ([1], [0, 0], [-1]):
        with pytest.raises(ValueError, match="tables must name each of the tables 0 to 0"):
            update(tables=tables)


def test_an_uninitialized_table(session):
    handle = table_ops.table_handle("user", 2)
    for insert in (True, False):
        with pytest.raises(errors.FailedPreconditionError, match="table 'user' is uninitialized"):
            session.run(exchange_ops.serve_lookup([handle], [0, 2, 7], insert))


def test_a_request_for_another_server(session):
    handle = table_ops.table_handle("user", 2, num_buckets=8, first_bucket=0, end_bucket=4)
    session.run(table_ops.table_initialize(handle, tf.zeros([0, 2])))
    requests, _ = _route(keys=[np.arange(50)])
    with pytest.raises(errors.InvalidArgumentError, match="partition of buckets 0 to 3"):
        session.run(exchange_ops.serve_lookup([handle], requests[1], insert=True))
    assert session.run(table_ops.table_size(handle)) == 0
