"""Every TensorFlow initializer starts rows: natively, or through a bank of pre-drawn rows."""

import math

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import initializers
from tests.plugin import support

v1 = tf.compat.v1
keras = tf.keras.initializers

TRUNCATED = 0.87962566103423978


def spec(initializer, dim=4, init_param=1.0, name="user"):
    return initializers.spec_of(name, initializer, dim, init_param)


def rows(initializer, keys=20000, dim=4, **kwargs):
    """The starting embeddings of keys 0 ... keys - 1."""
    table = support.table(initializer=initializer, dim=dim, **kwargs)
    embeddings = ep.sparse_lookup(table, tf.range(keys, dtype=tf.int64))
    with support.ready_session() as session:
        return session.run(embeddings)


@pytest.mark.parametrize(
    "initializer, kind, arguments",
    [
        (v1.zeros_initializer(), "constant", [0.0]),
        (tf.zeros_initializer(), "constant", [0.0]),
        (keras.Zeros(), "constant", [0.0]),
        (v1.ones_initializer(), "constant", [1.0]),
        (keras.Ones(), "constant", [1.0]),
        (v1.constant_initializer(2.5), "constant", [2.5]),
        (tf.constant_initializer([2.5]), "constant", [2.5]),
        (keras.Constant(2), "constant", [2.0]),
        (v1.random_uniform_initializer(-1, 3), "uniform", [-1.0, 3.0]),
        (tf.random_uniform_initializer(), "uniform", [-0.05, 0.05]),
        (keras.RandomUniform(0, 1), "uniform", [0.0, 1.0]),
        (v1.random_normal_initializer(1.0, 0.5), "normal", [1.0, 0.5]),
        (tf.random_normal_initializer(), "normal", [0.0, 0.05]),
        (keras.RandomNormal(stddev=2.0), "normal", [0.0, 2.0]),
        (v1.truncated_normal_initializer(stddev=0.1), "truncated_normal", [0.0, 0.1]),
        (keras.TruncatedNormal(stddev=0.1), "truncated_normal", [0.0, 0.1]),
        (v1.glorot_uniform_initializer(), "uniform", [-math.sqrt(3 / 4), math.sqrt(3 / 4)]),
        (keras.GlorotUniform(), "uniform", [-math.sqrt(3 / 4), math.sqrt(3 / 4)]),
        (v1.glorot_normal_initializer(), "truncated_normal", [0.0, 0.5 / TRUNCATED]),
        (keras.HeUniform(), "uniform", [-math.sqrt(6 / 4), math.sqrt(6 / 4)]),
        (
            v1.variance_scaling_initializer(distribution="untruncated_normal"),
            "normal",
            [0.0, 0.5],
        ),
    ],
)
def test_native_kinds(initializer, kind, arguments):
    found = spec(initializer)
    assert found.kind == kind and found.bank is None
    np.testing.assert_allclose(found.arguments, arguments)


def test_init_param_scales_every_native_kind():
    assert spec(v1.ones_initializer(), init_param=-2).arguments == [-2.0]
    assert spec(v1.random_uniform_initializer(-1, 3), init_param=-2).arguments == [-6.0, 2.0]
    assert spec(v1.random_normal_initializer(1.0, 0.5), init_param=-2).arguments == [-2.0, 1.0]
    assert spec(keras.HeUniform(), init_param=0).arguments == [0.0, 0.0]


