"""On which devices a table lives."""

import contextlib

import tensorflow as tf

from .. import graph_state
from . import cluster


@contextlib.contextmanager
def servers(devices):
    """Tables that are created inside live on `devices`, whatever TF_CONFIG says.

    Without it a table is on TF_CONFIG's parameter servers where an Estimator trains in the cluster,
    and in this process elsewhere: in the evaluator, in an export, in a session of one's own.

    Args:
      devices: list of str, each the CPU of a task, e.g. "/job:ps/task:0/device:CPU:0"; empty for
        tables of this process.

    Raises:
      ValueError: `devices` is no list of device strings, or names a device twice.

    >>> with ep.distribute.servers(["/job:ps/task:0/device:CPU:0", "/job:ps/task:1/device:CPU:0"]):
    ...     table = ep.create_table(tf.int64, 8, "user", tf.compat.v1.zeros_initializer())
    """
    if not isinstance(devices, (list, tuple)) or not all(isinstance(d, str) for d in devices):
        raise ValueError("servers: devices must be a list of device strings, got %r" % (devices,))
    canonical = tuple(tf.DeviceSpec.from_string(device).to_string() for device in devices)
    if len(set(canonical)) < len(canonical):
        raise ValueError("servers: each device must be named once, got %r" % (devices,))
    stack = graph_state.of().servers
    stack.append(canonical)
    try:
        yield
    finally:
        stack.pop()


def current():
    """The devices a table that is created here would live on; empty where that is this process."""
    explicit = graph_state.of().servers
    if explicit:
        return explicit[-1]
    known = cluster.read().servers
    return known if known and _is_placed_on_a_job() else ()


def bucket_ranges(table, num_buckets, num_servers):
    """The buckets of each server, as (begin, end): contiguous, in order, as even as can be.

    Raises:
      ValueError: there are more servers than buckets.
    """
    if num_servers > num_buckets:
        enough = 1 << (num_servers - 1).bit_length()
        raise ValueError(
            "table %r: num_buckets must be at least the number of parameter servers, %d, got %d; "
            "use num_buckets=%d" % (table, num_servers, num_buckets, enough)
        )
    ends = [i * num_buckets // num_servers for i in range(num_servers + 1)]
    return list(zip(ends, ends[1:]))


def _is_placed_on_a_job():
    """Whether operations made here go to a task of a cluster, as an Estimator's do in training."""
    return tf.DeviceSpec.from_string(tf.no_op(name="placement").device).job is not None
