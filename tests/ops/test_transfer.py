"""A table's content as tensors: out without a copy, in again bit for bit."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import lookup_ops, table_ops, transfer_ops, update_ops

tf1 = tf.compat.v1
errors = tf.errors

ADAGRAD = [0.1, 0.0, 0.1]


@pytest.fixture
def trained(session, new_table):
    """A table of 3,000 rows with an optimizer's slots, some rows removed."""
    handle = new_table()
    keys = np.append(np.arange(-1500, 1500), [-(2**63), 2**63 - 1])
    _, addresses = lookup_ops.table_lookup(handle, keys, 4, True)
    gradients = np.random.RandomState(3).randn(len(keys), 4)
    session.run(update_ops.table_apply_gradients(handle, ADAGRAD, addresses, gradients, "adagrad"))
    session.run(table_ops.table_remove(handle, np.arange(0, 300, 2)))
    return handle


def _copy(content):
    return [[np.array(x) for x in part] if isinstance(part, list) else part for part in content]


def _facts(meta):
    """The lines of a table's meta that do not name the save itself."""
    return [x for x in meta.decode().splitlines() if not x.startswith(("save_id=", "parent"))]


def _assert_same(a, b):
    assert _facts(a[0]) == _facts(b[0])
    np.testing.assert_array_equal(a[1], b[1])
    for left, right in zip(a[2:], b[2:]):
        for x, y in zip(left, right):
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            assert x.tobytes() == y.tobytes()


def test_content_of_an_empty_table(session, new_table):
    content = session.run(transfer_ops.table_export(new_table(), 4))
    assert content.bank.shape == (0, 4)
    assert [x.shape for x in content.keys] == [(0,)] * 4
    assert [x.shape for x in content.rows] == [(0, 4)] * 4
    assert [x.shape for x in content.counts] == [(0,)] * 4
    assert [x.shape for x in content.last_seen] == [(0,)] * 4


def test_content_of_a_trained_table(session, trained, new_table):
    content = session.run(transfer_ops.table_export(trained, 4))
    keys = np.concatenate(content.keys)
    wanted = set(range(-1500, 1500)) - set(range(0, 300, 2)) - {-1} | {-(2**63), 2**63 - 1}
    assert set(keys) == wanted
    assert len(keys) == len(wanted)
    assert all(rows.shape == (len(k), 8) for k, rows in zip(content.keys, content.rows))
    assert b"slots=accumulator:" in content.meta
    assert b"dim=4\n" in content.meta


def test_round_trip_is_bitwise(session, trained, new_table):
    first = _copy(session.run(transfer_ops.table_export(trained, 4)))
    other = table_ops.table_handle(
        "other",
        4,
        num_buckets=4,
        initializer_kind="uniform",
        initializer_arguments=[-1.0, 1.0],
    )
    session.run(transfer_ops.table_import(other, *first))
    assert session.run(table_ops.table_is_initialized(other))
    second = session.run(transfer_ops.table_export(other, 4))
    _assert_same(first, second)
    keys = np.concatenate(first[2])
    np.testing.assert_array_equal(
        session.run(lookup_ops.table_lookup(trained, keys, 4, False)[0]),
        session.run(lookup_ops.table_lookup(other, keys, 4, False)[0]),
    )


def test_import_replaces_what_was_there(session, trained, new_table):
    other = new_table("other")
    session.run(lookup_ops.table_find(other, [10**12], insert=True))
    session.run(transfer_ops.table_import(other, *transfer_ops.table_export(trained, 4)))
    assert session.run(lookup_ops.table_find(other, [10**12])) == [-1]
    assert session.run(table_ops.table_size(other)) == session.run(table_ops.table_size(trained))


