"""`local_cluster`: a cluster of real processes on this machine, to try things out and to test."""

import collections
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

_HOST = "127.0.0.1"
_PR_SET_PDEATHSIG = 1  # Of <sys/prctl.h>: the signal a process gets when its parent ends.
_POLL_SECONDS = 0.05
_SERVER = "ps"
_TAIL = 4000  # Characters of a failed task's output that an error shows.


@contextlib.contextmanager
def local_cluster(
    command, num_ps=1, num_workers=1, chief=True, evaluator=False, env=None, log_dir=None
):
    """Runs a program as all tasks of a cluster, each a process of its own on 127.0.0.1.

    Every process gets its own TF_CONFIG; what the program does with it is the program's business,
    `tf.estimator.train_and_evaluate` above all. When the block is left, however that comes about,
    all processes are ended; also when this process dies.

    Args:
      command: list of str, the program and its arguments, as `subprocess.Popen` takes them.
      num_ps: int from 0, parameter servers: tasks "ps:0", "ps:1", ...
      num_workers: int from 0, workers beside the chief: tasks "worker:0", ...
      chief: bool, default True: task "chief". tf.estimator needs one.
      evaluator: bool, default False: task "evaluator".
      env: dict of environment variables in addition to this process's; default None.
      log_dir: str, a directory that gets `<task>.log`, what each task wrote to its standard output
        and error; made if missing. Default None: a temporary directory.

    Yields:
      A LocalCluster.

    Raises:
      ValueError: a number is negative, or there would be no task.

    >>> with local_cluster([sys.executable, "train.py"], num_ps=2, evaluator=True) as cluster:
    ...     cluster.wait(timeout=600)
    ...     print(cluster.output("chief"))
    """
    for name, number in (("num_ps", num_ps), ("num_workers", num_workers)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(
                "local_cluster: %s must be an int of at least 0, got %r" % (name, number)
            )
    counts = collections.OrderedDict(
        [("chief", int(chief)), ("worker", num_workers), (_SERVER, num_ps)]
    )
    if not any(counts.values()):
        raise ValueError("local_cluster: there is no task to run")
    with contextlib.ExitStack() as cleanup:
        if log_dir is None:
            log_dir = tempfile.mkdtemp(prefix="local_cluster-")
            cleanup.callback(shutil.rmtree, log_dir, ignore_errors=True)
        os.makedirs(log_dir, exist_ok=True)
        cluster = LocalCluster(command, counts, evaluator, env or {}, log_dir)
        cleanup.callback(cluster.close)
        cluster.start_all()
        yield cluster


class LocalCluster:
    """The running tasks; made by `local_cluster`.

    Attributes:
      tasks: list of str, the names of the tasks.
      log_dir: str, where the tasks' output is.
    """

    def __init__(self, command, counts, evaluator, env, log_dir):
        self.log_dir = log_dir
        self._command = list(command)
        self._environment = dict(os.environ, **env)
        self._ports = []  # Sockets that keep the ports ours.
        self._processes = collections.OrderedDict()  # Task -> its newest process.
        self._killed = set()  # Tasks that `kill` ended and nobody restarted.
        self._addresses = {}
        for job, count in counts.items():
            reserved = [reserve_port() for _ in range(count)]
            self._ports += [port for port, _ in reserved]
            if reserved:
                self._addresses[job] = [address for _, address in reserved]
        self.tasks = [
            job if job == "chief" else "%s:%d" % (job, i)
            for job in (_SERVER, "chief", "worker")
            for i in range(counts[job])
        ]
        if evaluator:
            self.tasks.append("evaluator")

    def wait(self, timeout):
        """Waits until chief, workers and evaluator have finished, then ends the servers.

        Args:
          timeout: number, seconds.

        Raises:
          RuntimeError: a task failed, a server included; the message has the end of its output. A
            task that `kill` ended does not count.
          TimeoutError: they have not finished in time; they go on running.
        """
        deadline = time.monotonic() + timeout
        while True:
            states = {t: p.poll() for t, p in self._processes.items() if t not in self._killed}
            for task, code in states.items():
                if code not in (None, 0):
                    raise RuntimeError(
                        "task %s ended with exit code %d; its output ends with:\n%s"
                        % (task, code, self.output(task)[-_TAIL:])
                    )
            running = [t for t, code in states.items() if code is None and not _is_server(t)]
            if not running:
                break
            if time.monotonic() > deadline:
                raise TimeoutError("after %g s there still run: %s" % (timeout, ", ".join(running)))
            time.sleep(_POLL_SECONDS)
        for task in self.tasks:
            if _is_server(task):
                self.kill(task)

    def is_running(self, task):
        """Whether the process of `task` runs."""
        return self._process(task).poll() is None

    def kill(self, task):
        """Ends `task` at once, as a machine that fails would (SIGKILL)."""
        process = self._process(task)
        self._killed.add(task)
        _end(process)

    def restart(self, task):
        """Starts `task` again, with the TF_CONFIG and the port it had.

        Raises:
          RuntimeError: it still runs.
        """
        if self.is_running(task):
            raise RuntimeError("task %s still runs; kill it first" % task)
        self._start(task)

    def output(self, task):
        """What `task` has written so far, standard output and error, restarts included."""
        self._process(task)
        with open(self._log(task), encoding="utf-8", errors="replace") as log:
            return log.read()

    def start_all(self):
        """Starts every task."""
        for task in self.tasks:
            self._start(task)

    def close(self):
        """Ends what still runs."""
        for process in self._processes.values():
            _end(process)
        while self._ports:
            self._ports.pop().close()

    def _process(self, task):
        if task not in self._processes:
            raise ValueError("there is no task %r; there are %s" % (task, ", ".join(self.tasks)))
        return self._processes[task]

    def _start(self, task):
        job, _, index = task.partition(":")
        settings = {
            "cluster": self._addresses,
            "task": {"type": job, "index": int(index or 0)},
        }
        with open(self._log(task), "ab") as log:
            self._processes[task] = subprocess.Popen(
                self._command,
                env=dict(self._environment, TF_CONFIG=json.dumps(settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # So that what it starts can be ended with it.
                preexec_fn=_die_with_parent,
            )
        self._killed.discard(task)

    def _log(self, task):
        return os.path.join(self.log_dir, task.replace(":", "-") + ".log")


def reserve_port():
    """(socket, address) of a free port of 127.0.0.1, which is ours until the socket is closed.

    A server may bind a port that is only bound, not listened at, where both sides allow it, and
    gRPC does. So the port stays ours while a task is down.
    """
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port.bind((_HOST, 0))
    return port, "%s:%d" % port.getsockname()


def _is_server(task):
    return task.startswith(_SERVER + ":")


def _end(process):
    """Kills a process and what it started, and waits for its end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
