"""Gradient descent."""

from .. import validate
from .base import HashOptimizer, check_fusion


class GradientDescentOptimizer(HashOptimizer):
    """w <- w - lr (g + weight_decay w), on the rows of the step. No slots."""

    rule = "sgd"

    def __init__(
        self,
        learning_rate,
        weight_decay=0.0,
        use_locking=False,
        name="GradientDescent",
        on_non_finite="reject",
    ):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        self._weight_decay = weight_decay

    def hyperparameters(self):
        return [self.learning_rate(), self._weight_decay]


def create_hash_optimizer(
    learning_rate,
    use_locking=False,
    name="GradientDescent",
    use_fusion_optim=False,
    weight_decay=None,
    on_non_finite="reject",
):
    """Gradient descent for tables.

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      use_fusion_optim: bool, accepted; an update is one op in any case.
      weight_decay: None or a number from 1e-5 to 1e-2; decays the rows of the step.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> optimizer = create_hash_optimizer(0.1)
    >>> train_op = optimizer.minimize(loss, global_step)

    Semantics: `mx_rec.optimizers.gradient_descent` of the Rec SDK; without weight decay,
    `tf.compat.v1.train.GradientDescentOptimizer`.
    """
    owner = "optimizer %r" % (name,)
    check_fusion(owner, use_fusion_optim)
    if weight_decay is None:
        weight_decay = 0.0
    else:
        weight_decay = validate.real(owner, "weight_decay", weight_decay, 1e-5, 1e-2)
    return GradientDescentOptimizer(
        learning_rate, weight_decay, use_locking, name, on_non_finite=on_non_finite
    )
