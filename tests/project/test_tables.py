"""Large tables of cases: a run takes some of each, evenly, and --whole all of them."""

from types import SimpleNamespace

import pytest

from tests.conftest import MOST_CASES, _left_out


def case(name, keep=None):
    mark = SimpleNamespace(kwargs={"keep": keep}) if keep else None
    return SimpleNamespace(nodeid=name, callspec=None, get_closest_marker=lambda _: mark)


@pytest.mark.parametrize(
    ("count", "keep", "kept"), [(9, 3, [0, 4, 8]), (9, 2, [0, 8]), (9, 1, [0]), (3, 5, [0, 1, 2]), (1, 4, [0])]
)
def test_the_kept_cases_lie_evenly_in_their_table(count, keep, kept):
    table = [case(f"test_a.py::test_one[{number}]", keep) for number in range(count)]
    left = _left_out([*table, case("test_a.py::test_two[0]"), case("test_a.py::test_two[1]")])
    assert [number for number in range(count) if table[number] not in left] == kept
    assert all(one.nodeid.startswith("test_a.py::test_one") for one in left)


def test_a_table_without_a_mark_keeps_its_ends():
    table = [case(f"test_a.py::test_one[{number}]") for number in range(10 * MOST_CASES)]
    cells = [SimpleNamespace(nodeid=f"a.ipynb::Cell {number}") for number in range(len(table))]
    left = _left_out([*cells, *table])
    assert len(table) - len(left) == MOST_CASES and not {id(one) for one in left} & {id(one) for one in cells}
    assert table[0] not in left and table[-1] not in left
