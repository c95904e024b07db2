"""A table whose saves are made to fail, and what makes them."""

import os
import resource

import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1


class Run:
    """A table, an IncrementalSaver and a session."""

    def __init__(self, directory, basename="model.ckpt", keep=3):
        self.directory = str(directory)
        self.basename = basename
        self.table = support.table("t", num_buckets=4)
        self.keys = v1.placeholder(tf.int64, [None])
        rows = ep.sparse_lookup(self.table, self.keys)
        optimizer = ep.optimizers.gradient_descent.create_hash_optimizer(0.01)
        self.train = optimizer.minimize(tf.reduce_sum(rows))
        self.removed = self.table.remove(self.keys)
        self.saver = ep.checkpoint.IncrementalSaver(ep.checkpoint.saver(max_to_keep=keep))

    def touch(self, session, *keys):
        session.run(self.train, {self.keys: list(keys)})

    def save(self, session, step, delta=True):
        path = os.path.join(self.directory, self.basename)
        return self.saver.save(session, path, step, delta=delta)


def restored(directory, keys, prefix=None):
    prefix = prefix or tf.train.latest_checkpoint(str(directory))
    with tf.Graph().as_default(), v1.Session() as session:
        table = support.table("t", num_buckets=4)
        ep.checkpoint.saver().restore(session, prefix)
        ids = tf.constant(keys, tf.int64)
        found = session.run(ep.sparse_lookup(table, ids, is_train=False))
        return {key: round(float(x), 6) for key, x in zip(keys, found[:, 0])}


class FileLimit:
    """Files cannot grow above so many bytes: a full disk for those that are written."""

    def __init__(self, size):
        self._size = size

    def __enter__(self):
        self._old = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._old[1]))

    def __exit__(self, *unused):
        resource.setrlimit(resource.RLIMIT_FSIZE, self._old)
