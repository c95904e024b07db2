"""What an old IteratorGetNext gives once a new one has taken its place: the batch of the new one.

Operations that were made before are pointed at the new batch. But programs hold the old tensors
too: they fetch labels beside the loss, or predictions that contain a feature. So the old operation
reads, in each step anew, an iterator over one element, the batch of the step. It costs nothing in
steps that read none of the old tensors.
"""

import tensorflow as tf

from .. import tf_compat


def install(get_next, batch):
    """Makes the operation `get_next` give `batch`.

    Args:
      get_next: an IteratorGetNext operation.
      batch: the tensors that it is to give.
    """
    options = tf.data.Options()  # Nothing to optimize in one element.
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    dataset = tf.data.Dataset.from_tensors(tuple(batch)).with_options(options)
    iterator = tf.raw_ops.AnonymousIteratorV3(
        output_types=[tensor.dtype for tensor in get_next.outputs],
        output_shapes=[tensor.shape for tensor in get_next.outputs],
    )
    start = tf.raw_ops.MakeIterator(
        dataset=tf.data.experimental.to_variant(dataset), iterator=iterator
    )
    tf_compat.update_input(get_next, 0, iterator)
    tf_compat.add_control_input(get_next, start)
