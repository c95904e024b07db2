"""AMSGrad on the rows of the step only."""

from .lazy_adam import LazyAdamOptimizer


class AmsgradOptimizer(LazyAdamOptimizer):
    """Adam whose step divides by the largest second moment so far: slots `m`, `v`, `vhat`."""

    rule = "amsgrad"


def create_hash_optimizer(
    learning_rate=0.001,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    name="AMSGrad",
    on_non_finite="reject",
):
    """AMSGrad for tables (Reddi, Kale, Kumar 2018).

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable; default 0.001.
      beta1: number between 0 and 1, default 0.9.
      beta2: number from 0, below 1, default 0.999.
      epsilon: number above 0, at most 1; default 1e-8.
      name: str of 1 to 200 characters.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.01).minimize(loss, global_step)

    Semantics: `tf.keras.optimizers.Adam(amsgrad=True)` on touched rows.
    """
    return AmsgradOptimizer(learning_rate, beta1, beta2, epsilon, name, on_non_finite)


create_hash_optimizer_by_address = create_hash_optimizer
