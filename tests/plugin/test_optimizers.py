"""What a step does to rows: as TensorFlow's optimizers, by every way of giving gradients."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
opt = ep.optimizers
KEYS = 20

# (ours, TensorFlow's, whether TensorFlow's moves rows without a gradient)
PAIRS = {
    "sgd": (
        lambda: opt.gradient_descent.create_hash_optimizer(0.1),
        lambda: v1.train.GradientDescentOptimizer(0.1),
        False,
    ),
    "momentum": (
        lambda: opt.momentum.create_hash_optimizer(0.1, 0.8),
        lambda: v1.train.MomentumOptimizer(0.1, 0.8),
        False,
    ),
    "nesterov": (
        lambda: opt.momentum.create_hash_optimizer(0.1, 0.8, use_nesterov=True),
        lambda: v1.train.MomentumOptimizer(0.1, 0.8, use_nesterov=True),
        False,
    ),
    "adagrad": (
        lambda: opt.adagrad.create_hash_optimizer(0.1, 0.5),
        lambda: v1.train.AdagradOptimizer(0.1, 0.5),
        False,
    ),
    "lazy_adam": (
        lambda: opt.lazy_adam.create_hash_optimizer(0.1),
        lambda: v1.train.AdamOptimizer(0.1),
        True,
    ),
    "adam": (
        lambda: opt.adam.create_hash_optimizer(0.1, beta1=0.8, beta2=0.9, epsilon=1e-3),
        lambda: v1.train.AdamOptimizer(0.1, 0.8, 0.9, 1e-3),
        True,
    ),
    "rmsprop": (
        lambda: opt.rmsprop.create_hash_optimizer(0.1, 0.8, 0.5, 1e-5),
        lambda: v1.train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-5),
        False,
    ),
    "ftrl": (
        lambda: opt.ftrl.create_hash_optimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02, beta=0.3
        ),
        lambda: v1.train.FtrlOptimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02, beta=0.3
        ),
        False,
    ),
    "ftrl_power_shrinkage": (
        lambda: opt.ftrl.create_hash_optimizer(
            0.1, learning_rate_power=-0.7, l2_shrinkage_regularization_strength=0.1
        ),
        lambda: v1.train.FtrlOptimizer(
            0.1, learning_rate_power=-0.7, l2_shrinkage_regularization_strength=0.1
        ),
        False,
    ),
}


def batch(random, all_keys):
    """40 ids with repetitions; every key occurs when `all_keys`."""
    ids = random.randint(0, KEYS, 40)
    if all_keys:
        ids[:KEYS] = np.arange(KEYS)
    return ids


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_same_steps_as_tensorflow(name):
    mine, theirs, moves_all = PAIRS[name]
    table = support.table(initializer=v1.random_normal_initializer(stddev=0.5))
    rows = ep.sparse_lookup(table, tf.range(KEYS, dtype=tf.int64), is_grad=False)
    variable = v1.get_variable("dense", initializer=tf.zeros([KEYS, 4]))
    ids = v1.placeholder(tf.int64, [40])
    scale = v1.placeholder(tf.float32, [40, 4])
    losses = [
        tf.reduce_sum(scale * x + 0.1 * x * x)
        for x in (ep.sparse_lookup(table, ids), tf.gather(variable, ids))
    ]
    train = [mine().minimize(losses[0]), theirs().minimize(losses[1], var_list=[variable])]
    random = np.random.RandomState(5)
    copy = variable.assign(rows)
    with support.ready_session() as session:
        session.run(copy)
        for _ in range(8):
            feeds = {ids: batch(random, moves_all), scale: random.normal(size=[40, 4])}
            session.run(train, feeds)
        found, wanted = session.run([rows, variable])
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_amsgrad_by_its_formula():
    table = support.table(dim=1)
    row = ep.sparse_lookup(table, [3])
    scale = v1.placeholder(tf.float32, [])
    train = opt.amsgrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(row * scale))
    w, m, v, vhat = 1.0, 0.0, 0.0, 0.0
    with support.ready_session() as session:
        for t, g in enumerate([1.0, 0.1, -0.5, 0.01], 1):
            session.run(train, {scale: g})
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            vhat = max(v, vhat)
            w -= 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(vhat) + 1e-8)
        np.testing.assert_allclose(session.run(row)[0, 0], w, rtol=1e-4)


@pytest.mark.parametrize(
    "make, step",
    [
        (
            lambda: opt.gradient_descent.create_hash_optimizer(0.1, weight_decay=0.01),
            0.1 * (2.0 + 0.01),
        ),
        (lambda: opt.gradient_descent_by_addr.create_hash_optimizer_by_addr(0.1), 0.1 * 2.0001),
        (
            lambda: opt.adagrad_by_addr.create_hash_optimizer_by_address(0.1, 0.5),
            0.1 * 2 / np.sqrt(4.5 + 1e-7),
        ),
        (lambda: opt.lazy_adam_by_addr.create_hash_optimizer_by_address(0.1), 0.1),
    ],
)
def test_first_step_of_the_others(make, step):
    table = support.table()
    row = ep.sparse_lookup(table, [3])
    train = make().minimize(2.0 * tf.reduce_sum(row))
    with support.ready_session() as session:
        session.run(train)
        np.testing.assert_allclose(session.run(row), np.full([1, 4], 1.0 - step), rtol=1e-4)


def two_lookups():
    """A table, its two lookups of overlapping ids, and a loss over both."""
    table = support.table()
    first = ep.sparse_lookup(table, [1, 2, 1])
    second = ep.sparse_lookup(table, [[2, 3]])
    return table, tf.reduce_sum(first) + 2.0 * tf.reduce_sum(second)


def by_minimize(optimizer, loss, table):
    return optimizer.minimize(loss, var_list=[table])


def by_compute_and_apply(optimizer, loss, table):
    return optimizer.apply_gradients(optimizer.compute_gradients(loss))


def by_handle(optimizer, loss, table):
    return optimizer.apply_gradients(zip(tf.gradients(loss, [table.handle]), [table.handle]))


def by_table(optimizer, loss, table):
    return optimizer.apply_gradients([(tf.gradients(loss, table.handle)[0], table)])


def by_variable_lists(optimizer, loss, table):
    _, sparse = ep.get_dense_and_sparse_variable()
    return optimizer.apply_gradients(zip(tf.gradients(loss, sparse), sparse))


def by_address(optimizer, loss, table):
    embeddings = v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    return optimizer.apply_gradients(zip(tf.gradients(loss, embeddings), addresses))


WAYS = [by_minimize, by_compute_and_apply, by_handle, by_table, by_variable_lists, by_address]


@pytest.mark.parametrize("expansion", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_one_update_per_key_whichever_way_gradients_come(way, expansion):
    ep.init(use_dynamic_expansion=expansion)
    table, loss = two_lookups()
    train = way(opt.adagrad.create_hash_optimizer(0.1, 0.5), loss, table)
    rows = ep.sparse_lookup(table, [1, 2, 3], is_train=False)
    with support.ready_session() as session:
        session.run(train)
        found = session.run(rows)[:, 0]
    gradients = np.array([2.0, 3.0, 2.0])
    np.testing.assert_allclose(found, 1 - 0.1 * gradients / np.sqrt(0.5 + gradients**2), rtol=1e-5)


def test_one_op_a_table_and_step():
    _, loss = two_lookups()
    opt.adagrad.create_hash_optimizer().minimize(loss)
    ops = [op.type for op in v1.get_default_graph().get_operations()]
    assert ops.count("EpTableApplyGradients") == 1


def test_pooled_gradients_that_are_slices_stay_sparse():
    table = support.table()
    rows = ep.sparse_lookup(table, [5, 6, 7])
    loss = tf.reduce_sum(tf.gather(rows, [0, 0, 2]))
    train = opt.gradient_descent.create_hash_optimizer(0.1).minimize(loss)
    with support.ready_session() as session:
        session.run(train)
        np.testing.assert_allclose(session.run(rows)[:, 0], [0.8, 1.0, 0.9], rtol=1e-6)


def test_several_tables_and_a_table_without_gradient():
    user, item, idle = support.table("user"), support.table("item", dim=2), support.table("idle")
    rows = [ep.sparse_lookup(table, [1, 2]) for table in (user, item, idle)]
    loss = tf.reduce_sum(rows[0]) + tf.reduce_sum(rows[1])
    train = opt.gradient_descent.create_hash_optimizer(0.5).minimize(loss)
    with support.ready_session() as session:
        session.run(train)
        found = [x[0, 0] for x in session.run(rows)]
    assert found == [0.5, 0.5, 1.0]


def test_padding_keys_take_no_update():
    table = support.table(padding_keys=[0, 9], padding_keys_mask=True, padding_keys_len=3)
    rows = ep.sparse_lookup(table, [0, 1, 9])
    train = opt.adagrad.create_hash_optimizer(0.5).minimize(tf.reduce_sum(rows))
    with support.ready_session() as session:
        session.run(train)
        assert [x != 1.0 for x in session.run(rows)[:, 0]] == [False, True, False]


def test_global_step_and_train_op():
    _, loss = two_lookups()
    step = v1.train.get_or_create_global_step()
    train = opt.lazy_adam.create_hash_optimizer().minimize(loss, global_step=step)
    assert isinstance(train, tf.Operation)
    assert v1.get_collection(v1.GraphKeys.TRAIN_OP) == [train]
    with support.ready_session() as session:
        for _ in range(3):
            session.run(train)
        assert session.run(step) == 3


@pytest.mark.parametrize("kind", ["tensor", "variable", "callable", "double"])
def test_learning_rates_that_change(kind):
    table = support.table()
    rows = ep.sparse_lookup(table, [1])
    rate = v1.get_variable("rate", initializer=tf.constant(0.5))
    given = {
        "tensor": rate * 1.0,
        "variable": rate,
        "callable": lambda: rate * 1.0,
        "double": tf.cast(rate, tf.float64),
    }[kind]
    train = opt.gradient_descent.create_hash_optimizer(given).minimize(tf.reduce_sum(rows))
    lower = rate.assign(0.25)
    with support.ready_session() as session:
        session.run(train)
        session.run(lower)
        session.run(train)
        np.testing.assert_allclose(session.run(rows)[0, 0], 0.25)


def test_beta_powers_advance_once_a_step_and_are_saved_variables():
    _, loss = two_lookups()
    optimizer = opt.lazy_adam.create_hash_optimizer(beta1=0.5, beta2=0.25)
    train = optimizer.minimize(loss)
    powers = optimizer.variables()
    assert [x.op.name for x in powers] == ["LazyAdam/beta1_power", "LazyAdam/beta2_power"]
    assert not any(x in v1.trainable_variables() for x in powers)
    assert all(x in v1.global_variables() for x in powers)
    with support.ready_session() as session:
        session.run(train)
        session.run(train)
        assert session.run(powers) == [0.125, 0.015625]


def test_optimizers_of_one_name_have_variables_of_their_own():
    names = []
    for table in (support.table("user"), support.table("item")):
        loss = tf.reduce_sum(ep.sparse_lookup(table, [1]))
        optimizer = opt.lazy_adam.create_hash_optimizer()
        optimizer.minimize(loss, var_list=[table])
        names += [x.op.name for x in optimizer.variables()]
    assert names[0] == "LazyAdam/beta1_power" and names[2] == "LazyAdam_1/beta1_power"


def test_optimizer_made_before_the_graph():
    optimizer = opt.lazy_adam.create_hash_optimizer()
    for _ in range(2):
        with tf.Graph().as_default():
            _, loss = two_lookups()
            train = optimizer.minimize(loss)
            assert len(optimizer.variables()) == 2
            with support.ready_session() as session:
                session.run(train)
