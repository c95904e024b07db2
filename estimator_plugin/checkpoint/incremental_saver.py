"""IncrementalSaver: full checkpoints and deltas between them, through one `save`."""

import os
import time

import tensorflow as tf

from .. import notices, tf_compat
from ..ops import table_ops
from . import retention, versions
from .bases import TableBases
from .saveable import TableSaveable
from .saver import StreamingSaver
from .streaming import StreamingSaverBuilder

MAX_CHAIN_LENGTH = 64


class IncrementalSaver:
    """Saves what a Saver saves, as full checkpoints or as deltas, and keeps chains whole.

    Make it while the graph is open. `save` writes a delta only where one can be restored later:
    all tables count their changes from one checkpoint of the directory that is whole on disk, and
    its chain is not at its limit. Else it writes a full checkpoint and logs why.

    Checkpoints that other savers write into the directory serve as bases too. Deleting is this
    object's business from its first save on, by the limits of `full`; the savers in `beside` are
    told to delete nothing.

    Args:
      full: the tf.compat.v1.train.Saver to save full checkpoints with; it may be deferred.
      max_chain_length: int from 1, default 64. Versions that a restore may have to read.
      policy: retention.Policy; None takes the limits of `full`.
      beside: other Savers that write into the same directory.

    >>> saver = IncrementalSaver(ep.checkpoint.saver(max_to_keep=10))
    >>> saver.save(session, "/tmp/model/model.ckpt", 10, delta=False)
    '/tmp/model/model.ckpt-10'
    >>> saver.save(session, "/tmp/model/model.ckpt", 20, delta=True)
    '/tmp/model/model.ckpt-20'
    """

    def __init__(self, full, max_chain_length=MAX_CHAIN_LENGTH, policy=None, beside=()):
        self.full = full
        arguments = tf_compat.saver_arguments(full)
        self._policy = policy or retention.Policy(
            arguments["max_to_keep"], arguments["keep_checkpoint_every_n_hours"]
        )
        deferred = arguments["var_list"] is None
        arguments.update(builder=StreamingSaverBuilder(delta=True), name=None)
        self._delta = StreamingSaver(defer_build=deferred, **arguments)
        self._beside = list(beside) + [full]
        self._max_chain_length = max_chain_length
        self._bases = _bases_of_graph()
        self._managed = None  # Prefixes, once the first save has read the directory's list.
        self._last_preserved = time.time()
        if isinstance(full, StreamingSaver):
            full.build_with(self._delta)
        elif tf_compat.is_built(full):
            self._delta.build()
        else:
            raise ValueError(
                "IncrementalSaver: the Saver adds its ops later and cannot have a saver of deltas "
                "beside it; use ep.checkpoint.saver(defer_build=True)"
            )

    @property
    def saver_def(self):
        return self.full.saver_def

    def save(self, session, save_path, global_step, delta=False, write_meta_graph=True):
        """Saves a checkpoint; it is the base of the next delta if nothing else saves meanwhile.

        Args:
          session: a session.
          save_path: str, the prefix without the step.
          global_step: int.
          delta: bool. True asks for a delta, and gets one where it is possible.
          write_meta_graph: bool, default True. As in `tf.compat.v1.train.Saver.save`, for full
            checkpoints; a delta has no `.meta` file.

        Returns:
          (prefix, whether it is a delta).

        Raises:
          RuntimeError: another process writes checkpoints into the directory.
          tf.errors.OpError: the save failed. Checkpoints on disk are as they were, and the next
            save holds what this one was to hold.
        """
        save_path = self._place(save_path)
        directory = os.path.dirname(save_path) or "."
        prefix = "%s-%d" % (save_path, global_step)
        self._delta.own(directory)
        self._take_over(directory)
        delta = delta and self._can_save_delta(session, prefix)
        saver = self._delta if delta else self.full
        # The graph is that of the full checkpoint; writing it can take longer than a delta.
        settings = {"write_state": False, "write_meta_graph": write_meta_graph and not delta}
        if versions.exists(prefix):
            self._replace(lambda path: saver.save(session, path, global_step, **settings), prefix)
        else:
            saver.save(session, save_path, global_step, **settings)
        if self._bases is not None:
            self._bases.commit(session, prefix)
        self._enlist(directory, prefix)
        return prefix, delta

    def holds(self, session, save_path, global_step):
        """Whether the checkpoint that a save would write is on disk, restored and unchanged."""
        prefix = "%s-%d" % (self._place(save_path), global_step)
        restored = getattr(self.full, "restored", None)
        if restored is None and self._bases is not None:
            restored = self._bases.read(session).prefix
        if not restored or not versions.exists(prefix):
            return False
        same = versions.same_directory(prefix, restored)
        if not same or os.path.basename(prefix) != os.path.basename(restored):
            return False
        return self._bases is None or self._try_commit(session, prefix)

    def release(self):
        """Lets other processes write into the directory."""
        self._delta.release()
        if isinstance(self.full, StreamingSaver):
            self.full.release()

    def _place(self, save_path):
        return self.full.place(save_path) if isinstance(self.full, StreamingSaver) else save_path

    def _can_save_delta(self, session, prefix):
        reason = self._why_not_delta(session, prefix)
        if reason:
            tf.compat.v1.logging.info("Saving %s in full: %s", prefix, reason)
        return not reason

    def _why_not_delta(self, session, prefix):
        """Why the save that is due must be a full one; "" if it need not."""
        if self._bases is None:
            return "there are no tables that deltas can be saved of"
        directory = os.path.dirname(prefix) or "."
        base = self._bases.read(session).prefix
        # Another saver may have written the newest checkpoint, or written over the base.
        recorded = versions.recorded(directory)
        candidates = recorded[-1:] + ([base] if base and base not in recorded[-1:] else [])
        found = next((c for c in candidates if self._try_commit(session, c)), None)
        if found is None:
            return "no checkpoint on disk holds what the tables count their changes from"
        if not self._bases.read(session).can_save_delta:
            return "more keys were removed since %s than a delta should list" % found
        if not versions.same_directory(found, prefix):
            return "%s lies in another directory" % found
        try:
            chain = versions.chain_of(os.path.join(directory, os.path.basename(found)))
        except (FileNotFoundError, versions.BrokenChainError) as error:
            return str(error)
        if len(chain) >= self._max_chain_length:
            return "a chain of %d versions is the limit" % self._max_chain_length
        if any(os.path.basename(link.prefix) == os.path.basename(prefix) for link in chain):
            return "the delta would have to be relative to what it replaces"
        return ""

    def _try_commit(self, session, prefix):
        try:
            return self._bases.commit(session, prefix)
        except tf.errors.OpError as error:
            tf.compat.v1.logging.info("%s is no base for a delta: %s", prefix, error)
            return False

    def _take_over(self, directory):
        """Makes the list of versions complete, and this object the only one that deletes."""
        listed = versions.recorded(directory)
        abandoned = getattr(self.full, "abandoned", ())
        if self._managed is None:
            self._managed = []
            self._last_preserved = retention.last_preserved(directory) or self._last_preserved
        unlisted = [p for p in self._managed if p not in listed and versions.exists(p)]
        self._managed = unlisted + [p for p in listed if os.path.basename(p) not in abandoned]
        if unlisted:  # Another saver has rewritten the list and does not know them.
            self._managed.sort(key=lambda p: versions.read_version(p).saved_at)
        for saver in self._beside:
            # Savers never delete what is from the end of time.
            saver.set_last_checkpoints_with_time([(p, float("inf")) for p in self._managed])

    def _replace(self, save, prefix):
        """Saves where a version of that name is, which is whole until the new one is."""
        directory, name = os.path.split(prefix)
        # Named as TensorFlow names unfinished checkpoints: the next writer removes it.
        temporary = os.path.join(directory, "%s_temp" % name)
        tf.io.gfile.makedirs(temporary)
        try:
            save(os.path.join(temporary, versions.line_of(prefix)))
            self._managed = [p for p in self._managed if os.path.basename(p) != name]
            if self._managed:
                retention.record(directory, self._managed, self._last_preserved)
            retention.remove(prefix)
            retention.move(os.path.join(temporary, name), prefix)
        finally:
            tf.io.gfile.rmtree(temporary)

    def _enlist(self, directory, prefix):
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


def _bases_of_graph():
    saveables = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS)
    partitions = [x.partition for x in saveables if isinstance(x, TableSaveable)]
    if partitions and not table_ops.has_bundle_ops():
        notices.warn_once("this TensorFlow cannot save deltas: all checkpoints are full ones")
        return None
    return TableBases(partitions) if partitions else None
