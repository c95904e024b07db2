"""IncrementalSaveHook: a full checkpoint now and then, a small delta often."""

import os

import tensorflow as tf

from estimator_plugin import config, graph_state, tf_compat
from estimator_plugin.checkpoint import incremental_saver, model_version, retention
from estimator_plugin.checkpoint.saver import StreamingSaver, stream_savers
from estimator_plugin.distribute import cluster

from . import save_schedule

_NAME = "IncrementalSaveHook"


class IncrementalSaveHook(tf.compat.v1.train.CheckpointSaverHook):
    """Saves full checkpoints and, in between, deltas: only the rows that changed.

    A delta `model.ckpt-<step>` is a TensorFlow checkpoint like any other. `latest_checkpoint`,
    resuming, evaluation, prediction, export and warm start take it as it is; restoring it reads its
    chain back to the last full checkpoint. Everything but tables is whole in it. The `.meta` file
    is written with full checkpoints only.

    There is a full checkpoint at the start (unless the one training resumed from serves), at the
    end, when both kinds are due, and whenever a delta cannot be had: after `max_chain_length`
    versions, or when the last checkpoint was deleted. A full checkpoint that another saver writes
    into the directory is the base of the next delta, too.

    It is a CheckpointSaverHook: a tf.estimator.Estimator that has it adds no saver hook of its own,
    and gives it the saving_listeners and summaries. `RunConfig.save_checkpoints_secs` and `_steps`
    have no effect then. NPUEstimator's own saver hook saves beside this one, full checkpoints at
    the steps that NPURunConfig says; after `init()` they are versions like this hook's own.

    Deleting old versions becomes this hook's business: the newest `keep_checkpoint_max` versions
    can be restored, one for each `keep_checkpoint_every_n_hours` is kept for good, and nothing that
    a version on disk needs is deleted.

    Args:
      checkpoint_dir: str, or an object with a `model_dir`, such as an Estimator or a RunConfig;
        None takes the model_dir of the plugin's own model_fn (`ep.model_fns`).
      save_full_secs, save_full_steps: number above 0. Seconds or steps between full checkpoints;
        at most one. Default: `init(save_checkpoint_due_time=)`, in seconds.
      save_delta_secs, save_delta_steps: as above, between deltas. Default:
        `init(save_delta_checkpoints_secs=)`.
      max_chain_length: int from 1, default 64. Versions that one restore may have to read.
      keep_checkpoint_max: int from 0; 0 keeps all. Default: the Saver's, which is RunConfig's.
      keep_checkpoint_every_n_hours: number above 0. Default: that of the Saver.
      saver, scaffold, listeners, checkpoint_basename, save_graph_def: as in
        `tf.compat.v1.train.CheckpointSaverHook`. Without `saver` and `scaffold` the graph's Saver
        is taken, and made to stream tables if it has not added its ops yet.

    Raises:
      ValueError: an argument is out of range or of a wrong type, both of a pair are given, or
        neither and `init` did not say. At the start of training: checkpoint_dir is None and the
        model does not say either, or the version of `init(restore_model_version=)` is not there.

    Give it as `hooks=`; with several workers only the chief (by TF_CONFIG) saves. In a
    MonitoredTrainingSession it belongs into `chief_only_hooks`.

    Example:
      hook = IncrementalSaveHook(estimator, save_full_secs=3600, save_delta_secs=60)
      estimator.train(input_fn, hooks=[hook])

    Semantics: incremental checkpoints of the Rec SDK (`is_incremental_checkpoint`).
    """

    def __init__(
        self,
        checkpoint_dir=None,
        save_full_secs=None,
        save_full_steps=None,
        save_delta_secs=None,
        save_delta_steps=None,
        max_chain_length=incremental_saver.MAX_CHAIN_LENGTH,
        keep_checkpoint_max=None,
        keep_checkpoint_every_n_hours=None,
        saver=None,
        scaffold=None,
        listeners=None,
        checkpoint_basename="model.ckpt",
        **kwargs,
    ):
        _check_count("max_chain_length", max_chain_length, 1)
        if keep_checkpoint_max is not None:
            _check_count("keep_checkpoint_max", keep_checkpoint_max, 0)
        settings = config.get_config()
        if save_full_secs is None and save_full_steps is None:
            save_full_secs = settings.save_checkpoint_due_time
        if save_delta_secs is None and save_delta_steps is None:
            save_delta_secs = settings.save_delta_checkpoints_secs
        schedule = save_schedule.SaveSchedule(
            save_schedule.timer(_NAME, "full", save_full_secs, save_full_steps),
            save_schedule.timer(_NAME, "delta", save_delta_secs, save_delta_steps),
        )
        super().__init__(
            "",
            save_steps=1,
            saver=saver,
            scaffold=scaffold,
            listeners=listeners,
            checkpoint_basename=checkpoint_basename,
            **kwargs,
        )
        self._timer = schedule
        self._directory = getattr(checkpoint_dir, "model_dir", checkpoint_dir)
        self._basename = checkpoint_basename
        self._limits = (keep_checkpoint_max, keep_checkpoint_every_n_hours)
        self._max_chain_length = max_chain_length
        self._gives_way = False
        self._active = False
        self._at_start = True

    def begin(self):
        self._active = cluster.is_chief()
        if not self._active:
            return
        directory = self._directory or graph_state.of().model_dir
        if not directory or not isinstance(directory, (str, os.PathLike)):
            raise ValueError(
                "%s: checkpoint_dir is needed, the Estimator or its model_dir, got %r"
                % (_NAME, self._directory)
            )
        self._checkpoint_dir = os.fspath(directory)
        self._save_path = os.path.join(self._checkpoint_dir, self._basename)
        _check_version(self._checkpoint_dir)
        self._incremental = self._make_saver()
        if not self._gives_way:
            graph_state.of().has_save_hook = True
        if not self._gives_way or not graph_state.of().has_save_hook:
            self._incremental.lead(self._checkpoint_dir)
        super().begin()

    def after_create_session(self, session, coord):
        if self._gives_way and graph_state.of(session.graph).has_save_hook:
            self._active = False
        if self._active:
            if not tf_compat.is_built(self._incremental.full):
                raise RuntimeError(
                    "%s: the Scaffold has a Saver that the hook does not know; give the hook "
                    "scaffold=, or the Scaffold a saver made by ep.checkpoint.saver()" % _NAME
                )
            self._at_start = True  # Also where a session is lost and made anew.
            self._timer.reset()
            super().after_create_session(session, coord)
            self._at_start = False

    def before_run(self, run_context):
        return super().before_run(run_context) if self._active else None

    def after_run(self, run_context, run_values):
        if self._active:
            super().after_run(run_context, run_values)

    def end(self, session):
        if self._active:
            self._timer.wants_delta = False
            super().end(session)
            self._incremental.release()

    def _make_saver(self):
        full, beside = self._savers()
        arguments = tf_compat.saver_arguments(full)
        keep_max, keep_hours = self._limits
        if keep_max is None:
            keep_max = arguments["max_to_keep"]
        if keep_hours is None:
            keep_hours = arguments["keep_checkpoint_every_n_hours"]
        return incremental_saver.IncrementalSaver(
            full,
            max_chain_length=self._max_chain_length,
            policy=retention.Policy(keep_max, keep_hours),
            beside=beside,
        )

    def _savers(self):
        """The Saver to save with, and the graph's other ones."""
        known = stream_savers()
        given = self._saver
        if given is None and self._scaffold is not None:
            given = self._scaffold.saver
        full = given if given is not None else known[0]
        return full, [s for s in known if s is not full]

    def _get_saver(self):
        return _OneSave(self)

    def _save_now(self, session, save_path, global_step, **kwargs):
        incremental = self._incremental
        if self._at_start and incremental.holds(session, save_path, global_step):
            tf.compat.v1.logging.info(
                "%s: training resumes from step %d, which is saved", _NAME, global_step
            )
            return incremental.full.restored if isinstance(incremental.full, StreamingSaver) else ""
        wanted = self._timer.wants_delta
        prefix, is_delta = incremental.save(session, save_path, global_step, wanted, **kwargs)
        if not is_delta:
            self._timer.saved_in_full(global_step)
        return prefix


class _OneSave:
    """What CheckpointSaverHook takes for a Saver."""

    def __init__(self, hook):
        self._hook = hook
        self.saver_def = hook._incremental.saver_def

    def save(self, session, save_path, global_step, **kwargs):
        return self._hook._save_now(session, save_path, global_step, **kwargs)


def default_hook(model_dir, scaffold):
    """The hook of a model_fn whose job says `init(is_incremental_checkpoint=True)`.

    It saves unless the graph has another IncrementalSaveHook, from `hooks=`.
    """
    hook = IncrementalSaveHook(model_dir, scaffold=scaffold)
    hook._gives_way = True
    return hook


def _check_count(name, value, low):
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError("%s: %s must be an int of at least %d, got %r" % (_NAME, name, low, value))


def _check_version(directory):
    """Says early that the version to restore is not there: an empty directory restores nothing."""
    step = config.get_config().restore_model_version
    if step is not None:
        if not tf.io.gfile.isdir(directory):
            raise ValueError("restore_model_version: %s is no directory" % directory)
        model_version.find(directory, step)
