"""RMSProp."""

from .. import validate
from .base import HashOptimizer


class RmspropOptimizer(HashOptimizer):
    """ms <- decay ms + (1 - decay) g^2;  mom <- momentum mom + lr g / sqrt(ms + epsilon);
    w <- w - mom. Slots `rms`, which starts at 1, and `momentum`.
    """

    rule = "rmsprop"

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        name="RMSProp",
        on_non_finite="reject",
    ):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        self._decay = validate.real(self._owner, "decay", decay, 0, 1)
        self._momentum = validate.real(self._owner, "momentum", momentum, 0, 1)
        self._epsilon = validate.real(self._owner, "epsilon", epsilon, 0, 1, above_low=True)

    def hyperparameters(self):
        return [self.learning_rate(), self._decay, self._momentum, self._epsilon]


def create_hash_optimizer(
    learning_rate,
    decay=0.9,
    momentum=0.0,
    epsilon=1e-10,
    use_locking=False,
    name="RMSProp",
    on_non_finite="reject",
):
    """RMSProp for tables (Tieleman, Hinton 2012), not centered.

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable.
      decay: number from 0 to 1, default 0.9.
      momentum: number from 0 to 1, default 0.
      epsilon: number above 0, at most 1; default 1e-10.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.01).minimize(loss, global_step)

    Semantics: `tf.compat.v1.train.RMSPropOptimizer`.
    """
    return RmspropOptimizer(
        learning_rate, decay, momentum, epsilon, use_locking, name, on_non_finite
    )


create_hash_optimizer_by_address = create_hash_optimizer
