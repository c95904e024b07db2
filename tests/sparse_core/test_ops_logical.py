"""Lookup and update equal what the stack means, in float64 by numpy, on random stacks."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import sparse_core_ops as ops
from tests.sparse_core import ops_testing as t

VOCABULARY = 50
SAMPLES = 16


class _Stack:
    """Two tables of 50 rows, three features (two share a table), one replica-major batch."""

    def __init__(self, random, replicas, cores, width):
        self.replicas, self.cores, self.width = replicas, cores, width
        self.shards = replicas * cores
        self.padded = -(-VOCABULARY // (8 * self.shards)) * 8 * self.shards
        self.tables = random.randn(2, VOCABULARY, width)
        self.table_of = [0, 1, 0]
        self.combiners = ["sum", "mean", "sqrtn"]
        self.features = [self._feature(random, f) for f in range(3)]

    def _shift(self, table):
        return table * self.cores % self.shards

    def _feature(self, random, f):
        lengths = random.randint(0, 6, SAMPLES * self.replicas)
        ids = random.randint(0, VOCABULARY, lengths.sum())
        return {
            "splits": np.concatenate([[0], np.cumsum(lengths)]),
            "ids": ids,
            "weights": random.uniform(0.1, 2, len(ids)),
            "samples": SAMPLES,
            "combiner": self.combiners[f],
            "row_offset": f * SAMPLES,
            "col_offset": self.table_of[f] * self.padded,
            "col_shift": self._shift(self.table_of[f]),
            "vocabulary": VOCABULARY,
        }

    def row(self, table, i):
        """Where row i of a table is in the variable."""
        shard = (i + self._shift(table)) % self.shards
        rows_per_shard = 2 * self.padded // self.shards
        return shard * rows_per_shard + table * self.padded // self.shards + i // self.shards

    def variable(self, values):
        rows = np.zeros([2 * self.padded, self.width])
        for table in range(2):
            for i in range(VOCABULARY):
                rows[self.row(table, i)] = values[table, i]
        return t.variable(rows)

    def logical(self, rows):
        return np.array([[rows[self.row(v, i)] for i in range(VOCABULARY)] for v in range(2)])

    def place(self, f, sample):
        """Where a feature's sample is among the activations."""
        per_core = SAMPLES // self.cores
        core, position = sample // per_core, sample % per_core
        return core * 3 * per_core + f * per_core + position

    def tokens(self):
        """(feature, sample, id, gain) of the batch."""
        for f, feature in enumerate(self.features):
            for sample in range(SAMPLES * self.replicas):
                part = slice(*feature["splits"][sample : sample + 2])
                weights = feature["weights"][part].astype(np.float32).astype(np.float64)
                divisor = {
                    "sum": 1,
                    "mean": weights.sum(),
                    "sqrtn": np.sqrt((weights**2).sum()),
                }[feature["combiner"]]
                for i, weight in zip(feature["ids"][part], weights):
                    yield f, sample, i, weight / divisor

    def preprocess(self):
        return t.preprocess(
            self.features,
            num_replicas=self.replicas,
            num_sc_per_chip=self.cores,
            table_vocab_size=2 * self.padded,
        )


def _adagrad(w, slots, g, rate):
    slots[0] += g * g
    w -= rate * g / np.sqrt(slots[0])


def _adam(w, slots, g, rate):
    slots[0] += 0.1 * (g - slots[0])
    slots[1] += 0.01 * (g * g - slots[1])
    w -= rate * slots[0] / np.sqrt(slots[1] + 1e-3**2)


RULES = {
    "adagrad": ([0.1, 0, 0.1], [0.1], _adagrad),
    "adam_sum_inside_sqrt": ([0.1, 0.9, 0.99, 1e-3, 0, 0], [0.0, 0.0], _adam),
}


def _expected(stack, gradients, initial, step):
    activations = np.zeros([3 * SAMPLES * stack.replicas, stack.width])
    sums = np.zeros_like(stack.tables)
    touched = np.zeros([2, VOCABULARY], bool)
    for f, sample, i, gain in stack.tokens():
        place = stack.place(f, sample)
        activations[place] += gain * stack.tables[stack.table_of[f], i]
        sums[stack.table_of[f], i] += gain * gradients[place]
        touched[stack.table_of[f], i] = True
    tables = stack.tables.copy()
    slots = np.array([np.full_like(tables, value) for value in initial])
    for table, i in zip(*np.nonzero(touched)):
        row_slots = [slot[table, i] for slot in slots]
        step(tables[table, i], row_slots, sums[table, i], 0.1)
    return activations, [tables, *slots]


def _results(stack, gradients, rule, hyperparameters, initial, threads):
    csr = stack.preprocess()
    topology = {"num_replicas": stack.replicas, "num_sc_per_chip": stack.cores}
    variables = [stack.variable(stack.tables)]
    variables += [stack.variable(np.full_like(stack.tables, value)) for value in initial]
    activations = ops.sparse_core_matmul(
        csr, variables[0].handle, input_size=3 * SAMPLES, width=stack.width, **topology
    )
    with tf.control_dependencies([activations]):
        update = ops.sparse_core_apply_gradient(
            csr,
            t.floats(gradients),
            variables[0].handle,
            [slot.handle for slot in variables[1:]],
            hyperparameters,
            rule=rule,
            **topology,
        )
    with tf.control_dependencies([update]):
        after = [variable.read_value() for variable in variables]
    return t.run([activations, after], intra_op_parallelism_threads=threads)


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("replicas, cores", [(1, 1), (1, 4), (2, 2), (4, 4)])
@pytest.mark.parametrize("width", [8, 24])
def test_lookup_and_update(replicas, cores, width, rule):
    random = np.random.RandomState(replicas * 100 + cores * 10 + width)
    stack = _Stack(random, replicas, cores, width)
    gradients = random.randn(3 * SAMPLES * replicas, width)
    hyperparameters, initial, step = RULES[rule]
    expected_activations, expected = _expected(stack, gradients, initial, step)
    results = [
        _results(stack, gradients, rule, hyperparameters, initial, threads) for threads in (1, 5)
    ]
    np.testing.assert_allclose(results[0][0], expected_activations, rtol=1e-5, atol=1e-5)
    for rows, logical in zip(results[0][1], expected):
        np.testing.assert_allclose(stack.logical(rows), logical, rtol=1e-5, atol=2e-5)
    np.testing.assert_array_equal(results[0][0], results[1][0])  # To the bit, whatever the threads.
    for one, many in zip(results[0][1], results[1][1]):
        np.testing.assert_array_equal(one, many)


def test_a_read_from_before_an_update_keeps_its_values():
    table = t.variable(np.ones([8, 8]))
    before = table.read_value()  # May share the variable's memory until the update.
    csr = t.preprocess([{"ids": [3], "samples": 1}], num_sc_per_chip=1)
    with tf.control_dependencies([before]):
        update = ops.sparse_core_apply_gradient(
            csr,
            t.floats(np.ones([1, 8])),
            table.handle,
            [],
            [1.0, 0],
            rule="sgd",
            num_replicas=1,
            num_sc_per_chip=1,
        )
    with tf.control_dependencies([update]):
        kept, after = tf.identity(before), table.read_value()
    kept, after = t.run([kept, after])
    assert (kept == 1).all()
    assert (after[3] == 0).all() and (np.delete(after, 3, axis=0) == 1).all()
