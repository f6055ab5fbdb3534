"""The README's table of notebooks, and the paths and commands that it names."""

import re
from pathlib import Path

import pytest
from nbformat import v4

from helpers.authoring.notebooks import form as notebook_form
from helpers.authoring.readme import notebooks as readme_table
from helpers.authoring.readme.notebooks import Planned

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PLAN = (Planned("00", "Start", "What is here"), Planned("01", "Loop", "Three loops"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notebooks").mkdir()
    return tmp_path / "notebooks"


def add(folder: Path, name: str, first_cell: str) -> None:
    (folder / name).write_text(notebook_form.written(v4.new_notebook(cells=[v4.new_markdown_cell(first_cell)])))


def test_a_notebook_that_exists_is_linked_by_its_own_title_and_others_are_in_preparation(folder):
    add(folder, "01-the-loop.ipynb", "# Three loops are slow\n**25 minutes.**")
    assert readme_table.table(folder, PLAN).splitlines()[2:] == [
        "| 00 | Start *(in preparation)* | What is here |  |",
        "| 01 | [Three loops are slow](notebooks/01-the-loop.ipynb) | Three loops | 25 |",
        "",
        "At your own pace they take about 25 minutes.",
        "Notebook 00 has routes through them for workshops of 90 minutes and of half a day.",
    ]


@pytest.mark.parametrize(
    ("name", "first_cell", "sentence"),
    [
        ("02-more.ipynb", "# More", r"02-more\.ipynb is not in the plan"),
        ("01-loop-again.ipynb", "# Again", r"01-loop\.ipynb and 01-loop-again\.ipynb have one number|have one number"),
        ("00-start.ipynb", "Start", r"00-start\.ipynb: the first cell does not begin with '# '"),
    ],
)
def test_a_notebook_that_fits_no_row_is_named(folder, name, first_cell, sentence):
    add(folder, "01-loop.ipynb", "# Loop\n**5 minutes.**")
    add(folder, name, first_cell)
    with pytest.raises(ValueError, match=sentence):
        readme_table.table(folder, PLAN)


def test_only_what_is_between_the_markers_changes():
    text = f"before\n{readme_table.BEGIN}\nold\n{readme_table.END}\nafter\n"
    assert readme_table.replaced(text, "new") == f"before\n{readme_table.BEGIN}\nnew\n{readme_table.END}\nafter\n"
    with pytest.raises(ValueError, match="lost its markers"):
        readme_table.replaced("no table", "new")


def test_a_repository_on_github_gets_buttons_for_colab_and_binder_and_no_other_does():
    first = f"notebooks/{readme_table.FIRST}"
    assert (ROOT / first).exists()
    buttons = readme_table.badges("https://github.com/someone/gemm.git", first)
    assert f"(https://colab.research.google.com/github/someone/gemm/blob/main/{first})" in buttons
    assert f"(https://mybinder.org/v2/gh/someone/gemm/HEAD?urlpath=lab/tree/{first})" in buttons
    assert readme_table.badges("https://git.example.org/gemm", first) == readme_table.badges("", first) == ""


def test_buttons_stand_between_their_markers_only():
    empty = f"# T\n{readme_table.BADGES_BEGIN}\n{readme_table.BADGES_END}\nrest\n"
    full = readme_table.with_badges(empty, "[x](y)\n")
    assert full == f"# T\n{readme_table.BADGES_BEGIN}\n[x](y)\n{readme_table.BADGES_END}\nrest\n"
    assert readme_table.with_badges(full, "") == empty
    assert readme_table.with_badges("# T\n", "[x](y)\n") == "# T\n"


def test_the_buttons_in_the_readme_are_up_to_date():
    buttons = readme_table.badges(notebook_form.repository_address(), f"notebooks/{readme_table.FIRST}")
    assert readme_table.BADGES_BEGIN in README and readme_table.with_badges(README, buttons) == README


def test_the_table_in_the_readme_is_up_to_date():
    assert readme_table.replaced(README, readme_table.table(ROOT / "notebooks")) == README, "run `make format`"


def test_every_link_of_the_readme_leads_to_a_file_of_the_repository():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_make_target_that_a_text_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    named |= set(re.findall(r"^#   make ([a-z-]+)", makefile, re.MULTILINE))
    assert {"lab", "test", "notebooks"} <= named <= targets
