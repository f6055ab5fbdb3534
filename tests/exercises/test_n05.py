"""Questions of notebook 05: blocks on an SM."""

import pytest

from helpers.exercises import n05
from helpers.exercises.n05 import DEEP_TILES, LIMITS_BY_HAND, THREADS_OF_A_BLOCK


def test_the_prediction_is_answered_by_the_model_and_its_slips_have_reasons():
    asked = n05.predict_blocks()
    assert asked.answer == 1
    assert "64 warps" in asked.reasons[1] and "room for 48" in asked.reasons[1]
    assert set(asked.reasons) == {1, 2, 5, 11}


def test_the_four_limits_by_hand_are_those_of_the_estimate():
    assert LIMITS_BY_HAND.solved == {"blocks": 24, "warps": 6, "registers": 3, "shared": 11}
    verdict = LIMITS_BY_HAND.judge(LIMITS_BY_HAND.solved)
    assert "Registers decide: 3 blocks of 8 warps, 50" in verdict.sentence


@pytest.mark.parametrize("name", ["blocks", "warps", "registers", "shared"])
def test_the_first_wrong_limit_is_named(name):
    answers = {**LIMITS_BY_HAND.solved, name: 1000}
    sentence = LIMITS_BY_HAND.judge(answers).sentence
    assert sentence.startswith(f"{name}: 1000 blocks: not yet") and "fewer than that" in sentence


def test_an_answer_that_is_not_complete_yet_waits():
    assert LIMITS_BY_HAND.judge({**LIMITS_BY_HAND.solved, "warps": None}).passed is None


@pytest.mark.parametrize("threads", [32, 64, 128, 160, 320, 640])
def test_every_block_whose_warps_divide_20_reaches_the_goal(threads):
    assert THREADS_OF_A_BLOCK.judge(threads).passed is True


def test_the_deep_tiles_are_limited_by_shared_memory_and_the_solution_is_not():
    assert "Shared memory stops the 14th block" in DEEP_TILES.show().caption
    assert "25 blocks of 2 warps" in DEEP_TILES.show(DEEP_TILES.solved).caption.replace("\u00a0", " ")
