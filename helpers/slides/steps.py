"""The steps of a notebook, which it numbers "## 4 · See", and how long it takes to show them to a room.

The minutes of a step stand once, in its note for the speaker (`speaker`); those of a workshop's route are sums.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from helpers.plan import Course, Pause, Route, Stop
from helpers.slides import speaker

STEP = re.compile(r"^## (\d+) · (.+)$", re.MULTILINE)


def titles(path: Path) -> dict[int, str]:
    """Step → its heading without the number."""
    text = "\n".join("".join(cell["source"]) for cell in _cells(path) if cell["cell_type"] == "markdown")
    return {int(number): title.strip() for number, title in STEP.findall(text)}


def of_cells(path: Path) -> dict[str, int]:
    """The id of each cell → the step that it stands in; 0 is before the first."""
    step, steps_of = 0, {}
    for cell in _cells(path):
        headings = STEP.findall("".join(cell["source"])) if cell["cell_type"] == "markdown" else []
        step = int(headings[-1][0]) if headings else step
        steps_of[cell["id"]] = step
    return steps_of


def stop_minutes(stop: Stop | Pause, course: Course, folder: Path) -> int:
    """Minutes of a stop, the sum of its steps'. ValueError for a step without a note for the speaker."""
    if isinstance(stop, Pause):
        return stop.minutes
    path = folder / course.notebook(stop.notebook).file
    if not path.exists():
        raise ValueError(f"{path.name} is not in {path.parent.name}/, but a route of the plan leads through it")
    minutes = {step: note.minutes for step, note in speaker.notes(path).items()}
    missing = [step for step in stop.steps if step not in minutes]
    if missing:
        raise ValueError(
            f"{path.name}: step {missing[0]} of a route has no note for the speaker that states its minutes"
        )
    return sum(minutes[step] for step in stop.steps)


def route_minutes(route: Route, course: Course, folder: Path) -> int:
    """Minutes of the whole route, pauses included."""
    return sum(stop_minutes(stop, course, folder) for stop in route.stops)


def _cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]
