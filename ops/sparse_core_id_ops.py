"""The steps from ids to a stack's CSR buffer, one by one: convert and sort; and their statistics.

The steps are those of TensorFlow's TPUEmbeddingV2. A stack is several tables in one variable; its
rows are spread over N = num_replicas * num_sc_per_chip shards, one for each SparseCore.

    convert  once a feature: (sample, id, weight) -> sample of the stack, column of the stack, gain
    sort     once a core: by shard, then column; equal pairs of sample and column become one
    pack     once a chip: segments of one core and one shard, each padded to a multiple of 8

`sparse_core_preprocess` is all of them, for all chips, in one operation and on all threads.
"""

from .library import load
from .op_inputs import as_splits, float_weights, limit, lists_of_length


def sparse_core_convert(
    indices_or_row_splits,
    values,
    weights,
    *,
    sample_count,
    combiner,
    num_sc_per_chip,
    num_sc_shards,
    stacked_table_sample_count,
    row_offset=0,
    col_offset=0,
    col_shift=0,
    vocabulary_size=0,
    feature_name="",
    name=None,
):
    """The ids of one feature as coordinates in its stack, for each core.

    Args:
      indices_or_row_splits: int32 or int64. Empty vector: one id a sample. Matrix: the first column
        is the id's sample, never falling. Other vector: row splits, sample_count + 1 of them.
      values: int32 or int64 vector, the ids.
      weights: float32 vector, one for each id, or a scalar for all.
      sample_count: int >= 1, a multiple of num_sc_per_chip.
      combiner: "sum", "mean" (a gain is its weight by the sum of the sample's weights) or "sqrtn"
        (by the root of the sum of their squares). Where the divisor is 0 gains are 0.
      num_sc_per_chip: int >= 1, C.
      num_sc_shards: int, a power of two: N.
      stacked_table_sample_count: int >= 1, samples of all features of the stack.
      row_offset: int >= 0, samples of the stack before this feature's; a multiple of C.
      col_offset: int >= 0, columns of the stack before this table's.
      col_shift: int >= 0, by how much the table's shards are rotated.
      vocabulary_size: int; ids must be below it. 0 (default): not checked.
      feature_name: str, for error messages.
      name: optional name of the operation.

    Returns:
      (row_ids, col_ids, gains): lists of C vectors, int32, int32 and float32. Neighbours with one
      sample and one id are one, their weights added.

    Raises:
      ValueError: an attribute is out of range.
      tf.errors.InvalidArgumentError: when run, the inputs do not fit each other, or an id is out of
        range; the message names feature, id and limit.

    >>> rows, cols, gains = sparse_core_convert(
    ...     [0, 2, 3], [5, 5, 6], 1.0, sample_count=2, combiner="sum", num_sc_per_chip=1,
    ...     num_sc_shards=1, stacked_table_sample_count=2)
    >>> session.run([rows[0], cols[0], gains[0]])
    [array([0, 1]), array([5, 6]), array([2., 1.])]
    """
    return load().ep_sparse_core_convert(
        as_splits(indices_or_row_splits),
        values,
        float_weights(weights),
        C=num_sc_per_chip,
        sample_count=sample_count,
        combiner=combiner,
        num_sc_shards=num_sc_shards,
        stacked_table_sample_count=stacked_table_sample_count,
        row_offset=row_offset,
        col_offset=col_offset,
        col_shift=col_shift,
        vocabulary_size=vocabulary_size,
        feature_name=feature_name,
        name=name,
    )


