"""Heads: from the logits of a network to loss, metrics and predictions."""

import abc
import dataclasses
from typing import Optional

import tensorflow as tf

# Evenly spaced thresholds of the AUC; its error is about one over this number.
AUC_THRESHOLDS = 2000


class Head(abc.ABC):
    """All tensors are float32 `[batch]`. `weights` is None or one weight per example."""

    @property
    @abc.abstractmethod
    def weight_feature(self):
        """Key of the example weights in the features dictionary, or None."""

    @abc.abstractmethod
    def predictions(self, logits):
        """What `predict` yields and a served model returns: dict of name to `[batch]` tensor."""

    @abc.abstractmethod
    def loss(self, logits, labels, weights):
        """The scalar to minimise: the weighted mean over the batch."""

    @abc.abstractmethod
    def metrics(self, logits, labels, weights):
        """Dict of name to (value, update op), as `EstimatorSpec.eval_metric_ops` wants it."""


@dataclasses.dataclass(frozen=True)
class BinaryHead(Head):
    """Click or no click. Labels are 0 or 1 (or a probability); the loss is the log loss.

    Predictions: `probabilities`, `logits`.
    Metrics: `auc`, `auc_precision_recall`, `log_loss`, `accuracy` (at 0.5), `label_mean`,
    `prediction_mean`.

    Args:
      weight_feature: name of a numeric feature with one weight per example; None weighs all the
        same.
    """

    weight_feature: Optional[str] = None

    def predictions(self, logits):
        return {"probabilities": tf.sigmoid(logits), "logits": logits}

    def loss(self, logits, labels, weights):
        checks = [
            tf.compat.v1.assert_greater_equal(
                labels, 0.0, message="click labels must be in [0, 1]"
            ),
            tf.compat.v1.assert_less_equal(labels, 1.0, message="click labels must be in [0, 1]"),
        ]
        with tf.control_dependencies(checks):
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return _weighted_mean(losses, weights)

    def metrics(self, logits, labels, weights):
        metrics = tf.compat.v1.metrics
        probabilities = tf.sigmoid(logits)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        def auc(curve):
            return metrics.auc(
                labels,
                probabilities,
                weights,
                num_thresholds=AUC_THRESHOLDS,
                curve=curve,
                summation_method="careful_interpolation",
            )

        return {
            "auc": auc("ROC"),
            "auc_precision_recall": auc("PR"),
            "log_loss": metrics.mean(losses, weights),
            "accuracy": metrics.accuracy(labels, tf.round(probabilities), weights),
            "label_mean": metrics.mean(labels, weights),
            "prediction_mean": metrics.mean(probabilities, weights),
        }


@dataclasses.dataclass(frozen=True)
class RegressionHead(Head):
    """A number. The loss is the mean squared error.

    Predictions: `predictions`.
    Metrics: `rmse`, `mean_absolute_error`, `label_mean`, `prediction_mean`.

    Args:
      weight_feature: name of a numeric feature with one weight per example; None weighs all the
        same.
    """

    weight_feature: Optional[str] = None

    def predictions(self, logits):
        return {"predictions": logits}

    def loss(self, logits, labels, weights):
        return _weighted_mean(tf.square(logits - labels), weights)

    def metrics(self, logits, labels, weights):
        metrics = tf.compat.v1.metrics
        return {
            "rmse": metrics.root_mean_squared_error(labels, logits, weights),
            "mean_absolute_error": metrics.mean_absolute_error(labels, logits, weights),
            "label_mean": metrics.mean(labels, weights),
            "prediction_mean": metrics.mean(logits, weights),
        }


def _weighted_mean(losses, weights):
    if weights is None:
        return tf.reduce_mean(losses)
    return tf.math.divide_no_nan(tf.reduce_sum(losses * weights), tf.reduce_sum(weights))
