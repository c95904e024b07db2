"""Dense building blocks on `tf.compat.v1.get_variable`, for every TensorFlow from 1.15 on.

Each takes and returns float32 tensors; `name` is the variable scope. An `l2` above zero adds
`l2 * sum(kernel ** 2) / 2` to the graph's regularisation losses, which the builder adds to the
loss.
"""

import math

import numpy as np
import tensorflow as tf

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh, "sigmoid": tf.nn.sigmoid, "linear": None}


def dense(x, units, name, activation="linear", l2=0.0):
    """A fully connected layer: `[batch, n]` to `[batch, units]`."""
    if activation not in ACTIVATIONS:
        raise ValueError(
            "layer %r: activation must be one of %s, got %r"
            % (name, ", ".join(sorted(ACTIVATIONS)), activation)
        )
    width = int(x.shape[-1])
    with tf.compat.v1.variable_scope(name):
        kernel = _kernel("kernel", (width, units), l2)
        bias = _variable("bias", (units,), tf.compat.v1.zeros_initializer())
        y = tf.matmul(x, kernel) + bias
        function = ACTIVATIONS[activation]
        return y if function is None else function(y)


def mlp(x, config, name, training):
    """A stack of dense layers, see `MlpConfig`: `[batch, n]` to `[batch, hidden_units[-1]]`."""
    with tf.compat.v1.variable_scope(name):
        for i, units in enumerate(config.hidden_units):
            x = dense(x, units, "layer_%d" % i, config.activation, config.l2)
            if training and config.dropout > 0:
                x = tf.compat.v1.nn.dropout(x, rate=config.dropout)
    return x


def factorization_machine(fields):
    """The sum of the dot products of all pairs of fields (Rendle 2010).

    `[batch, fields, dim]` to `[batch, 1]`.
    """
    square_of_sum = tf.square(tf.reduce_sum(fields, axis=1))
    sum_of_squares = tf.reduce_sum(tf.square(fields), axis=1)
    return 0.5 * tf.reduce_sum(square_of_sum - sum_of_squares, axis=1, keepdims=True)


def dot_interaction(fields):
    """The dot product of each pair of fields: `[batch, f, dim]` to `[batch, f * (f - 1) / 2]`."""
    count = int(fields.shape[1])
    products = tf.matmul(fields, fields, transpose_b=True)
    rows, columns = np.tril_indices(count, k=-1)
    flat = tf.reshape(products, [-1, count * count])
    return tf.gather(flat, rows * count + columns, axis=1)


def cross_network(x, layers, name, rank=None, l2=0.0):
    """The cross network of DCN V2 (Wang et al. 2021): `[batch, n]` to `[batch, n]`.

    Each layer is `x0 * (W x + b) + x`. With `rank`, W is the product of an `[n, rank]` and a
    `[rank, n]` matrix.
    """
    width = int(x.shape[-1])
    x0 = x
    with tf.compat.v1.variable_scope(name):
        for i in range(layers):
            with tf.compat.v1.variable_scope("layer_%d" % i):
                bias = _variable("bias", (width,), tf.compat.v1.zeros_initializer())
                x = x0 * (_cross_product(x, width, rank, l2) + bias) + x
    return x


def _cross_product(x, width, rank, l2):
    if rank is None:
        return tf.matmul(x, _kernel("kernel", (width, width), l2))
    narrow = tf.matmul(x, _kernel("kernel_v", (width, rank), l2))
    return tf.matmul(narrow, _kernel("kernel_u", (rank, width), l2))


def _kernel(name, shape, l2):
    limit = math.sqrt(6.0 / (shape[0] + shape[1]))  # Glorot and Bengio 2010
    kernel = _variable(name, shape, tf.compat.v1.random_uniform_initializer(-limit, limit))
    if l2 > 0:
        tf.compat.v1.add_to_collection(
            tf.compat.v1.GraphKeys.REGULARIZATION_LOSSES, l2 * tf.nn.l2_loss(kernel)
        )
    return kernel


def _variable(name, shape, initializer):
    return tf.compat.v1.get_variable(
        name, shape, tf.float32, initializer=initializer, use_resource=True
    )
