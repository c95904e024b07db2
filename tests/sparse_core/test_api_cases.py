"""Whole steps against the genuine class: activations, buffers, tables and slots after each."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core
from tests.sparse_core import cases, models

_CASES = cases.load("api_cases.json")["cases"]
_OPTIMIZERS = {
    "sgd": sparse_core.SGD,
    "adagrad": sparse_core.Adagrad,
    "adagrad_momentum": sparse_core.AdagradMomentum,
    "adam": sparse_core.Adam,
    "ftrl": sparse_core.FTRL,
}
_TOLERANCE = 1e-5


def _embedding(case, **kwargs):
    optimizer = _OPTIMIZERS[case["optimizer"]](**case["optimizer_attrs"])
    tables = {
        name: sparse_core.TableConfig(
            rows,
            columns,
            combiner=combiner,
            name=name,
            quantization_config=quantization and sparse_core.QuantizationConfig(*quantization),
        )
        for name, rows, columns, combiner, quantization in case["tables"]
    }
    features = {
        name: sparse_core.FeatureConfig(tables[table], output_shape=shape)
        for name, table, shape in case["features"]
    }
    return sparse_core.TPUEmbeddingV2(
        features,
        optimizer,
        num_replicas=case["replicas"],
        num_sc_per_chip=case["sc_per_replica"],
        **kwargs,
    )


def _input(parts, samples):
    """The global batch of one feature, out of each replica's."""
    kind = parts[0]["kind"]
    values = np.concatenate([np.reshape(part["values"], -1) for part in parts])
    values = values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
    if kind == "dense":
        return tf.constant(values)
    if kind == "sparse":
        rows = [
            np.array(p["indices"]).reshape(-1, 2) + [i * samples, 0] for i, p in enumerate(parts)
        ]
        return tf.SparseTensor(np.concatenate(rows), values, [samples * len(parts), 99])
    lengths = np.concatenate([np.diff(part["row_splits"]) for part in parts])
    return tf.RaggedTensor.from_row_lengths(values, lengths)


def _inputs(case, of_replicas):
    if of_replicas is None:
        return None
    return {
        name: _input([part[name] for part in of_replicas], int(np.prod(shape)))
        for name, _, shape in case["features"]
    }


def _gradients(case, of_replicas):
    return {
        name: tf.constant(np.concatenate([np.array(p[name], np.float32) for p in of_replicas]))
        for name, _, _ in case["features"]
    }


def _step(embedding, case, step):
    """(operation, activations, enqueued): one step in the default context."""
    enqueued = embedding.enqueue(_inputs(case, step["features"]), _inputs(case, step["weights"]))
    activations, csr = embedding.dequeue(enqueued)
    update = embedding.apply_gradients(_gradients(case, step["gradients"]), csr)
    for name, (partitioned, _, _) in enqueued.items():
        assert partitioned.sample_count == step["csr"][0][name]["sample_count"]
    return update, activations, {n: (p.row_pointers, s) for n, (p, s, _) in enqueued.items()}


def _check_activations(activations, step):
    for name in activations:
        wanted = np.concatenate([np.array(part[name], np.float32) for part in step["activations"]])
        got = np.asarray(activations[name]).reshape(wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=_TOLERANCE)


def _check_row_pointers(embedding, enqueued, step):
    for name, (pointers, sizes) in enqueued.items():
        pointers = np.split(np.asarray(pointers), embedding.num_replicas)
        for replica, (got, size) in enumerate(zip(pointers, np.reshape(sizes, -1))):
            assert got[:size].tolist() == step["csr"][replica][name]["row_pointers"]


def _check_tables(tables, step):
    for name, slots in step["tables_after"].items():
        assert set(slots) == set(tables[name])
        for slot, wanted in slots.items():
            np.testing.assert_allclose(
                tables[name][slot], np.array(wanted), rtol=_TOLERANCE, atol=_TOLERANCE
            )


@pytest.mark.parametrize("case", _CASES, ids=[case["case"] for case in _CASES])
def test_eager_steps(case):
    with models.eagerly():
        embedding = _embedding(case)
        for stack, values in case["initial_stacked"].items():
            embedding.embedding_tables[stack].assign(np.array(values, np.float32))
        for step in case["steps"]:
            _, activations, enqueued = _step(embedding, case, step)
            _check_row_pointers(embedding, enqueued, step)
            _check_activations(activations, step)
            _check_tables(models.logical_tables(embedding), step)


@pytest.mark.parametrize("case", _CASES, ids=[case["case"] for case in _CASES])
def test_steps_in_a_graph(case):
    embedding = _embedding(case)
    embedding.build()
    start = [
        embedding.embedding_tables[stack].assign(np.array(values, np.float32))
        for stack, values in case["initial_stacked"].items()
    ]
    made = [_step(embedding, case, step) for step in case["steps"]]
    tables = {name: embedding.logical_table(name) for name in embedding.embedding_layouts}
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(start)
        for step, fetches in zip(case["steps"], made):
            update, activations, enqueued = fetches
            _, activations, enqueued = session.run([update, activations, enqueued])
            _check_activations(activations, step)
            _check_row_pointers(embedding, enqueued, step)
            _check_tables(session.run(tables), step)


@pytest.mark.parametrize("case", _CASES[3:5], ids=[case["case"] for case in _CASES[3:5]])
def test_steps_in_a_function(case):
    with models.eagerly():
        embedding = _embedding(case)
        for step in case["steps"]:
            inputs, weights = _inputs(case, step["features"]), _inputs(case, step["weights"])
            gradients = _gradients(case, step["gradients"])

            @tf.function
            def run(inputs=inputs, weights=weights, gradients=gradients):
                activations, csr = embedding(inputs, weights)
                embedding.apply_gradients(gradients, csr)
                return activations

            if step is case["steps"][0]:
                embedding.build()
                for stack, values in case["initial_stacked"].items():
                    embedding.embedding_tables[stack].assign(np.array(values, np.float32))
            _check_activations(run(), step)
            _check_tables(models.logical_tables(embedding), step)


@pytest.mark.parametrize("case", _CASES[:1] + _CASES[3:5])
def test_layouts_and_offsets(case):
    embedding = _embedding(case)
    layouts = embedding.embedding_layouts
    for name, (stack, col_offset, col_shift) in case["offsets"].items():
        layout = layouts[name]
        assert layout.stacked_table_name == stack
        assert layout.sparse_core_shard_row_offset * layout.num_sparse_cores == col_offset
        assert layout.sparse_core_shard_rotation == col_shift
