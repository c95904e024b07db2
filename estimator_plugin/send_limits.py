"""`send_count`: how many distinct ids a lookup of static shape may have for a server."""

import tensorflow as tf

from . import config, validate
from .ops import exchange_ops

_HEADER_WORDS = 2  # Of a request of one table: the time, and how many keys there are.


def checked(owner, table, name, keys, send_count, is_train):
    """The keys of a lookup, which fail in a step that has too many of them.

    Nothing is checked with `init(use_dynamic=True)`, the default, and where there are no more keys
    than the limit, repeated ones included.

    Args:
      owner: who asks, for error messages.
      name: the name of the lookup.
      keys: int64 tensor.
      send_count: None or int from 1, distinct keys other than -1 for each server of the table; for
        a table of this process, in all. The padding_keys_len of a table takes its place.
      is_train: bool. A training lookup has a static shape.

    Raises:
      ValueError: shapes are static, and send_count is not given, or the shape of keys not known.
    """
    if config.get_config().use_dynamic:
        return keys
    limit, argument = send_count, "send_count of lookup %r" % name
    if table.padding_keys:
        limit, argument = table.padding_keys_len, "padding_keys_len of the table"
    if limit is None:
        wanted = "an int from 1, the most distinct ids of a step, after init(use_dynamic=False)"
        validate.fail(owner, "send_count", limit, wanted)
    is_static = keys.shape.is_fully_defined() and keys.shape.rank > 0
    if is_train and not is_static:
        raise ValueError(
            "%s: ids have shape %s, but init(use_dynamic=False) wants a static one of rank 1 or "
            "more; batch with drop_remainder=True" % (owner, keys.shape)
        )
    if is_static and keys.shape.num_elements() <= limit:
        return keys
    message = "%s: more distinct ids than %d for a server; raise %s to the largest of these:" % (
        owner,
        limit,
        argument,
    )
    distinct = _distinct_by_server(table, keys)
    fits = tf.debugging.Assert(
        tf.reduce_all(distinct <= limit),
        [message.replace("'", ""), distinct],  # A quote would be shown as an escape.
        summarize=len(table.partitions),
    )
    with tf.control_dependencies([fits]):
        return tf.identity(keys)


def _distinct_by_server(table, keys):
    """How many distinct keys other than -1 are for each server, int32 [servers]."""
    requests, _ = exchange_ops.route_keys(
        0,
        [keys],
        table_of=[0],
        num_buckets=[table.num_buckets],
        counted=[False],
        num_servers=len(table.partitions),
    )
    return tf.stack([tf.size(request) - _HEADER_WORDS for request in requests])
