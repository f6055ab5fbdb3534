"""The questions of notebooks 07, 08 and 09: their answers come from recordings, kernels and the model."""

from dataclasses import replace

import pytest

from helpers import compiler, gpu
from helpers.exercises import bank_waits, latency_hiding, vector_moves
from helpers.models.pipeline import steady_state


@pytest.mark.parametrize(
    ("ask", "answer"),
    [(bank_waits.predict_store, 8), (vector_moves.predict_sectors, 16), (latency_hiding.predict_idle, 240)],
)
def test_a_prediction_knows_its_answer_and_gives_a_reason_for_every_option(ask, answer):
    prediction = ask()
    assert prediction.answer == answer
    assert len(prediction.reasons) == 4
    assert all(prediction.reasons.values())


def test_the_shared_bytes_of_the_question_are_those_that_the_compiler_counts():
    kernel = latency_hiding.TILE
    compiled = compiler.compile(kernel.source, kernel.entry, options=gpu.KERNEL_OPTIONS)
    assert latency_hiding.shared_bytes(2) == compiled.shared_bytes
    assert latency_hiding.check_shared_bytes(compiled.shared_bytes).passed


@pytest.mark.parametrize(("answer", "told"), [(8320, "one buffer"), (4160, "bytes"), (16384, "unused"), (8448, "Bs")])
def test_a_known_slip_about_shared_bytes_is_told_apart(answer, told):
    verdict = latency_hiding.check_shared_bytes(answer)
    assert verdict.passed is False
    assert told in str(verdict) or told in repr(verdict)


def test_one_stage_fewer_than_the_answer_still_waits():
    fewest = latency_hiding.fewest_stages()
    assert latency_hiding.check_stages(fewest).passed
    assert steady_state(replace(latency_hiding.DEEP, stages=fewest - 1)).idle > 0
    assert latency_hiding.check_stages(fewest - 1).passed is False
