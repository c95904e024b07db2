"""What the project has promised about speed and memory, and what a run says about it."""

import statistics
from typing import NamedTuple, Optional

from benchmarks.results import added, ratio

_RIVALS = {
    "deeprec": "DeepRec's EmbeddingVariable",
    "tfra": "TFRA",
    "variable": "`tf.Variable`",
    "variable-adagrad": "`tf.Variable` with TensorFlow's Adagrad",
    "columns": "feature columns",
}


class Row(NamedTuple):
    """One line of the table of targets."""

    what: str
    config: str
    value: Optional[float]  # None: not measured in this run.
    target: float
    at_least: bool  # Else at most.
    form: str = "%.2f x"

    @property
    def met(self):
        if self.value is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


def _faster(what, case, action, targets, key="median"):
    """Rows of how many times faster than each rival we are, each at its best way."""
    ours = case.best("ours", action, key)
    return [
        Row(
            "%s: times the speed of %s" % (what, _RIVALS[rival]),
            case.config,
            ratio(case.best(rival, action, key), ours),
            target,
            True,
        )
        for rival, target in targets
    ]


def lookup_rows(results):
    targets = [("deeprec", 3.0), ("tfra", 4.5), ("variable", 0.9)]
    return [
        row
        for case in results.cases("step", "adagrad")
        for row in _faster("Lookup", case, "lookup", targets)
    ]


def train_rows(results):
    rows = []
    for optimizer, label in (("adagrad", "Adagrad"), ("adam", "Adam")):
        variable = "variable" if optimizer == "adagrad" else "variable-adagrad"
        targets = [("deeprec", 2.2), ("tfra", 4.0), (variable, 1.5)]
        for case in results.cases("step", optimizer):
            rows += _faster("%s step" % label, case, "train", targets)
            bound = added(case.best("limit", "train"), case.best("floor", "train"))
            overhead = ratio(case.best("ours", "train"), bound)
            what = "%s step: time over that of the C++ loop and an empty Session step" % label
            rows.append(Row(what, case.config, overhead, 1.5, False))
    return rows


def growth_rows(results):
    rows = []
    for case in results.cases("growth"):
        targets = [("deeprec", 4.0), ("tfra", 8.0)]
        rows += _faster("Training on new ids", case, "grow", targets, "mean")
        durations = case.growth_durations("ours")
        what = "Training on new ids: slowest step over the median step"
        worst = max(durations) / statistics.median(durations) if durations else None
        rows.append(Row(what, case.config, worst, 5.0, False))
    return rows


def memory_rows(results):
    return [
        Row(
            "Resident bytes a row, Adagrad (payload 136)",
            case.config,
            case.facts("ours").get("bytes_per_row"),
            170,
            False,
            "%.0f B",
        )
        for case in results.cases("checkpoint")
    ]


def checkpoint_rows(results):
    rows = []
    for case in results.cases("checkpoint"):
        payload = case.facts("ours").get("payload_bytes")
        for kind, label in (("streaming", "streaming saver"), ("stock", "stock Saver")):
            save = case.series("ours", "save/" + kind)
            restore = case.series("ours", "restore/" + kind)
            save_ratio = ratio(case.series("variable", "save/stock"), save)
            extra = case.series("ours", "save/" + kind, "extra_bytes")
            share = statistics.median(extra) / payload * 100 if extra else None
            tfra = ratio(case.series("tfra", "restore/stock"), restore)
            stock = ratio(case.series("variable", "restore/stock"), restore)
            names = (
                "Full save, %s: times the speed of `tf.Variable`s" % label,
                "Full save, %s: extra memory, share of the table" % label,
                "Full restore, %s: times the speed of TFRA" % label,
                "Full restore, %s: times the speed of `tf.Variable`s" % label,
            )
            rows += [
                Row(names[0], case.config, save_ratio, 1.3, True),
                Row(names[1], case.config, share, 5, False, "%.1f %%"),
                Row(names[2], case.config, tfra, 3.0, True),
                Row(names[3], case.config, stock, 0.6, True),
            ]
    return rows


