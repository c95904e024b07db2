"""Hooks for `tf.estimator` and `MonitoredTrainingSession`."""

from .evict import EvictHook
from .incremental_save import IncrementalSaveHook
from .progress import ProgressHook
from .table_stats import TableStatsHook
from .warm_start import WarmStartHook

__all__ = ["EvictHook", "IncrementalSaveHook", "ProgressHook", "TableStatsHook", "WarmStartHook"]
