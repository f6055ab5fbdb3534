"""The questions of notebook 09: their answers come from the compiled kernel and from the model of a pipeline."""

from dataclasses import replace

import pytest

from helpers import run
from helpers.exercises import n09
from helpers.models.pipeline import steady_state


def test_the_prediction_is_answered_by_the_pipeline_model():
    prediction = n09.predict_idle()
    assert prediction.answer == 240
    assert len(prediction.reasons) == 4


def test_the_shared_bytes_of_the_question_are_those_that_the_compiler_counts():
    kernel = n09.TILE
    compiled = run.compiled(kernel)
    assert n09.shared_bytes(2) == compiled.shared_bytes
    assert n09.check_shared_bytes(compiled.shared_bytes).passed


@pytest.mark.parametrize(("answer", "told"), [(8320, "one buffer"), (4160, "bytes"), (16384, "unused"), (8448, "Bs")])
def test_a_known_slip_about_shared_bytes_is_told_apart(answer, told):
    verdict = n09.check_shared_bytes(answer)
    assert verdict.passed is False
    assert told in str(verdict) or told in repr(verdict)


def test_one_stage_fewer_than_the_answer_still_waits():
    fewest = n09.fewest_stages()
    assert n09.check_stages(fewest).passed
    assert steady_state(replace(n09.DEEP, stages=fewest - 1)).idle > 0
    assert n09.check_stages(fewest - 1).passed is False
