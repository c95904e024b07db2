"""TensorFlow Recommenders Addons 0.7.2: dynamic_embedding, a cuckoo hash table on the CPU."""

import tensorflow as tf
from tensorflow_recommenders_addons import dynamic_embedding

from benchmarks.system import System, tensorflow_optimizer, uniform_initializer


class Tfra(System):
    train_ways = ("unique",)  # As its embedding_lookup_unique does; without it, it is slower.

    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._optimizer = dynamic_embedding.DynamicEmbeddingOptimizer(
            tensorflow_optimizer(optimizer)
        )
        self._sources = []

    def add_table(self, name, rows):
        return dynamic_embedding.get_variable(
            name,
            key_dtype=tf.int64,
            value_dtype=tf.float32,
            dim=self.dim,
            devices=["/CPU:0"],
            initializer=uniform_initializer(),
        )

    def lookup(self, table, ids):
        return table.lookup(ids)

    def embed(self, table, ids, distinct=False):
        # The lookup is copied into a shadow variable, which is what its optimizers update.
        embedding, shadow = dynamic_embedding.embedding_lookup(
            table, ids, name="lookup_%d" % len(self._sources), return_trainable=True
        )
        self._sources.append(shadow)
        return embedding

    def sources(self):
        return self._sources

    def apply(self, gradients):
        pairs = list(zip(gradients, self._sources))
        self._sources = []
        return self._optimizer.apply_gradients(pairs)

    def insert(self, table, ids):
        shape = [tf.size(ids), self.dim]
        return table.upsert(ids, uniform_initializer()(shape, tf.float32))

    def size(self, table):
        return table.size()
