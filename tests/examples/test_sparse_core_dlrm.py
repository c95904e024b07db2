"""The example from the command line to its end table, on the real data, with few steps."""

import re

import pytest

from examples.sparse_core_dlrm import train


def test_end_table(tmp_path, capsys):
    text = train.main(["--max_steps", "60", "--num_replicas", "2", "--model_dir", str(tmp_path)])
    assert text in capsys.readouterr().out
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    assert lines[0] == ["growing tables", "stacked tables"]
    table = {line[0]: line[1:] for line in lines[1:]}
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
