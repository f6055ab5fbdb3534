"""Threads that meet at barriers of all kinds, and programs that levels disagreed on: as an H200 answered."""

import pytest

from tests.gpusim.goldens import meeting

CASES = meeting.cases()


@pytest.mark.parametrize("name", meeting.golden())
def test_the_machine_code_answers_what_an_h200_answered(name):
    assert meeting.simulated(CASES[name]) == meeting.golden()[name]


def test_a_kernel_of_the_golden_that_answers_otherwise_is_found():
    case = CASES["carries"]
    other = meeting.Case(case.source.replace("subc", "addc"), case.arguments, case.grid, case.block)
    assert meeting.simulated(other) != meeting.golden()["carries"]
