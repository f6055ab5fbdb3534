"""What a run takes: some cases of each table, others on the next day; and which worker takes the browser."""

from types import SimpleNamespace

import pytest

from tests.conftest import MOST_CASES, _left_out, chosen, pytest_xdist_make_scheduler

TODAY = 739_949


def case(name, keep=None):
    mark = SimpleNamespace(kwargs={"keep": keep}) if keep else None
    return SimpleNamespace(nodeid=name, callspec=None, get_closest_marker=lambda _: mark)


@pytest.mark.parametrize(("cases", "keep"), [(9, 8), (53, 8), (150, 6), (210, 60), (7, 1)])
def test_each_case_of_a_table_comes_within_its_days(cases, keep):
    days = -(-cases // keep)
    runs = [chosen(cases, keep, seed) for seed in range(TODAY, TODAY + days)]
    assert all(len(run) == keep for run in runs)
    assert set().union(*runs) == set(range(cases))


@pytest.mark.parametrize("seed", range(10))
def test_a_run_takes_a_case_of_each_part_of_a_table(seed):
    assert sorted(number // 10 for number in chosen(80, 8, seed)) == list(range(8))


@pytest.mark.parametrize(("count", "keep", "kept"), [(9, 3, 3), (9, 1, 1), (3, 5, 3), (1, 4, 1)])
def test_a_mark_says_how_many_cases_are_kept(count, keep, kept):
    table = [case(f"test_a.py::test_one[{number}]", keep) for number in range(count)]
    left = _left_out([*table, case("test_a.py::test_two[0]"), case("test_a.py::test_two[1]")], TODAY)
    assert count - len(left) == kept
    assert all(item.nodeid.startswith("test_a.py::test_one") for item in left)


def test_cells_of_notebooks_are_no_cases_of_a_table():
    table = [case(f"test_a.py::test_one[{number}]") for number in range(10 * MOST_CASES)]
    cells = [SimpleNamespace(nodeid=f"a.ipynb::Cell {number}") for number in range(len(table))]
    left = _left_out([*cells, *table], TODAY)
    assert len(table) - len(left) == MOST_CASES and not {id(item) for item in left} & {id(cell) for cell in cells}


def test_one_worker_takes_all_tests_in_a_browser():
    config = SimpleNamespace(getoption=lambda _: "loadscope", getvalue=lambda _: ["2*popen"])
    scope = pytest_xdist_make_scheduler(config, None)._split_scope
    assert scope("tests/browser/test_gone.py::test_one") == scope("tests/browser/test_answers.py::test_one[two]")
    assert scope("tests/measure/test_clocks.py::test_one") != scope("tests/measure/test_problem.py::test_one")
