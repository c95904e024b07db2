"""A graph and a session for each test, and tables in them."""

import pytest
import tensorflow as tf

from estimator_plugin.ops import table_ops, transfer_ops

tf1 = tf.compat.v1


def session_config(threads=2):
    return tf1.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
    )


@pytest.fixture
def session():
    """A session over the test's own default graph."""
    with tf.Graph().as_default(), tf1.Session(config=session_config()) as opened:
        yield opened


@pytest.fixture
def new_table(session):
    """Makes an initialized table: new_table(dim=4, **attrs of table_handle) -> handle."""

    def make(table_name="user", dim=4, bank=None, **attrs):
        attrs.setdefault("num_buckets", 4)
        attrs.setdefault("initializer_kind", "uniform")
        attrs.setdefault("initializer_arguments", [-1.0, 1.0])
        handle = table_ops.table_handle(table_name, dim, **attrs)
        session.run(
            table_ops.table_initialize(handle, tf.zeros([0, dim]) if bank is None else bank)
        )
        return handle

    return make


@pytest.fixture
def content_of(session):
    """content_of(handle, num_buckets) -> {key: row} of a table, rows copied."""

    def read(handle, num_buckets=4):
        content = session.run(transfer_ops.table_export(handle, num_buckets))
        return {
            int(key): row.copy()
            for keys, rows in zip(content.keys, content.rows)
            for key, row in zip(keys, rows)
        }

    return read
