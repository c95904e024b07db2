"""What a command found, for people and for scripts, and how it is laid out."""

import collections
import json

Report = collections.namedtuple(
    "Report",
    [
        "data",  # What --json prints: dicts, lists, strings and numbers.
        "lines",  # The same as a list of lines of text.
        "exit_code",  # OK or FOUND.
    ],
)

OK = 0  # Done; nothing wrong, nothing different.
FOUND = 1  # A problem, a difference, or a key that is not there.
UNUSABLE = 2  # Wrong arguments, or files that cannot be read.

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def columns(header, rows):
    """Lines of aligned columns: `header` and `rows` are lists of strings or numbers.

    Numbers stand at the right of their column, everything else at the left.
    """
    cells = [[_text(cell) for cell in row] for row in [header] + rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def bytes_text(count):
    """A number of bytes as 12.3 MiB."""
    size = float(count)
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return "%d B" % count if unit == "B" else "%.1f %s" % (size, unit)
        size /= 1024
    return None


def numbers_text(values):
    """A vector as a few significant digits each."""
    return "[%s]" % ", ".join("%.6g" % value for value in values)


def show(report, as_json, stream):
    """Writes `report` to `stream`, as JSON or as text."""
    if as_json:
        json.dump(report.data, stream, indent=2, allow_nan=True)
        stream.write("\n")
    else:
        stream.write("".join(line + "\n" for line in report.lines))


def _is_number(cell):
    return isinstance(cell, int) or cell == ""


def _text(cell):
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
