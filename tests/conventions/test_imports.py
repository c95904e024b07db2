"""Who may import whom: arrows only point down."""

import os
import re

import graphlib

from tests.conventions import source_tree

# Installed packages from the bottom up; each may import those below it and itself.
_LAYERS = (
    "estimator_plugin.ops",
    "estimator_plugin",
    "estimator_plugin.hooks",
    "estimator_plugin.model_fns",
    "examples",
)
_BARE = ("hooks", "ops", "model_fns")
_PRIVATE_TENSORFLOW = ("tensorflow.python", "tensorflow.core")
_MAY_BE_PRIVATE = os.path.join("estimator_plugin", "tf_compat.py")


def _is_in(module, package):
    return module == package or module.startswith(package + ".")


def _layer(module):
    """The index of the layer a module belongs to, or None for a module that is not ours."""
    inner = [
        i for i, name in enumerate(_LAYERS) if name != "estimator_plugin" and _is_in(module, name)
    ]
    if inner:
        return inner[0]
    return _LAYERS.index("estimator_plugin") if _is_in(module, "estimator_plugin") else None


def test_private_tensorflow_has_one_importer():
    found = [
        "%s:%d %s" % (path, line, module)
        for path in source_tree.files(".py", *source_tree.PRODUCT)
        if path != _MAY_BE_PRIVATE
        for line, module in source_tree.imports(path)
        if any(_is_in(module, private) for private in _PRIVATE_TENSORFLOW)
    ]
    assert not found, "import these from estimator_plugin.tf_compat: %s" % ", ".join(found)


def test_inner_packages_have_their_installed_names():
    found = [
        "%s:%d import %s" % (path, line, module)
        for path in source_tree.files(".py")
        for line, module in source_tree.imports(path)
        if module.split(".")[0] in _BARE
    ]
    assert not found, "write estimator_plugin.<name>: %s" % ", ".join(found)


def test_dependencies_point_down():
    found = []
    for path in source_tree.files(".py", *source_tree.PRODUCT):
        own = _layer(source_tree.module_of(path))
        for line, module in source_tree.imports(path):
            layer = _layer(module)
            if layer is not None and layer > own:
                found.append("%s:%d imports %s" % (path, line, module))
    assert not found, "lower layers do not know upper ones: %s" % ", ".join(found)


def test_no_imports_run_in_a_circle():
    modules = {
        source_tree.module_of(path): path
        for path in source_tree.files(".py", *source_tree.PRODUCT, "benchmarks")
    }
    graph = {}
    for module, path in modules.items():
        names = [name for _, name in source_tree.imports(path)]
        found = [name if name in modules else name.rpartition(".")[0] for name in names]
        graph[module] = [name for name in found if name in modules and name != module]
    order = list(graphlib.TopologicalSorter(graph).static_order())  # CycleError names a circle.
    assert sorted(order) == sorted(modules)


def test_core_knows_no_tensorflow():
    found = []
    for extension in (".h", ".cc"):
        for path in source_tree.files(extension, os.path.join("ops", "core")):
            for line, name in _includes(path):
                if name.startswith(
                    ("tensorflow/", "tsl/", "absl/", "Eigen/", "kernels/", "../kernels")
                ):
                    found.append("%s:%d includes %s" % (path, line, name))
    assert not found, "ops/core stands alone: %s" % ", ".join(found)


def _includes(path):
    for number, line in enumerate(source_tree.text(path).split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)', line)
        if match:
            yield number, match.group(1)
