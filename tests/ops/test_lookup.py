"""Reading a table by key, by distinct keys and by address."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import lookup_ops, table_ops

tf1 = tf.compat.v1
errors = tf.errors

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def test_lookup_inserts_and_find_agrees(session, new_table):
    handle = new_table()
    embeddings, addresses = session.run(lookup_ops.table_lookup(handle, [5, 3, 5], 4, True))
    np.testing.assert_array_equal(embeddings[0], embeddings[2])
    assert addresses[0] == addresses[2] != addresses[1]
    np.testing.assert_array_equal(session.run(lookup_ops.table_find(handle, [5, 3, 5])), addresses)
    gathered = session.run(lookup_ops.table_gather(handle, addresses, 4))
    np.testing.assert_array_equal(gathered, embeddings)
    assert session.run(table_ops.table_size(handle)) == 2


def test_lookup_without_insert_leaves_the_table_alone(session, new_table):
    handle = new_table()
    embeddings, addresses = session.run(lookup_ops.table_lookup(handle, [5], 4, False))
    np.testing.assert_array_equal(embeddings, np.zeros([1, 4]))
    assert addresses == [-1]
    assert session.run(lookup_ops.table_find(handle, [5])) == [-1]
    assert session.run(table_ops.table_size(handle)) == 0
    assert session.run(lookup_ops.table_find(handle, [5], insert=True)) >= 0
    assert session.run(table_ops.table_size(handle)) == 1


@pytest.mark.parametrize("insert", [True, False])
def test_padding_key_reads_as_the_default_row(session, new_table, insert):
    handle = new_table()
    row = [1.0, 2.0, 3.0, 4.0]
    embeddings, addresses = session.run(
        lookup_ops.table_lookup(handle, [-1, 8], 4, insert, default_row=row)
    )
    np.testing.assert_array_equal(embeddings[0], row)
    assert addresses[0] == -1
    assert (addresses[1] >= 0) == insert
    assert (list(embeddings[1]) != row) == insert
    assert session.run(table_ops.table_size(handle)) == int(insert)


@pytest.mark.parametrize("shape", [[], [1], [0], [2, 3], [2, 0, 3], [1, 2, 1, 2]])
def test_keys_of_any_shape(session, new_table, shape):
    handle = new_table()
    keys = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    embeddings, addresses = lookup_ops.table_lookup(handle, keys, 4, True)
    assert embeddings.shape.as_list() == shape + [4]
    embeddings, addresses = session.run([embeddings, addresses])
    assert embeddings.shape == tuple(shape) + (4,)
    assert addresses.shape == tuple(shape)
    gathered = session.run(lookup_ops.table_gather(handle, addresses, 4))
    np.testing.assert_array_equal(gathered, embeddings)


def test_int32_keys_are_the_same_keys(session, new_table):
    handle = new_table()
    wide = session.run(lookup_ops.table_find(handle, tf.constant([7, -1], tf.int64), insert=True))
    narrow = session.run(lookup_ops.table_find(handle, tf.constant([7, -1], tf.int32)))
    np.testing.assert_array_equal(wide, narrow)


def test_keys_at_the_ends_of_int64(session, new_table):
    handle = new_table()
    keys = [INT64_MIN, INT64_MIN + 1, -2, 0, INT64_MAX - 1, INT64_MAX]
    addresses = session.run(lookup_ops.table_find(handle, keys, insert=True))
    assert (addresses >= 0).all()
    assert len(set(addresses)) == len(keys)
    np.testing.assert_array_equal(session.run(lookup_ops.table_find(handle, keys)), addresses)


def test_all_padding(session, new_table):
    handle = new_table()
    embeddings, addresses = session.run(
        lookup_ops.table_lookup(handle, np.full([3, 2], -1), 4, True)
    )
    assert not embeddings.any()
    assert (addresses == -1).all()
    assert session.run(table_ops.table_size(handle)) == 0


def test_large_batch_equals_one_by_one(session, new_table):
    keys = np.random.RandomState(1).randint(0, 5000, 50000)
    batch, single = new_table(), new_table()
    embeddings, addresses = session.run(lookup_ops.table_lookup(batch, keys, 4, True))
    key = tf1.placeholder(tf.int64, [None])
    one = lookup_ops.table_lookup(single, key, 4, True)
    for i in range(0, 1000, 10):
        np.testing.assert_array_equal(session.run(one[0], {key: keys[i : i + 1]})[0], embeddings[i])
    assert session.run(table_ops.table_size(batch)) == len(set(keys))
    assert len(set(addresses)) == len(set(keys))


@pytest.mark.parametrize("keys", [[1.5], np.array([True]), ["a"]])
def test_keys_of_another_dtype_are_an_error(new_table, keys):
    handle = new_table()
    for use in (
        lambda: lookup_ops.table_lookup(handle, keys, 4, True),
        lambda: lookup_ops.table_unique_lookup(handle, keys, 4, True),
        lambda: lookup_ops.table_find(handle, keys),
        lambda: table_ops.table_remove(handle, keys),
    ):
        with pytest.raises(TypeError, match="keys has dtype .*, want int64 or int32"):
            use()


def test_default_row_of_a_wrong_size_is_an_error(session, new_table):
    handle = new_table()
    with pytest.raises(ValueError, match="default_row has 3 values, want 0 .zeros. or dim = 4"):
        lookup_ops.table_lookup(handle, [1], 4, True, default_row=[1.0, 2.0, 3.0])
    for shape in ([3], [], [1, 4]):
        row = tf1.placeholder_with_default(tf.zeros(shape), None)
        for use in (
            lookup_ops.table_lookup(handle, [1], 4, True, default_row=row),
            lookup_ops.table_unique_lookup(handle, [1], 4, True, default_row=row),
            lookup_ops.table_gather(handle, tf.constant([-1], tf.int64), 4, default_row=row),
        ):
            with pytest.raises(
                errors.InvalidArgumentError, match="table 'user': default_row has shape"
            ):
                session.run(use)
    assert session.run(table_ops.table_size(handle)) == 0


def test_dim_of_another_table_is_an_error(session, new_table):
    handle = new_table()
    with pytest.raises(ValueError, match="dim is 5, the table's dim is 4"):
        lookup_ops.table_lookup(handle, [1], 5, True)
    hidden = tf1.placeholder_with_default(handle, [])
    for use in (
        lookup_ops.table_lookup(hidden, [1], 5, True),
        lookup_ops.table_unique_lookup(hidden, [1], 5, True),
        lookup_ops.table_gather(hidden, tf.constant([-1], tf.int64), 5),
    ):
        with pytest.raises(
            errors.InvalidArgumentError, match="table 'user': the op's dim is 5, the table's dim"
        ):
            session.run(use)


def test_shapes_beyond_2_to_the_31(new_table):
    handle = new_table()
    keys = tf1.placeholder(tf.int64, [2**31, 3])
    embeddings, addresses = lookup_ops.table_lookup(handle, keys, 4, True)
    assert embeddings.shape.as_list() == [2**31, 3, 4]
    assert addresses.shape.as_list() == [2**31, 3]
    assert lookup_ops.table_gather(handle, addresses, 4).shape.as_list() == [2**31, 3, 4]


def test_static_shapes_of_unknown_keys(new_table):
    handle = new_table()
    unknown = tf1.placeholder(tf.int64)
    embeddings, addresses = lookup_ops.table_lookup(handle, unknown, 4, True)
    assert embeddings.shape.rank is None
    assert addresses.shape.rank is None
    unique = lookup_ops.table_unique_lookup(handle, unknown, 4, True)
    assert [tensor.shape.as_list() for tensor in unique] == [[None, 4], [None], [None]] + [
        [None],
        [None],
    ]


@pytest.mark.parametrize(
    "address", [4 << 32, 1 << 62, INT64_MAX, INT64_MIN, -2, 2**32 - 1, 5, (3 << 32) | 77]
)
def test_gather_from_a_bad_address_is_an_error(session, new_table, address):
    handle = new_table()
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': address %d .*out of range" % address
    ):
        session.run(lookup_ops.table_gather(handle, tf.constant([-1, address], tf.int64), 4))


def test_gather_reads_the_default_row_where_the_row_has_left(session, new_table):
    handle = new_table(initializer_kind="constant", initializer_arguments=[2.0])
    addresses = session.run(lookup_ops.table_find(handle, [1, 2], insert=True))
    session.run(table_ops.table_remove(handle, [1]))
    gathered = lookup_ops.table_gather(handle, addresses, 4, default_row=[7.0] * 4)
    np.testing.assert_array_equal(session.run(gathered), [[7] * 4, [2] * 4])
    session.run(lookup_ops.table_find(handle, [3, 4, 5], insert=True))
    np.testing.assert_array_equal(session.run(gathered), [[7] * 4, [2] * 4])


def test_unique_lookup_is_unique_and_lookup(session, new_table):
    handle = new_table()
    keys = np.random.RandomState(2).randint(-3, 300, 2000)
    fused = session.run(lookup_ops.table_unique_lookup(handle, keys, 4, True))
    values, indices, counts = session.run(tf.unique_with_counts(tf.constant(keys, tf.int64)))
    np.testing.assert_array_equal(fused.unique_keys, values)
    np.testing.assert_array_equal(fused.indices, indices)
    np.testing.assert_array_equal(fused.counts, counts)
    embeddings, addresses = session.run(lookup_ops.table_lookup(handle, keys, 4, False))
    np.testing.assert_array_equal(fused.embeddings[fused.indices], embeddings)
    np.testing.assert_array_equal(fused.addresses[fused.indices], addresses)
    assert fused.addresses[list(values).index(-1)] == -1


@pytest.mark.parametrize("keys", [[], [-1, -1], [INT64_MIN, INT64_MAX, INT64_MIN]])
def test_unique_lookup_of_edge_cases(session, new_table, keys):
    handle = new_table()
    keys = np.array(keys, np.int64)
    result = session.run(lookup_ops.table_unique_lookup(handle, keys, 4, True))
    assert result.embeddings.shape == (len(set(keys)), 4)
    np.testing.assert_array_equal(result.unique_keys[result.indices], keys)


def test_unique_lookup_of_a_matrix_is_an_error(session, new_table):
    handle = new_table()
    with pytest.raises(ValueError, match="rank 1"):
        lookup_ops.table_unique_lookup(handle, [[1]], 4, True)
    keys = tf1.placeholder_with_default(tf.constant([[1]], tf.int64), None)
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': keys has shape .1,1."):
        session.run(lookup_ops.table_unique_lookup(handle, keys, 4, True))


@pytest.mark.parametrize("size", [0, 1, 1000, 200000])
def test_unique_with_counts_equals_tensorflows(session, size):
    values = np.random.RandomState(3).zipf(1.2, size).astype(np.int64) * -7
    ours = session.run(table_ops.unique_with_counts(values))
    theirs = session.run(tf.unique_with_counts(tf.constant(values)))
    for mine, wanted in zip(ours, theirs):
        np.testing.assert_array_equal(mine, wanted)
        assert mine.dtype == wanted.dtype


def test_unique_with_counts_of_a_matrix_is_an_error(session):
    with pytest.raises(ValueError, match="rank 1"):
        table_ops.unique_with_counts([[1]])
    values = tf1.placeholder_with_default(tf.constant([[1]], tf.int64), None)
    with pytest.raises(errors.InvalidArgumentError, match="values has shape .1,1., want a vector"):
        session.run(table_ops.unique_with_counts(values))
