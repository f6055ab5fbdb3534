"""The line under a title says where the reader is, with links to the notebooks around it."""

import pytest

from helpers.authoring.notebooks import form as notebook_form
from helpers.authoring.notebooks import trail as course_trail
from helpers.authoring.readme.notebooks import PLAN


@pytest.fixture
def folder(tmp_path):
    for name in ("00_start.ipynb", "01_loop.ipynb", "04_tiles.ipynb"):
        (tmp_path / name).touch()
    return tmp_path


def test_the_first_the_last_and_one_between_show_their_neighbours(folder):
    assert course_trail.trail("00", folder) == (
        "*Notebook 00 of the course:* **start here (you are here)** → [CPU loop](01_loop.ipynb) → "
        "threads and indices → …"
    )
    assert course_trail.trail("03", folder) == (
        "*Notebook 03 of the course:* … → [CPU loop](01_loop.ipynb) → threads and indices → "
        "**coalescing (you are here)** → [shared memory](04_tiles.ipynb) → occupancy → …"
    )
    assert course_trail.trail("12", folder).endswith("→ autotuning → **beating cuBLAS (you are here)**")
    with pytest.raises(KeyError, match="notebook 13 has no name"):
        course_trail.trail("13", folder)


def test_only_the_line_itself_is_written_anew_over_however_many_lines_it_went(folder):
    text = "# Title\n\n*Notebook 00 of the course: an old\nline → …*\n\n**25 minutes.** More."
    once = course_trail.with_trail(text, folder)
    assert once == f"# Title\n\n{course_trail.trail('00', folder)}\n\n**25 minutes.** More."
    assert course_trail.with_trail(once, folder) == once
    assert course_trail.with_trail("# Title\n\nNo line.", folder) == "# Title\n\nNo line."


def test_every_planned_notebook_has_a_name_and_every_notebook_has_its_line():
    assert list(course_trail.NAMES) == [one.number for one in PLAN]
    for path in sorted(notebook_form.NOTEBOOKS.glob("*.ipynb")):
        first = notebook_form.read(path.read_text(encoding="utf-8")).cells[0].source
        assert course_trail.trail(path.name[:2], notebook_form.NOTEBOOKS) in first, path.name
