"""Pooled lookups against tf.nn.embedding_lookup_sparse and safe_embedding_lookup_sparse."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
COMBINERS = ["sum", "mean", "sqrtn"]
VOCABULARY = 30


def table_and_variable(dim=4):
    """A table and a dense variable with the same rows for the keys 0 ... VOCABULARY - 1."""
    table = support.table(initializer=v1.random_normal_initializer(), dim=dim)
    rows = ep.sparse_lookup(table, tf.range(VOCABULARY, dtype=tf.int64))
    return table, tf.stop_gradient(rows)


def sparse(rows, weights=None):
    """SparseTensors of ids and weights from lists of ids; ids need not be unique in a row."""
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    shape = [len(rows), max(len(row) for row in rows)]
    values = [x for row in rows for x in row]
    ids = tf.SparseTensor(indices, tf.constant(values, tf.int64), shape)
    if weights is None:
        return ids, None
    flat = [x for row in weights for x in row]
    return ids, tf.SparseTensor(indices, tf.constant(flat, tf.float32), shape)


def random_rows(seed, longest=5, rows=12):
    random = np.random.RandomState(seed)
    ids = [
        random.randint(0, VOCABULARY, random.randint(1, longest + 1)).tolist() for _ in range(rows)
    ]
    return ids, [random.uniform(0.1, 2.0, len(row)).tolist() for row in ids]


def compare(found, wanted):
    with support.ready_session() as session:
        found, wanted = session.run([found, wanted])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_ids_as_embedding_lookup_sparse(combiner, weighted):
    table, variable = table_and_variable()
    rows, weights = random_rows(1)
    ids, weights = sparse(rows, weights if weighted else None)
    found = ep.sparse_lookup(table, ids, combiner=combiner, weights=weights)
    assert found.shape.as_list() == [12, 4]
    compare(found, tf.nn.embedding_lookup_sparse(variable, ids, weights, combiner=combiner))


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_empty_rows_as_safe_embedding_lookup_sparse(combiner, weighted):
    table, variable = table_and_variable()
    rows = [[], [3, 4], [], [5], [-1, 6, 6], [-1], []]
    weights = [[1.5 + i for i in range(len(row))] for row in rows]
    ids, weights = sparse(rows, weights if weighted else None)
    found = ep.sparse_lookup(table, ids, combiner=combiner, weights=weights)
    wanted = tf.nn.safe_embedding_lookup_sparse(variable, ids, weights, combiner=combiner)
    compare(found, wanted)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_sparse_ids_of_rank_3_and_in_any_order(combiner):
    table, variable = table_and_variable()
    indices = [[1, 1, 0], [0, 0, 0], [1, 1, 2], [0, 2, 1]]
    ids = tf.SparseTensor(indices, tf.constant([1, 2, 3, 4], tf.int64), [2, 3, 3])
    found = ep.sparse_lookup(table, ids, combiner=combiner)
    assert found.shape.as_list() == [2, 3, 4]
    wanted = tf.nn.safe_embedding_lookup_sparse(variable, tf.sparse.reorder(ids), combiner=combiner)
    compare(found, wanted)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_ragged_ids(combiner, weighted):
    table, variable = table_and_variable()
    rows = [[], [3, 4], [5], [-1, 6, 6], []]
    weights = [[0.5 + i for i in range(len(row))] for row in rows]
    ids, sparse_weights = sparse(rows, weights if weighted else None)
    ragged_weights = tf.ragged.constant(weights, dtype=tf.float32) if weighted else None
    found = ep.sparse_lookup(
        table, tf.ragged.constant(rows, tf.int64), combiner=combiner, weights=ragged_weights
    )
    wanted = tf.nn.safe_embedding_lookup_sparse(variable, ids, sparse_weights, combiner=combiner)
    compare(found, wanted)


def test_ragged_ids_of_rank_3_pool_the_innermost_dimension():
    table = support.table()
    ids = tf.ragged.constant([[[1, 2], []], [], [[3]]], dtype=tf.int64)
    found = ep.sparse_lookup(table, ids, combiner="sum")
    with support.ready_session() as session:
        assert session.run(found).to_list() == [[[2.0] * 4, [0.0] * 4], [], [[1.0] * 4]]


def test_ragged_ids_with_a_uniform_inner_dimension():
    table = support.table()
    values = tf.constant([[1, 2], [3, -1], [4, 5]], tf.int64)
    ids = tf.RaggedTensor.from_row_lengths(values, [2, 0, 1])
    found = ep.sparse_lookup(table, ids, combiner="mean")
    with support.ready_session() as session:
        assert session.run(found).to_list() == [[[1.0] * 4, [1.0] * 4], [], [[1.0] * 4]]


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_dense_ids(combiner, weighted):
    table, variable = table_and_variable()
    rows = np.array([[3, 4, 4], [5, -1, 6], [-1, -1, -1]])
    weights = np.array([[0.5, 1.0, 2.0], [1.0, 9.0, 3.0], [1.0, 1.0, 1.0]], np.float32)
    ids, sparse_weights = sparse(rows.tolist(), weights.tolist() if weighted else None)
    found = ep.sparse_lookup(
        table, tf.constant(rows), combiner=combiner, weights=weights if weighted else None
    )
    assert found.shape.as_list() == [3, 4]
    wanted = tf.nn.safe_embedding_lookup_sparse(variable, ids, sparse_weights, combiner=combiner)
    compare(found, wanted)


def test_weights_that_sum_to_zero_give_zeros():
    table = support.table()
    ids = tf.constant([[1, 2]], tf.int64)
    found = ep.sparse_lookup(table, ids, combiner="mean", weights=tf.constant([[1.0, -1.0]]))
    with support.ready_session() as session:
        np.testing.assert_array_equal(session.run(found), np.zeros([1, 4]))


@pytest.mark.parametrize("combiner, wanted", [("sum", 3.0), ("mean", 1.5), ("sqrtn", 3 / 2**0.5)])
def test_unknown_ids_count_with_the_default_row(combiner, wanted):
    table = support.table()
    found = ep.sparse_lookup(
        table,
        tf.constant([[8, 9, -1]], tf.int64),
        is_train=False,
        serving_default_value=1.5,
        combiner=combiner,
    )
    with support.ready_session() as session:
        np.testing.assert_allclose(session.run(found), np.full([1, 4], wanted), rtol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_gradients_as_embedding_lookup_sparse(combiner):
    table, variable = table_and_variable()
    rows, weights = random_rows(2)
    ids, weights = sparse(rows, weights)
    scale = tf.constant(np.random.RandomState(3).normal(size=[12, 4]).astype(np.float32))
    mine = ep.sparse_lookup(table, ids, combiner=combiner, weights=weights)
    theirs = tf.nn.embedding_lookup_sparse(variable, ids, weights, combiner=combiner)
    by_row = tf.gradients(tf.reduce_sum(mine * scale), table.handle)[0]
    keys = tf.gather(ids.values, tf.range(tf.size(ids.values)))
    summed = tf.math.unsorted_segment_sum(by_row.values, keys, VOCABULARY)
    wanted = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(theirs * scale), variable)[0])
    compare(summed, wanted)


def test_weights_without_combiner():
    with pytest.raises(ValueError, match="'user': weights need a combiner"):
        ep.sparse_lookup(support.table(), [[1]], weights=[[1.0]])


def test_weights_of_another_kind():
    ids, weights = sparse([[1, 2]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="'user': weights must be a SparseTensor, as ids are"):
        ep.sparse_lookup(support.table(), ids, combiner="sum", weights=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="weights must be a Tensor, as ids are"):
        ep.sparse_lookup(support.table("item"), [[1, 2]], combiner="sum", weights=weights)


def test_weights_of_another_shape():
    with pytest.raises(ValueError, match=r"weights have shape \(1, 3\), ids have shape \(1, 2\)"):
        ep.sparse_lookup(support.table(), [[1, 2]], combiner="sum", weights=[[1.0, 2.0, 3.0]])


def test_combiner_needs_two_dimensions():
    with pytest.raises(ValueError, match=r"'user': combiner 'sum' pools .* got shape \(2,\)"):
        ep.sparse_lookup(support.table(), [1, 2], combiner="sum")
