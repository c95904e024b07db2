"""Between features and the samples of their stack, which are core-major.

The activations of a stack are [R * sample_count, width]: replica by replica, core by core, and of a
core feature by feature, each an equal part of its samples. A sample of a feature is back in its
place when the parts are put one after the other.
"""

import collections

import tensorflow as tf

from .. import validate


def unstacked(plan, activations):
    """The activations of each feature.

    Args:
      plan: plan.Plan.
      activations: dict stack name -> float32 [R * sample_count, width].

    Returns:
      A list in the order of `plan.features`, of float32 [R * output_shape[0], ..., dim].
    """
    replicas, cores = plan.topology
    of_path = {}
    for stack in plan.stacks.values():
        by_core = tf.reshape(
            activations[stack.name], [replicas * cores, stack.sample_count // cores, stack.width]
        )
        counts = [stacked.feature.samples // cores for stacked in stack.features]
        for stacked, part in zip(stack.features, tf.split(by_core, counts, axis=1)):
            feature = stacked.feature
            if feature.table.dim < stack.width:
                part = part[:, :, : feature.table.dim]
            of_path[feature.path] = tf.reshape(part, _global_shape(plan, feature))
    return [of_path[feature.path] for feature in plan.features]


def stacked_gradients(plan, gradients):
    """The gradients of each stack's activations.

    Args:
      plan: plan.Plan.
      gradients: list in the order of `plan.features`, of float32 tensors of as many elements as the
        feature's activations, tf.IndexedSlices, or None for zeros.

    Returns:
      OrderedDict stack name -> float32 [R * sample_count, width].

    Raises:
      ValueError: a gradient is no tensor or has another number of elements.
    """
    replicas, cores = plan.topology
    of_path = {f.path: _checked(plan, f, g) for f, g in zip(plan.features, gradients)}
    result = collections.OrderedDict()
    for stack in plan.stacks.values():
        parts = []
        for stacked in stack.features:
            feature = stacked.feature
            shape = [replicas * cores, feature.samples // cores, feature.table.dim]
            part = tf.reshape(of_path[feature.path], shape)
            parts.append(tf.pad(part, [[0, 0], [0, 0], [0, stack.width - feature.table.dim]]))
        by_core = parts[0] if len(parts) == 1 else tf.concat(parts, axis=1)
        shape = [replicas * stack.sample_count, stack.width]
        result[stack.name] = tf.reshape(by_core, shape)
    return result


def _global_shape(plan, feature):
    first, *rest = feature.output_shape
    return [plan.topology.num_replicas * first, *rest, feature.table.dim]


def _checked(plan, feature, gradient):
    owner = "feature %r" % feature.path
    shape = _global_shape(plan, feature)
    if gradient is None:
        tf.compat.v1.logging.warning(
            "%s: its gradient is None and counts as zero; rows that it looked up are updated all "
            "the same, which with Adam, AdagradMomentum and FTRL changes them",
            owner,
        )
        return tf.zeros(shape)
    if isinstance(gradient, tf.IndexedSlices):
        gradient = tf.convert_to_tensor(gradient)
    if not isinstance(gradient, tf.Tensor):
        validate.fail(owner, "gradient", gradient, "a tf.Tensor or None")
    if gradient.dtype != tf.float32:
        validate.fail(owner, "gradient", gradient.dtype, "float32")
    given = gradient.shape.num_elements()
    if given is not None and given != tf.TensorShape(shape).num_elements():
        validate.fail(owner, "gradient", gradient.shape, "of shape %s" % shape)
    return gradient
