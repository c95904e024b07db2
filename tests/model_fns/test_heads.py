"""Heads against numpy."""

import numpy as np
import tensorflow as tf

import estimator_plugin as ep

tf1 = tf.compat.v1
LOGITS = np.array([2.0, -1.0, 0.5, -3.0], np.float32)
LABELS = np.array([1.0, 0.0, 0.0, 1.0], np.float32)
WEIGHTS = np.array([1.0, 2.0, 0.0, 1.0], np.float32)
PROBABILITIES = 1 / (1 + np.exp(-LOGITS))
LOG_LOSSES = -(LABELS * np.log(PROBABILITIES) + (1 - LABELS) * np.log(1 - PROBABILITIES))


def loss_of(head, weights):
    with tf1.Session() as session:
        return session.run(head.loss(tf.constant(LOGITS), tf.constant(LABELS), weights))


def metrics_of(head, weights):
    metrics = head.metrics(tf.constant(LOGITS), tf.constant(LABELS), weights)
    with tf1.Session() as session:
        session.run(tf1.local_variables_initializer())
        session.run([update for _, update in metrics.values()])
        return session.run({name: value for name, (value, _) in metrics.items()})


def test_binary_loss():
    head = ep.model_fns.BinaryHead()
    np.testing.assert_allclose(loss_of(head, None), LOG_LOSSES.mean(), rtol=1e-5)
    weighted = (LOG_LOSSES * WEIGHTS).sum() / 4
    np.testing.assert_allclose(loss_of(head, tf.constant(WEIGHTS)), weighted, rtol=1e-5)


def test_a_batch_of_weight_zero_has_loss_zero():
    assert loss_of(ep.model_fns.BinaryHead(), tf.zeros([4])) == 0


def test_binary_metrics():
    found = metrics_of(ep.model_fns.BinaryHead(), None)
    np.testing.assert_allclose(found["log_loss"], LOG_LOSSES.mean(), rtol=1e-5)
    # Of the four pairs of a click and no click, the click is ahead in two.
    np.testing.assert_allclose(found["auc"], 0.5, atol=1e-3)
    np.testing.assert_allclose(found["accuracy"], 0.5)
    np.testing.assert_allclose(found["label_mean"], 0.5)
    np.testing.assert_allclose(found["prediction_mean"], PROBABILITIES.mean(), rtol=1e-5)


def test_weighted_binary_metrics():
    found = metrics_of(ep.model_fns.BinaryHead("w"), tf.constant(WEIGHTS))
    np.testing.assert_allclose(found["label_mean"], 0.5)
    np.testing.assert_allclose(found["accuracy"], 0.75)
    np.testing.assert_allclose(found["log_loss"], (LOG_LOSSES * WEIGHTS).sum() / 4, rtol=1e-5)


def test_regression():
    head = ep.model_fns.RegressionHead()
    squares = (LOGITS - LABELS) ** 2
    np.testing.assert_allclose(loss_of(head, None), squares.mean(), rtol=1e-5)
    weighted = (squares * WEIGHTS).sum() / 4
    np.testing.assert_allclose(loss_of(head, tf.constant(WEIGHTS)), weighted, rtol=1e-5)
    found = metrics_of(head, None)
    np.testing.assert_allclose(found["rmse"], np.sqrt(squares.mean()), rtol=1e-5)
    np.testing.assert_allclose(found["mean_absolute_error"], np.abs(LOGITS - LABELS).mean())
