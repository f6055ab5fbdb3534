"""The map of the course in notebook 00: every notebook with its minutes, and two routes through them for workshops.

Both are kept between markers in Markdown cells and written by `make format`, with the README's table. A *step* is what
a notebook numbers, "## 4 · See". How long it takes to show one to a room stands once, in the step's note for the
speaker; a route names steps, and its minutes are sums.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.authoring.notebooks import form as notebook_form

if TYPE_CHECKING:
    from helpers.authoring.readme.notebooks import Planned

BEGIN = "<!-- map: begin, written by `make format` -->"
END = "<!-- map: end -->"
HERE = "00"
ROUTES_BEGIN = "<!-- routes: begin, written by `make format` -->"
ROUTES_END = "<!-- routes: end -->"
STEP = re.compile(r"^## (\d+) · (.+)$", re.MULTILINE)
SPEAKER = re.compile(r"<summary>For the speaker · (\d+) minutes?</summary>")
_MINUTES = re.compile(r"^\*\*(\d+) minutes\.?\*\*", re.MULTILINE)


def first_cell(path: Path) -> str:
    """The text of a notebook's first cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]) if cells else ""


def minutes_of(path: Path) -> int:
    """The minutes that a notebook's header states as '**25 minutes.**' at the start of a line. ValueError without."""
    found = _MINUTES.search(first_cell(path))
    if found is None:
        raise ValueError(f"{path.name}: the first cell has no line that begins with '**25 minutes.**' or the like")
    return int(found[1])


def text(folder: Path, plan: Sequence[Planned]) -> str:
    """The Markdown between the markers: the table, and under it the minutes of all notebooks that exist."""
    rows = ["| | Notebook | What it is about | Minutes |", "|---|---|---|---|"]
    total = count = 0
    for one in plan:
        path = next(iter(sorted(folder.glob(f"{one.number}*.ipynb"))), None)
        if path is None:
            rows.append(f"| {one.number} | {one.title} *(in preparation)* | {one.idea} | |")
            continue
        minutes = minutes_of(path)
        total, count = total + minutes, count + 1
        title = first_cell(path).split("\n")[0].removeprefix("# ").strip()
        name = f"**{title}** *(you are here)*" if one.number == HERE else f"[{title}]({path.name})"
        rows.append(f"| {one.number} | {name} | {one.idea} | {minutes} |")
    rows.append(f"\nAt your own pace these {count} notebooks take about {hours(total)}.")
    return "\n".join(rows)


def hours(minutes: int) -> str:
    """'50 minutes', '2½ hours': to the half-hour from one hour on."""
    halves = round(minutes / 30)
    if halves < 2:
        return f"{minutes} minutes"
    whole, half = divmod(halves, 2)
    return f"{whole}{'½' if half else ''} hour{'s' if halves > 2 else ''}"


@dataclass(frozen=True)
class Stop:
    """A part of a route.

    notebook: its two digits.  steps: the numbers of the steps that are shown, in order.  why: what for, a sentence.
    """

    notebook: str
    steps: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Pause:
    """A break of so many minutes between two stops."""

    minutes: int
    why: str = "Break."


@dataclass(frozen=True)
class Route:
    """A workshop. name: how long it lasts, in words.  promise: what everybody in the room has seen at its end.

    at_most: the minutes that it may take.
    """

    name: str
    at_most: int
    promise: str
    stops: tuple[Stop | Pause, ...]


ROUTES = (
    Route(
        "90 minutes",
        90,
        "For people who know some Python and have never launched a kernel. At its end all of them have launched one, "
        "know which thread computes what, and can say why neighbours should read neighbours and what a tile saves.",
        (
            Stop("00", (1, 2, 3, 4), "A first kernel, in seven steps, and the warp that carries it out."),
            Stop("01", (6, 7), "How fast it could be: two floors and a roof."),
            Stop("02", (1, 3, 5), "Which thread computes which element, and who is its neighbour."),
            Stop(
                "03",
                (1, 2, 3, 4, 7),
                "Two lines, a factor of ten, and the rule behind it; then in pairs with the sliders.",
            ),
            Stop("04", (1, 2, 3, 4, 8), "Fetch once, read many times; and why that buys less than it should."),
            Stop("00", (7,), "Where the rest of the way leads, and how to go on alone."),
        ),
    ),
    Route(
        "half a day",
        240,
        "For people who write code and want to see why a GPU is fast. At its end all of them have also mended a slow "
        "kernel, met a race, and worked out by hand how many blocks an SM holds.",
        (
            Stop("00", (1, 2, 3, 4, 6), "A first kernel, in seven steps, and what a launch may ask for."),
            Stop("01", (4, 5, 6, 7), "Two rules, use what you fetch and fetch it seldom; then the roof."),
            Stop("02", (1, 3, 5, 6), "Which thread computes which element, and what a half empty warp costs."),
            Pause(15),
            Stop("03", (1, 2, 3, 4, 5, 7, 9), "Coalescing, with the counters, and the exercises."),
            Stop("04", (1, 2, 3, 4, 5, 6, 8), "Tiles, two barriers, and the race without them."),
            Pause(15),
            Stop(
                "05",
                (1, 2, 3, 6, 9),
                "Occupancy by hand, against the compiler and the profiler; why more is not always better.",
            ),
            Stop("06", (1, 2, 3, 4, 6, 9, 10), "Many results for each thread, and what they cost in registers."),
            Stop("12", (1, 5), "What all the ideas together buy, beside NVIDIA's own library."),
        ),
    ),
)


