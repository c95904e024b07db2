"""Tables as resources: made, initialized, measured, emptied."""

import tensorflow as tf

from .library import load
from .op_inputs import int64_ids

# What `table_statistics` gives, in order. "waiting" to the end are about admission and eviction.
STATISTICS = (
    "rows",
    "bytes",
    "keys_looked_up",  # By all lookups; key -1 is not counted.
    "keys_found",
    "rows_inserted",
    "rows_removed",
    "rows_updated",
    "rows_admitted",  # Inserted once their keys were seen often enough.
    "waiting",  # Keys that are being counted now; a sketch does not know them.
    "keys_refused",  # Keys of tracked lookups, duplicates included, that were not admitted.
    "rows_evicted",
    "waiting_evicted",
    "stale_updates",  # Gradients of rows that left between lookup and update.
    "stale_reads",
    "backward_clocks",  # Lookups that were told an earlier time than one before.
    "clock",  # The latest time of a tracked lookup, -1 before the first.
    "access_threshold",  # The current one, -1 for none.
    "frozen",  # 1 while counts stand still.
)
# Those that partitions of a table do not share out among them: every lookup tells all the time.
_OF_EVERY_PARTITION = ("backward_clocks", "clock", "access_threshold", "frozen")


def table_handle(
    table_name,
    dim,
    num_buckets=64,
    first_bucket=0,
    end_bucket=-1,
    key_dtype="int64",
    initializer_kind="constant",
    initializer_arguments=(0.0,),
    seed=0,
    shared_name="",
    container="",
    name=None,
):
    """The handle of a table, which is made, uninitialized, the first time the op runs.

    Args:
      table_name: str, the name that error messages use.
      dim: int from 1 to 8192, values in an embedding.
      num_buckets: power of two from 1 to 4096, default 64.
      first_bucket, end_bucket: ints, the half-open range of buckets that are here. Default: all of
        them (end_bucket -1). With less the handle is a partition of the table, which finds no key
        of another bucket and refuses to insert one.
      key_dtype: "int64" (default) or "int32": what the user's keys are; recorded in checkpoints.
      initializer_kind: how new rows start, drawn from (seed, key) alone; with initializer_arguments
        "constant" (value), "uniform" (minimum, maximum), "normal" (mean, stddev),
        "truncated_normal" (mean, stddev), or "bank" (none; see `table_initialize`). Default zeros.
      initializer_arguments: floats.
      seed: int, default 0.
      shared_name: str. Ops of one session with the same shared_name share a table; default: the
        op's own name.
      container: str, the resource container, as for a tf.Variable.
      name: optional name of the operation.

    Returns:
      A scalar resource tensor.

    Raises:
      tf.errors.InvalidArgumentError: when run, an argument is out of range or unknown, or the table
        exists with other arguments.

    >>> handle = table_handle("user", dim=2, initializer_arguments=[0.5], shared_name="user")
    """
    return load().ep_table_handle(
        table_name=table_name,
        dim=dim,
        num_buckets=num_buckets,
        first_bucket=first_bucket,
        end_bucket=end_bucket,
        key_dtype=key_dtype,
        initializer_kind=initializer_kind,
        initializer_arguments=list(initializer_arguments),
        seed=seed,
        shared_name=shared_name,
        container=container,
        name=name,
    )


def table_initialize(handle, bank, name=None):
    """Empties a table and makes it ready, like a variable's initializer.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      bank: float32 [r, dim]. With initializer kind "bank" the start of new rows, chosen by key;
        else not used, and [0, dim] will do.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      ValueError or tf.errors.InvalidArgumentError: bank is not [r, dim], or is empty though the
        initializer needs it.

    >>> session.run(table_initialize(handle, tf.zeros([0, 2])))
    """
    return load().ep_table_initialize(handle, bank, name=name)


def table_is_initialized(handle, name=None):
    """Scalar bool tensor: whether the table was initialized or restored.

    >>> session.run(table_is_initialized(handle))
    True
    """
    return load().ep_table_is_initialized(handle, name=name)


def table_size(handle, name=None):
    """Scalar int64 tensor: the number of rows.

    Raises tf.errors.FailedPreconditionError, when run, while the table is uninitialized; so do all
    the following.

    >>> session.run(table_size(handle))
    2
    """
    return load().ep_table_size(handle, name=name)


def table_memory(handle, name=None):
    """Scalar int64 tensor: bytes of memory in use for rows, metadata and index.

    >>> session.run(table_memory(handle)) // session.run(table_size(handle))
    164
    """
    return load().ep_table_memory(handle, name=name)


def table_statistics(handle, name=None):
    """What a table holds and has done so far.

    Returns:
      int64 vector: the numbers that `STATISTICS` names, in its order.

    >>> dict(zip(STATISTICS, session.run(table_statistics(handle))))["rows"]
    2
    """
    return load().ep_table_statistics(handle, name=name)


def combined_statistics(statistics):
    """The statistics of a table out of those of its partitions.

    Args:
      statistics: list of int64 vectors, from `table_statistics`.

    Returns:
      int64 vector of the same form: sums, but for clock, threshold and what goes by them, which are
      the largest.

    >>> of_table = combined_statistics([table_statistics(handle) for handle in handles])
    """
    of_all = tf.constant([name in _OF_EVERY_PARTITION for name in STATISTICS])
    stacked = tf.stack(statistics)
    return tf.where(of_all, tf.reduce_max(stacked, axis=0), tf.reduce_sum(stacked, axis=0))


def table_remove(handle, keys, name=None):
    """Removes the rows of keys; their memory is reused, and the keys start anew when they return.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      keys: int64 or int32 tensor of any shape. Those without a row are ignored.
      name: optional name of the operation.

    Returns:
      Scalar int64 tensor: how many rows there were.

    Raises:
      TypeError: keys are of another dtype.

    >>> session.run(table_remove(handle, [7, 7, 12345]))
    1
    """
    return load().ep_table_remove(handle, int64_ids(keys, "keys"), name=name)


def table_clear(handle, name=None):
    """The operation that removes all rows and gives their memory back to the system.

    >>> session.run(table_clear(handle))
    """
    return load().ep_table_clear(handle, name=name)


def unique_with_counts(values, name=None):
    """Distinct values in order of first appearance: `tf.unique_with_counts`, faster.

    Args:
      values: int64 or int32 vector of n values.
      name: optional name of the operation.

    Returns:
      (unique_values, indices, counts): int64 [u], int32 [n] such that
      `unique_values[indices[i]] == values[i]`, and int32 [u] occurrences.

    Raises:
      TypeError: values are of another dtype.
      ValueError: values are no vector.

    >>> session.run(unique_with_counts([5, 3, 5]).unique_values)
    array([5, 3])
    """
    return load().ep_unique_with_counts(int64_ids(values, "values"), name=name)
