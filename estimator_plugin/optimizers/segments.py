"""From the pairs that `apply_gradients` takes to (addresses, gradients) for each table."""

import collections

import tensorflow as tf

from .. import lookup_registry, validate
from ..ops import lookup_ops


def slices_of(gradient, lookup):
    """The gradient of a lookup's embeddings as a tf.IndexedSlices over row addresses, or None."""
    if gradient is None:
        return None
    addresses, values = _rows(gradient, lookup.addresses)
    return tf.IndexedSlices(values, addresses)


def segments_by_table(owner, grads_and_vars):
    """Groups pairs by table.

    Args:
      owner: who asks, for error messages.
      grads_and_vars: pairs as `HashOptimizer` describes them.

    Returns:
      An ordered dict from EmbeddingTable to a non-empty list of (addresses, gradients): int64 of
      some shape, float32 of that shape + [dim].

    Raises:
      ValueError: no pair has a gradient, or a pair is not as it should be.
    """
    segments = collections.OrderedDict()
    pairs = [tuple(pair) for pair in grads_and_vars]
    for gradient, variable in pairs:
        if gradient is None:
            continue
        table = lookup_registry.table_of(variable)
        if table is not None:
            addresses, values = _of_table(owner, gradient, table)
        elif isinstance(variable, tf.Tensor):
            table = lookup_registry.table_of_address(variable)
            addresses, values = _rows(gradient, variable)
        else:
            validate.fail(
                owner,
                "grads_and_vars",
                variable,
                "pairs of a gradient and a table, a table's handle or an address tensor",
            )
        _check_shapes(owner, table, addresses, values)
        segments.setdefault(table, []).append((addresses, tf.cast(values, tf.float32)))
    if not segments:
        raise ValueError(
            "%s: none of %d pairs has a gradient; does the loss depend on the lookups?"
            % (owner, len(pairs))
        )
    return segments


def _of_table(owner, gradient, table):
    if not isinstance(gradient, tf.IndexedSlices):
        raise ValueError(
            "%s: the gradient of table %r must be a tf.IndexedSlices over row addresses, got %r"
            % (owner, table.name, gradient)
        )
    return tf.cast(gradient.indices, tf.int64), gradient.values


def _rows(gradient, addresses):
    """(addresses, gradients) where the gradient of a gather, itself IndexedSlices, stays sparse."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.gather(addresses, gradient.indices), gradient.values
    return addresses, gradient


def _check_shapes(owner, table, addresses, values):
    wanted = addresses.shape.concatenate([table.dim])
    if not values.shape.is_compatible_with(wanted):
        raise ValueError(
            "%s: table %r: gradients of shape %s do not belong to addresses of shape %s; "
            "they must be %s" % (owner, table.name, values.shape, addresses.shape, wanted)
        )


def without_padding(table, addresses):
    """`addresses` with the rows of the table's padding keys struck out: they take no update. For a
    table of this process."""
    if not table.padding_keys:
        return addresses
    with tf.control_dependencies([addresses]):  # The step's own lookup may have made the row.
        padding = lookup_ops.table_find(
            table.handle, tf.constant(table.padding_keys, tf.int64), insert=False
        )
    is_padding = tf.reduce_any(tf.equal(tf.expand_dims(addresses, -1), padding), axis=-1)
    return tf.where(is_padding, -tf.ones_like(addresses), addresses)
