"""The benchmarks run: every scenario, on tiny tables, without the rivals' environments."""

import json
import os
import subprocess
import sys

from benchmarks import plan
from benchmarks.environments import find_python

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_smoke_run_measures_every_scenario(tmp_path):
    command = [sys.executable, os.path.join(REPOSITORY, "benchmarks", "run.py"), "--smoke"]
    done = subprocess.run(
        command + ["--build", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=str(tmp_path),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with open(str(tmp_path / "results.json")) as file:
        cases = {case["scenario"]: case for case in json.load(file)["cases"]}
    assert sorted(cases) == [
        "checkpoint", "delta", "estimator", "growth", "hot", "pipeline", "servers", "sparse_core",
        "step",
    ]  # fmt: skip
    assert sorted(cases["step"]["systems"]) == ["floor", "limit", "ours"]
    assert cases["growth"]["systems"]["ours"]["measures"]["grow"][0]["rows"] >= 5000
    assert cases["checkpoint"]["systems"]["ours"]["facts"]["bytes_per_row"] > 0
    saves = cases["delta"]["systems"]["ours"]["measures"]
    assert saves["save/delta"][0]["disk_bytes"] < saves["save/full"][0]["disk_bytes"]
    assert "### Estimator" in done.stdout
    assert "### Ids in the input pipeline" in done.stdout
    assert "### Popular ids" in done.stdout
    assert "### Stacked tables" in done.stdout


def test_the_full_plan_covers_dims_and_rows_of_record():
    cases = {(c.dim, c.rows) for c in plan.full_plan() if c.scenario == "step"}
    assert cases == {(16, 10**6), (16, 4 * 10**6), (64, 10**6), (64, 4 * 10**6)}


def test_find_python_takes_only_the_version_asked_for():
    assert find_python("%d.%d" % sys.version_info[:2]) == sys.executable
    assert find_python("2.0") is None
