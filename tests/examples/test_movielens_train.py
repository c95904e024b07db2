"""The example from the command line to its end table, on the real data, with few steps."""

import re

import pytest

import estimator_plugin as ep
from examples.movielens import model, report, train, training


def test_end_table(tmp_path, capsys):
    text = train.main(["--max_steps", "30", "--model_dir", str(tmp_path)])
    assert text in capsys.readouterr().out
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    assert lines[0] == ["growing tables", "tf.Variable"]
    table = {line[0]: line[1:] for line in lines[1:]}
    for auc in table["held-out AUC"]:
        assert float(auc) > 0.7
    for loss in table["held-out log loss"]:
        assert float(loss) < 0.68  # Always predicting the share of clicks gives 0.69.
    assert all(float(rate) > 0 for rate in table["steps/s"])
    assert all(float(size) > 100 for size in table["checkpoint, KB"])
    assert table["rows of gender"] == ["2", "10"]
    assert table["rows of item"][1] == "2000" and 1000 < int(table["rows of item"][0]) < 1700
    for embedding in train.COLUMNS:
        directory = tmp_path / "deepfm" / embedding
        assert list(directory.glob("events*"))
        assert list((directory / "eval_validation").glob("events*"))
        assert list((directory / "eval_test").glob("events*"))


@pytest.mark.parametrize("name", [m for m in model.MODELS if m != "deepfm"])
def test_every_model_runs(name, slices, tmp_path):
    result = training.train(slices, name, "hash_table", str(tmp_path), max_steps=10)
    assert result.auc > 0.55
    assert result.rows["gender"] == 2


def test_a_finished_run_is_only_evaluated(slices, tmp_path):
    first = training.train(slices, "dlrm", "hash_table", str(tmp_path), max_steps=10)
    again = training.train(slices, "dlrm", "hash_table", str(tmp_path), max_steps=10)
    assert again.auc == first.auc and again.rows == first.rows


def test_report_lines_up():
    result = report.Result(0.75, 0.58, 99.5, 10.0, {"user": 3}, 2000)
    other = report.Result(0.74, 0.59, 100.0, 9.0, {"item": 12345}, 3000)
    lines = report.format_report({"a": result, "b": other}).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[-1].split() == ["rows", "of", "user", "3", "-"]


def test_bad_arguments():
    with pytest.raises(SystemExit):
        train.main(["--max_steps", "0"])
    with pytest.raises(SystemExit):
        train.main(["--model", "perceptron"])


def test_baseline_has_the_same_network():
    for name in model.MODELS:
        assert callable(model.make_model_fn(name, "hash_table"))
        assert callable(model.make_model_fn(name, "variable"))
    assert isinstance(model.MLP, ep.model_fns.MlpConfig)
