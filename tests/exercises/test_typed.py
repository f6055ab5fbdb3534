"""Some of the answers that learners type; `python -m tests.exercises.typed` checks them all."""

import pytest

from tests.exercises.typed import ACCEPTED, CAUSE, right, slips

# Enough to see that the data are read, and that a change of the framework loses no kind of reason.
SLIPS = slips()
RIGHT = right()
SOME = [slip for slip in SLIPS if slip.exercise in ("beta", "tiled", "patch")][::12]
SOME_RIGHT = [answer for answer in RIGHT if answer.exercise in ("naive", "three_stages", "slices")][::6]


def test_every_typed_answer_changes_a_solution():
    for typed in (*SLIPS, *RIGHT):
        assert typed.source.strip() != "", typed
    assert len(SLIPS) >= 400 and len(RIGHT) >= 150


def test_the_pattern_of_a_slip_matches_no_other_answer():
    vague = [f"{slip.says!r} finds {slip.vague!r} anywhere: {slip}" for slip in SLIPS if slip.vague]
    assert not vague, "\n".join(vague)


@pytest.mark.parametrize("answer", SOME, ids=str)
def test_a_typed_slip_is_answered_with_its_cause(answer):
    verdict = answer.check()
    assert answer.kind(verdict) == CAUSE, verdict.sentence


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("answer", SOME_RIGHT, ids=str)
def test_a_right_kernel_in_other_words_is_accepted(answer):
    verdict = answer.check()
    assert answer.kind(verdict) == ACCEPTED, verdict.sentence
