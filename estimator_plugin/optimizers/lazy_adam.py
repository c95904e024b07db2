"""Adam on the rows of the step only."""

from .. import validate
from .base import check_fusion
from .beta_powers import BetaPowerOptimizer


class LazyAdamOptimizer(BetaPowerOptimizer):
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr_t m / (sqrt(v) + epsilon),
    with lr_t = lr sqrt(1 - b2^t) / (1 - b1^t) and t the steps of the optimizer. Slots `m`, `v`.
    """

    rule = "adam"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        name="LazyAdam",
        on_non_finite="reject",
    ):
        owner = "optimizer %r" % (name,)
        beta1 = validate.real(owner, "beta1", beta1, 0, 1, above_low=True, below_high=True)
        # At 1 the step size is 0 / 0 from the start.
        beta2 = validate.real(owner, "beta2", beta2, 0, 1, below_high=True)
        self._epsilon = validate.real(owner, "epsilon", epsilon, 0, 1, above_low=True)
        super().__init__(name, learning_rate, (beta1, beta2), on_non_finite=on_non_finite)

    def hyperparameters(self):
        return [self.learning_rate()] + list(self._betas) + [self._epsilon] + self.beta_powers()


def create_hash_optimizer(
    learning_rate=0.001,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    name="LazyAdam",
    use_fusion_optim=False,
    on_non_finite="reject",
):
    """Adam for tables: only rows of the step move, with one step count for the whole optimizer.

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable; default 0.001.
      beta1: number between 0 and 1, default 0.9.
      beta2: number from 0, below 1, default 0.999. (The Rec SDK lets 1 pass, which divides 0 by 0.)
      epsilon: number above 0, at most 1; default 1e-8.
      name: str of 1 to 200 characters.
      use_fusion_optim: bool, accepted; an update is one op in any case.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.01).minimize(loss, global_step)

    Semantics: `mx_rec.optimizers.lazy_adam` of the Rec SDK; `tf.compat.v1.train.AdamOptimizer` on
    the rows that a step touches.
    """
    check_fusion("optimizer %r" % (name,), use_fusion_optim)
    return LazyAdamOptimizer(learning_rate, beta1, beta2, epsilon, name, on_non_finite)
