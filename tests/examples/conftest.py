"""The MovieLens data, read once."""

import pytest

from examples.movielens import download, events


@pytest.fixture(scope="session")
def tables():
    return download.read_tables()


@pytest.fixture(scope="session")
def slices(tables):
    return events.make_slices(tables)
