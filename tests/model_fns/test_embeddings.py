"""The two homes of embeddings answer alike."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.model_fns.embeddings import make_embeddings

tf1 = tf.compat.v1
FILL = 0.5
SPEC = ep.model_fns.TableSpec("t", 3, tf1.constant_initializer(FILL), variable_rows=10)


def evaluate(value):
    with tf1.Session() as session:
        session.run([tf1.global_variables_initializer(), ep.tables_initializer()])
        return session.run(value)


@pytest.fixture(params=["hash_table", "variable"])
def embeddings(request):
    return make_embeddings(request.param, training=True)


def test_one_id(embeddings):
    found = embeddings.lookup(SPEC, tf.constant([1, -1, 2], tf.int64), None, "lookup")
    assert found.shape.as_list() == [3, 3]
    np.testing.assert_allclose(evaluate(found), [[FILL] * 3, [0] * 3, [FILL] * 3])


@pytest.mark.parametrize("combiner, two", [("sum", 2), ("mean", 1), ("sqrtn", np.sqrt(2))])
def test_pooled_ids(embeddings, combiner, two):
    dense = tf.constant([[1, 2], [3, -1], [-1, -1]], tf.int64)
    ragged = tf.ragged.constant([[1, 2], [3], []], dtype=tf.int64)
    sparse = ragged.to_sparse()
    for ids in (dense, ragged, sparse):
        found = embeddings.lookup(SPEC, ids, combiner, "lookup_%s" % id(ids))
        assert found.shape[-1] == 3
        expected = np.outer([two * FILL, FILL, 0], np.ones(3))
        np.testing.assert_allclose(evaluate(found), expected, rtol=1e-6)


def test_a_table_is_made_once(embeddings):
    assert embeddings.table(SPEC) is embeddings.table(SPEC)
    assert len(embeddings.gradient_targets()) == 1


def test_rows(embeddings):
    found = embeddings.lookup(SPEC, tf.constant([1, 2, 2, -1], tf.int64), None, "lookup")
    with tf.control_dependencies([found]):
        rows = embeddings.row_counts()["t"]
    assert rows.dtype == tf.int64
    expected = 2 if type(embeddings).__name__ == "HashTableEmbeddings" else 10
    assert evaluate(rows) == expected


def test_variables_take_any_id():
    variables = make_embeddings("variable", training=True)
    ids = tf.constant([-(2**63), 2**63 - 1, -2], tf.int64)
    np.testing.assert_allclose(
        evaluate(variables.lookup(SPEC, ids, None, "lookup")), np.full((3, 3), FILL)
    )
