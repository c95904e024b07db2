"""What no file of this repository may contain."""

import ast

from tests.conventions import source_tree


def test_python_3_7_can_read_every_file():
    failures = []
    for path in source_tree.files(".py"):
        try:
            source_tree.syntax_tree(path)
        except SyntaxError as error:
            failures.append("%s:%s %s" % (path, error.lineno, error.msg))
    assert not failures, ", ".join(failures)


def test_no_handler_swallows_everything():
    found = []
    for path in source_tree.files(".py"):
        for node in ast.walk(source_tree.syntax_tree(path)):
            if isinstance(node, ast.ExceptHandler) and _catches_everything(node):
                found.append("%s:%d" % (path, node.lineno))
    assert not found, "name the exceptions that are expected: %s" % ", ".join(found)


def test_no_test_is_skipped():
    found = []
    for path in source_tree.files(".py", "tests"):
        for node in ast.walk(source_tree.syntax_tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in ("skip", "skipif", "xfail"):
                found.append("%s:%d %s" % (path, node.lineno, node.attr))
    assert not found, ", ".join(found)


def test_nothing_is_left_to_do():
    marks = tuple(a + b for a, b in (("TO", "DO"), ("FIX", "ME"), ("XX", "X")))
    found = []
    for extension in (".py", ".cc", ".h", ".md"):
        for path in source_tree.files(extension):
            for number, line in enumerate(source_tree.text(path).split("\n"), 1):
                if any(mark in line for mark in marks):
                    found.append("%s:%d" % (path, number))
    assert not found, ", ".join(found)


def _catches_everything(handler):
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(c, ast.Name) and c.id in ("Exception", "BaseException") for c in caught)
