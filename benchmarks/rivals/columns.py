"""TensorFlow's feature columns: ids hashed into a fixed number of buckets; they may collide."""

import tensorflow as tf

from benchmarks.system import System, tensorflow_optimizer, uniform_initializer

tf1 = tf.compat.v1


class Columns(System):
    grows = False
    train_ways = ("raw",)
    best_way = "raw"

    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._optimizer = tensorflow_optimizer(optimizer)
        self._variables = []

    def add_table(self, name, rows):
        category = tf.feature_column.categorical_column_with_hash_bucket(name, rows, dtype=tf.int64)
        return tf.feature_column.embedding_column(
            category, self.dim, initializer=uniform_initializer()
        )

    def lookup(self, table, ids):
        features = {table.categorical_column.name: ids}
        variables = {}
        output = tf1.feature_column.input_layer(features, [table], cols_to_vars=variables)
        self._variables += variables[table]
        return output

    def embed(self, table, ids, distinct=False):
        return self.lookup(table, ids)

    def sources(self):
        return self._variables

    def apply(self, gradients):
        return self._optimizer.apply_gradients(list(zip(gradients, self._variables)))
