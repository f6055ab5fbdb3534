"""Notebook 10: the prediction comes from the model of a pipeline; a wait must leave something under way."""

from helpers import exercises
from helpers.exercises import n10
from tests.exercises.typed import slips


def test_the_prediction_is_answered_by_the_pipeline_model():
    prediction = n10.predict_idle()
    assert prediction.answer == 240
    assert len(prediction.reasons) == 4


def test_the_last_tile_may_be_waited_for_alone():
    waits_one, other = "        wait<1>();\n", "        if (tile + 1 < tiles) wait<1>(); else wait<0>();\n"
    stages = exercises.get("three_stages")
    assert waits_one in stages.solved
    assert stages.check(stages.solved.replace(waits_one, other)).passed is True


def test_second_buffer_without_a_read_passes_with_a_remark():
    verdict = exercises.get("two_buffers").check(exercises.get("two_buffers").solved)
    assert verdict.passed and "no read of shared memory lies between" in verdict.sentence


def test_the_hunt_for_a_buffer_begins_without_advice_on_barriers():
    hunt = exercises.get("two_buffers")
    verdict = hunt.check(hunt.starter)
    assert verdict.passed is None and "race in shared memory" in verdict.sentence
    assert "__syncthreads()" not in verdict.sentence


def test_a_barrier_is_not_advised_where_it_misses_the_goal():
    answers = [slip for slip in slips() if slip.exercise == "next_tile" and "in front of the stores" in slip.says]
    sentence = answers[0].check().sentence
    assert "No barrier of the block lies between them" in sentence and "Put __syncthreads()" not in sentence, sentence


def test_asynchronous_copies_are_not_said_to_hide_nothing():
    stages, buffers = exercises.get("three_stages").solved, exercises.get("two_buffers")
    copies = stages[stages.index("// Start the copy") : stages.index('extern "C"')]
    text = buffers.solved.replace('extern "C"', f'{copies}extern "C"')
    for array, start in (("As", "= row"), ("Bs", "= k0")):
        index = f"{array}[buffer][y][x]"
        line = next(line for line in text.splitlines() if f"{index} {start}" in line)
        inside, element = line.split(" = ", 1)[1].split(" : ")[0].split(" ? ")
        text = text.replace(
            line, f"        if ({inside}) copy_async(&{index}, &{element});\n        else {index} = 0.0f;"
        )
    verdict = buffers.check(text.replace("__syncthreads()", "commit(); wait<0>(); __syncthreads()"))
    assert verdict.passed and "lies between" not in verdict.sentence
