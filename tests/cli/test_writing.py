"""`merge` and `export`."""

import csv
import os
import sys

import numpy as np
import pyarrow.parquet
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import read_table
from tests.cli import model_dir

v1 = tf.compat.v1


@pytest.mark.parametrize("stock", [False, True])
def test_merged_checkpoint_is_restored_by_any_saver(pristine, tmp_path, run, stock):
    output = tmp_path / "out" / "model.ckpt-30"
    result = run("merge", pristine.directory, "--output", output)
    assert result.code == 0, result.err
    assert tf.train.latest_checkpoint(str(tmp_path / "out")) == str(output)
    assert sorted(os.listdir(str(tmp_path / "out")))[0] == "checkpoint"
    assert not [name for name in os.listdir(str(tmp_path / "out")) if "temp" in name]
    assert read_table(str(output), "user").meta.parent == ""
    ids = sorted(model_dir.expected(30))
    with tf.Graph().as_default(), v1.Session() as session:
        table = ep.create_table(
            tf.int64, model_dir.DIM, "user", v1.zeros_initializer(), num_buckets=8
        )
        bias = v1.get_variable("bias", [3])
        found = ep.sparse_lookup(table, tf.constant(ids, tf.int64), is_train=False)
        size = table.size()
        saver = v1.train.Saver() if stock else ep.checkpoint.saver()
        saver.restore(session, str(output))
        assert session.run(found)[:, 0] == pytest.approx(list(_ordered(model_dir.expected(30))))
        assert session.run(size) == len(ids)
        assert session.run(bias).tolist() == [4.0, 0.0, 0.0]
    assert run("diff", pristine.directory, output).code == 0


def _ordered(rows):
    return (rows[key] for key in sorted(rows))


def test_merge_keeps_the_state_file_that_is_there(model, run):
    with open(os.path.join(model.directory, "checkpoint")) as file:
        before = file.read()
    output = os.path.join(model.directory, "merged.ckpt-30")
    assert run("merge", model.directory, "--output", output).code == 0
    with open(os.path.join(model.directory, "checkpoint")) as file:
        assert file.read() == before


def test_merge_overwrites_nothing(model, run):
    result = run("merge", model.prefixes[10], "--output", model.prefixes[0])
    assert result.code == 2 and "is a checkpoint already" in result.err
    assert run("verify", model.prefixes[30]).code == 0


def test_merge_of_a_damaged_chain_leaves_nothing(model, tmp_path, run):
    os.remove(model.prefixes[10] + ".index")
    out = tmp_path / "out"
    result = run("merge", model.prefixes[30], "--output", out / "model.ckpt")
    assert result.code == 2 and "model.ckpt-10" in result.err
    assert os.listdir(str(out)) == []


def _check(keys, values):
    expected = model_dir.expected(30)
    assert dict(zip(keys, values)) == pytest.approx(expected)


def test_export_npz(pristine, tmp_path, run_json):
    path = tmp_path / "user.npz"
    code, found = run_json("export", pristine.directory, "--table", "user", "--output", path)
    assert code == 0 and found["rows"] == len(model_dir.expected(30))
    with np.load(str(path)) as arrays:
        assert sorted(arrays) == ["counts", "embeddings", "keys", "last_seen"]
        assert (np.diff(arrays["keys"]) > 0).all()
        _check(arrays["keys"].tolist(), arrays["embeddings"][:, 0].tolist())


def test_export_csv_with_slots(pristine, tmp_path, run):
    path = tmp_path / "user.csv"
    arguments = ("--table", "user", "--format", "csv", "--slots", "--output", path)
    assert run("export", pristine.directory, *arguments).code == 0
    with open(str(path), newline="") as file:
        rows = list(csv.DictReader(file))
    _check([int(row["key"]) for row in rows], [float(row["embedding_0"]) for row in rows])
    assert {row["slot_momentum_3"] for row in rows} == {"1.0"}


def test_export_parquet_with_slots(pristine, tmp_path, run):
    path = tmp_path / "user.parquet"
    arguments = ("--table", "user", "--format", "parquet", "--slots", "--output", path)
    assert run("export", pristine.directory, *arguments).code == 0
    table = pyarrow.parquet.read_table(str(path))
    assert table.column_names == ["key", "count", "last_seen", "embedding", "slot_momentum"]
    rows = table.to_pydict()
    _check(rows["key"], [embedding[0] for embedding in rows["embedding"]])
    assert rows["slot_momentum"][0] == [1.0] * model_dir.DIM


def test_export_parquet_without_pyarrow(pristine, tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "user.parquet"
    result = run(
        "export", pristine.directory, "--table", "user", "--format", "parquet", "--output", path
    )
    assert result.code == 2 and "pip install pyarrow" in result.err
    assert os.listdir(str(tmp_path)) == []


def test_export_overwrites_nothing(pristine, tmp_path, run):
    path = tmp_path / "user.npz"
    path.write_text("mine")
    result = run("export", pristine.directory, "--table", "user", "--output", path)
    assert result.code == 2 and "is there already" in result.err
    assert path.read_text() == "mine"
