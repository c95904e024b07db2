"""estimator_plugin: growing tables, through its public API as a model_fn uses it."""

import tensorflow as tf

import estimator_plugin as ep
from benchmarks.system import (
    ADAM_LEARNING_RATE,
    INITIAL_ACCUMULATOR,
    LEARNING_RATE,
    StockSaver,
    System,
    uniform_initializer,
)
from estimator_plugin.ops import lookup_ops
from estimator_plugin.optimizers import adagrad, gradient_descent, lazy_adam


def _optimizer(name):
    if name == "sgd":
        return gradient_descent.create_hash_optimizer(LEARNING_RATE)
    if name == "adagrad":
        return adagrad.create_hash_optimizer(
            LEARNING_RATE, initial_accumulator_value=INITIAL_ACCUMULATOR
        )
    return lazy_adam.create_hash_optimizer(ADAM_LEARNING_RATE)


class Ours(System):
    lookup_ways = ("raw", "unique")
    train_ways = ("raw",)
    best_way = "raw"  # It tells repeated ids apart by row while it updates, not before.
    savers = ("stock", "streaming")

    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._optimizer = _optimizer(optimizer)
        self._tables = []

    def add_table(self, name, rows):
        table = ep.create_table(
            key_dtype=tf.int64, dim=self.dim, name=name, emb_initializer=uniform_initializer()
        )
        self._tables.append(table)
        return table

    def lookup(self, table, ids):
        return ep.sparse_lookup(table, ids)

    def lookup_by(self, way, table, ids):
        if way == "raw":
            return self.lookup(table, ids)
        unique = lookup_ops.table_unique_lookup(table.handle, ids, dim=self.dim, insert=True)
        return tf.gather(unique.embeddings, unique.indices)

    def embed(self, table, ids, distinct=False):
        return ep.sparse_lookup(table, ids)

    def sources(self):
        return [table.handle for table in self._tables]

    def apply(self, gradients):
        return self._optimizer.apply_gradients(list(zip(gradients, self._tables)))

    def insert(self, table, ids):
        return ep.sparse_lookup(table, ids).op

    def size(self, table):
        return table.size()

    def initializers(self):
        return [table.initializer for table in self._tables]

    def saver(self, kind):
        if kind == "streaming":
            return StockSaver(ep.checkpoint.saver())
        return super().saver(kind)

    def incremental_saver(self):
        return ep.checkpoint.IncrementalSaver(ep.checkpoint.saver())


class Pipelined(Ours):
    """With the work on ids moved out of the step, into the input pipeline."""

    def embed(self, table, ids, distinct=False):
        return ep.sparse_lookup(table, ids, modify_graph=True)

    @staticmethod
    def hooks():
        return [ep.hooks.GraphModifierHook()]
