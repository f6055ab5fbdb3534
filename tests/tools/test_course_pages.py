"""What pages say of all notebooks: the README's table, the map, the routes of the workshops with their minutes."""

from pathlib import Path

import pytest
from nbformat import v4

from helpers import plan
from helpers.plan import BrokenPlan, Course, Notebook, Pause, Route, Stop
from helpers.slides import speaker, steps
from helpers.tools.notebooks import form
from helpers.tools.pages import course
from helpers.tools.pages.markers import Markers

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = (
    Notebook("00_start.ipynb", "Begin", "start", "What is here", 20, "One.\nTwo.\nThree.\n"),
    Notebook("01_loop.ipynb", "Three loops", "loop", "Loops", 40, "Four."),
    Notebook("02_threads.ipynb", "Threads", "threads", "Ids", 30, "Five."),
)
ROUTE = Route("an hour", 60, "All.", (Stop("00", (2, 1), "First."), Pause(55, "Break."), Stop("01", (1, 2), "Then.")))
COURSE = Course(NOTEBOOKS, (ROUTE,))


def write(folder: Path, name: str, *cells: str) -> Path:
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell(cell) for cell in cells])
    path = folder / name
    path.write_text(form.written(form.mended(notebook)), encoding="utf-8")
    return path


def test_the_map_has_titles_minutes_and_where_the_reader_is(tmp_path):
    write(tmp_path, "00_start.ipynb", "# Begin")
    write(tmp_path, "01_loop.ipynb", "# Three loops")
    lines = course.map_of(COURSE, tmp_path).splitlines()
    assert lines[2:5] == [
        "| 00 | **Begin** *(you are here)* | What is here | 20 |",
        "| 01 | [Three loops](01_loop.ipynb) | Loops | 40 |",
        "| 02 | Threads *(in preparation)* | Ids | 30 |",
    ]
    assert lines[-1] == "At your own pace these notebooks take about 1 hour."


