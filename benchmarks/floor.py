"""No table at all: what a Session and the model around the table cost by themselves."""

import tensorflow as tf

from benchmarks.system import System


class Floor(System):
    """Feeds the ids and makes a constant output of a lookup's size; trains nothing."""

    uses_row_numbers = True
    grows = False
    lookup_ways = ("raw",)
    train_ways = ("raw",)
    best_way = "raw"

    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._sources = []

    def add_table(self, name, rows):
        return name

    def lookup(self, table, ids):
        # Depends on the ids, else TensorFlow folds it into a constant before the first step.
        value = tf.cast(tf.reshape(ids, [-1])[0], tf.float32)
        return tf.fill([tf.size(ids), self.dim], value)

    def embed(self, table, ids, distinct=False):
        self._sources.append(self.lookup(table, ids))
        return self._sources[-1]

    def sources(self):
        return self._sources

    def apply(self, gradients):
        self._sources = []
        # A stateful op that only reads them: TensorFlow drops whatever nothing stateful needs.
        return tf.raw_ops.Assert(condition=True, data=list(gradients))
