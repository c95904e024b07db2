"""`saver`: a Saver that streams tables, and a hook that gives it to any Estimator."""

import os
import weakref

import tensorflow as tf

from .. import graph_state, tf_compat
from . import lines, model_version, retention, versions
from .streaming import StreamingSaverBuilder
from .writer_lock import WriterLock, remove_temporary


class StreamingSaver(tf.compat.v1.train.Saver):
    """See `saver`.

    Attributes:
      restored: str, the prefix that was restored last, or None.
      line: str, the basename that saves into the directory of `restored` get, or None; see `lines`.
      abandoned: basenames of versions that training on from an old version leaves alone.
    """

    def __init__(self, **kwargs):
        kwargs.setdefault("builder", StreamingSaverBuilder())
        self.restored = None
        self.line = None
        self.abandoned = frozenset()
        self._companions = []
        self._writer_locks = {}
        super().__init__(**kwargs)

    def build(self):
        """As `tf.compat.v1.train.Saver.build`; savers of `build_with` are built too."""
        super().build()
        while self._companions:
            self._companions.pop().build()

    def build_with(self, other):
        """Builds `other` when this saver is built, or now if it is."""
        if tf_compat.is_built(self):
            other.build()
        else:
            self._companions.append(other)

    def save(self, sess, save_path, *args, **kwargs):
        """As `tf.compat.v1.train.Saver.save`. A run that restored an old version by
        `init(restore_model_version=...)` saves under another basename; see `lines`.

        Raises:
          RuntimeError: another process writes checkpoints into the directory of `save_path`.
          ValueError: that directory's name is a pattern to TensorFlow; see docs/checkpoints.md.
          tf.errors.OpError: the save failed, e.g. for want of space; the checkpoints that were
            there are as they were, and the half-written one is removed.
        """
        self.build()
        save_path = self.place(save_path)
        directory, basename = os.path.split(save_path)
        if kwargs.get("write_state", True):  # Else it is an export, not a model_dir.
            self.own(directory or ".")
        try:
            return super().save(sess, save_path, *args, **kwargs)
        except tf.errors.OpError:
            remove_temporary(directory or ".", basename)
            raise

    def write(self, sess, prefix):
        """Writes the checkpoint `prefix` and nothing else, neither the graph nor what is latest.

        Raises:
          tf.errors.OpError: as `save`.
        """
        self.build()
        try:
            sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
        except tf.errors.OpError:
            remove_temporary(os.path.dirname(prefix) or ".", os.path.basename(prefix))
            raise

    def restore(self, sess, save_path):
        """As `tf.compat.v1.train.Saver.restore`; `init(restore_model_version=...)` has its say.

        Raises:
          ValueError: there is no such checkpoint, or no such version.
          tf.errors.OpError: the checkpoint cannot be restored. Where that is the checkpoint's
            fault, the message names the newest version that can be.
        """
        self.build()  # An export restores before it has finished the graph.
        chosen = model_version.chosen(save_path)
        try:
            super().restore(sess, chosen)
        except tf.errors.InvalidArgumentError:  # The model is another, whatever the version.
            raise
        except tf.errors.OpError as error:
            message = error.message + model_version.offer(chosen)
            raise type(error)(error.node_def, error.op, message) from error
        except ValueError as error:
            raise ValueError(str(error) + model_version.offer(chosen)) from error
        self.restored = chosen
        self.line = lines.line_after(chosen, save_path)
        self.abandoned = lines.abandoned_by(chosen, save_path)

    def recover_last_checkpoints(self, checkpoint_paths):
        """As `tf.compat.v1.train.Saver.recover_last_checkpoints`, less those of `abandoned`."""
        super().recover_last_checkpoints(
            [p for p in checkpoint_paths if os.path.basename(p) not in self.abandoned]
        )

    def place(self, save_path):
        """`save_path`, on the line that this saver's training goes on with."""
        if self.restored is None or not versions.same_directory(self.restored, save_path):
            return save_path
        return lines.path_on(self.line, save_path)

    def release(self):
        """Lets other processes write into the directories this saver has saved to."""
        for lock in self._writer_locks.values():
            lock.release()
        self._writer_locks.clear()

    def own(self, directory):
        """Keeps other processes from writing into `directory`, until `release` or the saver's end.

        Raises:
          RuntimeError: another process writes checkpoints into it.
          ValueError: TensorFlow would not find what is saved there.
        """
        if directory in self._writer_locks or not tf.io.gfile.isdir(directory):
            return
        _check_findable(directory)
        lock = WriterLock(directory)
        self._writer_locks[directory] = lock
        weakref.finalize(self, lock.release)

    def _MaybeDeleteOldCheckpoints(self, *args, **kwargs):  # noqa: N802
        due = self._checkpoints_to_be_deleted
        needed = [p for p in due if retention.needed_by_others(self._CheckpointFilename(p))]
        due[:] = [p for p in due if p not in needed]
        while due:
            super()._MaybeDeleteOldCheckpoints(*args, **kwargs)
        due.extend(needed)


