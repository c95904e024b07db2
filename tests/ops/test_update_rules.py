"""Every rule against TensorFlow's own optimizer: the same ids, duplicates and padding included.

The rows an optimizer of TensorFlow touches are the same, so its sparse kernels on a tf.Variable are
the reference. Adam has no sparse kernel that leaves other rows alone: there the reference is its
dense kernel on a variable of just the rows of the step.
"""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import lookup_ops, update_ops

tf1 = tf.compat.v1

DIM = 5
ROWS = 40
STEPS = 6


def _batches():
    """Per step two lookups with duplicates, within and across them, of int64 ids below ROWS."""
    random = np.random.RandomState(11)
    for _ in range(STEPS):
        ids = [random.randint(0, ROWS, n).astype(np.int64) for n in (30, 17)]
        yield ids, [random.randn(len(i), DIM).astype(np.float32) for i in ids]


def _start():
    return np.random.RandomState(12).uniform(-1, 1, [ROWS, DIM]).astype(np.float32)


class _Table:
    """A table with the rows of `_start`, updated by `rule`."""

    def __init__(self, session, new_table, rule, hyperparameters, by_key, num_hyperparameters):
        bank = _start()
        # The bank's rows go to keys by hash, so keys are chosen that give each row once.
        self._handle = new_table(
            dim=DIM, bank=bank, initializer_kind="bank", initializer_arguments=[], num_buckets=8
        )
        self._session = session
        self._keys = self._keys_of_rows(bank)
        self._ids = [tf1.placeholder(tf.int64, [None]) for _ in range(2)]
        self._gradients = [tf1.placeholder(tf.float32, [None, DIM]) for _ in range(2)]
        self._hyperparameters = tf1.placeholder(tf.float64, [num_hyperparameters])
        self._values = hyperparameters
        if by_key:
            apply, ids = update_ops.table_apply_gradients_by_key, self._ids
        else:
            apply = update_ops.table_apply_gradients
            ids = [lookup_ops.table_find(self._handle, i) for i in self._ids]
        self._update = apply(self._handle, self._hyperparameters, ids, self._gradients, rule)

    def _keys_of_rows(self, bank):
        candidates = np.arange(20 * ROWS, dtype=np.int64)
        rows = self._session.run(lookup_ops.table_lookup(self._handle, candidates, DIM, True)[0])
        keys = []
        for row in bank:
            keys.append(candidates[np.flatnonzero((rows == row).all(axis=1))[0]])
        return np.array(keys)

    def step(self, number, ids, gradients):
        # Padding, with gradients of its own, that must be ignored.
        feed = {self._hyperparameters: self._values(number)}
        for place, part in zip(self._ids, ids):
            feed[place] = np.append(self._keys[part], -1)
        for place, part in zip(self._gradients, gradients):
            feed[place] = np.append(part, np.full([1, DIM], 7e5, np.float32), axis=0)
        self._session.run(self._update, feed)

    def rows(self):
        embeddings, _ = lookup_ops.table_lookup(self._handle, self._keys, DIM, False)
        return self._session.run(embeddings)


def _check(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=5e-7)  # Of values around one.


def _float(value):
    """`value` as TensorFlow's float32 kernels see it."""
    return float(np.float32(value))


SPARSE_RULES = {
    "sgd": ("sgd", [0.3, 0.0], lambda: tf1.train.GradientDescentOptimizer(0.3)),
    "momentum": ("momentum", [0.1, 0.9, 0], lambda: tf1.train.MomentumOptimizer(0.1, 0.9)),
    "nesterov": (
        "momentum",
        [0.1, 0.9, 1],
        lambda: tf1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    ),
    "adagrad": ("adagrad", [0.2, 0.0, 0.1], lambda: tf1.train.AdagradOptimizer(0.2)),
    "rmsprop": (
        "rmsprop",
        [0.05, 0.9, 0.5, 1e-7],
        lambda: tf1.train.RMSPropOptimizer(0.05, 0.9, momentum=0.5, epsilon=1e-7),
    ),
    "ftrl": (
        "ftrl",
        [0.3, -0.5, 0.01, 0.02, 0.03, 0.1, 0.0],
        lambda: tf1.train.FtrlOptimizer(
            0.3,
            l1_regularization_strength=0.01,
            l2_regularization_strength=0.02,
            l2_shrinkage_regularization_strength=0.03,
        ),
    ),
    "ftrl, power and beta": (
        "ftrl",
        [0.3, -0.7, 0.01, 0.02, 0.0, 0.2, 0.5],
        lambda: tf1.train.FtrlOptimizer(
            0.3,
            learning_rate_power=-0.7,
            initial_accumulator_value=0.2,
            l1_regularization_strength=0.01,
            l2_regularization_strength=0.02,
            beta=0.5,
        ),
    ),
}


