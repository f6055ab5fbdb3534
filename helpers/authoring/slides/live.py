"""The slides of a notebook for JupyterLab, where its pictures and explorers are alive; the extension asks for them.

What a slide shows comes from the notebook's own cells, which run; words, kernels and notes come from here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.display import JSON
from pygments.formatters import HtmlFormatter

from helpers import plan
from helpers.authoring.notebooks import form, speaker
from helpers.authoring.slides import deck, planned

STYLE = Path(__file__).parent / "slide.css"


def slides(name: str) -> JSON:
    """The slides of a notebook, by its file's name; none if nobody has said any. For each its title, words and notes as
    HTML, and what it shows: HTML, or the source of the cell whose output the notebook shows."""
    path = plan.FOLDER / name
    said = planned.path_of(path)
    if not said.exists():
        return JSON({"slides": []})
    notebook = form.read(path.read_text(encoding="utf-8"))
    notes = {step: note.text for step, note in speaker.notes(path).items()}
    films = planned.planned(said.read_text(encoding="utf-8"))
    found = deck.slides(notebook, films, notes, frames=False)
    shown: list[dict[str, Any]] = [
        {
            "title": one.title,
            "words": one.words,
            "notes": one.notes,
            "kind": one.kind,
            "html": one.shown[0] if one.cell is None else "",
            "cell": "" if one.cell is None else notebook.cells[one.cell].source,
        }
        for one in found
    ]
    colours = HtmlFormatter(style="default").get_style_defs(".course-slide .code")
    return JSON({"slides": shown, "style": STYLE.read_text(encoding="utf-8") + colours})
