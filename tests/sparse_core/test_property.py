"""Random configurations against the logical statement: three steps, then all tables and slots."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core
from tests.sparse_core import models, reference


def _optimizer(random):
    lr = float(np.float32(random.uniform(0.01, 0.3)))
    return [
        lambda: sparse_core.SGD(lr),
        lambda: sparse_core.SGD(lr, clip_weight_min=-0.5, clip_weight_max=0.5),
        lambda: sparse_core.Adagrad(lr, 0.2),
        lambda: sparse_core.AdagradMomentum(lr, 0.9, True, 3, 0.9, 1e-3),
        lambda: sparse_core.AdagradMomentum(lr, 0.5),
        lambda: sparse_core.Adam(lr, 0.8, 0.9, 1e-3),
        lambda: sparse_core.Adam(lr, 0.8, 0.9, 1e-3, sum_inside_sqrt=False),
        lambda: sparse_core.FTRL(lr, -0.5, 0.02, 0.03, 0.1),
        lambda: sparse_core.FTRL(lr, -0.6, 0.02, 0.03, multiply_linear_by_learning_rate=True),
    ][random.randint(9)]()


class _Model:
    """A random configuration and its embedding."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        random = self.random
        self.cores = 2 ** random.randint(0, 3)
        self.replicas = 2 ** random.randint(0, 3)
        self.optimizer = _optimizer(random)
        self.tables = [self._table(i) for i in range(random.randint(1, 5))]
        self.features = {
            "f%d" % i: (random.choice(self.tables), self._shape())
            for i in range(random.randint(1, 6))
        }
        self.embedding = sparse_core.TPUEmbeddingV2(
            {
                name: sparse_core.FeatureConfig(table, output_shape=shape)
                for name, (table, shape) in self.features.items()
            },
            self.optimizer,
            sparse_core_embedding_config=sparse_core.SparseCoreEmbeddingConfig(
                disable_table_stacking=bool(random.randint(4) == 0), max_ids_per_chip_per_sample=256
            ),
            num_replicas=self.replicas,
            num_sc_per_chip=self.cores,
        )

    def samples(self, name):
        return self.replicas * int(np.prod(self.features[name][1]))

    def batch(self):
        """{feature: (ids, weights, tokens)}: tensors, and what they mean."""
        return {name: self._feature(name) for name in self.features}

    def _table(self, i):
        random = self.random
        quantization = None
        if random.randint(4) == 0:
            quantization = sparse_core.QuantizationConfig(5, -0.5, 0.75)
        return sparse_core.TableConfig(
            int(random.randint(1, 60)),
            int(random.randint(1, 18)),
            tf.random_uniform_initializer(-1, 1),
            combiner=random.choice(["sum", "mean", "sqrtn"]),
            name="t%d" % i,
            quantization_config=quantization,
        )

    def _shape(self):
        first = self.cores * self.random.randint(1, 4)
        return [int(first)] + ([2] if self.random.randint(3) == 0 else [])

    def _feature(self, name):
        random, (table, _), samples = self.random, self.features[name], self.samples(name)
        kind = random.randint(3)
        lengths = np.ones(samples, int) if kind == 0 else random.randint(0, 6, samples)
        rows = np.repeat(np.arange(samples), lengths)
        ids = random.randint(0, table.vocabulary_size, len(rows))
        weights = random.uniform(0.1, 2, len(rows)).astype(np.float32)
        if random.randint(2):
            weights[:] = 1
        ids = ids.astype(random.choice([np.int32, np.int64]))

        def shaped(values):
            if kind == 0:
                return tf.constant(values)
            if kind == 1:
                return tf.RaggedTensor.from_row_lengths(values, lengths)
            indices = np.stack([rows, np.arange(len(rows))], axis=1)
            return tf.SparseTensor(indices, values, [samples, max(1, len(rows))])

        return shaped(ids), shaped(weights), list(zip(rows, ids, weights))


def _quantization(table):
    config = table.quantization_config
    return config and (config.num_buckets, config.lower, config.upper)


def _check_step(model, wanted):
    """Runs one step and the reference's."""
    batch = model.batch()
    activations, csr = model.embedding(
        {name: ids for name, (ids, _, _) in batch.items()},
        {name: weights for name, (_, weights, _) in batch.items()},
    )
    gradients, lookups = {}, {}
    for name, (table, shape) in model.features.items():
        samples, tokens = model.samples(name), batch[name][2]
        got = activations[name].numpy()
        assert got.shape == (model.replicas * shape[0], *shape[1:], table.dim)
        values = wanted[table.name]["parameters"]
        np.testing.assert_allclose(
            got.reshape(samples, table.dim),
            reference.activations(values, tokens, samples, table.combiner, _quantization(table)),
            atol=2e-5,
        )
        gradient = model.random.uniform(-1, 1, got.shape).astype(np.float32)
        gradients[name] = tf.constant(gradient)
        lookup = (tokens, samples, table.combiner, gradient.reshape(samples, table.dim))
        lookups.setdefault(table.name, []).append(lookup)
    model.embedding.apply_gradients(gradients, csr)
    for name, of_table in lookups.items():
        for i, gradient in reference.row_gradients(of_table).items():
            reference.update(model.optimizer, wanted[name], i, gradient)


@pytest.mark.parametrize("seed", range(40))
def test_three_steps_are_what_plain_numpy_computes(seed):
    tf.random.set_seed(seed)
    with models.eagerly():
        model = _Model(seed)
        wanted = models.logical_tables(model.embedding)
        wanted = {n: {s: v.astype(np.float64) for s, v in t.items()} for n, t in wanted.items()}
        for _ in range(3):
            _check_step(model, wanted)
        got = models.logical_tables(model.embedding)
    for name, slots in wanted.items():
        for slot, values in slots.items():
            np.testing.assert_allclose(got[name][slot], values, rtol=2e-4, atol=2e-5)
