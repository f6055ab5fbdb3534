"""Questions of notebook 04: what a tile saves."""

import pytest

from gemm_kernels import get
from helpers import recordings
from helpers.exercises import n04
from helpers.exercises.n04 import check_bytes
from helpers.pictures.block_shapes import facts as block_shapes


def test_the_prediction_is_answered_by_the_recording():
    assert n04.predict_uses().answer == 32


def test_bytes_are_those_of_both_matrices_divided_by_the_tile():
    assert check_bytes(2 * 1024**3 / 16 * 4).passed is True
    assert check_bytes(None).passed is None


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (2 * 1024**3 * 4, "without tiles"),
        (1024**3 / 16 * 4, "one of the two"),
        (2 * 1024**3 / 16, "How many bytes has a float?"),
        (2 * 1024**3 / 256 * 4, "a row or a column"),
        (2 * 1024**2 * 4, "share nothing with each other"),
    ],
)
def test_a_known_slip_is_named(answer, because):
    verdict = check_bytes(answer)
    assert verdict.passed is False and because in verdict.sentence


def test_the_gain_that_is_predicted_is_the_recorded_one():
    before = block_shapes.recorded(get("coalesced"), (32, 8), 2048)
    after = recordings.gflops(get("shared_memory"), 2048, 2048, 2048)
    assert n04.predict_gain().answer == pytest.approx(after.gflops / before.gflops, rel=0.05)


def test_bug_hunt_names_the_race_of_its_picture_and_the_other():
    sentence, caption = n04.BARRIERS.check().sentence, n04.BARRIERS.show().caption
    assert "reads Bs[0][0]" in sentence and "writes Bs[0][0]" in sentence and "(The same happens to As.)" in sentence
    assert "store the next tile's float in Bs[0][0]" in caption


def known(version):
    """The examination of a known wrong solution of the kernel with edges, as one sentence."""
    exercise = n04.TILE_EDGES
    wrong = next(slip for slip in exercise.wrong if slip.version == version)
    return exercise.check(exercise.wrong_source(wrong)).sentence


def test_a_barrier_in_a_branch_is_no_mask_of_a_warp():
    sentence = known("loop_inside_branch")
    assert "waits for ever at __syncthreads()" in sentence and "must not depend on the thread" in sentence
    assert "mask" not in sentence and "_sync function" not in sentence


def test_store_moved_to_another_arrays_line_is_in_bounds():
    sentence = known("returns_after_a_tile")
    assert "outside Bs" not in sentence and "outside As" not in sentence and "shapes of 8 are right" in sentence
