"""The registered ops of embedding tables: typed wrappers, their gradients, and the op library.

The ops work in graph mode and in tf.functions. Most users want `estimator_plugin.create_table` and
`estimator_plugin.sparse_lookup`, which are made of them.
"""

from . import gradients
from .bundle_ops import (
    commit_save,
    has_bundle_ops,
    restore_tables,
    save_tables,
    table_load,
    table_save_base,
)
from .exchange_ops import (
    pack_gradients,
    route_keys,
    serve_accumulate,
    serve_apply_accumulated,
    serve_lookup,
    serve_update,
    unpack_rows,
)
from .library import load
from .lookup_ops import table_find, table_gather, table_lookup, table_unique_lookup
from .table_ops import (
    table_clear,
    table_handle,
    table_initialize,
    table_is_initialized,
    table_memory,
    table_remove,
    table_size,
    table_statistics,
    unique_with_counts,
)
from .transfer_ops import (
    table_export,
    table_export_waiting,
    table_import,
    table_import_waiting,
    table_new_save,
)
from .update_ops import table_apply_gradients, table_apply_gradients_by_key
from .usage_ops import table_evict, table_set_threshold, table_tracked_lookup

__all__ = [
    "commit_save",
    "gradients",
    "has_bundle_ops",
    "load",
    "pack_gradients",
    "restore_tables",
    "route_keys",
    "save_tables",
    "serve_accumulate",
    "serve_apply_accumulated",
    "serve_lookup",
    "serve_update",
    "table_apply_gradients",
    "table_apply_gradients_by_key",
    "table_clear",
    "table_evict",
    "table_export",
    "table_export_waiting",
    "table_find",
    "table_gather",
    "table_handle",
    "table_import",
    "table_import_waiting",
    "table_initialize",
    "table_is_initialized",
    "table_load",
    "table_lookup",
    "table_memory",
    "table_new_save",
    "table_remove",
    "table_save_base",
    "table_set_threshold",
    "table_size",
    "table_statistics",
    "table_tracked_lookup",
    "table_unique_lookup",
    "unique_with_counts",
    "unpack_rows",
]
