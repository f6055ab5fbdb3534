"""What the tests of pictures share."""

import pytest

from helpers.pictures.tuning import facts as landscape
from tests.pictures.facts_data import SEARCH, with_a_search


@pytest.fixture(autouse=True)
def look_at_nothing_older(only_what_a_test_makes):
    """Explorers are tested for figures that they keep: what is older than a test is not looked through for that."""


@pytest.fixture
def searched(monkeypatch):
    """A GPU on which some configurations were measured."""
    with_a_search(monkeypatch, SEARCH)
    yield
    landscape.landscape_of.cache_clear()
