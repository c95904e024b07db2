"""kill -9 of a worker, of the chief and of a server; `tests.distribute.kills` does many."""

from tests.distribute import kills


def test_a_job_outlives_its_tasks(tmp_path):
    kills.run(str(tmp_path), ["worker:0", "ps:1", "chief"], max_steps=400)
