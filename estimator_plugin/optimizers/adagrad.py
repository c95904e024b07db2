"""Adagrad."""

from .. import validate
from .base import HashOptimizer


class AdagradOptimizer(HashOptimizer):
    """a <- a + g^2;  w <- w - lr g / sqrt(a + epsilon). One slot, `accumulator`."""

    rule = "adagrad"

    def __init__(
        self,
        learning_rate,
        initial_accumulator_value,
        epsilon=0.0,
        use_locking=False,
        name="Adagrad",
        on_non_finite="reject",
    ):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        self._initial_accumulator_value = validate.real(
            self._owner,
            "initial_accumulator_value",
            initial_accumulator_value,
            0,
            1,
            above_low=True,
        )
        self._epsilon = epsilon

    def hyperparameters(self):
        return [self.learning_rate(), self._epsilon, self._initial_accumulator_value]


def create_hash_optimizer(
    learning_rate=0.001,
    initial_accumulator_value=0.9,
    use_locking=False,
    name="Adagrad",
    on_non_finite="reject",
):
    """Adagrad for tables (Duchi, Hazan, Singer 2011).

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable; default 0.001.
      initial_accumulator_value: number above 0, at most 1; default 0.9.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.05).minimize(loss, global_step)

    Semantics: `tf.compat.v1.train.AdagradOptimizer`; `mx_rec.optimizers.adagrad` of the Rec SDK.
    """
    return AdagradOptimizer(
        learning_rate,
        initial_accumulator_value,
        use_locking=use_locking,
        name=name,
        on_non_finite=on_non_finite,
    )
