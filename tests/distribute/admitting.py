"""A table with thresholds on any number of servers, and all that admission and eviction go by."""

import contextlib

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.ops import table_ops, transfer_ops
from tests.distribute import in_process
from tests.plugin import support

v1 = tf.compat.v1
REFUSED = 9.0  # What an id without a row reads.
_SAVERS = {"streaming": ep.checkpoint.saver, "stock": v1.train.Saver}


class Admitting:
    """A table of rows of ones, trained by two lookups that read one batch, in the default graph.

    Args:
      count: int, servers; 0 is none.
      saver: "streaming" or "stock".
      table: keyword arguments of create_table.
      **thresholds: access_threshold, eviction_threshold, faae_coefficient.
    """

    def __init__(self, count, saver="streaming", table=None, **thresholds):
        self.count = count
        self.target = in_process.target(count)
        with in_process.placed_on(count):
            self.ids = v1.placeholder(tf.int64, [None])
            self.now = v1.placeholder(tf.int64, [])
            self.table = support.table("user", 2, **(table or {}))
            step = v1.train.get_or_create_global_step()
            v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, self.now)
            self.found = [
                ep.sparse_lookup(
                    self.table,
                    part,
                    serving_default_value=REFUSED,
                    access_and_evict_config=thresholds,
                )
                for part in (self.ids[::2], self.ids[1::2])
            ]
            loss = tf.add_n([tf.reduce_sum(tf.square(rows)) for rows in self.found])
            sgd = ep.optimizers.gradient_descent.create_hash_optimizer(0.125)
            self.train_op = sgd.minimize(loss, step)
            self.threshold = v1.placeholder(tf.int32, [None])
            self.set_threshold = ep.import_host_pipeline_ops().set_threshold(self.threshold)
            self.statistics = self.table.statistics()
            self.content = [_content(self.table, part) for part in self.table.partitions]
            self.saver = _SAVERS[saver]()
        self.session = None

    @contextlib.contextmanager
    def running(self, restore=None):
        with v1.Session(self.target) as self.session:
            if restore is None:
                support.initialize(self.session)
            else:
                self.saver.restore(self.session, restore)
            yield self

    def step(self, ids, now):
        """What the ids of a batch read before its update, in the order of the batch."""
        feed = {self.ids: ids, self.now: now}
        first, second = self.session.run([self.found, self.train_op], feed)[0]
        rows = np.empty([len(ids), 2], np.float32)
        rows[::2], rows[1::2] = first, second
        return rows.tolist()

    def change(self, threshold):
        assert self.session.run(self.set_threshold, {self.threshold: [threshold]}) == 1

    def save(self, path):
        return self.saver.save(self.session, path, write_meta_graph=False)

    def state(self):
        """(rows, waiting keys, statistics); rows and keys with their counts and times."""
        rows, waiting = {}, {}
        for content, kept in self.session.run(self.content):
            keys, values, counts, seen = [np.concatenate(part).tolist() for part in content[2:]]
            rows.update({k: (v[:2], c, s) for k, v, c, s in zip(keys, values, counts, seen)})
            keys, counts, seen = [np.concatenate(part).tolist() for part in kept[:3]]
            waiting.update(zip(keys, zip(counts, seen)))
        values = dict(zip(table_ops.STATISTICS, self.session.run(self.statistics).tolist()))
        # Of servers these say what keys, not ids, met with; and pages are not those of one process.
        for name in ("bytes", "keys_looked_up", "keys_found", "keys_refused"):
            del values[name]
        return rows, waiting, values


def _content(table, partition):
    head = table.partitions[0]
    with tf.device(head.device):
        meta = transfer_ops.table_new_save(head.handle)
    with tf.device(partition.device):
        return (
            transfer_ops.table_export(partition.handle, partition.num_buckets(), meta),
            transfer_ops.table_export_waiting(partition.handle, partition.num_buckets()),
        )


def batches(count, seed=0):
    """`count` pairs of ids and a time: many ids are seen once, some often, key -1 among them."""
    random = np.random.RandomState(seed)
    return [
        (np.minimum(random.zipf(1.4, 60), 500).astype(np.int64) - 2, 100 * (seed * 100 + i + 1))
        for i in range(count)
    ]
