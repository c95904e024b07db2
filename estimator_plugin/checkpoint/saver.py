"""`saver`: a Saver that streams tables, and a hook that gives it to any Estimator."""

import os
import weakref

import tensorflow as tf

from .. import tf_compat
from .streaming import StreamingSaverBuilder
from .writer_lock import WriterLock, remove_temporary


class StreamingSaver(tf.compat.v1.train.Saver):
    """See `saver`."""

    def __init__(self, **kwargs):
        kwargs.setdefault("builder", StreamingSaverBuilder())
        super().__init__(**kwargs)
        self._writer_locks = {}

    def save(self, sess, save_path, *args, **kwargs):
        """As `tf.compat.v1.train.Saver.save`.

        Raises:
          RuntimeError: another process writes checkpoints into the directory of `save_path`.
          tf.errors.OpError: the save failed, e.g. for want of space; the checkpoints that were
            there are as they were, and the half-written one is removed.
        """
        self.build()
        directory, basename = os.path.split(save_path)
        if kwargs.get("write_state", True):  # Else it is an export, not a model_dir.
            self._own(directory or ".")
        try:
            return super().save(sess, save_path, *args, **kwargs)
        except tf.errors.OpError:
            remove_temporary(directory or ".", basename)
            raise

    def restore(self, sess, save_path):
        """As `tf.compat.v1.train.Saver.restore`."""
        self.build()  # An export restores before it has finished the graph.
        super().restore(sess, save_path)

    def release(self):
        """Lets other processes write into the directories this saver has saved to."""
        for lock in self._writer_locks.values():
            lock.release()
        self._writer_locks.clear()

    def _own(self, directory):
        if directory in self._writer_locks or not tf.io.gfile.isdir(directory):
            return
        lock = WriterLock(directory)
        self._writer_locks[directory] = lock
        weakref.finalize(self, lock.release)


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
    return StreamingSaver(**kwargs)


class StreamingSaverHook(tf.compat.v1.train.SessionRunHook):
    """Makes the Saver of an Estimator or MonitoredTrainingSession stream, model_fn left alone.

    An Estimator puts a Saver that has not added its ops yet into the graph before hooks begin, a
    MonitoredTrainingSession makes its own after that; `begin` puts a streaming one with the same
    settings in its place. Where a Saver has added its ops already, as under NPUEstimator, nothing
    is changed and one line says so; such a Saver saves and restores tables too, only with more
    memory on restore. Not needed beside a Scaffold that has a `saver` of its own.

        estimator.train(input_fn, hooks=[ep.checkpoint.StreamingSaverHook()])
    """

    def __init__(self):
        self._saver = None

    def begin(self):
        savers = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.SAVERS)
        if not savers:  # What a session makes when it finds none, but streaming.
            savers.append(StreamingSaver(defer_build=True, sharded=True, allow_empty=True))
        for i, old in enumerate(savers):
            if isinstance(old, StreamingSaver):
                continue
            if tf_compat.is_built(old):
                tf.compat.v1.logging.info(
                    "StreamingSaverHook: the graph's Saver has added its ops already and is left "
                    "as it is; give the EstimatorSpec a Scaffold with ep.checkpoint.saver()"
                )
                continue
            savers[i] = StreamingSaver(defer_build=True, **tf_compat.saver_arguments(old))
        self._saver = next((x for x in savers if isinstance(x, StreamingSaver)), None)

    def end(self, session):
        # Hooks end in any order and the checkpoint hook may save after this; the lock is then
        # taken once more and freed with the saver.
        if self._saver is not None:
            self._saver.release()
