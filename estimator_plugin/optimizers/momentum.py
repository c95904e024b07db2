"""Momentum and its Nesterov form."""

from .. import validate
from .base import HashOptimizer


class MomentumOptimizer(HashOptimizer):
    """m <- momentum m + g;  w <- w - lr m, or w - lr (g + momentum m). One slot, `momentum`."""

    rule = "momentum"

    def __init__(
        self,
        learning_rate,
        momentum,
        use_locking=False,
        name="Momentum",
        use_nesterov=False,
        on_non_finite="reject",
    ):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        self._momentum = validate.real(self._owner, "momentum", momentum, 0, 1)
        self._use_nesterov = validate.boolean(self._owner, "use_nesterov", use_nesterov)

    def hyperparameters(self):
        return [self.learning_rate(), self._momentum, float(self._use_nesterov)]


def create_hash_optimizer(
    learning_rate,
    momentum=0.9,
    use_locking=False,
    name="Momentum",
    use_nesterov=False,
    on_non_finite="reject",
):
    """Momentum for tables.

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable.
      momentum: number from 0 to 1, default 0.9.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      use_nesterov: bool, default False.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.1, momentum=0.9).minimize(loss, global_step)

    Semantics: `tf.compat.v1.train.MomentumOptimizer`.
    """
    return MomentumOptimizer(
        learning_rate, momentum, use_locking, name, use_nesterov, on_non_finite
    )


create_hash_optimizer_by_address = create_hash_optimizer
