"""Memory of a full table, and what saving and restoring all of it costs."""

import os
import shutil
import time

import numpy as np
import tensorflow as tf

from benchmarks.resources import forget_peak, peak_resident_bytes, resident_bytes
from benchmarks.scenarios.toy_model import initialize, train_op
from benchmarks.system import SLOTS

tf1 = tf.compat.v1


def payload_bytes_per_row(system):
    """What a row cannot do without: an int64 id, the embedding and the optimizer's slots."""
    return 8 + 4 * system.dim * (1 + SLOTS[system.optimizer])


def _disk_bytes(prefix):
    folder = os.path.dirname(prefix)
    return sum(
        os.path.getsize(os.path.join(path, name))
        for path, _, names in os.walk(folder)
        for name in names
        if os.path.join(path, name).startswith(prefix)
    )


class Checkpoint:
    """Measures "save/<saver>" and "restore/<saver>" of a table grown by training steps.

    Facts: the table's `rows`, `bytes_per_row` that growing it added to the process, and
    `payload_bytes`, which every system is held to have saved whatever it wrote.
    """

    def __init__(self, system, workload, folder):
        self._system = system
        self._folder = folder
        self._session = tf1.Session()
        self._ids = tf1.placeholder(tf.int64, [None], name="ids")
        table = system.add_table("table", workload.rows)
        self._train = train_op(system, system.best_way, table, self._ids)
        if system.grows:
            self._rows = self._grow(system.size(table), workload)
        else:
            self._rows = self._allocate(workload)
        self._savers = {kind: system.saver(kind) for kind in system.savers}
        self._saved = {}

    def _grow(self, size, workload):
        initialize(self._session, self._system)
        # The first step's buffers, which later steps reuse, are not the table's.
        self._session.run(self._train, {self._ids: workload.fresh(0)})
        before = resident_bytes()
        for step in range(1, workload.fresh_steps()):
            self._session.run(self._train, {self._ids: workload.fresh(step)})
        rows = int(self._session.run(size))
        self._bytes_per_row = (resident_bytes() - before) / float(rows - workload.ids_per_step)
        return rows

    def _allocate(self, workload):
        before = resident_bytes()
        initialize(self._session, self._system)
        numbers = np.arange(workload.ids_per_step) % workload.rows
        self._session.run(self._train, {self._ids: numbers})
        self._bytes_per_row = (resident_bytes() - before) / float(workload.rows)
        # Row numbers are not saved, ids are: a variable of ids makes the saved bytes the same.
        ids = tf1.get_variable(
            "ids", [workload.rows], tf.int64, tf1.zeros_initializer(), use_resource=True
        )
        self._session.run(ids.initializer)
        return workload.rows

    def facts(self):
        return {
            "rows": self._rows,
            "bytes_per_row": self._bytes_per_row,
            "payload_bytes": self._rows * payload_bytes_per_row(self._system),
        }

    def measures(self):
        names = ["save/" + kind for kind in self._savers]
        names += ["restore/" + k for k, saver in self._savers.items() if hasattr(saver, "restore")]
        return names

    def measure(self, name, seconds):
        """Seconds of one call, its extra memory and the bytes it wrote. Ignores `seconds`."""
        del seconds
        action, kind = name.split("/")
        os.sync()  # Else the call waits for an earlier one's bytes.
        steady = resident_bytes()
        forget_peak()
        start = time.perf_counter()
        if action == "save":
            home = os.path.join(self._folder, kind)
            shutil.rmtree(home, ignore_errors=True)
            os.makedirs(home)
            start = time.perf_counter()
            self._saved[kind] = self._savers[kind].save(
                self._session, os.path.join(home, "model.ckpt")
            )
        else:
            self._savers[kind].restore(self._session, self._saved[kind])
        took = time.perf_counter() - start
        return {
            "seconds": [took],
            "extra_bytes": peak_resident_bytes() - steady,
            "disk_bytes": _disk_bytes(self._saved[kind]),
        }
