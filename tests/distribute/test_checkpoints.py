"""Checkpoints of tables on servers: any number of servers, or none, reads what any number wrote."""

import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from estimator_plugin.cli.main import main as cli
from estimator_plugin.ops import bundle_ops
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
_NORMAL = v1.truncated_normal_initializer(stddev=0.1, seed=3)
_STEPS = 4


class _Model:
    """Two tables under Adam; `train(step)` always sees the same batch in one step."""

    def __init__(self, count, save="streaming"):
        self.count = count
        with in_process.placed_on(count):
            self.ids = v1.placeholder(tf.int64, [None])
            self.tables = [support.table("user", 4, _NORMAL), support.table("item", 2, _NORMAL)]
            rows = [ep.sparse_lookup(table, self.ids) for table in self.tables]
            loss = tf.reduce_sum(tf.square(rows[0])) + tf.reduce_sum(tf.exp(rows[1]))
            step = v1.train.get_or_create_global_step()
            self.train_op = ep.optimizers.lazy_adam.create_hash_optimizer(0.1).minimize(loss, step)
            self.removed = self.tables[0].remove([3, 4])
            made = {
                "streaming": ep.checkpoint.saver,
                "stock": v1.train.Saver,
                "sharded": lambda **kwargs: v1.train.Saver(sharded=True, **kwargs),
            }
            self.saver = made[save](max_to_keep=100)
            if save == "streaming":
                self.incremental = ep.checkpoint.IncrementalSaver(self.saver)

    def train(self, session, start, stop):
        for step in range(start, stop):
            ids = np.random.RandomState(step).randint(-1, 300, [64])
            session.run(self.train_op, {self.ids: ids})


def _save(count, path, save="streaming"):
    with tf.Graph().as_default():
        model = _Model(count, save)
        with in_process.session(count) as session:
            model.train(session, 0, _STEPS)
            return model.saver.save(session, path, write_meta_graph=False)


def _go_on(count, prefix, path, save="streaming"):
    """What is saved after a restore on `count` servers, at once and two steps later."""
    with tf.Graph().as_default():
        model = _Model(count, save)
        with v1.Session(in_process.target(count)) as session:
            model.saver.restore(session, prefix)
            now = model.saver.save(session, path + "-now", write_meta_graph=False)
            model.train(session, _STEPS, _STEPS + 2)
            later = model.saver.save(session, path + "-later", write_meta_graph=False)
    return [_content(now), _content(later)]


