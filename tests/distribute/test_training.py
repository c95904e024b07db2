"""Updates of tables on servers are those of one process, to the bit."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
opt = ep.optimizers
_NORMAL = v1.truncated_normal_initializer(stddev=0.1, seed=3)
_OPTIMIZERS = {
    "sgd": lambda: opt.gradient_descent.create_hash_optimizer(0.1),
    "momentum": lambda: opt.momentum.create_hash_optimizer(0.1),
    "adagrad": lambda: opt.adagrad.create_hash_optimizer(0.1),
    "adam": lambda: opt.lazy_adam.create_hash_optimizer(0.1),
    "amsgrad": lambda: opt.amsgrad.create_hash_optimizer(0.1),
    "rmsprop": lambda: opt.rmsprop.create_hash_optimizer(0.1),
    "ftrl": lambda: opt.ftrl.create_hash_optimizer(0.1),
}


def _batches(shape, seed=1):
    """int64 ids from -1 to 59, other ones in each step."""
    random = np.random.RandomState(seed)
    ids = tf.constant(random.randint(-1, 60, [8] + shape), tf.int64)
    step = v1.get_variable("step_%d" % seed, [], tf.int64, v1.zeros_initializer(), trainable=False)
    return ids[step % 8], step.assign_add(1, read_value=False)


def _forward(ids):
    """Three lookups of two tables, one pooled; loss, and what to run to see the next batch."""
    user, item = support.table("user", 4, _NORMAL), support.table("item", 3, _NORMAL)
    a = ep.sparse_lookup(user, ids[:, 0])
    b = ep.sparse_lookup(user, ids, combiner="mean")
    c = ep.sparse_lookup(item, ids)
    weights = v1.get_variable("weights", [4], initializer=v1.ones_initializer())
    return user, item, tf.reduce_mean(tf.square(a * weights + b)) + tf.reduce_mean(tf.exp(c))


def _by_minimize(optimizer, loss, tables):
    return optimizer.minimize(loss)


def _by_handles(optimizer, loss, tables):
    handles = [table.handle for table in tables]
    return optimizer.apply_gradients(list(zip(tf.gradients(loss, handles), handles)))


def _by_clipped_slices(optimizer, loss, tables):
    gradients = tf.gradients(loss, [table.handle for table in tables])
    clipped, _ = tf.clip_by_global_norm(gradients, 0.01)
    return optimizer.apply_gradients(list(zip(clipped, tables)))


def _by_addresses(optimizer, loss, tables):
    embeddings = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
    addresses = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_ID_OFFSET)
    return optimizer.apply_gradients(list(zip(tf.gradients(loss, embeddings), addresses)))


def _by_gathered_addresses(optimizer, loss, tables):
    embeddings = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
    addresses = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_ID_OFFSET)
    even = tf.range(0, tf.shape(addresses[0])[0], 2)
    gradient = tf.gradients(loss, embeddings[0])[0]
    slices = tf.IndexedSlices(tf.gather(gradient, even), tf.gather(addresses[0], even))
    return optimizer.apply_gradients([(slices, tables[0])])


def _model(make_optimizer, train_by):
    def build():
        ids, advance = _batches([16, 3])
        user, item, loss = _forward(ids)
        train = train_by(make_optimizer(), loss, [user, item])
        dense = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        return [[loss, train, dense], advance]

    return build


@pytest.mark.parametrize("name", sorted(_OPTIMIZERS))
def test_every_optimizer(name, tmp_path):
    build = _model(_OPTIMIZERS[name], _by_minimize)
    expected = in_process.run(build, 0, 5, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 2, 5, tmp_path))


@pytest.mark.parametrize(
    "train_by", [_by_handles, _by_clipped_slices, _by_addresses, _by_gathered_addresses]
)
@pytest.mark.parametrize("count", [1, 3])
def test_every_way_to_give_gradients(train_by, count, tmp_path):
    build = _model(_OPTIMIZERS["adam"], train_by)
    expected = in_process.run(build, 0, 4, tmp_path)
    in_process.assert_same(expected, in_process.run(build, count, 4, tmp_path))


@pytest.mark.parametrize("train_by", [_by_minimize, _by_addresses, _by_gathered_addresses])
def test_a_key_of_two_exchanges_gets_one_update(train_by, tmp_path):
    def build():
        ids, advance = _batches([16])
        user = support.table("user", 4, _NORMAL)
        first = ep.sparse_lookup(user, ids)
        second = ep.sparse_lookup(user, tf.cast(first[:, 0] * 100, tf.int64) % 20)
        third = ep.sparse_lookup(user, ids + 1)
        loss = tf.reduce_sum(tf.square(first + 2 * second + third))
        train = train_by(_OPTIMIZERS["adam"](), loss, [user])
        return [[loss, train], advance]

    expected = in_process.run(build, 0, 4, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 2, 4, tmp_path))


def test_gradients_of_two_exchanges_by_handle():
    """They come together in another order than in one process, so the last bit may differ."""

    def rows_after(count):
        with tf.Graph().as_default():
            with in_process.placed_on(count):
                user = support.table("user", 4, _NORMAL)
                first = ep.sparse_lookup(user, [1, 2, 2, 3])
                second = ep.sparse_lookup(user, tf.cast(first[:, 0] * 0, tf.int64) + [2, 3, 4, 4])
                loss = tf.reduce_sum(tf.exp(first + 2 * second))
                train = _by_handles(_OPTIMIZERS["adam"](), loss, [user])
                rows = ep.sparse_lookup(user, [1, 2, 3, 4], is_train=False)
            with in_process.session(count) as session:
                for _ in range(3):
                    session.run(train)
                return session.run(rows)

    np.testing.assert_allclose(rows_after(2), rows_after(0), rtol=1e-5)


def test_tables_with_optimizers_of_their_own(tmp_path):
    def build():
        ids, advance = _batches([16, 3])
        user, item, loss = _forward(ids)
        sgd, adam = _OPTIMIZERS["sgd"](), _OPTIMIZERS["adam"]()
        gradients = tf.gradients(loss, [user.handle, item.handle])
        trains = [
            sgd.apply_gradients([(gradients[0], user)]),
            adam.apply_gradients([(gradients[1], item)]),
        ]
        return [[loss] + trains, advance]

    expected = in_process.run(build, 0, 4, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 2, 4, tmp_path))


def test_what_takes_no_gradient(tmp_path):
    def build():
        ids, advance = _batches([16])
        user = support.table("user", 4, _NORMAL)
        idle = support.table("idle", 4, _NORMAL)
        first = ep.sparse_lookup(user, ids)
        stopped = ep.sparse_lookup(user, ids + 100, is_grad=False)
        unused = ep.sparse_lookup(idle, ids)
        train = _OPTIMIZERS["momentum"]().minimize(tf.reduce_sum(tf.square(first * stopped)))
        return [[train, unused], advance]

    expected = in_process.run(build, 0, 4, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 2, 4, tmp_path))


def test_padding_keys(tmp_path):
    def build():
        ids, advance = _batches([16, 2])
        user = support.table(
            "user", 4, _NORMAL, padding_keys=[0, 7, 500], padding_keys_mask=True, padding_keys_len=9
        )
        rows = ep.sparse_lookup(user, ids)
        train = _OPTIMIZERS["adagrad"]().minimize(tf.reduce_sum(tf.square(rows)))
        return [[train], advance]

    expected = in_process.run(build, 0, 8, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 2, 8, tmp_path))


def test_a_gradient_that_is_not_finite_is_rejected_before_any_row_changes():
    with in_process.placed_on(2):
        table = support.table()
        rows = ep.sparse_lookup(table, tf.range(50, dtype=tf.int64))
        loss = tf.reduce_sum(rows * tf.constant([[1.0]] * 49 + [[float("nan")]]))
        train = _OPTIMIZERS["sgd"]().minimize(loss)
    with in_process.session(2) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="user"):
            session.run(train)
        np.testing.assert_array_equal(session.run(rows), np.ones([50, 4], np.float32))


def test_a_gradient_that_is_not_finite_can_be_skipped():
    with in_process.placed_on(2):
        table = support.table()
        rows = ep.sparse_lookup(table, tf.range(50, dtype=tf.int64))
        loss = tf.reduce_sum(rows * tf.constant([[1.0]] * 49 + [[float("nan")]]))
        optimizer = opt.gradient_descent.create_hash_optimizer(0.5, on_non_finite="skip")
        train = optimizer.minimize(loss)
    with in_process.session(2) as session:
        session.run(train)
        assert session.run(rows)[:, 0].tolist() == [0.5] * 49 + [1.0]


def test_lookups_made_after_the_gradients_have_their_own_round_trip():
    with in_process.placed_on(2):
        table = support.table()
        rows = ep.sparse_lookup(table, [1, 2, 3])
        gradient = tf.gradients(tf.reduce_sum(rows), table.handle)[0]
        more = ep.sparse_lookup(table, [9, 3])
        assert len(in_process.live_ops([rows, more], "EpServeLookup")) == 4
        train = opt.gradient_descent.create_hash_optimizer(0.5).apply_gradients([(gradient, table)])
    with in_process.session(2) as session:
        session.run([train, more])
        assert session.run(more)[:, 0].tolist() == [1.0, 0.5]


def _hot_ids():
    """Batches of ids of which 30% are one key."""
    random = np.random.RandomState(3)
    ids = random.randint(0, 5000, [4, 200])
    ids[random.rand(4, 200) < 0.3] = 77
    return ids


def _one_bucket_ids():
    """Batches of ids that all lie in bucket 5, so on one server."""
    keys = np.arange(20000)
    keys = keys[ep.hashing.bucket_of_key(keys, 64) == 5]
    return np.random.RandomState(4).choice(keys, [4, 200])


@pytest.mark.parametrize("make_ids", [_hot_ids, _one_bucket_ids])
def test_ids_that_are_not_spread(make_ids, tmp_path):
    def build():
        ids = tf.constant(make_ids())
        step = v1.get_variable("at", [], tf.int64, v1.zeros_initializer(), trainable=False)
        user = support.table("user", 4, _NORMAL)
        rows = ep.sparse_lookup(user, ids[step])
        train = _OPTIMIZERS["adam"]().minimize(tf.reduce_sum(tf.exp(rows)))
        return [[rows, train], step.assign_add(1, read_value=False)]

    expected = in_process.run(build, 0, 4, tmp_path)
    in_process.assert_same(expected, in_process.run(build, 3, 4, tmp_path))
