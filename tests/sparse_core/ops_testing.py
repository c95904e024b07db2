"""Stacks by plain numbers, for tests of the SparseCore ops."""

import numpy as np
import tensorflow as tf

from estimator_plugin.ops import sparse_core_ops as ops


def ints(value):
    return np.array(value, np.int32)


def floats(value):
    return np.array(value, np.float32)


def preprocess(features, **stack):
    """`sparse_core_preprocess` of dicts of one feature each; both get defaults.

    A feature: splits, ids, weights, samples, combiner, row_offset, col_offset, col_shift,
    vocabulary.
    """

    def of(key, default):
        return [feature.get(key, default) for feature in features]

    samples = of("samples", 4)
    attrs = {
        "feature_names": ["f%d" % f for f in range(len(features))],
        "sample_counts": samples,
        "combiners": of("combiner", "sum"),
        "row_offsets": of("row_offset", 0),
        "col_offsets": of("col_offset", 0),
        "col_shifts": of("col_shift", 0),
        "vocabulary_sizes": of("vocabulary", 0),
        "num_replicas": 1,
        "num_sc_per_chip": 2,
        "stacked_table_sample_count": sum(samples),
        "table_vocab_size": 1 << 20,
        "feature_width": 8,
        "max_ids_per_sparse_core": 1 << 20,
        "max_unique_ids_per_sparse_core": 1 << 20,
        "max_ids_per_chip_per_sample": 64,
        "table_name": "user",
    }
    attrs.update(stack)
    return ops.sparse_core_preprocess(
        of("splits", []), of("ids", []), [floats(w) for w in of("weights", 1.0)], **attrs
    )


def in_steps(features, num_replicas=1, num_sc_per_chip=2, capacity=64, limit=1 << 20, **pack):
    """What `preprocess` gives for one replica, by convert, sort and pack."""
    stack_samples = sum(feature["samples"] for feature in features)
    common = {
        "num_replica": num_replicas,
        "num_sc_per_chip": num_sc_per_chip,
        "table_vocab_size": 1 << 20,
        "feature_width": 8,
        "table_name": "user",
    }
    converted = [
        ops.sparse_core_convert(
            feature.get("splits", []),
            feature["ids"],
            floats(feature.get("weights", 1.0)),
            sample_count=feature["samples"],
            combiner=feature.get("combiner", "sum"),
            num_sc_per_chip=num_sc_per_chip,
            num_sc_shards=num_replicas * num_sc_per_chip,
            stacked_table_sample_count=stack_samples,
            row_offset=feature.get("row_offset", 0),
            col_offset=feature.get("col_offset", 0),
            col_shift=feature.get("col_shift", 0),
        )
        for feature in features
    ]
    cores = [
        ops.sparse_core_sort(
            *[[feature[part][core] for feature in converted] for part in range(3)],
            sample_count_list=[feature["samples"] // num_sc_per_chip for feature in features],
            col_offset_list=[feature.get("col_offset", 0) for feature in features],
            max_ids_per_sparse_core=limit,
            max_unique_ids_per_sparse_core=limit,
            **common,
        )
        for core in range(num_sc_per_chip)
    ]
    return ops.sparse_core_pack(
        *[[core[part] for core in cores] for part in range(4)],
        0,
        sample_count_per_sc=stack_samples // num_sc_per_chip,
        max_minibatches_per_sc=pack.pop("max_minibatches_per_sc", 64),
        max_ids_per_chip_per_sample=capacity,
        **dict(common, **pack),
    )


def run(tensors, **options):
    """The values, in a session with all variables initialized."""
    config = tf.compat.v1.ConfigProto(**options)
    with tf.compat.v1.Session(config=config) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(tensors)


def variable(rows):
    return tf.compat.v1.get_variable(
        "v%d" % len(tf.compat.v1.global_variables()),
        initializer=floats(rows),
        trainable=False,
        use_resource=True,
    )


def run_then(update, variables):
    """The variables after the update."""
    with tf.control_dependencies([update]):
        reads = [v.read_value() for v in variables]
    return run(reads)
