"""Warm start of stock Estimators through `warm_start_from`, after `ep.init()`."""

import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.warm_start import models
from tests.warm_start.models import rows_of

Settings = tf.estimator.WarmStartSettings


@pytest.fixture(autouse=True)
def initialized():
    ep.init()


@pytest.fixture(name="old")
def old_model(tmp_path):
    return models.write(tmp_path / "old", {"user": 3.0, "item": 4.0}, {"kernel": 5.0, "bias": 6.0})


def test_a_path_starts_all_tables_and_trainable_variables(tmp_path, old):
    build = models.model_fn(["user", "item"], ["kernel", "bias"])
    model = models.started(tmp_path / "new", build, os.path.dirname(old))
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("item") == rows_of("item", 4.0)
    assert model.variable("kernel") == [5.0, 5.0]
    assert model.variable("bias") == [6.0, 6.0]
    assert model.variable("global_step") == 0


def test_one_table_from_one_path(tmp_path, old):
    """The first example of the Rec SDK's documentation."""
    build = models.model_fn(["user", "item"], ["kernel"])
    model = models.started(tmp_path / "new", build, Settings(old, vars_to_warm_start=["user"]))
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("item") == {}
    assert model.variable("kernel") == [0.0, 0.0]


def test_everything_then_two_tables_then_one_variable(tmp_path, old):
    """The second example of the Rec SDK's documentation: later paths replace."""
    first = models.write(
        tmp_path / "1", {"user": 1.0, "item": 1.0, "brand": 1.0}, {"kernel": 1.0, "bias": 1.0}
    )
    second = models.write(tmp_path / "2", {"user": 2.0, "item": 2.0}, {"kernel": 2.0})
    third = models.write(tmp_path / "3", {"user": 3.0}, {"old_kernel": 3.0})
    settings = Settings(
        ckpt_to_initialize_from=[first, os.path.dirname(second), third],
        vars_to_warm_start=[".*", ["user", "item"], "kernel"],
        var_name_to_prev_var_name=[{}, {}, {"kernel": "old_kernel"}],
    )
    build = models.model_fn(["user", "item", "brand"], ["kernel", "bias"])
    model = models.started(tmp_path / "new", build, settings)
    assert model.rows("user") == rows_of("user", 2.0)
    assert model.rows("item") == rows_of("item", 2.0)
    assert model.rows("brand") == rows_of("brand", 1.0)
    assert model.variable("kernel") == [3.0, 3.0]
    assert model.variable("bias") == [1.0, 1.0]


@pytest.mark.parametrize("pattern", ["user", "us.*", ["user"], ("us.r", "it"), ["us"]])
def test_patterns_and_lists_of_them(tmp_path, old, pattern):
    build = models.model_fn(["user", "item"])
    model = models.started(tmp_path / "new", build, Settings(old, vars_to_warm_start=pattern))
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("item") == (rows_of("item", 4.0) if "it" in pattern else {})


def test_a_table_name_means_that_table_alone(tmp_path):
    old = models.write(tmp_path / "old", {"user": 3.0, "user_linear": 4.0}, {"user_kernel": 5.0})
    build = models.model_fn(["user", "user_linear"], ["user_kernel"])
    model = models.started(tmp_path / "new", build, Settings(old, vars_to_warm_start=["user"]))
    assert model.rows("user") == rows_of("user", 3.0)
    assert model.rows("user_linear") == {}
    assert model.variable("user_kernel") == [0.0, 0.0]


def test_everything_by_a_list_brings_tables_too(tmp_path):
    source = models.model_fn(["user"], ["kernel"])
    models.estimator(tmp_path / "old", source).train(models.input_fn, steps=2)
    settings = Settings(str(tmp_path / "old"), vars_to_warm_start=[".*"])
    model = models.started(tmp_path / "new", source, settings)
    # A list sees all global variables, so the step count comes along as well.
    model = models.Model(os.path.join(str(tmp_path / "new"), "model.ckpt-2"))
    assert model.rows("user") == {1: 0.0, 10: 0.0}
    assert model.variable("global_step") == 2


def test_names_are_mapped_for_tables_and_variables(tmp_path, old):
    settings = Settings(
        old,
        vars_to_warm_start=["members", "weights:0"],
        var_name_to_prev_var_name={"members": "user", "weights": "kernel"},
    )
    build = models.model_fn(["members"], ["weights"])
    model = models.started(tmp_path / "new", build, settings)
    assert model.rows("members") == rows_of("user", 3.0)
    assert model.variable("weights") == [5.0, 5.0]


def test_two_tables_start_from_one(tmp_path, old):
    settings = Settings(old, "user|twin", var_name_to_prev_var_name={"twin": "user"})
    model = models.started(tmp_path / "new", models.model_fn(["user", "twin"]), settings)
    assert model.rows("user") == model.rows("twin") == rows_of("user", 3.0)


