"""A training run with deltas and removals, as a program; step s always trains on the same batch.

python -m tests.hooks.incremental_trainer MODEL_DIR STEPS [--serve]

With --serve it works as tests.plugin.trainer.
"""

import argparse

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from tests.hooks import touches
from tests.plugin import trainer

v1 = tf.compat.v1
DELTA_STEPS = 3
FULL_STEPS = 20
KEEP = 8


def batch(step):
    """100 ids with repeats of which some are new at each step, and 20 to remove."""
    random = np.random.RandomState(step)
    return {
        "ids": random.zipf(1.2, 100) % 20000 + step,
        "old": random.randint(0, 2000 + step, 20),
    }


def model_fn(features, labels, mode):
    """LazyAdam on one table, Adam on the weights of a dot product, then removals."""
    table = ep.create_table(
        tf.int64, 4, "t", v1.truncated_normal_initializer(stddev=0.1), num_buckets=4
    )
    rows = ep.sparse_lookup(table, features["ids"])
    weights = v1.get_variable("weights", [4], initializer=v1.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows * weights, axis=1) - 1.0))
    sparse = ep.optimizers.lazy_adam.create_hash_optimizer(0.05)
    updates = [sparse.minimize(loss), v1.train.AdamOptimizer(0.01).minimize(loss)]
    with tf.control_dependencies(updates):
        removed = table.remove(features["old"])
    with tf.control_dependencies([removed]):
        train = v1.assign_add(v1.train.get_global_step(), 1).op
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def train(model_dir, steps):
    """Trains up to global step `steps`, from the latest checkpoint of `model_dir`."""
    latest = tf.train.latest_checkpoint(model_dir)
    start = int(tf.train.load_variable(latest, "global_step")) if latest else 0
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        keep_checkpoint_max=KEEP,
        save_summary_steps=None,
        log_step_count_steps=None,
    )
    tf.estimator.Estimator(model_fn, config=config).train(
        lambda: _dataset(start, steps),
        hooks=[touches.hook(model_dir, full=FULL_STEPS, delta=DELTA_STEPS, save_graph_def=False)],
        max_steps=steps,
    )


def _dataset(start, stop):
    return tf.data.Dataset.from_generator(
        lambda: (batch(step) for step in range(start, stop)),
        {"ids": tf.int64, "old": tf.int64},
        {"ids": [100], "old": [20]},
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_dir")
    parser.add_argument("steps", type=int)
    parser.add_argument("--serve", action="store_true")
    arguments = parser.parse_args()
    if arguments.serve:
        trainer.serve(lambda: train(arguments.model_dir, arguments.steps))
    else:
        train(arguments.model_dir, arguments.steps)


if __name__ == "__main__":
    main()
