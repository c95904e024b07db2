"""Tables in TensorFlow checkpoints: saving, restoring and reading them."""

from .incremental_saver import IncrementalSaver
from .meta import TableMeta, parse_meta
from .reader import TableRows, read_table, table_names
from .saver import StreamingSaverHook, saver
from .streaming import StreamingSaverBuilder

__all__ = [
    "IncrementalSaver",
    "StreamingSaverBuilder",
    "StreamingSaverHook",
    "TableMeta",
    "TableRows",
    "parse_meta",
    "read_table",
    "saver",
    "table_names",
]
