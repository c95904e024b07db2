"""Features → tables → network → head → both optimizers → EstimatorSpec.

A model is a function `network(inputs, training) -> logits [batch, 1]` over `NetworkInputs`;
`build_model_fn` makes the model_fn around it. See deepfm.py for how small that is.
"""

import collections
import dataclasses

import tensorflow as tf

from estimator_plugin import constants

from . import specs
from .config import ModelOptions
from .embeddings import make_embeddings
from .features import TableSpec, split_features
from .ids import ids_of
from .inputs import NetworkInputs
from .sparse_core_embeddings import SparseCoreEmbeddings, check_features


def build_model_fn(network, features, options=None, first_order=False):
    """A model_fn for `tf.estimator.Estimator`.

    Args:
      network: function `(NetworkInputs, training: bool) -> logits`, float32 `[batch, 1]`.
      features: list of `CategoricalFeature` and `NumericFeature`.
      options: `ModelOptions`; default `ModelOptions()`.
      first_order: also give each categorical feature a table of dim 1, named `<feature>_linear`,
        whose weights arrive in `NetworkInputs.first_order`.

    Returns:
      A function `model_fn(features, labels, mode, config)` that returns an EstimatorSpec for every
      mode. Labels are `[batch]` or `[batch, 1]`.

    Raises:
      ValueError: features are empty, repeated, disagree about a table, or ask for what their
        embedding cannot do.
    """
    options = options or ModelOptions()
    categorical, numeric = split_features(features)
    if options.embedding == "sparse_core":
        check_features(categorical)
    linear = _linear_features(categorical) if first_order else []
    weight = options.head.weight_feature

    def model_fn(features, labels, mode, config=None):
        training = mode == tf.estimator.ModeKeys.TRAIN
        embeddings = _make_embeddings(options, training)
        if training and options.timestamp_feature is not None:
            timestamp = _value(features, options.timestamp_feature)
            tf.compat.v1.add_to_collection(constants.ASCEND_TIMESTAMP, timestamp)
        inputs = NetworkInputs(
            *_embed(embeddings, categorical, linear, features),
            _dense(numeric, features),
        )
        logits = _to_vector(network(inputs, training), "logits")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return specs.predict_spec(options, logits, config)
        targets = specs.Targets(
            _to_vector(labels, "labels"),
            None if weight is None else _to_vector(_value(features, weight), weight),
        )
        if mode == tf.estimator.ModeKeys.EVAL:
            return specs.eval_spec(options, logits, targets, config)
        return specs.train_spec(options, specs.Forward(logits, inputs, embeddings), targets, config)

    return model_fn


def _linear_features(categorical):
    """The features again, each on a table of its own with one zero-initialised weight per id."""
    return [
        dataclasses.replace(
            feature,
            table=TableSpec(
                "%s_linear" % feature.name,
                dim=1,
                initializer=tf.compat.v1.zeros_initializer(),
                variable_rows=feature.table.variable_rows,
            ),
        )
        for feature in categorical
    ]


def _embed(embeddings, categorical, linear, features):
    """(embeddings, first-order weights): ordered dicts from feature name."""
    groups = collections.OrderedDict(
        (
            group,
            [(feature, ids_of(feature, _value(features, feature.name))) for feature in members],
        )
        for group, members in (("embeddings", categorical), ("first_order", linear))
    )
    found = embeddings.lookup_all(groups)
    return found["embeddings"], found["first_order"]


def _make_embeddings(options, training):
    """The embeddings a model of these `ModelOptions` lives on."""
    if options.embedding == "sparse_core":
        return SparseCoreEmbeddings(options.sparse_core, options.optimizers, training)
    return make_embeddings(options.embedding, training, options.modify_graph)


def _dense(numeric, features):
    if not numeric:
        return None
    columns = []
    for feature in numeric:
        value = tf.cast(_value(features, feature.name), tf.float32)
        value = tf.reshape(value, [-1, feature.size])
        columns.append(value if feature.transform is None else feature.transform(value))
    return tf.concat(columns, axis=1)


def _value(features, name):
    if name not in features:
        raise ValueError(
            "feature %r is missing from the input; the input has %s"
            % (name, ", ".join(sorted(features)))
        )
    return features[name]


def _to_vector(tensor, what):
    """float32 `[batch]` from `[batch]` or `[batch, 1]`."""
    if tensor is None:
        raise ValueError("%s are None; training and evaluation need them" % what)
    tensor = tf.cast(tensor, tf.float32)
    rank = tensor.shape.rank
    if rank == 1 or rank == 2 and tensor.shape[1] in (1, None):
        return tf.reshape(tensor, [-1])
    raise ValueError("%s must be [batch] or [batch, 1], got shape %s" % (what, tensor.shape))
