"""Which tables share a variable, and where each lies in it.

Tables of equal padded width and equal group stack, first fit, in the order they come in, as long as
the stack stays within the limits. Semantics: the table stacker of TensorFlow 2.19 (XLA's
SparseCoreLayoutStacker), rule for rule.
"""

import collections
import os

from .. import notices
from .layout import SparseCoreTableLayout

_ALIGNMENT = 8  # Rows of a shard and columns come in multiples of it.
_MAX_ROWS = 2**31 - 1

# What is to be stacked.
#   name: str. rows, columns: ints, the logical shape.
#   group: a sortable key; only tables of equal groups share a stack.
#   samples: int, of all features of the table on one replica.
TableRequest = collections.namedtuple(
    "TableRequest", ["name", "rows", "columns", "group", "samples"]
)

Limits = collections.namedtuple("Limits", ["activation_bytes", "shard_bytes", "disable_stacking"])
Limits.__doc__ = """When a stack is full; 0 bytes are no limit.

Fields:
  activation_bytes: a stack's activations on one core stay below it.
  shard_bytes: a stack's rows on one replica stay below it.
  disable_stacking: True gives every table a stack of its own.
"""
DEFAULT_LIMITS = Limits(2097152, 2147483648, False)

_FLAGS = {
    "--tf_xla_sparse_core_stacking_mem_limit_bytes": "activation_bytes",
    "--tf_xla_sparse_core_stacking_table_shard_limit_bytes": "shard_bytes",
    "--tf_xla_sparse_core_disable_table_stacking": "disable_stacking",
}


def limits_from_environment():
    """DEFAULT_LIMITS, or what TF_XLA_FLAGS says instead.

    Raises:
      ValueError: a limit is no integer.
    """
    limits = DEFAULT_LIMITS
    for word in os.environ.get("TF_XLA_FLAGS", "").split():
        flag, _, value = word.partition("=")
        field = _FLAGS.get(flag)
        if field == "disable_stacking":
            limits = limits._replace(disable_stacking=value.lower() in ("true", "1", ""))
        elif field is not None:
            if not value.isdigit():
                raise ValueError("TF_XLA_FLAGS: %s must be an int, got %r" % (flag, value))
            limits = limits._replace(**{field: int(value)})
    if limits != DEFAULT_LIMITS:
        notices.info_once("table stacking: limits of TF_XLA_FLAGS hold: %r" % (limits,))
    return limits


class _Stack:
    """A stack while it fills."""

    def __init__(self):
        self.requests = []
        self.padded_rows = []
        self.activation_bytes = 0

    def has_room(self, request, num_partitions, num_cores, limits):
        width = _rounded_up(request.columns, _ALIGNMENT)
        rows = sum(self.padded_rows) + _padded_rows(request, num_partitions * num_cores)
        activation_bytes = self.activation_bytes + _activation_bytes(request, num_cores)
        shard_bytes = 4 * width * rows // num_partitions
        return (
            (not limits.activation_bytes or activation_bytes < limits.activation_bytes)
            and (not limits.shard_bytes or shard_bytes < limits.shard_bytes)
            and rows < _MAX_ROWS
        )

    def add(self, request, num_partitions, num_cores):
        self.requests.append(request)
        self.padded_rows.append(_padded_rows(request, num_partitions * num_cores))
        self.activation_bytes += _activation_bytes(request, num_cores)

    def layouts(self, num_partitions, num_cores):
        num_shards = num_partitions * num_cores
        name = "_".join(request.name for request in self.requests)
        for i, request in enumerate(self.requests):
            yield SparseCoreTableLayout(
                table_name=request.name,
                stacked_table_name=name,
                num_sparse_cores=num_shards,
                num_partitions=num_partitions,
                total_rows_per_sparse_core_shard=sum(self.padded_rows) // num_shards,
                unsharded_shape=[request.rows, request.columns],
                unsharded_padded_shape=[
                    self.padded_rows[i],
                    _rounded_up(request.columns, _ALIGNMENT),
                ],
                sparse_core_shard_row_offset=sum(self.padded_rows[:i]) // num_shards,
                sparse_core_shard_rotation=i * num_cores % num_shards,
            )


def stacked(requests, num_partitions, num_cores, limits=DEFAULT_LIMITS):
    """Stacks tables.

    Args:
      requests: list of TableRequest, in the order in which they stack.
      num_partitions: int >= 1, replicas.
      num_cores: int >= 1, cores of a replica.
      limits: Limits.

    Returns:
      A list of SparseCoreTableLayout: by width and group, then by stack as they were opened, then
      by their place in the stack.

    >>> tables = [TableRequest("a", 7, 3, "", 4), TableRequest("b", 8, 8, "", 4)]
    >>> [layout.sparse_core_shard_row_offset for layout in stacked(tables, 1, 1)]
    [0, 8]
    """
    stacks_of_key = collections.defaultdict(list)
    for request in requests:
        stacks = stacks_of_key[_rounded_up(request.columns, _ALIGNMENT), request.group]
        room = (s for s in stacks if s.has_room(request, num_partitions, num_cores, limits))
        stack = None if limits.disable_stacking else next(room, None)
        if stack is None:
            stack = _Stack()
            stacks.append(stack)
        stack.add(request, num_partitions, num_cores)
    return [
        layout
        for key in sorted(stacks_of_key)
        for stack in stacks_of_key[key]
        for layout in stack.layouts(num_partitions, num_cores)
    ]


def _rounded_up(value, multiple):
    return -(-value // multiple) * multiple


def _padded_rows(request, num_shards):
    return _rounded_up(request.rows, _ALIGNMENT * num_shards)


def _activation_bytes(request, num_cores):
    return 4 * _rounded_up(request.columns, _ALIGNMENT) * (request.samples // num_cores)
