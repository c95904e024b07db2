"""Gradients of several replicas, accumulated on a server and applied once."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import bundle_ops, exchange_ops, lookup_ops, table_ops, update_ops

errors = tf.errors

DIM = 2
SGD = [0.5, 0.0]


class Replica:
    """Looks keys up on one server; its push is another run, with what the lookup gave."""

    def __init__(self, session, handles, keys, gradients):
        self._session = session
        self.requests, positions = exchange_ops.route_keys(
            0, [keys] * len(handles), list(range(len(handles))), [4] * len(handles), [False] * 2, 1
        )
        served = exchange_ops.serve_lookup(handles, self.requests[0], insert=True)
        self._lookup = [served.addresses, served.versions]
        self._fed = [tf.compat.v1.placeholder(tf.int64, [None]) for _ in range(2)]
        packed = exchange_ops.pack_gradients(
            self.requests,
            positions,
            [gradients] * len(handles),
            list(range(len(handles))),
            [DIM] * len(handles),
            ["t"] * len(handles),
        )
        self.pushes = {
            completes: exchange_ops.serve_accumulate(
                handles,
                self.requests[0],
                self._fed[0],
                self._fed[1],
                packed[0],
                completes=completes and list(completes),
            )
            for completes in (None, (0,), (1,))
        }

    def look_up(self):
        self._looked_up = self._session.run(self._lookup)
        return self._looked_up[1].tolist()

    def push(self, completes=None):
        return self._session.run(
            self.pushes[completes], dict(zip(self._fed, self._looked_up))
        ).tolist()


@pytest.fixture
def tables(new_table):
    return [new_table(name, dim=DIM) for name in ("user", "item")]


def _update(handles, required, rule="sgd", hyperparameters=SGD):
    return exchange_ops.serve_apply_accumulated(handles, hyperparameters, required, rule)


def _run_in_background(session, op):
    outcome = []

    def run():
        try:
            outcome.append(session.run(op))
        except errors.OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def _rows(session, handle, keys):
    return session.run(lookup_ops.table_lookup(handle, keys, DIM, insert=False).embeddings)


def test_the_mean_of_the_replicas_is_applied_once(session, tables):
    a = Replica(session, tables, np.array([1, 2, 2]), np.full([3, DIM], 1, np.float32))
    b = Replica(session, tables, np.array([2, 3]), np.full([2, DIM], 5, np.float32))
    update = _update(tables, 2)
    old = a.look_up()
    assert b.look_up() == old
    before = [_rows(session, handle, [1, 2, 3]) for handle in tables]
    assert a.push() == b.push() == [True, True]
    session.run(update)
    # Sums over both: key 1: 1, key 2: 1 + 1 + 5, key 3: 5; half of each; times the rate 0.5.
    change = np.array([[0.25], [1.75], [1.25]], np.float32)
    for handle, rows in zip(tables, before):
        np.testing.assert_array_equal(_rows(session, handle, [1, 2, 3]), rows - change)
    assert a.look_up() == [old[0] + 1, old[1] + 1]


def test_waits_without_a_thread(session, tables):
    # Each of a session's two threads would be held by a wait that blocks.
    a = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    version = a.look_up()
    before = _rows(session, tables[0], [1])
    waits = [_run_in_background(session, _update([handle], 2)) for handle in tables]
    assert a.push() == [True, True]
    assert a.look_up() == version
    assert all(thread.is_alive() for thread, _ in waits)
    assert a.push() == [True, True]
    for thread, outcome in waits:
        thread.join(30)
        assert outcome == [None]
    np.testing.assert_array_equal(_rows(session, tables[0], [1]), before - 0.5)


def test_one_replica_is_as_without_accumulation(session, tables, content_of):
    keys = np.arange(500) % 77
    gradients = np.random.RandomState(1).randn(500, DIM).astype(np.float32)
    adagrad = [0.1, 0.0, 0.5]
    replica = Replica(session, tables, keys, gradients)
    for _ in range(3):
        replica.look_up()
        replica.push()
        session.run(_update(tables[:1], 1, "adagrad", adagrad))
        addresses = lookup_ops.table_find(tables[1], keys)
        session.run(
            update_ops.table_apply_gradients(tables[1], adagrad, addresses, gradients, "adagrad")
        )
    same_start = {k: r for k, r in content_of(tables[0]).items()}
    assert same_start.keys() == content_of(tables[1]).keys()
    for key, row in content_of(tables[1]).items():
        assert row.tobytes() == same_start[key].tobytes()


def test_stale_gradients_are_dropped(session, tables):
    fast = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    slow = Replica(session, tables, np.array([1]), np.full([1, DIM], 100, np.float32))
    fast.look_up(), slow.look_up()
    fast.push()
    session.run(_update(tables[:1], 1))
    before = [_rows(session, handle, [1]) for handle in tables]
    assert slow.push() == [False, True]
    session.run(_update(tables[1:], 1))
    np.testing.assert_array_equal(_rows(session, tables[0], [1]), before[0])
    np.testing.assert_array_equal(_rows(session, tables[1], [1]), before[1] - 0.5 * 101 / 2)


def test_two_pushes_of_one_replica(session, tables):
    replica = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    replica.look_up()
    before = _rows(session, tables[0], [1])
    thread, outcome = _run_in_background(session, _update(tables[:1], 1))
    assert replica.push(completes=(1,)) == [True, True]
    assert thread.is_alive()
    assert replica.push(completes=(0,)) == [True, True]
    thread.join(30)
    assert outcome == [None]
    np.testing.assert_array_equal(_rows(session, tables[0], [1]), before - 0.5 * 2)


def test_a_replica_without_keys_counts(session, tables):
    replica = Replica(session, tables, np.array([], np.int64), np.ones([0, DIM], np.float32))
    old = replica.look_up()
    assert replica.push() == [True, True]
    session.run(_update(tables, 1))
    assert replica.look_up() == [old[0] + 1, old[1] + 1]


def test_cancelling_the_step_ends_the_wait(session, tables):
    replica = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    replica.look_up()
    waiting = _update(tables, 1)
    fails = tf.debugging.Assert(tf.constant(False), ["the step fails"])
    thread, outcome = _run_in_background(session, [waiting, fails])
    thread.join(30)
    assert isinstance(outcome[0], errors.InvalidArgumentError)
    before = _rows(session, tables[0], [1])
    replica.push()
    session.run(_update(tables, 1))  # The wait that was cancelled takes nothing.
    np.testing.assert_array_equal(_rows(session, tables[0], [1]), before - 0.5)


def test_a_time_limit_ends_the_wait(session, tables):
    options = tf.compat.v1.RunOptions(timeout_in_ms=100)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(_update(tables, 1), options=options)


def test_a_second_wait_takes_the_place_of_the_first(session, tables):
    replica = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    old = replica.look_up()
    waits = [_run_in_background(session, _update(tables, 1)) for _ in range(2)]
    while all(thread.is_alive() for thread, _ in waits):
        waits[0][0].join(0.05)
    replica.push()
    for thread, _ in waits:
        thread.join(30)
    outcomes = sorted((outcome[0] for _, outcome in waits), key=lambda o: o is None)
    assert isinstance(outcomes[0], errors.AbortedError) and outcomes[1] is None
    assert replica.look_up() == [old[0] + 1, old[1] + 1]


@pytest.mark.parametrize("how", ["initialize", "clear", "load"])
def test_new_content_forgets_gradients(session, tables, tmp_path, how):
    replica = Replica(session, tables, np.array([1]), np.ones([1, DIM], np.float32))
    replica.look_up()
    replica.push()
    prefix = str(tmp_path / "model.ckpt-1")
    session.run(bundle_ops.save_tables(prefix, ["user"], tables[:1]))
    thread, outcome = _run_in_background(session, _update(tables, 2))
    change = {
        "initialize": lambda: table_ops.table_initialize(tables[0], tf.zeros([0, DIM])),
        "clear": lambda: table_ops.table_clear(tables[0]),
        "load": lambda: bundle_ops.restore_tables(prefix, ["user"], tables[:1]),
    }[how]()
    while thread.is_alive():  # The wait may not have begun yet.
        session.run(change)
        thread.join(0.05)
    assert isinstance(outcome[0], errors.AbortedError)
    assert replica.push()[0] is False
    replica.look_up()
    before = _rows(session, tables[0], [1])
    assert replica.push()[0] is True
    session.run(_update(tables[:1], 1))
    np.testing.assert_array_equal(_rows(session, tables[0], [1]), before - 0.5)


def test_what_an_update_refuses(session, tables):
    for required in (0, -3):
        with pytest.raises(errors.InvalidArgumentError, match="num_required is %d" % required):
            session.run(_update(tables, required))
    with pytest.raises(errors.InvalidArgumentError, match="table 'user' is given twice"):
        session.run(_update([tables[0], tables[0]], 1))
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': .*hyperparameters"):
        session.run(_update(tables, 1, hyperparameters=[0.5]))
    with pytest.raises(errors.FailedPreconditionError, match="table 'fresh' is uninitialized"):
        session.run(_update([table_ops.table_handle("fresh", DIM)], 1))


def test_what_a_push_refuses(session, tables):
    empty = [0, 0, 0]
    current = session.run(exchange_ops.serve_lookup(tables, empty, False).versions)

    def push(versions=current, request=empty, packed=(), **kwargs):
        return exchange_ops.serve_accumulate(
            tables, request, [], versions, np.array(packed, np.float32), **kwargs
        )

    assert session.run(push()).tolist() == [True, True]
    with pytest.raises(errors.InvalidArgumentError, match=r"versions has shape \[3\], want \[2\]"):
        session.run(push(versions=[0, 0, 0]))
    with pytest.raises(errors.InvalidArgumentError, match="EpServeAccumulate: a request of"):
        session.run(push(request=[0, 0]))
    with pytest.raises(errors.InvalidArgumentError, match="EpServeAccumulate: 1 words"):
        session.run(push(packed=[1.0]))
    with pytest.raises(ValueError, match="completes must name each of the tables 0 to 1"):
        push(completes=[2])
