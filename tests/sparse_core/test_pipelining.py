"""One step late: what a lookup sees, what a checkpoint and the end of training have."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core as sc
from tests.sparse_core import models

v1 = tf.compat.v1
_IDS = [[0, 1, 2, 3], [0, 0, 5, 6], [1, 2, 3, 0], [7, 0, 0, 1], [0, 1, 2, 7]]


def _embedding(is_pipelined=True, learning_rate=0.5):
    tables = {
        "a": sc.TableConfig(8, 8, tf.ones_initializer(), combiner="sum", name="a"),
        "b": sc.TableConfig(9, 3, tf.ones_initializer(), combiner="sum", name="b"),
    }
    features = {n: sc.FeatureConfig(t, output_shape=[4]) for n, t in tables.items()}
    optimizer = sc.Adagrad(learning_rate, 0.1)
    return sc.TPUEmbeddingV2(features, optimizer, is_pipelined, num_sc_per_chip=2)


def _gradients(embedding, step):
    del embedding
    return {"a": tf.fill([4, 8], float(step + 1)), "b": tf.fill([4, 3], float(step + 1))}


def _tables_after_each_step():
    """Without a pipeline: element k is after k steps."""
    embedding = _embedding(False)
    seen = [models.logical_tables(embedding)]
    for step, ids in enumerate(_IDS):
        _, csr = embedding({"a": tf.constant(ids), "b": tf.constant(ids)})
        embedding.apply_gradients(_gradients(embedding, step), csr)
        seen.append(models.logical_tables(embedding))
    return seen


def _looked_up(tables, step):
    return {name: tables[name]["parameters"][_IDS[step]] for name in tables}


def _assert_step_sees(activations, history, step):
    for name, wanted in _looked_up(history[max(0, step - 1)], step).items():
        np.testing.assert_allclose(activations[name], wanted, rtol=1e-6)


@pytest.mark.parametrize("in_function", [False, True])
def test_a_lookup_sees_the_updates_of_the_step_before_the_last(in_function):
    with models.eagerly():
        history = _tables_after_each_step()
        embedding = _embedding()
        embedding.build()

        def run(ids, gradients):
            activations, csr = embedding({"a": ids, "b": ids})
            embedding.apply_gradients(gradients, csr)
            return activations

        if in_function:
            run = tf.function(run)
        for step, ids in enumerate(_IDS):
            activations = run(tf.constant(ids), _gradients(embedding, step))
            _assert_step_sees({n: v.numpy() for n, v in activations.items()}, history, step)
            models.assert_same(models.logical_tables(embedding), history[step])
        embedding.flush()
        models.assert_same(models.logical_tables(embedding), history[-1])
        embedding.flush()
        models.assert_same(models.logical_tables(embedding), history[-1])


class _Graph:
    """The same in a graph, fed."""

    def __init__(self):
        self.embedding = _embedding()
        self.ids = v1.placeholder(tf.int32, [4])
        self.scale = v1.placeholder(tf.float32, [])
        self.activations, csr = self.embedding({"a": self.ids, "b": self.ids})
        gradients = {n: tf.ones_like(v) * self.scale for n, v in self.activations.items()}
        self.update = self.embedding.apply_gradients(gradients, csr)

    def step(self, session, step):
        feed = {self.ids: _IDS[step], self.scale: step + 1.0}
        return session.run([self.activations, self.update], feed)[0]


def _history():
    with models.eagerly():
        return _tables_after_each_step()


def test_in_a_graph_and_the_hook_flushes():
    history = _history()
    graph = _Graph()
    step = v1.train.create_global_step()
    read = {n: graph.embedding.logical_table(n) for n in ("a", "b")}
    tables = {}

    class Reader(v1.train.SessionRunHook):
        def end(self, session):
            tables.update(session.run(read))

    hooks = [graph.embedding.flush_hook(), Reader()]
    increment = step.assign_add(1)
    with v1.train.SingularMonitoredSession(hooks) as session:
        for i in range(len(_IDS)):
            _assert_step_sees(graph.step(session, i), history, i)
            session.run(increment)
    models.assert_same(tables, history[-1])


def test_a_save_has_every_update(tmp_path):
    history = _history()
    with tf.Graph().as_default(), v1.Session() as session:
        graph = _Graph()
        saver = v1.train.Saver()
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        graph.step(session, 0)
        graph.step(session, 1)
        prefix = saver.save(session, str(tmp_path / "model.ckpt"))
        graph.step(session, 2)
        saver.restore(session, prefix)  # What waits is of another time.
        session.run(graph.embedding.flush())
        models.assert_same(models.logical_tables(graph.embedding, session), history[2])
        session.run(v1.local_variables_initializer())
    with models.eagerly():
        embedding = _embedding()
        _, csr = embedding({n: tf.constant(_IDS[0]) for n in "ab"})
        embedding.apply_gradients(_gradients(embedding, 0), csr)
        path = tf.train.Checkpoint(model=embedding).save(str(tmp_path / "object"))
        restored = _embedding(False)
        tf.train.Checkpoint(model=restored).restore(path)
        models.assert_same(models.logical_tables(restored), history[1])


def test_a_waiting_update_has_the_learning_rate_of_its_step():
    with models.eagerly():
        rate = tf.Variable(1.0)
        table = sc.TableConfig(8, 8, tf.ones_initializer(), combiner="sum", name="a")
        feature = sc.FeatureConfig(table, output_shape=[4])
        optimizer = sc.SGD(rate.read_value)
        embedding = sc.TPUEmbeddingV2(feature, optimizer, True, num_sc_per_chip=2)
        _, csr = embedding(tf.constant([0, 1, 2, 3]))
        embedding.apply_gradients(tf.ones([4, 8]), csr)
        rate.assign(100.0)
        embedding.flush()
        rows = models.logical_tables(embedding)["a"]["parameters"]
    assert rows[:5, 0].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_preprocessing_runs_in_the_input_pipeline():
    embedding = _embedding(False)
    dataset = tf.data.Dataset.from_tensor_slices({"a": _IDS, "b": _IDS})
    dataset = dataset.map(embedding.enqueue, num_parallel_calls=2).prefetch(2)
    packed = v1.data.make_one_shot_iterator(dataset).get_next()
    activations, csr = embedding.dequeue(packed)
    update = embedding.apply_gradients({n: tf.ones_like(v) for n, v in activations.items()}, csr)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        first, _ = session.run([activations, update])
        session.run(update)
    assert (first["a"] == 1).all() and first["b"].shape == (4, 3)
