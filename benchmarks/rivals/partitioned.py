"""TensorFlow's own on parameter servers: a `PartitionedVariable`, one part a server."""

import tensorflow as tf

from benchmarks.rivals.variable import Variable
from benchmarks.scenarios.servers import SERVERS
from benchmarks.system import uniform_initializer

tf1 = tf.compat.v1


class Partitioned(Variable):
    train_ways = ("raw", "unique")

    def add_table(self, name, rows):
        variable = tf1.get_variable(
            name,
            [rows, self.dim],
            initializer=uniform_initializer(),
            partitioner=tf1.fixed_size_partitioner(SERVERS),
            use_resource=True,
        )
        self._variables += list(variable)
        return variable

    def lookup(self, table, ids):
        return tf1.nn.embedding_lookup(table, ids, partition_strategy="div")

    def embed(self, table, ids, distinct=False):
        return self.lookup(table, ids)
