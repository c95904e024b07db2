"""The exchange between a worker and parameter servers, op by op, in one session.

The servers' partitions lie in containers of their own. What must come out is what the local ops,
numpy or plain counting say.
"""

import collections
import itertools

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import hashing
from estimator_plugin.ops import exchange_ops, lookup_ops, table_ops, transfer_ops, update_ops

errors = tf.errors

Named = collections.namedtuple("Named", "name dim buckets")
USER, ITEM = Named("user", 4, 8), Named("item", 3, 16)
ADAGRAD = [0.1, 0.0, 0.5]


def _handle(table, container, server=0, servers=1):
    return table_ops.table_handle(
        table.name,
        table.dim,
        num_buckets=table.buckets,
        first_bucket=server * table.buckets // servers,
        end_bucket=(server + 1) * table.buckets // servers,
        initializer_kind="uniform",
        initializer_arguments=[-1.0, 1.0],
        shared_name=table.name,
        container=container,
    )


@pytest.fixture
def cluster(session):
    """cluster(servers) -> for each server its initialized partitions of USER and ITEM."""
    number = itertools.count()

    def make(servers):
        name = "cluster-%d" % next(number)
        handles = [
            [_handle(table, "%s-%d" % (name, s), s, servers) for table in (USER, ITEM)]
            for s in range(servers)
        ]
        for of_server in handles:
            for handle, table in zip(of_server, (USER, ITEM)):
                session.run(table_ops.table_initialize(handle, tf.zeros([0, table.dim])))
        return handles

    return make


class Exchange:
    """Lookups of USER (table 0) and ITEM (table 1): keys[l] of table table_of[l]."""

    def __init__(self, servers, keys, table_of, insert=True, counted=(False, False)):
        self.table_of = table_of
        self.dims = [USER.dim, ITEM.dim]
        self.requests, self.positions = exchange_ops.route_keys(
            0, keys, table_of, [USER.buckets, ITEM.buckets], list(counted), len(servers)
        )
        self.answers = [
            exchange_ops.serve_lookup(handles, request, insert)
            for handles, request in zip(servers, self.requests)
        ]
        self.anchors = [tf.zeros([]), tf.zeros([])]

    def embeddings(self, lookup, default_row=None):
        table = self.table_of[lookup]
        return exchange_ops.unpack_rows(
            [answer.response for answer in self.answers],
            self.requests,
            self.positions[lookup],
            default_row,
            self.anchors[table],
            table,
            self.dims,
        )

    def pack(self, gradients, **kwargs):
        positions = [self.positions[lookup] for lookup, _ in gradients]
        return exchange_ops.pack_gradients(
            self.requests,
            positions,
            [gradient for _, gradient in gradients],
            [self.table_of[lookup] for lookup, _ in gradients],
            self.dims,
            [USER.name, ITEM.name],
            **kwargs,
        )

    def update(self, servers, gradients, rule="adagrad", hyperparameters=ADAGRAD, tables=None):
        return [
            exchange_ops.serve_update(
                handles, hyperparameters, request, answer.addresses, packed, rule, tables
            )
            for handles, request, answer, packed in zip(
                servers, self.requests, self.answers, self.pack(gradients)
            )
        ]


def _zipf(seed, n, distinct=5000):
    keys = np.random.RandomState(seed).zipf(1.2, n) % distinct
    keys[::17] = -1
    return keys.astype(np.int64)


