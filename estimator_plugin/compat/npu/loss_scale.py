"""Loss scaling for mixed precision, on a device that has none: NPULossScaleOptimizer."""

import tensorflow as tf

_OWNER = "loss scale"


class FixedLossScaleManager:
    """A loss scale that stays as it is.

    Args:
      loss_scale: number of at least 1.
      enable_overflow_check: bool, default True; gradients are checked in either case.

    Raises:
      ValueError: loss_scale is below 1.
    """

    def __init__(self, loss_scale, enable_overflow_check=True):
        if loss_scale < 1:
            raise ValueError("%s: loss_scale must be at least 1, got %r" % (_OWNER, loss_scale))
        self._loss_scale = loss_scale
        self._enable_overflow_check = enable_overflow_check

    def get_loss_scale(self):
        """The scale of the step, a float32 scalar."""
        return tf.constant(self._loss_scale, tf.float32)

    def get_enable_overflow_check(self):
        """What the constructor was told."""
        return self._enable_overflow_check

    def update_loss_scale(self, finite_grads):
        """An operation that does nothing, whatever the step's gradients were."""
        del finite_grads
        return tf.no_op()


class ExponentialUpdateLossScaleManager:
    """A loss scale that grows while gradients are finite and shrinks where they are not.

    Args:
      init_loss_scale: number of at least 1.
      incr_every_n_steps: int from 1. Finite steps in a row after which the scale grows.
      decr_every_n_nan_or_inf: int from 1, default 2. Steps that were not finite, since the scale
        last changed, after which it shrinks.
      incr_ratio: number above 1, default 2; the scale is multiplied by it while it stays below
        3.4e38.
      decr_ratio: number between 0 and 1, default 0.8; the scale does not fall below 1.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self,
        init_loss_scale,
        incr_every_n_steps,
        decr_every_n_nan_or_inf=2,
        incr_ratio=2,
        decr_ratio=0.8,
    ):
        _require("init_loss_scale", init_loss_scale, init_loss_scale >= 1, "at least 1")
        _require("incr_every_n_steps", incr_every_n_steps, incr_every_n_steps >= 1, "at least 1")
        _require(
            "decr_every_n_nan_or_inf",
            decr_every_n_nan_or_inf,
            decr_every_n_nan_or_inf >= 1,
            "at least 1",
        )
        _require("incr_ratio", incr_ratio, incr_ratio > 1, "above 1")
        _require("decr_ratio", decr_ratio, 0 < decr_ratio < 1, "between 0 and 1")
        self._incr_every = incr_every_n_steps
        self._decr_every = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._loss_scale = _variable("loss_scale", float(init_loss_scale), tf.float32)
        self._good = _variable("good_steps", 0, tf.int32)
        self._bad = _variable("bad_steps", 0, tf.int32)

    def get_loss_scale(self):
        """The scale of the step, a float32 scalar."""
        return tf.identity(self._loss_scale)

    def update_loss_scale(self, finite_grads):
        """An operation that counts the step, whose gradients are finite or not by the bool scalar
        `finite_grads`, and changes the scale when it is due."""
        scale, good, bad = (tf.identity(v) for v in (self._loss_scale, self._good, self._bad))
        good_now = tf.where(finite_grads, good + 1, 0)
        bad_now = tf.where(finite_grads, bad, bad + 1)
        grows = good_now >= self._incr_every
        shrinks = bad_now >= self._decr_every
        grown = tf.where(scale < 3.4e38 / self._incr_ratio, scale * self._incr_ratio, scale)
        shrunk = tf.maximum(scale * self._decr_ratio, 1.0)
        changed = tf.logical_or(grows, shrinks)
        new_scale = tf.where(grows, grown, tf.where(shrinks, shrunk, scale))
        new_good, new_bad = tf.where(changed, 0, good_now), tf.where(changed, 0, bad_now)
        with tf.control_dependencies([new_scale, new_good, new_bad]):  # All is read before.
            return tf.group(
                self._loss_scale.assign(new_scale),
                self._good.assign(new_good),
                self._bad.assign(new_bad),
            )


class NPULossScaleOptimizer(tf.compat.v1.train.Optimizer):
    """Scales the loss of another optimizer, and leaves out steps with gradients not finite.

    Args:
      opt: tf.compat.v1.train.Optimizer, dense or for tables.
      loss_scale_manager: FixedLossScaleManager or ExponentialUpdateLossScaleManager.
      is_distributed: bool, default False; there is one rank in either case.

    Semantics: NPULossScaleOptimizer of the NPU's TensorFlow adapter.
    """

    def __init__(self, opt, loss_scale_manager, is_distributed=False):
        super().__init__(use_locking=False, name="NPULossScaleOptimizer")
        del is_distributed
        self._opt = opt
        self._manager = loss_scale_manager

    def compute_gradients(self, loss, var_list=None, **kwargs):
        """As those of `opt`, of the scaled loss, with the scale taken out again."""
        scale = self._manager.get_loss_scale()
        pairs = self._opt.compute_gradients(loss * tf.cast(scale, loss.dtype), var_list, **kwargs)
        return [(_divided(gradient, scale), variable) for gradient, variable in pairs]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """As `opt` does it, global_step included, if all gradients are finite; else nothing."""
        pairs = list(grads_and_vars)
        values = [_values(gradient) for gradient, _ in pairs if gradient is not None]
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(v)) for v in values])
        applied = tf.cond(
            finite,
            lambda: _done(self._opt.apply_gradients(pairs, global_step, name)),
            lambda: tf.constant(False),
        )
        return tf.group(applied, self._manager.update_loss_scale(finite))

    def variables(self):
        """Those of `opt`."""
        return self._opt.variables()


def _done(operation):
    with tf.control_dependencies([operation]):
        return tf.constant(True)


def _divided(gradient, scale):
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(
            _divided(gradient.values, scale), gradient.indices, gradient.dense_shape
        )
    return gradient / tf.cast(scale, gradient.dtype)


def _values(gradient):
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _variable(name, value, dtype):
    return tf.compat.v1.get_variable(
        "loss_scale/" + name,
        [],
        dtype,
        tf.compat.v1.constant_initializer(value),
        trainable=False,
        use_resource=True,
    )


def _require(argument, value, holds, wanted):
    if not holds:
        raise ValueError("%s: %s must be %s, got %r" % (_OWNER, argument, wanted, value))
