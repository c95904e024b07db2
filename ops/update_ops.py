"""Optimizer updates of a table's rows.

Rules and their hyperparameters, in order:

    sgd                   learning_rate, weight_decay
    momentum              learning_rate, momentum, use_nesterov (0 or 1)
    adagrad               learning_rate, epsilon, initial_accumulator
    adagrad_momentum      learning_rate, momentum, use_nesterov (0 or 1), exponent, beta2, epsilon
    adam                  learning_rate, beta1, beta2, epsilon, beta1_power, beta2_power
    adam_sum_inside_sqrt  as adam: divides by sqrt(v + epsilon**2), not by sqrt(v) + epsilon
    amsgrad               as adam
    rmsprop               learning_rate, decay, momentum, epsilon
    ftrl                  learning_rate, learning_rate_power, l1, l2, l2_shrinkage,
                          initial_accumulator, beta
    ftrl_multiply_linear  as ftrl; its slot `linear` is that of ftrl times the learning rate

Each computes what TensorFlow's optimizer of that name does to a variable's row. Only rows that have
a gradient change: adam and amsgrad are the lazy variants; beta powers of 0 mean no bias correction.
`adagrad_momentum`, `adam_sum_inside_sqrt` and `ftrl_multiply_linear` are TPUEmbedding's.
"""

from .library import load
from .op_inputs import lists_of


def table_apply_gradients(
    handle, hyperparameters, addresses, gradients, rule, on_non_finite="reject", name=None
):
    """Sums the gradients of each row over all tensors, then updates each row once.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      hyperparameters: float64 vector, in the rule's order (see the module's text).
      addresses: int64 tensor of any shape, or a list of such tensors; -1 takes no update, nor
        does a row that has left the table since the lookup.
      gradients: float32 tensor of shape addresses.shape + [dim], or a list of as many.
      rule: str, one of those above.
      on_non_finite: "reject" (default): a NaN or infinite gradient fails the op and no row
        changes. "skip": the rows concerned are left alone, the others are updated.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      TypeError: addresses are no integers.
      ValueError: gradients do not fit the addresses or the table.
      tf.errors.InvalidArgumentError: when run, no lookup can have given an address, a gradient is
        not finite, or the rule or its hyperparameters are wrong.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> embeddings, addresses = table_lookup(handle, [7], dim=2, insert=True)
    >>> gradient = tf.constant([[1.0, 2.0]])
    >>> session.run(table_apply_gradients(handle, [0.1, 0.0], addresses, gradient, "sgd"))
    """
    addresses, gradients = lists_of(addresses, gradients, "addresses")
    return load().ep_table_apply_gradients(
        handle,
        hyperparameters,
        addresses,
        gradients,
        rule=rule,
        on_non_finite=on_non_finite,
        name=name,
    )


def table_apply_gradients_by_key(
    handle, hyperparameters, keys, gradients, rule, on_non_finite="reject", name=None
):
    """`table_apply_gradients` on the rows of keys; a key without a row gets one first.

    Args:
      handle, hyperparameters, gradients, rule, on_non_finite, name: as for
        `table_apply_gradients`.
      keys: int64 or int32 tensor of any shape, or a list of such tensors; -1 takes no update.

    Returns:
      The operation.

    Raises:
      As `table_apply_gradients`. An update that is rejected adds no rows.

    >>> keys, gradient = tf.constant([7]), tf.constant([[1.0, 2.0]])
    >>> session.run(table_apply_gradients_by_key(handle, [0.1, 0.0], keys, gradient, "sgd"))
    """
    keys, gradients = lists_of(keys, gradients, "keys")
    return load().ep_table_apply_gradients_by_key(
        handle,
        hyperparameters,
        keys,
        gradients,
        rule=rule,
        on_non_finite=on_non_finite,
        name=name,
    )
