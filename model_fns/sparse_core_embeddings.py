"""Embeddings on stacked tables of `estimator_plugin.sparse_core`."""

import collections
import dataclasses
from typing import Any, Optional

import tensorflow as tf

import estimator_plugin as ep  # ep.sparse_core loads when used: old TensorFlow lacks its classes.
from estimator_plugin import validate

from .embeddings import Embeddings, as_rows

_OWNER = "SparseCoreOptions"


@dataclasses.dataclass(frozen=True)
class SparseCoreOptions:
    """What `ModelOptions(embedding="sparse_core")` needs to know beside the features.

    Args:
      batch_size: examples of a training batch, all replicas together, a multiple of num_replicas *
        num_sc_per_chip. A smaller batch is filled up with examples that have no ids; a larger one
        is an error.
      evaluation_batch_size: the same for evaluation, prediction and served requests; default None
        is batch_size.
      num_replicas: default 1.
      num_sc_per_chip: default 4; num_replicas * num_sc_per_chip is a power of two.
      pipelined: default False. Whether updates are one step late, see `TPUEmbeddingV2`.
      config: a `SparseCoreEmbeddingConfig`; default None is its defaults. A stack of which it names
        no limits has none but the room of its ids, max_ids_per_chip_per_sample.

    Raises:
      ValueError: a value is out of range.
    """

    batch_size: int
    evaluation_batch_size: Optional[int] = None
    num_replicas: int = 1
    num_sc_per_chip: int = 4
    pipelined: bool = False
    config: Optional[Any] = None

    def __post_init__(self):
        topology = ep.sparse_core.plan.Topology(self.num_replicas, self.num_sc_per_chip)
        shards = topology.num_replicas * topology.num_sc_per_chip
        for field in ("batch_size", "evaluation_batch_size"):
            value = getattr(self, field)
            if value is None and field == "evaluation_batch_size":
                continue
            validate.integer(_OWNER, field, value, 1, validate.INT32_MAX)
            if value % shards:
                validate.fail(_OWNER, field, value, "a multiple of %d, the shards" % shards)
        validate.boolean(_OWNER, "pipelined", self.pipelined)
        if not isinstance(self.config, (type(None), ep.sparse_core.SparseCoreEmbeddingConfig)):
            validate.fail(_OWNER, "config", self.config, "None or a SparseCoreEmbeddingConfig")

    def batch_size_of(self, training):
        """The examples a call makes room for."""
        if training or self.evaluation_batch_size is None:
            return self.batch_size
        return self.evaluation_batch_size


