"""The Rec SDK's view of the settings, and loss scaling."""

import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.compat import settings
from estimator_plugin.compat.npu import loss_scale
from tests.plugin import support

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def no_job_id(monkeypatch):
    monkeypatch.setenv("JOB_ID", "")  # So that it is put back.
    monkeypatch.delenv("JOB_ID")


def test_init_sets_a_job_id(monkeypatch):
    settings.init(train_steps=10, use_dynamic_expansion=True)
    assert os.environ["JOB_ID"] == "10086"
    assert ep.get_config().train_steps == 10
    assert settings.get_use_dynamic_expansion() is True
    ep.terminate_config_initializer()
    monkeypatch.setenv("JOB_ID", "7")
    settings.init()
    assert os.environ["JOB_ID"] == "7"


def test_the_config_initializer_reads_and_changes_the_settings():
    with pytest.raises(EnvironmentError, match="call init"):
        settings.ConfigInitializer.get_instance()
    ep.init(max_steps=5)
    instance = settings.ConfigInitializer.get_instance()
    assert (instance.max_steps, instance.if_load) == (5, False)
    settings.set_if_load(True)
    instance.save_steps = 3
    assert ep.get_config() == ep.Config(max_steps=5, if_load=True, save_steps=3)
    with pytest.raises(ValueError, match="save_steps"):
        instance.save_steps = -2
    assert instance.save_steps == 3
    with pytest.raises(AttributeError):
        instance.use_dynamic_expansion = True


def test_static_shapes_can_be_asked_for_late():
    ep.init()
    instance = settings.ConfigInitializer.get_instance()
    assert instance.use_static is False
    instance.use_static = True
    assert ep.get_config().use_dynamic is False
    with pytest.raises(ValueError, match="use_static must be True or False, got 1"):
        instance.use_static = 1


def test_tables_are_found_by_variable_and_by_name():
    ep.init(use_dynamic_expansion=True)
    tables = settings.ConfigInitializer.get_instance().sparse_embed_config
    user = support.table("user")
    assert tables.get_table_instance(user.variable) is user
    assert tables.get_table_instance_by_name("user") is user
    merged = support.table("city", enable_merge=True)
    assert tables.get_table_instance_by_name("city") is merged
    with pytest.raises(KeyError, match="no table 'item'; it has 'user'"):
        tables.get_table_instance_by_name("item")
    with pytest.raises(KeyError, match="no table"):
        tables.get_table_instance(tf.constant(1))


def test_the_collection_of_tables_has_the_name_it_is_given():
    ep.init()
    instance = settings.ConfigInitializer.get_instance()
    name = "ascend_global_hashtable_collection"
    assert instance.train_params_config.ascend_global_hashtable_collection == name.upper()
    instance.train_params_config.ascend_global_hashtable_collection = "tables"
    table = support.table()
    assert v1.get_collection("tables") == [table.handle]
    assert ep.get_dense_and_sparse_variable() == ([], [table.handle])
    with pytest.raises(ValueError, match="%s must be a string of 1 to 255" % name):
        instance.train_params_config.ascend_global_hashtable_collection = ""


def test_the_initializer_of_a_modified_graph():
    ep.init()
    instance = settings.ConfigInitializer.get_instance()
    iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(6).batch(2))
    ids = iterator.get_next() * 3
    rows = ep.sparse_lookup(support.table(), ids, modify_graph=True)
    assert instance.train_params_config.get_initializer(True) is None
    assert instance.hybrid_manager_config.freeze is False
    ep.modify_graph_and_start_emb_cache()
    assert instance.hybrid_manager_config.freeze is True
    with support.ready_session() as session:
        session.run(instance.train_params_config.get_initializer(True))
        assert session.run(rows).shape == (2, 4)


def test_changing_settings_needs_init():
    with pytest.raises(EnvironmentError, match="call init"):
        settings.set_if_load(True)
    with pytest.raises(EnvironmentError, match="no settings to change"):
        ep.config.change(if_load=True)


def _scaled(manager, factor):
    """(session to run in, train op, weight, row) of w and a row with gradients of `factor`."""
    table = support.table("t", dim=1)
    weight = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
    row = ep.sparse_lookup(table, tf.constant([3], tf.int64))
    loss = factor * (weight + tf.reduce_sum(row))
    dense = loss_scale.NPULossScaleOptimizer(v1.train.GradientDescentOptimizer(0.5), manager)
    sparse = loss_scale.NPULossScaleOptimizer(
        ep.optimizers.gradient_descent.create_hash_optimizer(0.5), manager
    )
    step = v1.train.get_or_create_global_step()
    train = tf.group(dense.minimize(loss, step), sparse.minimize(loss))
    return train, [weight, ep.sparse_lookup(table, tf.constant([3], tf.int64), is_train=False)]


def test_a_scaled_loss_trains_as_an_unscaled_one():
    factor = v1.placeholder(tf.float32, [])
    train, read = _scaled(loss_scale.FixedLossScaleManager(65536), factor)
    with support.ready_session() as session:
        session.run(train, {factor: 1.0})
        np.testing.assert_array_equal(session.run(read[0]), 0.5)
        np.testing.assert_array_equal(session.run(read[1]), [[0.5]])
        session.run(train, {factor: np.inf})  # Nothing is updated, and it is no step.
        np.testing.assert_array_equal(session.run(read[0]), 0.5)
        np.testing.assert_array_equal(session.run(read[1]), [[0.5]])
        assert session.run(v1.train.get_global_step()) == 1


def test_the_exponential_scale_grows_and_shrinks():
    manager = loss_scale.ExponentialUpdateLossScaleManager(
        8, incr_every_n_steps=2, decr_every_n_nan_or_inf=2, incr_ratio=4, decr_ratio=0.25
    )
    finite = v1.placeholder(tf.bool, [])
    update, scale = manager.update_loss_scale(finite), manager.get_loss_scale()
    with support.ready_session() as session:
        found = []
        for each in (True, True, True, False, True, False, False, False, False, False, False):
            session.run(update, {finite: each})
            found.append(float(session.run(scale)))
    # Two in a row grow; the second that is not finite shrinks; never below 1.
    assert found == [8, 32, 32, 32, 32, 8, 8, 2, 2, 1, 1]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: loss_scale.FixedLossScaleManager(0.5), "loss_scale must be at least 1, got 0.5"),
        (
            lambda: loss_scale.ExponentialUpdateLossScaleManager(0, 1),
            "init_loss_scale must be at least 1, got 0",
        ),
        (
            lambda: loss_scale.ExponentialUpdateLossScaleManager(8, 1, decr_ratio=1),
            "decr_ratio must be between 0 and 1, got 1",
        ),
    ],
)
def test_wrong_scales(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_after_init_the_initializer_of_variables_makes_tables_ready():
    """All that a Rec SDK program in a plain session runs."""
    table = support.table("t", dim=2)
    weight = v1.get_variable("w", [], initializer=v1.ones_initializer())
    settings.init()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run([table.is_initialized(), table.size(), weight]) == [True, 0, 1.0]
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("w", [], initializer=v1.ones_initializer())
        assert session.run(v1.initializers.global_variables()) is None
    ep.terminate_config_initializer()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert not session.run(table.is_initialized())
