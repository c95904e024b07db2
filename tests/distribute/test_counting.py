"""Concurrent updates in real processes; `tests.distribute.counting` runs for longer."""

from tests.distribute import counting


def test_no_update_is_lost(tmp_path):
    assert counting.run(str(tmp_path), seconds=3, workers=2) > 0
