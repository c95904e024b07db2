"""`inspect`: what a checkpoint holds, one table of it, or one key's row.

Rows are those a restore would give: a delta is completed from the checkpoints before it.
"""

import os

import numpy as np

from .. import hashing
from ..checkpoint.table_reader import TableReader
from ..checkpoint.tensor_reader import open_reader
from . import sources
from .report import FOUND, OK, Report, columns, numbers_text


def add_arguments(parser):
    parser.add_argument("checkpoint", help="a checkpoint, or a directory whose latest is taken")
    parser.add_argument("--table", help="only this table, in detail")
    parser.add_argument("--key", type=int, help="the row of this key of --table")


def run(arguments, progress):
    """The Report of `inspect`. ValueError for a checkpoint, table or key there cannot be."""
    prefix = sources.checkpoint(arguments.checkpoint)
    if arguments.table is None:
        if arguments.key is not None:
            raise ValueError("--key needs --table")
        return _checkpoint(prefix, progress)
    sources.require_table(prefix, arguments.table)
    table = TableReader(prefix, arguments.table)
    if arguments.key is None:
        return _table(arguments.table, table, progress)
    return _row(arguments.table, table, arguments.key)


def _checkpoint(prefix, progress):
    tables, variables = sources.tables_and_variables(prefix)
    data = {"checkpoint": prefix, "bytes": sources.size_in_bytes(prefix)}
    data["tables"] = [
        _facts(name, TableReader(prefix, name))
        for name in progress.track(tables, len(tables), "counting rows")
    ]
    reader = open_reader(prefix)
    data["variables"] = [
        {"name": name, "dtype": reader.dtypes[name].name, "shape": list(reader.shapes[name])}
        for name in variables
    ]
    lines = [prefix, ""]
    lines += columns(
        ["TABLE", "ROWS", "DIM", "KEYS", "BUCKETS", "SLOTS", "SPREAD OVER"],
        [
            [
                table["name"],
                table["rows"],
                table["dim"],
                table["key_dtype"],
                table["num_buckets"],
                ", ".join(table["slots"]) or "-",
                " + ".join(os.path.basename(link["checkpoint"]) for link in table["chain"]),
            ]
            for table in data["tables"]
        ],
    )
    lines += [""] + columns(
        ["VARIABLE", "DTYPE", "SHAPE"],
        [[v["name"], v["dtype"], str(v["shape"])] for v in data["variables"]],
    )
    return Report(data, lines, OK)


def _facts(name, table):
    meta = table.meta
    return {
        "name": name,
        "rows": table.count_rows(),
        "dim": meta.dim,
        "key_dtype": meta.key_dtype,
        "num_buckets": meta.num_buckets,
        "slots": [slot for slot, _ in meta.slots],
        "initializer": meta.initializer,
        "initializer_arguments": list(meta.initializer_arguments),
        "seed": meta.seed,
        "chain": [
            {
                "checkpoint": link.prefix,
                "kind": "delta" if link.is_delta else "full",
                "rows": link.saved_rows(),
                "removed": link.removed_rows(),
            }
            for link in table.chain
        ],
    }


def _table(name, table, progress):
    data = _facts(name, table)
    data["usage"] = _usage(table, progress)
    data["admission"] = _admission(table)
    shown = ("dim", "key_dtype", "num_buckets", "initializer", "initializer_arguments", "seed")
    lines = ["table %s of %s" % (name, table.chain[-1].prefix)]
    lines += ["  %-22s %s" % ("rows", f"{data['rows']:,}")]
    lines += ["  %-22s %s" % (field, data[field]) for field in shown]
    slots = ", ".join("%s (from %g)" % slot for slot in table.meta.slots)
    lines += ["  %-22s %s" % ("slots", slots or "-")]
    lines += ["  %-22s %s" % item for item in data["usage"].items()]
    lines += ["  %-22s %s" % item for item in data["admission"].items()]
    lines += [""] + columns(
        ["CHECKPOINT", "KIND", "ROWS", "REMOVED"],
        [
            [os.path.basename(link["checkpoint"]), link["kind"], link["rows"], link["removed"]]
            for link in data["chain"]
        ],
    )
    return Report(data, lines, OK)


def _admission(table):
    """What keys are admitted by, and how many wait; empty for a table that admits all unseen."""
    link = table.chain[-1]
    if link.meta.access_threshold < 0:
        return {}
    waiting = [link.read_waiting(bucket) for bucket in range(link.meta.num_buckets)]
    return {
        "access_threshold": link.meta.access_threshold,
        "counting": not link.meta.frozen,
        "waiting keys": sum(len(bucket["waiting_keys"]) for bucket in waiting),
    }


def _usage(table, progress):
    """Smallest and largest count and time of last use over all rows; None without rows."""
    low, high = {}, {}
    buckets = range(table.meta.num_buckets)
    for bucket in progress.track(buckets, len(buckets), "reading usage"):
        read = table.read_arrays(bucket, ("keys", "counts", "last_seen"))
        for array in ("counts", "last_seen"):
            if len(read[array]):
                low[array] = min(int(read[array].min()), low.get(array, np.inf))
                high[array] = max(int(read[array].max()), high.get(array, -np.inf))
    return {
        "smallest count": low.get("counts"),
        "largest count": high.get("counts"),
        "first last_seen": low.get("last_seen"),
        "last last_seen": high.get("last_seen"),
    }


def _row(name, table, key):
    if not -(2**63) <= key < 2**63:
        raise ValueError("--key must be a 64-bit integer, got %d" % key)
    rows = table.read_bucket(int(hashing.bucket_of_key(key, table.meta.num_buckets)))
    found = np.flatnonzero(rows.keys == key)
    data = {"table": name, "key": key, "found": bool(len(found))}
    if not len(found):
        return Report(data, ["table %s has no key %d" % (name, key)], FOUND)
    row = found[0]
    data["embedding"] = rows.embeddings[row].tolist()
    data["slots"] = {slot: values[row].tolist() for slot, values in rows.slots.items()}
    data["count"], data["last_seen"] = int(rows.counts[row]), int(rows.last_seen[row])
    lines = ["table %s, key %d" % (name, key)]
    lines += ["  %-12s %s" % ("embedding", numbers_text(data["embedding"]))]
    lines += ["  %-12s %s" % (slot, numbers_text(v)) for slot, v in data["slots"].items()]
    lines += ["  %-12s %d" % ("count", data["count"])]
    lines += ["  %-12s %d" % ("last_seen", data["last_seen"])]
    return Report(data, lines, OK)
