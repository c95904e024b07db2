"""Admission and eviction in a cluster of processes, which goes on with more servers and fewer."""

import sys

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import table_reader
from estimator_plugin.cli.main import main as cli
from tests.distribute import counting_trainer as trainer
from tests.plugin import support

_SERVERS = (2, 3, 1)
_FIRST_LATE = 20000


class Model:
    """{id: [count, last seen]} of the chief's ids after its batches, early ids by themselves.

    Args:
      trained: how many batches of each run.
    """

    def __init__(self, trained):
        self.early, self.late = {}, {}
        for run, count in enumerate(trained):
            ids, times = trainer.batches(0, run)
            for batch, time in zip(ids[:count].tolist(), times[:count].tolist()):
                self.now = time
                self._count(batch, time)

    def _count(self, batch, time):
        seen = self.early if batch[0] < _FIRST_LATE else self.late
        for key in batch:
            seen[key] = [seen.get(key, [0])[0] + 1, time]

    def split(self, threshold):
        """(rows, waiting) of the late ids."""
        rows = {k: record for k, record in self.late.items() if record[0] >= threshold}
        return rows, {k: record for k, record in self.late.items() if k not in rows}


def _chiefs(keys, counts, last_seen):
    """{id: [count, last seen]} of ids that the chief trains."""
    records = zip(keys.tolist(), counts.tolist(), last_seen.tolist())
    return {key: [count, seen] for key, count, seen in records if key % 10 == 0}


def _late(records):
    return {key: list(record) for key, record in records.items() if key >= _FIRST_LATE}


def _waiting(link):
    """{id: (count, last seen)} of all ids that wait."""
    found = {}
    for bucket in range(link.meta.num_buckets):
        keys, counts, seen, _ = link.read_waiting(bucket).values()
        found.update(zip(keys.tolist(), zip(counts.tolist(), seen.tolist())))
    return found


def _check(prefix, is_last):
    """A version, saved between two steps of the chief, has its ids to the last count."""
    trained = tf.train.load_variable(prefix, "batches")[:, 0].tolist()
    model = Model(trained)
    link = table_reader.TableLink(prefix, "user")
    waiting = _waiting(link)
    user, item = [ep.checkpoint.read_table(prefix, name) for name in ("user", "item")]
    found = _chiefs(user.keys, user.counts, user.last_seen)
    chiefs_waiting = {key: record for key, record in waiting.items() if key % 10 == 0}
    if is_last:  # Early ids, with a row or without, were evicted.
        assert _late(found) == found and _late(chiefs_waiting).keys() == chiefs_waiting.keys()
    assert (_late(found), _late(chiefs_waiting)) == model.split(trainer.CHANGED)
    # In so large a sketch no two ids meet: it counts as exactly as the other filter.
    counts = {k: v[0] for k, v in {**model.early, **model.late}.items()}
    admitted = {k: v[0] for k, v in _chiefs(item.keys, item.counts, item.last_seen).items()}
    assert admitted == {k: v for k, v in counts.items() if v >= trainer.ITEM_THRESHOLD}
    assert link.meta[-4:] == (model.now, trainer.CHANGED, trainer.CONFIGURED, 0)
    # Of a worker's step any part may be in a save; no id is where it cannot be.
    keys = user.keys.tolist()
    assert not set(waiting) & set(keys) and len(set(keys)) == len(keys)
    assert min(user.counts) >= trainer.CONFIGURED
    assert max(count for count, _ in waiting.values()) < trainer.CHANGED
    assert cli(["verify", prefix]) == 0
    return link.is_delta


def test_two_servers_then_three_then_one(tmp_path):
    model_dir = str(tmp_path)
    deltas = set()
    for run, servers in enumerate(_SERVERS):
        command = [sys.executable, "-m", "tests.distribute.counting_trainer", model_dir, str(run)]
        with ep.distribute.local_cluster(
            command, num_ps=servers, num_workers=1, env={"PYTHONPATH": support.ROOT}
        ) as cluster:
            cluster.wait(300)
        last = tf.train.latest_checkpoint(model_dir)
        done = [trainer.BATCHES] * (run + 1) + [0] * (len(_SERVERS) - run - 1)
        assert tf.train.load_variable(last, "batches")[:, 0].tolist() == done
        for index in tmp_path.glob("model.ckpt-*.index"):
            prefix = str(index)[: -len(".index")]
            if tf.train.load_variable(prefix, "batches")[0, 0] > trainer.EARLY:
                deltas.add(_check(prefix, prefix == last) and prefix)
    assert len(deltas - {False}) >= 2
