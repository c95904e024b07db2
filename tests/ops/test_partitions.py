"""A table's partitions, each with a range of its buckets, as one table in checkpoints.

Here they lie in containers of one session; in a cluster, on servers.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import hashing
from estimator_plugin.ops import bundle_ops, lookup_ops, table_ops, transfer_ops, update_ops

errors = tf.errors

BUCKETS = 8
DIM = 2
ADAGRAD = [0.1, 0.0, 0.5]


@pytest.fixture
def partitions(session):
    """partitions(servers) -> the initialized handles of a table spread over as many."""
    number = itertools.count()

    def make(servers):
        container = "cluster-%d-" % next(number)
        handles = [
            table_ops.table_handle(
                "user",
                DIM,
                num_buckets=BUCKETS,
                first_bucket=s * BUCKETS // servers,
                end_bucket=(s + 1) * BUCKETS // servers,
                initializer_kind="uniform",
                initializer_arguments=[-1.0, 1.0],
                shared_name="user",
                container=container + str(s),
            )
            for s in range(servers)
        ]
        session.run([table_ops.table_initialize(h, tf.zeros([0, DIM])) for h in handles])
        return handles

    return make


def _owned(keys, server, servers):
    buckets = hashing.bucket_of_key(keys, BUCKETS)
    first, end = server * BUCKETS // servers, (server + 1) * BUCKETS // servers
    return keys[(buckets >= first) & (buckets < end)]


def _train(session, handles, keys, servers=None):
    for server in range(len(handles)) if servers is None else servers:
        handle = handles[server]
        own = _owned(keys, server, len(handles))
        gradients = (own[:, None] % 7 * np.ones(DIM)).astype(np.float32)
        addresses = lookup_ops.table_find(handle, own, insert=True)
        update = update_ops.table_apply_gradients(handle, ADAGRAD, addresses, gradients, "adagrad")
        session.run(update)


def _rows(session, handles):
    """{key: [embedding, slots]}; a key in two partitions fails."""
    rows = {}
    for server, handle in enumerate(handles):
        owned = (server + 1) * BUCKETS // len(handles) - server * BUCKETS // len(handles)
        content = session.run(transfer_ops.table_export(handle, owned))
        for keys, values in zip(content.keys, content.rows):
            for key, row in zip(keys.tolist(), values):
                assert key not in rows
                rows[key] = row.tobytes()
    return rows


def _save(session, prefix, handles, delta=False):
    """One bundle, as the chief's merge makes it of the servers' parts."""
    meta = session.run(transfer_ops.table_new_save(handles[0], delta))
    parts = ["%s-part-%d" % (prefix, s) for s in range(len(handles))]
    for server, (part, handle) in enumerate(zip(parts, handles)):
        session.run(
            bundle_ops.save_tables(part, ["user"], [handle], metas=[meta], with_head=[server == 0])
        )
    session.run(tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=prefix))
    for handle in handles:
        assert session.run(bundle_ops.commit_save(prefix, ["user"], [handle])).all()


KEYS = np.arange(300)


@pytest.mark.parametrize("saved_on, restored_on", [(1, 3), (2, 3), (3, 1), (2, 5), (8, 2)])
def test_restores_on_any_number_of_servers(session, partitions, tmp_path, saved_on, restored_on):
    old = partitions(saved_on)
    _train(session, old, KEYS)
    full, delta = str(tmp_path / "model.ckpt-1"), str(tmp_path / "model.ckpt-2")
    _save(session, full, old)
    _train(session, old, KEYS[::5])
    session.run([table_ops.table_remove(h, [3, 4]) for h in old])
    _save(session, delta, old, delta=True)
    new = partitions(restored_on)
    session.run([bundle_ops.restore_tables(delta, ["user"], [h]) for h in new])
    rows = _rows(session, new)
    assert rows == _rows(session, old)
    assert sorted(rows) == sorted(set(KEYS.tolist()) - {3, 4})
    _train(session, old, KEYS)
    _train(session, new, KEYS)
    assert _rows(session, new) == _rows(session, old)


@pytest.mark.parametrize("buckets", [1, 4, 32])
def test_loads_from_a_table_of_other_buckets(session, new_table, partitions, tmp_path, buckets):
    source = new_table("item", dim=DIM, num_buckets=buckets)
    keys = np.arange(100)
    session.run(lookup_ops.table_find(source, keys, insert=True))
    prefix = str(tmp_path / "model.ckpt-1")
    session.run(bundle_ops.save_tables(prefix, ["item"], [source]))
    handles = partitions(3)
    loaded = session.run([bundle_ops.table_load(h, prefix, "item") for h in handles])
    assert loaded == [len(_owned(keys, s, 3)) for s in range(3)]
    assert sorted(_rows(session, handles)) == keys.tolist()


def test_import_reads_meta_and_bank_of_the_checkpoint(session, partitions, tmp_path):
    old = partitions(2)
    _train(session, old, KEYS)
    prefix = str(tmp_path / "model.ckpt-1")
    _save(session, prefix, old)
    new = partitions(2)
    content = session.run(transfer_ops.table_export(old[1], BUCKETS // 2))
    arrays = content[2:]
    restore = transfer_ops.table_import(new[1], "", tf.zeros([0, 0]), *arrays, checkpoint=prefix)
    session.run(restore)
    assert _rows(session, new) == {k: r for k, r in _rows(session, old).items() if k in _second()}
    assert session.run(bundle_ops.table_save_base(new[1])) == (prefix.encode(), True)
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': meta is empty"):
        session.run(transfer_ops.table_import(new[1], "", tf.zeros([0, 0]), *arrays))


def _second():
    return set(_owned(KEYS, 1, 2).tolist())


def test_a_save_between_two_first_updates_is_whole(session, partitions, tmp_path):
    handles = partitions(2)
    session.run(lookup_ops.table_find(handles[0], _owned(KEYS, 0, 2), insert=True))
    _train(session, handles, _owned(KEYS, 1, 2), servers=[1])
    prefix = str(tmp_path / "model.ckpt-1")
    _save(session, prefix, handles)
    new = partitions(1)
    session.run(bundle_ops.restore_tables(prefix, ["user"], new))
    rows = _rows(session, new)
    assert sorted(rows) == KEYS.tolist()
    trained = _rows(session, handles)
    assert all(rows[k] == trained[k][: DIM * 4] for k in rows)


def test_a_delta_of_another_base_is_refused(session, partitions, tmp_path):
    handles = partitions(2)
    _train(session, handles, KEYS)
    with pytest.raises(
        errors.FailedPreconditionError, match="table 'user' has no whole checkpoint"
    ):
        session.run(transfer_ops.table_new_save(handles[0], delta=True))
    _save(session, str(tmp_path / "model.ckpt-1"), handles)
    _save(session, str(tmp_path / "model.ckpt-2"), handles[:1])
    with pytest.raises(errors.FailedPreconditionError, match="'user': not all changes since save"):
        _save(session, str(tmp_path / "model.ckpt-3"), handles, delta=True)


def test_foreign_keys(session, partitions):
    handle = partitions(2)[0]
    foreign = _owned(KEYS, 1, 2)[:1]
    assert session.run(lookup_ops.table_find(handle, foreign)).tolist() == [-1]
    assert session.run(table_ops.table_remove(handle, foreign)) == 0
    said = "key %d of bucket [4-7] was sent to the partition of buckets 0 to 3" % foreign[0]
    with pytest.raises(errors.InvalidArgumentError, match=said):
        session.run(lookup_ops.table_find(handle, foreign, insert=True))
    assert session.run(table_ops.table_size(handle)) == 0


def test_one_name_with_two_ranges_is_refused(session):
    common = dict(num_buckets=BUCKETS, shared_name="user")
    first = table_ops.table_handle("user", DIM, first_bucket=0, end_bucket=4, **common)
    session.run(first)
    with pytest.raises(errors.InvalidArgumentError, match="exists with buckets 0 to 3"):
        session.run(table_ops.table_handle("user", DIM, **common))


def test_metas_of_another_table_are_refused(session, new_table, tmp_path):
    meta = transfer_ops.table_new_save(new_table("item", dim=3))
    handle = new_table("user", dim=4)
    prefix = str(tmp_path / "model.ckpt-1")
    with pytest.raises(errors.InvalidArgumentError, match="table 'user': the meta of the save is"):
        session.run(bundle_ops.save_tables(prefix, ["user"], [handle], metas=[meta]))
    for lists in ("with_head", "with_waiting"):
        save = bundle_ops.save_tables(prefix, ["user"], [handle], **{lists: [True, False]})
        with pytest.raises(
            errors.InvalidArgumentError, match="%s 2 values, .*want as many as tables: 1" % lists
        ):
            session.run(save)
