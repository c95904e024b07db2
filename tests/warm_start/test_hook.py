"""WarmStartHook: the same without any patch."""

import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.warm_start import models
from tests.warm_start.models import rows_of

v1 = tf.compat.v1
Settings = tf.estimator.WarmStartSettings


@pytest.fixture(name="old")
def old_model(tmp_path):
    return models.write(tmp_path / "old", {"user": 3.0, "item": 4.0}, {"kernel": 5.0})


def test_a_path(tmp_path, old):
    hook = ep.hooks.WarmStartHook(old)
    build = models.model_fn(["user", "item"], ["kernel"])
    model = models.started(tmp_path / "new", build, hooks=[hook])
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("item") == rows_of("item", 4.0)
    assert model.variable("kernel") == [5.0, 5.0]


def test_lists_of_paths(tmp_path, old):
    other = models.write(tmp_path / "other", {"item": 7.0})
    hook = ep.hooks.WarmStartHook(Settings([old, other], [".*", ["item"]]))
    model = models.started(tmp_path / "new", models.model_fn(["user", "item"]), hooks=[hook])
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("item") == rows_of("item", 7.0)


def test_evaluation(tmp_path, old):
    model = models.estimator(tmp_path / "new", models.model_fn(["user"], ["kernel"]))
    hook = ep.hooks.WarmStartHook((old, ".*"))
    loss = model.evaluate(models.input_fn, steps=1, hooks=[hook])["loss"]
    assert loss == 3.0 * models.DIM + 2 * models.DIM * 10.0


@pytest.mark.parametrize("with_model_dir", [False, True])
def test_nothing_is_started_on_resume(tmp_path, old, with_model_dir):
    new = tmp_path / "new"
    build = models.model_fn(["user"], ["kernel"])
    models.estimator(new, build).train(models.input_fn, steps=1)
    hook = ep.hooks.WarmStartHook(old, str(new) if with_model_dir else None)
    models.estimator(new, build).train(models.input_fn, steps=1, hooks=[hook])
    model = models.Model(str(new / "model.ckpt-2"))
    assert model.rows("user") == {1: 0.0, 10: 0.0}
    assert model.variable("kernel") == [0.0, 0.0]


def test_a_monitored_session(tmp_path, old):
    table = ep.create_table(tf.int64, models.DIM, "user", v1.zeros_initializer())
    v1.train.get_or_create_global_step()
    size = table.size()
    with v1.train.MonitoredTrainingSession(
        hooks=[ep.hooks.WarmStartHook((old, "user"))]
    ) as session:
        assert session.run(size) == 3


def test_what_is_no_setting():
    with pytest.raises(ValueError, match="WarmStartHook: warm_start_from must be"):
        ep.hooks.WarmStartHook(5)
