"""Explorers are tested for figures that they keep; what is older than a test is not looked through for that."""

import pytest


@pytest.fixture(autouse=True)
def look_at_nothing_older(only_what_a_test_makes):
    """For every test of explorers."""
