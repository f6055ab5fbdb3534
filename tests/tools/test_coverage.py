"""Where each idea is taught: a place that disappears, a lost row and a verdict without a place are found."""

from pathlib import Path

import pytest
from nbformat import v4

from helpers import plan
from helpers.plan import Course, Notebook
from helpers.tools.notebooks import form
from helpers.tools.pages import course as pages, coverage

COURSE = Course((Notebook("00_start.ipynb", "Begin", "start", "What is here", 20, "One."),), ())
ROW = '[[idea]]\nid = "{}"\nidea = "{}"\nverdict = "{}"\nplaces = {}\nshown = "A picture"\n'
DOCUMENT = '[[document]]\nnumber = 0\ntitle = "Notes"\nideas = 2\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells = [v4.new_markdown_cell("# Begin", id="head"), v4.new_markdown_cell("## 3 · See\nIt.", id="seen")]
    notebook = v4.new_notebook(cells=[*cells, v4.new_code_cell("1", id="code")])
    (tmp_path / "00_start.ipynb").write_text(form.written(notebook), encoding="utf-8")
    return tmp_path


def rows(*changed: str) -> str:
    right = (ROW.format("0.1", "A | b", "yes", '["00:code", "00:head"]'), ROW.format("0.2", "C", "no", "[]"))
    return DOCUMENT + "".join(changed or right)


def test_every_idea_has_a_row_whose_cells_are_there():
    text = (plan.FOLDER / coverage.FILE).read_text(encoding="utf-8")
    sources = coverage.read(text, plan.course(), plan.FOLDER)
    assert [len(source.ideas) for source in sources] == [52, 54, 24, 51, 35]


def test_the_page_of_where_ideas_are_taught_is_up_to_date():
    path = plan.FOLDER / coverage.PAGE
    assert pages.wanted()[path] == path.read_text(encoding="utf-8"), "run `make format`"


def test_a_row_becomes_a_line_with_links_to_steps(folder):
    text = coverage.page(coverage.read(rows(), COURSE, folder), COURSE)
    links = "[00, step 3](00_start.ipynb#cell-id=code) · [00](00_start.ipynb#cell-id=head)"
    assert f"| 0.1 | A \\| b | yes | {links} | A picture |" in text
    assert text.startswith("Of 2 ideas: 1 yes, 0 partly, 1 no.")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW.format("0.2", "C", "yes", '["00:gone"]'), "notebook 00 has no cell 'gone' any more"),
        (ROW.format("0.2", "C", "yes", '["07:code"]'), "no notebook '07' any more"),
        (ROW.format("0.2", "C", "perhaps", '["00:code"]'), "the verdict is 'perhaps', expected one of yes, partly, no"),
        (ROW.format("0.2", "C", "yes", "[]"), "needs at least one place"),
        (ROW.format("0.1", "C", "no", "[]"), "two rows with the id '0.1'"),
        ("", "has lost idea '0.2'"),
        (ROW.format("0.2", "C", "no", "[]") + ROW.format("7.1", "D", "no", "[]"), "'7.1' belongs to none"),
        (ROW.format("0.2", "", "no", "[]"), "must say something"),
        (ROW.format("0.2", "C", "no", "[]") + "more = 1\n", "has the keys"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused(folder, row, said):
    with pytest.raises(coverage.BrokenCoverage, match=said):
        coverage.read(rows(ROW.format("0.1", "A", "yes", '["00:code"]'), row), COURSE, folder)
