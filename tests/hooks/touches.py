"""A model whose every weight is known by hand: rows start at 1.0 and lose 0.01 per touch.

`predict` and `evaluate` of it give the first weight of keys, -9.0 for those without a row.
"""

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.hooks import IncrementalSaveHook

v1 = tf.compat.v1
MISSING = -9.0


def model_fn(features, labels, mode, params):
    """One table; a step touches each id of its batch. A negative id removes the row of -id."""
    table = ep.create_table(
        tf.int64, 2, "t", v1.ones_initializer(), num_buckets=params.get("buckets", 64)
    )
    ids = features["ids"]
    scaffold = None
    if params.get("scaffold"):
        saver = ep.checkpoint.saver(
            defer_build=True, save_relative_paths=True, max_to_keep=params.get("keep", 5)
        )
        scaffold = v1.train.Scaffold(saver=saver)
    if mode != tf.estimator.ModeKeys.TRAIN:
        rows = ep.sparse_lookup(
            table, ids, is_train=False, serving_default_value=tf.constant([MISSING, MISSING])
        )
        predictions = {"ids": ids, "weight": rows[:, 0]}
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=predictions,
            loss=tf.reduce_sum(rows[:, 0]),
            eval_metric_ops={"mean": v1.metrics.mean(rows[:, 0])},
            scaffold=scaffold,
            export_outputs={"serving_default": tf.estimator.export.PredictOutput(predictions)},
        )
    touched = tf.boolean_mask(ids, ids >= 0)
    dense = v1.get_variable("dense", [], initializer=v1.zeros_initializer())
    rows = ep.sparse_lookup(table, touched)
    # Each occurrence of a key has a gradient of 1 in each of its weights.
    loss = tf.reduce_sum(rows)
    optimizer = ep.optimizers.gradient_descent.create_hash_optimizer(0.01)
    step = v1.train.get_global_step()
    with tf.control_dependencies([optimizer.minimize(loss), dense.assign_add(1.0)]):
        removed = table.remove(-tf.boolean_mask(ids, ids < 0))
        with tf.control_dependencies([removed]):
            train = v1.assign_add(step, 1).op
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, scaffold=scaffold)


def estimator(model_dir, keep=0, **params):
    """An Estimator that saves only by the hooks it is given, unless save_every= says otherwise."""
    config = tf.estimator.RunConfig(
        model_dir=str(model_dir),
        save_checkpoints_steps=params.pop("save_every", 10**9),
        keep_checkpoint_max=keep,
        log_step_count_steps=None,
        save_summary_steps=None,
    )
    return tf.estimator.Estimator(model_fn, config=config, params=dict(params, keep=keep))


def inputs(steps):
    """An input_fn of `steps`, a list with the ids of each step."""

    def input_fn():
        return tf.data.Dataset.from_generator(
            lambda: ({"ids": np.array(ids, np.int64)} for ids in steps),
            {"ids": tf.int64},
            {"ids": [None]},
        )

    return input_fn


def hook(model_dir, full=10**6, delta=10**6, **kwargs):
    """An IncrementalSaveHook by steps."""
    return IncrementalSaveHook(
        str(model_dir), save_full_steps=full, save_delta_steps=delta, **kwargs
    )


def train(model_dir, steps, full=10**6, delta=10**6, keep=0, hooks=None, **params):
    """Trains on `steps` with an IncrementalSaveHook; returns the Estimator."""
    made = estimator(model_dir, keep, **params)
    hooks = [hook(model_dir, full, delta)] if hooks is None else hooks
    made.train(inputs(steps), hooks=hooks)
    return made


def weights(model, keys, checkpoint_path=None, hooks=None):
    """{key: weight} as `predict` gives it."""
    found = model.predict(inputs([list(keys)]), checkpoint_path=checkpoint_path, hooks=hooks)
    return {int(row["ids"]): round(float(row["weight"]), 6) for row in found}


def expected(steps, keys):
    """The weights by hand."""
    touches = {}
    for ids in steps:
        for key in ids:
            if key >= 0:
                touches[key] = touches.get(key, 0) + 1
        for key in ids:
            touches.pop(-key if key < 0 else None, None)
    return {key: round(1.0 - 0.01 * touches[key], 6) if key in touches else MISSING for key in keys}
