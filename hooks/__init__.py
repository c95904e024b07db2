"""Hooks for `tf.estimator` and `MonitoredTrainingSession`."""

from .incremental_save import IncrementalSaveHook
from .progress import ProgressHook
from .warm_start import WarmStartHook

__all__ = ["IncrementalSaveHook", "ProgressHook", "WarmStartHook"]
