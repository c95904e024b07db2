"""`diff`: the keys and variables in which two checkpoints differ.

Values are compared bit for bit. Two checkpoints are equal when a restore of either gives the same
model.
"""

import numpy as np

from ..checkpoint import reader
from ..checkpoint.table_reader import TableReader
from ..checkpoint.tensor_reader import open_reader
from . import sources
from .report import FOUND, OK, Report, columns

_COUNTS = ("rows_a", "rows_b", "added", "removed", "changed", "slots_changed", "usage_changed")


def add_arguments(parser):
    parser.add_argument("a", help="a checkpoint, or a directory whose latest is taken")
    parser.add_argument("b", help="the checkpoint to compare with it")
    parser.add_argument("--table", help="only this table, and no variables")


def run(arguments, progress):
    """The Report of `diff A B`. ValueError for a path that is no checkpoint."""
    a, b = sources.checkpoint(arguments.a), sources.checkpoint(arguments.b)
    (tables_a, variables_a), (tables_b, variables_b) = map(sources.tables_and_variables, (a, b))
    if arguments.table is not None:
        if arguments.table not in tables_a + tables_b:
            sources.require_table(b, arguments.table)
        tables_a, tables_b = [
            [t for t in ts if t == arguments.table] for ts in (tables_a, tables_b)
        ]
        variables_a, variables_b = [], []
    common = [table for table in tables_a if table in tables_b]
    data = {
        "a": a,
        "b": b,
        "tables_added": sorted(set(tables_b) - set(tables_a)),
        "tables_removed": sorted(set(tables_a) - set(tables_b)),
        "tables": [_table(name, TableReader(a, name), TableReader(b, name), progress)
                   for name in common],
        "variables_added": sorted(set(variables_b) - set(variables_a)),
        "variables_removed": sorted(set(variables_a) - set(variables_b)),
    }  # fmt: skip
    both = sorted(set(variables_a) & set(variables_b))
    data["variables_changed"] = _variables(a, b, both, progress)
    data["equal"] = not (
        any(data[f] for f in data if f.startswith(("tables_", "variables_")))
        or any(t["incomparable"] or any(t[f] for f in _COUNTS[2:]) for t in data["tables"])
    )
    return Report(data, _lines(data), OK if data["equal"] else FOUND)


def _table(name, a, b, progress):
    result = {"name": name, "incomparable": None, "largest_change": 0.0, "largest_change_key": None}
    result.update({field: 0 for field in _COUNTS})
    if a.meta.dim != b.meta.dim:
        result["incomparable"] = "dim is %d in A and %d in B" % (a.meta.dim, b.meta.dim)
        result["rows_a"], result["rows_b"] = a.count_rows(), b.count_rows()
        return result
    if (a.meta.num_buckets, a.meta.hash_version) == (b.meta.num_buckets, b.meta.hash_version):
        pairs, total = zip_buckets(a, b), a.meta.num_buckets
    else:
        pairs, total = [tuple(reader.concatenate(list(t.buckets())) for t in (a, b))], 1
    for rows_a, rows_b in progress.track(pairs, total, "table %s" % name):
        _compare(rows_a, rows_b, result)
    return result


def zip_buckets(a, b):
    """Yields the TableRows of each bucket of two TableReaders."""
    return zip(a.buckets(), b.buckets())


def _compare(a, b, result):
    """Adds the differences of two TableRows to `result`."""
    keys, in_a, in_b = np.intersect1d(a.keys, b.keys, assume_unique=True, return_indices=True)
    result["rows_a"] += len(a.keys)
    result["rows_b"] += len(b.keys)
    result["added"] += len(b.keys) - len(keys)
    result["removed"] += len(a.keys) - len(keys)
    old, new = a.embeddings[in_a], b.embeddings[in_b]
    differ = _differ(old, new).any(axis=1)
    result["changed"] += int(differ.sum())
    if differ.any():
        change = np.abs(new[differ].astype(np.float64) - old[differ]).max(axis=1)
        change = np.where(np.isnan(change), np.inf, change)
        largest = int(np.argmax(change))
        if result["largest_change_key"] is None or change[largest] > result["largest_change"]:
            result["largest_change"] = float(change[largest])
            result["largest_change_key"] = int(keys[differ][largest])
    result["slots_changed"] += int(_slots_differ(a, b, in_a, in_b).sum())
    usage = (a.counts[in_a] != b.counts[in_b]) | (a.last_seen[in_a] != b.last_seen[in_b])
    result["usage_changed"] += int(usage.sum())


def _slots_differ(a, b, in_a, in_b):
    if list(a.slots) != list(b.slots):
        return np.ones(len(in_a), bool)
    differ = np.zeros(len(in_a), bool)
    for slot in a.slots:
        differ |= _differ(a.slots[slot][in_a], b.slots[slot][in_b]).any(axis=1)
    return differ


def _differ(old, new):
    """Where float32 arrays differ in a bit, so that NaN equals itself."""
    return np.ascontiguousarray(old).view(np.int32) != np.ascontiguousarray(new).view(np.int32)


def _variables(a, b, both, progress):
    reader_a, reader_b = open_reader(a), open_reader(b)
    changed = []
    for name in progress.track(both, len(both), "variables"):
        old, new = (np.asarray(r.read(name)) for r in (reader_a, reader_b))
        if old.dtype != new.dtype or old.shape != new.shape:
            what = "%s %s became %s %s" % (old.dtype, old.shape, new.dtype, new.shape)
            changed.append({"name": name, "largest_change": None, "what": what})
        elif old.tobytes() != new.tobytes() if old.dtype != object else (old != new).any():
            largest = None
            if np.issubdtype(old.dtype, np.number):
                largest = float(np.max(np.abs(new.astype(np.float64) - old.astype(np.float64))))
            changed.append({"name": name, "largest_change": largest, "what": "other values"})
    return changed


def _lines(data):
    lines = ["A %s" % data["a"], "B %s" % data["b"], ""]
    if data["tables"]:
        header = ["TABLE", "ROWS A", "ROWS B", "ADDED", "REMOVED", "CHANGED", "SLOTS", "USAGE"]
        lines += columns(
            header + ["LARGEST CHANGE"],
            [[t["name"]] + [t[f] for f in _COUNTS] + [_largest(t)] for t in data["tables"]],
        )
    for sign, key in (("added", "added"), ("removed", "removed")):
        lines += ["table %s is %s" % (name, sign) for name in data["tables_" + key]]
        lines += ["variable %s is %s" % (name, sign) for name in data["variables_" + key]]
    for variable in data["variables_changed"]:
        change = variable["largest_change"]
        by = variable["what"] if change is None else "largest change %.6g" % change
        lines.append("variable %s differs: %s" % (variable["name"], by))
    return lines + ["equal" if data["equal"] else "different"]


def _largest(table):
    if table["incomparable"]:
        return table["incomparable"]
    if table["largest_change_key"] is None:
        return "-"
    return "%.6g (key %d)" % (table["largest_change"], table["largest_change_key"])
