"""The map of the course in notebook 00: titles and minutes of what exists, in the place between its markers."""

from pathlib import Path

import pytest
from nbformat import v4

from helpers.authoring.notebooks import course_map
from helpers.authoring.notebooks import form as notebook_form
from helpers.authoring.notebooks.course_map import Pause, Route, Stop
from helpers.authoring.readme import notebooks as readme_table
from helpers.authoring.readme.notebooks import Planned

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = [one.name[:2] for one in sorted((ROOT / "notebooks").glob("*.ipynb"))]
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
    assert course_map.hours(minutes) == words


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


# --- notes for the speaker, and routes


def noted(step: int, title: str, minutes: int) -> tuple[str, str]:
    unit = "minute" if minutes == 1 else "minutes"
    return f"## {step} · {title}", f"<details><summary>For the speaker · {minutes} {unit}</summary>\n\nSay.\n</details>"


def course(folder: Path) -> Path:
    write(folder, "00_start.ipynb", "# Begin", *noted(1, "Question: why?", 3), *noted(2, "See", 4), "## 3 · Do")
    write(folder, "01_loop.ipynb", "# Loop", *noted(1, "Predict", 1), *noted(2, "Do", 8), "<summary>Hint 1</summary>")
    return folder


def test_the_minutes_of_a_step_are_those_of_its_note_for_the_speaker(tmp_path):
    folder = course(tmp_path)
    assert course_map.speaker_minutes(folder / "00_start.ipynb") == {1: 3, 2: 4}
    assert course_map.speaker_minutes(folder / "01_loop.ipynb") == {1: 1, 2: 8}
    assert course_map.step_titles(folder / "00_start.ipynb") == {1: "Question: why?", 2: "See", 3: "Do"}
    early = write(folder, "02_x.ipynb", "# X", noted(1, "See", 5)[1])
    with pytest.raises(ValueError, match=r"02_x\.ipynb: a note for the speaker stands before the first step"):
        course_map.speaker_minutes(early)


def test_a_route_is_a_table_with_a_clock_whose_minutes_are_sums(tmp_path):
    route = Route("an hour", 60, "All.", (Stop("00", (2, 1), "First."), Pause(55), Stop("01", (1, 2), "Then.")))
    folder = course(tmp_path)
    assert course_map.route_minutes(route, folder) == 4 + 3 + 55 + 1 + 8
    assert course_map.route_table(route, folder).splitlines()[2:] == [
        "| 0:00 | [00](00_start.ipynb) | **2** See · **1** Question | 7 | First. |",
        "| 0:07 | | | 55 | Break. |",
        "| 1:02 | [01](01_loop.ipynb) | **1** Predict · **2** Do | 9 | Then. |",
    ]


def test_a_route_through_a_step_without_minutes_or_a_notebook_that_is_not_there_is_refused(tmp_path):
    folder = course(tmp_path)
    with pytest.raises(ValueError, match=r"00_start\.ipynb: step 3 of a route has no note for the speaker"):
        course_map.stop_minutes(Stop("00", (1, 3), ""), folder)
    with pytest.raises(ValueError, match="begins with 07"):
        course_map.stop_minutes(Stop("07", (1,), ""), folder)


@pytest.mark.parametrize("route", course_map.ROUTES, ids=lambda route: route.name)
def test_a_route_fits_into_its_time_and_never_goes_on_for_more_than_ninety_minutes(route):
    folder = ROOT / "notebooks"
    assert 0.9 * route.at_most <= course_map.route_minutes(route, folder) <= route.at_most
    stretch = 0
    for stop in route.stops:
        stretch = 0 if isinstance(stop, Pause) else stretch + course_map.stop_minutes(stop, folder)
        assert stretch <= 90


@pytest.mark.parametrize("number", NUMBERS)
def test_every_step_has_one_note_for_the_speaker_with_what_to_say_and_to_ask(number):
    path = course_map.notebook_path(ROOT / "notebooks", number)
    notes = [
        cell
        for cell in notebook_form.read(path.read_text(encoding="utf-8")).cells
        if course_map.SPEAKER.search(cell.source)
    ]
    assert len(notes) == len(course_map.step_titles(path))
    assert set(course_map.speaker_minutes(path)) == set(course_map.step_titles(path))
    for cell in notes:
        assert cell.metadata.slideshow.slide_type == "notes"
        assert "**Say** " in cell.source and "**Ask** " in cell.source


def test_readme_and_map_are_up_to_date():
    for path, text in readme_table.wanted_texts(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make format`"
