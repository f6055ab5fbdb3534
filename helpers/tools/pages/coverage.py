"""Where each idea of the documents behind the course is taught, read from notebooks/coverage.toml, and as a page.

A row names cells of notebooks. `read` refuses one whose cell or notebook is gone, so that nothing that was taught
disappears unnoticed when a page is rewritten.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.sentences import Sentence
from helpers.plan import Course
from helpers.slides import steps

FILE = "coverage.toml"
PAGE = "where_taught.md"
VERDICTS = ("yes", "partly", "no")


class BrokenCoverage(Sentence, ValueError):
    """A row cannot be right; the message names it and says what is expected."""


@dataclass(frozen=True)
class Location:
    """A cell of a notebook. notebook: its two digits.  cell: its id.  step: where it stands, 0 before the first."""

    notebook: str
    cell: str
    step: int


@dataclass(frozen=True)
class Idea:
    """An idea of one of the documents.

    id: the document's number, a point, and the idea's number in it.
    idea: in one line.
    verdict: one of VERDICTS.
    places: where it is taught.
    shown: how; for a "no", why not.
    """

    id: str
    idea: str
    verdict: str
    places: tuple[Location, ...]
    shown: str


@dataclass(frozen=True)
class Document:
    """One of the documents, with all of its ideas in order."""

    number: int
    title: str
    ideas: tuple[Idea, ...]


def read(text: str, course: Course, folder: Path) -> tuple[Document, ...]:
    """The documents in the text of a coverage.toml. Raises BrokenCoverage for the first row that cannot be right."""
    tables = tomllib.loads(text)
    there = {
        notebook.number: steps.of_cells(folder / notebook.file)
        for notebook in course.notebooks
        if (folder / notebook.file).exists()
    }
    ideas: dict[str, Idea] = {}
    for row in tables["idea"]:
        idea = _idea(row, there)
        if idea.id in ideas:
            raise BrokenCoverage(f"{FILE} has two rows with the id {idea.id!r}; each idea has one.")
        ideas[idea.id] = idea
    documents = tuple(_document(row, ideas) for row in tables["document"])
    unknown = set(ideas) - {idea.id for document in documents for idea in document.ideas}
    if unknown:
        raise BrokenCoverage(f"{FILE}: idea {min(unknown)!r} belongs to none of its documents.")
    return documents


def _idea(row: dict[str, Any], there: dict[str, dict[str, int]]) -> Idea:
    keys = {"id", "idea", "verdict", "places", "shown"}
    where = f"{FILE}, idea {row.get('id', '?')!r}"
    if set(row) != keys:
        raise BrokenCoverage(f"{where} has the keys {sorted(row)}; expected are {sorted(keys)}.")
    if row["verdict"] not in VERDICTS:
        raise BrokenCoverage(f"{where}: the verdict is {row['verdict']!r}, expected one of {', '.join(VERDICTS)}.")
    if not row["idea"] or not row["shown"]:
        raise BrokenCoverage(f"{where}: idea and shown must say something.")
    if row["verdict"] == "yes" and not row["places"]:
        raise BrokenCoverage(f"{where} is taught ({row['verdict']!r}), so it needs at least one place.")
    places = tuple(_location(where, location, there) for location in row["places"])
    return Idea(row["id"], row["idea"], row["verdict"], places, row["shown"])


def _location(where: str, location: str, there: dict[str, dict[str, int]]) -> Location:
    notebook, _, cell = location.partition(":")
    if notebook not in there:
        raise BrokenCoverage(f"{where}: there is no notebook {notebook!r} any more; where is the idea taught now?")
    if cell not in there[notebook]:
        raise BrokenCoverage(f"{where}: notebook {notebook} has no cell {cell!r} any more; where is the idea now?")
    return Location(notebook, cell, there[notebook][cell])


def _document(row: dict[str, Any], ideas: dict[str, Idea]) -> Document:
    wanted = [f"{row['number']}.{number}" for number in range(1, row["ideas"] + 1)]
    missing = [name for name in wanted if name not in ideas]
    if missing:
        raise BrokenCoverage(f"{FILE} has lost idea {missing[0]!r}; document {row['number']} has {row['ideas']} ideas.")
    return Document(row["number"], row["title"], tuple(ideas[name] for name in wanted))


def page(documents: tuple[Document, ...], course: Course) -> str:
    """The page in Markdown: a table for each document, with links to the cells, and what is not taught."""
    verdicts = Counter(idea.verdict for document in documents for idea in document.ideas)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    parts = [f"Of {verdicts.total()} ideas: {counts}."]
    for document in documents:
        parts.append(f"## {document.title}")
        parts.append("\n".join(_rows(document, course)))
    return "\n\n".join(parts)


def _rows(document: Document, course: Course) -> Iterator[str]:
    yield "| | Idea | Taught | Where | How |"
    yield "|--:|---|---|---|---|"
    for idea in document.ideas:
        where = " · ".join(_link(location, course) for location in idea.places)
        yield f"| {idea.id} | {_cell(idea.idea)} | {idea.verdict} | {where} | {_cell(idea.shown)} |"


def _link(location: Location, course: Course) -> str:
    step = f", step {location.step}" if location.step else ""
    return f"[{location.notebook}{step}]({course.notebook(location.notebook).file}#cell-id={location.cell})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
