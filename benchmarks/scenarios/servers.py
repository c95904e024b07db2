"""The workload of `step` on two parameter servers and one worker, processes on this machine."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf

from benchmarks.scenarios.step import Step
from benchmarks.wire import tcp_bytes
from estimator_plugin.distribute import servers
from estimator_plugin.distribute.local_cluster import reserve_port

tf1 = tf.compat.v1
SERVERS = 2
_WORKER = "/job:worker/task:0"


class Servers(Step):
    """Measures "train/<way>" as Step does; its facts say what a step sends and receives."""

    def __init__(self, system, workload):
        self._processes = []
        self._workload = workload
        self._ports = [reserve_port() for _ in range(SERVERS + 1)]
        addresses = [address for _, address in self._ports]
        jobs = {"ps": addresses[:SERVERS], "worker": addresses[SERVERS:]}
        for i in range(SERVERS):
            settings = json.dumps({"cluster": jobs, "task": {"type": "ps", "index": i}})
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.server_task"],
                    env=dict(os.environ, TF_CONFIG=settings),
                    stdin=subprocess.DEVNULL,
                )
            )
        self._server = tf.distribute.Server(tf.train.ClusterSpec(jobs), "worker", 0)
        super().__init__(system, workload)

    @contextlib.contextmanager
    def placement(self):
        setter = tf1.train.replica_device_setter(
            ps_tasks=SERVERS, worker_device=_WORKER, merge_devices=True
        )
        devices = ["/job:ps/task:%d/device:CPU:0" % i for i in range(SERVERS)]
        with tf1.device(setter), servers(devices):
            yield

    def make_session(self):
        return tf1.Session(self._server.target)

    def lookup_ways(self):
        return ()

    def facts(self):
        """Bytes of a step both ways, and the least there could be: keys and rows one way, sums of
        gradients the other."""
        distinct = np.mean([len(np.unique(batch)) for batch in self._workload.warm()])
        row = 4 * self._system.dim
        facts = {"bytes_needed": float(distinct * (8 + 2 * row))}
        for name in self.measures():
            before = sum(tcp_bytes())
            for _ in range(self._workload.batches):
                self._run(name)
            spent = sum(tcp_bytes()) - before
            facts["bytes_a_step_" + name.split("/")[1]] = spent / self._workload.batches
        return facts

    def close(self):
        self._session.close()
        for process in self._processes:
            process.kill()
            process.wait()