def test_training_goes_on_after_import_as_if_never_stopped(session, trained, new_table):
    other = new_table("other")
    session.run(transfer_ops.table_import(other, *transfer_ops.table_export(trained, 4)))
    keys = np.arange(100, 2500)
    for seed in range(3):
        gradients = np.random.RandomState(seed).randn(len(keys), 4)
        for handle in (trained, other):
            _, addresses = lookup_ops.table_lookup(handle, keys, 4, True)
            session.run(
                update_ops.table_apply_gradients(handle, ADAGRAD, addresses, gradients, "adagrad")
            )
    np.testing.assert_array_equal(
        session.run(lookup_ops.table_lookup(trained, keys, 4, False)[0]),
        session.run(lookup_ops.table_lookup(other, keys, 4, False)[0]),
    )


def test_export_is_a_view(session, new_table):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0], num_buckets=1)
    addresses = session.run(lookup_ops.table_find(handle, [1, 2], insert=True))
    rows = transfer_ops.table_export(handle, 1).rows[0]
    with tf.control_dependencies([rows]):
        update = update_ops.table_apply_gradients(
            handle, [1.0, 0.0], addresses, tf.ones([2, 4]), "sgd"
        )
    with tf.control_dependencies([update]):
        cleared = table_ops.table_clear(handle)
    with tf.control_dependencies([cleared]):
        later = rows * 1.0
    np.testing.assert_array_equal(session.run(later), np.zeros([2, 4]))
    assert session.run(table_ops.table_size(handle)) == 0


def test_ops_on_a_view_do_not_write_into_the_table(session, new_table):
    handle = new_table(initializer_kind="constant", initializer_arguments=[1.0], num_buckets=1)
    session.run(lookup_ops.table_find(handle, np.arange(100), insert=True))
    rows = transfer_ops.table_export(handle, 1).rows[0]
    changed = tf.nn.relu(-(tf.square(rows + 1.0) * 2.0 - 9.0))
    np.testing.assert_array_equal(session.run(changed), np.ones([100, 4]))
    np.testing.assert_array_equal(session.run(rows), np.ones([100, 4]))


def test_views_with_gaps_are_usable_by_every_op(session, trained):
    rows = transfer_ops.table_export(trained, 4).rows
    sums = session.run([tf.reduce_sum(part * 2.0) for part in rows])
    copies = [np.array(part) for part in session.run(rows)]
    np.testing.assert_allclose(sums, [2 * part.sum() for part in copies], rtol=1e-3, atol=1e-2)


def test_export_with_another_number_of_buckets_is_an_error(session, new_table):
    handle = new_table()
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': the op's num_buckets is 8.*has 4 buckets"
    ):
        session.run(transfer_ops.table_export(handle, 8))


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"dim": 8}, "the checkpoint has dim 4, the table has dim 8"),
        ({"key_dtype": "int32"}, "the checkpoint has key_dtype int64, the table has .* int32"),
    ],
)
def test_import_of_another_table_changes_nothing(session, trained, new_table, attrs, said):
    other = new_table("other", **attrs)
    session.run(lookup_ops.table_find(other, [1, 2], insert=True))
    with pytest.raises(errors.InvalidArgumentError, match="table 'other': " + said):
        session.run(transfer_ops.table_import(other, *transfer_ops.table_export(trained, 4)))
    assert session.run(table_ops.table_size(other)) == 2


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (b"hash_version=1", "hash_version"),
        (b"num_buckets=4", "num_buckets"),
        (b"value_dtype=float32", "value_dtype"),
    ],
)
def test_import_of_another_format_changes_nothing(session, trained, field, said):
    content = _copy(session.run(transfer_ops.table_export(trained, 4)))
    before = session.run(table_ops.table_size(trained))
    content[0] = content[0].replace(field, field.split(b"=")[0] + b"=16")
    with pytest.raises(
        errors.InvalidArgumentError, match="table 'user': the checkpoint has " + said
    ):
        session.run(transfer_ops.table_import(trained, *content))
    assert session.run(table_ops.table_size(trained)) == before


