"""When to save, and what: two timers, one for full checkpoints and one for deltas."""

import tensorflow as tf


class SaveSchedule:
    """Has the methods that `tf.compat.v1.train.CheckpointSaverHook` calls on its timer.

    Where both are due the save is a full one, and both timers start anew.

    Args:
      full: tf.compat.v1.train.SecondOrStepTimer of full checkpoints.
      delta: tf.compat.v1.train.SecondOrStepTimer of deltas.

    Attributes:
      wants_delta: bool, what the save that is due should be.
    """

    def __init__(self, full, delta):
        self._full = full
        self._delta = delta
        self.wants_delta = False

    def reset(self):
        """Forgets what was triggered."""
        self._full.reset()
        self._delta.reset()
        self.wants_delta = False

    def should_trigger_for_step(self, step):
        """Whether a save of either kind is due."""
        return self._full.should_trigger_for_step(step) or self._delta.should_trigger_for_step(step)

    def update_last_triggered_step(self, step):
        """Decides the kind of the save that is due, which is made now."""
        self.wants_delta = not self._full.should_trigger_for_step(step)
        self._delta.update_last_triggered_step(step)
        if not self.wants_delta:
            self._full.update_last_triggered_step(step)

    def saved_in_full(self, step):
        """The save became a full one after all."""
        self.wants_delta = False
        self._full.update_last_triggered_step(step)
        self._delta.update_last_triggered_step(step)

    def last_triggered_step(self):
        """The step of the last full checkpoint: at the end of training there is another, unless
        that was the last step."""
        return self._full.last_triggered_step()


def timer(owner, kind, secs, steps):
    """A SecondOrStepTimer.

    Raises:
      ValueError: not exactly one of secs and steps is given, or it is not above 0.
    """
    if (secs is None) == (steps is None):
        raise ValueError(
            "%s: give one of save_%s_secs and save_%s_steps, got %r and %r"
            % (owner, kind, kind, secs, steps)
        )
    name, value = ("secs", secs) if steps is None else ("steps", steps)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError("%s: save_%s_%s must be above 0, got %r" % (owner, kind, name, value))
    if name == "steps" and not isinstance(value, int):
        raise ValueError("%s: save_%s_steps must be an int, got %r" % (owner, kind, value))
    return tf.compat.v1.train.SecondOrStepTimer(every_secs=secs, every_steps=steps)
