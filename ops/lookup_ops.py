"""Reading a table: by key, by distinct keys, by address.

A key is an int64 or int32 id; key -1 means "no id" and never has a row. An address is an int64 that
names a row of one table while the row lives, and no other one afterwards; address -1 means "no
row".
"""

from .library import load
from .op_inputs import int64_ids, row_or_zeros


def table_lookup(handle, keys, dim, insert, default_row=None, name=None):
    """The embeddings of keys, and the addresses of their rows.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      keys: int64 or int32 tensor of any shape.
      dim: int, the table's dim.
      insert: bool. True: a key without a row gets one, started by the table's initializer. False:
        the table stays as it is.
      default_row: float32 vector of `dim` values, for keys that have no row; default zeros.
      name: optional name of the operation.

    Returns:
      (embeddings, addresses): float32 of shape keys.shape + [dim], and int64 of shape keys.shape.
      `tf.gradients(loss, handle)` sees through it; see `estimator_plugin.ops.gradients`.

    Raises:
      TypeError: keys are of another dtype.
      ValueError: dim, or the shape of default_row, does not fit the table.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> embeddings, addresses = table_lookup(handle, [7, -1], dim=2, insert=True)
    >>> session.run([embeddings, addresses >= 0])
    [array([[0.5, 0.5], [0. , 0. ]], dtype=float32), array([ True, False])]
    """
    return load().ep_table_lookup(
        handle,
        int64_ids(keys, "keys"),
        row_or_zeros(default_row),
        dim=dim,
        insert=insert,
        name=name,
    )


def table_unique_lookup(handle, keys, dim, insert, default_row=None, name=None):
    """`unique_with_counts` of keys and `table_lookup` of the distinct ones, in one op.

    Worth it where the distinct rows travel over a network; within one process `table_lookup` of
    all keys is faster.

    Args:
      handle, dim, insert, default_row, name: as for `table_lookup`.
      keys: int64 or int32 vector of n keys.

    Returns:
      (embeddings, addresses, unique_keys, indices, counts) of u distinct keys in order of first
      appearance: float32 [u, dim], int64 [u], int64 [u], int32 [n] such that
      `unique_keys[indices[i]] == keys[i]`, and int32 [u] occurrences. Key -1 counts as a key
      without a row.

    Raises:
      As `table_lookup`; also ValueError for keys that are no vector.

    >>> result = table_unique_lookup(handle, [7, 9, 7], dim=2, insert=True)
    >>> session.run([result.unique_keys, result.indices, result.counts])
    [array([7, 9]), array([0, 1, 0], dtype=int32), array([2, 1], dtype=int32)]
    """
    return load().ep_table_unique_lookup(
        handle,
        int64_ids(keys, "keys"),
        row_or_zeros(default_row),
        dim=dim,
        insert=insert,
        name=name,
    )


def table_find(handle, keys, insert=False, name=None):
    """The addresses of the rows of keys.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      keys: int64 or int32 tensor of any shape.
      insert: bool, default False. Whether a key without a row gets one.
      name: optional name of the operation.

    Returns:
      int64 tensor of the shape of keys: an address, or -1 where there is no row.

    Raises:
      TypeError: keys are of another dtype.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_find(handle, [7, 12345]) >= 0)
    array([ True, False])
    """
    return load().ep_table_find(handle, int64_ids(keys, "keys"), insert=insert, name=name)


def table_gather(handle, addresses, dim, default_row=None, name=None):
    """The embeddings at addresses.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      addresses: int64 tensor of any shape, from `table_find` or `table_lookup` of the same table.
      dim: int, the table's dim.
      default_row: float32 vector of `dim` values, for address -1 and for rows that have left the
        table since; default zeros.
      name: optional name of the operation.

    Returns:
      float32 tensor of shape addresses.shape + [dim].

    Raises:
      ValueError: dim, or the shape of default_row, does not fit the table.
      tf.errors.InvalidArgumentError: when run, no lookup can have given an address.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_gather(handle, table_find(handle, [7]), dim=2))
    array([[0.5, 0.5]], dtype=float32)
    """
    return load().ep_table_gather(handle, addresses, row_or_zeros(default_row), dim=dim, name=name)
