"""The rule that maps keys to buckets, against published vectors and the op library."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import hashing
from tests.plugin import support


def test_published_vectors_of_splitmix64():
    # The first outputs of the generator with seed 1234567 (xoshiro's reference code).
    golden = 0x9E3779B97F4A7C15
    states = (1234567 + golden * np.arange(5, dtype=object)) % 2**64
    states = np.array(states.tolist(), dtype=np.uint64).astype(np.int64)
    assert [int(x) for x in hashing.mix_key(states)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_mixing_is_a_bijection_on_a_sample():
    keys = np.arange(-50000, 50000)
    assert len(np.unique(hashing.mix_key(keys))) == len(keys)


def test_shapes_and_extreme_keys():
    keys = np.array([[np.iinfo(np.int64).min, -1], [0, np.iinfo(np.int64).max]])
    buckets = hashing.bucket_of_key(keys, 64)
    assert buckets.shape == (2, 2) and buckets.dtype == np.int64
    assert ((buckets >= 0) & (buckets < 64)).all()
    assert (hashing.bucket_of_key(keys, 1) == 0).all()


def test_buckets_are_even():
    counts = np.bincount(hashing.bucket_of_key(np.arange(64000), 64), minlength=64)
    assert counts.min() > 850 and counts.max() < 1150


@pytest.mark.parametrize("num_buckets", [0, 3, -4, 131072])
def test_wrong_numbers_of_buckets(num_buckets):
    with pytest.raises(ValueError, match="power of two"):
        hashing.bucket_of_key([1], num_buckets)


@pytest.mark.parametrize("num_buckets", [1, 2, 64])
def test_same_rule_as_the_op_library(num_buckets, tmp_path):
    table = support.table(num_buckets=num_buckets)
    keys = np.random.RandomState(7).randint(-(2**62), 2**62, 500)
    lookup = ep.sparse_lookup(table, tf.constant(keys))
    with support.ready_session() as session:
        session.run(lookup)
        prefix = tf.compat.v1.train.Saver().save(session, str(tmp_path / "model"))
    reader = tf.train.load_checkpoint(prefix)
    for bucket in range(num_buckets):
        stored = reader.get_tensor("user/bucket-%d/keys" % bucket)
        assert (hashing.bucket_of_key(stored, num_buckets) == bucket).all()
        assert len(stored) == (hashing.bucket_of_key(np.unique(keys), num_buckets) == bucket).sum()
