"""What time it is for a table: the timestamp of the batch, or else the global step."""

import tensorflow as tf

from . import constants, graph_state, graph_walk


def checked(owner, value):
    """`value` as an int64 tensor. That it is above 0 is checked where it is used, when run.

    Raises:
      ValueError: it is no integer tensor, or is known not to be a scalar.
    """
    value = tf.convert_to_tensor(value)
    if not value.dtype.is_integer:
        raise ValueError("%s: a timestamp must be an integer, got %s" % (owner, value.dtype.name))
    if value.shape.rank not in (0, None):
        raise ValueError(
            "%s: a timestamp must be one scalar for the whole batch, got shape %s; take the latest "
            "of its examples with tf.reduce_max" % (owner, value.shape)
        )
    return tf.cast(value, tf.int64)


def of_graph(owner, keys):
    """The timestamp that the user put into the collection ASCEND_TIMESTAMP for `keys`, or None.

    Of several it is the one that comes out of the same iterator as `keys`.

    Raises:
      ValueError: there are several, and not exactly one of them is of the same iterator.
    """
    found = graph_state.outermost_graph().get_collection(constants.ASCEND_TIMESTAMP)
    if len(found) > 1:
        sources = graph_walk.sources(graph_walk.ops_above(keys))
        found = [t for t in found if sources & graph_walk.ops_above(t)]
        if len(found) != 1:
            raise ValueError(
                "%s: %d timestamps of the collection %s come from the iterator that the ids come "
                "from; it must be one" % (owner, len(found), constants.ASCEND_TIMESTAMP)
            )
    return checked(owner, found[0]) if found else None


def of_steps(graph):
    """The global step of `graph` as an int64 scalar, or None when it has none."""
    step = tf.compat.v1.train.get_global_step(graph)
    return None if step is None else tf.cast(tf.identity(step), tf.int64)
