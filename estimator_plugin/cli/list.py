"""`list`: every version in a model directory.

The versions are the checkpoints that lie there, whether or not the `checkpoint` file names them.
"""

import os
import time

from ..checkpoint import versions
from ..checkpoint.table_reader import TableLink
from . import sources
from .report import FOUND, OK, Report, bytes_text, columns

_LONGEST = 40  # Characters that tables' names may take in a line.


def add_arguments(parser):
    parser.add_argument("directory", help="a model_dir")


def run(arguments, progress):
    """The Report of `list DIRECTORY`. ValueError when it is no directory."""
    directory = arguments.directory
    if not os.path.isdir(directory):
        raise ValueError("%s is not a directory" % directory)
    found = versions.list_versions(directory)
    data = [_describe(v) for v in progress.track(found, len(found), "reading versions")]
    lines = columns(
        ["VERSION", "STEP", "KIND", "PARENT", "SAVED", "ROWS", "REMOVED", "SIZE", "TABLES"],
        [
            [
                os.path.basename(v["checkpoint"]),
                "" if v["step"] is None else v["step"],
                v["kind"],
                os.path.basename(v["parent"] or "-"),
                v["saved"],
                sum(t["rows"] for t in v["tables"]),
                sum(t["removed"] for t in v["tables"]),
                bytes_text(v["bytes"]),
                _names([table["name"] for table in v["tables"]]),
            ]
            for v in data
        ],
    )
    problems = [v["problem"] for v in data if v["problem"]]
    lines += ["PROBLEM: %s" % problem for problem in problems]
    if not data:
        lines = ["%s has no checkpoints" % directory]
    result = {"directory": directory, "versions": data}
    return Report(result, lines, FOUND if problems else OK)


def _names(tables):
    text = ", ".join(tables) or "-"
    return text if len(text) <= _LONGEST else "%d tables" % len(tables)


def _describe(version):
    description = {
        "checkpoint": version.prefix,
        "step": None if version.step < 0 else version.step,
        "kind": version.kind,
        "parent": version.parent or None,
        "saved": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.saved_at)),
        "bytes": sources.size_in_bytes(version.prefix),
        "tables": [],
        "problem": None,
    }
    if version.kind != versions.UNREADABLE:
        links = [(name, TableLink(version.prefix, name)) for name in sorted(version.save_ids)]
        description["tables"] = [
            {"name": name, "rows": link.saved_rows(), "removed": link.removed_rows()}
            for name, link in links
        ]
    try:
        versions.chain_of(version.prefix)
    except (versions.BrokenChainError, FileNotFoundError) as error:
        description["problem"] = str(error)
    return description
