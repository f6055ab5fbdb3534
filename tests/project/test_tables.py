"""Which cases of a table a run takes: few each day, and all in as many days as it takes."""

import pytest

from tests.conftest import MOST_CASES, chosen


@pytest.mark.parametrize(("cases", "keep"), [(9, 8), (53, 8), (150, 8), (210, 60), (7, 1)])
def test_each_case_of_a_table_comes_within_its_days(cases, keep):
    days = -(-cases // keep)
    runs = [chosen(cases, keep, seed) for seed in range(739_949, 739_949 + days)]
    assert all(len(run) == keep for run in runs)
    assert set().union(*runs) == set(range(cases))


def test_a_table_of_few_cases_is_taken_whole():
    assert chosen(MOST_CASES, MOST_CASES, 5) == set(range(MOST_CASES))


def test_a_run_takes_cases_from_all_parts_of_a_table():
    assert all(
        len(chosen(80, 8, seed) & set(range(start, start + 10))) == 1
        for seed in range(10)
        for start in range(0, 80, 10)
    )
