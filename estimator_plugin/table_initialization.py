"""`tables_initializer`: what a plain session runs before it uses tables."""

import tensorflow as tf

from . import graph_state


def tables_initializer(graph=None):
    """An operation that makes every table of `graph` (default: the default graph) empty and ready.

    For a plain session, beside `tf.compat.v1.global_variables_initializer()`; Estimators and
    MonitoredSessions do it by themselves. Do not run it after a restore.
    """
    tables = graph_state.of(graph).tables.values()
    return tf.group(*[table.initializer for table in tables], name="init_tables")
