"""Old checkpoints whose every value is known, and an Estimator that starts from them.

In a checkpoint that `write` makes, all rows of a table and all numbers of a variable are the one
value that was asked for, and each row's slot `momentum` is 1.
"""

import os

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import read_table

v1 = tf.compat.v1

DIM = 4
KEYS = {"user": [1, 2, 3], "item": [10, 11], "brand": [7]}


def write(directory, tables, variables=None, **options):
    """Writes model.ckpt-1 into `directory`. Returns its prefix.

    Args:
      directory: where.
      tables: dict from name to the value of its rows.
      variables: dict from name to the value of its numbers.
      **options: num_buckets and dim of the tables.
    """
    dim = options.pop("dim", DIM)
    with tf.Graph().as_default(), v1.Session() as session:
        lookups = []
        for name, value in tables.items():
            table = ep.create_table(tf.int64, dim, name, v1.constant_initializer(value), **options)
            keys = KEYS.get(name, [1])
            lookups.append(tf.reduce_sum(ep.sparse_lookup(table, tf.constant(keys, tf.int64))))
        for name, value in (variables or {}).items():
            v1.get_variable(name, [2], initializer=v1.constant_initializer(value))
        v1.train.get_or_create_global_step()
        train = ep.optimizers.momentum.create_hash_optimizer(0.0).minimize(sum(lookups))
        session.run([v1.global_variables_initializer(), ep.tables_initializer()])
        session.run(train)
        saver = ep.checkpoint.saver()
        os.makedirs(str(directory), exist_ok=True)
        prefix = saver.save(session, os.path.join(str(directory), "model.ckpt"), global_step=1)
        saver.release()
    return prefix


def model_fn(tables, variables=(), momentum=True, batch_norm=False, **options):
    """A model over `tables` and `variables`, all zero at the start, that learns nothing."""
    dim = options.pop("dim", DIM)

    def build(features, labels, mode):
        training = mode == tf.estimator.ModeKeys.TRAIN
        values = [tf.zeros([2, dim])]
        for name in tables:
            table = ep.create_table(tf.int64, dim, name, v1.zeros_initializer(), **options)
            values.append(ep.sparse_lookup(table, features["id"], is_train=training))
        total = tf.add_n(values)
        for name in variables:
            variable = v1.get_variable(name, [2], initializer=v1.zeros_initializer())
            total += tf.reduce_sum(variable)
        if batch_norm:
            total = v1.layers.batch_normalization(total, training=training, name="norm")
        prediction = {"total": tf.reduce_sum(total, axis=1)}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(
                mode,
                predictions=prediction,
                export_outputs={"out": tf.estimator.export.PredictOutput(prediction)},
            )
        loss = tf.reduce_sum(total)
        if not training:
            return tf.estimator.EstimatorSpec(mode, loss=loss)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=_train_op(loss, momentum))

    return build


def _train_op(loss, momentum):
    step = v1.train.get_or_create_global_step()
    optimizers = ep.optimizers
    module = optimizers.momentum if momentum else optimizers.adagrad
    updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS) + [step.assign_add(1).op]
    if ep.get_dense_and_sparse_variable()[1]:
        updates.append(module.create_hash_optimizer(0.0).minimize(loss))
    if v1.trainable_variables():
        updates.append(v1.train.MomentumOptimizer(0.0, 0.9).minimize(loss))
    return tf.group(*updates)


def input_fn():
    return tf.data.Dataset.from_tensors({"id": tf.constant([1, 10], tf.int64)}).repeat()


def estimator(model_dir, build, warm_start_from=None):
    config = tf.estimator.RunConfig(tf_random_seed=1, log_step_count_steps=None)
    return tf.estimator.Estimator(build, str(model_dir), config, warm_start_from=warm_start_from)


def started(model_dir, build, warm_start_from=None, hooks=None):
    """Trains one step. Returns a Model of what training began with."""
    estimator(model_dir, build, warm_start_from).train(input_fn, hooks=hooks, steps=1)
    return Model(os.path.join(str(model_dir), "model.ckpt-0"))


class Model:
    """Reads a checkpoint."""

    def __init__(self, prefix):
        self.prefix = prefix

    def variable(self, name):
        return tf.train.load_variable(self.prefix, name).tolist()

    def rows(self, table):
        """{key: first number of its embedding}."""
        rows = read_table(self.prefix, table)
        return dict(zip(rows.keys.tolist(), rows.embeddings[:, 0].tolist()))

    def slots(self, table):
        """{slot: the set of its values}."""
        slots = read_table(self.prefix, table).slots
        return {name: set(values.ravel().tolist()) for name, values in slots.items()}


def rows_of(table, value):
    """What `Model.rows` gives of a table that `write` wrote."""
    return {key: value for key in KEYS.get(table, [1])}
