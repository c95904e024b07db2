"""Synchronous training: one replica is one process to the bit, several make one update."""

import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
opt = ep.optimizers
_NORMAL = v1.truncated_normal_initializer(stddev=0.1, seed=3)


class _Replica:
    """A model of two tables and a variable in the default graph, trained synchronously."""

    def __init__(
        self, count, replicas, table_optimizer=None, dense_rate=0.1, worker=0, chained=False
    ):
        with in_process.placed_on(count, worker):
            self.ids = v1.placeholder(tf.int64, [None])
            self.scale = v1.placeholder_with_default(1.0, [])
            self.user = support.table("user", 4, _NORMAL)
            item = support.table("item", 4, _NORMAL)
            user_rows = ep.sparse_lookup(self.user, self.ids)
            more_ids = self.ids + 1
            if chained:  # The second lookup of the table has to wait for the first.
                more_ids += tf.cast(tf.reduce_sum(0 * user_rows), tf.int64)
            more_rows = ep.sparse_lookup(self.user, more_ids)
            item_rows = ep.sparse_lookup(item, self.ids)
            weights = v1.get_variable("weights", [4], initializer=v1.ones_initializer())
            outputs = (user_rows + more_rows) * weights + item_rows
            self.loss = self.scale * tf.reduce_sum(tf.square(outputs))
            self.step = v1.train.get_or_create_global_step()
            optimizer = ep.distribute.SyncReplicasOptimizer(
                v1.train.GradientDescentOptimizer(dense_rate),
                table_optimizer or opt.lazy_adam.create_hash_optimizer(0.1),
                replicas_to_aggregate=replicas,
            )
            self.train_op = optimizer.minimize(self.loss, self.step)
            self.optimizer = optimizer
            self.saver = ep.checkpoint.saver(defer_build=True)

    def session(self, target, is_chief=True):
        hook = self.optimizer.make_session_run_hook(is_chief)
        return v1.train.MonitoredTrainingSession(
            target,
            is_chief,
            hooks=[hook],
            scaffold=v1.train.Scaffold(saver=self.saver),
            log_step_count_steps=None,
        )


def _batch(step):
    return np.random.RandomState(step).randint(-1, 60, [32])


def _trained_alone(count, path, chained=False):
    """What five steps of one replica leave behind, and their losses."""
    with tf.Graph().as_default():
        replica = _Replica(count, 1, chained=chained)
        if count:
            pushes = in_process.live_ops(replica.train_op, "EpServeAccumulate")
            pushed = [table for push in pushes for table in push.get_attr("completes")]
            assert len(pushed) == 2 * count, "one for each table and server"
        with replica.session(in_process.target(count)) as session:
            losses = [
                session.run([replica.loss, replica.train_op], {replica.ids: _batch(i)})[0]
                for i in range(5)
            ]
            prefix = session.run_step_fn(
                lambda step_context: replica.saver.save(
                    step_context.session, path, write_meta_graph=False
                )
            )
    return in_process.Result(losses, support.checkpoint_content(prefix))


@pytest.mark.parametrize("count, chained", [(1, False), (2, False), (2, True)])
def test_one_replica_is_one_process(count, chained, tmp_path):
    """Also where a table takes part in two exchanges: the mean is that of one replica's sums."""
    expected = _trained_alone(0, str(tmp_path / "local"), chained)
    found = _trained_alone(count, str(tmp_path / "servers"), chained)
    assert len(set(expected.fetched)) == 5
    in_process.assert_same(expected, found)


def test_two_replicas_make_one_update_of_their_mean():
    """Plain gradient descent: a row moves by the rate times the mean of both gradients."""
    targets = in_process.targets(2)
    values = {}

    def replica(is_chief):
        worker = 0 if is_chief else 1
        with tf.Graph().as_default():
            sgd = opt.gradient_descent.create_hash_optimizer(0.5)
            own = _Replica(2, 2, sgd, dense_rate=0.0, worker=worker)
            with in_process.placed_on(2, worker):
                rows = ep.sparse_lookup(own.user, [1, 2, 7, 8], is_train=False)
            ids = [1, 1] if is_chief else [1, 7]
            with own.session(targets[worker], is_chief) as session:
                if is_chief:
                    values["ready"].set()
                for _ in range(3):
                    session.run(own.train_op, {own.ids: ids, own.scale: 1.0 if is_chief else 3.0})
                values[is_chief] = session.run([rows, own.step])

    values["ready"] = threading.Event()
    threads = [threading.Thread(target=replica, args=[True])]
    threads[0].start()
    assert values["ready"].wait(60)
    threads.append(threading.Thread(target=replica, args=[False]))
    threads[1].start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    expected = _expected_rows()
    for is_chief in (True, False):
        rows, step = values[is_chief]
        assert step == 3
        np.testing.assert_allclose(rows, expected, rtol=1e-5)


