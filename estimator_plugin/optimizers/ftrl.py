"""FTRL-Proximal."""

from .. import notices, validate
from .base import HashOptimizer


class FtrlOptimizer(HashOptimizer):
    """FTRL-Proximal with TensorFlow's formula; slots `accumulator` and `linear`."""

    rule = "ftrl"

    def __init__(self, learning_rate, settings, use_locking, name, on_non_finite):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        if isinstance(self._learning_rate, float):  # The formula divides by it.
            validate.real(self._owner, "learning_rate", learning_rate, 0, 10, above_low=True)
        self._settings = settings

    def hyperparameters(self):
        return [self.learning_rate()] + self._settings


def create_hash_optimizer(
    learning_rate,
    use_locking=False,
    name="Ftrl",
    learning_rate_power=-0.5,
    initial_accumulator_value=0.1,
    l1_regularization_strength=0.0,
    l2_regularization_strength=0.0,
    accum_name=None,
    linear_name=None,
    l2_shrinkage_regularization_strength=0.0,
    beta=0.0,
    on_non_finite="reject",
):
    """FTRL-Proximal for tables (McMahan et al. 2013).

    Args:
      learning_rate: number above 0, at most 10, scalar tensor, variable or callable.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      learning_rate_power: number from -2147483647 to 0, default -0.5.
      initial_accumulator_value: number above 0, at most 1; default 0.1.
      l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength:
        numbers from 0 to 10000, default 0.
      accum_name, linear_name: None or str of 1 to 255 characters; accepted, slots have fixed names.
      beta: number from 0 to 10000, default 0.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.1, l1_regularization_strength=0.01).minimize(loss, step)

    Semantics: `tf.compat.v1.train.FtrlOptimizer`. (The Rec SDK's formula differs from it, and from
    the paper, by a sign.)
    """
    owner = "optimizer %r" % (name,)
    power = validate.real(owner, "learning_rate_power", learning_rate_power, -validate.INT32_MAX, 0)
    strengths = [
        validate.real(owner, argument, value, 0, 10000)
        for argument, value in (
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        )
    ]
    initial = validate.real(
        owner, "initial_accumulator_value", initial_accumulator_value, 0, 1, above_low=True
    )
    beta = validate.real(owner, "beta", beta, 0, 10000)
    validate.string(owner, "accum_name", accum_name, 255, optional=True)
    validate.string(owner, "linear_name", linear_name, 255, optional=True)
    given = {"accum_name": accum_name, "linear_name": linear_name}
    notices.no_meaning("ftrl", [n for n, value in given.items() if value is not None])
    settings = [power] + strengths + [initial, beta]
    return FtrlOptimizer(learning_rate, settings, use_locking, name, on_non_finite)


create_hash_optimizer_by_address = create_hash_optimizer
