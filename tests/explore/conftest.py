"""Explorers are tested for figures that they keep; what is older than a test is not looked through for that."""

import gc

import pytest


@pytest.fixture(autouse=True)
def only_what_a_test_makes():
    """Whatever lives already stays out of the collector's sight: by then it is millions of objects."""
    gc.freeze()
    yield
    gc.unfreeze()
