"""What tables start from.

An initializer without a parameter `shard_info` is called with the *padded* shape of its table, once
for each shard, and the shard's rows are cut out of what it returns: an initializer that counts rows
counts logical rows. One with a parameter `shard_info` is called once for each shard, as it lies in
the variable, and returns just that shard.
"""

import collections
import inspect

import tensorflow as tf

from .. import validate
from . import sharding

ShardInfo = collections.namedtuple("ShardInfo", ["shape", "offset"])
ShardInfo.__doc__ = """Which shard an initializer is asked for.

Fields:
  shape: (rows, columns) of the shard, of this table's padded rows.
  offset: (p * rows, 0), of shard p.
"""


def takes_shard_info(initializer):
    """Whether an initializer is called with `shard_info`."""
    try:
        return "shard_info" in inspect.signature(initializer).parameters
    except (TypeError, ValueError):  # A built-in tells nothing about its parameters.
        return False


def block_of(stacked):
    """The starting values of a table, as its block in the variable.

    Args:
      stacked: plan.StackedTable.

    Returns:
      float32 [N, rows, width].

    Raises:
      ValueError: the initializer returns another shape.
    """
    place = stacked.placement
    shards = [_shard(stacked.table, place, p) for p in range(place.num_shards)]
    return tf.stack(shards)


def stack_values(stack, num_replicas, fast):
    """The starting values of the parameters of a stack.

    Args:
      stack: plan.Stack.
      num_replicas: int, R.
      fast: `enable_fast_table_initialization`: one call a replica of the first table's initializer.

    Returns:
      float32 [stack.rows, stack.width].
    """
    if fast:
        shape = (stack.rows // num_replicas, stack.width)
        table = stack.tables[0].table
        return tf.concat([_called(table, shape) for _ in range(num_replicas)], axis=0)
    placements = [stacked.placement for stacked in stack.tables]
    return sharding.variable_of_blocks(placements, [block_of(s) for s in stack.tables])


def _shard(table, place, shard):
    padded_shape = (place.num_shards * place.rows, place.width)
    if takes_shard_info(table.initializer):
        shape = (place.rows, place.width)
        info = ShardInfo(shape, (shard * place.rows, 0))
        return _called(table, padded_shape, shape, shard_info=info)
    rows = _called(table, padded_shape)
    first = (shard - place.rotation) % place.num_shards
    return rows[first :: place.num_shards]


def _called(table, shape, wanted=None, **kwargs):
    """What the initializer returns for `shape`; it must be of shape `wanted`, default `shape`."""
    wanted = shape if wanted is None else wanted
    values = tf.convert_to_tensor(
        table.initializer(shape=shape, dtype=tf.float32, **kwargs), tf.float32
    )
    if not values.shape.is_compatible_with(wanted):
        validate.fail(
            table.owner, "initializer", values.shape, "one that returns the shape %s" % (wanted,)
        )
    return values
