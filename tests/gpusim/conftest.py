"""What the simulator's tests share."""

import pytest


@pytest.fixture(params=("sass", "ptx"))
def level(request: pytest.FixtureRequest) -> str:
    """Machine code, and PTX: a test that takes it holds for both."""
    return request.param


@pytest.fixture(autouse=True)
def always_on_the_simulator(on_the_simulator: None) -> None:
    """These are its tests."""
