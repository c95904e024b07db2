"""Everything of TensorFlow's that the plugin replaces: installed by `init`, undone by
`terminate_config_initializer`. Nothing else in the plugin assigns to a module of another project.

An Estimator hands the four fields of its WarmStartSettings to TensorFlow's `warm_start`, which
knows neither tables nor lists of paths, so that function is replaced. The Estimator's constructor
also checks its settings with ours, so that lists of unequal length fail there, and an export before
the first checkpoint says what is missing. `WarmStartHook` needs neither.
"""

import sys
import threading

import tensorflow as tf

from . import tf_compat
from .warm_start import settings, warm_start

_lock = threading.Lock()
_replaced = []  # (module, name, original), in order.


def install():
    """Replaces what the module's text says; harmless when repeated."""
    with _lock:
        if _replaced:
            return
        _replace(tf_compat.warm_starting_util, "warm_start", warm_start)
        _replace(tf.compat.v1.train, "warm_start", warm_start)
        if hasattr(tf, "estimator"):  # TensorFlow has none from 2.16 on.
            estimator = sys.modules[tf.estimator.Estimator.__module__]
            name = "_get_default_warm_start_settings"
            _replace(estimator, name, _checked(getattr(estimator, name)))


def uninstall():
    """Puts the originals back; harmless when nothing is replaced."""
    with _lock:
        while _replaced:
            module, name, original = _replaced.pop()
            setattr(module, name, original)


def _replace(module, name, replacement):
    _replaced.append((module, name, getattr(module, name)))
    setattr(module, name, replacement)


def _checked(original):
    """`original`, an Estimator's reading of its argument `warm_start_from`, with our checks."""

    def settings_of(warm_start_from):
        found = original(warm_start_from)
        if found is None:
            return None
        paths = found.ckpt_to_initialize_from
        settings.sources_of(*found)
        if isinstance(paths, (list, tuple)):
            return found._replace(ckpt_to_initialize_from=settings.PathList(paths))
        return found

    return settings_of
