"""A measuring process as the runner sees it: start, ask, stop."""

import json
import os
import subprocess
import threading
from typing import NamedTuple

ANSWER_LIMIT = 300  # Seconds; the slowest honest answer takes a fifth of it.


class ProcessFailedError(Exception):
    """A measuring process ended or hung; the message says which and where its log is."""


class Places(NamedTuple):
    """Where a run keeps what it makes."""

    repository: str
    data: str  # Drawn ids, kept between runs.
    scratch: str  # Checkpoints and files, of this run only.
    logs: str


class MeasuringProcess:
    """One entrant of one case. `facts` are what it said when it became ready."""

    def __init__(self, entrant, command, places):
        self.label = entrant.label
        self._log_path = os.path.join(places.logs, "%s.log" % self.label)
        environment = dict(os.environ, PYTHONPATH=places.repository, TF_CPP_MIN_LOG_LEVEL="2")
        with open(self._log_path, "ab") as log:
            log.write(("%s\n" % " ".join(command)).encode())
            log.flush()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=places.repository,
                env=environment,
                universal_newlines=True,
            )
        self.facts = None

    def wait_until_ready(self):
        self.facts = self._read_answer()

    def measure(self, name, seconds):
        """The process's answer to one request, a dict.

        Raises:
          ProcessFailedError: it has ended, or did not answer within ANSWER_LIMIT seconds.
        """
        try:
            self._process.stdin.write("%s %g\n" % (name, seconds))
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail("ended early")
        return self._read_answer()

    def stop(self):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _read_answer(self):
        watchdog = threading.Timer(ANSWER_LIMIT, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        if not line:
            self._fail("gave no answer, exit code %s" % self._process.wait())
        return json.loads(line)

    def _fail(self, what):
        raise ProcessFailedError("%s %s, see %s" % (self.label, what, self._log_path))


def worker_command(case, entrant, interpreter, places):
    """The command line of a worker.py process."""
    return [
        interpreter,
        "-m",
        "benchmarks.worker",
        case.scenario,
        entrant.system,
        "--dim=%d" % case.dim,
        "--rows=%d" % case.rows,
        "--optimizer=%s" % (entrant.optimizer or case.optimizer),
        "--samples=%d" % case.samples,
        "--cache=%s" % places.data,
        "--scratch=%s" % places.scratch,
    ]


def limit_command(case, program, ids_file, places):
    """The command line of a limit.cc process."""
    scratch_file = os.path.join(places.scratch, "limit")
    return [
        program,
        str(case.dim),
        str(case.rows),
        case.optimizer,
        str(case.samples),
        ids_file,
        scratch_file,
    ]


def compile_limit(folder, repository):
    """Builds limit.cc for this machine; returns the program's path.

    Raises:
      subprocess.CalledProcessError: it does not compile.
    """
    os.makedirs(folder, exist_ok=True)
    source = os.path.join(repository, "benchmarks", "limit")
    program = os.path.join(folder, "limit")
    flags = ["-std=c++14", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"]
    files = [os.path.join(source, name) for name in ("limit.cc", "bandwidth.cc")]
    subprocess.run(["g++"] + flags + files + ["-pthread", "-o", program], check=True)
    return program
