"""VersionList: the versions of a directory that one saver lists, replaces and deletes."""

import os
import time

import tensorflow as tf

from . import retention, versions


class VersionList:
    """The versions that count for retention, oldest first, and the file `checkpoint` that says so.

    Args:
      policy: retention.Policy.
    """

    def __init__(self, policy):
        self._policy = policy
        self._managed = None  # Prefixes, once `read` has read the directory's list.
        self._last_preserved = time.time()

    @property
    def is_new(self):
        """Whether nothing was read yet."""
        return self._managed is None

    def read(self, directory, abandoned=()):
        """Takes in what other savers have listed since.

        Args:
          directory: str.
          abandoned: basenames of versions to leave alone.

        Returns:
          The prefixes of all versions that count, oldest first.
        """
        listed = versions.recorded(directory)
        if self._managed is None:
            self._managed = []
            self._last_preserved = retention.last_preserved(directory) or self._last_preserved
        unlisted = [p for p in self._managed if p not in listed and versions.exists(p)]
        self._managed = unlisted + [p for p in listed if os.path.basename(p) not in abandoned]
        if unlisted:  # Another saver has rewritten the list and does not know them.
            self._managed.sort(key=lambda p: versions.read_version(p).saved_at)
        return self._managed

    def replace(self, save, prefix):
        """Saves by `save(path)` where a version of that name is, which is whole until the new one
        is."""
        directory, name = os.path.split(prefix)
        # Named as TensorFlow names unfinished checkpoints: the next writer removes it.
        temporary = os.path.join(directory, "%s_temp" % name)
        tf.io.gfile.makedirs(temporary)
        try:
            save(os.path.join(temporary, name))
            self._managed = [p for p in self._managed if os.path.basename(p) != name]
            if self._managed:
                retention.record(directory, self._managed, self._last_preserved)
            retention.remove(prefix)
            retention.move(os.path.join(temporary, name), prefix)
        finally:
            tf.io.gfile.rmtree(temporary)

    def add(self, directory, prefix):
        """Records a new version as the latest, then deletes what is due."""
        own = os.path.join(directory, os.path.basename(prefix))
        self._managed = [p for p in self._managed if p != own] + [own]
        retention.record(directory, self._managed, self._last_preserved)
        present = {v.prefix: v for v in versions.list_versions(directory)}
        managed = [present.pop(p) for p in self._managed if p in present]
        decided = retention.plan(
            managed, list(present.values()), self._policy, self._last_preserved
        )
        for version in decided.delete:
            retention.remove(version.prefix)
        kept = [version.prefix for version in decided.managed]
        if kept != self._managed or decided.last_preserved != self._last_preserved:
            self._managed, self._last_preserved = kept, decided.last_preserved
            retention.record(directory, kept, self._last_preserved)
