"""Where a model's embeddings live: hash tables, or `tf.Variable`s to compare with.

All offer the same few operations, so that the builder does not know which it has. Stacked tables
are in sparse_core_embeddings.py.
"""

import abc
import collections

import tensorflow as tf

from estimator_plugin.lookup import sparse_lookup
from estimator_plugin.table import create_table

from .ids import NO_ID


class Embeddings(abc.ABC):
    """Tables of one model, made when they are first looked up in."""

    def __init__(self):
        self._tables = collections.OrderedDict()

    def table(self, spec):
        """The table of a `TableSpec`, made on the first call."""
        if spec.name not in self._tables:
            self._tables[spec.name] = self._create(spec)
        return self._tables[spec.name]

    def gradient_targets(self):
        """What to differentiate the loss by: one tensor or variable per table, oldest first."""
        return [self._gradient_target(table) for table in self._tables.values()]

    def row_counts(self):
        """Ordered dict from table name to the number of its rows, an int64 scalar tensor."""
        return collections.OrderedDict((n, self._rows(t)) for n, t in self._tables.items())

    def lookup_all(self, groups):
        """Looks up in all tables of a model; called once.

        Args:
          groups: dict from a name to a list of (`CategoricalFeature`, its ids).

        Returns:
          Dict from the same names to ordered dicts from feature name to embeddings `[batch, dim]`.
        """
        found = {}
        for group, members in groups.items():
            found[group] = collections.OrderedDict()
            for feature, ids in members:
                found[group][feature.name] = self.lookup(
                    feature.table,
                    ids,
                    feature.combiner,
                    "%s_lookup" % feature.name,
                    feature.access_and_evict_config(),
                )
        return found

    @abc.abstractmethod
    def lookup(self, spec, ids, combiner, name, config=None):
        """Embeddings `[batch, dim]` of int64 ids.

        Without a combiner ids are `[batch]`, with one `[batch, n]`, sparse or ragged. `config` is
        `sparse_lookup`'s access_and_evict_config; variables have no use for it.
        """

    @abc.abstractmethod
    def apply_gradients(self, optimizers, gradients):
        """An op that updates the tables; `gradients` are in the order of `gradient_targets`."""

    @abc.abstractmethod
    def _create(self, spec):
        pass

    @abc.abstractmethod
    def _gradient_target(self, table):
        pass

    @abc.abstractmethod
    def _rows(self, table):
        pass


class HashTableEmbeddings(Embeddings):
    """Tables made by `create_table`. Rows appear when an id is first looked up in training."""

    def __init__(self, training, modify_graph=False):
        super().__init__()
        self._training = training
        self._modify_graph = modify_graph

    def lookup(self, spec, ids, combiner, name, config=None):
        return sparse_lookup(
            self.table(spec),
            ids,
            is_train=self._training,
            name=name,
            modify_graph=self._modify_graph,
            combiner=combiner,
            access_and_evict_config=config,
        )

    def apply_gradients(self, optimizers, gradients):
        pairs = list(zip(gradients, self._tables.values()))
        return optimizers.sparse().apply_gradients(pairs)

    def _create(self, spec):
        return create_table(
            key_dtype=tf.int64,
            dim=spec.dim,
            name=spec.name,
            emb_initializer=spec.make_initializer(),
            admission=spec.admission,
            eviction=spec.eviction,
        )

    def _gradient_target(self, table):
        return table.handle

    def _rows(self, table):
        return table.size()


class VariableEmbeddings(Embeddings):
    """`tf.Variable`s of a fixed number of rows; an id's row is the id modulo the rows."""

    def lookup(self, spec, ids, combiner, name, config=None):
        variable = self.table(spec)
        with tf.compat.v1.name_scope(name):
            if combiner is None:
                return self._one_id(variable, spec, ids)
            pooled = tf.nn.safe_embedding_lookup_sparse(
                variable, as_rows(ids, spec.variable_rows), combiner=combiner
            )
            return tf.reshape(pooled, [-1, spec.dim])

    def apply_gradients(self, optimizers, gradients):
        pairs = list(zip(gradients, self._tables.values()))
        return optimizers.variable().apply_gradients(pairs)

    @staticmethod
    def _one_id(variable, spec, ids):
        rows = tf.nn.embedding_lookup(variable, tf.math.floormod(ids, spec.variable_rows))
        present = tf.cast(tf.not_equal(ids, NO_ID), tf.float32)
        return rows * tf.expand_dims(present, 1)

    def _create(self, spec):
        return tf.compat.v1.get_variable(
            "embeddings/" + spec.name,
            (spec.variable_rows, spec.dim),
            tf.float32,
            initializer=spec.make_initializer(),
            use_resource=True,
        )

    def _gradient_target(self, table):
        return table

    def _rows(self, table):
        return tf.constant(int(table.shape[0]), tf.int64)


def make_embeddings(kind, training, modify_graph=False):
    """The embeddings of `kind` "hash_table" or "variable"."""
    if kind == "hash_table":
        return HashTableEmbeddings(training, modify_graph)
    return VariableEmbeddings()


def as_rows(ids, rows):
    """Ids as a SparseTensor of row numbers, without the absent ones."""
    if isinstance(ids, tf.RaggedTensor):
        ids = ids.to_sparse()
    if not isinstance(ids, tf.SparseTensor):
        indices = tf.where(tf.not_equal(ids, NO_ID))
        ids = tf.SparseTensor(indices, tf.gather_nd(ids, indices), tf.shape(ids, out_type=tf.int64))
    else:
        ids = tf.sparse.retain(ids, tf.not_equal(ids.values, NO_ID))
    return tf.SparseTensor(ids.indices, tf.math.floormod(ids.values, rows), ids.dense_shape)
