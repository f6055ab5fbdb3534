"""The plan of the course: its notebooks in order and the routes of the workshops, read from notebooks/course.toml.

Everything that lists notebooks takes them from here, so that a new one is a row in that file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.sentences import Sentence

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
FILE = "course.toml"
LANES = "lanes"  # where the floats are multiplied
PLACES = ("hbm", "l2", "shared", "registers", LANES)  # of a GPU, where a kernel may be limited


class BrokenPlan(Sentence, ValueError):
    """The plan of the course cannot be used; the message names the row and says what is expected there."""


@dataclass(frozen=True)
class Mark:
    """Where most cycles of a kernel go.

    Attributes:
        place: one of PLACES.
        why: what happens there, as the end of a sentence.
        kernel: of the ladder, whose share of cuBLAS is shown; "" where the notebook has none.
    """

    place: str
    why: str
    kernel: str = ""


@dataclass(frozen=True)
class Notebook:
    """A notebook of the course, there already or in preparation.

    file: its name in the folder of notebooks, which begins with the two digits of its number.
    title: its heading.
    trail: its name in the line under the heading that says where the reader is.
    idea: what it teaches, in one line.
    minutes: of its path, as counted by helpers/tools/notebooks/lesson.py, rounded up to five.
    with_optional: minutes with the exercises that it offers as a challenge or as practice; 0 if there are none.
    summary: its idea in three sentences, one on a line, without a term that the course has not explained by then.
    now: where most cycles of the kernel go that it begins with; None in a notebook that makes no kernel faster.
    then: where those of the one go that it ends with.
    """

    file: str
    title: str
    trail: str
    idea: str
    minutes: int
    summary: str
    now: Mark | None = None
    then: Mark | None = None
    with_optional: int = 0

    @property
    def number(self) -> str:
        """Its two digits: '03'."""
        return self.file[:2]

    @property
    def path(self) -> Path:
        """Where it lies in this course."""
        return FOLDER / self.file


@dataclass(frozen=True)
class Stop:
    """A part of a route.

    notebook: its two digits.
    steps: the numbers of the steps that are shown, in order.
    why: what for, a sentence.
    """

    notebook: str
    steps: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class Pause:
    """Minutes of a route in which no step is shown: a start, a break. what: what they are for, a sentence."""

    minutes: int
    what: str


@dataclass(frozen=True)
class Route:
    """A workshop.

    name: how long it lasts, in words.
    at_most: the minutes that it may take.
    promise: what everybody in the room has seen at its end.
    """

    name: str
    at_most: int
    promise: str
    stops: tuple[Stop | Pause, ...]

    @property
    def file(self) -> str:
        """The name of its slides: 'route-90-minutes.html'."""
        return f"route-{self.name.replace(' ', '-')}.html"


@dataclass(frozen=True)
class Course:
    """The whole plan."""

    notebooks: tuple[Notebook, ...]
    routes: tuple[Route, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The two digits of every notebook, in order."""
        return tuple(notebook.number for notebook in self.notebooks)

    def notebook(self, number: str) -> Notebook:
        """The notebook with these two digits. BrokenPlan, with the numbers there are, if there is none."""
        for notebook in self.notebooks:
            if isinstance(number, str) and notebook.number == number:
                return notebook
        raise BrokenPlan(f"{FILE} has no notebook {number}; it has {', '.join(self.numbers)}.")


@cache
def course() -> Course:
    """The plan of this course. Raises BrokenPlan."""
    return read((FOLDER / FILE).read_text(encoding="utf-8"))


def read(text: str) -> Course:
    """The plan in the text of a course.toml. Raises BrokenPlan."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenPlan(f"{FILE} is not written in TOML: {error}.") from error
    unknown = sorted(set(tables) - {"notebook", "route"})
    if unknown:
        raise BrokenPlan(f"{FILE} has a table {unknown[0]!r}; expected are [[notebook]] and [[route]].")
    notebooks = tuple(_notebook(number, row) for number, row in _rows(tables, "notebook"))
    read = Course(notebooks, tuple(_route(number, row) for number, row in _rows(tables, "route")))
    _check_order(read)
    _check_stops(read)
    return read


def _rows(tables: Mapping[str, Any], name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of [[name]], counted from 1."""
    rows = tables.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BrokenPlan(f"{name!r} in {FILE} is no list of rows; begin each with [[{name}]].")
    return enumerate(rows, 1)


