"""sparse_lookup: shapes, kinds of ids, training and not training, errors."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import lookup_registry
from tests.plugin import support

v1 = tf.compat.v1
INT64 = np.iinfo(np.int64)


def run(fetches, feeds=None):
    with support.ready_session() as session:
        return session.run(fetches, feeds)


@pytest.mark.parametrize(
    "ids", [5, [1], [1, 2, 3], [[1, 2, 3]], [[[1], [2]]], [], [[]], np.zeros([0, 3], np.int64)]
)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_dense_ids_of_any_rank(ids, dtype):
    ids = tf.constant(ids, dtype)
    embeddings = ep.sparse_lookup(support.table(), ids)
    assert embeddings.dtype == tf.float32
    assert embeddings.shape == ids.shape.as_list() + [4]
    np.testing.assert_array_equal(run(embeddings), np.ones(ids.shape.as_list() + [4]))


def test_dense_ids_of_unknown_shape():
    table = support.table()
    partly = v1.placeholder(tf.int64, [None, 3])
    wholly = v1.placeholder(tf.int64)
    first, second = ep.sparse_lookup(table, partly), ep.sparse_lookup(table, wholly)
    assert first.shape.as_list() == [None, 3, 4]
    found = run([first, second], {partly: np.ones([5, 3]), wholly: np.ones([2, 1, 2])})
    assert [x.shape for x in found] == [(5, 3, 4), (2, 1, 2, 4)]


def test_python_and_numpy_ids():
    table = support.table()
    assert run(ep.sparse_lookup(table, np.array([1, 2]))).shape == (2, 4)


def test_same_key_same_row():
    table = support.table(initializer=v1.random_normal_initializer())
    found = run(ep.sparse_lookup(table, tf.constant([7, 8, 7], tf.int64)))
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[1]).any()


def test_extreme_keys_and_no_key():
    table = support.table()
    ids = tf.constant([INT64.min, INT64.max, -1, -2, 0], tf.int64)
    embeddings = ep.sparse_lookup(table, ids)
    size = table.size()
    with support.ready_session() as session:
        found = session.run(embeddings)
        np.testing.assert_array_equal(found[:, 0], [1, 1, 0, 1, 1])
        assert session.run(size) == 4


@pytest.mark.parametrize("ids", [np.full([3, 2], -1), np.zeros([0, 2], np.int64)])
def test_batches_without_ids(ids):
    table = support.table()
    embeddings = ep.sparse_lookup(table, tf.constant(ids, tf.int64))
    loss = tf.reduce_sum(embeddings)
    train = ep.optimizers.gradient_descent.create_hash_optimizer(0.1).minimize(loss)
    size = table.size()
    with support.ready_session() as session:
        assert (session.run([embeddings, train])[0] == 0).all()
        assert session.run(size) == 0


def test_not_training_never_inserts():
    table = support.table()
    ids = tf.constant([1, 2], tf.int64)
    training = ep.sparse_lookup(table, ids[:1])
    reading = ep.sparse_lookup(table, ids, is_train=False)
    size = table.size()
    with support.ready_session() as session:
        assert (session.run(reading) == 0).all()
        assert session.run(size) == 0
        session.run(training)
        np.testing.assert_array_equal(session.run(reading)[:, 0], [1, 0])
        assert session.run(size) == 1


@pytest.mark.parametrize(
    "value, row",
    [
        (0.5, [0.5] * 4),
        ([0.5], [0.5] * 4),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        (np.array([[1.0, 2.0, 3.0, 4.0]]), [1, 2, 3, 4]),
    ],
)
def test_serving_default_value(value, row):
    table = support.table()
    ids = tf.constant([[1, -1], [2, 3]], tf.int64)
    found = run(ep.sparse_lookup(table, ids, is_train=False, serving_default_value=value))
    np.testing.assert_array_equal(found[0, 0], row)
    np.testing.assert_array_equal(found[0, 1], [0] * 4)  # -1 is no id, not an unknown one.


def test_serving_default_value_from_a_tensor():
    default = v1.placeholder(tf.float32, [None])
    ids = tf.constant([1], tf.int64)
    found = ep.sparse_lookup(
        support.table(), ids, is_train=False, serving_default_value=tf.identity(default)
    )
    np.testing.assert_array_equal(run(found, {default: [3.0]}), [[3.0] * 4])


@pytest.mark.parametrize("value", [np.ones(3), np.ones([2, 4]), np.ones([1, 3])])
def test_serving_default_value_of_a_wrong_shape(value):
    with pytest.raises(ValueError, match="'user': serving_default_value must be one value or a"):
        ep.sparse_lookup(support.table(), [1], is_train=False, serving_default_value=value)


@pytest.mark.parametrize(
    "ids, dtype",
    [
        (tf.float32, "float32"),
        (tf.string, "string"),
        (tf.int16, "int16"),
        (tf.uint64, "uint64"),
        (tf.bool, "bool"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_ids_of_a_wrong_dtype(ids, dtype, sparse):
    make = v1.sparse_placeholder if sparse else v1.placeholder
    with pytest.raises(ValueError, match="'user': ids must be int32 or int64, got %s" % dtype):
        ep.sparse_lookup(support.table(), make(ids, [None, 2]), combiner="sum")


def test_ids_that_are_no_tensor():
    with pytest.raises(ValueError, match="table 'user': ids must be a tf.Tensor"):
        ep.sparse_lookup(support.table(), object())


@pytest.mark.parametrize("table", ["user", None, 3])
def test_wrong_table(table):
    with pytest.raises(ValueError, match="sparse_lookup: hashtable must be a table made by"):
        ep.sparse_lookup(table, [1])


def test_table_of_another_graph():
    table = support.table()
    wanted = "table 'user' belongs to another graph.*model_fn"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=wanted):
        ep.sparse_lookup(table, [1])


@pytest.mark.parametrize(
    "argument, value, wanted",
    [
        ("is_train", 1, "True or False"),
        ("is_grad", None, "True or False"),
        ("modify_graph", "yes", "True or False"),
        ("name", "", "a string of 1 to 255"),
        ("name", "a" * 256, "a string of 1 to 255"),
        ("send_count", 0, "from 1 to"),
        ("combiner", "max", "one of 'sum'"),
        ("access_and_evict_config", 3, "None or a dict"),
    ],
)
def test_values_out_of_range(argument, value, wanted):
    with pytest.raises(ValueError, match="table 'user': %s must be .*%s" % (argument, wanted)):
        ep.sparse_lookup(support.table(), [[1]], **{argument: value})


def test_arguments_of_the_rec_sdk_are_accepted():
    found = ep.sparse_lookup(
        support.table(), [1, 2], send_count=10, modify_graph=True, batch={"a": 1}, dim=None
    )
    assert run(found).shape == (2, 4)


def test_sparse_ids_need_a_combiner():
    ids = tf.sparse.from_dense(tf.constant([[1, 2]], tf.int64))
    with pytest.raises(ValueError, match="combiner must be one of .*ids.values"):
        ep.sparse_lookup(support.table(), ids)


def test_ragged_ids_give_ragged_embeddings():
    ids = tf.ragged.constant([[[1, 2], []], [], [[3]]], dtype=tf.int64)
    embeddings = ep.sparse_lookup(support.table(), ids)
    assert isinstance(embeddings, tf.RaggedTensor)
    found = run(embeddings)
    assert found.to_list() == [[[[1.0] * 4] * 2, []], [], [[[1.0] * 4]]]


def test_collections_hold_training_lookups_in_order():
    table = support.table()
    first = ep.sparse_lookup(table, [1, 2])
    ep.sparse_lookup(table, [3], is_train=False)
    ep.sparse_lookup(table, [[4, 5, 6]])
    embeddings = v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    assert embeddings[0] is first
    assert [x.shape.as_list() for x in embeddings] == [[2, 4], [3, 4]]
    assert [x.shape.as_list() for x in addresses] == [[2], [3]]
    assert addresses[0].dtype == tf.int64
    assert lookup_registry.table_of_address(addresses[1]) is table


def test_names():
    table = support.table()
    for name in (None, None, "mine"):
        ep.sparse_lookup(table, [1], name=name)
    names = [lookup.name for lookup in lookup_registry.lookups_of(table)]
    assert names == ["sparse_lookup_0", "sparse_lookup_1", "mine"]


def test_names_that_are_no_scopes():
    lookup = ep.sparse_lookup(support.table(), [1], name="my lookup: 1")
    assert "user/my_lookup__1" in lookup.name


def test_shapes_of_more_than_2_to_the_31_ids():
    table = support.table()
    embeddings = ep.sparse_lookup(table, v1.placeholder(tf.int64, [65536, 65536, 2]))
    assert embeddings.shape.as_list() == [65536, 65536, 2, 4]
    addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")[0]
    assert addresses.shape.as_list() == [2**33]


def test_stopped_gradients():
    table = support.table()
    frozen = ep.sparse_lookup(table, [1, 2], is_grad=False)
    assert tf.gradients(tf.reduce_sum(frozen), table.handle) == [None]


def test_gradients_by_handle_and_by_embedding():
    table = support.table()
    embeddings = ep.sparse_lookup(table, [[1, 2], [1, -1]])
    loss = tf.reduce_sum(embeddings * tf.reshape(tf.range(16, dtype=tf.float32), [2, 2, 4]))
    by_handle = tf.gradients(loss, table.handle)[0]
    by_embedding = tf.gradients(loss, embeddings)[0]
    assert isinstance(by_handle, tf.IndexedSlices)
    values, indices, dense = run([by_handle.values, by_handle.indices, by_embedding])
    np.testing.assert_array_equal(values, dense.reshape(4, 4))
    assert indices[0] == indices[2] != indices[1] and indices[3] == -1


def test_python_ids_above_32_bits():
    assert run(ep.sparse_lookup(support.table(), [2**40, 1])).shape == (2, 4)


def test_training_in_a_function_body_is_refused():
    table = support.table()
    ids = tf.constant([[1, 2], [3, 4]], tf.int64)
    with pytest.raises(ValueError, match="'user'.*function body"):
        tf.map_fn(lambda row: ep.sparse_lookup(table, row), ids, fn_output_signature=tf.float32)


def test_lookup_in_a_function_body():
    table = support.table()
    ids = tf.constant([[1, 2], [3, 4]], tf.int64)
    found = tf.map_fn(
        lambda row: ep.sparse_lookup(table, row, is_train=False, serving_default_value=2.0),
        ids,
        fn_output_signature=tf.float32,
    )
    np.testing.assert_array_equal(run(found), np.full([2, 2, 4], 2.0))
