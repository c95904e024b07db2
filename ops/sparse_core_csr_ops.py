"""The CSR buffer of a stack: `sparse_core_pack` and, from ids in one operation, `_preprocess`."""

import collections

import tensorflow as tf

from .library import load
from .op_inputs import as_splits, float_weights, limit, lists_of_length

CsrBuffer = collections.namedtuple(
    "CsrBuffer",
    "row_pointers sorted_sample_ids sorted_token_ids sorted_gains row_pointers_unpadded_size "
    "ids_unpadded_size num_minibatches_per_sc",
)
CsrBuffer.__doc__ = """The ids of one stack, as `sparse_core_matmul` reads them.

With R replicas, vectors are R equal parts, one for each replica, and the sizes are vectors of R;
with one replica the sizes are scalars.

Fields:
  row_pointers: int32 [R * max_minibatches_per_sc * C * (N rounded up to a multiple of 8)]: the
    exclusive end of each segment. A segment begins at the end before it, rounded up to a multiple
    of 8.
  sorted_sample_ids: int32 [R * capacity], a sample's position among those of its core.
  sorted_token_ids: int32 [R * capacity], a row's position in its shard.
  sorted_gains: float32 [R * capacity].
  row_pointers_unpadded_size: int32, how many row pointers are in use.
  ids_unpadded_size: int32, how much of the capacity is in use.
  num_minibatches_per_sc: int32 scalar.

Padding is 2147483647 in the ids and 2147483648.0 in the gains; row pointers that are not in use
repeat the last end.
"""


def sparse_core_pack(
    sorted_row_ids_list,
    sorted_col_ids_list,
    sorted_gains_list,
    id_counts_list,
    splits,
    *,
    sample_count_per_sc,
    num_replica,
    max_minibatches_per_sc,
    max_ids_per_chip_per_sample,
    table_vocab_size,
    feature_width,
    num_sc_per_chip,
    table_name,
    allow_id_dropping=False,
    name=None,
):
    """The sorted ids of a chip's cores in one buffer of fixed size.

    Args:
      sorted_row_ids_list, sorted_col_ids_list, sorted_gains_list, id_counts_list: lists of C
        vectors, what `sparse_core_sort` gives for each core. id_counts of 64 * N + 1 elements count
        the ids of 64 buckets of each shard.
      splits: int64 scalar or vector; 0: one minibatch. Bit 2**l - 1 + s of their union: a boundary
        between buckets in the middle of section s of 2**l equal ones.
      sample_count_per_sc: int >= 1, samples of the stack on one core.
      num_replica, num_sc_per_chip: ints >= 1; their product, N, is a power of two.
      max_minibatches_per_sc: int >= 1.
      max_ids_per_chip_per_sample: int >= 1. The capacity is this times sample_count_per_sc * C, a
        multiple of 8; padding counts.
      table_vocab_size, feature_width: ints >= 1. As upstream's op has them; they change nothing.
      table_name: str, for error messages.
      allow_id_dropping: whether ids beyond the capacity are left out, which is logged. Otherwise
        they are an error.
      name: optional name of the operation.

    Returns:
      A `CsrBuffer`.

    Raises:
      ValueError: lists differ in length, or an attribute is out of range.
      tf.errors.InvalidArgumentError: when run, ids do not fit the capacity, or inputs each other.
      tf.errors.FailedPreconditionError: when run, N is not a power of two.

    >>> csr = sparse_core_pack(
    ...     [[0]], [[3]], [[1.0]], [[0, 1]], 0, sample_count_per_sc=8, num_replica=1,
    ...     max_minibatches_per_sc=1, max_ids_per_chip_per_sample=1, table_vocab_size=8,
    ...     feature_width=8, num_sc_per_chip=1, table_name="user")
    >>> session.run(csr.ids_unpadded_size)
    8
    """
    lists = lists_of_length(
        num_sc_per_chip,
        "num_sc_per_chip",
        sorted_row_ids_list=sorted_row_ids_list,
        sorted_col_ids_list=sorted_col_ids_list,
        sorted_gains_list=sorted_gains_list,
        id_counts_list=id_counts_list,
    )
    return CsrBuffer(
        *load().ep_sparse_core_pack(
            lists["sorted_row_ids_list"],
            lists["sorted_col_ids_list"],
            lists["sorted_gains_list"],
            lists["id_counts_list"],
            tf.cast(splits, tf.int64),
            sample_count_per_sc=sample_count_per_sc,
            num_replicas=num_replica,
            max_minibatches_per_sc=max_minibatches_per_sc,
            max_ids_per_chip_per_sample=max_ids_per_chip_per_sample,
            table_vocab_size=table_vocab_size,
            feature_width=feature_width,
            table_name=table_name,
            allow_id_dropping=allow_id_dropping,
            name=name,
        )
    )