def delta_rows(results):
    rows = []
    for case in results.cases("delta"):
        full = case.series("ours", "save/full")
        size = case.seconds("ours", "save/full", "disk_bytes")
        bound = added(case.series("limit", "read-table"), _totals(case, "limit", "insert"))
        speed = ratio(case.series("limit", "write-table"), full)
        restore = ratio(bound, case.series("ours", "restore/full"))
        rows += [
            Row("Full save, Adam: share of the file write speed", case.config, speed, 0.7, True),
            Row("Full restore, Adam: share of the limit's speed", case.config, restore, 0.5, True),
        ]
        allowance = max(64 << 20, 0.05 * (size or 0)) / 1e6
        for measure in ("save/full", "save/delta", "restore/full"):
            # The worst round: a later one finds memory that an earlier one left behind.
            extra = case.series("ours", measure, "extra_bytes")
            extra = max(extra) / 1e6 if extra else None
            what = "Adam, %s: extra memory" % measure
            rows.append(Row(what, case.config, extra, allowance, False, "%.0f MB"))
        for key, label, target in (("median", "time", 3.0), ("disk_bytes", "bytes", 1.5)):
            delta = case.series("ours", "save/delta", key)
            share = ratio(delta, case.series("ours", "save/full", key))
            share = None if share is None else 100 * share
            what = "Delta of 1 %% of the rows: %s, share of the full save" % label
            rows.append(Row(what, case.config, share, target, False, "%.2f %%"))
    return rows


def _totals(case, system, measure):
    """Seconds of all steps of a measure together, one number a round, or None."""
    means = case.series(system, measure, "mean")
    steps = case.series(system, measure, "steps")
    return None if means is None else [mean * n for mean, n in zip(means, steps)]


def estimator_rows(results):
    targets = [("deeprec", 1.2), ("tfra", 2.0), ("columns", 2.0), ("variable", 1.3)]
    return [
        row
        for case in results.cases("estimator")
        for row in _faster("Estimator, DeepFM of 26 tables", case, "train", targets)
    ]


def servers_rows(results):
    rows = []
    for case in results.cases("servers"):
        theirs, ours = case.series("partitioned", "train/raw"), case.series("ours", "train/raw")
        what = "Two servers: times the steps/s of tf.nn.embedding_lookup on a PartitionedVariable"
        rows.append(Row(what, case.config, ratio(theirs, ours), 1.5, True))
        facts = case.facts("ours")
        spent = facts["bytes_a_step_raw"] / facts["bytes_needed"] if facts else None
        what = "Two servers: bytes on the wire, of the least there could be"
        rows.append(Row(what, case.config, spent, 1.15, False, "%.3f x"))
    return rows


def pipeline_rows(results):
    return [
        Row(
            "Ids hashed from strings, with GraphModifierHook: times the speed without",
            case.config,
            ratio(case.best("ours", "train"), case.best("pipelined", "train")),
            1.25,
            True,
        )
        for case in results.cases("pipeline")
    ]


def sparse_core_rows(results):
    names = (
        ("preprocess", "ids to CSR buffers, times the speed of TensorFlow's ops", 3.0),
        ("train", "times the steps/s of a variable a feature", 1.5),
    )
    rows = []
    for case in results.cases("sparse_core"):
        for action, label, target in names:
            for kind in ("dense", "ragged"):
                measure = "%s/%s" % (action, kind)
                speed = ratio(case.series("variable", measure), case.series("ours", measure))
                what = "26 stacked tables, %s: %s" % (kind, label)
                rows.append(Row(what, case.config, speed, target, True))
    return rows


def target_rows(results):
    """Every target as Rows, measured or not."""
    return (
        lookup_rows(results)
        + train_rows(results)
        + growth_rows(results)
        + memory_rows(results)
        + checkpoint_rows(results)
        + delta_rows(results)
        + estimator_rows(results)
        + servers_rows(results)
        + pipeline_rows(results)
        + sparse_core_rows(results)
    )
