"""One writer per checkpoint directory: two training processes on one model_dir would overwrite each
other's files and leave checkpoints that mix both.
"""

import fcntl
import os
import re
import shutil
import socket
import threading
import time

from .. import notices

LOCK_NAME = ".estimator_plugin.lock"

_START = time.time()
_lock = threading.Lock()
_held = {}  # Directory -> (file descriptor, number of WriterLocks of this process).


class WriterLock:
    """The right of this process to write checkpoints into `directory`.

    Any number of savers of one process share it. The system frees it when the process ends, however
    it ends. Directories of remote file systems (`scheme://...`) are not locked.

    Raises:
      RuntimeError: another process holds it; the message names that process.
    """

    def __init__(self, directory):
        self._directory = None if "://" in directory else os.path.realpath(directory)
        if self._directory is not None:
            self._acquire()

    def _acquire(self):
        with _lock:
            if self._directory in _held:
                descriptor, holders = _held[self._directory]
                _held[self._directory] = (descriptor, holders + 1)
                return
            _held[self._directory] = (_locked_file(self._directory), 1)
            remove_temporary(self._directory, before=_START)  # Of writers that were killed.

    def release(self):
        """Gives the right back; harmless when repeated."""
        with _lock:
            if self._directory not in _held:
                return
            descriptor, holders = _held.pop(self._directory)
            if holders > 1:
                _held[self._directory] = (descriptor, holders - 1)
            elif descriptor is not None:
                os.close(descriptor)
            self._directory = None


def _locked_file(directory):
    """The descriptor that holds the lock, or None where it cannot be had though nobody has it."""
    descriptor = None
    try:
        path = os.path.join(directory, LOCK_NAME)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"pid %d on %s\n" % (os.getpid(), socket.gethostname().encode()))
        return descriptor
    except BlockingIOError:
        holder = os.read(descriptor, 200).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise RuntimeError(
            "another process (%s) writes checkpoints into %s; end it or choose another model_dir"
            % (holder or "unknown", directory)
        ) from None
    except OSError as error:  # No locks here, no space, no right to write: the save will tell.
        if descriptor is not None:
            os.close(descriptor)
        notices.warn_once(
            "%s cannot be locked (%s): take care that only one process writes checkpoints into it"
            % (directory, error)
        )
        return None


def _forget_in_child():
    """A forked process has no right of its parent's: it must ask for its own."""
    for descriptor, _ in _held.values():
        if descriptor is not None:
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def remove_temporary(directory, basename=None, before=None):
    """Removes directories of half-written checkpoints, `<checkpoint>_temp`, from `directory`.

    Args:
      directory: where; remote file systems are left alone.
      basename: only those of checkpoints called `basename` or `basename-<step>`; None is all that
        have a step.
      before: only those last changed before this time, in seconds since the epoch.
    """
    if "://" in directory or not os.path.isdir(directory):
        return
    stem = r".+-\d+" if basename is None else r"%s(-\d+)?" % re.escape(basename)
    for entry in os.listdir(directory):
        path = os.path.join(directory, entry)
        if not re.match(stem + r"_temp$", entry) or not os.path.isdir(path):
            continue
        if before is None or os.path.getmtime(path) < before:
            shutil.rmtree(path, ignore_errors=True)
