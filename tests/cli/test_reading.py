"""`list`, `inspect`, `verify` and `diff` on whole files."""

import os

import pytest
import tensorflow as tf

from estimator_plugin.checkpoint import read_table
from estimator_plugin.checkpoint.table_reader import TableReader
from tests.cli import model_dir


@pytest.mark.parametrize("step", model_dir.STEPS)
def test_tables_are_read_through_their_chain(pristine, step):
    rows = read_table(pristine.prefixes[step], "user")
    expected = model_dir.expected(step)
    assert dict(zip(rows.keys.tolist(), rows.embeddings[:, 0].tolist())) == pytest.approx(expected)
    assert set(rows.slots) == {"momentum"}
    assert TableReader(pristine.prefixes[step], "user").count_rows() == len(expected)


def test_list(pristine, run, run_json):
    result = run("list", pristine.directory)
    assert result.code == 0 and not result.err
    lines = result.out.splitlines()
    assert lines[0].split()[:4] == ["VERSION", "STEP", "KIND", "PARENT"]
    assert lines[3].split()[:4] == ["model.ckpt-20", "20", "delta", "model.ckpt-10"]
    code, found = run_json("list", pristine.directory)
    assert code == 0
    assert [v["step"] for v in found["versions"]] == [0, 10, 20, 30]
    assert [v["kind"] for v in found["versions"]] == ["full", "delta", "delta", "delta"]
    assert found["versions"][0]["parent"] is None
    assert found["versions"][2]["parent"] == pristine.prefixes[10]
    assert found["versions"][2]["tables"] == [{"name": "user", "rows": 5, "removed": 2}]
    size = sum(
        os.path.getsize(os.path.join(pristine.directory, name))
        for name in os.listdir(pristine.directory)
        if name.startswith("model.ckpt-20.")
    )
    assert found["versions"][2]["bytes"] == size


def test_list_of_a_directory_without_checkpoints(tmp_path, run):
    result = run("list", tmp_path)
    assert result.code == 0 and "has no checkpoints" in result.out


def test_inspect_a_checkpoint(pristine, run, run_json):
    result = run("inspect", pristine.directory)
    assert result.code == 0
    assert "model.ckpt-0 + model.ckpt-10 + model.ckpt-20 + model.ckpt-30" in result.out
    code, found = run_json("inspect", pristine.prefixes[20])
    assert code == 0
    (table,) = found["tables"]
    assert table["rows"] == len(model_dir.expected(20))
    assert (table["dim"], table["num_buckets"], table["slots"]) == (4, 8, ["momentum"])
    assert found["variables"] == [{"name": "bias", "dtype": "float32", "shape": [3]}]


def test_inspect_a_table(pristine, run, run_json):
    result = run("inspect", pristine.prefixes[0], "--table", "user")
    assert result.code == 0 and "momentum (from 0)" in result.out
    code, found = run_json("inspect", pristine.prefixes[20] + ".index", "--table", "user")
    assert code == 0
    assert [link["removed"] for link in found["chain"]] == [0, 0, 2]
    assert found["usage"]["smallest count"] is not None


@pytest.mark.parametrize("step", model_dir.STEPS)
def test_inspect_a_key(pristine, run_json, step):
    expected = model_dir.expected(step)
    for key in (3, 12, 19, 24, 100):
        arguments = ("inspect", pristine.prefixes[step], "--table", "user", "--key", key)
        code, found = run_json(*arguments)
        assert code == (0 if key in expected else 1)
        assert found["found"] is (key in expected)
        if key in expected:
            assert found["embedding"] == pytest.approx([expected[key]] * model_dir.DIM)


@pytest.mark.parametrize("step", model_dir.STEPS)
def test_verify(pristine, run, run_json, step):
    result = run("verify", pristine.prefixes[step])
    assert result.code == 0 and "is whole" in result.out
    code, found = run_json("verify", pristine.prefixes[step])
    assert code == 0 and found["ok"] and found["problems"] == []
    assert found["tables"][0]["links"] == 1 + step // 10


def test_diff(pristine, run, run_json):
    code, found = run_json("diff", pristine.prefixes[0], pristine.prefixes[30])
    old, new = model_dir.expected(0), model_dir.expected(30)
    (table,) = found["tables"]
    assert code == 1 and not found["equal"]
    assert table["added"] == len(set(new) - set(old))
    assert table["removed"] == len(set(old) - set(new))
    assert table["changed"] == sum(old[k] != new[k] for k in old if k in new)
    assert table["largest_change"] == pytest.approx(model_dir.RATE, rel=1e-5)
    assert found["variables_changed"][0]["name"] == "bias"
    assert found["variables_changed"][0]["largest_change"] == 3.0
    result = run("diff", pristine.prefixes[10], pristine.prefixes[10])
    assert result.code == 0 and result.out.endswith("equal\n")


def test_diff_of_tables_in_other_buckets(pristine, tmp_path, run_json):
    other = tmp_path / "other"
    other.mkdir()
    model_dir.build(other, num_buckets=2)
    code, found = run_json("diff", pristine.directory, other, "--table", "user")
    assert code == 0 and found["tables"][0]["rows_b"] == len(model_dir.expected(30))


def test_checkpoint_without_tables(tmp_path, run):
    v1 = tf.compat.v1
    v1.get_variable("x", [2])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    for command in (("list", tmp_path), ("inspect", prefix), ("verify", prefix)):
        assert run(*command).code == 0
    merged = tmp_path / "merged" / "model.ckpt"
    assert run("merge", prefix, "--output", merged).code == 0
    assert run("diff", prefix, merged).code == 0