@pytest.mark.parametrize("meta", [b"\n", b"nonsense", b"format_version=99\n", b"\xff\x00\n="])
def test_unreadable_meta_changes_nothing(session, trained, meta):
    content = _copy(session.run(transfer_ops.table_export(trained, 4)))
    content[0] = meta
    before = session.run(table_ops.table_size(trained))
    with pytest.raises(errors.DataLossError, match="table 'user': "):
        session.run(transfer_ops.table_import(trained, *content))
    assert session.run(table_ops.table_size(trained)) == before


def _swap_buckets(content):
    content[2][0], content[2][1] = content[2][1], content[2][0]
    content[3][0], content[3][1] = content[3][1], content[3][0]
    content[4][0], content[4][1] = content[4][1], content[4][0]
    content[5][0], content[5][1] = content[5][1], content[5][0]


def _repeat_key(content):
    content[2][3][1] = content[2][3][0]


def _padding_key(content):
    content[2][2][0] = -1


def _short_rows(content):
    content[3][1] = content[3][1][:-1]


def _narrow_rows(content):
    content[3][1] = content[3][1][:, :-1]


def _short_counts(content):
    content[4][0] = content[4][0][1:]


@pytest.mark.parametrize(
    ("damage", "error", "said"),
    [
        (_swap_buckets, errors.DataLossError, "does not belong to bucket"),
        (_repeat_key, errors.DataLossError, "occurs twice in bucket 3"),
        (_padding_key, errors.DataLossError, "key -1 does not belong to bucket 2"),
        (_short_rows, errors.InvalidArgumentError, r"rows\[1\] has shape"),
        (_narrow_rows, errors.InvalidArgumentError, r"rows\[1\] has shape"),
        (_short_counts, errors.InvalidArgumentError, r"counts\[0\] has shape"),
    ],
)
def test_damaged_content_leaves_an_empty_uninitialized_table(session, trained, damage, error, said):
    content = _copy(session.run(transfer_ops.table_export(trained, 4)))
    damage(content)
    hidden = [
        [tf1.placeholder_with_default(x, None) for x in part] if isinstance(part, list) else part
        for part in content
    ]
    with pytest.raises(error, match="table 'user'.*%s.*is empty and uninitialized now" % said):
        session.run(transfer_ops.table_import(trained, *hidden))
    assert not session.run(table_ops.table_is_initialized(trained))
    session.run(table_ops.table_initialize(trained, tf.zeros([0, 4])))
    assert session.run(table_ops.table_size(trained)) == 0


def test_bank_comes_along(session, new_table):
    bank = np.arange(12, dtype=np.float32).reshape(3, 4)
    handle = new_table(bank=bank, initializer_kind="bank", initializer_arguments=[])
    content = transfer_ops.table_export(handle, 4)
    other = table_ops.table_handle(
        "other", 4, num_buckets=4, initializer_kind="bank", initializer_arguments=[]
    )
    session.run(transfer_ops.table_import(other, *content))
    keys = np.arange(100)
    np.testing.assert_array_equal(
        session.run(lookup_ops.table_lookup(handle, keys, 4, True)[0]),
        session.run(lookup_ops.table_lookup(other, keys, 4, True)[0]),
    )
    with pytest.raises(errors.InvalidArgumentError, match="table 'other'.*bank"):
        session.run(transfer_ops.table_import(other, content[0], tf.zeros([0, 4]), *content[2:]))


def test_shapes_known_at_graph_construction(new_table):
    handle = new_table()
    content = transfer_ops.table_export(handle, 4)
    assert content.meta.shape.as_list() == []
    assert content.bank.shape.as_list() == [None, 4]
    assert content.rows[3].shape.as_list() == [None, None]
    assert content.last_seen[0].shape.as_list() == [None]
    wrong = [content.meta, content.bank, content.rows, content.rows]
    with pytest.raises((ValueError, TypeError)):
        transfer_ops.table_import(handle, *(wrong + list(content[4:])))