@pytest.mark.parametrize(
    "initializer",
    [
        v1.orthogonal_initializer(),
        keras.Identity(),
        v1.uniform_unit_scaling_initializer(),
        v1.constant_initializer([1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_others_go_through_a_bank(initializer):
    found = spec(initializer, init_param=2.0)
    assert found.kind == "bank"
    bank = found.bank()
    assert bank.dtype == tf.float32 and bank.shape[1] == 4
    assert bank.shape[0] in (1, 4096)


def test_bank_is_at_most_4_mib_and_at_least_a_row():
    class Odd(tf.keras.initializers.Initializer):
        def __call__(self, shape, dtype=None, **unused_kwargs):
            return tf.ones(shape, dtype)

    assert spec(Odd(), dim=1024).bank().shape == (1024, 1024)
    assert spec(Odd(), dim=8192).bank().shape == (128, 8192)


def test_overridden_call_is_not_taken_for_its_base():
    class Shifted(v1.random_normal_initializer):
        def __call__(self, shape, dtype=None, partition_info=None):
            return super().__call__(shape, dtype, partition_info) + 100.0

    found = spec(Shifted())
    assert found.kind == "bank"
    assert rows(Shifted(), keys=50).min() > 50


def test_bank_rows_reach_the_table_and_follow_the_key():
    first = rows(v1.constant_initializer([1.0, 2.0, 3.0, 4.0]), keys=5, init_param=2.0)
    np.testing.assert_array_equal(first, [[2.0, 4.0, 6.0, 8.0]] * 5)
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        orthogonal = rows(v1.orthogonal_initializer(), keys=100)
    assert len(np.unique(orthogonal[:, 0])) > 90


def test_bank_without_seed_is_the_same_in_every_run():
    drawn = []
    for _ in range(2):
        with tf.Graph().as_default():
            drawn.append(rows(v1.uniform_unit_scaling_initializer(), keys=10))
    np.testing.assert_array_equal(drawn[0], drawn[1])


@pytest.mark.parametrize(
    "initializer, mean, stddev, low, high",
    [
        (v1.random_uniform_initializer(-1.0, 3.0), 1.0, 4 / math.sqrt(12), -1.0, 3.0),
        (v1.random_normal_initializer(1.0, 0.5), 1.0, 0.5, -3.0, 5.0),
        (v1.truncated_normal_initializer(stddev=0.1), 0.0, 0.1 * TRUNCATED, -0.2, 0.2),
        (keras.GlorotNormal(), 0.0, 0.5, -1.2, 1.2),
    ],
)
def test_distributions(initializer, mean, stddev, low, high):
    drawn = rows(initializer)
    assert abs(drawn.mean() - mean) < 0.02 * max(stddev, 0.1)
    assert abs(drawn.std() - stddev) < 0.02 * stddev
    assert drawn.min() >= low and drawn.max() <= high
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.05


def test_seed_of_the_initializer_is_taken_as_it_is():
    assert spec(v1.random_normal_initializer(seed=5)).seed == 5
    assert spec(v1.random_normal_initializer(seed=-5)).seed == -5
    assert spec(v1.random_normal_initializer(seed=5), name="item").seed == 5


def test_seed_without_one_follows_from_table_and_graph():
    without = spec(v1.random_normal_initializer()).seed
    assert spec(v1.random_normal_initializer()).seed == without
    assert spec(v1.random_normal_initializer(), name="item").seed != without
    v1.set_random_seed(1)
    assert spec(v1.random_normal_initializer()).seed != without


@pytest.mark.parametrize(
    "wrong", [None, 0.1, "zeros", v1.zeros_initializer, lambda shape: None, tf.zeros, [1.0]]
)
def test_wrong_types(wrong):
    with pytest.raises(ValueError, match="table 'user': emb_initializer must be an instance of"):
        ep.create_table(tf.int64, 4, "user", wrong)


def test_constant_of_a_wrong_length():
    with pytest.raises(ValueError, match="must be one constant or 4"):
        support.table(initializer=v1.constant_initializer([1.0, 2.0]))


def test_initializer_that_cannot_draw_rows():
    class Picky(keras.Initializer):
        def __call__(self, shape, dtype=None, **unused_kwargs):
            raise ValueError("only images")

    with pytest.raises(ValueError, match=r"Picky cannot draw rows of shape \[4096, 4\]: only"):
        support.table(initializer=Picky())
