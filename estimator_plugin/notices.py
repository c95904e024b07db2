"""Log lines that are worth saying once for a process, not once for every call."""

import threading

import tensorflow as tf

_lock = threading.Lock()
_said = set()


def _say_once(log, message):
    with _lock:
        if message in _said:
            return
        _said.add(message)
    log("%s", message)


def info_once(message):
    """Logs `message` at level INFO unless this process has done so."""
    _say_once(tf.compat.v1.logging.info, message)


def warn_once(message):
    """Logs `message` at level WARNING unless this process has done so."""
    _say_once(tf.compat.v1.logging.warning, message)


def no_meaning(owner, names):
    """Says once that the arguments `names` are accepted for compatibility and change nothing."""
    for name in sorted(names):
        info_once("%s: argument %s is accepted and has no effect" % (owner, name))
