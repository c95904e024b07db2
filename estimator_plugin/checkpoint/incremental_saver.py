"""IncrementalSaver: full checkpoints and deltas between them, through one `save`."""

import os

import tensorflow as tf

from .. import graph_state, notices, tf_compat
from ..ops import bundle_ops
from . import retention, saves, versions
from .bases import TableBases
from .saveable import TableSaveable
from .saver import StreamingSaver
from .streaming import StreamingSaverBuilder
from .version_list import VersionList

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
        policy = policy or retention.Policy(
            arguments["max_to_keep"], arguments["keep_checkpoint_every_n_hours"]
        )
        self._versions = VersionList(policy)
        deferred = arguments["var_list"] is None
        arguments.update(builder=StreamingSaverBuilder(delta=True), name=None)
        self._delta = StreamingSaver(defer_build=deferred, **arguments)
        self._beside = list(beside) + [full]
        self._max_chain_length = max_chain_length
        self._bases = _bases_of_graph()
        self._committed = None  # (prefix, stamp) of what was last made the tables' base.
        self._directory = None  # Of `lead`.
        self._full_prefix = None  # The newest full checkpoint that this object saved.
        self._released = False
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
        self._released = False
        save_path = self._place(save_path)
        directory = os.path.dirname(save_path) or "."
        prefix = "%s-%d" % (save_path, global_step)
        self._delta.own(directory)
        self._take_over(directory)
        delta = delta and self._can_save_delta(session, prefix)
        if delta:  # The graph is that of the full checkpoint; writing it can take longer.
            self._write(session, lambda path: self._delta.write(session, path), prefix)
        else:
            settings = {"write_state": False, "write_meta_graph": write_meta_graph}
            self._write(
                session,
                lambda path: self.full.save(session, _without_step(path), global_step, **settings),
                prefix,
            )
            self._full_prefix = prefix
        return prefix, delta

    def lead(self, directory):
        """Makes saves of the graph's other Savers into `directory` go through `save_by_another`,
        while the patches of `init` are installed."""
        self._directory = directory
        graph_state.of().incremental_saver = self

    def leads(self, saver, save_path):
        """Whether `saver`, saving to `save_path`, is one of those that `lead` speaks of."""
        if self._directory is None or saver is self._delta or saver in self._beside:
            return False
        return versions.same_directory(save_path, os.path.join(self._directory, "x"))

    def save_by_another(self, session, save, save_path, global_step):
        """Saves a full checkpoint with another's Saver, on this object's terms.

        Nothing is written where this object has saved that step in full, or where training has
        just restored it. Else the checkpoint is on the line of this training, is listed, kept and
        deleted as this object's own, and is the base of the next delta.

        Args:
          session: a session.
          save: function from a prefix without step to the prefix saved; it must neither list nor
            delete checkpoints.
          save_path: str, the prefix without the step.
          global_step: int.

        Returns:
          The prefix.

        Raises:
          As `save`.
        """
        ended = self._released
        prefix = "%s-%d" % (self._place(save_path), global_step)
        at_start = self._versions.is_new
        if prefix == self._full_prefix:
            return prefix
        if at_start and self.holds(session, save_path, global_step):
            return prefix
        directory = os.path.dirname(prefix) or "."
        try:
            self._delta.own(directory)
            self._take_over(directory)
            self._write(session, lambda path: save(_without_step(path)), prefix)
        finally:
            if ended:  # The hook that this belongs to will not release it again.
                self.release()
        return prefix

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
        self._released = True
        self._delta.release()
        if isinstance(self.full, StreamingSaver):
            self.full.release()

    def _write(self, session, save, prefix):
        """Saves by `save`, then makes the version a base, lists it and deletes what is due."""
        if versions.exists(prefix):
            self._versions.replace(save, prefix)
        else:
            save(prefix)
        if self._bases is not None:
            self._commit(session, prefix)
        directory = os.path.dirname(prefix) or "."
        self._versions.add(directory, prefix)
        saves.note(directory)

    def _take_over(self, directory):
        """Makes the list of versions complete, and this object the only one that deletes."""
        managed = self._versions.read(directory, getattr(self.full, "abandoned", ()))
        for saver in self._beside:
            # Savers never delete what is from the end of time.
            saver.set_last_checkpoints_with_time([(p, float("inf")) for p in managed])

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
        base = self._bases.read(session)
        recorded = versions.recorded(directory)
        found = base.prefix
        if not self._is_committed(base.prefix, recorded):
            # Another saver may have written the newest checkpoint, or written over the base.
            candidates = recorded[-1:] + [p for p in [base.prefix] if p and p not in recorded[-1:]]
            found = next((c for c in candidates if self._try_commit(session, c)), None)
            if found is None:
                return "no checkpoint on disk holds what the tables count their changes from"
            base = self._bases.read(session)
        if not base.can_save_delta:
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

    def _is_committed(self, base, recorded):
        """Whether `base` is the newest version and the very file that the tables were told of."""
        if recorded[-1:] != [base] or "://" in base:  # Remote files' stamps are not to be trusted.
            return False
        return self._committed == (base, versions.stamp_of(base))

    def _commit(self, session, prefix):
        stamp = versions.stamp_of(prefix)
        committed = self._bases.commit(session, prefix)
        if committed:
            self._committed = (prefix, stamp)
        return committed

    def _try_commit(self, session, prefix):
        try:
            return self._commit(session, prefix)
        except (tf.errors.OpError, FileNotFoundError) as error:
            tf.compat.v1.logging.info("%s is no base for a delta: %s", prefix, error)
            return False


def _without_step(prefix):
    return os.path.join(os.path.dirname(prefix), versions.line_of(prefix))


def _bases_of_graph():
    saveables = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS)
    partitions = [x.partition for x in saveables if isinstance(x, TableSaveable)]
    if partitions and not bundle_ops.has_bundle_ops():
        notices.warn_once("this TensorFlow cannot save deltas: all checkpoints are full ones")
        return None
    return TableBases(partitions) if partitions else None
