"""A tf.estimator program on tables, run as every task of a cluster.

Each of those that train has its own part of the data and goes through it until the global step is
reached, no faster than `pace` lets it. Full versions and deltas are saved; servers, chief and
workers may be killed and restarted.

    python -m tests.distribute.trainer MODEL_DIR MAX_STEPS [--synchronous]
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from tests.distribute import pace, quick  # noqa: E402

v1 = tf.compat.v1
BATCH = 64
BATCHES = 40  # Of each that trains.
SAVE_FULL, SAVE_DELTA = 60, 15


def users(rank):
    """The ids that the process of a rank trains on, [BATCHES, BATCH]: no other process has them."""
    random = np.random.RandomState(rank)
    return random.randint(0, 3000, [BATCHES, BATCH]) * 10 + rank


def input_fn():
    ids = users(ep.distribute.rank_id())
    labels = (ids % 3 == 0).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"user": ids}, labels)).repeat()


def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    user = ep.create_table(tf.int64, 8, "user", v1.truncated_normal_initializer(stddev=0.1))
    group = ep.create_table(tf.int64, 4, "group", v1.zeros_initializer())
    inputs = [
        ep.sparse_lookup(user, features["user"], is_train=training),
        ep.sparse_lookup(group, features["user"] % 7, is_train=training),
    ]
    weights = v1.get_variable("weights", [12], initializer=v1.ones_initializer())
    logits = tf.reduce_sum(tf.concat(inputs, axis=1) * weights, axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    train_op, hooks = None, []
    if training:
        train_op, hooks = _train(loss, params["synchronous"])
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        train_op=train_op,
        training_hooks=hooks,
        eval_metric_ops={"auc": v1.metrics.auc(labels, tf.sigmoid(logits))},
        scaffold=v1.train.Scaffold(saver=ep.checkpoint.saver(defer_build=True)),
    )


def _train(loss, synchronous):
    """The operation of a training step, and the hooks that it needs."""
    of_tables = ep.optimizers.lazy_adam.create_hash_optimizer(0.02)
    of_variables = v1.train.AdamOptimizer(0.01)
    step = v1.train.get_global_step()
    if not synchronous:
        return tf.group(of_tables.minimize(loss), of_variables.minimize(loss, step)), []
    both = ep.distribute.SyncReplicasOptimizer(
        of_variables, of_tables, replicas_to_aggregate=ep.distribute.rank_size()
    )
    return both.minimize(loss, step), [both.make_session_run_hook()]


def main(model_dir, max_steps, synchronous):
    quick.set_up()
    estimator = tf.estimator.Estimator(
        model_fn,
        config=quick.run_config(model_dir, None),
        params={"synchronous": synchronous},
    )
    hooks = [
        ep.hooks.IncrementalSaveHook(
            estimator,
            save_full_steps=SAVE_FULL,
            save_delta_steps=SAVE_DELTA,
            keep_checkpoint_max=0,  # All: an evaluator that is slow still finds what it is to read.
        ),
        pace.PaceHook(model_dir, ep.distribute.rank_id(), BATCHES),
    ]
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps, hooks=hooks),
        tf.estimator.EvalSpec(input_fn, steps=10, start_delay_secs=0, throttle_secs=1),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model_dir")
    parser.add_argument("max_steps", type=int)
    parser.add_argument("--synchronous", action="store_true")
    main(**vars(parser.parse_args()))
