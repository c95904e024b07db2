"""What a benchmark asks of an embedding library, so that one benchmark measures them all."""

import abc
import importlib

import tensorflow as tf

tf1 = tf.compat.v1

LEARNING_RATE = 0.01
ADAM_LEARNING_RATE = 0.001
INITIAL_ACCUMULATOR = 0.1
INITIAL_RANGE = 0.05  # Rows start uniform in [-range, range].
SLOTS = {"sgd": 0, "adagrad": 1, "adam": 2}

_CLASSES = {
    "ours": ("benchmarks.ours", "Ours"),
    "pipelined": ("benchmarks.ours", "Pipelined"),
    "floor": ("benchmarks.floor", "Floor"),
    "partitioned": ("benchmarks.rivals.partitioned", "Partitioned"),
    "variable": ("benchmarks.rivals.variable", "Variable"),
    "columns": ("benchmarks.rivals.columns", "Columns"),
    "tfra": ("benchmarks.rivals.tfra", "Tfra"),
    "deeprec": ("benchmarks.rivals.deeprec", "DeepRec"),
}


class System(abc.ABC):
    """The embedding tables of one graph, all of one dim and one optimizer.

    Every method adds ops to the default graph.

    Args:
      dim: width of an embedding.
      optimizer: "sgd", "adagrad" or "adam".
    """

    uses_row_numbers = False  # Fed with row numbers instead of ids: it does no hashing at all.
    grows = True
    lookup_ways = ("raw", "unique")  # Arguments of lookup_by worth measuring.
    train_ways = ("raw", "unique")  # Arguments of embed_by worth measuring.
    best_way = "unique"  # The train way where only one is measured: growth, Estimator.
    savers = ("stock",)

    def __init__(self, dim, optimizer):
        if optimizer not in SLOTS:
            raise ValueError("optimizer is %r, not one of %s" % (optimizer, sorted(SLOTS)))
        self.dim = dim
        self.optimizer = optimizer

    @abc.abstractmethod
    def add_table(self, name, rows):
        """Returns a new table, for `lookup`, `embed`, `insert` and `size`."""

    @abc.abstractmethod
    def lookup(self, table, ids):
        """Embeddings [n, dim] of int64 ids [n], no gradient needed."""

    @abc.abstractmethod
    def embed(self, table, ids, distinct=False):
        """As `lookup`, for training. `distinct` promises that no id occurs twice."""

    @abc.abstractmethod
    def sources(self):
        """What to differentiate the loss by, once all `embed` calls of a step are made."""

    @abc.abstractmethod
    def apply(self, gradients):
        """The op that updates the tables by the gradients of `sources()`, in that order.

        It ends the step: a later `embed` belongs to another training op on the same tables.
        """

    def insert(self, table, ids):
        """An op that gives each id a row with a fresh embedding; only if the system `grows`."""
        raise NotImplementedError

    def size(self, table):
        """Number of rows, an integer tensor; only if the system `grows`."""
        raise NotImplementedError

    def initializers(self):
        """Ops to run once after TensorFlow's variables are initialized."""
        return []

    def estimator_initializers(self):
        """Those of them that an Estimator does not run by itself."""
        return []

    @staticmethod
    def hooks():
        """Hooks that an Estimator is to be given."""
        return []

    def saver(self, kind):
        """An object with save(session, prefix) -> path and restore(session, path)."""
        del kind
        return StockSaver(tf1.train.Saver())

    def lookup_by(self, way, table, ids):
        """`lookup` done "raw", or "unique": distinct ids first, rows spread again after."""
        if way == "raw":
            return self.lookup(table, ids)
        distinct, index = tf.unique(ids)
        return tf.gather(self.lookup(table, distinct), index)

    def embed_by(self, way, table, ids):
        """`embed` done "raw" or "unique"."""
        if way == "raw":
            return self.embed(table, ids)
        distinct, index = tf.unique(ids)
        return tf.gather(self.embed(table, distinct, distinct=True), index)


class StockSaver:
    """A Saver, tensors only: no graph and no record of the latest checkpoint."""

    def __init__(self, saver):
        self._saver = saver

    def save(self, session, prefix):
        return self._saver.save(session, prefix, write_meta_graph=False, write_state=False)

    def restore(self, session, path):
        self._saver.restore(session, path)


def tensorflow_optimizer(name):
    """TensorFlow's own optimizer, with the settings every system here trains with."""
    if name == "sgd":
        return tf1.train.GradientDescentOptimizer(LEARNING_RATE)
    if name == "adagrad":
        return tf1.train.AdagradOptimizer(
            LEARNING_RATE, initial_accumulator_value=INITIAL_ACCUMULATOR
        )
    return tf1.train.AdamOptimizer(ADAM_LEARNING_RATE)


def uniform_initializer():
    return tf1.random_uniform_initializer(-INITIAL_RANGE, INITIAL_RANGE)


def system_class(name):
    """The class of system `name`; its module is imported only now, for its own environment."""
    module, symbol = _CLASSES[name]
    return getattr(importlib.import_module(module), symbol)
