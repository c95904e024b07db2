"""`export`: the rows of one table as npz, parquet or csv.

npz: int64 keys [n] in ascending order, float32 embeddings [n, dim], int32 counts [n], int64
last_seen [n], and with --slots float32 slot_<name> [n, dim]; loads without pickle. parquet: columns
key, count, last_seen, embedding and slot_<name>, the last two lists of dim floats. csv: a header,
then key,count,last_seen,embedding_0,... and slot_<name>_0,... . parquet and csv need the memory of
one bucket, and keys ascend within a bucket.
"""

import csv
import os

import numpy as np

from ..checkpoint import reader
from ..checkpoint.table_reader import TableReader
from . import sources
from .report import OK, Report, bytes_text


def add_arguments(parser):
    parser.add_argument("checkpoint", help="a checkpoint, or a directory whose latest is taken")
    parser.add_argument("--table", required=True)
    parser.add_argument("--format", choices=sorted(_WRITERS), default="npz")
    parser.add_argument("--output", metavar="FILE", help="default: TABLE.FORMAT")
    parser.add_argument("--slots", action="store_true", help="with the optimizer's slots")


def run(arguments, progress):
    """The Report of `export`. ValueError for an unknown table, a file that is there already, or
    parquet without pyarrow."""
    prefix = sources.checkpoint(arguments.checkpoint)
    sources.require_table(prefix, arguments.table)
    output = arguments.output or "%s.%s" % (arguments.table, arguments.format)
    if os.path.exists(output):
        raise ValueError("--output %s is there already; nothing was written" % output)
    table = TableReader(prefix, arguments.table)
    slots = [name for name, _ in table.meta.slots] if arguments.slots else []
    buckets = (_sorted(rows) for rows in table.buckets())
    parts = progress.track(buckets, table.meta.num_buckets, "exporting")
    temporary = "%s.partial" % output
    try:
        count = _WRITERS[arguments.format](temporary, parts, table.meta.dim, slots)
        os.replace(temporary, output)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    data = {
        "checkpoint": prefix,
        "table": arguments.table,
        "output": output,
        "format": arguments.format,
        "rows": count,
        "bytes": os.path.getsize(output),
    }
    line = "%s: %s rows, %s" % (output, f"{count:,}", bytes_text(data["bytes"]))
    return Report(data, [line], OK)


def _sorted(rows):
    order = np.argsort(rows.keys)
    return rows._replace(
        keys=rows.keys[order],
        embeddings=rows.embeddings[order],
        slots={slot: values[order] for slot, values in rows.slots.items()},
        counts=rows.counts[order],
        last_seen=rows.last_seen[order],
    )


def _write_npz(path, parts, dim, slots):
    rows = _sorted(reader.concatenate(list(parts)))
    arrays = {"slot_" + slot: rows.slots[slot] for slot in slots}
    with open(path, "wb") as file:
        np.savez(
            file,
            keys=rows.keys,
            embeddings=rows.embeddings,
            counts=rows.counts,
            last_seen=rows.last_seen,
            **arrays,
        )
    return len(rows.keys)


def _write_csv(path, parts, dim, slots):
    names = ["embedding"] + ["slot_" + slot for slot in slots]
    count = 0
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["key", "count", "last_seen"] + ["%s_%d" % (n, i) for n in names for i in range(dim)]
        )
        for rows in parts:
            values = np.concatenate(
                [rows.embeddings] + [rows.slots[slot] for slot in slots], axis=1
            )
            usage = zip(rows.keys.tolist(), rows.counts.tolist(), rows.last_seen.tolist(), values)
            # A float32 prints as the shortest text that reads back as the same float32.
            writer.writerows([key, n, seen] + [str(x) for x in row] for key, n, seen, row in usage)
            count += len(rows.keys)
    return count


def _write_parquet(path, parts, dim, slots):
    arrow, parquet = _pyarrow()
    matrix = arrow.list_(arrow.float32(), dim)
    schema = arrow.schema(
        [("key", arrow.int64()), ("count", arrow.int32()), ("last_seen", arrow.int64())]
        + [(name, matrix) for name in ["embedding"] + ["slot_" + slot for slot in slots]]
    )
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in parts:
            matrices = [rows.embeddings] + [rows.slots[slot] for slot in slots]
            lists = [
                arrow.FixedSizeListArray.from_arrays(arrow.array(m.ravel()), dim) for m in matrices
            ]
            usage = [arrow.array(x) for x in (rows.keys, rows.counts, rows.last_seen)]
            writer.write_table(arrow.Table.from_arrays(usage + lists, schema=schema))
            count += len(rows.keys)
    return count


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError(
            "--format parquet needs pyarrow, which cannot be imported (%s): pip install pyarrow"
            % error
        ) from error
    return pyarrow, pyarrow.parquet


_WRITERS = {"npz": _write_npz, "csv": _write_csv, "parquet": _write_parquet}
