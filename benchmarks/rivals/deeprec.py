"""DeepRec's EmbeddingVariable, as the wheel deepray 0.21.97 ships its C++ for TensorFlow 2.15.

Driven through its registered ops, as its Python layer drives them: the optimizer's slots live in
the record of the value, rows are looked up by KvResourceGather and updated by
KvResourceSparseApply*. Restoring needs that Python layer, so it is not measured.
"""

import glob
import os
import sys

import tensorflow as tf

from benchmarks.system import (
    ADAM_LEARNING_RATE,
    INITIAL_ACCUMULATOR,
    LEARNING_RATE,
    SLOTS,
    System,
    uniform_initializer,
)

tf1 = tf.compat.v1

_INITIAL_ROWS = 4096  # A new row copies row `id mod 4096` of a matrix.
_LIBRARY = "lib/python3*/site-packages/deepray/custom_ops/embedding_variable/_kv_variable_ops.so"


def load_ops():
    """The module of its ops, from the environment that this interpreter belongs to."""
    return tf.load_op_library(glob.glob(os.path.join(sys.prefix, _LIBRARY))[0])


class _EmbeddingVariable:
    """The value of a table, or one of its slots."""

    def __init__(self, ops, name, dim, initial_rows, layout):
        """`layout` is (number of slots, own slot index, the value's _EmbeddingVariable or None)."""
        slots, index, primary = layout
        self.name = name
        self.handle = ops.kv_var_handle_op(
            shape=[dim], dtype=tf.float32, Tkeys=tf.int64, shared_name=name, name=name
        )
        with tf.control_dependencies([primary.initializer] if primary else []):
            self.initializer = ops.initialize_kv_variable_v2_op(
                self.handle,
                primary.handle if primary else self.handle,
                initial_rows,
                tf.constant(-1, tf.int64),
                shape=[dim],
                counter_type=tf.uint64,
                slot_num=slots,
                slot_index=index,
                ht_partition_num=1000,
                default_value_dim=_INITIAL_ROWS,
                storage_type=1,  # DRAM.
                storage_path="",
                storage_size=[1 << 30] * 4,
            )


class _Table:
    def __init__(self, ops, name, dim, slots):
        rows = uniform_initializer()([_INITIAL_ROWS, dim], tf.float32)
        self.value = _EmbeddingVariable(ops, name, dim, rows, (slots, 0, None))
        first = INITIAL_ACCUMULATOR if slots == 1 else 0.0
        self.slots = [
            _EmbeddingVariable(
                ops,
                "%s/slot_%d" % (name, i),
                dim,
                tf.fill([_INITIAL_ROWS, dim], first),
                (slots, i, self.value),
            )
            for i in range(1, slots + 1)
        ]


class _SaveV3:
    """Saves one table's value and slots. Must be made before the graph is used."""

    def __init__(self, ops, table):
        parts = [table.value] + table.slots
        resources = [
            ops.kv_resource_lookup_resource(part.handle, Tkeys=tf.int64, dtype=tf.float32)
            for part in parts
        ]
        self._prefix = tf1.placeholder(tf.string, [])
        self._save = ops.save_v3(
            self._prefix,
            ["unused"],
            [""],
            [part.name for part in parts],
            resources,
            [tf.constant(0.0)],
            [tf.int64] * len(parts),
            True,
        )

    def save(self, session, prefix):
        session.run(self._save, {self._prefix: prefix})
        return prefix


class DeepRec(System):
    def __init__(self, dim, optimizer):
        super().__init__(dim, optimizer)
        self._ops = load_ops()
        self._tables = []
        self._lookups = []  # Of training: (table, ids, embeddings, distinct).

    def add_table(self, name, rows):
        self._tables.append(_Table(self._ops, name, self.dim, SLOTS[self.optimizer]))
        return self._tables[-1]

    def lookup(self, table, ids):
        rows = self._ops.kv_resource_gather(table.value.handle, ids, tf.constant(1.0))
        return tf.reshape(rows, [-1, self.dim])

    def embed(self, table, ids, distinct=False):
        embedding = self.lookup(table, ids)
        self._lookups.append((table, ids, embedding, distinct))
        return embedding

    def sources(self):
        return [embedding for _, _, embedding, _ in self._lookups]

    def apply(self, gradients):
        updates = [
            self._update(table, *self._summed(ids, gradient, distinct))
            for (table, ids, _, distinct), gradient in zip(self._lookups, gradients)
        ]
        self._lookups = []
        return tf.group(*updates)

    @staticmethod
    def _summed(ids, gradient, distinct):
        """One gradient per distinct id, as its optimizers want them."""
        if not distinct:
            ids, index = tf.unique(ids)
            return ids, tf.math.unsorted_segment_sum(gradient, index, tf.size(ids))
        if isinstance(gradient, tf.IndexedSlices):
            return ids, tf.math.unsorted_segment_sum(
                gradient.values, gradient.indices, tf.size(ids)
            )
        return ids, gradient

    def _update(self, table, ids, gradient):
        ops, value, slots = self._ops, table.value.handle, [slot.handle for slot in table.slots]
        step = tf1.train.get_or_create_global_step()
        if self.optimizer == "sgd":
            return ops.kv_resource_sparse_apply_gradient_descent(
                value, LEARNING_RATE, gradient, ids, step
            )
        if self.optimizer == "adagrad":
            return ops.kv_resource_sparse_apply_adagrad(
                value, slots[0], LEARNING_RATE, gradient, ids, step
            )
        beta1, beta2, epsilon = 0.9, 0.999, 1e-8
        # The powers of beta stand still, which changes the numbers but not the work.
        rates = (beta1, beta2, ADAM_LEARNING_RATE, beta1, beta2, epsilon)
        return ops.kv_resource_sparse_apply_adam(
            *([value] + slots + list(rates) + [gradient, ids, step])
        )

    def insert(self, table, ids):
        # A lookup alone makes no row; an update by zero does and leaves it as it starts.
        return self._update(table, ids, tf.zeros([tf.size(ids), self.dim]))

    def size(self, table):
        shape = self._ops.kv_variable_shape(table.value.handle, Tkeys=tf.int64, dtype=tf.float32)
        return shape[0]

    def initializers(self):
        return [part.initializer for table in self._tables for part in [table.value] + table.slots]

    def estimator_initializers(self):
        return self.initializers()

    def saver(self, kind):
        return _SaveV3(self._ops, self._tables[0])
