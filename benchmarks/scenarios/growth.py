"""A table that only grows: every id of every step is new, from empty to `workload.rows` rows."""

import time

import tensorflow as tf

from benchmarks.scenarios.toy_model import initialize, train_op

tf1 = tf.compat.v1


class Growth:
    """Measures "grow" (training steps on new ids) and "insert" (rows only), each from empty."""

    def __init__(self, system_class, dim, optimizer, workload):
        self._make_system = lambda: system_class(dim, optimizer)
        self._workload = workload
        self._steps = [workload.fresh(step) for step in range(workload.fresh_steps())]

    def measures(self):
        return ["grow", "insert"]

    def measure(self, name, seconds):
        """Seconds of each step but the first, which plans the graph. Ignores `seconds`."""
        del seconds
        with tf.Graph().as_default(), tf1.Session() as session:
            system = self._make_system()
            ids = tf1.placeholder(tf.int64, [None], name="ids")
            table = system.add_table("table", self._workload.rows)
            train = train_op(system, system.best_way, table, ids)
            insert = system.insert(table, ids)
            size = system.size(table)
            initialize(session, system)
            session.run(train, {ids: self._steps[0]})  # Insert alone does not make slots.
            if name == "insert":
                session.run(insert, {ids: self._steps[0]})
            durations = []
            for batch in self._steps[1:]:
                start = time.perf_counter()
                session.run(train if name == "grow" else insert, {ids: batch})
                durations.append(time.perf_counter() - start)
            return {"seconds": durations, "rows": int(session.run(size))}
