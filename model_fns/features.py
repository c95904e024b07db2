"""What a model reads: embedding tables and the features that refer to them.

Features refer to their table *by object*, so two features that share a table say so visibly:

    items = TableSpec("item", dim=16)
    features = [
        CategoricalFeature("item_id", items),
        CategoricalFeature("liked_items", items, combiner="mean"),
        NumericFeature("price", transform=tf.math.log1p),
    ]
"""

import collections
import dataclasses
from typing import Any, Callable, Optional

import tensorflow as tf

from estimator_plugin import admission, eviction, thresholds

MAX_DIM = 8192
COMBINERS = ("sum", "mean", "sqrtn")
DEFAULT_STDDEV = 0.05


@dataclasses.dataclass(frozen=True)
class TableSpec:
    """One embedding table.

    Args:
      name: table name, unique in the model; also its name in checkpoints.
      dim: embedding width, 1 to 8192.
      initializer: TensorFlow initializer of new rows; default a truncated normal, stddev 0.05.
      variable_rows: rows of the `tf.Variable` that stands in for the table when the model is built
        with `embedding="variable"`. A hash table grows by itself and ignores it.
      admission: filter of `ep.admission` that counts ids which have no row yet; default exact
        counts. Features say with access_threshold whether ids are counted at all.
      eviction: None, a policy of `ep.eviction` or a list of them: rows that `EvictHook` removes,
        beside those past a feature's eviction_threshold.

    Raises:
      ValueError: a value is out of range; the message names the table, field and value.
    """

    name: str
    dim: int
    initializer: Optional[Any] = None
    variable_rows: int = 100000
    admission: Optional[Any] = None
    eviction: Optional[Any] = None

    def __post_init__(self):
        if not self.name:
            raise ValueError("TableSpec: name is empty; give each table a name")
        _check_int(self, "dim", self.dim, 1, MAX_DIM)
        _check_int(self, "variable_rows", self.variable_rows, 1, None)
        if self.initializer is not None and not callable(self.initializer):
            raise ValueError(
                "TableSpec %r: initializer must be a TensorFlow initializer, got %r"
                % (self.name, self.initializer)
            )
        owner = "TableSpec %r" % self.name
        admission.checked_filter(owner, self.admission)
        policies = eviction.checked_policies(owner, self.eviction)
        object.__setattr__(self, "eviction", policies)

    def make_initializer(self):
        """The initializer of new rows."""
        if self.initializer is not None:
            return self.initializer
        return tf.compat.v1.truncated_normal_initializer(stddev=DEFAULT_STDDEV)


@dataclasses.dataclass(frozen=True)
class CategoricalFeature:
    """Ids that are looked up in a table.

    Args:
      name: key of the ids in the features dictionary.
      table: the `TableSpec` the ids belong to. Several features may share one.
      combiner: None for one id per example (ids `[batch]` or `[batch, 1]`); "sum", "mean" or
        "sqrtn" to pool several ids (dense `[batch, n]` padded with -1 or "", `SparseTensor` or
        `RaggedTensor`).
      dtype: dtype of the ids: `tf.int64`, `tf.int32` or `tf.string`. Strings are hashed in the
        graph.
      access_threshold: None or int from -1, default None. An id gets a row once training saw it so
        many times; until then it reads as zeros. 0, None and -1 count nothing.
      eviction_threshold: None or int from -1, default None. `EvictHook` removes rows last seen so
        long ago: in the units of `ModelOptions.timestamp_feature`, or in steps without one. None,
        -1 and 0 are off.
      faae_coefficient: int from 1, default 1. What an occurrence of an id counts.

    Features that share a table have the same thresholds; those that say nothing take them over.

    Raises:
      ValueError: a value is out of range; the message names the feature, field and value.
    """

    name: str
    table: TableSpec
    combiner: Optional[str] = None
    dtype: tf.DType = tf.int64
    access_threshold: Optional[int] = None
    eviction_threshold: Optional[int] = None
    faae_coefficient: int = 1

    def __post_init__(self):
        if not self.name:
            raise ValueError("CategoricalFeature: name is empty; give each feature a name")
        if not isinstance(self.table, TableSpec):
            raise ValueError(
                "CategoricalFeature %r: table must be a TableSpec, got %r" % (self.name, self.table)
            )
        if self.combiner is not None and self.combiner not in COMBINERS:
            raise ValueError(
                "CategoricalFeature %r: combiner must be None or one of %s, got %r"
                % (self.name, ", ".join(COMBINERS), self.combiner)
            )
        if self.dtype not in (tf.int64, tf.int32, tf.string):
            raise ValueError(
                "CategoricalFeature %r: dtype must be tf.int64, tf.int32 or tf.string, got %r"
                % (self.name, self.dtype)
            )
        self.thresholds()

    def thresholds(self):
        """The thresholds as `thresholds.Thresholds`."""
        return thresholds.checked(
            "CategoricalFeature %r" % self.name,
            self.access_threshold,
            self.eviction_threshold,
            self.faae_coefficient,
        )

    def access_and_evict_config(self):
        """What `sparse_lookup` takes by that name."""
        return {
            "access_threshold": self.access_threshold,
            "eviction_threshold": self.eviction_threshold,
            "faae_coefficient": self.faae_coefficient,
        }