def _check_findable(directory):
    """TensorFlow looks for a checkpoint by a glob of its path: a [ in it matches something else."""
    if "://" in directory:
        return
    found = [os.path.realpath(p) for p in tf.io.gfile.glob(directory)]
    if os.path.realpath(directory) not in found:
        raise ValueError(
            "TensorFlow would not find checkpoints in %s again: it takes '[' and '\\' in a path "
            "for a pattern; choose a model_dir without them" % directory
        )


def saver(**kwargs):
    """A Saver whose checkpoints are a stock Saver's and whose tables are streamed.

    Saving and restoring a table take no memory to speak of beside the table. Two processes cannot
    write into one directory by mistake: the second one's first save raises RuntimeError.

    Args:
      **kwargs: the arguments of `tf.compat.v1.train.Saver`; `builder` is filled in.

    Returns:
      A tf.compat.v1.train.Saver. In an Estimator give it to the EstimatorSpec, in every mode:
      `scaffold=tf.compat.v1.train.Scaffold(saver=ep.checkpoint.saver(defer_build=True))`, with
      `max_to_keep=config.keep_checkpoint_max`; or leave model_fn alone and use
      `StreamingSaverHook` in training.

    >>> saver = ep.checkpoint.saver(max_to_keep=3)
    >>> saver.save(session, "/tmp/model/model.ckpt", global_step=10)
    '/tmp/model/model.ckpt-10'
    """
    made = StreamingSaver(**kwargs)
    if kwargs.get("var_list") is None:
        graph_state.of().savers.append(made)
    return made


def stream_savers():
    """Puts streaming savers in the place of the graph's deferred ones.

    Returns:
      The savers of all of the graph; the first is the session's. Where there was none there is a
      deferred one now, which the session will build unless its Scaffold has a saver of its own.
    """
    made = graph_state.of().savers
    savers = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.SAVERS)
    for i, old in enumerate(savers):
        if not isinstance(old, StreamingSaver) and not tf_compat.is_built(old):
            savers[i] = saver(defer_build=True, **tf_compat.saver_arguments(old))
    if not savers and not made:
        savers.append(
            saver(defer_build=True, sharded=True, allow_empty=True, save_relative_paths=True)
        )
    return savers + [s for s in made if s not in savers]


class StreamingSaverHook(tf.compat.v1.train.SessionRunHook):
    """Makes the Saver of an Estimator or MonitoredTrainingSession stream, model_fn left alone.

    An Estimator puts a Saver that has not added its ops yet into the graph before hooks begin, a
    MonitoredTrainingSession makes its own after that; `begin` puts a streaming one with the same
    settings in its place. Where a Saver has added its ops already, as under NPUEstimator, nothing
    is changed and one line says so; such a Saver saves and restores tables too, only with more
    memory on restore. Not needed beside a Scaffold that has a `saver` of its own.

    In training it makes `init(restore_model_version=...)` count where model_fn gives no saver.

        estimator.train(input_fn, hooks=[ep.checkpoint.StreamingSaverHook()])
    """

    def __init__(self):
        self._savers = []

    def begin(self):
        self._savers = []
        for each in stream_savers():
            if isinstance(each, StreamingSaver):
                self._savers.append(each)
            else:
                tf.compat.v1.logging.info(
                    "StreamingSaverHook: the graph's Saver has added its ops already and is left "
                    "as it is; give the EstimatorSpec a Scaffold with ep.checkpoint.saver()"
                )

    def end(self, session):
        # Hooks end in any order and the checkpoint hook may save after this; the lock is then
        # taken once more and freed with the saver.
        for each in self._savers:
            each.release()
