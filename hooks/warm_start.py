"""WarmStartHook: starts a model from pieces of old checkpoints, with no patch of TensorFlow."""

import tensorflow as tf

from estimator_plugin.warm_start import settings, warm_start


class WarmStartHook(tf.compat.v1.train.SessionRunHook):
    """Warm-starts variables and tables when a session starts without a checkpoint.

    Does what an Estimator's `warm_start_from` does after `ep.init()`; see
    `ep.warm_start.warm_start` for what the settings mean. A session that restores a checkpoint of
    its own runs no initializers, so nothing is warm-started there; with `model_dir` the old
    checkpoints are not even read then, and need not be there any more.

    The hook works where initializers are made after hooks begin: in an Estimator, and in a
    MonitoredTrainingSession whose Scaffold brings no init_op of its own.

    Args:
      warm_start_from: str, a path; or a `tf.estimator.WarmStartSettings`, whose fields may be
        lists; or a tuple of the same four fields.
      model_dir: str, where the run's own checkpoints lie; default None.

    Raises:
      ValueError: the settings are of a wrong type, or lists of unequal length.

    Example:
      settings = tf.estimator.WarmStartSettings(["/tmp/a", "/tmp/b"], [".*", ["user"]])
      estimator.train(input_fn, hooks=[WarmStartHook(settings, estimator.model_dir)])
    """

    def __init__(self, warm_start_from, model_dir=None):
        if isinstance(warm_start_from, (str, bytes)):
            warm_start_from = (warm_start_from,)
        if not isinstance(warm_start_from, tuple) or not 1 <= len(warm_start_from) <= 4:
            raise ValueError(
                "WarmStartHook: warm_start_from must be a path, a tf.estimator.WarmStartSettings "
                "or a tuple of its fields, got %r" % (warm_start_from,)
            )
        settings.sources_of(*warm_start_from)
        self._settings = warm_start_from
        self._model_dir = model_dir

    def begin(self):
        latest = self._model_dir and tf.train.latest_checkpoint(self._model_dir)
        if latest:
            tf.compat.v1.logging.info(
                "WarmStartHook: nothing is warm-started, training goes on from %s", latest
            )
            return
        warm_start(*self._settings)
