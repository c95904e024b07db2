"""A tf.estimator program whose tables admit and evict, run as every task of a cluster.

Each of those that train goes once through batches of its own. Time is what the chief says; a
worker's clock stands still. The chief's first batches are early ones, of ids that never come again;
then time jumps, and an hour of it is enough to be evicted.

    python -m tests.distribute.counting_trainer MODEL_DIR RUN
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from tests.distribute import quick  # noqa: E402

v1 = tf.compat.v1
BATCH, BATCHES, RUNS = 48, 60, 3
EARLY, CHANGE_AT = 12, 5  # Batches of the chief's first run.
MAX_AGE = 3600
CONFIGURED, CHANGED = 3, 5  # Thresholds of "user": the program's, and what set_threshold says.
ITEM_THRESHOLD = 4
_START = 1700000000


def batches(rank, run):
    """(ids [BATCHES, BATCH], times [BATCHES]) of the process of a rank: no other has its ids."""
    random = np.random.RandomState(10 * run + rank)
    ids = 2000 + np.minimum(random.zipf(1.2, [BATCHES, BATCH]), 4000)
    times = _START + 10 * MAX_AGE + run * BATCHES + np.arange(BATCHES)
    if run == 0:
        ids[:EARLY] = random.randint(0, 100, [EARLY, BATCH])
        times[:EARLY] = _START + 1 + np.arange(EARLY)
    if rank > 0:
        times[:] = _START
    return ids * 10 + rank, times


def input_fn(run):
    ids, times = batches(ep.distribute.rank_id(), run)
    return tf.data.Dataset.from_tensor_slices({"id": ids, "time": times})


def model_fn(features, mode, params):
    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, features["time"])
    user = ep.create_table(tf.int64, 4, "user", v1.ones_initializer())
    sketch = ep.admission.CountingSketch(1 << 20)
    item = ep.create_table(tf.int64, 2, "item", v1.ones_initializer(), admission=sketch)
    thresholds = {"access_threshold": CONFIGURED, "eviction_threshold": MAX_AGE}
    found = [
        ep.sparse_lookup(user, features["id"], access_and_evict_config=thresholds),
        ep.sparse_lookup(
            item, features["id"], access_and_evict_config={"access_threshold": ITEM_THRESHOLD}
        ),
    ]
    loss = tf.add_n([tf.reduce_mean(tf.square(rows)) for rows in found])
    trained = v1.get_variable(
        "batches", [RUNS, 2], tf.int32, v1.zeros_initializer(), trainable=False
    )
    with tf.control_dependencies([loss]):  # Else a step that finds no batch left might count.
        one_more = v1.scatter_nd_add(trained, [[params["run"], ep.distribute.rank_id()]], [1])
    train_op = tf.group(
        ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss, v1.train.get_global_step()),
        one_more,
    )
    saver = ep.checkpoint.saver(defer_build=True)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, scaffold=v1.train.Scaffold(saver=saver)
    )


class ChangeThreshold(v1.train.SessionRunHook):
    """Sets another threshold after some steps of this process."""

    def begin(self):
        self._steps = 0
        ops = ep.import_host_pipeline_ops()
        self._change = ops.set_threshold(tf.constant([CHANGED]), emb_name="user")

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._steps == CHANGE_AT:
            run_context.session.run(self._change)


def main(model_dir, run):
    quick.set_up()
    config = quick.run_config(model_dir, None)
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"run": run})
    hooks = [
        ep.hooks.IncrementalSaveHook(estimator, save_full_steps=1000, save_delta_steps=20),
        ep.hooks.EvictHook(evict_enable=True, evict_step_interval=10),
    ]
    if run == 0 and ep.distribute.rank_id() == 0:
        hooks.append(ChangeThreshold())
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: input_fn(run), hooks=hooks),
        tf.estimator.EvalSpec(lambda: input_fn(run), steps=1),
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
