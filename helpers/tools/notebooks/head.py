"""The head of a notebook, written from the plan: heading, where the reader is, its idea in three sentences, minutes."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.plan import Course, Notebook

AROUND = 2  # notebooks that are shown on each side
HEADING = re.compile(r"\A# .*")
TRAIL = re.compile(r"^\*Notebook (\d\d) of the course:.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
LEAD = re.compile(r"\A\n\n(> .*\n?)+", re.MULTILINE)
MINUTES = re.compile(r"^\*\*\d+ minutes?\b[^*]*\*\*", re.MULTILINE)


def trail(number: str, course: Course, folder: Path) -> str:
    """'*Notebook 03 of the course:* … → [threads and indices](02_….ipynb) → **coalescing (you are here)** → …'.

    folder: where the notebooks are; one that is not there yet is named without a link. Raises BrokenPlan for a number
    that the plan does not have.
    """
    here = course.notebooks.index(course.notebook(number))
    around = range(max(0, here - AROUND), min(len(course.notebooks), here + AROUND + 1))
    parts = ["…"] if around.start > 0 else []
    for index in around:
        notebook = course.notebooks[index]
        if index == here:
            parts.append(f"**{notebook.trail} (you are here)**")
        else:
            parts.append(
                f"[{notebook.trail}]({notebook.file})" if (folder / notebook.file).exists() else notebook.trail
            )
    parts += ["…"] if around.stop < len(course.notebooks) else []
    return f"*Notebook {number} of the course:* {' → '.join(parts)}"


def with_head(first_cell: str, course: Course, folder: Path) -> str:
    """The text of a first cell with its head as it should be; a text that names no notebook of the plan stays as it is.

    The line '*Notebook 03 of the course:' says whose head it is.
    """
    match = TRAIL.search(first_cell)
    if match is None or match[1] not in course.numbers:
        return first_cell
    notebook = course.notebook(match[1])
    quoted = "\n".join(f"> {line}" for line in notebook.summary.splitlines())
    rest = LEAD.sub("\n", first_cell[match.end() :])
    text = f"{first_cell[: match.start()]}{trail(notebook.number, course, folder)}\n\n{quoted}{rest}"
    text = HEADING.sub(lambda _: f"# {notebook.title}", text)
    return MINUTES.sub(f"**{minutes(notebook)}**", text, count=1)


def minutes(notebook: Notebook) -> str:
    """'45 minutes.', '50 minutes, 60 with what is optional.'"""
    more = f", {notebook.with_optional} with what is optional" if notebook.with_optional else ""
    return f"{notebook.minutes} minutes{more}."
