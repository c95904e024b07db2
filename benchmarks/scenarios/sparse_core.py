"""Stacked tables: ids to CSR buffers, and lookup with update, of 26 features with a table each."""

import itertools

import tensorflow as tf

from benchmarks.resources import time_steps
from benchmarks.rivals import csr_by_tensorflow
from benchmarks.scenarios.sparse_core_features import Features
from benchmarks.system import (
    INITIAL_ACCUMULATOR,
    INITIAL_RANGE,
    LEARNING_RATE,
    tensorflow_optimizer,
    uniform_initializer,
)
from estimator_plugin import sparse_core
from estimator_plugin.sparse_core.plan import Plan, Topology

tf1 = tf.compat.v1

_CORES = 4
_COMBINER = "mean"
_NO_LIMIT = 1 << 30  # Of a core's ids for one shard: the ids of a batch are what they are.
# Room for a sample's ids, with what merging takes and padding gives.
_ROOM = {"dense": 8, "ragged": 16}


class _Stacked:
    """Ours: `TPUEmbeddingV2`, which stacks the tables."""

    def __init__(self, features, dim):
        names = ["table%02d" % i for i in range(len(features.splits))]
        tables = [
            sparse_core.TableConfig(
                features.rows,
                dim,
                initializer=tf.random_uniform_initializer(-INITIAL_RANGE, INITIAL_RANGE),
                combiner=_COMBINER,
                name=name,
            )
            for name in names
        ]
        shape = [features.samples]
        config = [
            sparse_core.FeatureConfig(table, output_shape=shape, name=name)
            for table, name in zip(tables, names)
        ]
        optimizer = sparse_core.Adagrad(
            LEARNING_RATE, initial_accumulator_value=INITIAL_ACCUMULATOR
        )
        self.plan = Plan(config, optimizer, Topology(1, _CORES), False)
        limits = {stack: _NO_LIMIT for stack in self.plan.stacks}
        self._embedding = sparse_core.TPUEmbeddingV2(
            config,
            optimizer,
            sparse_core_embedding_config=sparse_core.SparseCoreEmbeddingConfig(
                max_ids_per_chip_per_sample=_ROOM[features.kind],
                max_ids_per_table=limits,
                max_unique_ids_per_table=limits,
            ),
            num_sc_per_chip=_CORES,
            name=features.kind,
        )
        self._inputs = features.inputs()

    def preprocess(self):
        """For each stack, tensors with its CSR buffer: `csr_by_tensorflow.Csr`."""
        csr = {}
        for name, (buffer, _, size) in self._embedding.enqueue(self._inputs).items():
            pointers = buffer.row_pointers[: _CORES * csr_by_tensorflow.ALIGNMENT]
            ids = [part[:size] for part in buffer[1:4]]
            csr[name] = csr_by_tensorflow.Csr(pointers, *ids)
        return csr

    def preprocess_ops(self):
        """What to run for the buffers: a group of them would be pruned as work without effect."""
        buffers = self._embedding.enqueue(self._inputs)
        return [buffer.row_pointers.op for buffer, _, _ in buffers.values()]

    def train_op(self):
        activations, csr = self._embedding(self._inputs)
        gradients = tf.gradients(_loss(activations), activations)
        return self._embedding.apply_gradients(gradients, csr)


class _Separate:
    """TensorFlow's own ops: for ids its sorting, for tables `tf.nn.embedding_lookup_sparse`."""

    def __init__(self, features, dim):
        self._features = features
        self._dim = dim
        self._plan = _Stacked(features, dim).plan

    def preprocess(self):
        """As `_Stacked.preprocess`."""
        return csr_by_tensorflow.csr_of_stacks(self._plan, self._features)

    def preprocess_ops(self):
        """As `_Stacked.preprocess_ops`."""
        return [part.op for part in itertools.chain.from_iterable(self.preprocess().values())]

    def train_op(self):
        variables = [
            tf1.get_variable(
                "%s%02d" % (self._features.kind, i),
                [self._features.rows, self._dim],
                initializer=uniform_initializer(),
                use_resource=True,
            )
            for i in range(len(self._features.splits))
        ]
        activations = [
            tf.nn.embedding_lookup_sparse(variable, ids, None, combiner=_COMBINER)
            for variable, ids in zip(variables, self._features.by_sample())
        ]
        gradients = tf.gradients(_loss(activations), variables)
        return tensorflow_optimizer("adagrad").apply_gradients(list(zip(gradients, variables)))


_SYSTEMS = {"ours": _Stacked, "variable": _Separate}


class SparseCore:
    """Measures "preprocess/<kind>" and "train/<kind>", kind "dense" or "ragged": seconds a step.

    Before, our process compares its buffers of one batch with those made of TensorFlow's ops.

    Args:
      system: "ours" or "variable".
      dim: width of the tables.
      workload: Workload.

    Raises:
      RuntimeError: the two ways give different buffers.
    """

    def __init__(self, system, dim, workload):
        self._session = tf1.Session()
        self._ops, self._feeds = {}, {}
        for kind in Features.KINDS:
            features = Features(kind, workload)
            made = _SYSTEMS[system](features, dim)
            self._ops["preprocess/" + kind] = made.preprocess_ops()
            self._ops["train/" + kind] = made.train_op()
            batches = features.batches()
            if system == "ours":
                theirs = csr_by_tensorflow.csr_of_stacks(made.plan, features)
                both = self._session.run([made.preprocess(), theirs], batches[0])
                csr_by_tensorflow.check_equal(*both)
            self._feeds[kind] = itertools.cycle(batches)
        self._session.run(tf1.global_variables_initializer())

    def measures(self):
        return sorted(self._ops)

    def measure(self, name, seconds):
        op, feeds, run = self._ops[name], self._feeds[name.split("/")[1]], self._session.run
        return {"seconds": time_steps(lambda: run(op, next(feeds)), seconds)}


def _loss(activations):
    """Mean square of (sum over a sample's features - 1)."""
    return tf.reduce_mean(tf.square(tf.add_n(activations) - 1.0))
