"""Files and functions stay small enough to be read in one go."""

import ast
import os
import re

import pytest

from tests.conventions import source_tree

_LIMITS = (
    # (extension, in tests/, lines)
    (".h", False, 150),
    (".cc", False, 400),
    (".py", False, 300),
    (".h", True, 500),
    (".cc", True, 500),
    (".py", True, 500),
)
_FUNCTION_LINES = 50
_CPP_FOLDERS = ("ops", "tests/core", "benchmarks")


@pytest.mark.parametrize("extension, in_tests, limit", _LIMITS)
def test_files_are_short(extension, in_tests, limit):
    too_long = []
    for path in source_tree.files(extension):
        lines = source_tree.text(path).count("\n")
        if path.startswith("tests" + os.sep) == in_tests and lines > limit:
            too_long.append("%s has %d lines" % (path, lines))
    assert not too_long, "over %d lines: %s" % (limit, ", ".join(too_long))


def test_python_functions_are_short():
    too_long = []
    for path in source_tree.files(".py"):
        for node in ast.walk(source_tree.syntax_tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = _last_line(node) - _first_line_of_code(node) + 1
                if lines > _FUNCTION_LINES:
                    too_long.append("%s:%d %s has %d" % (path, node.lineno, node.name, lines))
    assert not too_long, "over %d lines: %s" % (_FUNCTION_LINES, ", ".join(too_long))


def test_cpp_functions_are_short():
    too_long = []
    for extension in (".cc", ".h"):
        for path in source_tree.files(extension, *_CPP_FOLDERS):
            for line, lines in _cpp_functions(source_tree.text(path)):
                if lines > _FUNCTION_LINES:
                    too_long.append("%s:%d has %d" % (path, line, lines))
    assert not too_long, "over %d lines: %s" % (_FUNCTION_LINES, ", ".join(too_long))


def _last_line(node):
    return max(getattr(n, "end_lineno", 0) or 0 for n in ast.walk(node))


def _first_line_of_code(node):
    """Where the function's code begins: a docstring documents, it is no code to follow."""
    return node.body[1].lineno - 1 if ast.get_docstring(node) and node.body[1:] else node.lineno


def _cpp_functions(text):
    """(first line, lines) of each function: a block at depth 0, namespaces aside, or in a class.

    Works on clang-format's layout: a line that ends in `) {` opens a function, and the first line
    that closes at the same indentation ends it.
    """
    opens = re.compile(r"^( {0,2})\S.*\)(?: const| override| noexcept)* \{$")
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = opens.match(line)
        if match and not line.lstrip().startswith(
            ("namespace", "if ", "for ", "while ", "switch ")
        ):
            end = match.group(1) + "}"
            for last in range(number + 1, len(lines)):
                if lines[last].startswith(end):
                    yield number + 1, last - number + 1
                    break
