"""The optimizers of tables: TensorFlow's parameter classes, and what of them reaches the update op.

`rule_of` turns an optimizer into a `Rule`; an option that the update cannot honour is refused there
by name, never ignored.
"""

import collections

import tensorflow as tf

from .. import notices, validate

SGD = tf.tpu.experimental.embedding.SGD
Adagrad = tf.tpu.experimental.embedding.Adagrad
AdagradMomentum = tf.tpu.experimental.embedding.AdagradMomentum
Adam = tf.tpu.experimental.embedding.Adam
FTRL = tf.tpu.experimental.embedding.FTRL

# How an update is computed.
#   name: str, the rule of `ops.sparse_core_ops.sparse_core_apply_gradient`.
#   slots: OrderedDict slot name -> float its values start from, in the rule's order.
#   hyperparameters: floats that follow the learning rate, in the rule's order.
#   clip_weight_min, clip_weight_max: float or None.
Rule = collections.namedtuple(
    "Rule", ["name", "slots", "hyperparameters", "clip_weight_min", "clip_weight_max"]
)


def rule_of(owner, optimizer):
    """The Rule of an optimizer.

    Args:
      owner: str, for messages, e.g. "table 'item'".
      optimizer: an instance of one of this module's classes.

    Raises:
      ValueError: there is none, it is of another class, or an option is not supported.
      NotImplementedError: it asks for weight decay.
    """
    families = [family for family in _FAMILIES if isinstance(optimizer, family)]
    if not families:
        validate.fail(
            owner, "optimizer", optimizer, "an SGD, Adagrad, AdagradMomentum, Adam or FTRL"
        )
    _check_common(owner, optimizer)
    name, slots, hyperparameters = _FAMILIES[families[0]](owner, optimizer)
    return Rule(
        name,
        collections.OrderedDict(slots),
        [float(value) for value in hyperparameters],
        optimizer.clip_weight_min,
        optimizer.clip_weight_max,
    )


def learning_rate_of(optimizer):
    """The learning rate as a scalar float32 tensor; a callable is asked now."""
    rate = optimizer.learning_rate
    return tf.cast(rate() if callable(rate) else rate, tf.float32)


def _check_common(owner, optimizer):
    for name in ("weight_decay_factor", "multiply_weight_decay_factor_by_learning_rate"):
        if getattr(optimizer, name) is not None:
            raise NotImplementedError(
                "%s: %s is not supported, got %r; leave it None"
                % (owner, name, getattr(optimizer, name))
            )
    refused = {
        "clip_gradient_min": ("clipvalue", None),
        "clip_gradient_max": ("clipvalue", None),
        "use_gradient_accumulation": ("use_gradient_accumulation", True),
        "slot_variable_creation_fn": ("slot_variable_creation_fn", None),
    }
    for attribute, (argument, supported) in refused.items():
        value = getattr(optimizer, attribute, supported)
        if value != supported:
            validate.fail(owner, argument, value, "%r, all that is supported" % (supported,))
    low, high = optimizer.clip_weight_min, optimizer.clip_weight_max
    if low is not None and high is not None and low > high:
        validate.fail(owner, "clip_weight_min", low, "at most clip_weight_max, %r" % (high,))
    if getattr(optimizer, "low_dimensional_packing_status", False):
        notices.no_meaning(owner, ["low_dimensional_packing_status"])


def _sgd(unused_owner, unused_optimizer):
    return "sgd", [], [0.0]  # No weight decay.


def _adagrad(unused_owner, optimizer):
    start = optimizer.initial_accumulator_value
    return "adagrad", [("accumulators", start)], [0.0, start]  # No epsilon.


def _adagrad_momentum(unused_owner, optimizer):
    hyperparameters = [
        optimizer.momentum,
        optimizer.use_nesterov,
        optimizer.exponent,
        optimizer.beta2,
        optimizer.epsilon,
    ]
    return "adagrad_momentum", [("accumulators", 0.0), ("momenta", 0.0)], hyperparameters


def _adam(owner, optimizer):
    if not optimizer.lazy_adam:
        validate.fail(
            owner, "lazy_adam", False, "True: only rows of the batch are updated, as upstream does"
        )
    rule = "adam_sum_inside_sqrt" if optimizer.sum_inside_sqrt else "adam"
    powers = [0.0, 0.0]  # They correct no bias.
    hyperparameters = [optimizer.beta_1, optimizer.beta_2, optimizer.epsilon] + powers
    return rule, [("momenta", 0.0), ("velocities", 0.0)], hyperparameters


def _ftrl(owner, optimizer):
    power = optimizer.learning_rate_power
    if power > 0:
        validate.fail(owner, "learning_rate_power", power, "at most 0")
    for name in ("l1_regularization_strength", "l2_regularization_strength", "beta"):
        if getattr(optimizer, name) < 0:
            validate.fail(owner, name, getattr(optimizer, name), "at least 0")
    if optimizer.allow_zero_accumulator:
        notices.no_meaning(owner, ["allow_zero_accumulator"])
    start = optimizer.initial_accumulator_value
    hyperparameters = [
        power,
        optimizer.l1_regularization_strength,
        optimizer.l2_regularization_strength,
        0.0,  # No shrinkage.
        start,
        optimizer.beta,
    ]
    rule = "ftrl_multiply_linear" if optimizer.multiply_linear_by_learning_rate else "ftrl"
    return rule, [("accumulators", start), ("linears", 0.0)], hyperparameters


_FAMILIES = {
    SGD: _sgd,
    Adagrad: _adagrad,
    AdagradMomentum: _adagrad_momentum,
    Adam: _adam,
    FTRL: _ftrl,
}
