"""What applying gradients accepts, refuses and leaves alone."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import lookup_ops, table_ops, transfer_ops, update_ops

tf1 = tf.compat.v1
errors = tf.errors

SGD = [0.5, 0.0]


def _by_key(handle, keys, gradients, **options):
    options.setdefault("rule", "sgd")
    return update_ops.table_apply_gradients_by_key(
        handle, SGD, tf.constant(keys, tf.int64), gradients, **options
    )


def _by_address(handle, addresses, gradients, **options):
    options.setdefault("rule", "sgd")
    return update_ops.table_apply_gradients(
        handle, options.pop("hyperparameters", SGD), addresses, gradients, **options
    )


def test_gradients_of_a_row_are_summed_over_segments(session, new_table, content_of):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    find = lookup_ops.table_find(handle, [[7, 8], [7, -1]], insert=True)
    first = session.run(find)
    update = update_ops.table_apply_gradients(
        handle,
        SGD,
        [first, first[0, 0]],
        [tf.ones([2, 2, 4]), tf.constant([1.0, 2.0, 3.0, 4.0])],
        "sgd",
    )
    session.run(update)
    rows = content_of(handle)
    np.testing.assert_array_equal(rows[7], [-0.5, -1.0, -1.5, -2.0])
    np.testing.assert_array_equal(rows[8], [0.5, 0.5, 0.5, 0.5])
    assert set(rows) == {7, 8}


def test_by_key_inserts_missing_keys_first(session, new_table, content_of):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    session.run(lookup_ops.table_find(handle, [1], insert=True))
    session.run(_by_key(handle, [1, 2, 2, -1], tf.ones([4, 4])))
    rows = content_of(handle)
    np.testing.assert_array_equal(rows[1], [0.5] * 4)
    np.testing.assert_array_equal(rows[2], [0.0] * 4)
    assert set(rows) == {1, 2}


@pytest.mark.parametrize("ids", [[], [-1, -1]])
def test_nothing_to_update(session, new_table, content_of, ids):
    handle = new_table()
    session.run(lookup_ops.table_find(handle, [3], insert=True))
    before = content_of(handle)
    ids = np.array(ids, np.int64)
    session.run(_by_address(handle, tf.constant(ids), tf.ones([len(ids), 4])))
    session.run(_by_key(handle, ids, tf.ones([len(ids), 4])))
    after = content_of(handle)
    assert list(before) == list(after)
    np.testing.assert_array_equal(before[3], after[3])


def test_keys_at_the_ends_of_int64(session, new_table, content_of):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    session.run(_by_key(handle, [-(2**63), 2**63 - 1], tf.ones([2, 4])))
    assert content_of(handle).keys() == {-(2**63), 2**63 - 1}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("apply", [_by_address, _by_key], ids=["by_address", "by_key"])
def test_non_finite_gradient_is_rejected_whole(session, new_table, content_of, apply, bad):
    handle = new_table()
    keys = [1, 2, 3]
    addresses = session.run(lookup_ops.table_find(handle, keys, insert=True))
    gradients = np.ones([3, 4], np.float32)
    gradients[1, 2] = bad
    before = content_of(handle)
    ids = addresses if apply is _by_address else keys
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': gradients.1.*finite"):
        session.run(apply(handle, ids, gradients))
    after = content_of(handle)
    for key in keys:
        np.testing.assert_array_equal(before[key], after[key])


def test_rejected_update_by_key_adds_no_rows(session, new_table):
    handle = new_table()
    gradients = np.full([2, 4], np.nan, np.float32)
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': gradients.0., of key 5, is not finite"
    ):
        session.run(_by_key(handle, [5, 6], gradients))
    with pytest.raises(errors.InvalidArgumentError, match="table 'user'.*rule"):
        session.run(_by_key(handle, [5, 6], np.ones([2, 4], np.float32), rule="magic"))
    assert session.run(table_ops.table_size(handle)) == 0


@pytest.mark.parametrize("apply", [_by_address, _by_key], ids=["by_address", "by_key"])
def test_non_finite_gradients_are_skipped_on_request(session, new_table, content_of, apply):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    keys = [1, 2, 3]
    addresses = session.run(lookup_ops.table_find(handle, keys, insert=True))
    gradients = np.ones([3, 4], np.float32)
    gradients[1, 2] = np.nan
    ids = addresses if apply is _by_address else keys
    session.run(apply(handle, ids, gradients, on_non_finite="skip"))
    rows = content_of(handle)
    np.testing.assert_array_equal(rows[1], [0.5] * 4)
    np.testing.assert_array_equal(rows[2], [1.0] * 4)
    np.testing.assert_array_equal(rows[3], [0.5] * 4)


def test_padding_may_have_non_finite_gradients(session, new_table, content_of):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0])
    gradients = np.array([[1] * 4, [np.nan] * 4], np.float32)
    session.run(_by_key(handle, [1, -1], gradients))
    np.testing.assert_array_equal(content_of(handle)[1], [0.5] * 4)


@pytest.mark.parametrize("address", [4 << 32, 2**63 - 1, -(2**63), -2, 99])
def test_address_out_of_range_changes_nothing(session, new_table, content_of, address):
    handle = new_table()
    good = session.run(lookup_ops.table_find(handle, [1], insert=True))[0]
    before = content_of(handle)[1]
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': address %d .*out of range" % address
    ):
        session.run(_by_address(handle, tf.constant([good, address], tf.int64), tf.ones([2, 4])))
    np.testing.assert_array_equal(content_of(handle)[1], before)


def test_gradient_of_a_row_that_has_left_is_dropped(session, new_table, content_of):
    handle = new_table()
    addresses = session.run(lookup_ops.table_find(handle, [1, 2], insert=True))
    session.run(table_ops.table_remove(handle, [2]))
    session.run(lookup_ops.table_find(handle, [3, 4, 5], insert=True))
    before = content_of(handle)
    session.run(_by_address(handle, addresses, tf.ones([2, 4])))
    after = content_of(handle)
    np.testing.assert_array_equal(after.pop(1), before.pop(1) - 0.5)
    np.testing.assert_array_equal(list(after.values()), list(before.values()))
    statistics = session.run(table_ops.table_statistics(handle))
    assert statistics[table_ops.STATISTICS.index("stale_updates")] == 1


@pytest.mark.parametrize(
    ("ids", "gradients"),
    [([3], [2, 4]), ([3], [3, 5]), ([3], [12]), ([], [1, 4]), ([2, 2], [4, 4])],
)
@pytest.mark.parametrize("apply", [_by_address, _by_key], ids=["by_address", "by_key"])
def test_gradients_of_another_shape_are_an_error(session, new_table, apply, ids, gradients):
    handle = new_table()
    with pytest.raises(ValueError, match="must be equal"):
        apply(handle, np.zeros(ids, np.int64), tf.zeros(gradients))
    hidden = tf1.placeholder_with_default(tf.zeros(gradients), None)
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': gradients.0., for .* want"
    ):
        session.run(apply(handle, np.zeros(ids, np.int64), hidden))
    assert session.run(table_ops.table_size(handle)) == 0


def test_lists_of_unequal_length_are_an_error(new_table):
    handle = new_table()
    ids = tf.zeros([1], tf.int64)
    with pytest.raises(ValueError, match="addresses and gradients are lists of 2 and 1 tensors"):
        _by_address(handle, [ids, ids], [tf.zeros([1, 4])])
    with pytest.raises(ValueError, match="lists of 0 and 0 tensors"):
        _by_address(handle, [], [])
    with pytest.raises(TypeError, match="addresses has dtype float32"):
        _by_address(handle, tf.zeros([1]), tf.zeros([1, 4]))


@pytest.mark.parametrize(
    ("rule", "hyperparameters", "said"),
    [
        ("magic", [], "magic"),
        ("sgd", [0.1], "sgd"),
        ("adam", [0.1] * 7, "adam"),
        ("sgd", [float("nan"), 0.0], "learning_rate|nan"),
        ("ftrl", [0.0, -0.5, 0.0, 0.0, 0.0, 0.1, 0.0], "learning_rate is 0"),
        ("adam", [0.1, 0.9, 0.999, 1e-8, 1.0, 0.5], "beta1_power is 1"),
    ],
)
def test_wrong_rules_are_an_error(session, new_table, rule, hyperparameters, said):
    handle = new_table()
    addresses = lookup_ops.table_find(handle, [1], insert=True)
    values = tf.constant(hyperparameters, tf.float64, [len(hyperparameters)])
    with pytest.raises(errors.InvalidArgumentError, match="(?s)table 'user'.*(%s)" % said):
        session.run(
            _by_address(handle, addresses, tf.ones([1, 4]), rule=rule, hyperparameters=values)
        )


def test_hyperparameters_of_another_shape_are_an_error(session, new_table):
    handle = new_table()
    values = tf1.placeholder_with_default(tf.zeros([1, 2], tf.float64), None)
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': hyperparameters has shape"
    ):
        session.run(
            _by_address(handle, tf.zeros([0], tf.int64), tf.zeros([0, 4]), hyperparameters=values)
        )


def test_another_optimizer_keeps_the_embeddings(session, new_table, content_of):
    handle = new_table()
    addresses = session.run(lookup_ops.table_find(handle, [1, 2], insert=True))
    adam = [0.1, 0.9, 0.999, 1e-8, 0.9, 0.999]
    session.run(
        _by_address(handle, addresses[:1], tf.ones([1, 4]), rule="adam", hyperparameters=adam)
    )
    before = content_of(handle)
    assert before[1].shape == (12,)
    adagrad = [0.1, 0.0, 0.25]
    session.run(
        _by_address(handle, addresses[:1], tf.ones([1, 4]), rule="adagrad", hyperparameters=adagrad)
    )
    after = content_of(handle)
    np.testing.assert_array_equal(after[2], np.append(before[2][:4], [0.25] * 4))
    np.testing.assert_allclose(after[1][:4], before[1][:4] - 0.1 / np.sqrt(1.25), rtol=1e-6)


@pytest.mark.parametrize("rule", ["adagrad", "adam"])
def test_same_bits_with_one_and_two_threads(new_table, rule):
    hyperparameters = {
        "adagrad": [0.1, 0.0, 0.1],
        "adam": [0.1, 0.9, 0.999, 1e-8, 0.9, 0.999],
    }[rule]
    random = np.random.RandomState(5)
    ids, gradients = tf1.placeholder(tf.int64, [None]), tf1.placeholder(tf.float32, [None, 4])
    handle = table_ops.table_handle(
        "user", 4, initializer_kind="normal", initializer_arguments=[0.0, 1.0]
    )
    start = table_ops.table_initialize(handle, tf.zeros([0, 4]))
    embeddings, addresses = lookup_ops.table_lookup(handle, ids, 4, True)
    update = update_ops.table_apply_gradients(
        handle, hyperparameters, addresses, gradients + embeddings, rule
    )
    everything = transfer_ops.table_export(handle, 64)
    batches = [
        (random.zipf(1.3, 40000) % 30000, random.randn(40000, 4).astype(np.float32))
        for _ in range(4)
    ]
    results = []
    for threads in (1, 2, 3):
        config = tf1.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1
        )
        with tf1.Session(config=config) as session:
            session.run(start)
            for batch_ids, batch_gradients in batches:
                session.run(update, {ids: batch_ids, gradients: batch_gradients})
            content = session.run(everything)
            results.append(
                [np.concatenate(content.keys).tobytes(), np.concatenate(content.rows).tobytes()]
            )
    assert results[0] == results[1] == results[2]