def _fields(
    where: str, row: Mapping[str, Any], kinds: Mapping[str, type], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """The row, if it has these keys with values of these kinds and no others; the optional ones may be missing."""
    kinds = {name: kind for name, kind in kinds.items() if name in row or name not in optional}
    missing, unknown = [name for name in kinds if name not in row], [name for name in row if name not in kinds]
    if missing:
        raise BrokenPlan(f"{where} has no {missing[0]!r}; it needs {', '.join(kinds)}.")
    if unknown:
        raise BrokenPlan(f"{where} has a key {unknown[0]!r} that has no meaning; it takes {', '.join(kinds)}.")
    for name, kind in kinds.items():
        if type(row[name]) is not kind:
            expected = {str: "a text", int: "a whole number", list: "a list", dict: "{ place = …, why = … }"}[kind]
            raise BrokenPlan(f"{where}: {name} is {row[name]!r}, expected {expected}.")
        if kind is not list and not row[name]:
            raise BrokenPlan(f"{where}: {name} is empty.")
    return dict(row)


def _notebook(number: int, row: Mapping[str, Any]) -> Notebook:
    where = f"[[notebook]] {number} of {FILE}"
    kinds = {
        "file": str,
        "title": str,
        "trail": str,
        "idea": str,
        "minutes": int,
        "with_optional": int,
        "summary": str,
        "now": dict,
        "then": dict,
    }
    fields = _fields(where, row, kinds, optional=("now", "then", "with_optional"))
    if ("now" in fields) != ("then" in fields):
        raise BrokenPlan(f"{where} has only one of 'now' and 'then'; the picture that they are for needs both.")
    marks = {name: _mark(f"{where}, {name}", fields.pop(name)) for name in ("now", "then") if name in fields}
    notebook = Notebook(**fields, **marks)
    if re.fullmatch(r"\d\d_\w+\.ipynb", notebook.file) is None:
        raise BrokenPlan(
            f"{where}: the file is {notebook.file!r}, expected two digits and a name, '03_coalescing.ipynb'."
        )
    return notebook


def _mark(where: str, row: Mapping[str, Any]) -> Mark:
    mark = Mark(**_fields(where, row, {"place": str, "why": str, "kernel": str}, optional=("kernel",)))
    if mark.place not in PLACES:
        raise BrokenPlan(f"{where}: the place is {mark.place!r}, expected one of {', '.join(PLACES)}.")
    return mark


def _route(number: int, row: Mapping[str, Any]) -> Route:
    where = f"[[route]] {number} of {FILE}"
    fields = _fields(where, row, {"name": str, "at_most": int, "promise": str, "stops": list})
    stops = tuple(_stop(f"{where}, stop {number}", stop) for number, stop in enumerate(fields.pop("stops"), 1))
    return Route(**fields, stops=stops)


def _stop(where: str, row: Any) -> Stop | Pause:
    if not isinstance(row, dict):
        raise BrokenPlan(
            f"{where} is {row!r}, expected {{ notebook = …, steps = …, why = … }} or {{ minutes = …, what = … }}."
        )
    if "minutes" in row:
        return Pause(**_fields(where, row, {"minutes": int, "what": str}))
    fields = _fields(where, row, {"notebook": str, "steps": list, "why": str})
    steps = tuple(fields.pop("steps"))
    if not steps or any(type(step) is not int for step in steps):
        raise BrokenPlan(f"{where}: steps is {list(steps)}, expected the numbers of steps, [1, 2].")
    return Stop(**fields, steps=steps)


def _check_order(course: Course) -> None:
    """Raise BrokenPlan where notebooks are not in the order of their numbers, or two have one number."""
    numbers: Sequence[str] = course.numbers
    for before, after in zip(numbers, numbers[1:], strict=False):
        if before == after:
            raise BrokenPlan(f"{FILE} has two notebooks with the number {after}.")
        if before > after:
            raise BrokenPlan(f"{FILE} has notebook {after} after notebook {before}; put them in their order.")


def _check_stops(course: Course) -> None:
    """Raise BrokenPlan where a route stops at a notebook that is not in the plan."""
    for route in course.routes:
        for stop in route.stops:
            if isinstance(stop, Stop) and stop.notebook not in course.numbers:
                raise BrokenPlan(
                    f"The route {route.name!r} of {FILE} stops at notebook {stop.notebook!r}, which has no row; "
                    f"there are {', '.join(course.numbers)}."
                )
