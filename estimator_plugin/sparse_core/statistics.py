"""`compute_sparse_core_stats`: the limits that a batch needs."""

import collections

import tensorflow as tf

from ..ops import sparse_core_ops
from . import preprocessing


def limits_of_batch(plan, flat_features):
    """The smallest limits with which a batch of one replica can be preprocessed.

    Args:
      plan: plan.Plan.
      flat_features: list in the order of `plan.features`, the samples of one replica.

    Returns:
      (max_ids, max_unique_ids): OrderedDicts stack name -> scalar int32 tensor.
    """
    ids_of_path = {
        feature.path: preprocessing.ids_of(feature.path, ids, None)
        for feature, ids in zip(plan.features, flat_features)
    }
    max_ids, max_unique_ids = collections.OrderedDict(), collections.OrderedDict()
    for name, stack in plan.stacks.items():
        ids, unique_ids = _limits_of_stack(plan, stack, ids_of_path)
        max_ids[name], max_unique_ids[name] = ids, unique_ids
    return max_ids, max_unique_ids


def _limits_of_stack(plan, stack, ids_of_path):
    cores = plan.topology.num_sc_per_chip
    placements = preprocessing.placements_of(stack)
    by_feature = [
        _converted(plan, stack, stacked.sample_offset, feature, place, ids_of_path[feature.path])
        for stacked, (feature, place) in zip(stack.features, placements)
    ]
    counts = []
    for core in range(cores):
        row_ids, col_ids, gains = zip(*[[part[core] for part in parts] for parts in by_feature])
        counts.append(
            sparse_core_ops.sparse_core_stats(
                row_ids,
                col_ids,
                gains,
                sample_count_list=[feature.samples // cores for feature, _ in placements],
                col_offset_list=[place.row_offset * place.num_shards for _, place in placements],
                num_replica=plan.topology.num_replicas,
                table_vocab_size=stack.rows,
                feature_width=stack.width,
                num_sc_per_chip=cores,
                table_name=stack.name,
            )
        )
    return [tf.reduce_max(tf.stack(of_cores)) for of_cores in zip(*counts)]


def _converted(plan, stack, sample_offset, feature, place, ids):
    return sparse_core_ops.sparse_core_convert(
        *ids,
        sample_count=feature.samples,
        combiner=feature.table.combiner,
        num_sc_per_chip=plan.topology.num_sc_per_chip,
        num_sc_shards=place.num_shards,
        stacked_table_sample_count=stack.sample_count,
        row_offset=sample_offset,
        col_offset=place.row_offset * place.num_shards,
        col_shift=place.rotation,
        vocabulary_size=feature.table.vocabulary_size,
        feature_name=feature.path,
    )