@dataclasses.dataclass(frozen=True)
class NumericFeature:
    """Numbers that enter the network as they are.

    Args:
      name: key of the numbers in the features dictionary, `[batch]` or `[batch, size]`, any numeric
        dtype.
      size: numbers per example.
      transform: function from the float32 tensor `[batch, size]` to one of the same shape, e.g.
        `tf.math.log1p`.

    Raises:
      ValueError: a value is out of range; the message names the feature, field and value.
    """

    name: str
    size: int = 1
    transform: Optional[Callable] = None

    def __post_init__(self):
        if not self.name:
            raise ValueError("NumericFeature: name is empty; give each feature a name")
        _check_int(self, "size", self.size, 1, None)
        if self.transform is not None and not callable(self.transform):
            raise ValueError(
                "NumericFeature %r: transform must be callable, got %r"
                % (self.name, self.transform)
            )


def split_features(features):
    """Checks a list of features and splits it: (categorical, numeric), order kept.

    Raises:
      ValueError: the list is empty, two features have one name, two different tables have one name,
        an element is no feature, or features of one table have different thresholds.
    """
    features = list(features)
    if not features:
        raise ValueError("features is empty; a model needs at least one feature")
    for feature in features:
        if not isinstance(feature, (CategoricalFeature, NumericFeature)):
            raise ValueError(
                "features must hold CategoricalFeature and NumericFeature objects, got %r"
                % (feature,)
            )
    names = collections.Counter(feature.name for feature in features)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise ValueError("feature names must be unique, repeated: %s" % ", ".join(repeated))
    categorical = [f for f in features if isinstance(f, CategoricalFeature)]
    numeric = [f for f in features if isinstance(f, NumericFeature)]
    tables = {}
    for feature in categorical:
        table = tables.setdefault(feature.table.name, feature.table)
        if table != feature.table:
            raise ValueError(
                "two different TableSpecs are named %r: %r and %r; share one object or rename one"
                % (table.name, table, feature.table)
            )
    return _with_thresholds_of_tables(categorical), numeric


def _with_thresholds_of_tables(categorical):
    """The features, each with the thresholds that those of its table have together."""
    found = {}
    for feature in categorical:
        name = feature.table.name
        known = found.get(name, thresholds.NONE)
        found[name] = thresholds.agreed(name, known, feature.thresholds())
    return [
        dataclasses.replace(
            feature,
            access_threshold=found[feature.table.name].access,
            eviction_threshold=found[feature.table.name].eviction,
            faae_coefficient=found[feature.table.name].coefficient,
        )
        for feature in categorical
    ]


def _check_int(owner, field, value, low, high):
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= low
    if not valid or (high is not None and value > high):
        wanted = "from %d to %d" % (low, high) if high is not None else "of at least %d" % low
        raise ValueError(
            "%s %r: %s must be an int %s, got %r"
            % (type(owner).__name__, owner.name, field, wanted, value)
        )
