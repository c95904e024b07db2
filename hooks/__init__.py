"""Hooks for `tf.estimator` and `MonitoredTrainingSession`."""

from .progress import ProgressHook

__all__ = ["ProgressHook"]
