"""One HTML file for a deck, with reveal.js, style and pictures inside it, and the list of all decks."""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from pygments.formatters import HtmlFormatter

from helpers import slides
from helpers.plan import Notebook, Route
from helpers.slides.deck import Slide
from helpers.slides.route import Part
from helpers.tools import labextension

HERE = Path(__file__).parent
STYLE = Path(slides.__file__).parent / "slide.css"
PACKAGE = "sphinx_revealjs"  # carries reveal.js and its licence; nothing of Sphinx is used

DECK = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
$filter
<div class="reveal"><div class="slides">
$slides
</div></div>
<script>
$reveal
</script>
<script>
$notes
</script>
<script>
$start
</script>
</body>
</html>
""")

PLAIN = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 18px/1.6 system-ui, "DejaVu Sans", sans-serif; max-width: 50rem; margin: 3rem auto; padding: 0 1rem; }
kbd { border: 1px solid #999; border-radius: 4px; padding: 0 .4em; }
li { margin: .3em 0; }
th, td { padding: .2em .8em; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
</style>
</head>
<body>
$body
</body>
</html>
""")

INDEX = Template("""<h1>Slides of the course</h1>
<ul>
$entries
</ul>
<p><kbd>→</kbd> or <kbd>Space</kbd> goes on, <kbd>←</kbd> back, <kbd>O</kbd> shows all slides, <kbd>F</kbd> fills the
screen, <kbd>S</kbd> opens the speaker's notes in a window of their own, <kbd>?</kbd> lists all keys. To print, or to
save as PDF, open a deck with <code>?print-pdf</code> at the end of its address; with <code>?showNotes=true</code> the
notes stand beside the slides. The files need no network. Where a notebook has an explorer, a slide shows some of its
pictures, one at each press of a key. The predictions are here, with their answers folded.</p>
""")


class RevealMissing(Exception):
    """The package that carries reveal.js is not installed; the message says what to do."""


def reveal_folder() -> Path:
    """Where reveal.js lies. Raises RevealMissing."""
    spec = importlib.util.find_spec(PACKAGE)  # does not import it, and so not Sphinx either
    places = list(spec.submodule_search_locations or []) if spec else []
    folder = Path(places[0]) / "_static" / "revealjs" if places else None
    if folder is None or not (folder / "dist" / "reveal.js").is_file():
        raise RevealMissing("reveal.js is not installed; `make slides` installs it (pip install -e '.[slides]').")
    return folder


def deck_page(book: Notebook, slides: Sequence[Slide]) -> str:
    """The HTML file of one notebook, from its row in the plan and its slides.

    Nothing in it refers to another file or to the network.
    """
    return _deck(book.title, [_opening(f"Notebook {book.number}", book.title, book.summary), *map(_section, slides)])


def route_page(route: Route, parts: Sequence[Part]) -> str:
    """The HTML file of a workshop, from its row in the plan and its parts; like `deck_page`."""
    sections = [_opening("A workshop", route.name, route.promise.replace(". ", ".\n"))]
    for part in parts:
        sections += [_opening(part.over, part.title, "", part.notes), *map(_section, part.slides)]
    return _deck(f"A workshop of {route.name}", sections)


def _deck(title: str, sections: Sequence[str]) -> str:
    folder = reveal_folder()
    reveal = [folder / "dist" / name for name in ("reset.css", "reveal.css")]
    styles = [*reveal, STYLE, HERE / "deck.css"]
    colours = HtmlFormatter(style="default").get_style_defs(".course-slide .code")
    scripts = {
        "reveal": folder / "dist" / "reveal.js",
        "notes": folder / "plugin" / "notes" / "notes.js",
        "start": HERE / "start.js",
    }
    return DECK.substitute(
        title=html.escape(title),
        style="\n".join([*(_read(style) for style in styles), colours]),
        slides="\n".join(sections),
        filter=_read(labextension.FILTER),
        **{name: _read(script).replace("</script", "<\\/script") for name, script in scripts.items()},
    )


def plain_page(title: str, body: str) -> str:
    """A page of text. body: HTML."""
    return PLAIN.substitute(title=html.escape(title), body=body)


def index_page(titles: Mapping[str, str]) -> str:
    """The list of decks and how to go through one. titles: file name → title, in order."""
    entries = (
        f'<li>{html.escape(name[:2])} · <a href="{html.escape(name)}">{html.escape(title)}</a></li>'
        if name[:2].isdecimal()
        else f'<li><a href="{html.escape(name)}">{html.escape(title)}</a></li>'
        for name, title in titles.items()
    )
    return plain_page("Slides of the course", INDEX.substitute(entries="\n".join(entries)))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _opening(over: str, title: str, lead: str = "", notes: str = "") -> str:
    """A slide of words alone. over: a line over the title.  lead: sentences, one on a line.  notes: HTML."""
    sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in lead.splitlines())
    return (
        f'<section class="course-slide opening"><div class="number">{html.escape(over)}</div>'
        f"<h1>{html.escape(title)}</h1><div class='words'>{sentences}</div>{_notes(notes)}</section>"
    )


def _notes(notes: str) -> str:
    return f'<aside class="notes">{notes}</aside>' if notes else ""


def _section(slide: Slide) -> str:
    words = f'<div class="words">{slide.words}</div>' if slide.words else ""
    return (
        f'<section class="course-slide" data-step="{slide.step}" data-kind="{slide.kind}">'
        f"<h1>{html.escape(slide.title)}</h1>{words}"
        f'<div class="shown {slide.kind}">{"".join(_frames(slide))}</div>{_notes(slide.notes)}</section>'
    )


def _frames(slide: Slide) -> Sequence[str]:
    """What is shown; of a film the frames, one on the other, of which each press of a key shows the next."""
    if slide.kind != "film":
        return slide.shown
    last = len(slide.shown) - 1
    turns = ["fragment fade-out", *["fragment current-visible"] * (last - 1), "fragment"]
    return [
        shown.replace('class="frame"', f'class="{turn}" data-fragment-index="{max(0, number - 1)}"')
        for number, (shown, turn) in enumerate(zip(slide.shown, turns, strict=True))
    ]
