"""An NPU host's environment: one rank, a job number, nothing else of the NPU's."""

import pytest

FOREIGN = ("RANK_SIZE", "CM_WORKER_SIZE", "LOCAL_CHECKPOINT_DIR", "RESTORE_FROM", "TF_CONFIG")


@pytest.fixture(autouse=True)
def npu_environment(monkeypatch):
    monkeypatch.setenv("JOB_ID", "10086")
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
