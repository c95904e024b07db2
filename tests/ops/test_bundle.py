"""Tables written to and read from TensorFlow checkpoints by ops of their own."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import bundle_ops, lookup_ops, table_ops, transfer_ops, update_ops

tf1 = tf.compat.v1
errors = tf.errors

ADAGRAD = [0.1, 0.0, 0.1]


@pytest.fixture
def trained(session, new_table):
    """A table of 3,000 rows with an optimizer's slots, some rows removed."""
    handle = new_table()
    keys = np.arange(3000)
    _, addresses = lookup_ops.table_lookup(handle, keys, 4, True)
    gradients = np.random.RandomState(3).randn(3000, 4)
    session.run(update_ops.table_apply_gradients(handle, ADAGRAD, addresses, gradients, "adagrad"))
    session.run(table_ops.table_remove(handle, np.arange(0, 300, 2)))
    return handle


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model.ckpt-1")


def _other(name="user", **attrs):
    attrs.setdefault("dim", 4)
    attrs.setdefault("num_buckets", 4)
    return table_ops.table_handle(
        name, initializer_kind="uniform", initializer_arguments=[-1.0, 1.0], **attrs
    )


def _facts(meta):
    """The lines of a table's meta that do not name the save itself."""
    lines = bytes(meta).decode().splitlines()
    return [line for line in lines if not line.startswith(("save_id=", "parent"))]


def _assert_same_content(session, a, b):
    first, second = session.run([transfer_ops.table_export(a, 4), transfer_ops.table_export(b, 4)])
    assert _facts(first.meta) == _facts(second.meta)
    np.testing.assert_array_equal(first.bank, second.bank)
    for left, right in zip(first[2:], second[2:]):
        assert [x.tobytes() for x in left] == [x.tobytes() for x in right]


def test_save_and_restore_is_bitwise(session, trained, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    other = _other()
    session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert session.run(table_ops.table_is_initialized(other))
    _assert_same_content(session, trained, other)


def test_several_tables_in_one_bundle(session, trained, new_table, prefix):
    item = new_table("item", dim=3)
    session.run(lookup_ops.table_find(item, np.arange(100), insert=True))
    session.run(bundle_ops.save_tables(prefix, ["user", "item"], [trained, item]))
    names = {name for name, _ in tf.train.list_variables(prefix)}
    assert len(names) == 2 * (2 + 4 * 4)
    assert {"user/meta", "item/bank", "user/bucket-3/last_seen", "item/bucket-0/rows"} <= names
    others = [_other("item", dim=3), _other("user")]
    session.run(bundle_ops.restore_tables(prefix, ["item", "user"], others))
    _assert_same_content(session, item, others[0])
    _assert_same_content(session, trained, others[1])


def test_same_names_and_bytes_as_tensorflows_saver(session, trained, tmp_path):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    session.run(bundle_ops.save_tables(ours, ["user"], [trained]))
    content = transfer_ops.table_export(trained, 4)
    tensors = {"user/meta": content.meta, "user/bank": content.bank}
    for array in ("keys", "rows", "counts", "last_seen"):
        for bucket, tensor in enumerate(getattr(content, array)):
            tensors["user/bucket-%d/%s" % (bucket, array)] = tensor
    session.run(
        tf.raw_ops.SaveV2(
            prefix=theirs,
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=list(tensors.values()),
        )
    )
    first, second = tf.train.load_checkpoint(ours), tf.train.load_checkpoint(theirs)
    shapes = first.get_variable_to_shape_map()
    assert shapes == second.get_variable_to_shape_map()
    assert _facts(first.get_tensor("user/meta")) == _facts(second.get_tensor("user/meta"))
    for name in set(shapes) - {"user/meta"}:
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name))
    other = _other()
    session.run(bundle_ops.restore_tables(theirs, ["user"], [other]))
    _assert_same_content(session, trained, other)


def test_merges_with_the_dense_part_of_a_checkpoint(session, trained, tmp_path):
    tables, dense, whole = (str(tmp_path / name) for name in ("tables", "dense", "whole"))
    save = [
        bundle_ops.save_tables(tables, ["user"], [trained]),
        tf.raw_ops.SaveV2(
            prefix=dense, tensor_names=["w"], shape_and_slices=[""], tensors=[tf.constant([2.0])]
        ),
    ]
    with tf.control_dependencies(save):
        merge = tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=[tables, dense], destination_prefix=whole
        )
    session.run(merge)
    assert tf.train.load_variable(whole, "w") == [2.0]
    other = _other()
    session.run(bundle_ops.restore_tables(whole, ["user"], [other]))
    _assert_same_content(session, trained, other)


def test_an_empty_table(session, new_table, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [new_table()]))
    other = _other()
    session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert session.run(table_ops.table_size(other)) == 0


