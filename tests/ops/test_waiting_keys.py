"""Keys that wait for admission, and what else is known of use, in checkpoints."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import bundle_ops, table_ops, transfer_ops, usage_ops

errors = tf.errors
THRESHOLD = {"access_threshold": 3}


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model.ckpt-1")


def _look_up(session, handle, keys, now, **attrs):
    return session.run(usage_ops.table_tracked_lookup(handle, keys, 4, now, **attrs)).addresses


def _waiting(session, handle, num_buckets=4):
    """{key: (count, last seen)} of the keys that wait."""
    content = session.run(transfer_ops.table_export_waiting(handle, num_buckets))
    arrays = [np.concatenate(parts) for parts in content[:3]]
    return {int(key): (int(count), int(seen)) for key, count, seen in zip(*arrays)}


def _state(session, handle):
    found = dict(zip(table_ops.STATISTICS, session.run(table_ops.table_statistics(handle))))
    return [found[name] for name in ("rows", "clock", "access_threshold", "frozen")]


@pytest.fixture
def counted(session, new_table):
    """A table with rows 1 and 2, keys 3 to 99 waiting, and a threshold that was set to 9."""
    handle = new_table()
    _look_up(session, handle, [1, 2] * 3 + list(range(3, 100)), 50, **THRESHOLD)
    session.run(usage_ops.table_set_threshold(handle, [9], access_threshold=3))
    return handle


def test_a_checkpoint_keeps_counts_times_and_thresholds(session, counted, new_table, prefix):
    session.run(bundle_ops.save_tables(prefix, ["user"], [counted]))
    other = new_table("other")
    session.run(bundle_ops.restore_tables(prefix, ["user"], [other]))
    assert _waiting(session, other) == {key: (1, 50) for key in range(3, 100)}
    assert _state(session, other) == [2, 50, 9, 0]
    # The program's threshold is the one that the checkpoint was written under: 9 holds.
    assert _look_up(session, other, [3] * 7, 51, **THRESHOLD)[0] == -1
    assert _look_up(session, other, [3], 51, **THRESHOLD)[0] >= 0
    # Another one of the program wins.
    assert _look_up(session, other, [4], 51, access_threshold=2)[0] >= 0


def test_a_delta_holds_the_keys_that_wait(session, counted, new_table, tmp_path):
    full, delta = str(tmp_path / "model.ckpt-1"), str(tmp_path / "model.ckpt-2")
    session.run(bundle_ops.save_tables(full, ["user"], [counted]))
    session.run(bundle_ops.commit_save(full, ["user"], [counted]))
    _look_up(session, counted, [3] * 8 + [4, 100], 60, **THRESHOLD)
    session.run(usage_ops.table_set_threshold(counted, [0], access_threshold=3))
    assert session.run(usage_ops.table_evict(counted, "older_than", 10)) == 2
    session.run(bundle_ops.save_tables(delta, ["user"], [counted], delta=True))
    other = new_table("other")
    session.run(bundle_ops.restore_tables(delta, ["user"], [other]))
    assert _waiting(session, other) == _waiting(session, counted) == {4: (2, 60), 100: (1, 60)}
    assert _state(session, other) == [1, 60, 9, 1]


@pytest.mark.parametrize("num_buckets", [1, 2, 16])
@pytest.mark.parametrize("kind", ["exact", "sketch"])
def test_another_number_of_buckets_takes_them_over(session, new_table, prefix, num_buckets, kind):
    attrs = dict(THRESHOLD, admission_filter=kind, sketch_bytes=1 << 20)
    source = new_table()
    _look_up(session, source, [1] * 3 + [2, 2] + list(range(3, 50)), 5, **attrs)
    session.run(bundle_ops.save_tables(prefix, ["user"], [source]))
    target = new_table("target", num_buckets=num_buckets)
    assert session.run(bundle_ops.table_load(target, prefix, "user")) == 1
    assert _state(session, target) == [1, 5, 3, 0]
    addresses = _look_up(session, target, [2, 3, 60], 6, **attrs)
    assert list(addresses >= 0) == [True, False, False]


def test_a_table_that_counts_nothing_has_no_tensors_for_it(session, new_table, prefix):
    handle = new_table()
    _look_up(session, handle, [1, 2], 5)
    session.run(bundle_ops.save_tables(prefix, ["user"], [handle]))
    names = [name for name, _ in tf.train.list_variables(prefix)]
    assert not [name for name in names if "waiting" in name or "sketch" in name]


def test_export_and_import(session, counted, new_table):
    waiting = transfer_ops.table_export_waiting(counted, 4)
    with tf.control_dependencies(waiting.keys):
        rows = transfer_ops.table_export(counted, 4)
    other = new_table("other")
    with tf.control_dependencies([transfer_ops.table_import(other, *rows)]):
        imported = transfer_ops.table_import_waiting(other, *waiting)
    session.run(imported)
    assert _waiting(session, other) == _waiting(session, counted)
    assert _state(session, other) == _state(session, counted)


def test_a_key_that_has_a_row_waits_no_longer(session, counted):
    before = session.run(transfer_ops.table_export_waiting(counted, 4))
    _look_up(session, counted, [3] * 9, 60, **THRESHOLD)
    session.run(transfer_ops.table_import_waiting(counted, *before))
    assert 3 not in _waiting(session, counted)
    assert len(_waiting(session, counted)) == 96


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda w: w.counts[1].resize([1]), errors.InvalidArgumentError, r"waiting_counts\[1\]"),
        (lambda w: w.keys[0].fill(-1), errors.DataLossError, "key -1"),
        (lambda w: w.keys.reverse(), errors.InvalidArgumentError, "waiting"),
        (
            lambda w: w.sketch.__setitem__(2, np.ones([7], np.int32)),
            errors.DataLossError,
            "7 cells",
        ),
    ],
)
def test_what_cannot_be_imported_is_named(session, counted, change, kind, message):
    content = session.run(transfer_ops.table_export_waiting(counted, 4))
    content = transfer_ops.WaitingContent(
        *[[np.array(part) for part in parts] for parts in content]
    )
    change(content)
    with pytest.raises(kind, match="table 'user': .*" + message):
        session.run(transfer_ops.table_import_waiting(counted, *content))
