"""What a run measures: the cases, and for each the systems that take turns in it."""

from typing import NamedTuple, Sequence, Tuple

SLOW_ROUNDS = 3  # For measures that take seconds each.


class Entrant(NamedTuple):
    """One measuring process of a case."""

    system: str
    optimizer: str = ""  # Empty: the case's.

    @property
    def label(self):
        return self.system + ("-" + self.optimizer if self.optimizer else "")


class Case(NamedTuple):
    """One table in one scenario, and who is compared on it."""

    scenario: str  # One of those that benchmarks/README.md describes.
    dim: int
    rows: int
    optimizer: str
    entrants: Sequence[Entrant]
    actions: Tuple[str, ...]  # First parts of the measures to take, in this order.
    samples: int = 4096
    rounds: int = 0  # 0: as many as the run says.


class Effort(NamedTuple):
    """How long a run may take."""

    rounds: int
    seconds: float  # Of each measure in each round.


FULL = Effort(rounds=5, seconds=0.4)
QUICK = Effort(rounds=2, seconds=0.4)
SMOKE = Effort(rounds=1, seconds=0.02)


def _entrants(*systems):
    return [Entrant(system) for system in systems]


_EVERYONE = _entrants("ours", "variable", "tfra", "deeprec", "floor", "limit")
_GROWING = _entrants("ours", "tfra", "deeprec", "limit")
# TensorFlow's Adam passes over every row each step, so its Adagrad is the honest yardstick.
_ADAM = _EVERYONE + [Entrant("variable", "adagrad")]
_ADAM_LARGE = [entrant for entrant in _ADAM if entrant != Entrant("variable")]
_SAVING = _entrants("ours", "variable", "tfra", "deeprec", "limit")
_DELTA = _entrants("ours", "limit")  # Nobody else saves deltas of a table.
_ESTIMATOR = _entrants("ours", "variable", "columns", "tfra", "deeprec", "floor")
_SERVERS = _entrants("ours", "partitioned")
_PIPELINE = _entrants("ours", "pipelined")
_HOT = _entrants("ours")  # Against itself.
_SPARSE_CORE = _entrants("ours", "variable")
_MILLION = 1000 * 1000


def full_plan():
    """Every case of the results table."""
    both = ("lookup", "train")
    cases = [
        Case("step", dim, rows * _MILLION, "adagrad", _EVERYONE, both)
        for dim in (16, 64)
        for rows in (1, 4)
    ]
    train = ("train",)
    grow = ("insert", "grow")
    files = ("write", "read", "copy", "save", "restore")
    changes = ("write-table", "read-table", "insert", "save", "restore")
    large = 4 * _MILLION
    cases += [
        Case("step", 16, _MILLION, "adam", _ADAM, train),
        Case("step", 16, large, "adam", _ADAM_LARGE, train),
        Case("step", 16, _MILLION, "sgd", _EVERYONE, train),
        Case("growth", 16, large, "adagrad", _GROWING, grow, rounds=SLOW_ROUNDS),
        Case("checkpoint", 16, large, "adagrad", _SAVING, files, rounds=SLOW_ROUNDS),
        Case("delta", 16, large, "adam", _DELTA, changes, rounds=SLOW_ROUNDS),
        Case("estimator", 16, _MILLION, "adagrad", _ESTIMATOR, train),
        Case("servers", 16, _MILLION, "adagrad", _SERVERS, train),
        Case("pipeline", 16, _MILLION, "adagrad", _PIPELINE, train),
        Case("hot", 16, _MILLION, "adagrad", _HOT, ("zipf", "uniform")),
        Case("sparse_core", 16, _MILLION, "adagrad", _SPARSE_CORE, ("preprocess", "train")),
    ]
    return cases


def quick_plan():
    """Dim 16, a million rows, Adagrad (deltas: Adam): a look at every scenario in a few minutes."""
    return [
        case._replace(rows=_MILLION)
        for case in full_plan()
        if case.scenario == "delta"
        or case.dim == 16
        and case.optimizer == "adagrad"
        and (case.rows == _MILLION or case.scenario != "step")
    ]


def smoke_plan():
    """Tiny tables, and of the systems that need no environment one or two a scenario."""
    kept = {
        "step": ("ours", "floor", "limit"),
        "growth": ("ours", "limit"),
        "checkpoint": ("ours", "variable"),
        "delta": ("ours", "limit"),
        "estimator": ("ours", "floor"),
        "servers": ("ours", "partitioned"),
        "pipeline": ("ours", "pipelined"),
        "hot": ("ours",),
        "sparse_core": ("ours", "variable"),
    }
    return [
        case._replace(
            rows=5000,
            samples=64,
            entrants=[e for e in case.entrants if e.system in kept[case.scenario]],
            rounds=1,
        )
        for case in quick_plan()
    ]
