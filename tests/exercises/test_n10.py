"""Notebook 10: the prediction comes from the model of a pipeline, and a wait must leave something under way."""

from helpers import exercises
from helpers.exercises import n10


def test_the_prediction_is_answered_by_the_pipeline_model():
    prediction = n10.predict_idle()
    assert prediction.answer == 240
    assert len(prediction.reasons) == 4


WAIT_LAST = """        start((tile + 1) % 2, (tile + 1) * T);
        wait<1>();
        __syncthreads();
"""
WAIT_FIRST = """        wait<0>();
        __syncthreads();
        start((tile + 1) % 2, (tile + 1) * T);
"""


def test_waiting_for_all_copies_is_refused_only_where_it_hides_nothing():
    exercise = exercises.get("async_wait")
    refused = exercise.check(exercise.solved.replace("wait<1>();", "wait<0>();"))
    assert refused.passed is False and "0.0 groups of copies under way during the products" in refused.sentence
    before_the_next = exercise.check(exercise.solved.replace(WAIT_LAST, WAIT_FIRST))
    assert before_the_next.passed is True and "1.0 groups of copies under way" in before_the_next.sentence


def test_the_last_tile_may_be_waited_for_alone():
    one, other = "        wait<1>();\n", "        if (tile + 1 < tiles) wait<1>(); else wait<0>();\n"
    stages = exercises.get("three_stages")
    assert one in stages.solved
    assert stages.check(stages.solved.replace(one, other)).passed is True


def test_a_second_buffer_that_hides_nothing_is_right_with_a_remark():
    verdict = exercises.get("two_buffers").check(exercises.get("two_buffers").solved)
    assert verdict.passed and "it hides nothing yet" in verdict.sentence
