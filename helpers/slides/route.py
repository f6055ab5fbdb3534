"""The slides of a workshop: those of its steps, in its order, with the clock in the notes for the speaker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

from helpers.plan import Course, Notebook, Pause, Route, Stop
from helpers.slides import deck, planned, speaker, steps


@dataclass(frozen=True)
class Part:
    """A stop of the workshop.

    over: the line over its title.  title: of the slide that it begins with.  notes: to that slide, HTML.
    slides: those of its steps; none where no step is shown.
    """

    over: str
    title: str
    notes: str
    slides: tuple[deck.Slide, ...] = ()


def parts(route: Route, course: Course, folder: Path, *, frames: bool = True) -> Iterator[Part]:
    """The stops of a route. frames: draw pictures and films, as `deck.slides` does.

    ValueError for a step without a slide, or without minutes in its notes for the speaker.
    """
    minute = 0
    for stop in route.stops:
        yield _part(stop, course, folder, minute, frames)
        minute += steps.stop_minutes(stop, course, folder)


@dataclass(frozen=True)
class Share:
    """What a route shows of one notebook, and what stands around it.

    minute: of the workshop, in which it begins.  parts: with the pauses after it, and the first also with those before.
    then: the notebook in which the route goes on, None at its end.
    """

    minute: int
    parts: tuple[Part, ...]
    then: Notebook | None


def shares(route: Route, number: str, course: Course, folder: Path) -> Iterator[Share]:
    """What a route shows of a notebook, by its two digits, where its cells run: mostly one share, or none.

    Raises what `parts` raises.
    """
    stops = list(enumerate(route.stops))
    minutes = [steps.stop_minutes(stop, course, folder) for stop in route.stops]
    books = [position for position, stop in stops if isinstance(stop, Stop)]
    for position, after in zip(books, [*books[1:], None], strict=True):
        if route.stops[position].notebook != number:
            continue
        begin = 0 if position == books[0] else position
        parts = tuple(_part(stop, course, folder, sum(minutes[:at]), frames=False) for at, stop in stops[begin:after])
        then = None if after is None else course.notebook(route.stops[after].notebook)
        yield Share(sum(minutes[:begin]), parts, then)


def _part(stop: Stop | Pause, course: Course, folder: Path, minute: int, frames: bool) -> Part:
    """A stop that begins in this minute."""
    hours = clock(minute, minute + steps.stop_minutes(stop, course, folder))
    if isinstance(stop, Pause):
        return Part(f"{stop.minutes} minutes", stop.what.rstrip("."), hours)
    book = course.notebook(stop.notebook)
    shown = tuple(_slides(folder / book.file, stop.steps, minute, frames))
    return Part(f"Notebook {book.number}", book.title, hours + deck.markdown(stop.why), shown)


def clock(begin: int, end: int) -> str:
    """What the speaker's clock should say, as HTML."""
    return f"<p><b>Minute {begin}</b>, until minute {end}</p>"


def _slides(path: Path, wanted: tuple[int, ...], minute: int, frames: bool) -> Iterator[deck.Slide]:
    """The slides of some steps of a notebook, of which the first begins in this minute."""
    notes = speaker.notes(path)
    said = planned.planned(planned.path_of(path).read_text(encoding="utf-8"))
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    for step in wanted:
        end = minute + notes[step].minutes
        of_step = [slide for slide in said if slide.step == step]
        if not of_step:
            raise ValueError(f"{path.name}: a route shows step {step}, which has no slide")
        made = deck.slides(notebook, of_step, {step: notes[step].text}, frames=frames)
        yield replace(made[0], notes=clock(minute, end) + made[0].notes)
        yield from made[1:]
        minute = end
