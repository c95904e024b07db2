"""Everything of TensorFlow's that the plugin replaces: installed by `init`, undone by
`terminate_config_initializer`. Nothing else in the plugin assigns to a module of another project.

An Estimator hands the four fields of its WarmStartSettings to TensorFlow's `warm_start`, which
knows neither tables nor lists of paths, so that function is replaced. The Estimator's constructor
also checks its settings with ours, so that lists of unequal length fail there, and an export before
the first checkpoint says what is missing. `WarmStartHook` needs neither.

A Rec SDK program in a plain session runs `tf.compat.v1.global_variables_initializer()` and no more,
so that function is replaced by one that makes tables ready, too. Scaffolds, which make them ready
by themselves, use another name of it.

NPUEstimator saves with a Saver that nothing outside of it can name, so `Saver.save` is replaced,
too: it saves on the line of training that was restored and, where an IncrementalSaveHook saves into
the same directory, as one of that hook's versions.

`Estimator.train(max_steps=)` reads the step of the newest version before anything is restored, and
does nothing where that is reached, so it is told the step of the version that
`init(restore_model_version=)` names; and `evaluate`, `predict` and `export_saved_model` look for
the newest version themselves, so they are given that one.
"""

import functools
import numbers
import os
import sys
import threading

import tensorflow as tf

from . import graph_state, tf_compat
from .checkpoint import model_version, saves
from .table_initialization import tables_initializer
from .warm_start import settings, warm_start

_INITIALIZERS = (
    (tf, "global_variables_initializer"),  # TensorFlow 1.15.
    (tf.compat.v1, "global_variables_initializer"),
    (tf.compat.v1.initializers, "global_variables"),
)
_lock = threading.Lock()
_replaced = []  # (module, name, original), in order.


def install():
    """Replaces what the module's text says; harmless when repeated."""
    with _lock:
        if _replaced:
            return
        _replace(tf_compat.warm_starting_util, "warm_start", warm_start)
        _replace(tf.compat.v1.train, "warm_start", warm_start)
        saver = tf.compat.v1.train.Saver
        _replace(saver, "save", _shared(saver.save))
        for module, name in _INITIALIZERS:
            if hasattr(module, name):
                _replace(module, name, _with_tables(getattr(module, name)))
        if hasattr(tf, "estimator"):  # TensorFlow has none from 2.16 on.
            estimator = sys.modules[tf.estimator.Estimator.__module__]
            name = "_get_default_warm_start_settings"
            _replace(estimator, name, _checked(getattr(estimator, name)))
            name = "_load_global_step_from_checkpoint_dir"
            _replace(estimator, name, _of_chosen_version(getattr(estimator, name)))
            name = "checkpoint_management"
            _replace(estimator, name, _Choosing(getattr(estimator, name)))


def uninstall():
    """Puts the originals back; harmless when nothing is replaced."""
    with _lock:
        while _replaced:
            module, name, original = _replaced.pop()
            setattr(module, name, original)


def _replace(module, name, replacement):
    _replaced.append((module, name, getattr(module, name)))
    setattr(module, name, replacement)


def _with_tables(original):
    """`original`, a function that makes the initializer of all variables, tables added."""

    @functools.wraps(original)
    def global_variables_initializer():
        if not graph_state.of().tables:
            return original()
        return tf.group(original(), tables_initializer(), name="init")

    return global_variables_initializer


def _shared(original):
    """`original`, a Saver's `save`, in agreement with the plugin's savers of the graph."""

    @functools.wraps(original)
    def save(self, sess, save_path, global_step=None, *args, **kwargs):
        is_version = isinstance(save_path, str) and isinstance(global_step, numbers.Integral)
        if args or not is_version or not kwargs.get("write_state", True):
            return original(self, sess, save_path, global_step, *args, **kwargs)
        saves.note(os.path.dirname(save_path) or ".")
        state = graph_state.of(sess.graph)
        leader = state.incremental_saver
        if leader is not None and leader.leads(self, save_path):
            settings = dict(kwargs, write_state=False)
            return leader.save_by_another(
                sess,
                lambda path: original(self, sess, path, global_step, **settings),
                save_path,
                global_step,
            )
        for saver in state.savers:
            save_path = saver.place(save_path)
        return original(self, sess, save_path, global_step, **kwargs)

    return save


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


class _Choosing:
    """`checkpoint_management` as an Estimator sees it, when it looks for what to evaluate, predict
    from or export: the latest checkpoint is the one that `restore_model_version` says."""

    def __init__(self, original):
        self._original = original

    def __getattr__(self, name):
        return getattr(self._original, name)

    def latest_checkpoint(self, *args, **kwargs):
        newest = self._original.latest_checkpoint(*args, **kwargs)
        return newest and model_version.chosen(newest)


def _of_chosen_version(original):
    """`original`, an Estimator's reading of the step that training starts from."""

    @functools.wraps(original)
    def step_of(checkpoint_dir):
        newest = tf.train.latest_checkpoint(checkpoint_dir)
        chosen = newest and model_version.chosen(newest)
        if chosen == newest:
            return original(checkpoint_dir)
        reader = tf.train.load_checkpoint(chosen)
        return reader.get_tensor(tf.compat.v1.GraphKeys.GLOBAL_STEP)

    return step_of
