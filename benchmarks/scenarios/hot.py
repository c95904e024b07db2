"""Popular ids: lookup and update of every id, or of each distinct id once, by how ids are drawn."""

import itertools

import tensorflow as tf

import estimator_plugin as ep
from benchmarks.resources import time_steps
from benchmarks.scenarios.toy_model import initialize, toy_loss
from estimator_plugin.ops import lookup_ops

tf1 = tf.compat.v1


class Hot:
    """Measures "zipf/<way>" and "uniform/<way>": seconds per lookup and update of a batch.

    Way "raw" is what `sparse_lookup` does, which tells repeated ids apart by row while it updates.
    Way "unique" makes ids distinct, reads and updates each of them once, and spreads rows over ids.
    """

    def __init__(self, system, workload):
        self._session = tf1.Session()
        self._ids = tf1.placeholder(tf.int64, [None], name="ids")
        table = system.add_table("table", workload.rows)
        distinct = lookup_ops.table_unique_lookup(table.handle, self._ids, system.dim, insert=True)
        embeddings = {
            "raw": ep.sparse_lookup(table, self._ids),
            "unique": tf.gather(distinct.embeddings, distinct.indices),
        }
        self._train = {}
        for way, embedding in embeddings.items():
            loss = toy_loss(embedding, system.dim)
            self._train[way] = system.apply(tf.gradients(loss, system.sources()))
        initialize(self._session, system)
        for batch in workload.resident():
            self._session.run(embeddings["raw"].op, {self._ids: batch})
        batches = {"zipf": workload.warm(), "uniform": workload.uniform()}
        self._batches = {name: itertools.cycle(drawn) for name, drawn in batches.items()}

    def measures(self):
        return sorted("%s/%s" % pair for pair in itertools.product(self._batches, self._train))

    def measure(self, name, seconds):
        drawn, way = name.split("/")
        batches, op = self._batches[drawn], self._train[way]
        run = self._session.run
        return {"seconds": time_steps(lambda: run(op, {self._ids: next(batches)}), seconds)}
