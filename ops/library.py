"""The op library, loaded once for the process."""

import threading

import tensorflow as tf

from . import build

_lock = threading.Lock()
_loaded = []


def load():
    """The module of the library's raw ops, as `tf.load_op_library` makes it.

    The first call compiles the library if it was not built for the installed TensorFlow yet (see
    `estimator_plugin.ops.build`); later calls return the same module. Thread-safe.

    Raises:
      estimator_plugin.ops.build.BuildError: there is no library and it could not be compiled.
    """
    with _lock:
        if not _loaded:
            _loaded.append(tf.load_op_library(build.library_path()))
        return _loaded[0]
