"""A run as JSON and as Markdown."""

import json
import os
import statistics

from benchmarks.plan import SMOKE
from benchmarks.results import ratio
from benchmarks.targets import target_rows

_NAMES = {
    "ours": "estimator_plugin",
    "pipelined": "estimator_plugin, GraphModifierHook",
    "variable": "`tf.Variable`, row numbers",
    "variable-adagrad": "`tf.Variable`, Adagrad instead",
    "columns": "feature columns",
    "partitioned": "`PartitionedVariable`, row numbers",
    "tfra": "TFRA 0.7.2",
    "deeprec": "DeepRec EmbeddingVariable",
    "floor": "no table (Session floor)",
    "limit": "C++ loop, two threads",
}
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def write_json(run, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(run, file, indent=1, sort_keys=True)
        file.write("\n")


def read_json(path):
    with open(path) as file:
        return json.load(file)


def _table(header, rows):
    lines = ["| %s |" % " | ".join(header), "|%s|" % "|".join(["---"] * len(header))]
    return "\n".join(lines + ["| %s |" % " | ".join(row) for row in rows])


def _machine_line(run):
    machine = run["machine"]
    return "%s (%s), %d cores, %.0f GB, huge pages `%s`, Linux %s, %s, commit `%s`" % (
        machine["processor"],
        " ".join(machine["processor_flags"]),
        machine["cores"],
        machine["memory_bytes"] / 1e9,
        machine["transparent_huge_pages"],
        machine["kernel"],
        machine["compiler"],
        machine["commit"],
    )


def targets_table(results):
    """Every target, what was measured and whether it is met; first how many are."""
    targets = target_rows(results)
    judged = [row for row in targets if row.met is not None]
    summary = "%d of %d targets are met" % (sum(row.met for row in judged), len(judged))
    if len(judged) < len(targets):
        summary += "; %d were not measured" % (len(targets) - len(judged))
    rows = []
    for row in targets:
        bound = ("at least " if row.at_least else "at most ") + row.form % row.target
        if row.value is None:
            measured, verdict = "not measured", "-"
        else:
            measured, verdict = row.form % row.value, "yes" if row.met else "**no**"
        rows.append([row.what, row.config, measured, bound, verdict])
    table = _table(["What", "Case", "Measured", "Target", "Met"], rows)
    return "%s.\n\n%s" % (summary, table)


def _steps_table(results):
    """Million ids a second, one column a case."""
    cases = results.cases("step")
    cells = {}
    for i, case in enumerate(cases):
        for system in case.systems:
            for measure in case.measures(system):
                rate = case.ids_per_step / case.seconds(system, measure) / 1e6
                cells.setdefault((measure.split("/")[0], system, measure), {})[i] = "%.2f" % rate
    header = ["Million ids/s"] + ["%s, %s" % (case.config, case.optimizer) for case in cases]
    rows = [
        ["%s: %s" % (measure, _NAMES[system])] + [cells[key].get(i, "") for i in range(len(cases))]
        for key in sorted(cells)
        for _, system, measure in [key]
    ]
    return _table(header, rows)


def _growth_table(results):
    rows = []
    for case in results.cases("growth"):
        for system in case.systems:
            for measure in case.measures(system):
                durations = case.growth_durations(system, measure)
                mean = case.seconds(system, measure, "mean")
                rows.append(
                    [
                        "%s: %s" % (measure, _NAMES[system]),
                        case.config,
                        "%.2f" % (case.ids_per_step / mean / 1e6),
                        "%.1f" % (statistics.median(durations) * 1e3),
                        "%.1f" % (max(durations) * 1e3),
                        "%.1f" % (max(case.series(system, measure, "worst")) * 1e3),
                    ]
                )
    header = ["Only new ids", "Case", "Million ids/s", "Median step, ms", "Slowest step, ms"]
    return _table(header + ["Slowest in any round, ms"], rows)


def _checkpoint_table(results):
    rows = []
    for case in results.cases("checkpoint"):
        for system in case.systems:
            facts = case.facts(system)
            for measure in case.measures(system):
                seconds = case.seconds(system, measure)
                sizes = {"write": 512 << 20, "read": 512 << 20, "copy": 256 << 20}
                bytes_moved = facts.get("payload_bytes", sizes.get(measure))
                extra = case.seconds(system, measure, "extra_bytes") if facts else None
                rows.append(
                    [
                        "%s: %s" % (measure, _NAMES[system]),
                        "%.0f" % (bytes_moved / seconds / 1e6),
                        "%.2f" % seconds,
                        "%.0f" % (extra / 1e6) if extra is not None else "",
                        "%.0f" % facts["bytes_per_row"] if facts else "",
                    ]
                )
    header = ["Whole table", "Payload MB/s", "Seconds", "Extra memory, MB", "Resident bytes a row"]
    return _table(header, rows)


def _delta_table(results):
    rows = []
    for case in results.cases("delta"):
        full = case.seconds("ours", "save/full", "disk_bytes")
        for system in case.systems:
            for measure in case.measures(system):
                seconds, size, extra = case.seconds(system, measure), full, None
                if system == "ours":
                    size = case.seconds(system, measure, "disk_bytes")
                    extra = max(case.series(system, measure, "extra_bytes"))
                elif measure == "insert":
                    seconds *= case.seconds(system, measure, "steps")
                rows.append(
                    [
                        "%s: %s" % (measure, _NAMES[system]),
                        case.config,
                        "%.1f" % (seconds * 1e3),
                        "%.1f" % (size / 1e6) if size else "",
                        "%.0f" % (size / seconds / 1e6) if size else "",
                        "%.0f" % (extra / 1e6) if extra is not None else "",
                    ]
                )
    header = ["Adam's table", "Case", "ms", "MB", "MB/s", "Extra memory, MB"]
    return _table(header, rows)


def _estimator_table(results):
    rows = []
    for case in results.cases("estimator"):
        floor = case.seconds("floor", "train")
        for system in case.systems:
            seconds = case.seconds(system, "train")
            share = "%.2f" % (floor / seconds) if floor else ""
            rows.append([_NAMES[system], case.config, "%.1f" % (1 / seconds), share])
    return _table(
        ["DeepFM, 26 tables", "Case", "Steps/s", "Share of the model without tables"], rows
    )


def _servers_table(results):
    rows = []
    for case in results.cases("servers"):
        for system in case.systems:
            facts = case.facts(system)
            for measure in case.measures(system):
                spent = facts["bytes_a_step_" + measure.split("/")[1]]
                rows.append(
                    [
                        "%s: %s" % (measure, _NAMES[system]),
                        case.config,
                        "%.1f" % (1 / case.seconds(system, measure)),
                        "%.2f" % (spent / 1e6),
                        "%.3f" % (spent / facts["bytes_needed"]),
                    ]
                )
    header = ["Two servers, one worker", "Case", "Steps/s", "MB a step on the wire", "Of the least"]
    return _table(header, rows)


def _pipeline_table(results):
    rows = [
        [_NAMES[system], case.config, "%.1f" % (1 / case.seconds(system, "train"))]
        for case in results.cases("pipeline")
        for system in case.systems
    ]
    return _table(["DeepFM, ids hashed from strings", "Case", "Steps/s"], rows)


def _hot_table(results):
    rows = []
    for case in results.cases("hot"):
        ways = [
            [case.series("ours", "%s/%s" % (drawn, way)) for way in ("unique", "raw")]
            for drawn in ("zipf", "uniform")
        ]
        rows.append([case.config] + ["%.2f x" % ratio(unique, raw) for unique, raw in ways])
    what = "Lookup and update: times the speed of making ids distinct first"
    return _table([what, "Zipf ids", "Uniform ids"], rows)


def _sparse_core_table(results):
    rows = []
    for case in results.cases("sparse_core"):
        for measure in case.measures("ours"):
            seconds = [case.seconds(system, measure) for system in ("ours", "variable")]
            cells = ["" if s is None else "%.1f ms" % (1e3 * s) for s in seconds]
            rows.append([measure, case.config] + cells)
    return _table(["26 features", "Case", "ours", "TensorFlow's ops"], rows)


def markdown(results):
    """The whole report of a run."""
    run = results.run
    skipped = ["%s was left out: %s." % pair for pair in sorted(run["skipped"].items())]
    effort = "%(rounds)d rounds of %(seconds)g s a measure" % run["effort"]
    parts = ["%s. %s; %.0f minutes in all." % (_machine_line(run), effort, run["minutes"])]
    parts += skipped
    if run["effort"] == SMOKE._asdict():
        parts.append("A smoke run: it shows that the benchmarks work; its numbers mean nothing.")
    else:
        parts.append("### Targets\n\n" + targets_table(results))
    sections = [
        ("step", "Lookups and training steps", _steps_table),
        ("growth", "Growth", _growth_table),
        ("checkpoint", "Memory and checkpoints", _checkpoint_table),
        ("delta", "Full and delta checkpoints", _delta_table),
        ("estimator", "Estimator", _estimator_table),
        ("servers", "Parameter servers", _servers_table),
        ("pipeline", "Ids in the input pipeline", _pipeline_table),
        ("hot", "Popular ids", _hot_table),
        ("sparse_core", "Stacked tables", _sparse_core_table),
    ]
    for scenario, title, make in sections:
        if results.cases(scenario):
            parts.append("### %s\n\n%s" % (title, make(results)))
    return "\n\n".join(parts) + "\n"


def update_readme(path, text):
    """Puts `text` between the markers of a README.

    Raises:
      ValueError: the markers are not there.
    """
    with open(path) as file:
        old = file.read()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise ValueError("%s must hold %r and %r once each" % (path, BEGIN, END))
    before, rest = old.split(BEGIN)
    with open(path, "w") as file:
        file.write(before + BEGIN + "\n" + text + END + rest.split(END)[1])
