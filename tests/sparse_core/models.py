"""Embeddings of the tables that the genuine checkpoints hold, in any topology."""

import contextlib

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from estimator_plugin import sparse_core

SHAPES = {"zed": (20, 8), "abe": (40, 5), "mid": (9, 3)}


@contextlib.contextmanager
def eagerly():
    """Eager execution, which tests run without."""
    with context.eager_mode():
        yield


def embedding(names=("zed", "abe", "mid"), replicas=2, cores=2, optimizer=None, **kwargs):
    """A TPUEmbeddingV2 of tables by name, a feature each, by default as in the checkpoints.

    `shapes` replaces a table's shape; `stacking=False` keeps tables apart.
    """
    shapes = dict(SHAPES, **kwargs.pop("shapes", {}))
    initializer = kwargs.pop("initializer", tf.constant_initializer(7.0))
    output_shape = kwargs.pop("output_shape", [8])
    config = sparse_core.SparseCoreEmbeddingConfig(
        disable_table_stacking=not kwargs.pop("stacking", True)
    )
    features = {
        name: sparse_core.FeatureConfig(
            sparse_core.TableConfig(*shapes[name], initializer, name=name),
            output_shape=output_shape,
        )
        for name in names
    }
    return sparse_core.TPUEmbeddingV2(
        features,
        sparse_core.Adam(0.1) if optimizer is None else optimizer,
        sparse_core_embedding_config=config,
        num_replicas=replicas,
        num_sc_per_chip=cores,
        **kwargs,
    )


def random_tables(embedding_of_tables, seed=0):
    """Assigns random values to all variables, padding included; the operations that do."""
    random = np.random.RandomState(seed)
    return [
        variable.assign(random.rand(*variable.shape).astype(np.float32))
        for variables in embedding_of_tables.variables.values()
        for variable in variables.values()
    ]


def logical_tables(embedding_of_tables, session=None):
    """{table: {slot: array}} of an embedding."""
    tables = {
        name: embedding_of_tables.logical_table(name)
        for name in embedding_of_tables.embedding_layouts
    }
    if session is not None:
        return session.run(tables)
    return {t: {s: value.numpy() for s, value in slots.items()} for t, slots in tables.items()}


def assert_same(tables, wanted, names=None):
    for name in wanted if names is None else names:
        assert set(tables[name]) == set(wanted[name])
        for slot, values in wanted[name].items():
            assert np.array_equal(tables[name][slot], values), (name, slot)
