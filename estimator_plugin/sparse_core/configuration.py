"""The classes that say what tables and features there are.

All but two are TensorFlow's own of `tf.tpu.experimental.embedding`: a program written for them goes
on as it is.
"""

import dataclasses
import typing

import tensorflow as tf

from .. import validate

FeatureConfig = tf.tpu.experimental.embedding.FeatureConfig
QuantizationConfig = tf.tpu.experimental.embedding.QuantizationConfig

DEFAULT_MAX_IDS = 256
MAX_MINIBATCHES = 64


class TableConfig(tf.tpu.experimental.embedding.TableConfig):
    """A table of `vocabulary_size` rows of `dim` float32 values.

    Args:
      vocabulary_size: int >= 1, number of rows.
      dim: int >= 1, number of columns.
      initializer: callable (shape, dtype) -> tensor; see `initialization`. None: a truncated normal
        of mean 0 and standard deviation 1 / sqrt(dim).
      optimizer: one of `optimizers`; None: that of the TPUEmbeddingV2.
      combiner: "mean" (default), "sum" or "sqrtn".
      name: str, unique; None: `table_<index of first use>`.
      quantization_config: a QuantizationConfig, or None (default).
      layout: a SparseCoreTableLayout, where the table lies instead of where stacking would put it;
        None (default): stacking decides.

    Raises:
      ValueError: an argument is out of range.

    >>> table = TableConfig(1000, 16, combiner="sum", name="item")

    Semantics: `tf.tpu.experimental.embedding.TableConfig` of TensorFlow 2.19.
    """

    def __init__(
        self,
        vocabulary_size,
        dim,
        initializer=None,
        optimizer=None,
        combiner="mean",
        name=None,
        quantization_config=None,
        layout=None,
    ):
        super().__init__(
            vocabulary_size, dim, initializer, optimizer, combiner, name, quantization_config
        )
        self.layout = layout


@dataclasses.dataclass(frozen=True)
class SparseCoreEmbeddingConfig:
    """What is set for all tables at once.

    Attributes:
      disable_table_stacking: True gives every table a variable of its own. Default False.
      max_ids_per_chip_per_sample: int >= 1, room in the packed ids for each sample of a stack.
        Default 64.
      max_ids_per_table: dict stack name -> int >= 1 or scalar int32 tensor, how many ids of one
        core may go to one shard, as `compute_sparse_core_stats` gives them. A stack that is not
        there gets 256. Default None: all get 256.
      max_unique_ids_per_table: likewise for distinct ids.
      allow_id_dropping: True leaves ids out that have no room; False (default) makes them an error.
      initialize_tables_on_host: accepted; here tables have one place, the host. Default True.
      enable_fast_table_initialization: True draws a stack's rows by its first table's initializer
        in one call a replica, faster, but not logical table by logical table. Default False.

    Raises:
      ValueError: an attribute is of the wrong type or out of range.

    >>> config = SparseCoreEmbeddingConfig(max_ids_per_table={"item_user": 512})

    Semantics: `tf.tpu.experimental.embedding.SparseCoreEmbeddingConfig` of TensorFlow 2.19.
    """

    disable_table_stacking: bool = False
    max_ids_per_chip_per_sample: int = 64
    max_ids_per_table: typing.Optional[typing.Dict[str, int]] = None
    max_unique_ids_per_table: typing.Optional[typing.Dict[str, int]] = None
    allow_id_dropping: bool = False
    initialize_tables_on_host: bool = True
    enable_fast_table_initialization: bool = False

    def __post_init__(self):
        owner = "SparseCoreEmbeddingConfig"
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                validate.boolean(owner, field.name, value)
            elif field.type is int:
                validate.integer(owner, field.name, value, 1, validate.INT32_MAX)
            else:
                _check_limits(owner, field.name, value)


def limit_of(stack_name, limits):
    """The limit a dict of `SparseCoreEmbeddingConfig` sets for a stack: an int or a tensor."""
    value = (limits or {}).get(stack_name)
    return DEFAULT_MAX_IDS if value is None else value


def _check_limits(owner, argument, limits):
    if limits is None:
        return
    if not isinstance(limits, dict):
        validate.fail(owner, argument, limits, "None or a dict of limits by stack name")
    for stack_name, value in limits.items():
        if value is not None and not tf.is_tensor(value):
            named = "%s[%r]" % (argument, stack_name)
            validate.integer(owner, named, value, 1, validate.INT32_MAX)
