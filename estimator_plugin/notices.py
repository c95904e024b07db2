"""Log lines that are worth saying once for a process, not once for every call."""

import threading

import tensorflow as tf

from . import validate

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


def fusion(owner, use_fusion_optim):
    """Checks the optimizers' argument use_fusion_optim and says that it changes nothing."""
    validate.boolean(owner, "use_fusion_optim", use_fusion_optim)
    if use_fusion_optim:
        no_meaning("optimizers", ["use_fusion_optim"])
