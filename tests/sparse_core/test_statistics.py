"""compute_sparse_core_stats: worked examples, and limits that are just what a batch needs."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core as sc
from tests.sparse_core import models

_ROWS = [[0, 4, 8, 8], [0, 0], [1], [], [2, 2, 2], [6], [3, 7, 11, 15], [0]]


def _features(names, shape=(8,), rows=32):
    return {
        name: sc.FeatureConfig(sc.TableConfig(rows, 8, name=name), output_shape=shape)
        for name in names
    }


def _stats(features, config, **kwargs):
    stats = sc.TPUEmbeddingV2.compute_sparse_core_stats(
        features, config, kwargs.pop("chips", 1), optimizer=sc.SGD(0.1), **kwargs
    )
    return [{name: int(value) for name, value in of_stacks.items()} for of_stacks in stats]


@pytest.mark.parametrize("cores", [4, 2])
def test_one_table(cores):
    with models.eagerly():
        batch = {"a": tf.ragged.constant(_ROWS, tf.int32)}
        stats = _stats(batch, _features("a"), num_sc_per_chip=cores)
    assert stats == [{"a": 4}, {"a": 4}]


def test_two_tables_stacked_and_apart():
    with models.eagerly():
        batch = {"a": tf.ragged.constant(_ROWS, tf.int32), "b": tf.range(8)}
        assert _stats(batch, _features("ab")) == [{"a_b": 5}, {"a_b": 5}]
        apart = sc.SparseCoreEmbeddingConfig(disable_table_stacking=True)
        stats = _stats(batch, _features("ab"), sparse_core_embedding_config=apart)
    assert stats == [{"a": 4, "b": 1}, {"a": 4, "b": 1}]


@pytest.mark.parametrize("chips", [1, 2, 4])
def test_many_ids_on_any_number_of_chips(chips):
    ids = np.arange(1024, dtype=np.int64)
    order = np.argsort(ids % 16, kind="stable")
    indices = np.stack([(ids % 16)[order], ids[order]], axis=1)
    with models.eagerly():
        batch = {"a": tf.SparseTensor(indices, ids[order], [16, 1024])}
        stats = _stats(batch, _features("a", [16], 16384), chips=chips)
    assert stats == [{"a": 64}, {"a": 64}]


def test_features_may_share_a_table():
    table = sc.TableConfig(32, 8, name="a")
    features = [sc.FeatureConfig(table, output_shape=[8]) for _ in range(2)]
    with models.eagerly():
        stats = _stats([tf.range(8), tf.range(8, 16)], features)
    assert stats == [{"a": 2}, {"a": 2}]


def test_three_chips_are_an_error():
    with pytest.raises(ValueError, match="must be a power of two"):
        _stats({"a": tf.range(8)}, _features("a"), chips=3)


def test_configurations_are_left_alone():
    table = sc.TableConfig(32, 5, name="a")
    with models.eagerly():
        _stats([tf.range(8)], [sc.FeatureConfig(table, output_shape=[8])])
    assert (table.vocabulary_size, table.dim, table.optimizer) == (32, 5, None)


def _limited(limits, less_of=None):
    values = [dict(of_stacks) for of_stacks in limits]
    if less_of is not None:
        values[less_of] = {name: value - 1 for name, value in values[less_of].items()}
    return sc.SparseCoreEmbeddingConfig(
        max_ids_per_table=values[0], max_unique_ids_per_table=values[1]
    )


@pytest.mark.parametrize("seed", range(6))
def test_limits_suffice_and_one_less_does_not(seed):
    random = np.random.RandomState(seed)
    config = _features(["a", "b"], [16], 64)
    with models.eagerly():
        batch = {
            name: tf.RaggedTensor.from_row_lengths(random.randint(0, 64, 96), [6] * 16)
            for name in config
        }
        limits = _stats(batch, config)

        def enqueued(less_of=None):
            embedding = sc.TPUEmbeddingV2(
                config, sc.SGD(0.1), sparse_core_embedding_config=_limited(limits, less_of)
            )
            return embedding.enqueue(batch)

        unlimited = sc.TPUEmbeddingV2(config, sc.SGD(0.1)).enqueue(batch)
        assert int(enqueued()["a_b"][2]) == int(unlimited["a_b"][2])
        for less_of in (0, 1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="a_b"):
                enqueued(less_of)


def test_limits_may_be_tensors():
    config = _features("a")
    batch = {"a": tf.range(8)}
    limits = sc.TPUEmbeddingV2.compute_sparse_core_stats(batch, config, 1, 4, sc.SGD(0.1))
    embedding = sc.TPUEmbeddingV2(
        config,
        sc.SGD(0.1),
        sparse_core_embedding_config=sc.SparseCoreEmbeddingConfig(
            max_ids_per_table=limits[0], max_unique_ids_per_table=limits[1]
        ),
    )
    with tf.compat.v1.Session() as session:
        assert session.run(embedding.enqueue(batch)["a"][2]) == 4 * 2 * 8