def _expected_rows():
    """Rows 1, 2, 7, 8 of `user` after three updates, computed by TensorFlow's own variables."""
    with tf.Graph().as_default():
        start = support.table("user", 4, _NORMAL)
        start_item = support.table("item", 4, _NORMAL)
        keys = [1, 2, 7, 8]
        initial = ep.sparse_lookup(start, keys), ep.sparse_lookup(start_item, keys)
        with support.ready_session() as session:
            users, items = session.run(initial)
    with tf.Graph().as_default():
        user = v1.get_variable("user", initializer=users)
        item = v1.get_variable("item", initializer=items)

        def loss(places, scale):
            outputs = (
                tf.gather(user, places) + tf.gather(user, [p + 1 for p in places])
            ) + tf.gather(item, places)
            return scale * tf.reduce_sum(tf.square(outputs))

        mean = (loss([0, 0], 1.0) + loss([0, 2], 3.0)) / 2
        train = v1.train.GradientDescentOptimizer(0.5).minimize(mean)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            return session.run(user)


def _tokens_of_a_new_chief(target, lost=()):
    """How many tokens there are when a chief's session begins; then the servers `lost` forget."""
    with tf.Graph().as_default():
        replica = _Replica(2, 2)
        with tf.device(replica.step.device):
            tokens = tf.queue.FIFOQueue(-1, tf.int64, (), shared_name="sync_token_q").size()
        forget = []
        for i in lost:
            with tf.device("/job:ps/task:%d" % i):
                sessions = tf.queue.FIFOQueue(-1, tf.int64, (), shared_name="sync_sessions_q")
                forget.append(sessions.dequeue_many(sessions.size()))
        with replica.session(target) as session:
            found = session.run(tokens)
            session.run(forget)
        return found


def test_a_new_chief_wakes_the_others_if_any_server_outlived_the_last_one():
    target = in_process.target(2)
    assert _tokens_of_a_new_chief(target, lost=[0]) == 0
    assert _tokens_of_a_new_chief(target, lost=[1]) == 1
    assert _tokens_of_a_new_chief(target, lost=[0, 1]) == 2
    assert _tokens_of_a_new_chief(target) == 2, "nobody was there to be woken"


def test_it_needs_a_global_step_and_a_variable():
    with in_process.placed_on(1):
        table = support.table()
        loss = tf.reduce_sum(ep.sparse_lookup(table, [1]))
        optimizer = ep.distribute.SyncReplicasOptimizer(
            v1.train.GradientDescentOptimizer(0.1),
            opt.gradient_descent.create_hash_optimizer(0.1),
            1,
        )
        pairs = [(tf.gradients(loss, table.handle)[0], table)]
        with pytest.raises(ValueError, match="global_step must be given"):
            optimizer.apply_gradients(pairs)
        step = v1.train.get_or_create_global_step()
        with pytest.raises(ValueError, match="none of 0 variables has a gradient"):
            optimizer.apply_gradients(pairs, step)


def test_a_table_of_this_process_cannot_be_shared():
    with in_process.placed_on(1):
        there = support.table("there")
        with ep.distribute.servers([]):
            here = support.table("here")
        weight = v1.get_variable("weight", [], initializer=v1.ones_initializer())
        rows = ep.sparse_lookup(here, [1]) + ep.sparse_lookup(there, [1])
        optimizer = ep.distribute.SyncReplicasOptimizer(
            v1.train.GradientDescentOptimizer(0.1),
            opt.gradient_descent.create_hash_optimizer(0.1),
            1,
        )
        with pytest.raises(ValueError, match="table 'here' lives in this process"):
            optimizer.minimize(weight * tf.reduce_sum(rows), v1.train.get_or_create_global_step())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([None, None, 1], "dense_optimizer must be a tf.compat.v1.train.Optimizer"),
        ([v1.train.AdamOptimizer(), None, 1], "table_optimizer must be an optimizer of ep"),
        ([v1.train.AdamOptimizer(), opt.adam.create_hash_optimizer(), 0], "from 1 to"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match="SyncReplicasOptimizer: .*" + message):
        ep.distribute.SyncReplicasOptimizer(*arguments)
