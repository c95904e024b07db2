"""Parameter servers inside the test's process, and what one model gives with and without them."""

import collections
import contextlib
import functools

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.distribute.local_cluster import reserve_port
from tests.plugin import support

v1 = tf.compat.v1

Result = collections.namedtuple("Result", ["fetched", "content"])


_WORKERS = 2


@functools.lru_cache(maxsize=None)
def _start(count):
    """(sockets, workers, servers) of a cluster of `count` parameter servers and two workers."""
    reserved = [reserve_port() for _ in range(count + _WORKERS)]
    addresses = [address for _, address in reserved]
    spec = tf.train.ClusterSpec({"ps": addresses[:count], "worker": addresses[count:]})
    servers = [tf.distribute.Server(spec, "ps", i) for i in range(count)]
    workers = [tf.distribute.Server(spec, "worker", i) for i in range(_WORKERS)]
    return [port for port, _ in reserved], workers, servers


def targets(count):
    """What a session on each worker is made with; the servers hold nothing yet."""
    _, workers, _ = _start(count)
    v1.Session.reset(workers[0].target)
    return [worker.target for worker in workers]


def target(count):
    """What a session on the first worker is made with, "" without servers."""
    return targets(count)[0] if count else ""


@contextlib.contextmanager
def placed_on(count, worker=0):
    """Graph building as an Estimator's worker does it, with tables on `count` servers; with 0
    everything is local."""
    if count == 0:
        yield
        return
    setter = v1.train.replica_device_setter(
        ps_tasks=count, worker_device="/job:worker/task:%d" % worker, merge_devices=True
    )
    devices = ["/job:ps/task:%d/device:CPU:0" % i for i in range(count)]
    with v1.device(setter), ep.distribute.servers(devices):
        yield


@contextlib.contextmanager
def session(count):
    """An initialized session of the default graph."""
    with v1.Session(target(count)) as opened:
        support.initialize(opened)
        yield opened


def run(build, count, steps, directory):
    """What `build` gives on `count` servers.

    Args:
      build: a function that builds a graph and returns a list of steps: what to fetch in each.
      count: int, servers; 0 is none.
      steps: int, how often to run all of these steps.
      directory: where to save the checkpoint that holds the content at the end.

    Returns:
      Result(fetched, content): all that was fetched, and `support.checkpoint_content`.
    """
    fetched = []
    with tf.Graph().as_default():
        with placed_on(count):
            fetches = build()
            saver = ep.checkpoint.saver()
        with session(count) as opened:
            for _ in range(steps):
                for fetch in fetches:
                    fetched.append(opened.run(fetch))
            path = saver.save(opened, "%s/of-%d" % (directory, count), write_meta_graph=False)
    return Result(fetched, support.checkpoint_content(path))


def assert_same(first, second):
    """Two Results hold the same bits."""
    tf.nest.map_structure(np.testing.assert_array_equal, first.fetched, second.fetched)
    assert first.content["tables"] == second.content["tables"]
    assert any(first.content["tables"].values())
    dense = dict(first.content["dense"])
    assert dense == second.content["dense"]


def live_ops(fetches, op_type):
    """The operations of a type that running `fetches` runs."""
    pending = [x if isinstance(x, tf.Operation) else x.op for x in tf.nest.flatten(fetches)]
    seen = set(pending)
    while pending:
        op = pending.pop()
        for before in [x.op for x in op.inputs] + list(op.control_inputs):
            if before not in seen:
                seen.add(before)
                pending.append(before)
    return [op for op in seen if op.type == op_type]
