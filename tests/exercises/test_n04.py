"""Questions of notebook 04: what a tile saves."""

import pytest

from gemm_kernels import get
from helpers.analysis import block_shapes
from helpers.exercises import n04
from helpers.exercises.framework import progress
from helpers.exercises.n04 import check_bytes
from helpers.measure import recordings


def test_the_prediction_is_answered_by_the_recording():
    assert n04.predict_uses().answer == 32


def test_the_bytes_are_those_of_both_matrices_divided_by_the_tile():
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
def test_a_known_slip_is_told(answer, because):
    verdict = check_bytes(answer)
    assert verdict.passed is False and because in verdict.sentence


def test_the_gain_that_is_predicted_is_the_recorded_one():
    before = block_shapes.recorded(get("coalesced"), (32, 8), 2048)
    after = recordings.gflops(get("shared_memory"), 2048, 2048, 2048)
    assert n04.predict_gain().answer == pytest.approx(after.gflops / before.gflops, rel=0.05)


def test_the_words_of_the_bug_hunt_name_the_race_of_its_picture_and_the_other_one(monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, "off")
    told, caption = n04.BARRIERS.check().sentence, n04.BARRIERS.show().caption
    assert "reads Bs[0][0]" in told and "writes Bs[0][0]" in told and "(The same happens to As.)" in told
    assert "store the next tile's float in Bs[0][0]" in caption
