"""`get_dense_and_sparse_variable`: what a dense and what a sparse optimizer trains."""

import tensorflow as tf

from . import config


def get_dense_and_sparse_variable():
    """The trainable variables and the tables of the default graph.

    Returns:
      (dense_variables, sparse_variables): the graph's trainable variables, and the handles of its
      tables. `tf.gradients(loss, sparse_variables)` gives IndexedSlices by row address, which an
      optimizer's `apply_gradients(zip(gradients, sparse_variables))` takes.

    >>> dense, sparse = get_dense_and_sparse_variable()
    >>> gradients = tf.gradients(loss, dense + sparse)

    Semantics: `mx_rec.util.variable.get_dense_and_sparse_variable` of the Rec SDK.
    """
    return (
        tf.compat.v1.trainable_variables(),
        tf.compat.v1.get_collection(config.get_config().ascend_global_hashtable_collection),
    )
