"""Adam. On a growing table it is LazyAdam: a row that a step does not touch does not move."""

from .lazy_adam import LazyAdamOptimizer


def create_hash_optimizer(
    learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, name="Adam", on_non_finite="reject"
):
    """Adam for tables, the same as `lazy_adam.create_hash_optimizer` under the name "Adam".

    `tf.compat.v1.train.AdamOptimizer` decays the moments of every row at every step, which costs as
    much as the table is large; here only rows of the step move.

    Args:
      learning_rate, beta1, beta2, epsilon, name, on_non_finite: as for LazyAdam.

    Returns:
      A HashOptimizer.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> train_op = create_hash_optimizer(0.01).minimize(loss, global_step)

    Semantics: Kingma and Ba 2015, on touched rows.
    """
    return LazyAdamOptimizer(learning_rate, beta1, beta2, epsilon, name, on_non_finite)


create_hash_optimizer_by_address = create_hash_optimizer
