"""A training step that is nearly all table: the loss costs two passes over the embeddings."""

import tensorflow as tf

from benchmarks.workload import FEATURES


def toy_loss(embedding, dim):
    """Mean square of (sum over a sample's embeddings - 1). `embedding` is [samples * 26, dim]."""
    pooled = tf.reduce_sum(tf.reshape(embedding, [-1, FEATURES, dim]), axis=1)
    return tf.reduce_mean(tf.square(pooled - 1.0))


def train_op(system, way, table, ids):
    """Lookup, loss, gradient and update as one op."""
    loss = toy_loss(system.embed_by(way, table, ids), system.dim)
    return system.apply(tf.gradients(loss, system.sources()))


def initialize(session, system):
    session.run(tf.compat.v1.global_variables_initializer())
    for initializer in system.initializers():
        session.run(initializer)
