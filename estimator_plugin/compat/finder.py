"""The finder of the import layer: modules that look their names up in `names.MODULES`."""

import importlib
import importlib.machinery
import sys
import types

from .. import version
from . import names


class LayerModule(types.ModuleType):
    """A module of another project's name whose names live in this plugin."""

    def __getattr__(self, name):
        if name == "__all__":
            return [n for n in names.MODULES.get(self.__name__, ()) if _exists(self.__name__, n)]
        full = "%s.%s" % (self.__name__, name)
        target = names.MODULES.get(self.__name__, {}).get(name)
        if target is not None:
            return _resolve(self.__name__, name, target)
        if _is_known(full):
            return importlib.import_module(full)
        if name.startswith("_"):  # Python itself asks every module for such names.
            raise AttributeError("module %r has no attribute %r" % (self.__name__, name))
        raise _unsupported(self.__name__, name)

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(self.__all__) | set(_submodules(self.__name__)))


class Finder:
    """A meta-path finder and loader for the packages `roots`.

    Modules of these packages that are neither in `names.MODULES` nor a package of one that is raise
    ImportError.
    """

    def __init__(self, roots):
        self._roots = roots

    def find_spec(self, fullname, path=None, target=None):
        del path, target
        parent = fullname.rpartition(".")[0]
        if fullname.partition(".")[0] not in self._roots:
            return None
        if parent and not isinstance(sys.modules.get(parent), LayerModule):
            return None  # A package that is installed answers for what is in it.
        if not _is_known(fullname):
            raise _unsupported(*fullname.rsplit(".", 1))
        return importlib.machinery.ModuleSpec(
            fullname, self, origin="estimator_plugin.compat", is_package=_is_package(fullname)
        )

    def create_module(self, spec):
        return LayerModule(spec.name, "%s, as estimator_plugin has it." % spec.name)

    def exec_module(self, module):
        """There is nothing to run: names are looked up when they are asked for."""


_FINDERS = (Finder(names.OWN), Finder(names.STAND_INS))


def install():
    """Makes the modules of `names.MODULES` importable; harmless when repeated.

    `mx_rec` means this plugin from here on. Packages of the NPU's adapter, and `tf_adapter`, mean
    stand-ins on the CPU, and only where no package or module of that name can be imported.

    Raises:
      ImportError: a `mx_rec` that is not this plugin's has been imported already.

    >>> install()
    >>> from mx_rec.core.embedding import create_table
    >>> uninstall()
    """
    for root in names.OWN:
        if root in sys.modules and not isinstance(sys.modules[root], LayerModule):
            raise ImportError(
                "%s has been imported from %s; install the import layer before that"
                % (root, getattr(sys.modules[root], "__file__", "elsewhere")),
                name=root,
            )
    own, stand_ins = _FINDERS
    if own not in sys.meta_path:
        sys.meta_path.insert(0, own)
    if stand_ins not in sys.meta_path:
        sys.meta_path.append(stand_ins)


def uninstall():
    """Ends what `install` began; harmless when repeated. What was imported stays usable."""
    for finder in _FINDERS:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    for name, module in list(sys.modules.items()):
        if isinstance(module, LayerModule):
            del sys.modules[name]


def _is_known(module):
    return module in names.MODULES or _is_package(module)


def _is_package(module):
    return any(known.startswith(module + ".") for known in names.MODULES)


def _submodules(package):
    inside = package + "."
    found = {m[len(inside) :].partition(".")[0] for m in names.MODULES if m.startswith(inside)}
    return sorted(found)


def _resolve(module, name, target):
    place, _, attribute = target.partition(":")
    found = _find(place, attribute)
    if found is None:
        raise _unsupported(module, name)
    return found


def _exists(module, name):
    return _find(*names.MODULES[module][name].partition(":")[::2]) is not None


def _find(place, attribute):
    """The object at a place of this plugin, or None where there is no such place."""
    try:
        found = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if not (place + ".").startswith("%s." % error.name):
            raise  # The place is there, and something that it needs is not.
        return None
    return getattr(found, attribute, None) if attribute else found


def _unsupported(module, name):
    has = [n for n in names.MODULES.get(module, ()) if _exists(module, n)] + _submodules(module)
    return ImportError(
        "%s.%s is not supported by estimator_plugin %s; what it has of %s: %s"
        % (module, name, version.__version__, module, ", ".join(sorted(has)) or "nothing yet"),
        name="%s.%s" % (module, name),
    )
