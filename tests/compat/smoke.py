"""Uses the installed package from end to end, on whatever TensorFlow and Python there are.

A plain session makes, looks up, updates, saves and restores a table; an Estimator trains, resumes,
evaluates and predicts. Exits with an error when anything is not as it must be.

    python tests/compat/smoke.py
"""

import os
import tempfile

import numpy as np
import tensorflow as tf

import estimator_plugin as ep

v1 = tf.compat.v1


def make_table(name="items"):
    return ep.create_table(tf.int64, 4, name, v1.random_uniform_initializer(-1.0, 1.0, seed=3))


def check_plain_session(directory):
    with tf.Graph().as_default():
        table = make_table()
        ids = tf.constant([7, 8, 7], tf.int64)
        embeddings = ep.sparse_lookup(table, ids)
        loss = tf.reduce_sum(embeddings)
        step = ep.optimizers.gradient_descent.create_hash_optimizer(0.5).minimize(loss)
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run(ep.tables_initializer())
            before = session.run(embeddings)
            session.run(step)
            after = session.run(embeddings)
            path = saver.save(session, os.path.join(directory, "model.ckpt"))
            rows = session.run(table.size())
        with v1.Session() as session:
            saver.restore(session, path)
            restored, restored_rows = session.run([embeddings, table.size()])
    assert np.abs(before).max() > 0.0, before
    # Key 7 comes twice, so its row moves by the learning rate times two ones.
    np.testing.assert_allclose(after, before - [[1.0], [0.5], [1.0]], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(restored, after)
    assert rows == restored_rows == 2, (rows, restored_rows)


def input_fn():
    ids = np.arange(64, dtype=np.int64) * 1000003
    labels = np.sin(np.arange(64)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"id": ids}, labels)).repeat().batch(16)


def model_fn(features, labels, mode):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    embeddings = ep.sparse_lookup(make_table(), features["id"], is_train=is_training)
    prediction = tf.reduce_sum(embeddings, axis=1) * v1.get_variable(
        "scale", [], initializer=v1.ones_initializer()
    )
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.reduce_mean(v1.squared_difference(prediction, labels))
    train_op = None
    if is_training:
        dense, tables = ep.get_dense_and_sparse_variable()
        train_op = tf.group(
            v1.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=dense),
            ep.optimizers.adagrad.create_hash_optimizer(0.2, 0.1).minimize(
                loss, v1.train.get_global_step()
            ),
        )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def train(directory, *stops):
    """Trains up to each of `stops` in turn, a new Estimator each time; returns the last one."""
    for stop in stops:
        config = tf.estimator.RunConfig(tf_random_seed=1)
        estimator = tf.estimator.Estimator(model_fn, directory, config)
        estimator.train(input_fn, max_steps=stop)
    return estimator


def saved_table(directory):
    """The table's tensors, but for what tells one save from another."""
    reader = tf.train.load_checkpoint(directory)
    names = sorted(n for n in reader.get_variable_to_shape_map() if n.startswith("items/"))
    tensors = {name: reader.get_tensor(name) for name in names}
    facts = tensors["items/meta"].decode().splitlines()
    tensors["items/meta"] = [fact for fact in facts if not fact.startswith("save_id=")]
    return tensors


def check_estimator(directory):
    once, resumed = os.path.join(directory, "once"), os.path.join(directory, "resumed")
    train(once, 40)
    estimator = train(resumed, 20, 40)
    expected, got = saved_table(once), saved_table(resumed)
    assert expected and sorted(expected) == sorted(got), (sorted(expected), sorted(got))
    for name, value in expected.items():
        np.testing.assert_array_equal(got[name], value, name)
    metrics = estimator.evaluate(input_fn, steps=4)
    assert metrics["global_step"] == 40 and metrics["loss"] < 0.2, metrics
    prediction = next(estimator.predict(input_fn))["y"]
    assert np.isfinite(prediction), prediction


def main():
    v1.logging.set_verbosity(v1.logging.ERROR)
    with tempfile.TemporaryDirectory() as directory:
        check_plain_session(directory)
        check_estimator(directory)
    print(
        "estimator_plugin %s from %s works on TensorFlow %s"
        % (ep.__version__, os.path.dirname(ep.__file__), tf.__version__)
    )


if __name__ == "__main__":
    main()
