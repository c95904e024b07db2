"""The EstimatorSpec of each mode, from a network's logits on."""

import collections

import tensorflow as tf

from estimator_plugin import checkpoint, get_config, graph_state
from estimator_plugin.hooks import incremental_save

DEFAULT_SERVING_KEY = tf.compat.v1.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY

# What a forward pass leaves for training: logits [batch], NetworkInputs, Embeddings.
Forward = collections.namedtuple("Forward", ["logits", "inputs", "embeddings"])
# What the examples should have been: labels [batch], weights [batch] or None.
Targets = collections.namedtuple("Targets", ["labels", "weights"])


def predict_spec(options, logits, config):
    """The spec of `predict` and `export_saved_model`."""
    predictions = options.head.predictions(logits)
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.PREDICT,
        predictions=predictions,
        export_outputs={DEFAULT_SERVING_KEY: tf.estimator.export.PredictOutput(predictions)},
        scaffold=_scaffold(config),
    )


def eval_spec(options, logits, targets, config):
    """The spec of `evaluate`."""
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.EVAL,
        loss=options.head.loss(logits, targets.labels, targets.weights),
        eval_metric_ops=options.head.metrics(logits, targets.labels, targets.weights),
        scaffold=_scaffold(config),
    )


def train_spec(options, forward, targets, config):
    """The spec of `train`. The reported loss is the head's, without regularization."""
    loss = options.head.loss(forward.logits, targets.labels, targets.weights)
    penalty = _regularization(forward.inputs, options.embedding_l2)
    for name, rows in forward.embeddings.row_counts().items():
        tf.compat.v1.summary.scalar("rows/" + name, rows)
    # Deferred: what hooks add to the graph in `begin` is saved too.
    scaffold = _scaffold(config, defer_build=True)
    return tf.estimator.EstimatorSpec(
        tf.estimator.ModeKeys.TRAIN,
        loss=loss,
        train_op=_train_op(loss + penalty, forward.embeddings, options.optimizers),
        scaffold=scaffold,
        training_chief_hooks=_save_hooks(config, scaffold),
    )


def _save_hooks(config, scaffold):
    """What `init(is_incremental_checkpoint=True)` asks for; an IncrementalSaveHook in `hooks=`
    takes its place."""
    model_dir = None if config is None else config.model_dir
    graph_state.of().model_dir = model_dir
    if model_dir is None or not get_config().is_incremental_checkpoint:
        return []
    return [incremental_save.default_hook(model_dir, scaffold)]


def _regularization(inputs, embedding_l2):
    losses = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.REGULARIZATION_LOSSES)
    looked_up = list(inputs.embeddings.values()) + list(inputs.first_order.values())
    if embedding_l2 > 0 and looked_up:
        batch = tf.cast(tf.shape(looked_up[0])[0], tf.float32)
        losses = losses + [embedding_l2 * tf.nn.l2_loss(e) / batch for e in looked_up]
    return tf.add_n(losses) if losses else 0.0


def _train_op(loss, embeddings, optimizers):
    """One backward pass, both updates, then the one increment of the global step."""
    targets = embeddings.gradient_targets()
    variables = [v for v in tf.compat.v1.trainable_variables() if all(v is not t for t in targets)]
    gradients = tf.gradients(loss, variables + targets)
    updates = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
    if variables:
        dense = list(zip(gradients[: len(variables)], variables))
        updates = updates + [optimizers.dense().apply_gradients(dense)]
    if targets:
        updates = updates + [embeddings.apply_gradients(optimizers, gradients[len(variables) :])]
    with tf.control_dependencies(updates):
        step = tf.compat.v1.train.get_or_create_global_step()
        return tf.compat.v1.assign_add(step, 1).op


def _scaffold(config, defer_build=False):
    """A Scaffold whose saver streams the tables; its checkpoints are TensorFlow's own format."""
    settings = {"sharded": True, "save_relative_paths": True, "defer_build": defer_build}
    if config is not None:
        settings["max_to_keep"] = config.keep_checkpoint_max
        settings["keep_checkpoint_every_n_hours"] = config.keep_checkpoint_every_n_hours
    return tf.compat.v1.train.Scaffold(saver=checkpoint.saver(**settings))
