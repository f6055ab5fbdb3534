"""The steps of a notebook, which it numbers "## 4 · See", and how long it takes to show them to a room.

The minutes of a step stand once, in its note for the speaker; those of a workshop's route are sums.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from helpers.plan import Course, Pause, Route, Stop

STEP = re.compile(r"^## (\d+) · (.+)$", re.MULTILINE)
SPEAKER = re.compile(r"<summary>For the speaker · (\d+) minutes?</summary>")


def speaker_minutes(path: Path) -> dict[int, int]:
    """Step → minutes of showing it, from the notes for the speaker. ValueError for a note before the first step."""
    found: dict[int, int] = {}
    step = None
    for cell in _cells(path):
        text = "".join(cell["source"])
        heading, note = STEP.search(text), SPEAKER.search(text)
        if cell["cell_type"] == "markdown" and heading:
            step = int(heading[1])
        if note and step is None:
            raise ValueError(f"{path.name}: a note for the speaker stands before the first step")
        if note:
            found[step] = found.get(step, 0) + int(note[1])
    return found


def titles(path: Path) -> dict[int, str]:
    """Step → its heading without the number."""
    text = "\n".join("".join(cell["source"]) for cell in _cells(path) if cell["cell_type"] == "markdown")
    return {int(number): title.strip() for number, title in STEP.findall(text)}


def stop_minutes(stop: Stop | Pause, course: Course, folder: Path) -> int:
    """Minutes of a stop, the sum of its steps'. ValueError for a step without a note for the speaker."""
    if isinstance(stop, Pause):
        return stop.pause
    path = folder / course.notebook(stop.notebook).file
    minutes = speaker_minutes(path)
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
    """The cells of a notebook. ValueError if the file is not there."""
    if not path.exists():
        raise ValueError(f"{path.name} is not in {path.parent.name}/, but a route of the plan leads through it")
    return json.loads(path.read_text(encoding="utf-8"))["cells"]
