"""kill -9 of a worker, of the chief and of a server; `tests.distribute.kills` does many."""

import pytest

from tests.distribute import kills


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_job_outlives_its_tasks(synchronous, tmp_path):
    victims = ["worker:0", "ps:1", "chief"]
    kills.run(str(tmp_path), victims, synchronous=synchronous)