@pytest.mark.parametrize("by_key", [False, True], ids=["by_address", "by_key"])
@pytest.mark.parametrize("case", sorted(SPARSE_RULES))
def test_rule_equals_tensorflows_sparse_optimizer(session, new_table, case, by_key):
    rule, hyperparameters, make_optimizer = SPARSE_RULES[case]
    table = _Table(
        session, new_table, rule, lambda _: hyperparameters, by_key, len(hyperparameters)
    )
    variable = tf1.get_variable("reference", initializer=_start(), use_resource=True)
    ids, gradients = tf1.placeholder(tf.int64, [None]), tf1.placeholder(tf.float32, [None, DIM])
    update = make_optimizer().apply_gradients(
        [(tf.IndexedSlices(gradients, ids, [ROWS, DIM]), variable)]
    )
    session.run(tf1.global_variables_initializer())
    for number, (id_parts, gradient_parts) in enumerate(_batches()):
        table.step(number, id_parts, gradient_parts)
        session.run(
            update, {ids: np.concatenate(id_parts), gradients: np.concatenate(gradient_parts)}
        )
        _check(table.rows(), session.run(variable))


class _AdamReference:
    """TensorFlow's dense Adam kernels on the rows of one step at a time."""

    def __init__(self, session, amsgrad):
        self._session = session
        self._amsgrad = amsgrad
        names = ["var", "m", "v"] + (["vhat"] if amsgrad else [])
        self.state = {name: np.zeros([ROWS, DIM], np.float32) for name in names}
        self.state["var"] = _start()
        self._names = names

    def step(self, number, ids, gradients):
        rows, inverse = np.unique(ids, return_inverse=True)
        summed = np.zeros([len(rows), DIM], np.float32)
        np.add.at(summed, inverse, gradients)
        variables = {
            name: tf1.get_variable(
                "%s_%d" % (name, number), initializer=self.state[name][rows], use_resource=True
            )
            for name in self._names
        }
        kernel = (
            tf.raw_ops.ResourceApplyAdamWithAmsgrad
            if self._amsgrad
            else tf.raw_ops.ResourceApplyAdam
        )
        update = kernel(
            beta1_power=np.float32(0.9 ** (number + 1)),
            beta2_power=np.float32(0.99 ** (number + 1)),
            lr=0.05,
            beta1=0.9,
            beta2=0.99,
            epsilon=1e-6,
            grad=summed,
            **{name: variable.handle for name, variable in variables.items()},
        )
        self._session.run([variable.initializer for variable in variables.values()])
        self._session.run(update)
        for name, variable in variables.items():
            self.state[name][rows] = self._session.run(variable)


@pytest.mark.parametrize("by_key", [False, True], ids=["by_address", "by_key"])
@pytest.mark.parametrize("rule", ["adam", "amsgrad"])
def test_adam_equals_tensorflows_on_the_rows_of_the_step(session, new_table, rule, by_key):
    def hyperparameters(number):
        powers = [_float(0.9 ** (number + 1)), _float(0.99 ** (number + 1))]
        return [_float(0.05), _float(0.9), _float(0.99), _float(1e-6)] + powers

    table = _Table(session, new_table, rule, hyperparameters, by_key, 6)
    reference = _AdamReference(session, amsgrad=rule == "amsgrad")
    for number, (ids, gradients) in enumerate(_batches()):
        table.step(number, ids, gradients)
        reference.step(number, np.concatenate(ids), np.concatenate(gradients))
        _check(table.rows(), reference.state["var"])


def test_sgd_with_weight_decay(session, new_table):
    table = _Table(session, new_table, "sgd", lambda _: [0.1, 0.01], False, 2)
    wanted = _start().astype(np.float64)
    for number, (ids, gradients) in enumerate(_batches()):
        table.step(number, ids, gradients)
        summed = np.zeros([ROWS, DIM])
        np.add.at(summed, np.concatenate(ids), np.concatenate(gradients))
        touched = np.unique(np.concatenate(ids))
        wanted[touched] -= 0.1 * (summed[touched] + 0.01 * wanted[touched])
        np.testing.assert_allclose(table.rows(), wanted, rtol=2e-6, atol=1e-7)


def test_adagrad_with_epsilon(session, new_table):
    table = _Table(session, new_table, "adagrad", lambda _: [0.2, 1e-2, 0.0], False, 3)
    rows, accumulators = _start().astype(np.float64), np.zeros([ROWS, DIM])
    for number, (ids, gradients) in enumerate(_batches()):
        table.step(number, ids, gradients)
        summed = np.zeros([ROWS, DIM])
        np.add.at(summed, np.concatenate(ids), np.concatenate(gradients))
        accumulators += summed**2
        rows -= 0.2 * summed / np.sqrt(accumulators + 1e-2)
        np.testing.assert_allclose(table.rows(), rows, rtol=2e-6, atol=1e-6)
