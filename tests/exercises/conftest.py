"""The order of the contract's tests, and a progress file of each test's own."""

from pathlib import Path

import pytest

from helpers.exercises import progress

CONTRACT = Path(__file__).with_name("test_contract.py")


@pytest.fixture(autouse=True)
def no_progress_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test answers is forgotten with it."""
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One exercise after the other: its kernels are compiled and run once for all its tests, then forgotten."""
    places = [index for index, item in enumerate(items) if item.path == CONTRACT]
    ordered = sorted((items[index] for index in places), key=_exercise)
    for index, item in zip(places, ordered, strict=True):
        items[index] = item


def _exercise(item: pytest.Item) -> tuple[bool, str]:
    """What is about all exercises comes last, as it stands in the file."""
    exercise = item.callspec.params.get("exercise") if hasattr(item, "callspec") else None
    return exercise is None, exercise.name if exercise else ""
