"""Adagrad under the name and with the epsilon the Rec SDK gives it by address."""

from .adagrad import AdagradOptimizer

_EPSILON = 1e-7


def create_hash_optimizer_by_address(
    learning_rate=0.001, initial_accumulator_value=0.9, name="Adagrad", on_non_finite="reject"
):
    """Adagrad for tables: a <- a + g^2;  w <- w - lr g / sqrt(a + 1e-7).

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable; default 0.001.
      initial_accumulator_value: number above 0, at most 1; default 0.9.
      name: str of 1 to 200 characters.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer; it takes gradients by key and by address.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer_by_address(0.05).minimize(loss, global_step)

    Semantics: `mx_rec.optimizers.adagrad_by_addr` of the Rec SDK.
    """
    return AdagradOptimizer(
        learning_rate,
        initial_accumulator_value,
        epsilon=_EPSILON,
        name=name,
        on_non_finite=on_non_finite,
    )


create_hash_optimizer_by_addr = create_hash_optimizer_by_address
