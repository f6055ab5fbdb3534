"""Exercises of notebook 15: which barriers a block of a single warp needs around the calls of WMMA."""

import pytest

from helpers.exercises import get
from helpers.exercises.framework import kept


@pytest.fixture(autouse=True)
def folder_of_a_learner(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path))


def test_one_warp_needs_the_barrier_before_its_fragments_and_mma_sync_is_the_one_behind_them():
    exercise = get("warp_product")
    first, second, behind = exercise.solved.split("__syncthreads();")
    assert not exercise.check(f"{first}{second}__syncthreads();{behind}").passed
    assert exercise.check(f"{first}__syncthreads();{second}{behind}").passed
    assert "mma_sync waits for all 32 lanes" in exercise.hints[0]
