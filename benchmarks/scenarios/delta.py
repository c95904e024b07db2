"""A full checkpoint, a delta of the hundredth of the rows that a step touched, and a restore."""

import glob
import os
import shutil
import time

import numpy as np
import tensorflow as tf

from benchmarks.resources import forget_peak, peak_resident_bytes, resident_bytes
from benchmarks.scenarios.toy_model import initialize, train_op
from benchmarks.workload import FEATURES

tf1 = tf.compat.v1

TOUCHED_SHARE = 0.01


def _disk_bytes(prefix):
    return sum(os.path.getsize(path) for path in glob.glob(glob.escape(prefix) + ".*"))


class Delta:
    """Measures "save/full", "save/delta" and "restore/full" of a table grown by training steps.

    A save is `IncrementalSaver.save`, all of it: writing, the merge, the commit, the list of
    versions. Training stands still for as long. A delta is saved after a step on rows drawn from
    all of the table, and relative to the round's full checkpoint. A restore fills the empty table
    of another session, as in a process that resumes; its extra memory is that beyond the table.
    """

    def __init__(self, system, workload, folder):
        self._folder = folder
        self._step = 0
        self._full = None  # Prefix of the round's full checkpoint.
        self._random = np.random.RandomState(6)
        self._ids = tf1.placeholder(tf.int64, [None], name="ids")
        table = system.add_table("table", workload.rows)
        self._train = train_op(system, system.best_way, table, self._ids)
        self._size = system.size(table)
        self._bytes = table.memory_bytes()
        self._saver = system.incremental_saver()
        self._session = tf1.Session()
        initialize(self._session, system)
        steps = [workload.fresh(step) for step in range(workload.fresh_steps())]
        for ids in steps:
            self._session.run(self._train, {self._ids: ids})
        self._resident = np.concatenate(steps)
        samples = max(1, int(len(self._resident) * TOUCHED_SHARE) // FEATURES)
        self._touched = samples * FEATURES

    def facts(self):
        return {"rows": len(self._resident), "touched": self._touched}

    def measures(self):
        return ["save/full", "save/delta", "restore/full"]

    def measure(self, name, seconds):
        """Seconds of one call, its extra memory and the checkpoint's bytes. Ignores `seconds`."""
        del seconds
        if name == "restore/full":
            return self._restore()
        delta = name == "save/delta"
        if delta:
            touched = self._random.choice(self._resident, self._touched, replace=False)
            self._session.run(self._train, {self._ids: touched})
        else:  # Deleting the last round's checkpoints is not part of a save.
            shutil.rmtree(self._home(), ignore_errors=True)
        self._step += 1
        return self._save(delta)

    def _home(self):
        return os.path.join(self._folder, "model")

    def _save(self, delta):
        os.makedirs(self._home(), exist_ok=True)
        place = os.path.join(self._home(), "model.ckpt")
        answer, (prefix, is_delta) = _measured(
            lambda: self._saver.save(
                self._session, place, self._step, delta=delta, write_meta_graph=False
            )
        )
        if is_delta != delta:
            raise RuntimeError("%s: asked for delta=%s, got delta=%s" % (prefix, delta, is_delta))
        if not delta:
            self._full = prefix
        return dict(answer, disk_bytes=_disk_bytes(prefix))

    def _restore(self):
        with tf1.Session() as session:
            answer, _ = _measured(lambda: self._saver.full.restore(session, self._full))
            rows, table_bytes = session.run([self._size, self._bytes])
        answer["extra_bytes"] = max(0, answer["extra_bytes"] - int(table_bytes))
        if rows != len(self._resident):
            raise RuntimeError("%s: %d rows restored" % (self._full, rows))
        return dict(answer, disk_bytes=_disk_bytes(self._full))


def _measured(call):
    """Seconds of `call()` and the peak of its memory above what was resident before."""
    os.sync()  # Else the call waits for an earlier one's bytes.
    before = resident_bytes()
    forget_peak()
    start = time.perf_counter()
    result = call()
    took = time.perf_counter() - start
    return {"seconds": [took], "extra_bytes": peak_resident_bytes() - before}, result
