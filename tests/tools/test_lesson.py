"""What notebooks ask of their learners, counted: kernels to write, and little else to look at."""

from statistics import mean

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from helpers import exercises, plan
from helpers.tools.notebooks import form
from helpers.tools.notebooks.lesson import estimated, lesson, table, visible_python

COUNTED = {number: lesson(plan.course().notebook(number)) for number in plan.course().numbers}
CUDA = {number: 12 for number in COUNTED if number >= "02"}  # at least; notebooks 00 and 01 only prepare
# Minutes that readers took for the path, and with what is optional: they read at 130 words a minute, wrote every blank
# with its slips, and opened the hints that they needed.
READ = {
    "00": [(33, 33), (37, 37), (41, 41), (42, 42)], "01": [(35, 35), (30, 30), (41, 47)],
    "02": [(61, 66), (59, 59), (82, 90), (80, 86)], "03": [(54, 54), (50, 50), (57, 57), (60, 60)],
    "04": [(77, 87), (70, 70), (79, 89), (82, 94)],
    "05": [(62, 62), (60, 60), (74, 74), (75, 75)], "06": [(64, 64), (67, 67), (62, 62)],
    "07": [(58, 58), (51, 51)],
    "08": [(68, 76), (61, 68)], "09": [(59, 59), (58, 58)], "10": [(64, 82), (66, 81)], "11": [(70, 75), (70, 74)],
    "12": [(60, 60), (57, 57)], "13": [(70, 75), (66, 71)], "14": [(69, 78)], "15": [(70, 70), (64, 64)],
    "16": [(85, 135)], "17": [(80, 102)],
}  # fmt: skip
TAKEN = {number: [mean(minutes) for minutes in zip(*readings, strict=True)] for number, readings in READ.items()}
PYTHON = {"00": 26, "01": 33, "02": 48, "03": 45, "04": 70, "05": 55}  # at most


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a = 1\n\n# a comment\nb = 2", 2),
        ('source = r"""\n__global__ void k() {}\n"""\nrun(source)', 2),
        ("%%cuda naive\n__global__ void sgemm() {}", 0),
    ],
)
def test_python_lines_exclude_kernels_comments_and_blank_lines(source, lines):
    assert visible_python(new_code_cell(source)) == lines
    assert visible_python(new_code_cell(source, metadata={"tags": ["hide-input"]})) == 0
    assert visible_python(new_markdown_cell(source)) == 0


@pytest.mark.parametrize("number", CUDA)
def test_a_notebook_has_its_kernel_written_by_the_learner(number):
    assert COUNTED[number].cuda >= CUDA[number]


def test_whole_course_has_250_kernel_lines_to_write():
    assert sum(counted.cuda for counted in COUNTED.values()) >= 250


@pytest.mark.parametrize("number", PYTHON)
def test_what_only_lays_out_a_table_is_folded_away(number):
    assert COUNTED[number].python <= PYTHON[number]


@pytest.mark.parametrize("number", PYTHON)
def test_first_visible_cell_has_three_lines_at_most(number):
    cells = form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells
    assert 0 < next(filter(None, map(visible_python, cells))) <= 3


def test_the_table_adds_up():
    *_, last = table().splitlines()
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    assert cells[:6] == ["all"] + [
        str(sum(round(getattr(counted, name)) for counted in COUNTED.values()))
        for name in ("minutes", "path", "all", "cuda", "python")
    ]


@pytest.mark.parametrize("number", COUNTED)
def test_a_head_says_the_minutes_as_they_are_estimated(number):
    counted = COUNTED[number]
    assert (counted.minutes, counted.with_optional) == counted.honest


@pytest.mark.parametrize("number", READ)
def test_minutes_are_those_that_readers_took(number):
    counted = COUNTED[number]
    for printed, taken in zip((counted.minutes, counted.with_optional or counted.minutes), TAKEN[number], strict=True):
        assert abs(printed - taken) <= 0.25 * taken


def test_all_notebooks_together_take_what_readers_took():
    for estimate, taken in (("path", 0), ("all", 1)):
        minutes = sum(getattr(COUNTED[number], estimate) for number in READ)
        assert minutes == pytest.approx(sum(readings[taken] for readings in TAKEN.values()), rel=0.05)


def test_text_is_read_at_130_words_a_minute():
    assert estimated([new_markdown_cell("word " * 260)], optional=False) == pytest.approx(2)


def test_exercise_takes_its_task_two_hints_and_each_line():
    add = exercises.get("coalesced")
    words = sum(len(text.split()) for text in (add.task, *add.hints[:2]))
    cell = new_code_cell('exercise = exercises.get("coalesced")')
    assert estimated([cell], optional=False) == pytest.approx(3.4 + 0.7 * add.lines + words / 130)


def test_the_first_kernel_is_typed_within_five_minutes():
    cells = form.read(plan.course().notebook("00").path.read_text(encoding="utf-8")).cells
    first = next(position for position, cell in enumerate(cells) if cell.source.startswith("%%cuda"))
    assert estimated([cell for cell in cells[:first] if "exercises.get" not in cell.source], optional=False) < 5


@pytest.mark.parametrize("number", COUNTED)
def test_a_notebook_says_once_where_its_reader_has_met_this(number):
    cells = form.read(plan.course().notebook(number).path.read_text(encoding="utf-8")).cells
    prose = " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())
    assert prose.count("You have met this:**") == 1


def test_notebook_10_has_at_most_70_cells():
    assert COUNTED["10"].cells <= 70


def test_optional_exercise_is_off_the_path_until_the_next_text():
    text = new_markdown_cell("one two " * 65)  # a minute
    challenge, check = new_markdown_cell("**Do 1.** A challenge: write it."), new_code_cell("n01.check_rows(None)")
    assert estimated([text, check], optional=False) == pytest.approx(1 + 3.9)
    assert estimated([challenge, check, text], optional=False) == pytest.approx(1)
    assert estimated([challenge, check, text], optional=True) == pytest.approx(1 + 3.9, abs=0.1)


def test_folded_parts_do_not_count_except_recall_answers():
    folded = "<details><summary>Try it</summary>" + "word " * 130 + "</details>"
    assert estimated([new_markdown_cell(folded)], optional=True) == 0
    assert estimated([new_markdown_cell("## 9 · Recall\n\n" + folded)], optional=False) > 1