def _content(prefix):
    """Everything of a checkpoint, counts and times included."""
    usage = {}
    for table in ep.checkpoint.table_names(prefix):
        rows = ep.checkpoint.read_table(prefix, table)
        assert len(set(rows.keys.tolist())) == len(rows.keys) > 100
        usage[table] = {
            key: (int(rows.counts[i]), int(rows.last_seen[i]))
            for i, key in enumerate(rows.keys.tolist())
        }
    return support.checkpoint_content(prefix), usage


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(directory, content at the save, content two steps later), as one process gives them."""
    directory = str(tmp_path_factory.mktemp("local"))
    prefix = _save(0, os.path.join(directory, "local"))
    return directory, _content(prefix), _go_on(0, prefix, os.path.join(directory, "on"))[1]


@pytest.mark.parametrize("readers", [0, 1, 3, 5])
def test_a_full_checkpoint_of_two_servers(readers, saved, tmp_path):
    prefix = _save(2, str(tmp_path / "two"))
    assert _content(prefix) == saved[1]
    assert _go_on(readers, prefix, str(tmp_path / "on")) == [saved[1], saved[2]]


def test_servers_restore_what_one_process_saved(saved, tmp_path):
    prefix = os.path.join(saved[0], "local")
    assert _go_on(3, prefix, str(tmp_path / "on")) == [saved[1], saved[2]]


@pytest.mark.parametrize("writer, reader", [("stock", "sharded"), ("sharded", "streaming")])
def test_stock_savers(writer, reader, saved, tmp_path):
    prefix = _save(2, str(tmp_path / "two"), writer)
    assert _content(prefix) == saved[1]
    assert _go_on(3, prefix, str(tmp_path / "on"), reader) == [saved[1], saved[2]]


def test_a_stock_saver_restores_what_servers_streamed(saved, tmp_path):
    prefix = _save(2, str(tmp_path / "two"))
    assert _go_on(3, prefix, str(tmp_path / "on"), "stock") == [saved[1], saved[2]]


def _save_deltas(count, path):
    """A full version, two deltas, and what the second one holds in full."""
    with tf.Graph().as_default():
        model = _Model(count)
        with in_process.session(count) as session:
            model.train(session, 0, 2)
            kinds = [model.incremental.save(session, path, 2)]
            model.train(session, 2, 3)
            session.run(model.removed)
            kinds.append(model.incremental.save(session, path, 3, delta=True))
            model.train(session, 3, _STEPS)
            kinds.append(model.incremental.save(session, path, _STEPS, delta=True))
            assert [is_delta for _, is_delta in kinds] == [False, True, True]
            model.train(session, _STEPS, _STEPS + 2)
            whole = model.saver.save(session, path + "-whole", write_meta_graph=False)
    return kinds[-1][0], _content(whole)


@pytest.mark.parametrize("readers", [0, 1, 3, 5])
def test_deltas_of_two_servers(readers, tmp_path):
    expected_prefix, expected = _save_deltas(0, str(tmp_path / "local"))
    prefix, later = _save_deltas(2, str(tmp_path / "two"))
    assert later == expected and _content(prefix) == _content(expected_prefix)
    now, after = _go_on(readers, prefix, str(tmp_path / "on"))
    assert now == _content(prefix) and after == later
    assert versions.read_version(prefix).kind == versions.DELTA


def test_a_delta_goes_on_after_a_restore_on_other_servers(tmp_path):
    path = str(tmp_path / "model")
    prefix, _ = _save_deltas(2, path)
    with tf.Graph().as_default():
        model = _Model(3)
        with v1.Session(in_process.target(3)) as session:
            model.saver.restore(session, prefix)
            model.train(session, _STEPS, _STEPS + 1)
            delta, is_delta = model.incremental.save(session, path, _STEPS + 1, delta=True)
            whole = model.saver.save(session, path + "-whole", write_meta_graph=False)
    assert is_delta and versions.read_version(delta).parent == prefix
    assert _content(delta) == _content(whole)
    assert cli(["verify", delta]) == 0


def test_each_server_reads_its_own_buckets_only(tmp_path):
    prefix = _save(2, str(tmp_path / "two"))
    damaged = "user/bucket-63/rows"
    value = tf.train.load_checkpoint(prefix).get_tensor(damaged)
    data = [str(tmp_path / n) for n in os.listdir(str(tmp_path)) if ".data-" in n]
    found = 0
    for path in data:
        with open(path, "r+b") as file:
            at = file.read().find(value.tobytes())
            if at >= 0:
                found += 1
                file.seek(at)
                file.write(b"\xff")
    assert found == 1
    with tf.Graph().as_default():
        with in_process.placed_on(3):
            table = support.table("user", 4, _NORMAL)
            restores = []
            for partition in table.partitions:
                with tf.device(partition.device):
                    restores.append(bundle_ops.restore_tables(prefix, ["user"], [partition.handle]))
        with v1.Session(in_process.target(3)) as session:
            session.run(restores[:2])
            with pytest.raises(tf.errors.DataLossError, match="user"):
                session.run(restores[2])


def _bytes_read():
    with open("/proc/self/io") as counters:
        return int(dict(line.split(": ") for line in counters.read().splitlines())["rchar"])


def test_restoring_on_other_servers_reads_each_byte_once(tmp_path):
    def build(count):
        with in_process.placed_on(count):
            table = support.table("user", 16, _NORMAL)
            rows = ep.sparse_lookup(table, tf.range(100000, dtype=tf.int64))
            return rows.op, ep.checkpoint.saver(), table.size()

    with tf.Graph().as_default():
        fill, saver, _ = build(2)
        with in_process.session(2) as session:
            session.run(fill)
            prefix = saver.save(session, str(tmp_path / "two"), write_meta_graph=False)
    size = sum(os.path.getsize(str(tmp_path / n)) for n in os.listdir(str(tmp_path)))
    with tf.Graph().as_default():
        _, saver, rows = build(3)
        with v1.Session(in_process.target(3)) as session:
            before = _bytes_read()
            saver.restore(session, prefix)
            assert 0.9 * size < _bytes_read() - before < 1.5 * size
            assert session.run(rows) == 100000


@pytest.mark.parametrize("source, count", [(0, 2), (2, 3), (2, 0)])
def test_warm_start(source, count, tmp_path):
    prefix = _save(source, str(tmp_path / "old"))
    with tf.Graph().as_default():
        with in_process.placed_on(count):
            ids = tf.range(300, dtype=tf.int64)
            member = support.table("member", 4, num_buckets=16)
            rows = ep.sparse_lookup(member, ids, is_train=False)
            ep.warm_start.warm_start(prefix, "member", None, {"member": "user"})
            size = member.size()
        with in_process.session(count) as session:
            old = ep.checkpoint.read_table(prefix, "user")
            assert session.run(size) == len(old.keys)
            np.testing.assert_array_equal(session.run(rows)[old.keys], old.embeddings)
