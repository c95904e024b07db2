"""Steady state: lookups and training steps on a table whose every id has a row."""

import contextlib
import itertools

import tensorflow as tf

from benchmarks.resources import time_steps
from benchmarks.scenarios.toy_model import initialize, train_op

tf1 = tf.compat.v1


class Step:
    """Measures "lookup/<way>" and "train/<way>": seconds per step of the workload."""

    def __init__(self, system, workload):
        self._system = system
        self._session = self.make_session()
        self._ids = tf1.placeholder(tf.int64, [None], name="ids")
        with self.placement():
            table = system.add_table("table", workload.rows)
            self._ops = {
                "train/" + way: train_op(system, way, table, self._ids) for way in system.train_ways
            }
            for way in self.lookup_ways():
                self._ops["lookup/" + way] = tf.identity(system.lookup_by(way, table, self._ids)).op
            insert = system.insert(table, self._ids) if system.grows else None
            initialize(self._session, system)
        self._fill(insert, workload)
        batches = workload.warm_row_numbers() if system.uses_row_numbers else workload.warm()
        self._batches = itertools.cycle(batches)
        for _ in range(workload.batches):  # Every batch once: rows that lack slots get them.
            self._run("train/" + system.best_way)

    def placement(self):
        """Where the graph is built."""
        return contextlib.nullcontext()

    def make_session(self):
        return tf1.Session()

    def lookup_ways(self):
        return self._system.lookup_ways

    def _fill(self, insert, workload):
        if insert is None:
            return
        for batch in workload.resident():
            self._session.run(insert, {self._ids: batch})

    def _run(self, name):
        self._session.run(self._ops[name], {self._ids: next(self._batches)})

    def measures(self):
        return sorted(self._ops)

    def measure(self, name, seconds):
        return {"seconds": time_steps(lambda: self._run(name), seconds)}
