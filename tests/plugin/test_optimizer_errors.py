"""Wrong arguments, wrong pairs and gradients that are not finite."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
opt = ep.optimizers

FACTORIES = {
    "adagrad": lambda **kw: opt.adagrad.create_hash_optimizer(**kw),
    "adagrad_by_addr": lambda **kw: opt.adagrad_by_addr.create_hash_optimizer_by_address(**kw),
    "adam": lambda **kw: opt.adam.create_hash_optimizer(**kw),
    "amsgrad": lambda **kw: opt.amsgrad.create_hash_optimizer(**kw),
    "ftrl": lambda learning_rate=0.1, **kw: opt.ftrl.create_hash_optimizer(learning_rate, **kw),
    "gradient_descent": lambda learning_rate=0.1, **kw: opt.gradient_descent.create_hash_optimizer(
        learning_rate, **kw
    ),
    "gradient_descent_by_addr": (
        lambda learning_rate=0.1, **kw: opt.gradient_descent_by_addr.create_hash_optimizer_by_addr(
            learning_rate, **kw
        )
    ),
    "lazy_adam": lambda **kw: opt.lazy_adam.create_hash_optimizer(**kw),
    "lazy_adam_by_addr": lambda **kw: opt.lazy_adam_by_addr.create_hash_optimizer_by_address(**kw),
    "momentum": lambda learning_rate=0.1, **kw: opt.momentum.create_hash_optimizer(
        learning_rate, **kw
    ),
    "rmsprop": lambda learning_rate=0.1, **kw: opt.rmsprop.create_hash_optimizer(
        learning_rate, **kw
    ),
}


@pytest.mark.parametrize("factory", sorted(FACTORIES))
def test_ints_are_fine_where_floats_are_wanted(factory):
    assert isinstance(FACTORIES[factory](learning_rate=1), opt.HashOptimizer)


@pytest.mark.parametrize("factory", sorted(FACTORIES))
@pytest.mark.parametrize("value", [-0.1, 10.1, float("nan"), "fast", None, True])
def test_learning_rate_out_of_range(factory, value):
    with pytest.raises(ValueError, match="optimizer '.*': learning_rate must be a number"):
        FACTORIES[factory](learning_rate=value)


@pytest.mark.parametrize("factory", sorted(FACTORIES))
@pytest.mark.parametrize(
    "argument, value, wanted",
    [
        ("name", "", "1 to 200 characters"),
        ("name", "a" * 201, "1 to 200 characters"),
        ("name", 3, "1 to 200 characters"),
        ("on_non_finite", "ignore", "one of 'reject', 'skip'"),
    ],
)
def test_shared_arguments(factory, argument, value, wanted):
    with pytest.raises(ValueError, match="%s must be .*%s" % (argument, wanted)):
        FACTORIES[factory](**{argument: value})


@pytest.mark.parametrize(
    "factories, argument, values",
    [
        (["adagrad", "adagrad_by_addr", "ftrl"], "initial_accumulator_value", [0, 1.1, "1"]),
        (["lazy_adam", "lazy_adam_by_addr", "adam", "amsgrad"], "beta1", [0, 1, -1, "0.9"]),
        (["lazy_adam", "lazy_adam_by_addr", "adam", "amsgrad"], "beta2", [-0.1, 1, 1.1]),
        (["lazy_adam", "lazy_adam_by_addr", "adam", "amsgrad"], "epsilon", [0, 1.1, None]),
        (["gradient_descent"], "weight_decay", [0, 1e-6, 0.1]),
        (["gradient_descent_by_addr"], "weight_decay", [-0.1, 1.1, None]),
        (["gradient_descent", "lazy_adam"], "use_fusion_optim", [1, None]),
        (["adagrad", "ftrl", "gradient_descent", "momentum", "rmsprop"], "use_locking", [1, None]),
        (["momentum"], "momentum", [-0.1, 1.1]),
        (["momentum"], "use_nesterov", [1]),
        (["rmsprop"], "decay", [-0.1, 1.1]),
        (["rmsprop"], "epsilon", [0, 2]),
        (["ftrl"], "learning_rate", [0]),
        (["ftrl"], "learning_rate_power", [0.1, "x"]),
        (["ftrl"], "l1_regularization_strength", [-1, 10001]),
        (["ftrl"], "l2_regularization_strength", [-1, 10001]),
        (["ftrl"], "l2_shrinkage_regularization_strength", [-1, 10001]),
        (["ftrl"], "beta", [-1]),
        (["ftrl"], "accum_name", [""]),
        (["ftrl"], "linear_name", ["a" * 256]),
    ],
)
def test_own_arguments_out_of_range(factories, argument, values):
    for factory in factories:
        for value in values:
            with pytest.raises(ValueError, match="optimizer '.*': %s must be" % argument):
                FACTORIES[factory](**{argument: value})


def test_fused_variants_are_accepted():
    opt.lazy_adam.create_hash_optimizer(use_fusion_optim=True)
    opt.gradient_descent.create_hash_optimizer(0.1, use_fusion_optim=True)


def sgd(**kwargs):
    return opt.gradient_descent.create_hash_optimizer(0.1, **kwargs)


def test_two_optimizers_on_one_table():
    loss = tf.reduce_sum(ep.sparse_lookup(support.table(), [1]))
    first = opt.adagrad.create_hash_optimizer()
    first.minimize(loss)
    first.minimize(loss)
    with pytest.raises(ValueError, match="table 'user': optimizer 'Adagrad' trains it already"):
        sgd().minimize(loss)


def test_nothing_to_train():
    with pytest.raises(ValueError, match="no sparse_lookup with is_train=True"):
        sgd().minimize(tf.constant(1.0))
    table = support.table()
    ep.sparse_lookup(table, [1])
    with pytest.raises(ValueError, match="No gradients provided"):
        sgd().minimize(tf.constant(1.0))
    with pytest.raises(ValueError, match="none of 1 pairs has a gradient"):
        sgd().apply_gradients([(None, table)])


def test_variables_are_for_dense_optimizers():
    table = support.table()
    loss = tf.reduce_sum(ep.sparse_lookup(table, [1]))
    variable = v1.get_variable("w", [2])
    with pytest.raises(ValueError, match="var_list must be tables; give variables to a dense"):
        sgd().minimize(loss, var_list=[table, variable])
    with pytest.raises(ValueError, match="grads_and_vars must be pairs of a gradient and a table"):
        sgd().apply_gradients([(tf.zeros([2]), variable)])


def test_addresses_must_come_from_a_lookup():
    table = support.table()
    ep.sparse_lookup(table, [1])
    with pytest.raises(ValueError, match="holds no addresses of a lookup; pass a tensor of"):
        sgd().apply_gradients([(tf.zeros([1, 4]), tf.zeros([1], tf.int64))])


def test_dense_gradient_for_a_table():
    with pytest.raises(ValueError, match="gradient of table 'user' must be a tf.IndexedSlices"):
        sgd().apply_gradients([(tf.zeros([1, 4]), support.table())])


@pytest.mark.parametrize("shape", [[3, 4], [2, 5], [2], [2, 1, 4]])
def test_gradient_and_address_lengths_that_differ(shape):
    ep.sparse_lookup(support.table(), [1, 2])
    addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")[0]
    with pytest.raises(ValueError, match=r"table 'user': gradients of shape .* must be \(2, 4\)"):
        sgd().apply_gradients([(tf.zeros(shape), addresses)])


def test_lengths_that_differ_when_run():
    table = support.table()
    rows = ep.sparse_lookup(table, [1, 2])
    addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")[0]
    gradients = v1.placeholder(tf.float32, [None, 4])
    train = sgd().apply_gradients([(gradients, addresses)])
    with support.ready_session() as session:
        before = session.run(rows)
        with pytest.raises(tf.errors.InvalidArgumentError, match="user"):
            session.run(train, {gradients: np.ones([3, 4])})
        np.testing.assert_array_equal(session.run(rows), before)


@pytest.mark.parametrize("address", [12345, -2, 2**62])
def test_addresses_out_of_range(address):
    table = support.table()
    rows = ep.sparse_lookup(table, [1, 2])
    indices = v1.placeholder(tf.int64, [1])
    train = sgd().apply_gradients([(tf.IndexedSlices(tf.ones([1, 4]), indices), table)])
    with support.ready_session() as session:
        session.run(rows)
        with pytest.raises(tf.errors.InvalidArgumentError, match="user.*%d" % address):
            session.run(train, {indices: [address]})
        assert (session.run(rows) == 1).all()


def test_an_address_whose_row_has_left_changes_no_other_row():
    table = support.table()
    rows = ep.sparse_lookup(table, [1, 2])
    others = ep.sparse_lookup(table, [3])
    indices = v1.placeholder(tf.int64, [1])
    train = sgd().apply_gradients([(tf.IndexedSlices(tf.ones([1, 4]), indices), table)])
    found, remove = table.find(tf.constant([2], tf.int64)), table.remove([2])
    with support.ready_session() as session:
        session.run(rows)
        address = session.run(found)[0]
        session.run(remove)
        session.run(others)  # Takes the place of the row that left.
        session.run(train, {indices: [address]})
        assert (session.run(others) == 1).all()
        assert (session.run(rows) == 1).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("on_non_finite", ["reject", "skip"])
def test_gradients_that_are_not_finite(bad, on_non_finite):
    table = support.table()
    rows = ep.sparse_lookup(table, [1, 2])
    scale = v1.placeholder(tf.float32, [2, 1])
    train = sgd(on_non_finite=on_non_finite).minimize(tf.reduce_sum(rows * scale))
    with support.ready_session() as session:
        feeds = {scale: [[1.0], [bad]]}
        if on_non_finite == "skip":
            session.run(train, feeds)
            np.testing.assert_allclose(session.run(rows)[:, 0], [0.9, 1.0], rtol=1e-6)
            return
        with pytest.raises(tf.errors.InvalidArgumentError, match="user.*finite"):
            session.run(train, feeds)
        np.testing.assert_array_equal(session.run(rows), np.ones([2, 4]))
        session.run(train, {scale: [[1.0], [1.0]]})
        np.testing.assert_allclose(session.run(rows)[:, 0], [0.9, 0.9], rtol=1e-6)


def test_training_before_the_table_is_initialized():
    table = support.table()
    train = sgd().minimize(tf.reduce_sum(ep.sparse_lookup(table, [1])))
    wanted = "user.*uninitialized"
    with v1.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match=wanted):
        session.run(train)
