"""From what an input pipeline delivers to int64 ids."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.model_fns.ids import ids_of

TABLE = ep.model_fns.TableSpec("t", 4)
ONE = ep.model_fns.CategoricalFeature("one", TABLE)
MANY = ep.model_fns.CategoricalFeature("many", TABLE, combiner="mean")
RED, BLUE = 991092756973969910, 1436643751213510538


def evaluate(value):
    with tf.compat.v1.Session() as session:
        return session.run(value)


@pytest.mark.parametrize("value", [[1, 2, -1], [[1], [2], [-1]]])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_one_id_per_example(value, dtype):
    ids = ids_of(ONE, np.array(value, dtype))
    assert ids.dtype == tf.int64 and ids.shape == [3]
    np.testing.assert_equal(evaluate(ids), [1, 2, -1])


def test_many_ids_per_example():
    np.testing.assert_equal(
        evaluate(ids_of(MANY, tf.constant([[1, 2], [3, -1]]))), [[1, 2], [3, -1]]
    )
    np.testing.assert_equal(evaluate(ids_of(MANY, tf.constant([1, 2]))), [[1], [2]])


def test_batch_size_may_be_unknown():
    value = tf.compat.v1.placeholder(tf.int64, [None, 1])
    assert ids_of(ONE, value).shape.as_list() == [None]


def test_strings_are_hashed_the_same_everywhere():
    ids = evaluate(ids_of(MANY, tf.constant([["red", ""], ["blue", "red"]])))
    assert ids[0, 0] == ids[1, 1] != ids[1, 0]
    assert ids[0, 1] == -1
    # Written down, not computed: a change would lose the rows of every checkpoint.
    assert ids[0, 0] == RED and ids[1, 0] == BLUE


def test_sparse_and_ragged_keep_their_form():
    sparse = tf.SparseTensor([[0, 0], [1, 1]], tf.constant([5, 6], tf.int32), [2, 2])
    found = evaluate(ids_of(MANY, sparse))
    assert found.values.dtype == np.int64
    np.testing.assert_equal(found.values, [5, 6])
    ragged = tf.ragged.constant([["a"], [], ["b", ""]])
    found = evaluate(ids_of(MANY, ragged))
    np.testing.assert_equal(found.row_splits, [0, 1, 1, 3])
    assert found.values[2] == -1 and found.values.dtype == np.int64


@pytest.mark.parametrize(
    "value, message",
    [
        (tf.SparseTensor([[0, 0]], [1], [1, 1]), "'one': a SparseTensor may hold several ids"),
        (np.zeros((2, 3), np.int64), r"'one': ids of shape \(2, 3\) may hold several ids"),
        (np.zeros((2, 3, 4), np.int64), r"dense ids must be \[batch\] or \[batch, n\]"),
        (np.int64(3), r"dense ids must be \[batch\] or \[batch, n\]"),
        (np.zeros(2, np.float32), "ids must be int64, int32 or string, got float32"),
    ],
)
def test_refusals(value, message):
    with pytest.raises(ValueError, match=message):
        ids_of(ONE, value)
