"""`verify`: checksums, chains and counts of a checkpoint.

Reads every byte that restoring the checkpoint would read.
"""

import numpy as np
import tensorflow as tf

from .. import hashing
from ..checkpoint import names
from ..checkpoint.table_reader import open_chain
from ..checkpoint.tensor_reader import open_reader
from . import sources
from .report import FOUND, OK, Report

_DTYPES = {"keys": np.int64, "rows": np.float32, "counts": np.int32, "last_seen": np.int64}
_NO_KEY = -1


def add_arguments(parser):
    parser.add_argument("checkpoint", help="a checkpoint, or a directory whose latest is taken")


def run(arguments, progress):
    """The Report of `verify CHECKPOINT`. ValueError when it is none."""
    prefix = sources.checkpoint(arguments.checkpoint)
    data = {"checkpoint": prefix, "ok": False, "problems": [], "tables": [], "variables": 0}
    try:
        tables, variables = sources.tables_and_variables(prefix)
    except tf.errors.OpError as error:
        data["problems"].append(error.message)
    else:
        data["problems"] += _variables(prefix, variables, progress)
        data["variables"] = len(variables)
        for table in tables:
            facts, problems = _table(prefix, table, progress)
            data["tables"].append(facts)
            data["problems"] += problems
    data["ok"] = not data["problems"]
    lines = [
        "table %s: %s rows read from %d checkpoint%s"
        % (t["name"], f"{t['rows_read']:,}", t["links"], "" if t["links"] == 1 else "s")
        for t in data["tables"]
    ]
    lines.append("%d variables" % data["variables"])
    lines += ["PROBLEM: %s" % problem for problem in data["problems"]]
    lines.append("%s is %s" % (prefix, "whole" if data["ok"] else "DAMAGED"))
    return Report(data, lines, OK if data["ok"] else FOUND)


def _variables(prefix, variables, progress):
    reader = open_reader(prefix)
    problems = []
    for name in progress.track(variables, len(variables), "variables"):
        try:
            reader.read(name)  # Checks the checksum.
        except tf.errors.OpError as error:
            problems.append(error.message)
    return problems


def _table(prefix, table, progress):
    facts = {"name": table, "rows_read": 0, "links": 0}
    try:
        chain = open_chain(prefix, table)
        facts["rows_read"] = sum(link.saved_rows() for link in chain)
    except tf.errors.OpError as error:
        return facts, [error.message]
    problems = []
    facts["links"] = len(chain)
    for link in chain:
        buckets = range(link.meta.num_buckets)
        for bucket in progress.track(buckets, len(buckets), "table %s" % table):
            problems += _bucket(link, table, bucket)
        problems += _bank(link, table)
    return facts, problems


def _bank(link, table):
    try:
        bank = open_reader(link.prefix).read(names.bank_name(table))
    except tf.errors.OpError as error:
        return [error.message]
    if bank.ndim == 2 and bank.shape[1] == link.meta.dim:
        return []
    return ["table %s, checkpoint %s: bank is %s" % (table, link.prefix, bank.shape)]


def _bucket(link, table, bucket):
    """The problems of one bucket of one checkpoint."""
    where = "table %s, checkpoint %s, bucket %d: " % (table, link.prefix, bucket)
    try:
        arrays = link.read_bucket(bucket)
        removed = link.read_removed(bucket)
        waiting = link.read_waiting(bucket)
    except tf.errors.OpError as error:
        return [where + error.message]
    problems = [
        "%s are %s, want %s" % (array, arrays[array].dtype, np.dtype(dtype))
        for array, dtype in _DTYPES.items()
        if arrays[array].dtype != dtype
    ]
    problems += _keys("key", arrays["keys"], link.meta, bucket)
    problems += _keys("removed key", removed, link.meta, bucket)
    problems += _keys("waiting key", waiting["waiting_keys"], link.meta, bucket)
    if any((a < 0).any() for a in (arrays["counts"], waiting["waiting_counts"], waiting["sketch"])):
        problems.append("a count is negative")
    return [where + problem for problem in problems]


def _keys(what, keys, meta, bucket):
    problems = []
    if len(np.unique(keys)) != len(keys):
        problems.append("a %s occurs twice" % what)
    lost = keys[hashing.bucket_of_key(keys, meta.num_buckets) != bucket]
    if len(lost):
        problems.append("%s %d belongs to another bucket" % (what, lost[0]))
    limits = np.iinfo(np.int32 if meta.key_dtype == "int32" else np.int64)
    wrong = keys[(keys == _NO_KEY) | (keys < limits.min) | (keys > limits.max)]
    if len(wrong):
        problems.append("%s %d cannot be" % (what, wrong[0]))
    return problems
