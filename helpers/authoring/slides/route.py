"""The slides of a workshop: those of its steps, in its order, with the clock in the notes for the speaker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.authoring.notebooks import form, speaker, steps
from helpers.authoring.slides import deck, planned
from helpers.plan import Course, Pause, Route


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
        end = minute + steps.stop_minutes(stop, course, folder)
        if isinstance(stop, Pause):
            yield Part(f"{stop.minutes} minutes", stop.what.rstrip("."), clock(minute, end))
        else:
            book = course.notebook(stop.notebook)
            shown = tuple(_slides(folder / book.file, stop.steps, minute, frames))
            yield Part(f"Notebook {book.number}", book.title, clock(minute, end) + deck.markdown(stop.why), shown)
        minute = end


def clock(begin: int, end: int) -> str:
    """What the speaker's clock should say, as HTML."""
    return f"<p><b>Minute {begin}</b>, until minute {end}</p>"


def _slides(path: Path, wanted: tuple[int, ...], minute: int, frames: bool) -> Iterator[deck.Slide]:
    """The slides of some steps of a notebook, of which the first begins in this minute."""
    notes = speaker.notes(path)
    said = planned.planned(planned.path_of(path).read_text(encoding="utf-8"))
    notebook = form.read(path.read_text(encoding="utf-8"))
    for step in wanted:
        end = minute + notes[step].minutes
        of_step = [one for one in said if one.step == step]
        if not of_step:
            raise ValueError(f"{path.name}: a route shows step {step}, which has no slide")
        found = deck.slides(notebook, of_step, {step: notes[step].text}, frames=frames)
        yield replace(found[0], notes=clock(minute, end) + found[0].notes)
        yield from found[1:]
        minute = end
