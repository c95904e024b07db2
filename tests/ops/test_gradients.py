"""tf.gradients through lookups, with respect to the table's handle and to embeddings."""

import numpy as np
import tensorflow as tf

from estimator_plugin.ops import lookup_ops, table_ops, update_ops

tf1 = tf.compat.v1


def test_gradient_of_a_lookup_is_indexed_slices(session, new_table):
    handle = new_table()
    embeddings, addresses = lookup_ops.table_lookup(handle, [[3, 4], [3, -1]], 4, True)
    weights = tf.reshape(tf.range(16, dtype=tf.float32), [2, 2, 4])
    gradient = tf.gradients(tf.reduce_sum(embeddings * weights), handle)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.dense_shape is None
    assert gradient.values.shape.as_list() == [4, 4]
    got, where = session.run([gradient, addresses])
    np.testing.assert_array_equal(got.values, np.arange(16).reshape(4, 4))
    np.testing.assert_array_equal(got.indices, where.reshape(-1))
    assert got.indices[3] == -1


def test_gradients_of_several_lookups_are_concatenated(session, new_table):
    handle, other = new_table(), new_table("item", dim=2)
    first, first_addresses = lookup_ops.table_lookup(handle, [1, 2], 4, True)
    second = lookup_ops.table_unique_lookup(handle, [2, 2, 5], 4, True)
    addresses = lookup_ops.table_find(handle, [1], insert=True)
    third = lookup_ops.table_gather(handle, addresses, 4)
    apart, _ = lookup_ops.table_lookup(other, [1], 2, True)
    loss = (
        tf.reduce_sum(first)
        + 2 * tf.reduce_sum(second.embeddings)
        + 3 * tf.reduce_sum(third)
        + 4 * tf.reduce_sum(apart)
    )
    gradient, of_other = tf.gradients(loss, [handle, other])
    got, rest, keys = session.run(
        [gradient, of_other, [first_addresses, second.addresses, addresses]]
    )
    factor_of = dict(zip(np.concatenate(keys), [0] * 5))
    for address, row in zip(got.indices, got.values):
        assert len(set(row)) == 1
        factor_of[address] += row[0]
    one, two = keys[0]
    five = keys[1][1]
    assert factor_of == {one: 1 + 3, two: 1 + 2, five: 2}
    np.testing.assert_array_equal(rest.values, [[4, 4]])


def test_gradient_with_respect_to_embeddings(session, new_table):
    handle = new_table()
    embeddings, _ = lookup_ops.table_lookup(handle, [1, 2], 4, True)
    got, values = session.run([tf.gradients(tf.nn.l2_loss(embeddings), embeddings)[0], embeddings])
    np.testing.assert_array_equal(got, values)


def test_no_gradient_where_the_loss_does_not_depend_on_the_table(new_table):
    handle, other = new_table(), new_table("item")
    embeddings, addresses = lookup_ops.table_lookup(handle, [1, 2], 4, True)
    assert tf.gradients(tf.reduce_sum(embeddings), other) == [None]
    assert tf.gradients(tf.reduce_sum(tf.cast(addresses, tf.float32)), handle) == [None]
    size = tf.cast(table_ops.table_size(handle), tf.float32)
    assert tf.gradients(size, handle) == [None]


def test_gradient_of_embeddings_that_are_gathered(session, new_table):
    handle = new_table()
    embeddings, addresses = lookup_ops.table_lookup(handle, [1, 2, 3], 4, True)
    gradient = tf.gradients(tf.reduce_sum(tf.gather(embeddings, [2, 2, 0])), handle)[0]
    got, where = session.run([gradient, addresses])
    np.testing.assert_array_equal(got.indices, where)
    np.testing.assert_array_equal(got.values, np.outer([1, 0, 2], np.ones(4)))


def test_clipping_by_global_norm_keeps_the_slices(session, new_table):
    handle = new_table()
    embeddings, addresses = lookup_ops.table_lookup(handle, [1, 2], 4, True)
    gradient = tf.gradients(2 * tf.reduce_sum(embeddings), handle)
    clipped, norm = tf.clip_by_global_norm(gradient, 1.0)
    got, was = session.run([clipped[0], norm])
    np.testing.assert_allclose(was, np.sqrt(32), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(got.values), 1, rtol=1e-6)


def test_training_through_the_handle_lowers_the_loss(session, new_table):
    handle = new_table()
    embeddings, _ = lookup_ops.table_lookup(handle, [1, 2, 1, -1], 4, True)
    loss = tf.reduce_mean(tf.square(embeddings[:3] - 0.25))
    gradient = tf.gradients(loss, handle)[0]
    update = update_ops.table_apply_gradients(
        handle, [0.5, 0.0, 0.1], gradient.indices, gradient.values, "adagrad"
    )
    losses = []
    for _ in range(30):
        losses.append(session.run(loss))
        session.run(update)
    assert losses[-1] < 1e-3 < losses[0]


def test_lookup_in_a_branch_of_a_conditional(session, new_table):
    handle = new_table()
    flag = tf1.placeholder(tf.bool, [])
    keys = tf.constant([1, 2], tf.int64)
    session.run(lookup_ops.table_find(handle, keys, insert=True))
    embeddings = tf1.cond(
        flag,
        lambda: lookup_ops.table_lookup(handle, keys, 4, True)[0],
        lambda: tf.zeros([2, 4]),
    )
    gradient = tf.gradients(tf.reduce_sum(embeddings), embeddings)[0]
    assert session.run(gradient, {flag: True}).shape == (2, 4)
    assert session.run(embeddings, {flag: True}).any()
    assert not session.run(embeddings, {flag: False}).any()
