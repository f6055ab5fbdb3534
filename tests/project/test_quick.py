"""Which tests `make check` runs, and of how many cases."""

import time
from types import SimpleNamespace

import pytest

from tests import quick


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("helpers/pictures/coalescing/figure.py", ["tests/pictures/test_coalescing_figure.py"]),
        ("helpers/course.py", ["tests/test_course.py"]),
        ("helpers/exercises/framework/slips.py", ["tests/exercises/test_slips.py"]),
        ("helpers/exercises/n04.py", ["tests/exercises/test_n04.py"]),
        ("notebooks/04_shared_memory.ipynb", ["tests/notebooks/test_04.py", "tests/notebooks/test_every_notebook.py"]),
        ("gemm_kernels/ladder.py", ["tests/gemm_kernels/test_ladder.py"]),
        ("tests/pictures/test_coalescing_figure.py", ["tests/pictures/test_coalescing_figure.py"]),
        ("README.md", []),
        ("helpers/gpusim/src/gpusim/cupy/raw_module.py", ["tests/gpusim/test_raw_module.py"]),
        ("helpers/tools/measuring/choosing.py", ["tests/tools/measuring/test_choosing.py"]),
    ],
)
def test_the_tests_of_a_file_are_found_by_its_name(path, tests):
    assert quick.tests_of(path) == tests


@pytest.mark.parametrize(
    "path", ["helpers/gpusim/src/gpusim/native/engine/memory.c", "helpers/gpusim/src/gpusim/native/building.py"]
)
def test_a_file_without_tests_of_its_own_has_its_rooms(path):
    tests = quick.tests_of(path)
    assert "tests/gpusim/native/test_libraries.py" in tests and all(
        test.startswith("tests/gpusim/native/") for test in tests
    )


def test_the_rules_come_first_and_no_file_twice():
    tests = quick.chosen(["helpers/pictures/coalescing/figure.py", "tests/pictures/test_coalescing_figure.py"])
    assert tests == [*quick.ALWAYS, "tests/pictures/test_coalescing_figure.py"]


def test_of_many_cases_the_first_and_the_last_are_kept():
    items = [Item(f"test_a.py::test_one[{number}]") for number in range(9)]
    items += [Item("test_a.py::test_two"), Item("test_a.py::test_in_a_browser", SimpleNamespace())]
    left = []
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: left.extend(items)))
    quick.pytest_collection_modifyitems(config, items)
    assert [item.nodeid.partition("::")[2] for item in items] == ["test_one[0]", "test_one[8]", "test_two"]
    assert len(left) == 8


def test_after_a_minute_the_rest_is_skipped(monkeypatch):
    monkeypatch.setenv(quick.STARTED, str(time.time() - 60))
    with pytest.raises(pytest.skip.Exception, match="make test"):
        quick.pytest_runtest_setup(None)
    monkeypatch.delenv(quick.STARTED)
    quick.pytest_runtest_setup(None)


class Item:
    def __init__(self, nodeid, mark=None):
        self.nodeid, self.mark = nodeid, mark

    def get_closest_marker(self, name):
        return self.mark
