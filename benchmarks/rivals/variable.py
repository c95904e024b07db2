"""TensorFlow's own: a fixed `tf.Variable`, indexed by row number, with TensorFlow's optimizers.

It hashes nothing and cannot grow. Its AdamOptimizer is not lazy: every step passes over all rows.
"""

import tensorflow as tf

from benchmarks.system import System, tensorflow_optimizer, uniform_initializer

tf1 = tf.compat.v1


class Variable(System):
    uses_row_numbers = True
    grows = False
    best_way = "raw"

    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._optimizer = tensorflow_optimizer(optimizer)
        self._variables = []

    def add_table(self, name, rows):
        variable = tf1.get_variable(
            name, [rows, self.dim], initializer=uniform_initializer(), use_resource=True
        )
        self._variables.append(variable)
        return variable

    def lookup(self, table, ids):
        return tf.nn.embedding_lookup(table, ids)

    def embed(self, table, ids, distinct=False):
        return tf.nn.embedding_lookup(table, ids)

    def sources(self):
        return self._variables

    def apply(self, gradients):
        return self._optimizer.apply_gradients(list(zip(gradients, self._variables)))
