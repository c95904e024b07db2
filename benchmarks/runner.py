"""Runs the cases of a plan. The systems of a case are all alive at once and take turns.

Before a turn the others are idle, so each measure has the machine to itself; one round gives every
measure of every system one turn of about a second. Ratios are taken within a round and their median
over the rounds is reported, so that a machine that changes speed in between does not matter.
"""

import contextlib
import os
import shutil
import statistics
import sys
import tempfile

from benchmarks import environments, process
from benchmarks.machine import machine_facts
from benchmarks.workload import Workload

_SLOW_SECONDS = 5  # A single call that takes longer is made once a run.
_KEPT_SECONDS = 64  # Longer lists of durations are kept as a summary only.


def summarize(answer):
    """A process's answer with its list of durations summed up; short lists are kept too."""
    durations = answer.pop("seconds")
    ordered = sorted(durations)
    summary = {
        "median": statistics.median(ordered),
        "mean": sum(ordered) / len(ordered),
        "tenth": ordered[len(ordered) // 10],
        "worst": ordered[-1],
        "steps": len(ordered),
    }
    if len(durations) <= _KEPT_SECONDS:
        summary["seconds"] = [round(duration, 6) for duration in durations]
    return dict(answer, **summary)


class Runner:
    """Measures cases with the systems that this machine can have.

    Args:
      repository: root of the checkout.
      build: folder for what is kept between runs: drawn ids, logs, the limit program.
      environment_folder: folder of the rivals' environments.
      say: called with one line of progress at a time.
    """

    def __init__(self, repository, build, environment_folder, say=print):
        self._say = say
        self._environment_folder = environment_folder
        self._repository = repository
        self._build = build
        self._interpreters = {}
        self._limit_program = None
        self.skipped = {}  # System -> why.

    def run(self, cases, effort):
        """Returns {"machine", "effort", "skipped", "cases"}: the run as plain data."""
        facts = machine_facts(self._repository)
        self._prepare({entrant.system for case in cases for entrant in case.entrants})
        results = []
        for case in cases:
            with tempfile.TemporaryDirectory(dir=self._build, prefix="scratch-") as scratch:
                logs = os.path.join(self._build, "logs")
                os.makedirs(logs, exist_ok=True)
                data = os.path.join(self._build, "data")
                places = process.Places(self._repository, data, scratch, logs)
                results.append(self._run_case(case, effort, places))
        return {
            "machine": facts,
            "effort": effort._asdict(),
            "skipped": self.skipped,
            "cases": results,
        }

    def _prepare(self, systems):
        for system in sorted(systems & set(environments.RECIPES)):
            self._say("environment of %s" % system)
            try:
                self._interpreters[system] = environments.make_environment(
                    environments.RECIPES[system], self._environment_folder, self._repository
                )
            except environments.EnvironmentUnavailableError as why:
                self.skipped[system] = str(why)
                self._say("leaving out %s: %s" % (system, why))
        if "limit" in systems and shutil.which("g++") is None:
            self.skipped["limit"] = "it needs g++"
            self._say("leaving out limit: it needs g++")
        elif "limit" in systems:
            self._limit_program = process.compile_limit(self._build, self._repository)

    def _command(self, case, entrant, places):
        if entrant.system != "limit":
            interpreter = self._interpreters.get(entrant.system, sys.executable)
            return process.worker_command(case, entrant, interpreter, places)
        ids_file = os.path.join(places.scratch, "ids")
        Workload(case.rows, case.samples, cache=places.data).warm().tofile(ids_file)
        return process.limit_command(case, self._limit_program, ids_file, places)

    def _run_case(self, case, effort, places):
        name = "%s dim=%d rows=%d %s" % (case.scenario, case.dim, case.rows, case.optimizer)
        self._say("%s: starting" % name)
        if case.scenario == "step":  # Draw once what every process reads.
            Workload(case.rows, case.samples, cache=places.data).warm_row_numbers()
        with contextlib.ExitStack() as stack:
            processes = []
            for entrant in case.entrants:
                if entrant.system in self.skipped:
                    continue
                command = self._command(case, entrant, places)
                processes.append(process.MeasuringProcess(entrant, command, places))
                stack.callback(processes[-1].stop)
            measured = {}
            for each in processes:
                with self._rivals_may_fail(each, measured):
                    each.wait_until_ready()
                    facts = dict(each.facts)
                    names = facts.pop("measures")
                    measured[each.label] = {"facts": facts, "measures": {m: [] for m in names}}
            rounds = case.rounds or effort.rounds
            for number in range(rounds):
                self._say("%s: round %d of %d" % (name, number + 1, rounds))
                # Back and forth, so that nobody always follows the same neighbour.
                order = processes if number % 2 == 0 else processes[::-1]
                self._take_round(case, effort, order, measured)
        for system in measured.values():  # Measures that the case has no use for.
            system["measures"] = {m: a for m, a in system["measures"].items() if a}
        return dict(_description(case), systems=measured)

    def _take_round(self, case, effort, processes, measured):
        for action in case.actions:
            for each in processes:
                if each.label not in measured:
                    continue
                for name, answers in measured[each.label]["measures"].items():
                    if name.split("/")[0] != action or _too_slow_to_repeat(answers):
                        continue
                    with self._rivals_may_fail(each, measured):
                        answers.append(summarize(each.measure(name, effort.seconds)))

    @contextlib.contextmanager
    def _rivals_may_fail(self, each, measured):
        """Leaves a rival out of the case, with a line, when its process fails; never ourselves."""
        try:
            yield
        except process.ProcessFailedError as why:
            if each.label == "ours":
                raise
            measured.pop(each.label, None)
            self._say("leaving out of this case: %s" % why)


def _too_slow_to_repeat(answers):
    return bool(answers) and answers[0]["mean"] > _SLOW_SECONDS


def _description(case):
    return {
        "scenario": case.scenario,
        "dim": case.dim,
        "rows": case.rows,
        "optimizer": case.optimizer,
        "samples": case.samples,
    }
