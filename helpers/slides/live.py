"""The slides of a notebook for JupyterLab, where its pictures and explorers are alive; the extension asks for them.

Tables and questions come from the notebook's own cells, which run; words, kernels and notes come from here, and
pictures and explorers are drawn here for a room, with the names that the notebook has.
"""

from __future__ import annotations

import html
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from IPython import get_ipython
from IPython.display import HTML, JSON, display
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from helpers import plan
from helpers.slides import deck, planned, redrawn, route, speaker

STYLE = Path(__file__).parent / "slide.css"
DRAW = f"__import__({__name__!r}, fromlist=['draw']).draw({{name!r}}, {{number}})"


def slides(name: str) -> JSON:
    """The shows of a notebook, by its file's name; none if nobody has said any slides.

    The first show is the whole notebook, the others are what workshops show of it, with their clock in the notes. Each
    has a name, its slides, and the notebook in which it goes on. A slide has its title, words and notes as HTML, and
    what it shows: HTML, or the source of the cell whose output the notebook shows, or what the kernel is asked to draw.
    Of several outputs of a cell it shows the first that has an element of the name `output`, and of a table the
    columns that the slide names.
    """
    path = plan.FOLDER / name
    said = planned.path_of(path)
    if not said.exists():
        return JSON({"shows": []})
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    notes = {step: note.text for step, note in speaker.notes(path).items()}
    films = planned.planned(said.read_text(encoding="utf-8"))
    whole = [_slide(slide, notebook, name) for slide in deck.slides(notebook, films, notes, frames=False)]
    shows = [{"name": f"The whole notebook: {len(whole)} slides", "slides": whole, "then": None}]
    course = plan.course()
    for workshop in course.routes:
        for share in route.shares(workshop, name[:2], course, plan.FOLDER):
            shows.append(_show(workshop, share, notebook, name))
    colours = HtmlFormatter(style="default").get_style_defs(".course-slide .code")
    return JSON({"shows": shows, "style": STYLE.read_text(encoding="utf-8") + colours})


def _show(workshop: plan.Route, share: route.Share, notebook: NotebookNode, file: str) -> dict[str, Any]:
    """A workshop's part of a notebook, in which each stop begins with its title."""
    shown: list[dict[str, Any]] = []
    for part in share.parts:
        over = f'<p class="number">{html.escape(part.over)}</p>'
        opening = {
            "title": part.title,
            "words": over,
            "notes": part.notes,
            "kind": "opening",
            "html": "",
            "cell": "",
            "output": "",
            "columns": [],
            "draw": "",
        }
        shown += [opening, *(_slide(slide, notebook, file) for slide in part.slides)]
    name = f"The workshop of {workshop.name}, from minute {share.minute}: {len(shown)} slides"
    after = share.then
    then = None if after is None else {"file": after.file, "title": f"{after.number} · {after.title}"}
    return {"name": name, "route": workshop.name, "slides": shown, "then": then}


def _slide(slide: deck.Slide, notebook: NotebookNode, name: str) -> dict[str, Any]:
    drawn = slide.kind in ("film", "picture")
    return {
        "title": slide.title,
        "words": slide.words,
        "notes": slide.notes,
        "kind": slide.kind,
        "html": slide.shown[0] if slide.cell is None and slide.shown else "",
        "cell": "" if slide.cell is None or drawn else notebook.cells[slide.cell].source,
        "output": {"table": "table", "printed": "pre"}.get(slide.kind, ""),
        "columns": list(slide.columns),
        "draw": DRAW.format(name=name, number=slide.number) if drawn else "",
    }


def draw(name: str, number: int) -> None:
    """Display the picture or the explorer of a slide, with letters for the last row of a room.

    name: of the notebook's file.  number: the slide's place in it, from 0.  A picture is drawn with the names that the
    notebook has, so that it is of the learner's own kernel; where its cell cannot run with them, with the course's.
    Of an explorer the control that the slide speaks of is shown.
    """
    path = plan.FOLDER / name
    slide = planned.planned(planned.path_of(path).read_text(encoding="utf-8"))[number]
    if slide.kind == "film":
        explorer, control = deck.explored(slide)
        explorer.show_only(control)
        explorer.enlarge(deck.legible(slide, partial(deck.picture_of, explorer))[1])
        display(explorer)
        return
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    cell = deck.cell_of(notebook, slide.step, slide.what)
    try:
        names = get_ipython().user_ns
        shown, _ = deck.legible(slide, partial(redrawn.picture, notebook, cell, known=names))
    except Exception:  # its names are not there, or a later cell has given them to something else
        shown, _ = deck.legible(slide, partial(redrawn.picture, notebook, cell))
    display(HTML(deck.image(shown, "still jp-CoursePicture")))
