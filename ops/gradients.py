"""Gradients of the ops that read a table.

With respect to the table's handle a lookup's gradient is a `tf.IndexedSlices`: `values` [n, dim],
one row for each key or address that was read, and `indices` [n] int64, the addresses of their rows
(-1 where there was none). So `tf.gradients(loss, handle)` works as it does for a resource variable,
and several lookups of one table come out as one IndexedSlices, concatenated. It has no
`dense_shape`: addresses are no row numbers of a matrix, so there is no dense form to convert to.

Keys, addresses and default rows have no gradient.

Where a table is on parameter servers an anchor, a scalar on the worker, stands for the handle, and
`unpack_rows` for the lookup: the indices are positions in its exchange.

    embeddings, addresses = table_lookup(handle, keys, dim=2, insert=True)
    gradient = tf.gradients(tf.reduce_sum(embeddings), handle)[0]
    update = table_apply_gradients(handle, [0.1, 0.0], gradient.indices, gradient.values, "sgd")
"""

import tensorflow as tf

_NOT_DIFFERENTIABLE = (
    "EpPackGradients",
    "EpRouteKeys",
    "EpServeAccumulate",
    "EpServeApplyAccumulated",
    "EpServeLookup",
    "EpServeUpdate",
    "EpSparseCoreApplyGradient",
    "EpSparseCoreConvert",
    "EpSparseCoreMatmul",
    "EpSparseCorePack",
    "EpSparseCorePreprocess",
    "EpSparseCoreSort",
    "EpSparseCoreStats",
    "EpTableApplyGradients",
    "EpTableApplyGradientsByKey",
    "EpTableEvict",
    "EpTableExport",
    "EpTableFind",
    "EpTableHandle",
    "EpTableIsInitialized",
    "EpTableMemory",
    "EpTableNewSave",
    "EpTableRemove",
    "EpTableSetThreshold",
    "EpTableSize",
    "EpTableStatistics",
    "EpUniqueWithCounts",
)


def _slices(op, embeddings_gradient, addresses):
    values = tf.reshape(embeddings_gradient, [-1, op.get_attr("dim")])
    return tf.IndexedSlices(values=values, indices=tf.reshape(addresses, [-1]))


@tf.RegisterGradient("EpTableLookup")
def _table_lookup_gradient(op, embeddings_gradient, _):
    return [_slices(op, embeddings_gradient, op.outputs[1]), None, None]


@tf.RegisterGradient("EpTableTrackedLookup")
def _table_tracked_lookup_gradient(op, embeddings_gradient, _):
    return [_slices(op, embeddings_gradient, op.outputs[1])] + [None] * 4


@tf.RegisterGradient("EpTableUniqueLookup")
def _table_unique_lookup_gradient(op, embeddings_gradient, *_):
    return [_slices(op, embeddings_gradient, op.outputs[1]), None, None]


@tf.RegisterGradient("EpTableGather")
def _table_gather_gradient(op, embeddings_gradient):
    return [_slices(op, embeddings_gradient, op.inputs[1]), None, None]


@tf.RegisterGradient("EpUnpackRows")
def _unpack_rows_gradient(op, embeddings_gradient):
    positions, _, _ = op.inputs[-3:]
    dim = op.get_attr("dims")[op.get_attr("table")]
    values = tf.reshape(embeddings_gradient, [-1, dim])
    slices = tf.IndexedSlices(values=values, indices=tf.reshape(positions, [-1]))
    return [None] * (len(op.inputs) - 1) + [slices]


for _op_type in _NOT_DIFFERENTIABLE:
    tf.no_gradient(_op_type)
