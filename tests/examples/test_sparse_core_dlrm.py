"""The example from the command line to its end table, on the real data."""

import re

import pytest

from examples.sparse_core_dlrm import train


def _table(text):
    """{title: [growing, stacked]} of an end table."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    assert lines[0] == ["growing tables", "stacked tables"]
    return {line[0]: line[1:] for line in lines[1:]}


def test_stacked_tables_learn_what_growing_ones_do(tmp_path):
    growing, stacked = map(
        float, _table(train.main(["--model_dir", str(tmp_path)]))["held-out AUC"]
    )
    assert growing > 0.75 and abs(stacked - growing) < 0.005


def test_end_table_of_more_shards(tmp_path, capsys):
    text = train.main(["--max_steps", "60", "--num_replicas", "2", "--model_dir", str(tmp_path)])
    assert text in capsys.readouterr().out
    table = _table(text)
    for auc in table["held-out AUC"]:
        assert float(auc) > 0.7
    rows = {name: of for name, of in table.items() if name.startswith("rows of ")}
    assert rows
    for growing, stacked in rows.values():
        assert int(growing) > 0 and int(stacked) > 0


def test_bad_arguments():
    for arguments in (["--max_steps", "0"], ["--num_replicas", "3"]):
        with pytest.raises(SystemExit):
            train.main(arguments)
