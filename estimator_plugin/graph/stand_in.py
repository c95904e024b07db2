"""What an old IteratorGetNext gives once a new one has taken its place: the batch of the new one.

Operations that were made before are pointed at the new batch. But programs hold the old tensors
too: they fetch labels beside the loss, or predictions that contain a feature. So the old iterator
stays and hands out, one for one, the batches that the new one gives it through a queue. It costs
nothing in steps that read none of the old tensors.
"""

import uuid

import tensorflow as tf

from .. import tf_compat
from . import iterators


def install(get_next, iterator, batch):
    """Makes the operation `get_next` give `batch`.

    Args:
      get_next: an IteratorGetNext operation.
      iterator: its iterator, of `iterators`.
      batch: the tensors that it is to give.
    """
    spec = iterators.element_spec(get_next)
    queue = _queue(spec, "%s_%s" % (get_next.name, uuid.uuid4().hex))
    put = tf.raw_ops.QueueEnqueueV2(handle=queue(), components=list(batch))
    tf_compat.add_control_input(get_next, put)

    def take(_):
        parts = tf.raw_ops.QueueDequeueV2(
            handle=queue(), component_types=[part.dtype for part in spec]
        )
        for part, wanted in zip(parts, spec):
            part.set_shape(wanted.shape)
        return tuple(parts)

    def dataset():
        return tf.data.Dataset.from_tensors(0).repeat().map(take).with_options(options)

    options = tf.data.Options()  # None that reads ahead: there is one batch to be had.
    options.experimental_optimization.apply_default_optimizations = False
    iterator.replace_dataset(dataset)


def _queue(spec, name):
    """A function that gives the handle of one queue in whatever graph it is called in."""
    types = [part.dtype for part in spec]
    return lambda: tf.raw_ops.FIFOQueueV2(component_types=types, shared_name=name)
