"""Embedding lookups: `sparse_lookup`."""

import re

import tensorflow as tf

from . import (
    batch_counts,
    combiners,
    constants,
    feature_pipeline,
    lookup_inputs,
    lookup_registry,
    notices,
    send_limits,
    thresholds,
    tracking,
    validate,
)
from .distribute import exchange
from .feature_spec import FeatureSpec
from .graph import merge, requests
from .ops import lookup_ops, usage_ops


def sparse_lookup(
    hashtable,
    ids,
    send_count=None,
    is_train=True,
    name=None,
    modify_graph=False,
    batch=None,
    access_and_evict_config=None,
    is_grad=True,
    serving_default_value=None,
    combiner=None,
    weights=None,
    **kwargs,
):
    """The embeddings of `ids`, new ids getting a row when training.

    Args:
      hashtable: EmbeddingTable of the graph.
      ids: int32 or int64 tf.Tensor of any shape, tf.SparseTensor or tf.RaggedTensor. Every value
        but -1 is an id; -1 is no id, reads as zeros and takes no gradient. Or a FeatureSpec, which
        finds the ids in `batch`.
      is_train: bool, default True. False never inserts: an id without a row reads as zeros, or as
        serving_default_value. Pass `mode == tf.estimator.ModeKeys.TRAIN`.
      name: None or str of 1 to 255 characters; None is sparse_lookup_<n>, counted by table.
      is_grad: bool, default True. False stops gradients.
      serving_default_value: None, one value or a row of `dim`: what an id without a row reads.
        None is zeros.
      combiner: None, "sum", "mean" or "sqrtn": pools the ids of the last dimension, as
        `tf.nn.embedding_lookup_sparse` does; an example without ids gives zeros. An id without a
        row counts with what it reads. tf.SparseTensor ids need a combiner.
      weights: None, or of the kind and shape of ids: a factor for each id. Needs a combiner; mean
        divides by the sum of weights, sqrtn by the root of the sum of their squares, and where that
        is 0 the result is 0.
      modify_graph: bool or None. True asks GraphModifierHook, or modify_graph_and_start_emb_cache,
        to move what computes the ids into the input pipeline. The results are the same.
      batch: the batch that a FeatureSpec is for, a dict, tuple, list or tensor as it came out of
        the dataset. With ids of another kind it is not used.
      access_and_evict_config: None or a dict of access_threshold, eviction_threshold and
        faae_coefficient, which mean what they mean in a FeatureSpec. In training an id below the
        access_threshold has no row. All training lookups of a table have the same thresholds; None
        takes those of the lookups before. Time is what the collection ASCEND_TIMESTAMP holds, a
        scalar of the batch; without one it is the global step.
      send_count: None or int from 1. With init(use_dynamic=False), the most distinct ids other
        than -1 that a step looks up, for each parameter server; a step that has more fails with a
        tf.errors.InvalidArgumentError. Needed there, of no effect otherwise.
      **kwargs: accepted for the Rec SDK's sake, said once to have no effect.

    Returns:
      float32: without combiner, a tensor of shape ids.shape + [dim], or for ragged ids a
      tf.RaggedTensor of embeddings; with combiner, ids.shape[:-1] + [dim].

    Raises:
      ValueError: an argument is of a wrong type, shape or range. The message names the table, the
        argument, its value and what would be right.
      RuntimeError: ids are a FeatureSpec that no training dataset was mapped with.

    >>> emb = sparse_lookup(table, tf.constant([[1, 2], [3, -1]]))       # [2, 2, dim]
    >>> emb = sparse_lookup(table, sparse_ids, combiner="mean")          # [batch, dim]

    In a training lookup the embeddings and addresses of the distinct uses join the collections
    ASCEND_SPARSE_LOOKUP_LOCAL_EMB and ASCEND_SPARSE_LOOKUP_ID_OFFSET.

    Semantics: `mx_rec.core.embedding.sparse_lookup` of the Rec SDK, with combiners added.
    """
    table = lookup_registry.require_table("sparse_lookup", hashtable)
    owner = "lookup in table %r" % table.name
    _check_arguments(owner, send_count, modify_graph, kwargs)
    validate.boolean(owner, "is_train", is_train)
    validate.boolean(owner, "is_grad", is_grad)
    validate.string(owner, "name", name, 255, optional=True)
    found = _find(owner, table, ids, batch, is_train, access_and_evict_config)
    ids = lookup_inputs.checked_ids(owner, found.ids)
    _check_combiner(owner, ids, combiner, weights)
    if is_train and is_grad and tf.compat.v1.get_default_graph() is not table.graph:
        raise ValueError(
            "%s: a training lookup inside a function body (tf.map_fn, tf.cond, tf.function) cannot "
            "be trained; look the ids up outside, or pass is_grad=False" % owner
        )
    name = name or lookup_registry.default_name(table)
    with tf.compat.v1.name_scope("%s/%s" % (table.name, re.sub(r"[^\w.\-/]", "_", name))):
        weights = lookup_inputs.checked_weights(owner, weights, ids)
        default = lookup_inputs.default_row(owner, serving_default_value, table.dim)
        keys = lookup_inputs.flat_values(ids)
        keys = send_limits.checked(owner, table, name, keys, send_count, is_train)
        tracked = None
        if is_train:
            tracked = tracking.arguments(owner, table, keys, found.thresholds, found.timestamp)
        embeddings = _look_up(table, name, keys, default, is_train, is_grad, tracked, modify_graph)
        if modify_graph:
            requests.of_lookup(lookup_registry.lookups_of(table)[-1], ids)
        if serving_default_value is not None:
            embeddings = _zero_where_no_key(keys, embeddings)
        if combiner is not None:
            return _pooled(combiner, ids, embeddings, weights)
    return ids.with_flat_values(embeddings) if isinstance(ids, tf.RaggedTensor) else embeddings


