"""`init(restore_model_version=N)`: which version is restored in place of the newest."""

import os

import tensorflow as tf

from .. import config
from . import versions

_first_requests = {}  # Directory -> (Config, what was the newest version at the first restore).


def chosen(requested):
    """The prefix to restore where a Saver was told to restore `requested`.

    That is `requested` itself, unless `restore_model_version` is set and `requested` is the newest
    version of its directory, as it was when this process first restored from there: what is saved
    later, by this process or another, is restored as usual.

    Raises:
      ValueError: the directory has no such version; the message lists those it has.
    """
    settings = config.get_config()
    step = settings.restore_model_version
    directory = os.path.dirname(requested) or "."
    recorded = versions.recorded(directory)
    if step is None or not recorded or not _is_same(requested, recorded[-1]):
        return requested
    identity = (recorded[-1], versions.stamp_of(recorded[-1]))
    known, first = _first_requests.get(directory, (None, None))
    if known is not settings:
        first = identity
        _first_requests[directory] = (settings, first)
    return find(directory, step) if identity == first else requested


def find(directory, step):
    """The prefix of the version of `step`; of several, the one of the newest line.

    Raises:
      ValueError: there is none; the message lists those there are.
    """
    present = [v for v in versions.list_versions(directory) if v.step >= 0]
    matching = [v.prefix for v in present if v.step == step]
    if not matching:
        raise ValueError(
            "restore_model_version: %s has no version %d; it has %s"
            % (directory, step, ", ".join(str(s) for s in sorted({v.step for v in present})))
            if present
            else "restore_model_version: %s has no version %d, nor any other" % (directory, step)
        )
    listed = [prefix for prefix in versions.recorded(directory) if prefix in matching]
    return (listed or matching)[-1]


def offer(failed):
    """What to say after an error that `failed` could not be restored: the newest version that can
    be, or "" where `failed` is whole, so that the fault lies elsewhere."""
    directory = os.path.dirname(failed) or "."
    if not tf.io.gfile.isdir(directory) or versions.is_whole(failed):
        return ""
    tf.compat.v1.logging.info("Looking for the newest version in %s that is whole", directory)
    newest = versions.newest_restorable(directory, excluding=[failed])
    if newest is None:
        return "; %s has no other version that can be restored" % directory
    return "; the newest version that can be restored is %s, step %d" % (
        newest.prefix,
        newest.step,
    )


def _is_same(prefix, other):
    return os.path.basename(prefix) == os.path.basename(other) and versions.same_directory(
        prefix, other
    )