def sparse_core_sort(
    row_ids_list,
    col_ids_list,
    gains_list,
    *,
    sample_count_list,
    col_offset_list,
    num_replica,
    table_vocab_size,
    feature_width,
    num_sc_per_chip,
    max_ids_per_sparse_core,
    max_unique_ids_per_sparse_core,
    table_name,
    name=None,
):
    """The coordinates of one core's samples, of all features of a stack, by shard and column.

    Features of one col_offset are of one table. Tables come in order of offset; within a table,
    pairs of equal sample and column that are neighbours after sorting become one, gains added.

    Args:
      row_ids_list, col_ids_list, gains_list: lists of F vectors, one core's of
        `sparse_core_convert`, one for each feature.
      sample_count_list: list of F ints >= 1, samples of each feature on one core.
      col_offset_list: list of F ints, the col_offset of each.
      num_replica, num_sc_per_chip: ints >= 1; their product, N, is a power of two.
      table_vocab_size: int >= 1, columns of the stack; col ids must be below it.
      feature_width: int >= 1, columns of the variable. As upstream's op has it; changes nothing.
      max_ids_per_sparse_core, max_unique_ids_per_sparse_core: int >= 1 or int32 scalar tensor, how
        many (merged) ids and how many distinct columns may go to one shard.
      table_name: str, for error messages.
      name: optional name of the operation.

    Returns:
      (sorted_row_ids, sorted_col_ids, sorted_gains, id_counts): int32, int32 and float32 vectors of
      equal length; int32 [N + 1], where each shard's part ends. Rows are positions among the core's
      samples, columns are row numbers in the shard.

    Raises:
      ValueError: lists differ in length, or an attribute is out of range.
      tf.errors.InvalidArgumentError: when run, a shard gets more ids than a limit, or vectors do
        not fit each other.
      tf.errors.FailedPreconditionError: when run, N is not a power of two.

    >>> sorted_ids = sparse_core_sort(
    ...     [[0, 0, 1, 1]], [[9, 4, 4, 1]], [[1.0, 2.0, 3.0, 4.0]], sample_count_list=[2],
    ...     col_offset_list=[0], num_replica=1, table_vocab_size=64, feature_width=8,
    ...     num_sc_per_chip=4, max_ids_per_sparse_core=8, max_unique_ids_per_sparse_core=8,
    ...     table_name="user")
    >>> session.run(sorted_ids[3])
    array([0, 2, 4, 4, 4])
    """
    lists = lists_of_length(
        len(sample_count_list),
        "sample_count_list",
        row_ids_list=row_ids_list,
        col_ids_list=col_ids_list,
        gains_list=gains_list,
        col_offset_list=col_offset_list,
    )
    return load().ep_sparse_core_sort(
        lists["row_ids_list"],
        lists["col_ids_list"],
        lists["gains_list"],
        limit(max_ids_per_sparse_core, "max_ids_per_sparse_core"),
        limit(max_unique_ids_per_sparse_core, "max_unique_ids_per_sparse_core"),
        sample_counts=sample_count_list,
        col_offsets=col_offset_list,
        num_replicas=num_replica,
        num_sc_per_chip=num_sc_per_chip,
        table_vocab_size=table_vocab_size,
        feature_width=feature_width,
        table_name=table_name,
        name=name,
    )


def sparse_core_stats(
    row_ids_list,
    col_ids_list,
    gains_list,
    *,
    sample_count_list,
    col_offset_list,
    num_replica,
    table_vocab_size,
    feature_width,
    num_sc_per_chip,
    table_name,
    name=None,
):
    """The smallest limits with which `sparse_core_sort` succeeds on the same input.

    Args:
      As for `sparse_core_sort`.

    Returns:
      (max_ids, max_unique_ids): int32 scalars; 0 if there are no ids.

    Raises:
      As `sparse_core_sort`, limits aside.

    >>> max_ids, _ = sparse_core_stats(
    ...     [[0, 0, 1, 1]], [[9, 4, 4, 1]], [[1.0, 2.0, 3.0, 4.0]], sample_count_list=[2],
    ...     col_offset_list=[0], num_replica=1, table_vocab_size=64, feature_width=8,
    ...     num_sc_per_chip=4, table_name="user")
    >>> session.run(max_ids)
    2
    """
    lists = lists_of_length(
        len(sample_count_list),
        "sample_count_list",
        row_ids_list=row_ids_list,
        col_ids_list=col_ids_list,
        gains_list=gains_list,
        col_offset_list=col_offset_list,
    )
    return load().ep_sparse_core_stats(
        lists["row_ids_list"],
        lists["col_ids_list"],
        lists["gains_list"],
        sample_counts=sample_count_list,
        col_offsets=col_offset_list,
        num_replicas=num_replica,
        num_sc_per_chip=num_sc_per_chip,
        table_vocab_size=table_vocab_size,
        feature_width=feature_width,
        table_name=table_name,
        name=name,
    )
