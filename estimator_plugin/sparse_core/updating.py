"""One update of a stack: its gradients, or those of the step before when the pipeline is on."""

import tensorflow as tf

from ..ops import sparse_core_ops
from .optimizers import learning_rate_of


def hyperparameters_of(stack):
    """The float64 vector that the update op takes: the learning rate as it is now, and the rest."""
    rate = tf.cast(learning_rate_of(stack.optimizer), tf.float64)
    rest = tf.constant(stack.rule.hyperparameters, tf.float64)
    return tf.concat([tf.reshape(rate, [1]), rest], axis=0)


def updated(plan, stack, variables, csr, gradients, hyperparameters):
    """The operation that updates a stack's variables in place, each row that occurs once.

    Args:
      plan: plan.Plan.
      stack: plan.Stack.
      variables: dict of its variables, by slot.
      csr: anything with the fields of `sparse_core_ops.CsrBuffer` that
        `sparse_core_apply_gradient` reads.
      gradients: float32 [R * sample_count, width].
      hyperparameters: from `hyperparameters_of`.
    """
    parameters, *slots = variables.values()
    return sparse_core_ops.sparse_core_apply_gradient(
        csr,
        gradients,
        parameters.handle,
        [slot.handle for slot in slots],
        hyperparameters,
        rule=stack.rule.name,
        num_replicas=plan.topology.num_replicas,
        num_sc_per_chip=plan.topology.num_sc_per_chip,
        clip_weight_min=stack.rule.clip_weight_min,
        clip_weight_max=stack.rule.clip_weight_max,
        table_name=stack.name,
    )
