"""export and the checkpoint reader: tables as numpy arrays."""

import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1


@pytest.fixture
def model_dir(tmp_path):
    """A directory with a checkpoint of the tables user (rows 5, 3, -9) and empty."""
    rows = ep.sparse_lookup(support.table("user"), [5, 3, -9])
    train = ep.optimizers.adagrad.create_hash_optimizer(1.0, 1.0).minimize(tf.reduce_sum(rows))
    support.table("empty", dim=2)
    with support.ready_session() as session:
        session.run(train)
        v1.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=7)
    return str(tmp_path)


def test_arrays_load_without_pickle(model_dir):
    files = ep.export(checkpoint=model_dir)
    assert sorted(files) == ["empty", "user"]
    assert files["user"] == os.path.join(model_dir, "export-model.ckpt-7", "user", "key-emb.npz")
    with np.load(files["user"], allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["keys"], [-9, 3, 5])
        np.testing.assert_allclose(arrays["embeddings"], np.full([3, 4], 1 - 2**-0.5), rtol=1e-6)
        assert arrays["keys"].dtype == np.int64 and arrays["embeddings"].dtype == np.float32
    with np.load(files["empty"], allow_pickle=False) as arrays:
        assert arrays["keys"].shape == (0,) and arrays["embeddings"].shape == (0, 2)


def test_chosen_tables_and_directory(model_dir, tmp_path):
    prefix = os.path.join(model_dir, "model.ckpt-7")
    files = ep.export(["user", "absent"], checkpoint=prefix, output_dir=str(tmp_path / "out"))
    assert files == {"user": str(tmp_path / "out" / "user" / "key-emb.npz")}


@pytest.mark.parametrize("table_list", [[], "user", [3], 5])
def test_wrong_table_list(table_list, model_dir):
    with pytest.raises(ValueError, match="export: table_list must be"):
        ep.export(table_list, checkpoint=model_dir)


def test_no_checkpoint(tmp_path):
    for checkpoint in (None, "", str(tmp_path), str(tmp_path / "model.ckpt-1")):
        with pytest.raises(ValueError, match="export: checkpoint must be"):
            ep.export(checkpoint=checkpoint)


def test_reader_splits_rows_into_slots(model_dir):
    rows = ep.checkpoint.read_table(model_dir, "user")
    assert sorted(rows.keys.tolist()) == [-9, 3, 5]
    assert list(rows.slots) == ["accumulator"]
    np.testing.assert_array_equal(rows.slots["accumulator"], np.full([3, 4], 2.0))
    assert rows.counts.shape == rows.last_seen.shape == (3,)


def test_reader_names_the_tables_there_are(model_dir):
    with pytest.raises(ValueError, match="has no table 'absent'; its tables are empty, user"):
        ep.checkpoint.read_table(model_dir, "absent")
