"""Gradient descent under the name and with the defaults the Rec SDK gives it by address."""

from .. import validate
from .gradient_descent import GradientDescentOptimizer


def create_hash_optimizer_by_addr(
    learning_rate,
    weight_decay=0.0001,
    use_locking=False,
    name="GradientDescentByAddr",
    on_non_finite="reject",
):
    """Gradient descent for tables, with weight decay on by default.

    Args:
      learning_rate: number from 0 to 10, scalar tensor, variable or callable.
      weight_decay: number from 0 to 1, default 0.0001; decays the rows of the step.
      use_locking: bool, accepted.
      name: str of 1 to 200 characters.
      on_non_finite: "reject" or "skip", see `HashOptimizer`.

    Returns:
      A HashOptimizer; it takes gradients by key and by address.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> embeddings = tf.compat.v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    >>> gradients = tf.gradients(loss, embeddings)
    >>> addresses = tf.compat.v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    >>> train_op = create_hash_optimizer_by_addr(0.1).apply_gradients(zip(gradients, addresses))

    Semantics: `mx_rec.optimizers.gradient_descent_by_addr` of the Rec SDK.
    """
    weight_decay = validate.real("optimizer %r" % (name,), "weight_decay", weight_decay, 0, 1)
    return GradientDescentOptimizer(
        learning_rate, weight_decay, use_locking, name, on_non_finite=on_non_finite
    )


create_hash_optimizer_by_address = create_hash_optimizer_by_addr