def test_slots_come_along(tmp_path, old):
    model = models.started(tmp_path / "new", models.model_fn(["user"]), Settings(old, "user"))
    assert model.slots("user") == {"momentum": {1.0}}


def test_slots_stay_behind_when_asked(tmp_path, old):
    path = ep.warm_start.WithoutSlots(old)
    build = models.model_fn(["user", "item"])
    settings = Settings([old, path], [".*", ["user"]])
    model = models.started(tmp_path / "new", build, settings)
    assert model.slots("user") == {}
    assert model.slots("item") == {"momentum": {1.0}}
    trained = models.Model(str(tmp_path / "new" / "model.ckpt-1"))
    assert trained.rows("user") == {**rows_of("user", 3.0), 10: 0.0}


def test_slots_of_another_optimizer_start_fresh(tmp_path, old):
    build = models.model_fn(["user"], momentum=False)
    models.started(tmp_path / "new", build, Settings(old, "user"))
    trained = models.Model(str(tmp_path / "new" / "model.ckpt-1"))
    assert list(trained.slots("user")) == ["accumulator"]
    assert trained.rows("user")[2] == 3.0


@pytest.mark.parametrize("old_buckets, new_buckets", [(1, 64), (64, 1), (8, 16)])
def test_other_bucket_count(tmp_path, old_buckets, new_buckets):
    old = models.write(tmp_path / "old", {"user": 3.0}, num_buckets=old_buckets)
    build = models.model_fn(["user"], num_buckets=new_buckets)
    model = models.started(tmp_path / "new", build, Settings(old, "user"))
    assert model.rows("user") == rows_of("user", 3.0)


def test_nothing_is_started_on_resume(tmp_path, old):
    build = models.model_fn(["user"], ["kernel"])
    models.estimator(tmp_path / "new", build).train(models.input_fn, steps=1)
    models.estimator(tmp_path / "new", build, old).train(models.input_fn, steps=1)
    model = models.Model(str(tmp_path / "new" / "model.ckpt-2"))
    assert model.rows("user") == {1: 0.0, 10: 0.0}
    assert model.variable("kernel") == [0.0, 0.0]


def test_evaluate_and_predict_start_from_lists_too(tmp_path, old):
    other = models.write(tmp_path / "other", {"item": 7.0})
    settings = Settings([old, other], [".*", ["item"]])
    model = models.estimator(tmp_path / "new", models.model_fn(["user", "item"]), settings)
    predicted = next(model.predict(models.input_fn))
    assert predicted["total"] == 3.0 * models.DIM  # Key 1 is a user and no item.
    loss = model.evaluate(models.input_fn, steps=1)["loss"]
    assert loss == (3.0 + 7.0) * models.DIM


def test_evaluate_does_not_need_the_optimizer_s_variables(tmp_path):
    build = models.model_fn(["user"], ["kernel"])
    models.estimator(tmp_path / "old", build).train(models.input_fn, steps=2)
    settings = Settings(str(tmp_path / "old"), ["user", "kernel", ".*Momentum"])
    model = models.estimator(tmp_path / "new", build, settings)
    assert model.evaluate(models.input_fn, steps=1)["loss"] == 0.0
    model.train(models.input_fn, steps=1)


def test_export_before_training_from_a_list_says_what_is_missing(tmp_path, old):
    model = models.estimator(tmp_path / "new", models.model_fn(["user"]), Settings([old], ["user"]))
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"id": tf.zeros([2], tf.int64)}
    )
    with pytest.raises(ValueError, match="train first"):
        model.export_saved_model(str(tmp_path / "export"), receiver)


def test_each_thing_is_logged_with_its_rows(tmp_path, old, caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        models.started(tmp_path / "new", models.model_fn(["user"], ["kernel"]), old)
    assert "Warm-starting from: %s" % old in caplog.text
    assert "Warm-started 1 variables." in caplog.text
    assert "Warm-starting table: user; prev_table: Unchanged" in caplog.text
    assert "3 rows; slots: momentum" in caplog.text
    assert "Warm-started 1 tables." in caplog.text


def test_terminating_gives_tensorflow_its_function_back(tmp_path, old):
    ours = tf.compat.v1.train.warm_start
    ep.terminate_config_initializer()
    assert tf.compat.v1.train.warm_start is not ours
    build = models.model_fn(["user"], ["kernel"])
    model = models.started(tmp_path / "new", build, old)
    assert model.variable("kernel") == [5.0, 5.0]
    assert model.rows("user") == {}
    ep.init()
    assert tf.compat.v1.train.warm_start is ours
