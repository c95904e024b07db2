"""The settings that every model shares, as data."""

import dataclasses
from typing import Callable, Optional, Tuple

import tensorflow as tf

import estimator_plugin as ep  # ep.sparse_core loads when used: old TensorFlow lacks its classes.
from estimator_plugin.optimizers import adagrad

from .heads import BinaryHead, Head
from .sparse_core_embeddings import SparseCoreOptions
from .towers import ACTIVATIONS

EMBEDDINGS = ("hash_table", "variable", "sparse_core")
SPARSE_LEARNING_RATE = 0.05
SPARSE_INITIAL_ACCUMULATOR = 0.1
DENSE_LEARNING_RATE = 0.001


def _dense_optimizer():
    return tf.compat.v1.train.AdamOptimizer(DENSE_LEARNING_RATE)


def _sparse_optimizer():
    return adagrad.create_hash_optimizer(
        learning_rate=SPARSE_LEARNING_RATE, initial_accumulator_value=SPARSE_INITIAL_ACCUMULATOR
    )


def _variable_optimizer():
    return tf.compat.v1.train.AdagradOptimizer(
        SPARSE_LEARNING_RATE, initial_accumulator_value=SPARSE_INITIAL_ACCUMULATOR
    )


def _sparse_core_optimizer():
    return ep.sparse_core.Adagrad(SPARSE_LEARNING_RATE, SPARSE_INITIAL_ACCUMULATOR)


@dataclasses.dataclass(frozen=True)
class Optimizers:
    """Functions that make the optimizers; called in model_fn, so learning rates may be tensors.

    Args:
      dense: makes the `tf.compat.v1.train.Optimizer` of the network's variables; default Adam,
        0.001.
      sparse: makes the optimizer of the hash tables; default Adagrad, 0.05, accumulators from 0.1.
      variable: makes the optimizer of the `tf.Variable`s that replace the tables with
        `embedding="variable"`; default TensorFlow's Adagrad with the same numbers.
      sparse_core: makes the optimizer of the stacked tables of `embedding="sparse_core"`, one of
        `ep.sparse_core`'s; default its Adagrad with the same numbers.

    Raises:
      ValueError: an entry is not callable.
    """

    dense: Callable = _dense_optimizer
    sparse: Callable = _sparse_optimizer
    variable: Callable = _variable_optimizer
    sparse_core: Callable = _sparse_core_optimizer

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not callable(value):
                raise ValueError(
                    "Optimizers: %s must be a function that makes an optimizer, got %r; write "
                    "`lambda: optimizer(...)`" % (field.name, value)
                )


@dataclasses.dataclass(frozen=True)
class MlpConfig:
    """A stack of fully connected layers.

    Args:
      hidden_units: width of each layer, first to last.
      activation: "relu", "tanh", "sigmoid" or "linear", after every layer.
      dropout: share of the activations dropped in training, 0 to below 1.
      l2: weight of the kernels' squared norms (halved) in the loss.

    Raises:
      ValueError: a value is out of range.
    """

    hidden_units: Tuple[int, ...] = (256, 128)
    activation: str = "relu"
    dropout: float = 0.0
    l2: float = 0.0

    def __post_init__(self):
        units = tuple(self.hidden_units)
        if not units or any(not isinstance(u, int) or u < 1 for u in units):
            raise ValueError(
                "MlpConfig: hidden_units must be one or more ints of at least 1, got %r"
                % (self.hidden_units,)
            )
        object.__setattr__(self, "hidden_units", units)
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                "MlpConfig: activation must be one of %s, got %r"
                % (", ".join(sorted(ACTIVATIONS)), self.activation)
            )
        if not 0 <= self.dropout < 1:
            raise ValueError("MlpConfig: dropout must be in [0, 1), got %r" % (self.dropout,))
        if self.l2 < 0:
            raise ValueError("MlpConfig: l2 must not be negative, got %r" % (self.l2,))


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """What all models have in common.

    Args:
      head: turns logits into loss, metrics and predictions; default `BinaryHead()`.
      optimizers: see `Optimizers`.
      embedding: "hash_table" for tables that grow, "variable" for the same network on
        `tf.Variable`s of `TableSpec.variable_rows` rows (ids taken modulo the rows), to compare
        with; "sparse_core" for stacked tables of as many rows, see `ep.sparse_core`.
      embedding_l2: weight of the squared norm (halved) of the embeddings of a batch, averaged over
        its examples, in the loss.
      timestamp_feature: None, or the name of the feature that is the time of a batch, one integer
        above 0; needed in training only. What features' eviction_threshold is measured by; None is
        the global step.
      modify_graph: default False. Whether `ep.hooks.GraphModifierHook`, which must then be among
        the hooks, moves the work on ids into the input pipeline; variables take no part.
      sparse_core: `SparseCoreOptions`, needed with `embedding="sparse_core"` and only there.

    Raises:
      ValueError: a value is out of range.
    """

    head: Head = BinaryHead()
    optimizers: Optimizers = Optimizers()
    embedding: str = "hash_table"
    embedding_l2: float = 0.0
    timestamp_feature: Optional[str] = None
    modify_graph: bool = False
    sparse_core: Optional[SparseCoreOptions] = None

    def __post_init__(self):
        if not isinstance(self.head, Head):
            raise ValueError("ModelOptions: head must be a Head, got %r" % (self.head,))
        if not isinstance(self.optimizers, Optimizers):
            raise ValueError(
                "ModelOptions: optimizers must be an Optimizers, got %r" % (self.optimizers,)
            )
        if self.embedding not in EMBEDDINGS:
            raise ValueError(
                "ModelOptions: embedding must be one of %s, got %r"
                % (", ".join(EMBEDDINGS), self.embedding)
            )
        if self.embedding_l2 < 0:
            raise ValueError(
                "ModelOptions: embedding_l2 must not be negative, got %r" % (self.embedding_l2,)
            )
        if self.timestamp_feature is not None and not isinstance(self.timestamp_feature, str):
            raise ValueError(
                "ModelOptions: timestamp_feature must be None or a feature's name, got %r"
                % (self.timestamp_feature,)
            )
        if not isinstance(self.modify_graph, bool):
            raise ValueError(
                "ModelOptions: modify_graph must be True or False, got %r" % (self.modify_graph,)
            )
        self._check_sparse_core()

    def _check_sparse_core(self):
        if self.embedding != "sparse_core":
            if self.sparse_core is not None:
                raise ValueError(
                    'ModelOptions: sparse_core is for embedding="sparse_core", got embedding=%r'
                    % (self.embedding,)
                )
            return
        if not isinstance(self.sparse_core, SparseCoreOptions):
            raise ValueError(
                'ModelOptions: embedding="sparse_core" needs sparse_core=SparseCoreOptions('
                "batch_size=...), got %r" % (self.sparse_core,)
            )
        for field, off in (("timestamp_feature", None), ("modify_graph", False)):
            if getattr(self, field) != off:
                raise ValueError(
                    'ModelOptions: %s needs tables that grow, embedding="hash_table"; got %r with '
                    'embedding="sparse_core"' % (field, getattr(self, field))
                )
