"""A day of training in a test clock, everything on at once, against a model that fits on a page.

Two workers train one table at the same time; ids come, are admitted, go out of use and leave;
deltas are saved meanwhile; the job is restarted and killed, and a new one starts warm from its
checkpoints. After every step the table holds exactly the rows, counts, times and weights that the
model says.
"""

import collections
import threading

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.hooks import EvictHook, IncrementalSaveHook, WarmStartHook
from estimator_plugin.ops import table_ops, transfer_ops

v1 = tf.compat.v1
TICK = 300  # Seconds.
TICKS = 24 * 3600 // TICK
START = 1700000000
ACCESS, MAX_AGE, EVICT_EVERY = 3, 3 * 3600, 1800
FULL_STEPS, DELTA_STEPS = 96, 12
# Kills are at steps that save a delta: every 12th after the restart before it.
RESTARTS, KILLS = (70, 200), (130, 236)
WARM_START = 170
RATE = 0.25
IDS = 80


class Model:
    """What the table should hold.

    Attributes:
      rows: {key: [count, last seen, weight]}
      waiting: {key: [count, last seen]}
    """

    def __init__(self):
        self.rows, self.waiting = {}, {}

    def train(self, ids, now):
        for key, times in collections.Counter(ids.tolist()).items():
            if key in self.rows:
                count, _, weight = self.rows[key]
                self.rows[key] = [count + times, now, weight - RATE * times]
                continue
            count = self.waiting.pop(key, [0])[0] + times
            if count >= ACCESS:
                self.rows[key] = [count, now, 1.0 - RATE * times]
            else:
                self.waiting[key] = [count, now]

    def evict(self, now):
        for records in (self.rows, self.waiting):
            for key in [k for k, record in records.items() if now - record[1] >= MAX_AGE]:
                del records[key]

    def is_stale(self, key, now):
        record = self.rows.get(key) or self.waiting.get(key)
        return record is not None and now - record[1] >= MAX_AGE


class Job(v1.train.SessionRunHook):
    """The graph of a job and its session, which goes on from the checkpoints of a directory.

    Where there are none it starts from those of the directory `old`.
    """

    def __init__(self, directory, clock, old=None):
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._build()
            scaffold = v1.train.Scaffold(saver=ep.checkpoint.saver(defer_build=True))
            save = IncrementalSaveHook(
                directory,
                save_full_steps=FULL_STEPS,
                save_delta_steps=DELTA_STEPS,
                scaffold=scaffold,
            )
            evict = EvictHook(True, evict_time_interval=EVICT_EVERY, clock=clock)
            warm = [] if old is None else [WarmStartHook(tf.estimator.WarmStartSettings(old))]
            self.session = v1.train.MonitoredTrainingSession(
                checkpoint_dir=directory,
                scaffold=scaffold,
                hooks=warm + [evict, self],
                chief_only_hooks=[save],
                save_checkpoint_secs=None,
                save_summaries_steps=None,
                config=v1.ConfigProto(intra_op_parallelism_threads=2),
            )

    def _build(self):
        table = ep.create_table(tf.int64, 2, "t", v1.ones_initializer(), num_buckets=4)
        self._now = v1.placeholder(tf.int64, [])
        v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, self._now)
        self._ids = [v1.placeholder(tf.int64, [None]) for _ in range(2)]
        config = {"access_threshold": ACCESS, "eviction_threshold": MAX_AGE}
        found = [ep.sparse_lookup(table, ids, access_and_evict_config=config) for ids in self._ids]
        optimizer = ep.optimizers.gradient_descent.create_hash_optimizer(RATE)
        step = v1.train.get_or_create_global_step()
        self._train = [
            optimizer.minimize(tf.reduce_sum(found[0]), step),
            optimizer.minimize(tf.reduce_sum(found[1])),
        ]
        self._keys = v1.placeholder(tf.int64, [None])
        self._content = [
            transfer_ops.table_export(table.handle, 4),
            transfer_ops.table_export_waiting(table.handle, 4),
            table_ops.table_statistics(table.handle),
        ]
        self._addresses = table.find(self._keys)

    def after_create_session(self, session, coord):
        self._raw = session  # Without hooks, for the other worker and for checks.

    def chief(self, ids, now):
        """A step of the worker that saves and evicts, after its update."""
        self.session.run(self._train[0], {self._ids[0]: ids, self._now: now})

    def other(self, ids, now):
        """A step of the other worker."""
        self._raw.run(self._train[1], {self._ids[1]: ids, self._now: now})

    def check(self, model):
        """The table is what the model says, each key has one row and each row one key."""
        content, waiting, statistics = self._raw.run(self._content)
        keys, rows, counts, seen = [np.concatenate(part) for part in content[2:]]
        records = zip(counts.tolist(), seen.tolist(), rows[:, 0].tolist())
        assert dict(zip(keys.tolist(), map(list, records))) == model.rows
        assert (rows[:, 0] == rows[:, 1]).all()
        assert len(set(keys.tolist())) == len(keys) == statistics[0]
        addresses = self._raw.run(self._addresses, {self._keys: keys})
        assert (addresses >= 0).all() and len(np.unique(addresses)) == len(keys)
        keys, counts, seen = [np.concatenate(part).tolist() for part in waiting[:3]]
        assert dict(zip(keys, map(list, zip(counts, seen)))) == model.waiting


def ids_of(tick, worker, model, now):
    """What a worker trains in a tick: its own keys, some old and many that come and go by time."""
    random = np.random.RandomState(tick * 2 + worker)
    passing = 1000 + 3 * tick + random.zipf(1.3, IDS) % 150
    ids = 2 * np.concatenate([passing, random.randint(0, 8, IDS // 4)]) + worker
    return np.array([key for key in ids.tolist() if not model.is_stale(key, now)], np.int64)


def test_a_day(tmp_path):
    model, time, evicted_at, largest = Model(), [START], START, 0
    directory = str(tmp_path / "first")
    job = Job(directory, lambda: time[0])
    for tick in range(1, TICKS + 1):
        now = time[0] = START + tick * TICK
        ids = [ids_of(tick, worker, model, now) for worker in range(2)]
        other = threading.Thread(target=job.other, args=(ids[1], now))
        other.start()
        if tick in KILLS:
            other.join()  # So that the delta of this step has its work.
        job.chief(ids[0], now)
        other.join()
        for part in ids:
            model.train(part, now)
        if now - evicted_at > EVICT_EVERY:
            model.evict(now)
            evicted_at = now
        job.check(model)
        largest = max(largest, len(model.rows))
        if tick in KILLS + RESTARTS + (WARM_START,):
            if tick not in KILLS:
                job.session.close()  # Saves at the end; one that is killed does not.
            old = None
            if tick == WARM_START:
                old, directory = directory, str(tmp_path / "second")
            job = Job(directory, lambda: time[0], old)
            evicted_at = now
            job.check(model)
    job.session.close()
    assert 50 < len(model.rows) < largest
    assert len(ep.checkpoint.read_table(directory, "t").keys) == len(model.rows)
