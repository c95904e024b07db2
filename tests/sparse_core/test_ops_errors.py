"""What the SparseCore ops refuse: the message names feature or table, value and limit."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import sparse_core_ops as ops
from tests.sparse_core import ops_testing as t

INVALID = tf.errors.InvalidArgumentError


def _convert(splits, values, weights=1.0, **attrs):
    defaults = {
        "sample_count": 8,
        "combiner": "sum",
        "num_sc_per_chip": 4,
        "num_sc_shards": 8,
        "stacked_table_sample_count": 16,
        "feature_name": "clicks",
    }
    defaults.update(attrs)
    return ops.sparse_core_convert(splits, values, weights, **defaults)


ALL = np.arange(8)
NOTHING = np.zeros([0], np.int32)


@pytest.mark.parametrize(
    "arguments, attrs, message",
    [
        (([], ALL), {"sample_count": 6, "stacked_table_sample_count": 8}, "sample_count is 6"),
        (([], ALL), {"row_offset": 2}, "row_offset is 2"),
        (([], ALL), {"row_offset": 12}, "row_offset 12.*16"),
        (([], ALL), {"stacked_table_sample_count": 10}, "stacked_table_sample_count is 10"),
        (([], ALL), {"num_sc_shards": 12}, "num_sc_shards is 12"),
        (([], ALL), {"combiner": "max"}, "combiner is 'max'"),
        (([], ALL[:7]), {}, "dense and has 7 ids; 8 samples"),
        (([], ALL, np.ones(1)), {}, "weights have shape .1. for 8 values"),
        (([], ALL), {"vocabulary_size": 7}, "id 7 .*below 7"),
        (([], ALL - 1), {"vocabulary_size": 100}, "id -1 .*below 100"),
        (([], ALL + 2**31), {}, "id 2147483648 does not fit"),
        (([0, 1, 2], ALL[:2]), {}, "3 elements; 8 samples want 9"),
        (([1] + [8] * 8, ALL), {}, r"row_splits\[0\] is 1"),
        (([0] + [7] * 8, ALL), {}, r"row_splits\[8\] is 7"),
        (([0, 5, 4] + [8] * 6, ALL), {}, r"row_splits\[2\] is 4"),
        (([0, 9] + [8] * 7, ALL), {}, r"row_splits\[1\] is 9"),
        (([[0, 0]], ALL[:2]), {}, r"indices have shape \[1,2\] for 2 values"),
        ((np.zeros([0, 2], np.int32), ALL), {}, r"indices have shape \[0,2\] for 8 values"),
        (([[1, 0], [0, 0]], ALL[:2]), {}, "sample 0 after sample 1"),
        (([[8, 0]], ALL[:1]), {}, "sample 8; there are 8"),
        (([[-1, 0]], ALL[:1]), {}, "sample -1"),
    ],
)
def test_convert_refuses(arguments, attrs, message):
    with pytest.raises(INVALID, match="feature 'clicks'.*" + message):
        t.run(_convert(*arguments, **attrs))


def _sort(rows, cols, gains, limits=(9, 9), **attrs):
    defaults = {
        "sample_count_list": [4],
        "col_offset_list": [0],
        "num_replica": 1,
        "table_vocab_size": 64,
        "feature_width": 8,
        "num_sc_per_chip": 4,
        "table_name": "user",
    }
    defaults.update(attrs)
    return ops.sparse_core_sort(
        [t.ints(rows)],
        [t.ints(cols)],
        [t.floats(gains)],
        max_ids_per_sparse_core=limits[0],
        max_unique_ids_per_sparse_core=limits[1],
        **defaults,
    )


def test_sort_refuses():
    for limits, message in [
        ((1, 9), "shard 0 gets 3 ids.*max_ids_per_sparse_core is 1"),
        ((3, 1), "shard 0 gets 2 unique ids.*max_unique_ids_per_sparse_core is 1"),
        ((tf.constant(0), 1), "max_ids_per_sparse_core is 0"),
    ]:
        with pytest.raises(INVALID, match="table 'user'.*" + message):
            t.run(_sort([0, 1, 2], [4, 4, 8], [1, 2, 3], limits))
    with pytest.raises(INVALID, match="column 64 .*64 columns"):
        t.run(_sort([0], [64], [1]))
    with pytest.raises(INVALID, match="column -1 "):
        t.run(_sort([0], [-1], [1]))
    with pytest.raises(INVALID, match="row id -1"):
        t.run(_sort([-1], [1], [1]))
    with pytest.raises(tf.errors.FailedPreconditionError, match="12 shards.*power of two"):
        t.run(_sort([0], [1], [1], num_replica=3))
    with pytest.raises(ValueError, match="max_ids_per_sparse_core is 0"):
        _sort([0], [1], [1], (0, 1))
    with pytest.raises(ValueError, match="col_offset_list has length 2"):
        _sort([0], [1], [1], col_offset_list=[0, 8])
    with pytest.raises(ValueError):
        _sort([0, 1], [1], [1])


def test_stats_are_the_smallest_limits():
    random = np.random.RandomState(3)
    rows, cols = np.sort(random.randint(0, 4, 60)), random.randint(0, 64, 60)
    stats = ops.sparse_core_stats(
        [t.ints(rows)],
        [t.ints(cols)],
        [t.floats(rows)],
        sample_count_list=[4],
        col_offset_list=[0],
        num_replica=1,
        table_vocab_size=64,
        feature_width=8,
        num_sc_per_chip=4,
        table_name="user",
    )
    ids, unique = t.run(stats)
    assert ids > unique > 1
    t.run(_sort(rows, cols, rows, (int(ids), int(unique))))
    for limits in [(ids - 1, unique), (ids, unique - 1)]:
        with pytest.raises(INVALID, match="gets"):
            t.run(_sort(rows, cols, rows, [int(limit) for limit in limits]))


def _pack(counts, splits=0, n=4, **attrs):
    defaults = {
        "sample_count_per_sc": 8,
        "num_replica": 1,
        "max_minibatches_per_sc": 2,
        "max_ids_per_chip_per_sample": 4,
        "table_vocab_size": 64,
        "feature_width": 8,
        "num_sc_per_chip": 1,
        "table_name": "user",
    }
    defaults.update(attrs)
    ids = t.ints(range(n))
    return ops.sparse_core_pack([ids], [ids], [t.floats(ids)], [t.ints(counts)], splits, **defaults)


@pytest.mark.parametrize(
    "arguments, attrs, message",
    [
        (([0, 3],), {}, "go from 0 to 3.*number of ids, 4"),
        (([1, 4],), {}, "go from 1 to 4"),
        (([0, 4, 4],), {}, "3 elements; 1 shards want 2 or 65"),
        (([0, 5, 3, 4],), {"num_replica": 2}, "4 elements; 2 shards"),
        (([0, 5, 4],), {"num_replica": 2}, "never fall"),
        (([0, 4], 1), {}, "2 minibatches want ids counted by bucket"),
        (([0] * 64 + [4], 7), {}, "4 minibatches; max_minibatches_per_sc is 2"),
        (([0, 4], -1), {}, "bit 63"),
        (([0, 4],), {"sample_count_per_sc": 3}, "is 12; it must be a multiple of 8"),
        (([0, 9], 0, 9), {"max_ids_per_chip_per_sample": 1}, "8 places.*9 ids are left"),
    ],
)
def test_pack_refuses(arguments, attrs, message):
    with pytest.raises(INVALID, match="table 'user'.*" + message):
        t.run(_pack(*arguments, **attrs))


def test_preprocess_refuses_what_the_steps_refuse():
    good = {"ids": np.arange(4), "samples": 4}
    for feature, stack, message in [
        ({"vocabulary": 3}, {}, "feature 'f0'.*id 3 .*below 3"),
        ({"ids": np.arange(4) + 2**32}, {}, "feature 'f0'.*4294967296"),
        ({"splits": [0, 4]}, {}, "feature 'f0'.*want 5"),
        ({"samples": 3}, {}, "sample_count is 3"),
        ({"combiner": "min"}, {}, "combiner is 'min'"),
        ({}, {"max_ids_per_sparse_core": 1, "num_sc_per_chip": 1}, "'user'.*shard 0 gets 4 ids"),
        ({}, {"max_unique_ids_per_sparse_core": tf.constant(-1)}, "is -1"),
        ({}, {"table_vocab_size": 3}, "column 3 .*3 columns"),
        ({}, {"max_ids_per_chip_per_sample": 1}, "is 4; it must be a multiple of 8"),
    ]:
        with pytest.raises(INVALID, match=message):
            t.run(t.preprocess([dict(good, **feature)], **stack))
    with pytest.raises(tf.errors.FailedPreconditionError, match="6 shards"):
        t.run(t.preprocess([good], num_replicas=3))
    with pytest.raises(ValueError, match="sample_counts has length 2"):
        t.preprocess([good], sample_counts=[4, 4])


def _csr(**parts):
    fields = {
        "row_pointers": t.ints([2] + [8] * 7),
        "sorted_sample_ids": t.ints([0, 1] + [0] * 6),
        "sorted_token_ids": t.ints([0, 7] + [0] * 6),
        "sorted_gains": t.floats([1] * 8),
        "row_pointers_unpadded_size": 8,
        "ids_unpadded_size": 8,
        "num_minibatches_per_sc": 1,
    }
    fields.update(parts)
    return ops.CsrBuffer(**fields)


BROKEN = [
    ({"row_pointers": t.ints([2] * 4)}, "4 row pointers and 8 ids"),
    ({"row_pointers": t.ints([9] * 8)}, "is 9; the segment begins at 0 of 8 ids"),
    ({"row_pointers": t.ints([-1] * 8)}, "is -1"),
    ({"sorted_sample_ids": t.ints([0, 2] + [0] * 6)}, "samples below 2"),
    ({"sorted_token_ids": t.ints([0, 8] + [0] * 6)}, "rows below 8"),
    ({"sorted_token_ids": t.ints([-1, 8] + [0] * 6)}, "rows below 8"),
    ({"sorted_token_ids": t.ints([7, 0] + [0] * 6)}, "never fall"),
    ({"num_minibatches_per_sc": 0}, "0 minibatches"),
    ({"num_minibatches_per_sc": 2}, "2 minibatches"),
]
TOPOLOGY = {"num_replicas": 1, "num_sc_per_chip": 1, "table_name": "user"}


@pytest.mark.parametrize("parts, message", BROKEN)
def test_lookup_and_update_refuse_a_broken_buffer(parts, message):
    table = t.variable(np.ones([8, 8]))
    csr = _csr(**parts)
    lookup = ops.sparse_core_matmul(csr, table.handle, input_size=2, width=8, **TOPOLOGY)
    update = ops.sparse_core_apply_gradient(
        csr, t.floats(np.ones([2, 8])), table.handle, [], [0.1, 0], rule="sgd", **TOPOLOGY
    )
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        for operation in (lookup, update):
            with pytest.raises(INVALID, match="table 'user'.*" + message):
                session.run(operation)
        assert (session.run(table.read_value()) == 1).all()


def test_lookup_refuses_a_table_that_does_not_fit():
    table = t.variable(np.ones([8, 8]))
    for attrs, message in [
        ({"width": 16}, r"\[8,8\], want float \[rows,16\]"),
        ({"quantization": (1, 0.0, 1.0)}, "1 buckets"),
        ({"quantization": (4, 1.0, 0.0)}, "from 1 to 0"),
        ({"num_sc_per_chip": 16}, "16 shards divide"),
        ({"input_size": 3, "num_sc_per_chip": 2}, "3 samples.*SparseCores of a chip, 2"),
    ]:
        arguments = dict(TOPOLOGY, input_size=2, width=8)
        arguments.update(attrs)
        with pytest.raises(INVALID, match="table 'user'.*" + message):
            t.run(ops.sparse_core_matmul(_csr(), table.handle, **arguments))


def test_update_refuses_what_does_not_fit():
    table, slot, short = (t.variable(np.ones([n, 8])) for n in (8, 8, 4))
    gradients = t.floats(np.ones([2, 8]))

    def update(slots, hyperparameters, rule, **attrs):
        handles = [variable.handle for variable in slots]
        return ops.sparse_core_apply_gradient(
            _csr(),
            gradients,
            table.handle,
            handles,
            hyperparameters,
            rule=rule,
            **TOPOLOGY,
            **attrs,
        )

    for arguments, message in [
        (([], [0.1, 0, 0.1], "adagrad"), "has 1 slots, got 0"),
        (([slot], [0.1], "adagrad"), "takes 3 hyperparameters, got 1"),
        (([slot], [0.1], "adadelta"), "unknown update rule 'adadelta'"),
        (([table], [0.1, 0, 0.1], "adagrad"), "given twice"),
        (([short], [0.1, 0, 0.1], "adagrad"), "slot 0 has 4 rows, the table has 8"),
        (([slot, short], [0.1, 0.9, 0, 0, 1, 1e-9], "adagrad_momentum"), "exponent is 0"),
    ]:
        with pytest.raises(INVALID, match="table 'user'.*" + message):
            t.run(update(*arguments))
    with pytest.raises(ValueError, match="clip_weight_min is 2.*clip_weight_max, 1"):
        update([], [0.1, 0], "sgd", clip_weight_min=2, clip_weight_max=1)


def test_an_uninitialized_variable_is_a_failed_precondition():
    table = t.variable(np.ones([8, 8]))
    lookup = ops.sparse_core_matmul(_csr(), table.handle, input_size=2, width=8, **TOPOLOGY)
    wanted = pytest.raises(tf.errors.FailedPreconditionError, match="table 'user'.*initialize")
    with tf.compat.v1.Session() as session, wanted:
        session.run(lookup)
