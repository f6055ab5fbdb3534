"""The head of a notebook is the plan's: its heading, the line that says where the reader is, its minutes."""

import pytest

from helpers import plan
from helpers.plan import BrokenPlan, Course, Notebook
from helpers.tools.notebooks import form, head

NAMES = ("start", "loop", "threads", "coalescing", "tiles", "occupancy")
SUMMARY = "One.\nTwo.\nThree.\n"
ROWS = [
    Notebook(f"{n:02}_{name}.ipynb", f"About {name}", name, "An idea", 10 * n + 5, SUMMARY)
    for n, name in enumerate(NAMES)
]
COURSE = Course(tuple(ROWS), routes=())


@pytest.fixture
def folder(tmp_path):
    for name in ("00_start.ipynb", "01_loop.ipynb", "04_tiles.ipynb"):
        (tmp_path / name).touch()
    return tmp_path


def test_first_last_and_middle_show_their_neighbours(folder):
    assert head.trail("00", COURSE, folder) == (
        "*Notebook 00 of the course:* **start (you are here)** → [loop](01_loop.ipynb) → threads → …"
    )
    assert head.trail("03", COURSE, folder) == (
        "*Notebook 03 of the course:* … → [loop](01_loop.ipynb) → threads → **coalescing (you are here)** → "
        "[tiles](04_tiles.ipynb) → occupancy"
    )
    assert head.trail("05", COURSE, folder).endswith("[tiles](04_tiles.ipynb) → **occupancy (you are here)**")
    with pytest.raises(BrokenPlan, match="no notebook 15; it has 00, "):
        head.trail("15", COURSE, folder)


def test_only_heading_line_and_minutes_are_written_anew(folder):
    text = "# Old title\n\n*Notebook 01 of the course: an old\nline → …*\n\n**250 minutes.** More. **1 minute** of it."
    once = head.with_head(text, COURSE, folder)
    assert once == (
        f"# About loop\n\n{head.trail('01', COURSE, folder)}\n\n> One.\n> Two.\n> Three.\n\n"
        "**15 minutes.** More. **1 minute** of it."
    )
    assert head.with_head(once, COURSE, folder) == once
    assert head.with_head(once.replace("Two.\n> Three.", "A fourth."), COURSE, folder) == once


@pytest.mark.parametrize("text", ["# Title\n\n**3 minutes.** No line.", "# Title\n\n*Notebook 77 of the course:* …"])
def test_text_naming_no_planned_notebook_stays_as_it_is(text, folder):
    assert head.with_head(text, COURSE, folder) == text


@pytest.mark.parametrize("notebook", plan.course().notebooks, ids=lambda notebook: notebook.number)
def test_a_notebook_has_the_head_that_the_plan_gives_it(notebook):
    first = form.read(notebook.path.read_text(encoding="utf-8")).cells[0].source
    assert first.startswith(f"# {notebook.title}\n\n{head.trail(notebook.number, plan.course(), plan.FOLDER)}\n\n> ")
    assert " ".join(notebook.summary.split()) in first.replace("\n> ", " ")
    assert f"\n\n**{head.minutes(notebook)}** You need " in first
