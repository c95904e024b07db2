"""A stock Estimator with an embedding in its model_fn and nothing else: no scaffold, no hook."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import sparse_core as sc
from tests.plugin import support
from tests.sparse_core import models

v1 = tf.compat.v1
_BATCH = 16


def _model_fn(features, labels, mode, params):
    tables = {
        "user": sc.TableConfig(50, 8, tf.random_uniform_initializer(-0.1, 0.1, 1), name="user"),
        "item": sc.TableConfig(70, 5, tf.random_uniform_initializer(-0.1, 0.1, 2), name="item"),
    }
    config = {
        name: sc.FeatureConfig(table, output_shape=[_BATCH // params["replicas"]])
        for name, table in tables.items()
    }
    embedding = sc.TPUEmbeddingV2(
        config,
        sc.Adagrad(0.1),
        params.get("pipelined", False),
        sc.SparseCoreEmbeddingConfig(disable_table_stacking=not params.get("stacking", True)),
        num_replicas=params["replicas"],
        num_sc_per_chip=params["cores"],
    )
    activations, csr = embedding({name: features[name] for name in config})
    inputs = tf.concat([activations["item"], activations["user"]], axis=1)
    weights = v1.get_variable("weights", [13, 1], initializer=v1.ones_initializer())
    logits = tf.squeeze(tf.matmul(inputs, weights), 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    gradients = dict(zip(activations, tf.gradients(loss, list(activations.values()))))
    dense = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
    update = embedding.apply_gradients(gradients, csr)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(dense, update))


def _input_fn(first=0):
    random = np.random.RandomState(3)
    features = {
        "user": random.randint(0, 50, [64, _BATCH]),
        "item": random.randint(0, 70, [64, _BATCH]),
    }
    labels = random.randint(0, 2, [64, _BATCH]).astype(np.float32)
    features = {name: ids[first:] for name, ids in features.items()}
    return tf.data.Dataset.from_tensor_slices((features, labels[first:]))


def _estimator(model_dir, **params):
    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=4)
    return tf.estimator.Estimator(_model_fn, str(model_dir), config, dict(cores=2, **params))


def _loss(estimator):
    return estimator.evaluate(_input_fn, steps=8)["loss"]


@pytest.mark.parametrize("pipelined", [False, True])
def test_train_resume_and_evaluate_elsewhere(tmp_path, pipelined):
    first = _estimator(tmp_path, replicas=1, pipelined=pipelined)
    start = _loss(_trained(tmp_path / "start", 1, 0))
    first.train(_input_fn, steps=8)
    loss = _loss(first)
    assert loss < start
    for params in (
        {"replicas": 2},
        {"replicas": 4},
        {"replicas": 1, "stacking": False},
    ):
        assert _loss(_estimator(tmp_path, pipelined=pipelined, **params)) == pytest.approx(
            loss, 1e-6
        )


def _trained(model_dir, steps, first, **params):
    estimator = _estimator(model_dir, **dict({"replicas": 1}, **params))
    estimator.train(lambda: _input_fn(first), steps=steps)
    return estimator


@pytest.mark.parametrize("params", [{"replicas": 2}, {"replicas": 4, "stacking": False}])
def test_training_goes_on_in_another_topology_as_if_it_had_not_stopped(tmp_path, params):
    whole = _trained(tmp_path / "whole", 12, 0)
    _trained(tmp_path / "parts", 6, 0)
    parts = _trained(tmp_path / "parts", 6, 6, **params)
    assert parts.get_variable_value("global_step") == 12
    assert _loss(parts) == pytest.approx(_loss(whole), 1e-5)


def test_layouts_are_in_the_checkpoint(tmp_path):
    estimator = _trained(tmp_path, 1, 0)
    assert {"item_user", "item_user/accumulators", "_sparse_core_table_layouts"} <= set(
        estimator.get_variable_names()
    )


def test_delta_checkpoints_have_the_tables_whole(tmp_path):
    hook = ep.hooks.IncrementalSaveHook(
        str(tmp_path / "deltas"), save_full_steps=8, save_delta_steps=2
    )
    whole = _trained(tmp_path / "whole", 4, 0)
    estimator = _estimator(tmp_path / "deltas", replicas=1)
    estimator.train(_input_fn, steps=4, hooks=[hook])
    resumed = _estimator(tmp_path / "deltas", replicas=2)
    assert _loss(resumed) == pytest.approx(_loss(whole), 1e-6)
    delta = str(tmp_path / "deltas" / "model.ckpt-2")
    at_two = _trained(tmp_path / "two", 2, 0)
    for name in ("item_user", "item_user/accumulators"):
        np.testing.assert_array_equal(
            tf.train.load_variable(delta, name), at_two.get_variable_value(name)
        )


@pytest.mark.parametrize("start", ["tables", "all"])
def test_warm_start(tmp_path, start):
    """Evaluated before any step, the new model is the old one, in another topology."""
    ep.init()
    old = _trained(tmp_path / "old", 8, 0)
    patterns = {"tables": ["user", "item", "weights"], "all": ".*"}
    settings = tf.estimator.WarmStartSettings(str(tmp_path / "old"), patterns[start])
    new = tf.estimator.Estimator(
        _model_fn,
        str(tmp_path / "new"),
        params={"replicas": 2, "cores": 2},
        warm_start_from=settings,
    )
    assert _loss(new) == pytest.approx(_loss(old), 1e-6)
    new.train(_input_fn, steps=1)


def test_export_and_serve(tmp_path):
    estimator = _trained(tmp_path / "model", 4, 0)
    features = {
        "user": tf.TensorSpec([_BATCH], tf.int64),
        "item": tf.TensorSpec([_BATCH], tf.int64),
    }

    def receiver_fn():
        made = {n: v1.placeholder(s.dtype, s.shape, n) for n, s in features.items()}
        return tf.estimator.export.ServingInputReceiver(made, made)

    path = estimator.export_saved_model(str(tmp_path / "export"), receiver_fn).decode()
    ids = {name: np.arange(_BATCH) for name in features}
    served = support.serve(path, ids)["logits"]
    predicted = [
        p["logits"]
        for p in estimator.predict(
            lambda: tf.data.Dataset.from_tensors(ids), yield_single_examples=True
        )
    ]
    np.testing.assert_allclose(served, predicted, rtol=1e-5)


def test_train_and_evaluate(tmp_path):
    estimator = _estimator(tmp_path, replicas=2, pipelined=True)
    train = tf.estimator.TrainSpec(_input_fn, max_steps=8)
    evaluation = tf.estimator.EvalSpec(_input_fn, steps=2, throttle_secs=0)
    metrics, _ = tf.estimator.train_and_evaluate(estimator, train, evaluation)
    assert metrics["global_step"] == 8


@pytest.mark.parametrize("build", [False, True])
@pytest.mark.parametrize("target", [{"replicas": 2}, {"replicas": 4}, {"stacking": False}])
def test_the_next_eager_step_is_equal(tmp_path, target, build):
    ids = {name: [1, 2, 2, 5, 0, 3, 8, 8] for name in models.SHAPES}
    with models.eagerly():
        saved = models.embedding(replicas=1, cores=4, output_shape=[8])
        models.random_tables(saved)
        path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ckpt"))
        replicas = target.get("replicas", 1)
        other = models.embedding(
            cores=2, output_shape=[8 // replicas], **dict({"replicas": 1}, **target)
        )
        if build:
            other.build()
        tf.train.Checkpoint(model=other).restore(path)
        tables = []
        for each in (saved, other):
            activations, csr = each({n: tf.constant(values) for n, values in ids.items()})
            gradients = {n: 0.1 + tf.square(v) for n, v in activations.items()}
            each.apply_gradients(gradients, csr)
            tables.append(models.logical_tables(each))
    for name, slots in tables[0].items():
        for slot, values in slots.items():
            np.testing.assert_allclose(tables[1][name][slot], values, rtol=1e-5, atol=1e-6)
