"""LazyAdam under the name the Rec SDK gives it by address."""

from .lazy_adam import LazyAdamOptimizer


def create_hash_optimizer_by_address(
    learning_rate=0.001,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    name="LazyAdamByAddress",
    on_non_finite="reject",
):
    """`lazy_adam.create_hash_optimizer` under another default name.

    Args:
      learning_rate, beta1, beta2, epsilon, name, on_non_finite: as there.

    Returns:
      A HashOptimizer; it takes gradients by key and by address.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    >>> embeddings = tf.compat.v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    >>> gradients = tf.gradients(loss, embeddings)
    >>> addresses = tf.compat.v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    >>> create_hash_optimizer_by_address().apply_gradients(zip(gradients, addresses))

    Semantics: `mx_rec.optimizers.lazy_adam_by_addr` of the Rec SDK.
    """
    return LazyAdamOptimizer(learning_rate, beta1, beta2, epsilon, name, on_non_finite)


create_hash_optimizer_by_addr = create_hash_optimizer_by_address