def _find(owner, table, ids, batch, is_train, config):
    """The ids of a lookup and what was said about when they come and go."""
    limits = thresholds.of_config(owner, config)
    if not isinstance(ids, FeatureSpec):
        return feature_pipeline.Found(ids, limits, None)
    found = feature_pipeline.find(owner, table, ids, batch, is_train)
    return found._replace(thresholds=thresholds.agreed(table.name, found.thresholds, limits))


def _look_up(table, name, keys, default, is_train, is_grad, tracked, is_replaceable):
    """The embeddings of `keys`, keys.shape + [dim]; the lookup is registered by flat keys."""
    shape = keys.shape
    flat = keys if shape.rank == 1 else tf.reshape(keys, [-1])
    if table.is_distributed:
        local, addresses = exchange.look_up(table, flat, default, is_train, tracked)
    else:
        with tf.device(table.handle.device):
            if tracked is None:
                local, addresses = lookup_ops.table_lookup(
                    table.handle, flat, table.dim, insert=is_train, default_row=default
                )
                if is_replaceable:
                    local, addresses = merge.replaceable(local, addresses)
            else:
                local, addresses = _look_up_and_count(table, flat, default, tracked)
    lookup_registry.register(
        lookup_registry.Lookup(table, name, flat, local, addresses, is_train, is_grad)
    )
    embeddings = local if is_grad else tf.stop_gradient(local)
    if shape.rank == 1:
        return embeddings
    if shape.is_fully_defined():
        return tf.reshape(embeddings, shape.as_list() + [table.dim])
    embeddings = tf.reshape(embeddings, tf.concat([tf.shape(keys), [table.dim]], axis=0))
    embeddings.set_shape(shape.concatenate([table.dim]))
    return embeddings


def _look_up_and_count(table, keys, default, tracked):
    def look_up(occurrences):
        return usage_ops.table_tracked_lookup(
            table.handle,
            keys,
            table.dim,
            default_row=default,
            occurrences=occurrences,
            **tracked,
        )

    if tracked["access_threshold"] > 0:
        return batch_counts.of(table, keys).join(keys, look_up)
    return look_up(None)


def _pooled(combiner, ids, embeddings, weights):
    if isinstance(ids, tf.SparseTensor):
        return _pooled_sparse(combiner, ids, embeddings, weights)
    if isinstance(ids, tf.RaggedTensor):
        return _pooled_ragged(combiner, ids, embeddings, weights)
    return combiners.pool_dense(combiner, ids, embeddings, weights)


def _pooled_sparse(combiner, ids, embeddings, weights):
    """Pools over the last dimension of a tf.SparseTensor of rank 2 or more."""
    outer = ids.dense_shape[:-1]
    strides = tf.math.cumprod(outer, exclusive=True, reverse=True)
    segments = tf.reduce_sum(ids.indices[:, :-1] * strides, axis=1)
    pooled = combiners.pool_segments(
        combiner, ids.values, embeddings, weights, segments, tf.reduce_prod(outer)
    )
    dim = embeddings.shape[-1:]
    if ids.shape.rank != 2:
        pooled = tf.reshape(pooled, tf.concat([outer, tf.cast(dim, tf.int64)], axis=0))
    pooled.set_shape(ids.shape[:-1].concatenate(dim))
    return pooled


def _pooled_ragged(combiner, ids, embeddings, weights):
    """Pools over the last dimension of a tf.RaggedTensor, ragged or uniform."""
    if ids.flat_values.shape.rank != 1:
        pooled = combiners.pool_dense(combiner, ids.flat_values, embeddings, weights)
        return ids.with_flat_values(pooled)
    innermost = ids
    while isinstance(innermost.values, tf.RaggedTensor):
        innermost = innermost.values
    pooled = combiners.pool_segments(
        combiner,
        innermost.values,
        embeddings,
        weights,
        innermost.value_rowids(),
        innermost.nrows(),
    )
    if ids.ragged_rank == 1:
        pooled.set_shape(ids.shape[:1].concatenate(embeddings.shape[-1:]))
        return pooled
    return tf.RaggedTensor.from_nested_row_splits(
        pooled, ids.nested_row_splits[:-1], validate=False
    )


def _zero_where_no_key(keys, embeddings):
    no_key = tf.expand_dims(tf.equal(keys, constants.NO_KEY), -1)
    return tf.where(
        tf.broadcast_to(no_key, tf.shape(embeddings)), tf.zeros_like(embeddings), embeddings
    )


def _check_combiner(owner, ids, combiner, weights):
    if combiner is None:
        if weights is not None:
            raise ValueError("%s: weights need a combiner, got None" % owner)
        if isinstance(ids, tf.SparseTensor):
            raise ValueError(
                "%s: ids are a tf.SparseTensor, so combiner must be one of %s, got None; for "
                "embeddings that are not pooled look up ids.values or tf.sparse.to_dense(ids, "
                "default_value=-1)" % (owner, ", ".join(repr(c) for c in combiners.COMBINERS))
            )
        return
    validate.choice(owner, "combiner", combiner, combiners.COMBINERS)
    if ids.shape.rank is not None and ids.shape.rank < 2:
        raise ValueError(
            "%s: combiner %r pools the last dimension of ids, which must have rank 2 or more, "
            "got shape %s" % (owner, combiner, ids.shape)
        )


def _check_arguments(owner, send_count, modify_graph, kwargs):
    validate.integer(owner, "send_count", send_count, 1, validate.INT32_MAX, optional=True)
    if modify_graph is not None:
        validate.boolean(owner, "modify_graph", modify_graph)
    notices.no_meaning("sparse_lookup", list(kwargs))
