"""What the tests of the Python API share."""

import contextlib

import tensorflow as tf

import estimator_plugin as ep

v1 = tf.compat.v1


def table(name="user", dim=4, initializer=None, **kwargs):
    """A table whose rows start as ones unless `initializer` says otherwise."""
    initializer = initializer if initializer is not None else v1.ones_initializer()
    return ep.create_table(tf.int64, dim, name, initializer, **kwargs)


def initialize(session):
    """Initializes all variables and tables of the default graph."""
    session.run([v1.global_variables_initializer(), ep.tables_initializer()])


@contextlib.contextmanager
def ready_session(config=None):
    """A session in which all variables and tables of the default graph are initialized."""
    with v1.Session(config=config) as session:
        initialize(session)
        yield session


def rows_by_key(rows):
    """{key: (embedding, slots ...)} of a TableRows, for comparing tables."""
    parts = [rows.embeddings] + list(rows.slots.values())
    return {key: [part[i].tolist() for part in parts] for i, key in enumerate(rows.keys.tolist())}
