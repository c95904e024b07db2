"""The MovieLens example on servers, chief, worker and evaluator learns what one process learns."""

import re

import pytest

from examples.movielens import cluster, download, events, train, training

_STEPS = 200


def test_a_cluster_learns_what_one_process_learns(tmp_path):
    slices = events.make_slices(download.read_tables())
    alone = training.train(slices, "deepfm", "hash_table", str(tmp_path / "alone"), _STEPS)
    text = train.main(
        ["--cluster", "2ps,1workers", "--max_steps", str(_STEPS), "--model_dir", str(tmp_path)]
    )
    table = dict(re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[1:])
    assert abs(float(table["held-out AUC"]) - alone.auc) < 0.005
    assert int(table["rows of user"]) == alone.rows["user"]
    assert list((tmp_path / "deepfm" / "cluster" / "eval_validation").glob("events*"))


@pytest.mark.parametrize("text, counts", [("2ps,2workers", (2, 2)), ("1ps,0worker", (1, 0))])
def test_sizes_of_a_cluster(text, counts):
    assert cluster.parse(text) == counts


@pytest.mark.parametrize("text", ["0ps,1workers", "2ps", "2workers,2ps", "2ps,2workers,3"])
def test_what_is_no_cluster(text):
    with pytest.raises(SystemExit):
        train.main(["--cluster", text])
