"""What this learner has tried and solved: a small file, shown as a map, forgotten by one call, never in the way.

The file lies in the user's data folder; the environment variable GEMM_COURSE_PROGRESS names another one, or `off` for
none. Where it cannot be written, progress is kept until the notebook's kernel ends.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from helpers import plan

ENVIRONMENT_VARIABLE = "GEMM_COURSE_PROGRESS"
TRIED, SOLVED = "tried", "solved"
_MARKS = {None: "○", TRIED: "◐", SOLVED: "●"}

_memory: dict[str, str] = {}  # what could not be written; belongs to this process alone


def path() -> Path | None:
    """The file, or None if progress is not to be kept."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    return data_folder() / "progress.json"


def data_folder() -> Path:
    """Where the system keeps what programs store for this user."""
    return Path(platformdirs.user_data_dir("gemm-course", appauthor=False))


def states() -> dict[str, str]:
    """Exercise -> "tried" or "solved". A file that cannot be read counts as empty."""
    file = path()
    kept: Any = None
    if file is not None:
        with contextlib.suppress(OSError, ValueError):
            kept = json.loads(file.read_text(encoding="utf-8"))
    known = kept if isinstance(kept, dict) else {}
    valid = {name: state for name, state in known.items() if isinstance(name, str) and state in (TRIED, SOLVED)}
    return {**valid, **_memory}


def note(name: str, *, solved: bool) -> None:
    """Remember that an exercise was tried, or solved; what is solved stays solved. Never fails."""
    state = SOLVED if solved else TRIED
    now = states()
    if now.get(name) in (state, SOLVED):
        return
    now[name] = state
    if not _write(now):
        _memory[name] = state


def reset() -> str:
    """Forget everything."""
    _memory.clear()
    file = path()
    if file is not None:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
        if file.exists():
            return f"{file} cannot be deleted; delete it by hand to begin anew."
    return "Your progress is forgotten: all exercises are open again."


def _write(now: Mapping[str, str]) -> bool:
    """Replace the file as a whole, so that a notebook that reads it never sees half of it."""
    target = path()
    if target is None:
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".progress-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(sorted(now.items())), file, indent=1)
        os.replace(temporary, target)
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class Row:
    """The exercises of one notebook: (name, title) in their order."""

    notebook: str
    exercises: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ProgressMap:
    """What is open, tried and solved, a row for each notebook.  kept: where, in a sentence."""

    rows: tuple[Row, ...]
    states: Mapping[str, str]
    kept: str

    @property
    def summary(self) -> str:
        """'7 of 27 exercises solved.'"""
        names = [name for row in self.rows for name, _ in row.exercises]
        solved = sum(self.states.get(name) == SOLVED for name in names)
        return f"{solved} of {len(names)} exercises solved. {self.kept}"

    def text(self) -> str:
        lines = [
            f"{row.notebook}  "
            + "   ".join(f"{_MARKS[self.states.get(name)]} {title}" for name, title in row.exercises)
            for row in self.rows
        ]
        return "\n".join([*lines, self.summary])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        cell = "padding: 3px 14px; text-align: left;"
        rows = []
        most = max((len(row.exercises) for row in self.rows), default=0)
        for row in self.rows:
            texts = [f"{_MARKS[self.states.get(name)]} {html.escape(title)}" for name, title in row.exercises]
            texts += [""] * (most - len(texts))
            cells = "".join(f'<td style="{cell}">{text}</td>' for text in texts)
            rows.append(f'<tr><th style="{cell}">{_linked(row.notebook)}</th>{cells}</tr>')
        page = f"<table>{''.join(rows)}</table><div>{html.escape(self.summary)}</div>"
        return {"text/html": page, "text/plain": self.text()}


def short(file: Path) -> str:
    """The file as its owner writes it: ~ for the home folder."""
    try:
        return f"~/{file.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):  # elsewhere, or a user without a home
        return str(file)


def _linked(notebook: str) -> str:
    """The number of a notebook, which leads to it if the course has it."""
    known = plan.course()
    return f'<a href="{known.notebook(notebook).file}">{notebook}</a>' if notebook in known.numbers else notebook


def progress_map(rows: Sequence[Row]) -> ProgressMap:
    """The map of these exercises as it stands."""
    file = path()
    kept = "It is not kept here."  # switched off, as where notebooks are run to be stored
    if file is not None:
        kept = f"It is kept in {short(file)}; progress.reset() forgets it."
    if _memory:
        kept = "Progress cannot be written here, so it is kept until this notebook's kernel ends."
    return ProgressMap(tuple(rows), states(), kept)