def test_restore_replaces_what_was_there(session, trained, new_table, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    other = new_table("other")
    session.run(lookup_ops.table_find(other, [10**12], insert=True))
    session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert session.run(lookup_ops.table_find(other, [10**12])) == [-1]


def test_missing_checkpoint(session, prefix):
    other = _other()
    with pytest.raises(errors.NotFoundError, match="table 'user', checkpoint '%s'" % prefix):
        session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert not session.run(table_ops.table_is_initialized(other))


def test_missing_table(session, trained, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    before = session.run(table_ops.table_size(trained))
    with pytest.raises(
        errors.NotFoundError, match="table 'item', checkpoint '%s': .*item/meta" % prefix
    ):
        session.run(bundle_ops.restore_tables(prefix, ["item"], [trained]))
    assert session.run(table_ops.table_size(trained)) == before


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"dim": 8}, "the checkpoint has dim 4, the table has dim 8"),
        ({"key_dtype": "int32"}, "the checkpoint has key_dtype int64, the table has .* int32"),
        ({"num_buckets": 8}, "the checkpoint has num_buckets 4, the table has num_buckets 8"),
    ],
)
def test_checkpoint_of_another_table(session, trained, prefix, attrs, said):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    other = _other("other", **attrs)
    with pytest.raises(errors.InvalidArgumentError, match="table 'other': " + said):
        session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))


def _data_file(prefix):
    return prefix + ".data-00000-of-00001"


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_flipped_bit_is_found(session, trained, prefix, part):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    with open(_data_file(prefix), "r+b") as data:
        size = os.path.getsize(_data_file(prefix))
        data.seek(int(part * size))
        byte = data.read(1)[0]
        data.seek(int(part * size))
        data.write(bytes([byte ^ 8]))
    other = _other()
    with pytest.raises(errors.DataLossError, match="(?s)table 'user', checkpoint '%s'" % prefix):
        session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert not session.run(table_ops.table_is_initialized(other))


@pytest.mark.parametrize("suffix", [".data-00000-of-00001", ".index"])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_truncated_file_is_found(session, trained, prefix, suffix, part):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    os.truncate(prefix + suffix, int(part * os.path.getsize(prefix + suffix)))
    other = _other()
    with pytest.raises(errors.DataLossError, match="(?s)table 'user', checkpoint '%s'" % prefix):
        session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert not session.run(table_ops.table_is_initialized(other))


def test_every_flipped_byte_of_the_index_is_found(session, new_table, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [new_table(num_buckets=1)]))
    other = _other(num_buckets=1)
    restore = bundle_ops.restore_tables(prefix, ["user"], [other])
    with open(prefix + ".index", "rb") as index:
        good = index.read()
    unnoticed = 0
    for at in range(0, len(good), 3):
        with open(prefix + ".index", "wb") as index:
            index.write(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
        try:
            session.run(restore)
            unnoticed += 1  # Padding of the footer, which says nothing.
        except errors.OpError as error:
            assert "table 'user'" in str(error)
    assert unnoticed < 20


def test_damage_of_a_late_bucket_leaves_the_table_empty(session, trained, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [trained]))
    os.truncate(_data_file(prefix), os.path.getsize(_data_file(prefix)) - 1)
    with pytest.raises(errors.DataLossError, match="is empty and uninitialized now"):
        session.run(bundle_ops.restore_tables(prefix, ["user"], [trained]))
    assert not session.run(table_ops.table_is_initialized(trained))


# A limit on file sizes stands for the full disk: writes fail just so. In a process of its own.
_FULL_DISK = """
import os, resource, signal, sys
import numpy as np
import tensorflow as tf
from estimator_plugin.ops import bundle_ops, lookup_ops, table_ops, transfer_ops, update_ops
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tf.compat.v1.disable_eager_execution()
handle = table_ops.table_handle("user", 16, num_buckets=4)
prefix = sys.argv[1]
save = bundle_ops.save_tables(prefix, ["user"], [handle])
with tf.compat.v1.Session() as session:
    session.run(table_ops.table_initialize(handle, tf.zeros([0, 16])))
    for rows, limit in [(0, 300), (200000, 1), (200000, 8000000)]:
        session.run(lookup_ops.table_find(handle, np.arange(rows), insert=True))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            session.run(save)
            print("NO ERROR")
        except tf.errors.OpError as error:
            print("ERROR", error.message.replace("\\n", " "))
        print("FILES", os.listdir(os.path.dirname(prefix)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    session.run(save)
"""


def test_full_disk_leaves_no_bundle_behind(session, prefix):
    """Full when the index is written, at the first byte, and in a late bucket."""
    finished = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, prefix],
        env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[1::2] == ["FILES []"] * 3, finished.stdout
    for line in lines[0::2]:
        assert line.startswith("ERROR")
        assert "saving table 'user', checkpoint '%s': " % prefix in line
    # Once there is room again it works.
    other = table_ops.table_handle("user", 16, num_buckets=4)
    session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert session.run(table_ops.table_size(other)) == 200000


def test_saving_takes_no_memory_beside_the_table(session, new_table, prefix):
    handle = new_table(dim=64, num_buckets=64)
    session.run(lookup_ops.table_find(handle, np.arange(400000), insert=True))
    session.run(bundle_ops.save_tables(prefix + "-first", ["user"], [handle]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session.run(bundle_ops.save_tables(prefix, ["user"], [handle]))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The writers of TensorFlow have fixed buffers of 8 MB; the table has 102 MB.
    assert (after - before) * 1024 < 20e6


def test_wrong_inputs(session, trained, prefix):
    names = tf1.placeholder_with_default(["user", "item"], None)
    for op in (bundle_ops.save_tables, bundle_ops.restore_tables):
        with pytest.raises(ValueError, match="must be 1 but is 2"):
            op(prefix, ["user", "item"], [trained])
        with pytest.raises(ValueError, match="rank 0"):
            op([prefix], ["user"], [trained])
        with pytest.raises(errors.InvalidArgumentError, match="table_names have shapes"):
            session.run(op(prefix, names, [trained]))
