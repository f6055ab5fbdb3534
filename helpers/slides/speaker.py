"""The notes for the speaker: what to say and to ask at each step of a notebook, and how many minutes it takes to show.

They lie beside the notebooks, speaker/<notebook>.md, one section per step, "## 4 · 5 minutes". A reader of the notebook
does not see them; slides show them in the speaker's window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = "speaker"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
HEADING = re.compile(r"(\d+) · (\d+) minutes?")


@dataclass(frozen=True)
class Note:
    """minutes: of showing the step.  text: Markdown."""

    minutes: int
    text: str


def path_of(notebook: Path) -> Path:
    """Where the notes of a notebook are."""
    return notebook.parent / FOLDER / f"{notebook.stem}.md"


def notes(notebook: Path) -> dict[int, Note]:
    """Step → its note; {} without a file. ValueError for a section whose heading is not '4 · 5 minutes', or that
    comes twice."""
    path = path_of(notebook)
    if not path.exists():
        return {}
    _, *parts = SECTION.split(path.read_text(encoding="utf-8"))
    notes: dict[int, Note] = {}
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        read = HEADING.fullmatch(heading.strip())
        if read is None:
            raise ValueError(f"{path.name}: the heading {heading!r} is not a step and its minutes, '## 4 · 5 minutes'")
        step = int(read[1])
        if step in notes:
            raise ValueError(f"{path.name}: step {step} has two notes; make one of them")
        notes[step] = Note(int(read[2]), text.strip())
    return notes
