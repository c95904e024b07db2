"""Where rows of logical tables lie, and what tables start from."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core
from estimator_plugin.sparse_core import sharding, variables
from estimator_plugin.sparse_core.layout import Placement
from estimator_plugin.sparse_core.plan import Plan, Topology


def _value(tensor):
    with tf.compat.v1.Session() as session:
        return session.run(tensor)


def test_rows_go_round_the_shards():
    place = Placement(8, 24, 8, 16, 4, (64, 8), 8)
    rows = sharding.row_in_variable(place, np.arange(12))
    assert (rows // 24).tolist() == [4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
    assert (rows % 24).tolist() == [16] * 8 + [17] * 4


def test_a_table_out_of_a_rotated_variable():
    variable = tf.reshape(tf.range(16.0), [8, 2])
    place = Placement(4, 2, 2, 0, 1, (7, 2), 2)
    wanted = [(4, 5), (8, 9), (12, 13), (0, 1), (6, 7), (10, 11), (14, 15)]
    assert _value(sharding.table_in_variable(place, variable)).tolist() == [list(r) for r in wanted]


def test_a_variable_must_divide_into_shards():
    place = Placement(4, 2, 2, 0, 1, (8, 2), 2)
    with pytest.raises(ValueError, match="4 shards must have a multiple of as many rows, got 9"):
        sharding.table_in_variable(place, tf.zeros([9, 2]))


@pytest.mark.parametrize("seed", range(8))
def test_sharding_and_back_and_row_by_row(seed):
    random = np.random.RandomState(seed)
    shards = 2 ** random.randint(0, 5)
    place = Placement(
        shards, 40, 16, 8 * random.randint(0, 4), random.randint(0, shards), (shards * 13 + 1, 5), 8
    )
    table = random.rand(*place.shape).astype(np.float32)
    block = sharding.block_of_table(place, tf.constant(table))
    variable = _value(sharding.variable_of_blocks([place], [block]))
    rows = sharding.row_in_variable(place, np.arange(len(table)))
    assert np.array_equal(variable[rows, :5], table)
    assert variable.sum() == pytest.approx(table.sum())  # All else is zeros.
    assert np.array_equal(_value(sharding.table_in_variable(place, tf.constant(variable))), table)


def _index_rows(start):
    def initializer(shape, dtype):
        column = start + tf.range(shape[0], dtype=dtype)[:, None]
        return tf.tile(column, [1, shape[1]])

    return initializer


def _plan(tables, replicas, cores, **kwargs):
    features = [
        sparse_core.FeatureConfig(table, output_shape=[cores], name=table.name) for table in tables
    ]
    plan = Plan(features, sparse_core.SGD(0.1), Topology(replicas, cores), False)
    made = variables.TableVariables(plan, **kwargs)
    with tf.compat.v1.Session() as session:
        session.run([v.initializer for v in made.all()])
        return session.run(made.of_stack)


def test_a_stack_starts_from_its_tables_initializers():
    tables = [
        sparse_core.TableConfig(20, 8, _index_rows(0.0), name="a"),
        sparse_core.TableConfig(40, 8, _index_rows(1000.0), name="b"),
    ]
    column = _plan(tables, 2, 2)["a_b"]["parameters"][:, 0].reshape(4, -1)
    assert column[0].tolist() == list(range(0, 32, 4)) + list(range(1002, 1064, 4))
    assert column[2].tolist() == list(range(2, 32, 4)) + list(range(1000, 1062, 4))


def test_given_layouts_are_filled_by_row_offset_whatever_the_names():
    def layout(name, offset, rotation):
        return sparse_core.SparseCoreTableLayout(
            table_name=name,
            stacked_table_name="s",
            num_sparse_cores=2,
            num_partitions=1,
            total_rows_per_sparse_core_shard=32,
            unsharded_shape=[10, 8],
            unsharded_padded_shape=[16, 8],
            sparse_core_shard_row_offset=offset,
            sparse_core_shard_rotation=rotation,
        )

    tables = [
        sparse_core.TableConfig(10, 8, _index_rows(0.0), name="a", layout=layout("a", 24, 1)),
        sparse_core.TableConfig(10, 8, _index_rows(1000.0), name="b", layout=layout("b", 0, 0)),
    ]
    column = _plan(tables, 1, 2)["s"]["parameters"][:, 0].reshape(2, -1)
    assert column[0].tolist() == (list(range(1000, 1016, 2)) + [0] * 16 + list(range(1, 16, 2)))


def test_an_initializer_is_called_with_the_padded_shape_once_for_each_shard():
    shapes = []

    def initializer(shape, dtype):
        shapes.append(tuple(shape))
        return tf.zeros(shape, dtype)

    _plan([sparse_core.TableConfig(20, 5, initializer, name="a")], 2, 2)
    assert shapes == [(32, 8)] * 4


def test_shard_info_says_which_shard():
    infos = []

    def initializer(shape, dtype, *, shard_info):
        assert tuple(shape) == (32, 8)
        infos.append(shard_info)
        return tf.fill(shard_info.shape, tf.cast(shard_info.offset[0], dtype))

    values = _plan([sparse_core.TableConfig(20, 5, initializer, name="a")], 2, 2)["a"]["parameters"]
    assert infos == [sparse_core.ShardInfo((8, 8), (8 * p, 0)) for p in range(4)]
    assert values[:, 0].tolist() == [0] * 8 + [8] * 8 + [16] * 8 + [24] * 8


def test_fast_initialization_calls_the_first_initializer_once_a_replica():
    shapes = []

    def initializer(shape, dtype):
        shapes.append(tuple(shape))
        return tf.ones(shape, dtype)

    tables = [
        sparse_core.TableConfig(20, 8, initializer, name="a"),
        sparse_core.TableConfig(40, 8, tf.zeros_initializer(), name="b"),
    ]
    values = _plan(tables, 2, 2, fast=True)["a_b"]["parameters"]
    assert shapes == [(48, 8)] * 2
    assert values.min() == 1


def test_an_initializer_of_another_shape_is_an_error():
    table = sparse_core.TableConfig(20, 5, lambda shape, dtype: tf.zeros([3, 3]), name="a")
    with pytest.raises(ValueError, match=r"table 'a': initializer must be .*\(32, 8\)"):
        _plan([table], 2, 2)
