"""Estimators with GraphModifierHook do what they do without it."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.hooks import EvictHook, GraphModifierHook
from tests.plugin import support

v1 = tf.compat.v1
LIMITS = {"eviction_threshold": 4}


def model_fn(features, labels, mode):
    """Two tables, three lookups, ids from strings; predictions hold features as they came."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    users = support.table("user", initializer=v1.truncated_normal_initializer(seed=1))
    items = support.table("item", initializer=v1.truncated_normal_initializer(seed=2))
    hashed = tf.strings.to_hash_bucket_fast(features["user"], 1000)
    crossed = tf.strings.join([features["user"], tf.strings.as_string(features["item"])], "x")
    lookups = [
        (users, hashed, LIMITS),
        (users, tf.strings.to_hash_bucket_fast(crossed, 1000), LIMITS),
        (items, tf.cast(features["item"], tf.int32) + 1, None),
    ]
    embeddings = [
        ep.sparse_lookup(
            table,
            ids,
            is_train=training,
            modify_graph=True,
            access_and_evict_config=config if training else None,
        )
        for table, ids, config in lookups
    ]
    logits = tf.reduce_sum(tf.concat(embeddings, 1), 1) + v1.get_variable("bias", [])
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"user": features["user"], "hashed": hashed, "logits": logits}
        exported = {"serving_default": tf.estimator.export.PredictOutput(logits)}
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=exported)
    loss = v1.losses.sigmoid_cross_entropy(labels, logits)
    if not training:
        metrics = {"mean_item": v1.metrics.mean(features["item"])}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    sparse = ep.optimizers.lazy_adam.create_hash_optimizer(0.05).minimize(loss)
    dense = v1.train.AdamOptimizer(0.05).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(dense, sparse))


def input_fn(epochs=2):
    def example(i):
        features = {"user": tf.strings.as_string(i * i % 17), "item": i % 6}
        return features, tf.cast(i % 3 == 0, tf.float32)

    dataset = tf.data.Dataset.range(48).map(example).shuffle(16, seed=4)
    return dataset.repeat(epochs).batch(8).prefetch(2)


def one_shot_input_fn():
    return v1.data.make_one_shot_iterator(input_fn()).get_next()


def estimator(model_dir):
    config = tf.estimator.RunConfig(
        str(model_dir), tf_random_seed=1, save_checkpoints_steps=4, save_summary_steps=None
    )
    return tf.estimator.Estimator(model_fn, config=config)


def life(model_dir, make_hooks, inputs):
    """All that a model's checkpoints, evaluations and predictions hold in its life."""
    model = estimator(model_dir)
    evict = EvictHook(evict_enable=True, evict_step_interval=5)
    model.train(inputs, hooks=make_hooks() + [evict], max_steps=7)
    first = support.checkpoint_content(model.latest_checkpoint())
    model.train(inputs, hooks=make_hooks() + [evict])
    evaluations = [model.evaluate(inputs, steps=n, hooks=make_hooks()) for n in (3, None)]
    predictions = list(model.predict(inputs, hooks=make_hooks()))
    last = support.checkpoint_content(model.latest_checkpoint())
    return [first, evaluations, predictions, last]


@pytest.mark.parametrize("inputs", [input_fn, one_shot_input_fn])
def test_train_evaluate_and_predict(tmp_path, inputs):
    expected = life(tmp_path / "plain", list, inputs)
    found = life(tmp_path / "modified", lambda: [GraphModifierHook()], inputs)
    assert expected[0]["dense"]["global_step"] == 7  # A step counts once.
    assert len(expected[2]) == 96 and expected[3]["tables"]["user"]
    np.testing.assert_equal(found, expected)


def test_train_and_evaluate(tmp_path):
    contents = []
    for name, make_hooks in (("plain", list), ("modified", lambda: [GraphModifierHook()])):
        model = estimator(tmp_path / name)
        results, _ = tf.estimator.train_and_evaluate(
            model,
            tf.estimator.TrainSpec(input_fn, max_steps=10, hooks=make_hooks()),
            tf.estimator.EvalSpec(input_fn, steps=None, hooks=make_hooks(), throttle_secs=0),
        )
        contents.append([results, support.checkpoint_content(model.latest_checkpoint())])
    np.testing.assert_equal(contents[1], contents[0])


def test_what_was_trained_exports(tmp_path):
    model = estimator(tmp_path)
    model.train(input_fn, hooks=[GraphModifierHook()])

    def receiver():
        features = {
            "user": v1.placeholder(tf.string, [None]),
            "item": v1.placeholder(tf.int64, [None]),
        }
        return tf.estimator.export.ServingInputReceiver(features, features)

    path = model.export_saved_model(str(tmp_path / "export"), receiver).decode()
    expected = next(model.predict(lambda: input_fn().take(1), yield_single_examples=False))
    items = next(iter(_batches()))["item"]
    served = support.serve(path, {"user": expected["user"], "item": items})
    np.testing.assert_allclose(served["output"], expected["logits"], rtol=1e-6)


def _batches():
    """The features of the first batch, as numpy arrays."""
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        features, _ = v1.data.make_one_shot_iterator(input_fn()).get_next()
        yield session.run(features)