@pytest.mark.parametrize("servers", [1, 2, 3, 8])
def test_route_by_plain_counting(session, servers):
    keys = [_zipf(1, 3000), _zipf(2, 50), _zipf(3, 20000).reshape(100, 200)]
    table_of, buckets, counted = [0, 1, 0], [8, 16], [True, False]
    requests, positions = session.run(
        exchange_ops.route_keys(77, keys, table_of, buckets, counted, servers)
    )
    numbered = [[], []]  # The keys of each table in the order of their positions.
    for s in range(servers):
        expected_head, expected = [77], []
        for table in (0, 1):
            stream = np.concatenate([k.ravel() for k, t in zip(keys, table_of) if t == table])
            owner = hashing.bucket_of_key(stream, buckets[table])
            first, end = s * buckets[table] // servers, (s + 1) * buckets[table] // servers
            mine = stream[(stream != -1) & (owner >= first) & (owner < end)].tolist()
            occurrences = collections.OrderedDict()
            for key in mine:
                occurrences[key] = occurrences.get(key, 0) + 1
            expected_head.append(2 * len(occurrences) + counted[table])
            expected += list(occurrences)
            if counted[table]:
                pairs = np.zeros(-(-len(occurrences) // 2) * 2, np.int32)
                pairs[: len(occurrences)] = list(occurrences.values())
                expected += pairs.view(np.int64).tolist()
            numbered[table] += list(occurrences)
        assert requests[s].tolist() == expected_head + expected
    for of_lookup, ids, table in zip(positions, keys, table_of):
        assert of_lookup.shape == ids.shape and of_lookup.dtype == np.int64
        lookup_again = np.append(numbered[table], -1)[of_lookup]  # -1 is the last.
        np.testing.assert_array_equal(lookup_again, ids)


@pytest.mark.parametrize("servers", [1, 2, 5])
def test_lookups_and_updates_are_those_of_one_process(session, cluster, content_of, servers):
    keys = [_zipf(1, 9000), _zipf(2, 40).reshape(5, 8), _zipf(3, 800)]
    table_of = [0, 1, 0]
    random = np.random.RandomState(4)
    gradients = [
        random.randn(*k.shape, d).astype(np.float32)
        for k, d in zip(keys, [USER.dim, ITEM.dim, USER.dim])
    ]
    local = cluster(1)[0]
    spread = cluster(servers)
    for step in range(2):
        shifted = [np.where(k < 0, k, k + step * 100) for k in keys]
        looked_up = [
            lookup_ops.table_lookup(local[t], k, d, True)
            for t, k, d in zip(table_of, shifted, [USER.dim, ITEM.dim, USER.dim])
        ]
        exchange = Exchange(spread, shifted, table_of)
        ours = [exchange.embeddings(lookup) for lookup in range(3)]
        wanted, got = session.run([[x.embeddings for x in looked_up], ours])
        for a, b in zip(wanted, got):
            np.testing.assert_array_equal(a, b)
        session.run(exchange.update(spread, list(enumerate(gradients))))
        for t in (0, 1):
            mine = [i for i in range(3) if table_of[i] == t]
            session.run(
                update_ops.table_apply_gradients(
                    local[t],
                    ADAGRAD,
                    [looked_up[i].addresses for i in mine],
                    [gradients[i] for i in mine],
                    "adagrad",
                )
            )
    for t, table in enumerate((USER, ITEM)):
        rows = {}
        for s, handles in enumerate(spread):
            owned = (s + 1) * table.buckets // servers - s * table.buckets // servers
            rows.update(content_of(handles[t], owned))
        wanted = content_of(local[t], table.buckets)
        assert sorted(rows) == sorted(wanted)
        assert all(rows[key].tobytes() == wanted[key].tobytes() for key in wanted)


def test_missing_keys_read_the_default_row(session, cluster):
    servers = cluster(2)
    keys = np.arange(100)
    session.run(Exchange(servers, [keys[::3]], [0]).answers)
    mixed = np.append(keys, -1)
    for table, default in ((0, np.arange(4, dtype=np.float32)), (0, None), (1, None)):
        exchange = Exchange(servers, [mixed], [table], insert=False)
        got, stored = session.run(
            [
                exchange.embeddings(0, default),
                Exchange(servers, [mixed], [table], insert=False).embeddings(0),
            ]
        )
        there = np.isin(mixed, keys[::3]) if table == 0 else np.zeros(101, bool)
        assert (got[there] == stored[there]).all() and (np.abs(got[there]).sum(axis=-1) > 0).all()
        assert (got[~there] == (0 if default is None else default)).all()
    assert session.run([table_ops.table_size(h[1]) for h in servers]) == [0, 0]


def test_gradient_of_the_anchor(session, cluster):
    keys = [np.array([[5, 6], [5, -1]]), np.array([6, 7]), np.array([9])]
    exchange = Exchange(cluster(2), keys, [0, 0, 1])
    first, second, unused = (exchange.embeddings(lookup) for lookup in range(3))
    loss = tf.reduce_sum(first * 2.0) + tf.reduce_sum(second * 3.0)
    user, item = tf.gradients(loss, exchange.anchors)
    assert item is None and unused is not None
    got, positions = session.run([user, exchange.positions])
    assert got.indices.tolist() == positions[0].ravel().tolist() + positions[1].tolist()
    np.testing.assert_array_equal(got.values, [[2.0] * 4] * 4 + [[3.0] * 4] * 2)
    assert tf.gradients(first, exchange.positions[0]) == [None]


def test_a_key_without_a_row_drops_its_gradient(session, cluster):
    servers = cluster(2)
    exchange = Exchange(servers, [np.arange(10)], [0], insert=False)
    session.run(exchange.update(servers, [(0, np.ones([10, 4], np.float32))]))
    assert session.run([table_ops.table_size(h[0]) for h in servers]) == [0, 0]


def test_an_update_gives_slots_to_its_tables_alone(session, cluster):
    servers = cluster(2)
    one = np.array([3])
    exchange = Exchange(servers, [one, one], [0, 1])
    session.run(exchange.update(servers, [(0, np.ones([1, 4], np.float32))], tables=[0]))
    for user, item in servers:
        assert b"slots=accumulator" in session.run(transfer_ops.table_new_save(user))
        assert b"slots=\n" in session.run(transfer_ops.table_new_save(item))
    with pytest.raises(errors.InvalidArgumentError, match="table 'item': 1 gradients came in an"):
        session.run(exchange.update(servers, [(1, np.ones([1, 3], np.float32))], tables=[0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_gradients_are_rejected_before_they_are_sent(session, cluster, bad):
    exchange = Exchange(cluster(2), [np.array([3, 4]), np.array([5, 6])], [0, 1])
    gradient = np.ones([2, 3], np.float32)
    gradient[1, 2] = bad
    said = r"table 'item': gradients\[1, 2\] \(position \d\) is -?%s" % bad
    with pytest.raises(errors.InvalidArgumentError, match=said):
        session.run(exchange.pack([(0, np.ones([2, 4], np.float32)), (1, gradient)]))
    huge = np.full([2, 3], 3e38, np.float32)
    pair = Exchange(cluster(2), [np.array([5, 5])], [1])
    with pytest.raises(errors.InvalidArgumentError, match="'item': the gradients of one key add"):
        session.run(pair.pack([(0, huge)]))
    packed = session.run(exchange.pack([(1, gradient)], on_non_finite="skip"))
    assert sum(np.isfinite(p).sum() for p in packed) >= 5


def test_no_ids_at_all(session, cluster):
    servers = cluster(2)
    exchange = Exchange(servers, [np.zeros([0, 2], np.int64), np.array([-1])], [0, 1])
    first, second = session.run([exchange.embeddings(0), exchange.embeddings(1)])
    assert first.shape == (0, 2, 4) and second.tolist() == [[0, 0, 0]]
    session.run(exchange.update(servers, [(0, np.zeros([0, 2, 4])), (1, np.ones([1, 3]))]))
    assert session.run([table_ops.table_size(h) for s in servers for h in s]) == [0, 0, 0, 0]


def test_static_shapes():
    with tf.Graph().as_default():
        keys = tf.compat.v1.placeholder(tf.int64, [None, 3])
        requests, positions = exchange_ops.route_keys(0, [keys], [0], [8], [False], 2)
        assert [r.shape.as_list() for r in requests] == [[None]] * 2
        assert positions[0].shape.as_list() == [None, 3]
        response = tf.compat.v1.placeholder(tf.float32, [None])
        rows = exchange_ops.unpack_rows(
            [response] * 2, requests, positions[0], None, tf.zeros([]), 0, [5]
        )
        assert rows.shape.as_list() == [None, 3, 5]
