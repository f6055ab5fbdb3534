"""Exercises of notebook 15: the barriers around the calls of WMMA, and the rows that lanes name to ldmatrix."""

import numpy as np
import pytest

from helpers.exercises import get
from helpers.exercises.framework import kept, trial
from helpers.pictures import precisions
from helpers.pictures.bank_board.facts import shared_accesses
from helpers.run import simulated


@pytest.fixture(autouse=True)
def folder_of_a_learner(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.ENVIRONMENT_VARIABLE, str(tmp_path))


def test_loads_by_hand_wait_at_the_banks_as_long_as_ldmatrix():
    by_hand, ldmatrix = (
        [int(number.replace(" ", "")) for number in row[1:]]
        for row in precisions.counted(("mma_tiled", "ldmatrix"), 32)
    )
    assert by_hand[:4] == [512, 0, 2048, 2048 - 512]
    assert ldmatrix[:4] == [0, 96, 2048, 2048 - 4 * 96]


def test_one_warp_needs_a_barrier_before_fragments_alone():
    exercise = get("warp_product")
    first, second, behind = exercise.solved.split("__syncthreads();")
    assert not exercise.check(f"{first}{second}__syncthreads();{behind}").passed
    assert exercise.check(f"{first}__syncthreads();{second}{behind}").passed
    assert "mma_sync waits for all 32 lanes" in exercise.hints[0]


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("mistake", ["row = lane % 16 & ~1", "row = lane % 16 ^ lane % 2 * 2"])
def test_rows_that_only_odd_lanes_name_wrong_are_found(mistake):
    exercise = get("matrix_rows")
    row = "row = lane % 16"
    assert row in exercise.solved
    verdict = exercise.check(exercise.solved.replace(row, mistake))
    assert verdict.passed is False and "expected" in verdict.sentence


@pytest.mark.parametrize("element", ["(chunk + row / 2) % 4", "chunk ^ (row >> 1 & 3)", "chunk ^ 3 - row / 2 % 4"])
def test_every_chunk_order_without_lost_wavefronts_is_accepted(element):
    exercise = get("matrix_rows")
    assert exercise.check(exercise.solved.replace("chunk ^ row / 2 % 4", element)).passed


def matrices_of_warp_0(version):
    exercise = get("matrix_rows")
    kernel = simulated(exercise.marked.version(version), exercise.problem.entry)
    recording = trial.record(kernel, exercise.problem.prepare(exercise.judged))
    return [access for _, access in shared_accesses(recording) if access.op == "ldsm"]


def test_permutation_quarters_the_wavefronts_of_ldmatrix():
    plain, swizzled = (matrices_of_warp_0(version) for version in ("plain", "solution"))
    assert [access.wavefronts for access in plain] == [16] * 4
    assert [access.wavefronts for access in swizzled] == [4] * 4
    assert all(
        np.array_equal(access.address // 64, other.address // 64) for access, other in zip(plain, swizzled, strict=True)
    )


def test_picture_shows_ldmatrix_line_and_its_waits():
    exercise = get("matrix_rows")
    before, after = (exercise.show(exercise.marked.version(version)) for version in ("plain", "solution"))
    texts = [text.get_text() for axes in before.axes for text in axes.texts]
    assert "load_matrices(a, &As[row][place(row, chunk) * 8]);" in texts
    first, last = (picture.caption.replace("\N{NO-BREAK SPACE}", " ") for picture in (before, after))
    assert "16 wavefronts where 4 would do" in first and "4 wavefronts for 128 bits per lane" in last
