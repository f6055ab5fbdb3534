"""What notebooks ask of their learners, counted: kernels to write, and little else to look at."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from helpers import plan
from helpers.tools.notebooks import form
from helpers.tools.notebooks.lesson import estimated, lesson, table, visible_python

COUNTED = {number: lesson(plan.course().notebook(number)) for number in plan.course().numbers}
CUDA = {number: 12 for number in COUNTED if number >= "02"}  # at least; notebooks 00 and 01 only prepare
PYTHON = {"00": 26, "01": 33, "02": 48, "03": 45, "04": 70, "05": 55}  # at most


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a = 1\n\n# a comment\nb = 2", 2),
        ('source = r"""\n__global__ void k() {}\n"""\nrun(source)', 2),
        ("%%cuda naive\n__global__ void sgemm() {}", 0),
    ],
)
def test_lines_of_python_are_counted_without_kernels_comments_and_blank_lines(source, lines):
    assert visible_python(new_code_cell(source)) == lines
    assert visible_python(new_code_cell(source, metadata={"tags": ["hide-input"]})) == 0
    assert visible_python(new_markdown_cell(source)) == 0


@pytest.mark.parametrize("number", CUDA)
def test_a_notebook_has_its_kernel_written_by_the_learner(number):
    assert COUNTED[number].cuda >= CUDA[number]


def test_the_whole_course_has_two_hundred_and_fifty_lines_of_kernels_written():
    assert sum(one.cuda for one in COUNTED.values()) >= 250


@pytest.mark.parametrize("number", PYTHON)
def test_what_only_lays_out_a_table_is_folded_away(number):
    assert COUNTED[number].python <= PYTHON[number]


@pytest.mark.parametrize("number", PYTHON)
def test_the_first_cell_that_a_reader_sees_has_three_lines_at_most(number):
    cells = form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells
    assert 0 < next(filter(None, map(visible_python, cells))) <= 3


def test_the_table_adds_up():
    *_, last = table().splitlines()
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    assert cells[:6] == ["all"] + [
        str(sum(round(getattr(one, name)) for one in COUNTED.values()))
        for name in ("minutes", "path", "all", "cuda", "python")
    ]


@pytest.mark.parametrize("number", COUNTED)
def test_a_head_says_the_minutes_of_its_path_and_none_has_an_hour(number):
    assert COUNTED[number].minutes == COUNTED[number].honest <= 55
    assert 0 <= COUNTED[number].honest - COUNTED[number].path < 5


def test_text_is_read_at_130_words_a_minute():
    assert estimated([new_markdown_cell("word " * 260)], optional=False) == pytest.approx(2)


def test_the_first_kernel_is_typed_within_five_minutes():
    cells = form.read(plan.course().notebook("00").path.read_text(encoding="utf-8")).cells
    first = next(place for place, cell in enumerate(cells) if cell.source.startswith("%%cuda"))
    assert estimated([cell for cell in cells[:first] if "exercises.get" not in cell.source], optional=False) < 5


@pytest.mark.parametrize("number", COUNTED)
def test_a_notebook_says_once_where_its_reader_has_met_this(number):
    cells = form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells
    prose = " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())
    assert prose.count("You have met this:**") == 1


def test_notebook_10_has_at_most_70_cells():
    assert COUNTED["10"].cells <= 70


@pytest.mark.parametrize("number", [number for number in COUNTED if "07" <= number <= "14"])
def test_the_head_says_how_much_longer_challenges_and_practice_take(number):
    one = COUNTED[number]
    head = form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells[0].source
    said = re.search(
        r"The (?:challenges?|practice|challenges? and the practice), which you may leave out, takes? about (\w+)", head
    )
    more = {"five": 5, "ten": 10, "fifteen": 15}[said[1]] if said else 0
    assert abs(one.all - one.path - more) < 4


def test_an_optional_exercise_is_off_the_path_up_to_the_next_text():
    text = new_markdown_cell("one two " * 65)  # a minute
    challenge, check = new_markdown_cell("**Do 1.** A challenge: write it."), new_code_cell("n01.check_rows(None)")
    assert estimated([text, check], optional=False) == pytest.approx(1 + 2.5)
    assert estimated([challenge, check, text], optional=False) == pytest.approx(1)
    assert estimated([challenge, check, text], optional=True) == pytest.approx(1 + 2.5, abs=0.1)


def test_what_is_folded_is_off_the_path_but_not_the_answers_of_the_recall():
    folded = "<details><summary>Try it</summary>" + "word " * 130 + "</details>"
    assert estimated([new_markdown_cell(folded)], optional=False) == 0
    assert estimated([new_markdown_cell(folded)], optional=True) > 1
    assert estimated([new_markdown_cell("## 9 · Recall\n\n" + folded)], optional=False) > 1
