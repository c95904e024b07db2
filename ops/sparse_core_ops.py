"""Embedding tables in the manner of TensorFlow's TPUEmbeddingV2: lookups and updates of stacks.

A stack is several tables in one variable. Its ids come as a `CsrBuffer`, which the functions of
`sparse_core_csr_ops` make; this module offers those and the ones of `sparse_core_id_ops` too.

    csr = sparse_core_preprocess(...)
    activations = sparse_core_matmul(csr, table.handle, ...)
    update = sparse_core_apply_gradient(csr, gradient of activations, table.handle, ...)

The variable is [H, width] float32: N = num_replicas * num_sc_per_chip shards of H / N rows, one
after the other. Samples are those of replica 0's core 0, then of its core 1, and so on.
"""

import tensorflow as tf

from .library import load
from .sparse_core_csr_ops import CsrBuffer, sparse_core_pack, sparse_core_preprocess
from .sparse_core_id_ops import sparse_core_convert, sparse_core_sort, sparse_core_stats

__all__ = [
    "CsrBuffer",
    "sparse_core_apply_gradient",
    "sparse_core_convert",
    "sparse_core_matmul",
    "sparse_core_pack",
    "sparse_core_preprocess",
    "sparse_core_sort",
    "sparse_core_stats",
]


def sparse_core_matmul(
    csr,
    table_handle,
    *,
    input_size,
    num_replicas,
    num_sc_per_chip,
    width,
    quantization=None,
    table_name="",
    name=None,
):
    """The activations of a stack: for each sample, the sum of its rows by their gains.

    Reads the variable in place, under its lock.

    Args:
      csr: `CsrBuffer`. Of the sizes only num_minibatches_per_sc is read.
      table_handle: scalar resource tensor, the handle of a float32 variable [H, width].
      input_size: int >= 0, samples of the stack on one replica.
      num_replicas, num_sc_per_chip: ints >= 1; their product divides H.
      width: int >= 1, columns of the variable.
      quantization: None, or (num_buckets, lower, upper): rows are read as if their values, clamped
        to [lower, upper], were rounded to the nearest of num_buckets equally spaced ones.
      table_name: str, for error messages.
      name: optional name of the operation.

    Returns:
      float32 [num_replicas * input_size, width]; zeros for a sample without ids.

    Raises:
      ValueError: an attribute is out of range, or shapes do not fit.
      tf.errors.InvalidArgumentError: when run, the buffer or the variable is not as described.
      tf.errors.FailedPreconditionError: when run, the variable is uninitialized.

    >>> activations = sparse_core_matmul(
    ...     csr, table.handle, input_size=4, num_replicas=1, num_sc_per_chip=2, width=8)
    """
    num_buckets, lower, upper = quantization or (0, 0.0, 0.0)
    return load().ep_sparse_core_matmul(
        csr.row_pointers,
        csr.sorted_sample_ids,
        csr.sorted_token_ids,
        csr.sorted_gains,
        csr.num_minibatches_per_sc,
        table_handle,
        input_size=input_size,
        num_replicas=num_replicas,
        num_sc_per_chip=num_sc_per_chip,
        width=width,
        num_buckets=num_buckets,
        lower=lower,
        upper=upper,
        table_name=table_name,
        name=name,
    )


def sparse_core_apply_gradient(
    csr,
    activation_gradients,
    table_handle,
    slot_handles,
    hyperparameters,
    *,
    rule,
    num_replicas,
    num_sc_per_chip,
    clip_weight_min=None,
    clip_weight_max=None,
    table_name="",
    name=None,
):
    """One optimizer update of each row that occurs in a buffer.

    A row's gradient is the sum, over all replicas, of its occurrences' gains times the gradients of
    their samples. A row that occurs with gradient zero is updated too. Variables change in place,
    under their locks.

    Args:
      csr: `CsrBuffer`, what `sparse_core_matmul` read.
      activation_gradients: float32 [num_replicas * input_size, width], its output's gradient.
      table_handle: scalar resource tensor, the handle of a float32 variable [H, width].
      slot_handles: list of the handles of the rule's slots, variables of the same shape, in order.
      hyperparameters: float vector, in the rule's order; see `estimator_plugin.ops.update_ops`.
      rule: str, one of `estimator_plugin.ops.update_ops`.
      num_replicas, num_sc_per_chip: ints >= 1; their product divides H.
      clip_weight_min, clip_weight_max: floats, bounds of the updated rows; None (default): none.
      table_name: str, for error messages.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      ValueError: an attribute is out of range, or clip_weight_min is above clip_weight_max.
      tf.errors.InvalidArgumentError: when run, the rule or its hyperparameters are wrong, or the
        buffer, the gradients or a variable are not as described. No row has changed then.
      tf.errors.FailedPreconditionError: when run, a variable is uninitialized.

    >>> gradient = tf.gradients(loss, activations)[0]
    >>> update = sparse_core_apply_gradient(
    ...     csr, gradient, table.handle, [], [0.1, 0.0], rule="sgd", num_replicas=1,
    ...     num_sc_per_chip=2)
    """
    low = float("-inf") if clip_weight_min is None else clip_weight_min
    high = float("inf") if clip_weight_max is None else clip_weight_max
    if not low <= high:
        raise ValueError(
            "table '%s': clip_weight_min is %r, above clip_weight_max, %r" % (table_name, low, high)
        )
    return load().ep_sparse_core_apply_gradient(
        csr.row_pointers,
        csr.sorted_sample_ids,
        csr.sorted_token_ids,
        csr.sorted_gains,
        csr.num_minibatches_per_sc,
        activation_gradients,
        tf.cast(hyperparameters, tf.float64),
        table_handle,
        list(slot_handles),
        rule=rule,
        num_replicas=num_replicas,
        num_sc_per_chip=num_sc_per_chip,
        clip_weight_min=low,
        clip_weight_max=high,
        table_name=table_name,
        name=name,
    )
