"""The map of the course in notebook 00: titles and minutes of what exists, in the place between its markers."""

from pathlib import Path

import pytest
from nbformat import v4

from helpers import course_map, notebook_form, readme_table
from helpers.readme_table import Planned

ROOT = Path(__file__).resolve().parent.parent
PLAN = (Planned("00", "Start", "What is here"), Planned("01", "Loop", "Three loops"), Planned("02", "Threads", "Ids"))


def write(folder: Path, name: str, *cells: str) -> Path:
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(cell) for cell in cells])
    path = folder / name
    path.write_text(notebook_form.written(notebook_form.mended(notebook)), encoding="utf-8")
    return path


def test_the_map_has_titles_minutes_and_where_the_reader_is(tmp_path):
    write(tmp_path, "00_start.ipynb", "# Begin\n\n**20 minutes.** You need nothing.")
    write(tmp_path, "01_loop.ipynb", "# Three loops\n\n**40 minutes** with coffee.")
    lines = course_map.text(tmp_path, PLAN).splitlines()
    assert lines[2:5] == [
        "| 00 | **Begin** *(you are here)* | What is here | 20 |",
        "| 01 | [Three loops](01_loop.ipynb) | Three loops | 40 |",
        "| 02 | Threads *(in preparation)* | Ids | |",
    ]
    assert lines[-1] == "At your own pace these 2 notebooks take about 1 hour."


@pytest.mark.parametrize(("minutes", "words"), [(25, "25 minutes"), (60, "1 hour"), (95, "1½ hours"), (300, "5 hours")])
def test_long_times_are_rounded_to_the_half_hour(minutes, words):
    assert course_map._hours(minutes) == words


def test_a_header_without_minutes_is_named(tmp_path):
    path = write(tmp_path, "01_loop.ipynb", "# Three loops\n\nTakes a while.")
    with pytest.raises(ValueError, match=r"01_loop\.ipynb: the first cell has no line"):
        course_map.minutes_of(path)


def test_the_map_is_put_between_its_markers_and_a_second_time_changes_nothing(tmp_path):
    path = write(tmp_path, "00_start.ipynb", "# Begin", f"Map:\n{course_map.BEGIN}\n{course_map.END}\nEnd.")
    once = course_map.updated(path.read_text(), "the map")
    cell = notebook_form.read(once).cells[1]
    assert cell.source == f"Map:\n{course_map.BEGIN}\nthe map\n{course_map.END}\nEnd."
    assert notebook_form.check(once) == []
    assert course_map.updated(once, "the map") == once


def test_a_notebook_without_the_markers_is_refused_in_a_sentence(tmp_path):
    path = write(tmp_path, "00_start.ipynb", "# Begin")
    with pytest.raises(ValueError, match="no cell has the markers"):
        course_map.updated(path.read_text(), "the map")


def test_readme_and_map_are_up_to_date():
    for path, text in readme_table.wanted_texts(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make format`"