def sparse_core_preprocess(
    indices_or_row_splits,
    values,
    weights,
    *,
    feature_names,
    sample_counts,
    combiners,
    row_offsets,
    col_offsets,
    col_shifts,
    vocabulary_sizes,
    num_replicas,
    num_sc_per_chip,
    stacked_table_sample_count,
    table_vocab_size,
    feature_width,
    max_ids_per_sparse_core,
    max_unique_ids_per_sparse_core,
    max_ids_per_chip_per_sample,
    max_minibatches_per_sc=64,
    allow_id_dropping=False,
    table_name="",
    name=None,
):
    """`sparse_core_convert`, `_sort` and `_pack` for all features, cores and replicas of a stack.

    Args:
      indices_or_row_splits, values, weights: lists of F tensors, as for `sparse_core_convert`. Each
        has the samples of all replicas, those of replica 0 first.
      feature_names: list of F strings, for error messages.
      sample_counts: list of F ints, samples of each feature on one replica; multiples of C.
      combiners, row_offsets, col_offsets, col_shifts, vocabulary_sizes: lists of F, as for
        `sparse_core_convert`.
      num_replicas, num_sc_per_chip: ints >= 1, R and C; their product, N, is a power of two.
      stacked_table_sample_count: int >= 1, samples of the stack on one replica.
      table_vocab_size, feature_width: as for `sparse_core_sort`.
      max_ids_per_sparse_core, max_unique_ids_per_sparse_core: as for `sparse_core_sort`.
      max_ids_per_chip_per_sample, max_minibatches_per_sc, allow_id_dropping: as for
        `sparse_core_pack`.
      table_name: str, for error messages.
      name: optional name of the operation.

    Returns:
      A `CsrBuffer`.

    Raises:
      ValueError: lists differ in length, or an attribute is out of range.
      tf.errors.InvalidArgumentError: when run, as the three operations.

    >>> csr = sparse_core_preprocess(
    ...     [[0, 2, 2, 3, 3]], [[0, 3, 5]], [1.0], feature_names=["clicks"], sample_counts=[4],
    ...     combiners=["sum"], row_offsets=[0], col_offsets=[0], col_shifts=[0],
    ...     vocabulary_sizes=[10], num_replicas=1, num_sc_per_chip=2,
    ...     stacked_table_sample_count=4, table_vocab_size=16, feature_width=8,
    ...     max_ids_per_sparse_core=8, max_unique_ids_per_sparse_core=8,
    ...     max_ids_per_chip_per_sample=8, table_name="item")
    >>> session.run(csr.ids_unpadded_size)
    24
    """
    lists = lists_of_length(
        len(feature_names),
        "feature_names",
        indices_or_row_splits=indices_or_row_splits,
        values=values,
        weights=weights,
        sample_counts=sample_counts,
        combiners=combiners,
        row_offsets=row_offsets,
        col_offsets=col_offsets,
        col_shifts=col_shifts,
        vocabulary_sizes=vocabulary_sizes,
    )
    return CsrBuffer(
        *load().ep_sparse_core_preprocess(
            [as_splits(splits) for splits in lists["indices_or_row_splits"]],
            [tf.convert_to_tensor(ids) for ids in lists["values"]],
            [float_weights(weight) for weight in lists["weights"]],
            limit(max_ids_per_sparse_core, "max_ids_per_sparse_core"),
            limit(max_unique_ids_per_sparse_core, "max_unique_ids_per_sparse_core"),
            feature_names=feature_names,
            sample_counts=sample_counts,
            combiners=combiners,
            row_offsets=row_offsets,
            col_offsets=col_offsets,
            col_shifts=col_shifts,
            vocabulary_sizes=vocabulary_sizes,
            num_replicas=num_replicas,
            num_sc_per_chip=num_sc_per_chip,
            stacked_table_sample_count=stacked_table_sample_count,
            table_vocab_size=table_vocab_size,
            feature_width=feature_width,
            max_minibatches_per_sc=max_minibatches_per_sc,
            max_ids_per_chip_per_sample=max_ids_per_chip_per_sample,
            allow_id_dropping=allow_id_dropping,
            table_name=table_name,
            name=name,
        )
    )
