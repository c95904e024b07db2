"""Hooks for `tf.estimator` and `MonitoredTrainingSession`."""

from .evict import EvictHook
from .graph_modifier import GraphModifierHook
from .incremental_save import IncrementalSaveHook
from .progress import ProgressHook
from .slicers import LookupSubgraphSlicerHook, OrphanLookupKeySlicerHook
from .table_stats import TableStatsHook
from .warm_start import WarmStartHook

__all__ = [
    "EvictHook",
    "GraphModifierHook",
    "IncrementalSaveHook",
    "LookupSubgraphSlicerHook",
    "OrphanLookupKeySlicerHook",
    "ProgressHook",
    "TableStatsHook",
    "WarmStartHook",
]
