"""A tf.estimator program on plain variables, run as every task of a cluster.

python -m tests.distribute.plain_trainer MODEL_DIR MAX_STEPS
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

from tests.distribute import quick  # noqa: E402

v1 = tf.compat.v1


def model_fn(features, labels, mode):
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer())
    loss = tf.reduce_mean(tf.square(features * weight - labels))
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    return tf.data.Dataset.from_tensors(([1.0, 2.0], [3.0, 6.0])).repeat()


def main(model_dir, max_steps):
    quick.set_up()
    estimator = tf.estimator.Estimator(model_fn, config=quick.run_config(model_dir, 10))
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps),
        tf.estimator.EvalSpec(input_fn, steps=1, start_delay_secs=0, throttle_secs=1),
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
