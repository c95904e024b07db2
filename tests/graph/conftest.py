"""Every test has two minutes: one that hangs ends the run and shows where each thread stood."""

import faulthandler

import pytest


@pytest.fixture(autouse=True)
def time_limit():
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