def speaker_minutes(path: Path) -> dict[int, int]:
    """Step → minutes of showing it, from the notes for the speaker. ValueError for a note before the first step."""
    found: dict[int, int] = {}
    step = None
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        heading, note = STEP.search(text), SPEAKER.search(text)
        if cell["cell_type"] == "markdown" and heading:
            step = int(heading[1])
        if note and step is None:
            raise ValueError(f"{path.name}: a note for the speaker stands before the first step")
        if note:
            found[step] = found.get(step, 0) + int(note[1])
    return found


def step_titles(path: Path) -> dict[int, str]:
    """Step → its heading without the number."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {int(number): title.strip() for number, title in STEP.findall(text)}


def notebook_path(folder: Path, number: str) -> Path:
    """The notebook whose name begins with these digits. Raises ValueError without one."""
    path = next(iter(sorted(folder.glob(f"{number}*.ipynb"))), None)
    if path is None:
        raise ValueError(f"no notebook in {folder} begins with {number}")
    return path


def stop_minutes(stop: Stop | Pause, folder: Path) -> int:
    """Minutes of a stop, the sum of its steps'. ValueError for a step without a note for the speaker."""
    if isinstance(stop, Pause):
        return stop.minutes
    path = notebook_path(folder, stop.notebook)
    minutes = speaker_minutes(path)
    missing = [step for step in stop.steps if step not in minutes]
    if missing:
        raise ValueError(
            f"{path.name}: step {missing[0]} of a route has no note for the speaker that states its minutes"
        )
    return sum(minutes[step] for step in stop.steps)


def route_minutes(route: Route, folder: Path) -> int:
    """Minutes of the whole route, pauses included."""
    return sum(stop_minutes(stop, folder) for stop in route.stops)


def route_table(route: Route, folder: Path) -> str:
    """The route in Markdown: at which minute, in which notebook, which steps, how long, and what for."""
    rows = ["| From | Notebook | Steps to show | Minutes | What for |", "|---|---|---|---|---|"]
    clock = 0
    for stop in route.stops:
        minutes = stop_minutes(stop, folder)
        start = f"{clock // 60}:{clock % 60:02}"
        clock += minutes
        if isinstance(stop, Pause):
            rows.append(f"| {start} | | | {minutes} | {stop.why} |")
            continue
        path = notebook_path(folder, stop.notebook)
        titles = step_titles(path)
        steps = " · ".join(f"**{step}** {titles[step].split(':')[0].split('?')[0]}" for step in stop.steps)
        rows.append(f"| {start} | [{stop.notebook}]({path.name}) | {steps} | {minutes} | {stop.why} |")
    return "\n".join(rows)


def routes_text(folder: Path) -> str:
    """The Markdown between the routes' markers in notebook 00."""
    parts = []
    for route in ROUTES:
        parts.append(f"**A workshop of {route.name}** ({route_minutes(route, folder)} minutes). {route.promise}")
        parts.append(route_table(route, folder))
    return "\n\n".join(parts)


def replaced(
    text: str, new: str, begin: str = BEGIN, end: str = END, where: str = "a cell", what: str = "the map"
) -> str:
    """A text with `new` between its markers, on lines of its own.

    Raises ValueError if a marker is missing; `where` and `what` say there whose text it is, and what belongs between.
    """
    if begin not in text or end not in text:
        raise ValueError(f"{where} has lost its markers; put {begin} and {end} where {what} belongs")
    before, rest = text.split(begin, 1)
    lines = f"{new}\n" if new else ""
    return f"{before}{begin}\n{lines}{end}{rest.split(end, 1)[1]}"


def updated(notebook: str, new_text: str, begin: str = BEGIN, end: str = END) -> str:
    """A notebook file's text with the new text between its markers, in canonical form.

    Raises ValueError if no cell has the markers.
    """
    read = notebook_form.read(notebook)
    cell = next((one for one in read.cells if begin in one.source and end in one.source), None)
    if cell is None:
        raise ValueError(f"no cell has the markers {begin} and {end}, where a text written by `make format` belongs")
    if replaced(cell.source, new_text, begin, end) == cell.source:
        return notebook
    cell.source = replaced(cell.source, new_text, begin, end)
    return notebook_form.written(notebook_form.mended(read))
