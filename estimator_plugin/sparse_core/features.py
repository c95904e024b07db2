"""The features and tables of a feature configuration, checked and in order."""

import collections

import tensorflow as tf

from .. import notices, tf_compat, validate
from . import layout as layouts
from .configuration import FeatureConfig

# A feature: its path in the configuration, its Table, its samples on one replica (the product of
# output_shape), and output_shape as a tuple.
Feature = collections.namedtuple("Feature", ["path", "table", "samples", "output_shape"])


class Table:
    """A table as it is used: the user's TableConfig is left alone.

    Attributes:
      name, vocabulary_size, dim, initializer, combiner, quantization_config: as in TableConfig.
      optimizer: that of the TableConfig or else the one all tables have.
      layout: the SparseCoreTableLayout it was given, or None.
    """

    def __init__(self, config, index, optimizer):
        self.name = config.name if config.name is not None else "table_%d" % index
        self.vocabulary_size = config.vocabulary_size
        self.dim = config.dim
        self.initializer = config.initializer
        self.combiner = config.combiner
        self.quantization_config = config.quantization_config
        self.optimizer = config.optimizer if config.optimizer is not None else optimizer
        self.layout = getattr(config, "layout", None)  # TensorFlow 2.15's own has none.
        self._check()

    @property
    def owner(self):
        """How error messages name it."""
        return "table %r" % self.name

    def _check(self):
        if not self.name or "/" in self.name:
            validate.fail("table config", "name", self.name, "a name without '/'")
        if self.optimizer is None:
            validate.fail(self.owner, "optimizer", None, "given, to it or to TPUEmbeddingV2")
        quantization = self.quantization_config
        if quantization is not None and not quantization.lower < quantization.upper:
            wanted = "below upper, %r" % (quantization.upper,)
            validate.fail(self.owner, "quantization_config: lower", quantization.lower, wanted)
        if self.layout is not None:
            layouts.check_table(self.layout, self.name, self.vocabulary_size, self.dim)


def collected(feature_config, optimizer, num_cores):
    """The features of a configuration.

    Args:
      feature_config: a FeatureConfig or a nest of them.
      optimizer: what tables without an optimizer get, or None.
      num_cores: int, cores of a replica; a feature's samples divide by it.

    Returns:
      A list of Feature, in the order of `tf.nest.flatten`. Features of one TableConfig share a
      Table.

    Raises:
      ValueError: an element is no FeatureConfig, an output_shape is missing or does not divide,
        max_sequence_length is set, a table has no optimizer, or two tables or two features have one
        name.
    """
    table_of_config = collections.OrderedDict()
    features = []
    for path, config in tf_compat.flatten_with_joined_string_paths(feature_config):
        if not isinstance(config, FeatureConfig):
            validate.fail("feature_config", "element %r" % path, config, "a FeatureConfig")
        _check_options(path, config)
        if id(config.table) not in table_of_config:
            index = len(table_of_config)
            table_of_config[id(config.table)] = Table(config.table, index, optimizer)
        shape = _output_shape(path, config.output_shape)
        samples = _product(shape)
        _check_divides(path, shape, samples, num_cores)
        features.append(Feature(path, table_of_config[id(config.table)], samples, shape))
    for path, count in collections.Counter(feature.path for feature in features).items():
        if count > 1:
            raise ValueError("feature_config: %d features have the path %r" % (count, path))
    names = [table.name for table in table_of_config.values()]
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ValueError(
                "feature_config: %d distinct tables are named %r; give each a name of its own, or "
                "share one TableConfig" % (count, name)
            )
    return features


def tables_of(features):
    """The tables of a list of Feature, in order of first use."""
    return list(collections.OrderedDict((id(f.table), f.table) for f in features).values())


def _check_options(path, config):
    """Sequences are refused: upstream ignores the length, and then the shapes are others."""
    owner = "feature %r" % path
    if config.max_sequence_length:
        wanted = "0; give the shape of a sequence's samples, [batch, length], as output_shape"
        validate.fail(owner, "max_sequence_length", config.max_sequence_length, wanted)
    if not config.validate_weights_and_indices:  # Ids are checked in any case.
        notices.no_meaning(owner, ["validate_weights_and_indices"])


def _product(numbers):
    product = 1
    for number in numbers:
        product *= number
    return product


def _output_shape(path, shape):
    owner = "feature %r" % path
    shape = tf.TensorShape(shape)
    if shape.rank is None or not shape.is_fully_defined():
        validate.fail(owner, "output_shape", shape, "known: samples of one replica, without dim")
    if shape.rank == 0 or 0 in shape.as_list():
        validate.fail(owner, "output_shape", shape, "of at least one dimension, all at least 1")
    return tuple(shape.as_list())


def _check_divides(path, shape, samples, num_cores):
    if samples % num_cores:
        wanted = "of a multiple of num_sc_per_chip (%d) samples" % num_cores
        validate.fail("feature %r" % path, "output_shape", shape, wanted)
