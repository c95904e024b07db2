"""A tf.estimator program whose ids move into the input pipeline or stay, run as every task of a
cluster.

    python -m tests.distribute.pipelined MODEL_DIR MAX_STEPS modified|plain
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from estimator_plugin import graph_state  # noqa: E402
from tests.distribute import quick  # noqa: E402

v1 = tf.compat.v1


def input_fn():
    def sample(i):
        features = {"user": tf.strings.as_string(i * i % 91), "city": i % 7}
        return features, tf.cast(i % 3 == 0, tf.float32)

    return tf.data.Dataset.range(960).map(sample).shuffle(64, seed=3).batch(16).repeat()


def model_fn(features, labels, mode):
    training = mode == tf.estimator.ModeKeys.TRAIN
    normal = v1.truncated_normal_initializer(stddev=0.1, seed=5)
    users = ep.create_table(tf.int64, 8, "user", normal)
    cities = ep.create_table(tf.int64, 4, "city", normal)
    crossed = tf.strings.join([features["user"], tf.strings.as_string(features["city"])], "x")
    inputs = [
        ep.sparse_lookup(table, ids, is_train=training, modify_graph=True)
        for table, ids in (
            (users, tf.strings.to_hash_bucket_fast(features["user"], 10**9)),
            (users, tf.strings.to_hash_bucket_fast(crossed, 10**9)),
            (cities, features["city"]),
        )
    ]
    logits = tf.reduce_sum(tf.concat(inputs, axis=1), axis=1) + v1.get_variable("bias", [])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    train_op = None
    if training:
        train_op = tf.group(
            ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss),
            v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_global_step()),
        )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class Report(v1.train.SessionRunHook):
    """Prints what moved, and what the last batch lost."""

    def after_create_session(self, session, coord):
        pipeline = graph_state.of(session.graph).pipeline
        moved = [op.type for part in pipeline.cuts for op in part.moved] if pipeline else []
        print("moved", sorted(set(moved)), flush=True)


def main(model_dir, max_steps, modifies):
    quick.set_up()
    config = quick.run_config(model_dir, 10, tf_random_seed=1)

    def hooks():
        return ([ep.hooks.GraphModifierHook()] if modifies else []) + [Report()]

    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(input_fn, max_steps, hooks=hooks()),
        tf.estimator.EvalSpec(
            input_fn, steps=10, hooks=hooks(), start_delay_secs=0, throttle_secs=0
        ),
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "modified")
