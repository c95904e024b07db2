"""Between a logical table and its rows in the variable of a stack.

A variable is N shards, one after the other. Row r of a table lies in shard (r + rotation) mod N, at
row_offset + r div N. A table's part of the variable, its *block*, is [N, rows, width].

All functions take a `layout.Placement`, whose fields are ints or, where the layout is read while
the graph runs, scalar tensors.
"""

import tensorflow as tf


def row_in_variable(place, row):
    """The row of the variable that row `row` of the table is: ints, arrays or tensors.

    >>> place = Placement(8, 24, 8, 16, 4, (64, 8), 8)
    >>> row_in_variable(place, 9)
    137
    """
    shard = (row + place.rotation) % place.num_shards
    return shard * place.shard_rows + place.row_offset + row // place.num_shards


def block_of_table(place, table):
    """The block [N, rows, width] of a table [V, D], padded with zeros."""
    shape = tf.shape(table)
    padded_rows = place.num_shards * place.rows
    table = tf.pad(table, [[0, padded_rows - shape[0]], [0, place.width - shape[1]]])
    by_row = tf.reshape(table, [place.rows, place.num_shards, place.width])
    return tf.roll(tf.transpose(by_row, [1, 0, 2]), place.rotation, axis=0)


def block_in_variable(place, variable):
    """The block [N, rows, width] of a table in a variable [N * shard_rows, width]."""
    shards = tf.reshape(variable, [place.num_shards, place.shard_rows, place.width])
    return shards[:, place.row_offset : place.row_offset + place.rows, :]


def table_of_block(place, block):
    """The table [V, D] of a block [N, rows, width]; its padding is cut off."""
    unrotated = tf.roll(block, -place.rotation, axis=0)
    by_row = tf.transpose(unrotated, [1, 0, 2])
    table = tf.reshape(by_row, [place.num_shards * place.rows, place.width])
    return table[: place.shape[0], : place.shape[1]]


def table_in_variable(place, variable):
    """The table [V, D] out of a variable: float32, a copy.

    Raises:
      ValueError: the variable's rows do not divide into the shards.
    """
    rows = variable.shape[0]
    if isinstance(place.num_shards, int) and rows is not None and rows % place.num_shards:
        raise ValueError(
            "a variable of %d shards must have a multiple of as many rows, got %d"
            % (place.num_shards, rows)
        )
    return table_of_block(place, block_in_variable(place, variable))


def variable_of_blocks(placements, blocks):
    """The variable [N * shard_rows, width] of a stack.

    Args:
      placements: list of Placement in ints, of all tables, by row offset.
      blocks: list of their blocks.

    Returns:
      float32 tensor; rows that are no table's are zeros.
    """
    first = placements[0]
    parts, end = [], 0
    for place, block in zip(placements, blocks):
        if place.row_offset > end:
            parts.append(tf.zeros([first.num_shards, place.row_offset - end, first.width]))
        parts.append(tf.ensure_shape(block, [place.num_shards, place.rows, place.width]))
        end = place.row_offset + place.rows
    if end < first.shard_rows:
        parts.append(tf.zeros([first.num_shards, first.shard_rows - end, first.width]))
    shards = parts[0] if len(parts) == 1 else tf.concat(parts, axis=1)
    return tf.reshape(shards, [first.num_shards * first.shard_rows, first.width])
