"""A small Estimator training run for tests, as functions and as a program.

Step s of a run always trains on the same batch, so a run that stops and resumes sees what one
uninterrupted run sees.

    python -m tests.plugin.trainer MODEL_DIR STEPS [--save-every N] [--threads N] [--shuffle SEED]
    python -m tests.plugin.trainer MODEL_DIR STEPS --serve

With --serve it forks one run for each line on its standard input and answers with the run's process
id and, later, its exit status: a restart then costs no import of TensorFlow.
"""

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from estimator_plugin.ops import library  # noqa: E402

v1 = tf.compat.v1
BATCH = 512


def batches(start, stop, shuffle=None):
    """A dataset of the batches of steps start ... stop - 1.

    `shuffle` is a seed: the examples of each batch come in another order, with the same contents.
    """

    def generate():
        for step in range(start, stop):
            random = np.random.RandomState(step)
            user = random.zipf(1.3, BATCH) % 100000
            items = random.randint(-1, 5000, [BATCH, 3])
            label = ((user + items.sum(axis=1)) % 3 == 0).astype(np.float32)
            order = np.arange(BATCH)
            if shuffle is not None:
                np.random.RandomState(shuffle + step).shuffle(order)
            yield {"user": user[order], "items": items[order]}, label[order]

    return tf.data.Dataset.from_generator(
        generate,
        ({"user": tf.int64, "items": tf.int64}, tf.float32),
        ({"user": [BATCH], "items": [BATCH, 3]}, [BATCH]),
    )


def model_fn(features, labels, mode, params):
    """Two tables, one dense layer; LazyAdam for the tables, Adam for the layer."""
    is_train = mode == tf.estimator.ModeKeys.TRAIN
    normal = v1.truncated_normal_initializer(stddev=0.1)
    user = ep.create_table(tf.int64, 8, "user", normal)
    item = ep.create_table(tf.int64, 4, "item", v1.glorot_uniform_initializer())
    inputs = [
        ep.sparse_lookup(user, features["user"], is_train=is_train),
        ep.sparse_lookup(item, features["items"], is_train=is_train, combiner="mean"),
    ]
    weights = v1.get_variable("weights", [12], initializer=v1.ones_initializer())
    logits = tf.reduce_sum(tf.concat(inputs, axis=1) * weights, axis=1)
    scaffold = None
    if params["saver"] == "scaffold":
        saver = ep.checkpoint.saver(defer_build=True, max_to_keep=params["keep"])
        scaffold = v1.train.Scaffold(saver=saver)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"click": tf.sigmoid(logits)}
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=predictions,
            scaffold=scaffold,
            export_outputs={"serving_default": tf.estimator.export.PredictOutput(predictions)},
        )
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        rows = v1.metrics.mean(tf.cast(user.size(), tf.float32))
        metrics = {"rows": rows}
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, eval_metric_ops=metrics, scaffold=scaffold
        )
    sparse = ep.optimizers.lazy_adam.create_hash_optimizer(0.05)
    train = tf.group(
        sparse.minimize(loss, v1.train.get_global_step()),
        v1.train.AdamOptimizer(0.01).minimize(loss),
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, scaffold=scaffold)


def estimator(model_dir, save_every=None, threads=None, saver="hook", keep=3):
    """The Estimator; `saver` is "stock", "hook" or "scaffold"."""
    session_config = None
    if threads is not None:
        session_config = v1.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=2
        )
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        save_checkpoints_steps=save_every or 10**9,
        keep_checkpoint_max=keep,
        log_step_count_steps=10**9,
        save_summary_steps=10**9,
        session_config=session_config,
    )
    return tf.estimator.Estimator(model_fn, config=config, params={"saver": saver, "keep": keep})


def train(model_dir, steps, save_every=None, threads=None, shuffle=None, saver="hook"):
    """Trains up to global step `steps`, from the latest checkpoint of `model_dir`."""
    latest = tf.train.latest_checkpoint(model_dir)
    start = int(tf.train.load_variable(latest, "global_step")) if latest else 0
    hooks = [ep.checkpoint.StreamingSaverHook()] if saver == "hook" else []
    estimator(model_dir, save_every, threads, saver).train(
        lambda: batches(start, steps, shuffle), hooks=hooks, max_steps=steps
    )


def serve(run):
    """Forks a `run` for each line read; writes `<pid>` and then `<exit status>` for each."""
    library.load()
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        print(child, flush=True)
        print(os.waitpid(child, 0)[1], flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model_dir")
    parser.add_argument("steps", type=int)
    parser.add_argument("--save-every", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--serve", action="store_true")
    arguments = vars(parser.parse_args())
    if arguments.pop("serve"):
        serve(lambda: train(**arguments))
    else:
        train(**arguments)


if __name__ == "__main__":
    main()
