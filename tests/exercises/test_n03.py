"""The prediction of notebook 03."""

import pytest

from gemm_kernels import get
from helpers import run
from helpers.exercises import n03
from helpers.pictures.block_shapes.facts import counted
from helpers.pictures.coalescing.facts import warp_access


def test_naive_load_takes_32_sectors_and_options_are_explained():
    question = n03.predict_naive_load()
    assert question.answer == 32 and list(question.reasons) == [1, 4, 16, 32]
    assert repr(question).startswith("Predict. Sectors for one load of A")


def test_the_gain_that_is_predicted_is_the_recorded_one():
    slow, fast = (counted(get(name), (32, 8), n03.WIDTH, n03.MEASURED_AT) for name in ("naive", "coalesced"))
    assert n03.predict_gain().answer == pytest.approx(fast.speed / slow.speed, rel=0.05)


def test_the_gap_in_a_square_block_costs_a_look_up_and_no_byte():
    asked = n03.predict_gap()
    assert asked.answer == "no sector; one more line to look up" and "1\u202f008 floats" in list(asked.reasons)[0]
    launch = get("coalesced").launch(1024, 1024, 64)
    line, square = (warp_access(run.record(launch.in_blocks(*block)), "C", "st") for block in ((32, 1), (16, 16)))
    assert (line.sectors, square.sectors, line.tags, square.tags) == (4, 4, 1, 2)
