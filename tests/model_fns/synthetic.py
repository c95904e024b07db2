"""Clicks with a signal to learn, in every shape a model takes ids in."""

import numpy as np
import tensorflow as tf

import estimator_plugin as ep

EXAMPLES = 2000
BATCH = 200
USERS, ITEMS = 50, 40
# Spread over all of int64, as hashed ids are.
ITEM_IDS = np.random.RandomState(7).randint(-(2**62), 2**62, ITEMS)
COLORS = np.array([b"red", b"green", b"blue", b""], object)

fns = ep.model_fns


def arrays(seed=0):
    """(features, labels): a user's taste and a number decide, with some noise."""
    random = np.random.RandomState(seed)
    users = random.randint(0, USERS, EXAMPLES)
    history = ITEM_IDS[random.randint(0, ITEMS, (EXAMPLES, 3))]
    history[random.rand(EXAMPLES, 3) < 0.3] = -1
    features = {
        "user": users,
        "item": ITEM_IDS[random.randint(0, ITEMS, EXAMPLES)],
        "history": history,
        "colors": COLORS[random.randint(0, 4, (EXAMPLES, 2))],
        "numbers": random.rand(EXAMPLES, 2).astype(np.float32),
    }
    taste = np.random.RandomState(1).randn(USERS)[users]
    score = taste + 2 * features["numbers"][:, 0] - 1 + 0.3 * random.randn(EXAMPLES)
    return features, (score > 0).astype(np.float32)


def features(dim=8):
    """Item and history share a table."""
    items = fns.TableSpec("item", dim)
    return [
        fns.CategoricalFeature("user", fns.TableSpec("user", dim, variable_rows=USERS)),
        fns.CategoricalFeature("item", items),
        fns.CategoricalFeature("history", items, combiner="mean"),
        fns.CategoricalFeature("colors", fns.TableSpec("color", dim), "sum", tf.string),
        fns.NumericFeature("numbers", 2),
    ]


def input_fn(epochs=None, batch=BATCH, seed=0):
    """Batches in a fixed order."""
    return lambda: tf.data.Dataset.from_tensor_slices(arrays(seed)).repeat(epochs).batch(batch)


def base_rate_loss(labels):
    """The log loss of always predicting the share of clicks."""
    rate = labels.mean()
    return -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))


def estimator(model_fn, model_dir, **config):
    """An Estimator with fixed seeds and one thread, so that runs can be compared."""
    session = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=1
    )
    run_config = tf.estimator.RunConfig(tf_random_seed=1, session_config=session, **config)
    return tf.estimator.Estimator(model_fn, str(model_dir), run_config)