class SparseCoreEmbeddings(Embeddings):
    """Tables of `TableSpec.variable_rows` rows, stacked; an id's row is the id modulo the rows."""

    def __init__(self, options, optimizers, training):
        super().__init__()
        self._options = options
        self._optimizers = optimizers
        self._batch_size = options.batch_size_of(training)

    def lookup_all(self, groups):
        features = [feature for members in groups.values() for feature, _ in members]
        self._combiners = _combiners(features)
        config = {
            group: {feature.name: self._feature_config(feature) for feature, _ in members}
            for group, members in groups.items()
            if members
        }
        ids = {
            group: {feature.name: self._rows_of(feature, ids) for feature, ids in members}
            for group, members in groups.items()
            if members
        }
        if not config:
            return {group: collections.OrderedDict() for group in groups}
        self._embedding = self._make_embedding(config)
        self._activations, self._csr = self._embedding(ids)
        return {
            group: collections.OrderedDict(
                (f.name, self._activations[group][f.name][: _examples(ids)]) for f, ids in members
            )
            for group, members in groups.items()
        }

    def lookup(self, spec, ids, combiner, name, config=None):
        raise NotImplementedError("stacked tables are looked up in together, by lookup_all")

    def gradient_targets(self):
        return tf.nest.flatten(self._activations) if self._tables else []

    def apply_gradients(self, optimizers, gradients):
        structured = tf.nest.pack_sequence_as(self._activations, gradients)
        return self._embedding.apply_gradients(structured, self._csr)

    def _make_embedding(self, feature_config):
        options = self._options
        config = options.config or ep.sparse_core.SparseCoreEmbeddingConfig()
        optimizer = self._optimizers.sparse_core()
        topology = ep.sparse_core.plan.Topology(options.num_replicas, options.num_sc_per_chip)
        stacks = ep.sparse_core.plan.Plan(
            feature_config, optimizer, topology, config.disable_table_stacking
        )
        room = {
            name: stack.sample_count * config.max_ids_per_chip_per_sample
            for name, stack in stacks.stacks.items()
        }
        return ep.sparse_core.TPUEmbeddingV2(
            feature_config,
            optimizer,
            options.pipelined,
            dataclasses.replace(
                config,
                max_ids_per_table=dict(room, **(config.max_ids_per_table or {})),
                max_unique_ids_per_table=dict(room, **(config.max_unique_ids_per_table or {})),
            ),
            num_replicas=options.num_replicas,
            num_sc_per_chip=options.num_sc_per_chip,
        )

    def _feature_config(self, feature):
        shape = [self._batch_size // self._options.num_replicas]
        table = self.table(feature.table)
        return ep.sparse_core.FeatureConfig(table, output_shape=shape, name=feature.name)

    def _rows_of(self, feature, ids):
        """Row numbers as a SparseTensor; examples the batch lacks have none."""
        examples = tf.cast(_examples(ids), tf.int64)
        check = tf.compat.v1.assert_less_equal(
            examples,
            tf.constant(self._batch_size, tf.int64),
            message="feature %r: a batch has more examples than batch_size of SparseCoreOptions, "
            "%d" % (feature.name, self._batch_size),
        )
        if feature.combiner is None:
            ids = tf.expand_dims(ids, 1)
        with tf.control_dependencies([check]):
            rows = as_rows(ids, feature.table.variable_rows)
            return tf.SparseTensor(tf.identity(rows.indices), rows.values, rows.dense_shape)

    def _create(self, spec):
        return ep.sparse_core.TableConfig(
            spec.variable_rows,
            spec.dim,
            spec.make_initializer(),
            combiner=self._combiners[spec.name],
            name=spec.name,
        )

    def _gradient_target(self, table):
        raise NotImplementedError("gradients are those of the activations, see gradient_targets")

    def _rows(self, table):
        return tf.constant(table.vocabulary_size, tf.int64)


def check_features(features):
    """Refuses what only tables that grow can do.

    Args:
      features: list of `CategoricalFeature`.

    Raises:
      ValueError: a feature or its table asks for it, or features of one table differ in combiner.
    """
    for feature in features:
        for field in ("admission", "eviction"):
            if getattr(feature.table, field):
                _refuse("TableSpec %r" % feature.table.name, field)
        for field in ("access_threshold", "eviction_threshold"):
            if getattr(feature, field) not in (None, 0, -1):
                _refuse("CategoricalFeature %r" % feature.name, field)
        if feature.faae_coefficient != 1:
            _refuse("CategoricalFeature %r" % feature.name, "faae_coefficient")
    _combiners(features)


def _combiners(features):
    """Dict table name -> its combiner; features of one id an example go with any."""
    found = {}
    for feature in features:
        known = found.get(feature.table.name)
        if known is not None and feature.combiner not in (None, known):
            raise ValueError(
                "CategoricalFeature %r: combiner %r, but table %r has %r by another feature; with "
                'embedding="sparse_core" features of one table have one combiner'
                % (feature.name, feature.combiner, feature.table.name, known)
            )
        found[feature.table.name] = feature.combiner or known
    return {name: combiner or "sum" for name, combiner in found.items()}


def _refuse(owner, field):
    raise ValueError(
        '%s: %s needs tables that grow, embedding="hash_table"; with embedding="sparse_core" '
        "leave it out" % (owner, field)
    )


def _examples(ids):
    """How many examples ids are of: a scalar int32 tensor."""
    if isinstance(ids, tf.SparseTensor):
        return tf.cast(ids.dense_shape[0], tf.int32)
    if isinstance(ids, tf.RaggedTensor):
        return tf.cast(ids.nrows(), tf.int32)
    return tf.shape(ids)[0]
