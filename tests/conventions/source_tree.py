"""The files that the convention tests judge, as paths relative to the repository's root."""

import ast
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCT = ("estimator_plugin", "hooks", "ops", "model_fns", "examples")
ALL = PRODUCT + ("benchmarks", "tests")


def files(extension, *folders):
    """Every file of `folders` that ends in `extension`; without folders, all and the root's."""
    found = []
    for folder in folders or ALL:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            found += [os.path.join(place, name) for name in names if name.endswith(extension)]
    if not folders:
        found += [n for n in os.listdir(ROOT) if n.endswith(extension)]
    return sorted(os.path.relpath(os.path.join(ROOT, path), ROOT) for path in found)


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def syntax_tree(path):
    """The file's tree, as Python 3.7 would read it: SyntaxError for anything newer."""
    return ast.parse(text(path), path, feature_version=(3, 7))


def imports(path):
    """(line, absolute module name) of every import in a file, relative ones resolved.

    `from . import x` in ops/table_ops.py is estimator_plugin.ops.x.
    """
    found = []
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = _package_of(path).split(".")
                package = package[: len(package) - (node.level - 1)]
                base = ".".join(package + ([base] if base else []))
            found += [(node.lineno, "%s.%s" % (base, alias.name)) for alias in node.names]
    return found


def module_of(path):
    """The name a file is imported by once the package is installed."""
    parts = path[: -len(".py")].split(os.sep)
    if parts[0] in ("hooks", "ops", "model_fns"):
        parts.insert(0, "estimator_plugin")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package_of(path):
    module = module_of(path)
    return module if path.endswith("__init__.py") else module.rpartition(".")[0]