def test_readme_table_links_the_folder_and_names_the_routes(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    write(folder, "01_loop.ipynb", "# Three loops")
    assert course.table(COURSE, folder).splitlines()[2:] == [
        "| 00 | Begin *(in preparation)* | What is here | 20 |",
        "| 01 | [Three loops](notebooks/01_loop.ipynb) | Loops | 40 |",
        "| 02 | Threads *(in preparation)* | Ids | 30 |",
        "",
        "At your own pace they take about 40 minutes.",
        "The [page for teachers](notebooks/teachers.md) has routes through them for workshops of an hour.",
    ]


def test_notebook_missing_from_the_plan_is_named_with_the_remedy(tmp_path):
    write(tmp_path, "03_more.ipynb", "# More")
    with pytest.raises(ValueError, match=r"03_more\.ipynb is not in the plan: add a row to .*/course\.toml"):
        course.table(COURSE, tmp_path)


@pytest.mark.parametrize(("minutes", "words"), [(25, "25 minutes"), (60, "1 hour"), (95, "1½ hours"), (300, "5 hours")])
def test_long_times_are_rounded_to_the_half_hour(minutes, words):
    assert course.hours(minutes) == words


MAP = Markers("map", "make format")


def test_map_is_put_between_its_markers_idempotently(tmp_path):
    path = write(tmp_path, "00_start.ipynb", "# Begin", f"Map:\n{MAP.begin}\n{MAP.end}\nEnd.")
    once = course.in_notebook(path.read_text(), MAP, "the map", path.name)
    cell = form.read(once).cells[1]
    assert cell.source == f"Map:\n{MAP.begin}\nthe map\n{MAP.end}\nEnd."
    assert form.check(once) == []
    assert course.in_notebook(once, MAP, "the map", path.name) == once


def test_a_notebook_without_the_markers_is_refused_in_a_sentence(tmp_path):
    path = write(tmp_path, "00_start.ipynb", "# Begin")
    with pytest.raises(ValueError, match=r"00_start\.ipynb has lost its markers"):
        course.in_notebook(path.read_text(), MAP, "the map", path.name)


def test_only_a_github_repository_gets_colab_and_binder_buttons():
    first = f"notebooks/{plan.course().notebooks[0].file}"
    assert (ROOT / first).exists()
    buttons = course.badges("https://github.com/someone/gemm.git", first)
    assert f"(https://colab.research.google.com/github/someone/gemm/blob/main/{first})" in buttons
    assert f"(https://mybinder.org/v2/gh/someone/gemm/HEAD?urlpath=lab/tree/{first})" in buttons
    assert course.badges("https://git.example.org/gemm", first) == course.badges("", first) == ""


# --- notes for the speaker, and routes


def noted(folder: Path, name: str, *sections: str) -> None:
    path = speaker.path_of(folder / name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(["# For the speaker", *sections]), encoding="utf-8")


def written(folder: Path) -> Path:
    write(folder, "00_start.ipynb", "# Begin", "## 1 · Question: why?", "## 2 · See", "## 3 · Do")
    write(folder, "01_loop.ipynb", "# Loop", "## 1 · Predict", "## 2 · Do")
    noted(folder, "00_start.ipynb", "## 1 · 3 minutes", "Say.", "## 2 · 4 minutes", "**Say** it.\n\n**Ask** why.")
    noted(folder, "01_loop.ipynb", "## 1 · 1 minute", "Say.", "## 2 · 8 minutes", "Say.")
    return folder


def test_speaker_notes_lie_beside_the_notebook_step_by_step(tmp_path):
    folder = written(tmp_path)
    notes = speaker.notes(folder / "00_start.ipynb")
    assert notes == {1: speaker.Note(3, "Say."), 2: speaker.Note(4, "**Say** it.\n\n**Ask** why.")}
    assert steps.titles(folder / "00_start.ipynb") == {1: "Question: why?", 2: "See", 3: "Do"}
    assert speaker.notes(folder / "02_x.ipynb") == {}


@pytest.mark.parametrize(
    ("section", "said"),
    [("## Say this", "is not a step and its minutes"), ("## 1 · 2 minutes", "step 1 has two notes")],
)
def test_ambiguous_notes_are_refused(tmp_path, section, said):
    noted(tmp_path, "00_start.ipynb", "## 1 · 3 minutes", "Say.", section, "Say.")
    with pytest.raises(ValueError, match=rf"00_start\.md: .*{said}"):
        speaker.notes(tmp_path / "00_start.ipynb")


def test_a_route_is_a_table_with_a_clock_whose_minutes_are_sums(tmp_path):
    folder = written(tmp_path)
    assert steps.route_minutes(ROUTE, COURSE, folder) == 4 + 3 + 55 + 1 + 8
    assert course.route_table(ROUTE, COURSE, folder).splitlines()[2:] == [
        "| 0:00 | [00](00_start.ipynb) | **2** See · **1** Question | 7 | First. |",
        "| 0:07 | | | 55 | Break. |",
        "| 1:02 | [01](01_loop.ipynb) | **1** Predict · **2** Do | 9 | Then. |",
    ]
    assert course.routes(COURSE, folder).startswith(
        "**A workshop of an hour** (71 minutes). All. Its slides: `route-an-hour.html`.\n\n| From |"
    )


def test_route_without_minutes_or_notebook_is_refused(tmp_path):
    folder = written(tmp_path)
    with pytest.raises(ValueError, match=r"00_start\.ipynb: step 3 of a route has no note for the speaker"):
        steps.stop_minutes(Stop("00", (1, 3), ""), COURSE, folder)
    with pytest.raises(BrokenPlan, match="no notebook 08"):
        steps.stop_minutes(Stop("08", (1,), ""), COURSE, folder)
    with pytest.raises(ValueError, match=r"02_threads\.ipynb is not in .*, but a route of the plan leads through it"):
        steps.stop_minutes(Stop("02", (1,), ""), COURSE, folder)


@pytest.mark.parametrize("route", plan.course().routes, ids=lambda route: route.name)
def test_route_fits_its_time_in_stretches_of_ninety_minutes(route):
    assert 0.9 * route.at_most <= steps.route_minutes(route, plan.course(), plan.FOLDER) <= route.at_most
    stretch = 0
    for stop in route.stops:
        minutes = steps.stop_minutes(stop, plan.course(), plan.FOLDER)
        stretch = 0 if isinstance(stop, Pause) else stretch + minutes
        assert stretch <= 90


@pytest.mark.parametrize("number", plan.course().numbers)
def test_every_step_has_one_speaker_note_to_say_and_to_ask(number):
    path = plan.course().notebook(number).path
    notes = speaker.notes(path)
    assert set(notes) == set(steps.titles(path))
    assert all("**Say** " in note.text and "**Ask** " in note.text for note in notes.values())


def test_readme_map_and_routes_are_up_to_date():
    for path, text in course.wanted().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make format`"
