"""Starts and stops small runs of an Estimator again and again, and watches what the process holds.

Each cycle trains a few steps, evaluates, and stops with batches ready in the input pipeline. After
a warm-up, threads and file handles must be as many as before, and memory must not grow.

    python -m tests.graph.cycles --cycles 1000
"""

import argparse
import os
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402

v1 = tf.compat.v1
WARM_UP = 20
MEMORY_KB = 64 << 10  # Memory in use goes up and down by as much.


def model_fn(features, labels, mode):
    training = mode == tf.estimator.ModeKeys.TRAIN
    table = ep.create_table(tf.int64, 8, "user", v1.truncated_normal_initializer(stddev=0.05))
    ids = tf.strings.to_hash_bucket_fast(features["user"], 2**63 - 1)
    embedding = ep.sparse_lookup(table, ids, is_train=training, modify_graph=True)
    loss = v1.losses.sigmoid_cross_entropy(labels, tf.reduce_sum(embedding, axis=1))
    train_op = None
    if training:
        optimizer = ep.optimizers.adagrad.create_hash_optimizer(0.1)
        train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    def sample(i):
        return {"user": tf.strings.as_string(i % 50)}, tf.cast(i % 2, tf.float32)

    return tf.data.Dataset.range(4000).map(sample).batch(20).repeat()


def cycle(model_dir):
    """A new Estimator trains two steps more and evaluates two batches."""
    config = tf.estimator.RunConfig(
        model_dir, save_checkpoints_steps=2, save_summary_steps=None, keep_checkpoint_max=2
    )
    model = tf.estimator.Estimator(model_fn, config=config)
    model.train(input_fn, steps=2, hooks=[ep.hooks.GraphModifierHook()])
    model.evaluate(input_fn, steps=2, hooks=[ep.hooks.GraphModifierHook()])


def held():
    """(threads, file handles, memory in KB) of this process."""
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    handles = len(os.listdir("/proc/self/fd"))
    return int(status["Threads"]), handles, int(status["VmRSS"].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=1000)
    cycles = parser.parse_args().cycles
    v1.logging.set_verbosity(v1.logging.ERROR)
    before = None
    for number in range(WARM_UP + cycles):
        if number == WARM_UP:
            before = held()
        if number % 10 == 0:  # A new directory: event files of old runs are read again.
            model_dir = tempfile.mkdtemp(prefix="cycles-")
        cycle(model_dir)
        if number % 10 == 9:
            v1.summary.FileWriterCache.clear()  # TensorFlow keeps a writer for each directory.
            shutil.rmtree(model_dir)
        if number % 50 == WARM_UP:
            print("after %d cycles: %d threads, %d handles, %d KB" % ((number,) + held()))
            sys.stdout.flush()
    after = held()
    threads, handles, memory = (b - a for a, b in zip(before, after))
    print("%d cycles: %+d threads, %+d handles, %+d KB" % (cycles, threads, handles, memory))
    return int(threads > 1 or handles > 1 or memory > MEMORY_KB)


if __name__ == "__main__":
    sys.exit(main())
