"""What is tagged as an answer can be closed, and no explorer gives a prediction away before it is committed to."""

import re

import pytest

from helpers import exercises, plan
from helpers.tools.notebooks import form

EXPLORERS = re.compile(r"^\w+\.explore(?:_\w+)?\(", re.MULTILINE)
EXERCISES = [exercise.name for exercise in exercises.EXERCISES]


def cells(number: str) -> list:
    return form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells


def is_answer(cell) -> bool:
    return "answer" in cell.metadata.get("tags", [])


def asks(cell) -> bool:
    return cell.cell_type == "code" and "predict_" in cell.source.rstrip().rpartition("\n")[2]


@pytest.mark.parametrize("number", plan.course().numbers)
def test_an_answer_hides_no_heading_and_no_exercise(number):
    for cell in filter(is_answer, cells(number)):
        assert not (cell.cell_type == "markdown" and cell.source.startswith("#")), cell.source
        assert not asks(cell) and cell.source.rpartition("\n")[2] not in EXERCISES, cell.source
        assert not cell.source.startswith("%%cuda"), cell.source


@pytest.mark.parametrize("number", plan.course().numbers)
def test_an_explorer_beside_an_answer_is_closed_with_it(number):
    """In the step of a prediction, and in that of its first answer."""
    asked = answered = False
    for cell in cells(number):
        if asks(cell):
            asked, answered = True, False
        elif cell.cell_type == "markdown" and cell.source.startswith("## ") and answered:
            asked = False  # the course goes on to something else
        elif is_answer(cell):
            answered = True
        if asked and cell.cell_type == "code" and EXPLORERS.search(cell.source):
            assert is_answer(cell), cell.source
