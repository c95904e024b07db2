"""From features to the CSR buffer of each stack.

Nothing here has state: it may run in `tf.data.Dataset.map`, and so overlap with the step before.
"""

import collections

import tensorflow as tf

from .. import validate
from ..ops import sparse_core_ops
from .configuration import MAX_MINIBATCHES, limit_of

PartitionedCsrFormatTensor = collections.namedtuple(
    "PartitionedCsrFormatTensor",
    [
        "row_pointers",
        "sorted_sample_ids",
        "sorted_token_ids",
        "sorted_gains",
        "sample_count",
        "num_minibatches_per_physical_sparse_core",
    ],
)
PartitionedCsrFormatTensor.__doc__ = """The ids of a stack, of all replicas one after the other.

Fields:
  row_pointers: int32 vector, where each segment ends.
  sorted_sample_ids, sorted_token_ids: int32 vectors of one length.
  sorted_gains: float32 vector of that length.
  sample_count: int, samples of the stack on one replica.
  num_minibatches_per_physical_sparse_core: scalar int32 tensor.
"""

# A feature's ids as the ops take them: see `sparse_core_ops.sparse_core_convert`.
Ids = collections.namedtuple("Ids", ["splits", "values", "weights"])

_KINDS = (tf.SparseTensor, tf.RaggedTensor, tf.Tensor)


def flat_inputs(features, feature_config, inputs, argument):
    """The leaves of `inputs`, in the order of `features`; all None for None.

    Raises:
      ValueError: a key or a length differs from feature_config's.
      TypeError: a container is of another type.
    """
    if inputs is None:
        return [None] * len(features)
    try:
        tf.nest.assert_same_structure(feature_config, inputs)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "%s must be structured as feature_config is: %s" % (argument, error)
        ) from error
    return tf.nest.flatten(inputs)


def ids_of(path, ids, weights):
    """The Ids of one feature.

    Args:
      path: str, the feature's, for messages.
      ids: integer Tensor, SparseTensor or RaggedTensor of one ragged dimension.
      weights: of the same kind, or None for ones.

    Raises:
      ValueError: it is of another kind or type, or ragged more than once.
    """
    owner = "feature %r" % path
    kind = _kind_of(owner, "ids", ids, _KINDS)
    values = ids if kind is tf.Tensor else ids.values
    if kind is tf.RaggedTensor and isinstance(values, tf.RaggedTensor):
        validate.fail(owner, "ids", ids, "ragged in one dimension only")
    if not values.dtype.is_integer:
        validate.fail(owner, "ids", values.dtype, "integers: cast them")
    if values.dtype not in (tf.int32, tf.int64):
        narrow = values.dtype.size < 4
        values = tf.cast(values, tf.int32 if narrow else tf.int64)
    if kind is tf.Tensor:
        splits = tf.zeros([0], tf.int32)
    else:
        splits = ids.indices if kind is tf.SparseTensor else ids.row_splits
    return Ids(splits, tf.reshape(values, [-1]), _weights_of(owner, kind, weights))


def csr_of_stacks(plan, config, flat_features, flat_weights):
    """The CSR buffer of each stack.

    Args:
      plan: plan.Plan.
      config: SparseCoreEmbeddingConfig.
      flat_features, flat_weights: lists in the order of `plan.features`, of all replicas' samples.

    Returns:
      OrderedDict stack name -> `sparse_core_ops.CsrBuffer`.

    Raises:
      ValueError: see `ids_of`.
      tf.errors.InvalidArgumentError: when run, ids do not fit their table, feature or limits.
    """
    ids_of_path = {}
    for feature, ids, weights in zip(plan.features, flat_features, flat_weights):
        ids_of_path[feature.path] = ids_of(feature.path, ids, weights)
    return collections.OrderedDict(
        (name, _csr(plan, config, stack, ids_of_path)) for name, stack in plan.stacks.items()
    )


def placements_of(stack):
    """(Feature, Placement) of the stack's features, in order."""
    return [
        (stacked.feature, stack.table_of(stacked.feature.table.name).placement)
        for stacked in stack.features
    ]


def _csr(plan, config, stack, ids_of_path):
    placements = placements_of(stack)
    inputs = [ids_of_path[feature.path] for feature, _ in placements]
    return sparse_core_ops.sparse_core_preprocess(
        [ids.splits for ids in inputs],
        [ids.values for ids in inputs],
        [ids.weights for ids in inputs],
        feature_names=[feature.path for feature, _ in placements],
        sample_counts=[feature.samples for feature, _ in placements],
        combiners=[feature.table.combiner for feature, _ in placements],
        row_offsets=[stacked.sample_offset for stacked in stack.features],
        col_offsets=[place.row_offset * place.num_shards for _, place in placements],
        col_shifts=[place.rotation for _, place in placements],
        vocabulary_sizes=[feature.table.vocabulary_size for feature, _ in placements],
        num_replicas=plan.topology.num_replicas,
        num_sc_per_chip=plan.topology.num_sc_per_chip,
        stacked_table_sample_count=stack.sample_count,
        table_vocab_size=stack.rows,
        feature_width=stack.width,
        max_ids_per_sparse_core=limit_of(stack.name, config.max_ids_per_table),
        max_unique_ids_per_sparse_core=limit_of(stack.name, config.max_unique_ids_per_table),
        max_minibatches_per_sc=MAX_MINIBATCHES,
        max_ids_per_chip_per_sample=config.max_ids_per_chip_per_sample,
        allow_id_dropping=config.allow_id_dropping,
        table_name=stack.name,
    )


def _kind_of(owner, argument, value, kinds):
    for kind in kinds:
        if isinstance(value, kind):
            return kind
    wanted = " or ".join("a tf.%s" % kind.__name__ for kind in kinds)
    return validate.fail(owner, argument, value, wanted)


def _weights_of(owner, kind, weights):
    if weights is None:
        return tf.constant(1.0)
    _kind_of(owner, "weights", weights, [kind])
    values = weights if kind is tf.Tensor else weights.values
    if kind is tf.RaggedTensor and isinstance(values, tf.RaggedTensor):
        validate.fail(owner, "weights", weights, "ragged in one dimension only")
    if not (values.dtype.is_floating or values.dtype.is_integer):
        validate.fail(owner, "weights", values.dtype, "numbers")
    return tf.reshape(tf.cast(values, tf.float32), [-1])
