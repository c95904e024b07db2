"""Preprocessing, lookup and update of a stack by worked examples and by plain numpy."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import sparse_core_ops as ops
from tests.sparse_core import ops_testing as t

P = 2**31 - 1

# Four samples of ids [0, 3, 3] [5] [] [2, 0] by mean.
EXAMPLE_A = {
    "splits": [0, 3, 4, 4, 6],
    "ids": [0, 3, 3, 5, 2, 0],
    "weights": [1, 1, 2, 1, 3, 1],
    "samples": 4,
    "combiner": "mean",
    "vocabulary": 10,
}


def _shard_major(rows, shards):
    """Rows of a padded table in the order of its variable."""
    rows = t.floats(rows)
    return np.concatenate([rows[shard::shards] for shard in range(shards)])


def test_example_a_buffer():
    csr = t.run(t.preprocess([EXAMPLE_A], table_vocab_size=16))
    assert csr.row_pointers[:16].tolist() == [1, 10] + [16] * 6 + [18] + [24] * 7
    assert (
        csr.sorted_sample_ids[:24].tolist() == [0] + [P] * 7 + [0, 1] + [P] * 6 + [1, 1] + [P] * 6
    )
    assert csr.sorted_token_ids[:24].tolist() == [0] + [P] * 7 + [1, 2] + [P] * 6 + [0, 1] + [P] * 6
    assert csr.sorted_gains[[0, 8, 9, 16, 17]].tolist() == [0.25, 0.75, 1, 0.25, 0.75]
    assert (csr.row_pointers.size, csr.sorted_gains.size) == (1024, 256)
    assert (csr.ids_unpadded_size, csr.row_pointers_unpadded_size) == (24, 16)
    assert csr.num_minibatches_per_sc == 1


def test_example_a_lookup_and_update():
    table = t.variable(_shard_major(np.repeat(np.arange(16), 8).reshape(16, 8), 2))
    csr = t.preprocess([EXAMPLE_A], table_vocab_size=16)
    topology = {"num_replicas": 1, "num_sc_per_chip": 2}
    activations = ops.sparse_core_matmul(csr, table.handle, input_size=4, width=8, **topology)
    gradients = np.zeros([4, 8])
    gradients[:, :2] = [[1, 2], [3, 4], [5, 6], [7, 8]]
    with tf.control_dependencies([activations]):
        update = ops.sparse_core_apply_gradient(
            csr, t.floats(gradients), table.handle, [], [0.5, 0], rule="sgd", **topology
        )
    with tf.control_dependencies([update]):
        after = table.read_value()
    looked_up, rows = t.run([activations, after])
    np.testing.assert_array_equal(looked_up[:, 0], [2.25, 5, 0, 1.5])
    logical = np.zeros([16, 8], np.float32)
    logical[0::2], logical[1::2] = rows[:8], rows[8:]
    expected = np.repeat(np.arange(16.0), 8).reshape(16, 8)
    changed = {0: (-1, -1.25), 2: (-0.625, -1), 3: (2.625, 2.25), 5: (3.5, 3)}
    for row, values in changed.items():
        expected[row, :2] = values
    np.testing.assert_array_equal(logical, expected)


def _example_b(replicas):
    """Two tables, shards of b rotated by 2; every replica has the same samples."""
    return [
        {"ids": [0, 1, 5, 4] * replicas, "samples": 4, "vocabulary": 6},
        {
            "ids": [0, 1, 8, 3] * replicas,
            "samples": 4,
            "row_offset": 4,
            "col_offset": 32,
            "col_shift": 2,
            "vocabulary": 9,
        },
    ]


def test_example_b_two_replicas_two_tables():
    csr = t.preprocess(_example_b(2), num_replicas=2, table_vocab_size=64)
    first = [list(range(s, 32, 4)) + list(range(100 + (s + 2) % 4, 132, 4)) for s in range(4)]
    table = t.variable(np.repeat(np.concatenate(first), 8).reshape(64, 8))
    topology = {"num_replicas": 2, "num_sc_per_chip": 2}
    activations = ops.sparse_core_matmul(csr, table.handle, input_size=8, width=8, **topology)
    gradient = np.repeat([1.0, 1, 2, 2, 1, 1, 2, 2] * 2, 8).reshape(16, 8)
    with tf.control_dependencies([activations]):
        update = ops.sparse_core_apply_gradient(
            csr, t.floats(gradient), table.handle, [], [0.5, 0], rule="sgd", **topology
        )
    with tf.control_dependencies([update]):
        after = table.read_value()
    buffer, looked_up, rows = t.run([csr, activations, after])
    pointers = [1, 9, 17, 25, 32, 32, 32, 32, 33, 42, 49, 56, 56, 56, 56, 56]
    assert buffer.row_pointers[:16].tolist() == pointers
    assert buffer.row_pointers[1024:1040].tolist() == pointers
    assert buffer.ids_unpadded_size.tolist() == [56, 56]
    assert looked_up[:, 0].tolist() == [0, 1, 100, 101, 5, 4, 108, 103] * 2
    logical_a = [rows[row % 4 * 16 + row // 4, 0] for row in range(6)]
    logical_b = [rows[(row + 2) % 4 * 16 + 8 + row // 4, 0] for row in range(9)]
    assert logical_a == [-1, 0, 2, 3, 3, 4]
    assert logical_b == [98, 99, 102, 101, 104, 105, 106, 107, 106]


def _random_features(random, samples, wide):
    """Features of all kinds over three tables, two features sharing one."""
    features = []
    row_offset = 0
    for f, kind in enumerate(["dense", "ragged", "sparse", "ragged", "dense"]):
        lengths = np.ones(samples, int) if kind == "dense" else random.randint(0, 5, samples)
        ids = random.randint(0, 40, lengths.sum()).astype(np.int64 if wide else np.int32)
        splits = np.concatenate([[0], np.cumsum(lengths)])
        if kind == "sparse":
            splits = np.stack([np.repeat(np.arange(samples), lengths)] * 2, axis=1)
        features.append(
            {
                "splits": [] if kind == "dense" else splits.astype(np.int64 if f % 2 else np.int32),
                "ids": ids,
                "weights": 1.0 if f == 1 else random.randn(len(ids)),
                "samples": samples,
                "combiner": ["sum", "mean", "sqrtn", "mean", "sum"][f],
                "row_offset": row_offset,
                "col_offset": [0, 128, 64, 128, 0][f],
                "col_shift": [0, 4, 2, 4, 0][f],
            }
        )
        row_offset += samples
    return features


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("replicas, cores", [(1, 1), (1, 4), (2, 4), (4, 4)])
def test_all_in_one_gives_what_the_steps_give(replicas, cores, threads):
    features = _random_features(np.random.RandomState(cores), 600, threads == 1)
    # One replica's ids; the others' samples are the same again.
    repeated = [_repeat(feature, replicas) for feature in features]
    fused = t.preprocess(repeated, num_replicas=replicas, num_sc_per_chip=cores)
    steps = t.in_steps(features, num_replicas=replicas, num_sc_per_chip=cores)
    fused, steps = t.run([fused, steps], intra_op_parallelism_threads=threads)
    for name, expected in steps._asdict().items():
        if name == "num_minibatches_per_sc":
            assert getattr(fused, name) == expected
            continue
        parts = np.split(np.atleast_1d(getattr(fused, name)), replicas)
        for part in parts:
            np.testing.assert_array_equal(part, np.atleast_1d(expected), err_msg=name)


def _repeat(feature, replicas):
    splits = np.array(feature["splits"])
    tokens, samples = len(feature["ids"]), feature["samples"]
    if splits.ndim == 2:
        shifts = np.repeat(np.arange(replicas) * samples, tokens)
        splits = np.concatenate([splits] * replicas) + shifts[:, None]
    elif splits.size:
        splits = np.concatenate([[0]] + [splits[1:] + r * tokens for r in range(replicas)])
    repeated = dict(feature, ids=np.concatenate([feature["ids"]] * replicas))
    repeated["splits"] = splits.astype(np.int64) if splits.size else []
    if np.ndim(feature["weights"]):
        repeated["weights"] = np.concatenate([feature["weights"]] * replicas)
    return repeated


def test_a_smaller_batch_leaves_nothing_of_a_larger_one():
    ids = tf.compat.v1.placeholder(tf.int32, [None])
    splits = tf.compat.v1.placeholder(tf.int32, [None])
    csr = t.preprocess([{"splits": splits, "ids": ids, "samples": 4}])
    with tf.compat.v1.Session() as session:
        sizes = []
        for n in (100, 30, 0, 60):
            feed = {ids: np.arange(n), splits: [0, n // 2, n, n, n]}
            values = session.run(csr, feed)
            sizes.append(values.ids_unpadded_size)
            used = values.ids_unpadded_size
            assert (values.sorted_sample_ids[used:] == P).all()
            assert (values.sorted_token_ids[used:] == P).all()
            assert (values.sorted_gains[used:] == 2.0**31).all()
    assert sizes == [112, 32, 0, 64]


def test_ids_beyond_the_capacity_are_dropped_or_refused():
    feature = {"ids": np.arange(8), "samples": 8}
    stack = {"num_sc_per_chip": 4, "max_ids_per_chip_per_sample": 1}
    with pytest.raises(tf.errors.InvalidArgumentError, match="user.*8 places"):
        t.run(t.preprocess([feature], **stack))
    kept = t.run(t.preprocess([feature], allow_id_dropping=True, **stack))
    assert (kept.ids_unpadded_size, kept.sorted_gains.size) == (8, 8)
    steps = t.run(t.in_steps([feature], num_sc_per_chip=4, capacity=1, allow_id_dropping=True))
    np.testing.assert_array_equal(kept.row_pointers, steps.row_pointers)
    np.testing.assert_array_equal(kept.sorted_token_ids, steps.sorted_token_ids)


@pytest.mark.parametrize("width", [8, 24, 32])
def test_quantized_lookup(width):
    values = [-2, -0.3, -0.2, 0, 0.1, 0.44, 3, 0]
    table = t.variable(np.repeat(values, width).reshape(8, width))
    csr = t.preprocess([{"ids": np.arange(8), "samples": 8}], num_sc_per_chip=1)
    activations = ops.sparse_core_matmul(
        csr,
        table.handle,
        input_size=8,
        num_replicas=1,
        num_sc_per_chip=1,
        width=width,
        quantization=(5, -0.5, 0.75),
    )
    expected = [-0.5, -0.1875, -0.1875, 0.125, 0.125, 0.4375, 0.75, 0.125]
    assert t.run(activations)[:, 0].tolist() == expected
