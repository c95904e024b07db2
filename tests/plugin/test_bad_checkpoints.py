"""Checkpoints that do not fit or are damaged: a clear error, and no half-restored table in use."""

import glob
import os
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
MAKERS = {"stock": v1.train.Saver, "streaming": ep.checkpoint.saver}


def build(dim=4, key_dtype=tf.int64, name="user", num_buckets=4):
    return ep.create_table(
        key_dtype, dim, name, v1.random_normal_initializer(), num_buckets=num_buckets
    )


def write(directory, maker="streaming", **kwargs):
    """The prefix of a checkpoint of a table with 500 rows."""
    with tf.Graph().as_default():
        lookup = ep.sparse_lookup(build(**kwargs), tf.range(500, dtype=tf.int64))
        saver = MAKERS[maker]()
        with support.ready_session() as session:
            session.run(lookup)
            return saver.save(session, os.path.join(str(directory), "model"))


@pytest.fixture(params=sorted(MAKERS))
def maker(request):
    return request.param


@pytest.mark.parametrize(
    "saved, built, wanted",
    [
        ({"dim": 8}, {"dim": 4}, r"user.*dim.*8.*4|user.*dim.*4.*8"),
        ({"key_dtype": tf.int32}, {}, r"user.*int32.*int64|user.*int64.*int32"),
    ],
)
def test_checkpoint_of_another_dim_or_key_type(saved, built, wanted, maker, tmp_path):
    prefix = write(tmp_path, **saved)
    table = build(**built)
    lookup = ep.sparse_lookup(table, [1, 2])
    saver = MAKERS[maker]()
    with support.ready_session() as session:
        before = session.run(lookup)
        with pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
            saver.restore(session, prefix)
        np.testing.assert_array_equal(session.run(lookup), before)


def test_checkpoint_with_other_buckets(tmp_path):
    prefix = write(tmp_path, num_buckets=8)
    build(num_buckets=4)
    wanted = r"user.*8.*4|user.*4.*8"
    with v1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=wanted):
        ep.checkpoint.saver().restore(session, prefix)


def test_checkpoint_without_the_table(maker, tmp_path):
    prefix = write(tmp_path, name="item")
    build()
    with v1.Session() as session, pytest.raises(tf.errors.NotFoundError, match="user"):
        MAKERS[maker]().restore(session, prefix)


def test_no_checkpoint(maker, tmp_path):
    build()
    with v1.Session() as session, pytest.raises(ValueError, match="not a valid checkpoint"):
        MAKERS[maker]().restore(session, str(tmp_path / "absent"))


def damaged(prefix, directory, damage):
    """A copy of the checkpoint in which `damage` was done to the largest data file."""
    directory.mkdir()
    for path in glob.glob(prefix + ".*"):
        shutil.copy(path, str(directory))
    copy = os.path.join(str(directory), os.path.basename(prefix))
    victim = max(glob.glob(copy + ".data*"), key=os.path.getsize)
    with open(victim, "r+b") as file:
        damage(file, os.path.getsize(victim))
    return copy


def naming(prefix, maker):
    """What an error must say: TensorFlow's own op does not name the file that it finds damaged."""
    return re.escape(prefix) if maker == "streaming" else None


def truncate(file, size):
    file.truncate(size // 2)


def flip_a_bit(position):
    def flip(file, size):
        file.seek(int(size * position))
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 4]))

    return flip


@pytest.mark.parametrize("damage", [truncate, flip_a_bit(0.1), flip_a_bit(0.5), flip_a_bit(0.9)])
def test_damaged_files_are_found_by_checksum(damage, maker, tmp_path):
    prefix = damaged(write(tmp_path), tmp_path / "copy", damage)
    table = build()
    lookup, size = ep.sparse_lookup(table, [1, 2]), table.size()
    errors = (tf.errors.DataLossError, tf.errors.OutOfRangeError)
    saver = MAKERS[maker]()
    with v1.Session() as session:
        with pytest.raises(errors, match=naming(prefix, maker)):
            saver.restore(session, prefix)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(size)
        support.initialize(session)
        assert session.run(lookup).shape == (2, 4)


@pytest.mark.parametrize("damage", [truncate, flip_a_bit(0.5)])
def test_damaged_index(damage, maker, tmp_path):
    prefix = write(tmp_path)
    with open(prefix + ".index", "r+b") as file:
        damage(file, os.path.getsize(prefix + ".index"))
    build()
    wanted = naming(prefix, maker)
    with v1.Session() as session, pytest.raises(tf.errors.OpError, match=wanted):
        MAKERS[maker]().restore(session, prefix)


def test_missing_data_file(maker, tmp_path):
    prefix = write(tmp_path)
    for path in glob.glob(prefix + ".data*"):
        os.remove(path)
    build()
    wanted = re.escape(prefix)
    with v1.Session() as session, pytest.raises(tf.errors.OpError, match=wanted):
        MAKERS[maker]().restore(session, prefix)
