"""Reads a run's plain data: series of numbers by round, rates and ratios."""

import statistics

from benchmarks.workload import FEATURES


class Results:
    """A run as `Runner.run` returns it, or as read back from its JSON file."""

    def __init__(self, run):
        self.run = run

    def cases(self, scenario, optimizer=None):
        """The cases of a scenario, in the order they ran."""
        return [
            Case(case)
            for case in self.run["cases"]
            if case["scenario"] == scenario and optimizer in (None, case["optimizer"])
        ]


class Case:
    """One table in one scenario, with every system's measures."""

    def __init__(self, case):
        self._case = case
        self.dim = case["dim"]
        self.rows = case["rows"]
        self.optimizer = case["optimizer"]
        self.ids_per_step = case["samples"] * FEATURES
        self.systems = list(case["systems"])

    @property
    def config(self):
        """How reports name the case: dim 16, 4M rows."""
        rows = "%dM" % (self.rows // 10**6) if self.rows >= 10**6 else "%dk" % (self.rows // 1000)
        return "dim %d, %s rows" % (self.dim, rows)

    def facts(self, system):
        return self._case["systems"].get(system, {}).get("facts", {})

    def measures(self, system, action=None):
        """Names of the system's measures, those of one action if given."""
        names = self._case["systems"].get(system, {}).get("measures", {})
        return [name for name in names if action in (None, name.split("/")[0])]

    def series(self, system, measure, key="median"):
        """One number a round, or None if it was not measured."""
        if measure not in self.measures(system):
            return None
        return [answer[key] for answer in self._case["systems"][system]["measures"][measure]]

    def best(self, system, action, key="median"):
        """The series of the measure of this action that takes the system least, or None."""
        candidates = [self.series(system, name, key) for name in self.measures(system, action)]
        return min(candidates, key=statistics.median) if candidates else None

    def seconds(self, system, measure, key="median"):
        """Median over the rounds, or None."""
        series = self.series(system, measure, key)
        return None if series is None else statistics.median(series)

    def growth_durations(self, system, measure="grow"):
        """Seconds of each step of growing: for each step its median over the rounds.

        A pause for growing comes in every round at the same step; one that the machine makes does
        not.
        """
        series = self.series(system, measure, "seconds")
        return None if series is None else [statistics.median(step) for step in zip(*series)]


def ratio(numerators, denominators):
    """Median over the rounds of numerator / denominator, or None if either was not measured."""
    if numerators is None or denominators is None:
        return None
    return statistics.median(a / b for a, b in zip(numerators, denominators))


def added(first, second):
    """Sum round by round, or None if either was not measured."""
    if first is None or second is None:
        return None
    return [a + b for a, b in zip(first, second)]
