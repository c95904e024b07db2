"""EvictHook: removes stale rows now and then while a model is trained."""

import time

import tensorflow as tf

from estimator_plugin import eviction, graph_state, lookup_registry, tracking, validate
from estimator_plugin.distribute import cluster

_NAME = "EvictHook"


class EvictHook(tf.compat.v1.train.SessionRunHook):
    """Evicts from every table that has an eviction threshold or an eviction policy.

    An eviction is due when more than `evict_time_interval` seconds have gone by since the last one
    or the start, or when the global step reaches a multiple of `evict_step_interval`. It runs
    between two steps of this session; those of other workers go on meanwhile. What is old is
    measured by the tables' own time, the timestamps or steps of the batches, not by the clock that
    says when an eviction is due.

    Args:
      evict_enable: bool, default False. False does nothing.
      evict_time_interval: int from 1, default 86400. Seconds.
      evict_step_interval: None or int from 1, default None. Steps.
      clock: function that returns seconds, default `time.time`.

    Raises:
      ValueError: an argument is of a wrong type or out of range.
      RuntimeError: at the start of an evaluation or prediction: there are no lookups that train.

    Give it as `hooks=` of `train` or a TrainSpec, or to a MonitoredTrainingSession. With several
    workers all may have it; the chief's (by TF_CONFIG) evicts.

    Example:
      estimator.train(input_fn, hooks=[EvictHook(evict_enable=True, evict_step_interval=10000)])

    Semantics: `mx_rec.core.feature_process.EvictHook` of the Rec SDK. Here it may stand anywhere
    among the hooks, and slots leave with their rows. Where an eviction and a save are due after the
    same step, hooks act in their order: what is saved lacks the rows that left if this one stands
    before the hook that saves.
    """

    def __init__(
        self,
        evict_enable=False,
        evict_time_interval=86400,
        evict_step_interval=None,
        clock=time.time,
    ):
        self._enabled = validate.boolean(_NAME, "evict_enable", evict_enable)
        self._seconds = validate.integer(
            _NAME, "evict_time_interval", evict_time_interval, 1, validate.INT32_MAX
        )
        self._steps = validate.integer(
            _NAME, "evict_step_interval", evict_step_interval, 1, validate.INT32_MAX, optional=True
        )
        if not callable(clock):
            validate.fail(_NAME, "clock", clock, "a function that returns seconds")
        self._clock = clock
        self._evictions = {}
        self._active = False

    def begin(self):
        self._active = self._enabled and cluster.is_chief()
        if not self._active:
            return
        if not any(lookup.is_train for lookup in graph_state.of().lookups):
            raise RuntimeError(
                "%s: it is for training only and this graph trains no table; give it to train, to "
                "a TrainSpec or to a training session, after its lookups are made" % _NAME
            )
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        self._evictions = _evictions()
        if not self._evictions:
            tf.compat.v1.logging.warning("%s: no table has an eviction threshold", _NAME)
        self._active = bool(self._evictions)

    def after_create_session(self, session, coord):
        if self._active:
            self._evicted_at = self._clock()
            self._step = int(session.run(self._global_step))

    def before_run(self, run_context):
        if not self._active or self._steps is None:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        if self._active and (self._steps_are_due(run_context, run_values) or self._time_is_due()):
            self._evict(run_context.session)

    def _time_is_due(self):
        return self._clock() - self._evicted_at > self._seconds

    def _steps_are_due(self, run_context, run_values):
        # What a step fetches may be from before its increment or from after it.
        if self._steps is None or not self._reaches_multiple(int(run_values.results) + 1):
            return False
        step = int(run_context.session.run(self._global_step))
        due = self._reaches_multiple(step)
        self._step = step
        return due

    def _reaches_multiple(self, step):
        return step // self._steps > self._step // self._steps

    def _evict(self, session):
        left = session.run(self._evictions)
        self._evicted_at = self._clock()
        tf.compat.v1.logging.info(
            "%s: rows that left: %s",
            _NAME,
            ", ".join("%s %d" % (name, rows) for name, rows in sorted(left.items())),
        )


def _evictions():
    """{table name: operation that evicts} of the tables that have something to evict by."""
    found = {}
    for table in lookup_registry.tables_of_graph():
        policies = eviction.policies_of(table, tracking.rules_of(table).thresholds)
        if policies:
            found[table.name] = eviction.evict(table, policies)
    return found
