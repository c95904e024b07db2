"""A table's life as a resource: made, shared, initialized, and what is wrong with its arguments."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import bundle_ops, lookup_ops, table_ops, transfer_ops, update_ops

tf1 = tf.compat.v1
errors = tf.errors


def test_same_shared_name_is_the_same_table(session, new_table):
    first = new_table(shared_name="shared")
    second = table_ops.table_handle(
        "user",
        4,
        num_buckets=4,
        initializer_kind="uniform",
        initializer_arguments=[-1.0, 1.0],
        shared_name="shared",
    )
    session.run(lookup_ops.table_find(first, [1, 2], insert=True))
    assert session.run(table_ops.table_size(second)) == 2


def test_without_shared_name_each_op_has_its_own_table(session, new_table):
    first, second = new_table(), new_table()
    session.run(lookup_ops.table_find(first, [1, 2], insert=True))
    assert session.run(table_ops.table_size(second)) == 0


def test_sessions_do_not_share_tables(session, new_table):
    handle = new_table(shared_name="shared")
    session.run(lookup_ops.table_find(handle, [1], insert=True))
    with tf1.Session() as other:
        assert not other.run(table_ops.table_is_initialized(handle))


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"dim": 8}, "dim 4; it is asked for again with dim 8"),
        ({"num_buckets": 8}, "num_buckets 4; it is asked for again with num_buckets 8"),
        ({"key_dtype": "int32"}, "key_dtype int64; it is asked for again with key_dtype int32"),
        ({"seed": 3}, "seed=0.*seed=3"),
        ({"initializer_arguments": [0.0, 1.0]}, "uniform"),
        ({"table_name": "item"}, "name user; it is asked for again with name item"),
    ],
)
def test_disagreeing_attrs_are_an_error(session, new_table, attrs, said):
    new_table(shared_name="shared")
    arguments = {
        "table_name": "user",
        "dim": 4,
        "num_buckets": 4,
        "initializer_kind": "uniform",
        "initializer_arguments": [-1.0, 1.0],
        "shared_name": "shared",
    }
    arguments.update(attrs)
    with pytest.raises(errors.InvalidArgumentError, match="(?s)table 'user' exists with .*" + said):
        session.run(table_ops.table_handle(**arguments))


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"dim": 0}, "dim is 0"),
        ({"dim": -1}, "dim is -1"),
        ({"dim": 8193}, "dim is 8193"),
        ({"num_buckets": 3}, "num_buckets is 3"),
        ({"num_buckets": 0}, "num_buckets is 0"),
        ({"key_dtype": "float32"}, "key_dtype is 'float32', want int64 or int32"),
        ({"initializer_kind": "magic"}, "magic"),
        ({"initializer_kind": "normal", "initializer_arguments": [1.0]}, "normal"),
    ],
)
def test_wrong_attrs_are_an_error(session, attrs, said):
    handle = table_ops.table_handle(**dict({"table_name": "user", "dim": 4}, **attrs))
    with pytest.raises(errors.InvalidArgumentError, match="(?s)'user'.*" + said):
        session.run(handle)


def test_largest_dim(session, new_table):
    handle = new_table(dim=8192)
    embeddings, _ = lookup_ops.table_lookup(handle, [5], dim=8192, insert=True)
    assert session.run(embeddings).shape == (1, 8192)


def _uses_of(handle):
    return {
        "lookup": lambda: lookup_ops.table_lookup(handle, [1], 4, True),
        "unique_lookup": lambda: lookup_ops.table_unique_lookup(handle, [1], 4, True),
        "find": lambda: lookup_ops.table_find(handle, [1]),
        "gather": lambda: lookup_ops.table_gather(handle, tf.constant([0], tf.int64), 4),
        "apply": lambda: update_ops.table_apply_gradients(
            handle, [0.1, 0.0], [[0]], [tf.zeros([1, 4])], "sgd"
        ),
        "apply_by_key": lambda: update_ops.table_apply_gradients_by_key(
            handle, [0.1, 0.0], [[0]], [tf.zeros([1, 4])], "sgd"
        ),
        "size": lambda: table_ops.table_size(handle),
        "memory": lambda: table_ops.table_memory(handle),
        "statistics": lambda: table_ops.table_statistics(handle),
        "remove": lambda: table_ops.table_remove(handle, [1]),
        "clear": lambda: table_ops.table_clear(handle),
        "export": lambda: transfer_ops.table_export(handle, 64),
        "save": lambda: bundle_ops.save_tables("unused", ["user"], [handle]),
    }


@pytest.mark.parametrize("use", sorted(_uses_of(None)))
def test_use_before_initialization_is_an_error(session, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    handle = table_ops.table_handle("user", 4)
    assert not session.run(table_ops.table_is_initialized(handle))
    with pytest.raises(errors.FailedPreconditionError, match="table 'user' is uninitialized"):
        session.run(_uses_of(handle)[use]())
    assert not list(tmp_path.iterdir())


def test_initializing_again_starts_anew(session, new_table):
    handle = new_table()
    session.run(lookup_ops.table_find(handle, [1, 2], insert=True))
    session.run(table_ops.table_initialize(handle, tf.zeros([0, 4])))
    assert session.run(table_ops.table_is_initialized(handle))
    assert session.run(table_ops.table_size(handle)) == 0


def test_new_rows_come_from_the_bank(session, new_table):
    bank = np.arange(12, dtype=np.float32).reshape(3, 4)
    handle = new_table(bank=bank, initializer_kind="bank", initializer_arguments=[])
    rows = session.run(lookup_ops.table_lookup(handle, list(range(100)), 4, True)[0])
    assert {tuple(row) for row in rows} == {tuple(row) for row in bank}


def test_empty_bank_is_an_error_where_one_is_needed(session):
    handle = table_ops.table_handle("user", 4, initializer_kind="bank", initializer_arguments=[])
    with pytest.raises(errors.InvalidArgumentError, match="table 'user'"):
        session.run(table_ops.table_initialize(handle, tf.zeros([0, 4])))
    assert not session.run(table_ops.table_is_initialized(handle))


def test_bank_of_another_dim_is_an_error(session, new_table):
    handle = table_ops.table_handle("user", 4)
    with pytest.raises(ValueError, match="Dimensions must be equal|but are"):
        table_ops.table_initialize(handle, tf.zeros([2, 3]))
    for shape in ([2, 3], [4], [1, 2, 4]):
        bank = tf1.placeholder_with_default(tf.zeros(shape), None)
        with pytest.raises(errors.InvalidArgumentError, match="table 'user': bank has shape"):
            session.run(table_ops.table_initialize(handle, bank))


@pytest.mark.parametrize("kind", ["uniform", "normal", "truncated_normal"])
def test_start_of_a_row_depends_on_seed_and_key_alone(session, new_table, kind):
    keys = list(range(50))
    forward = new_table(initializer_kind=kind, seed=7)
    backward = new_table(initializer_kind=kind, seed=7, num_buckets=16)
    other = new_table(initializer_kind=kind, seed=8)
    first = session.run(lookup_ops.table_lookup(forward, keys, 4, True)[0])
    second = session.run(lookup_ops.table_lookup(backward, keys[::-1], 4, True)[0])[::-1]
    third = session.run(lookup_ops.table_lookup(other, keys, 4, True)[0])
    np.testing.assert_array_equal(first, second)
    assert not (first == third).any()
