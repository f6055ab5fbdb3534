"""Every picture of the course, to see side by side whether they speak one language.

    python -m helpers.tools.gallery.page [FOLDER [picture …]]

Draws each figure at three settings, with its static twin, and writes FOLDER/index.html (build/gallery by default); the
words after the folder choose the figures whose names contain one of them. FOLDER/notebooks.html, linked from there,
shows the pictures that the notebooks store, which need no drawing.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.pictures import theme
from helpers.tools import labextension
from helpers.tools.gallery.pictures import PICTURES, Picture, Setting

ROOT = Path(__file__).resolve().parents[3]
FIGURES_PAGE, NOTEBOOKS_PAGE = "index.html", "notebooks.html"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pictures of the course</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
img {{ max-width: 100%; height: auto; }}
figure {{ margin: 1rem 0 2.5rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; }} img {{ filter: url(#course-dark); }} }}
figcaption {{ opacity: 0.75; margin-top: 0.3rem; }}
</style>
{filter}
<h1>{title}</h1>
<p>{links}</p>
{body}
</html>
"""


@dataclass(frozen=True)
class Stored:
    """One picture that a notebook stores. cell: its number, from 1. png: base64. caption: its alternative text."""

    notebook: str
    cell: int
    png: str
    caption: str


def stored_pictures(notebook: Path) -> list[Stored]:
    """The PNG outputs of a notebook, in order. Raises ValueError if the file is no notebook with cells."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{notebook} is no notebook: {error!r}") from error
    pictures = []
    for number, cell in enumerate(cells, 1):
        for output in cell.get("outputs", []):
            png = "".join(output.get("data", {}).get("image/png", ""))
            if png:
                text = "".join(output["data"].get("text/plain", ""))
                caption = output.get("metadata", {}).get("image/png", {}).get("alt", text)
                pictures.append(Stored(notebook.name, number, png, caption))
    return pictures


def notebooks_page(pictures: Sequence[Stored]) -> str:
    """The HTML page with all stored pictures, under each its place and its caption."""
    figures = [
        f'<figure><img alt="{html.escape(picture.caption)}" src="data:image/png;base64,{picture.png}">'
        f"<figcaption>{html.escape(picture.notebook)}, cell {picture.cell}: "
        f"{html.escape(picture.caption)}</figcaption></figure>"
        for picture in pictures
    ]
    title = f"{len(pictures)} pictures in {len({picture.notebook for picture in pictures})} notebooks"
    return _page(title, [(FIGURES_PAGE, "Every figure at three settings")], figures)


def render(folder: Path, pictures: Sequence[Picture] = PICTURES) -> Path:
    """Draw every setting of the figures into a folder, and the page that shows them; gives the page."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for picture in pictures:
        shown = [_drawn(folder, f"{picture.name}-{number}", setting) for number, setting in enumerate(picture.settings)]
        head = f'<h2 id="{picture.name}">{picture.name}: {html.escape(picture.question)}</h2>'
        sections.append(head + "\n" + "\n".join(shown))
    title = f"{len(pictures)} figures, {sum(len(picture.settings) for picture in pictures)} pictures"
    links = [
        (NOTEBOOKS_PAGE, "What the notebooks store"),
        *((f"#{picture.name}", picture.name) for picture in pictures),
    ]
    index = folder / FIGURES_PAGE
    index.write_text(_page(title, links, sections), encoding="utf-8")
    return index


def _drawn(folder: Path, name: str, setting: Setting) -> str:
    """The HTML of one setting: an image beside the page, or what draws itself as HTML."""
    label, draw = setting
    drawn = draw()
    if isinstance(drawn, theme.Figure):
        (folder / f"{name}.png").write_bytes(drawn.png())
        width, height = drawn.css_size()
        body = f'<img src="{name}.png" width="{width}" height="{height}" alt="{html.escape(drawn.caption)}">'
    else:
        body = drawn.html()
    return f"<figure>{body}<figcaption>{html.escape(label)}</figcaption></figure>"


def _page(title: str, links: Iterable[tuple[str, str]], sections: Sequence[str]) -> str:
    joined = " · ".join(f'<a href="{target}">{html.escape(words)}</a>' for target, words in links)
    dark = labextension.FILTER.read_text(encoding="utf-8")
    return PAGE.format(title=html.escape(title), links=joined, body="\n".join(sections), filter=dark)


def main(arguments: Sequence[str]) -> int:
    """Write both pages and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.gallery.page", description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "gallery", help="(build/gallery)")
    parser.add_argument("words", nargs="*", metavar="picture", help="a part of a figure's name; default: all figures")
    options = parser.parse_args(arguments)
    folder, words = options.folder, options.words
    chosen = [picture for picture in PICTURES if not words or any(word in picture.name for word in words)]
    if not chosen:
        names = ", ".join(picture.name for picture in PICTURES)
        print(f"No picture is called like {' or '.join(words)}; there are {names}.", file=sys.stderr)
        return 1
    stored = [
        picture for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")) for picture in stored_pictures(notebook)
    ]
    index = render(folder, chosen)
    (folder / NOTEBOOKS_PAGE).write_text(notebooks_page(stored), encoding="utf-8")
    drawn = sum(len(picture.settings) for picture in chosen)
    print(f"{index}: {len(chosen)} figures, {drawn} pictures; {folder / NOTEBOOKS_PAGE}: {len(stored)} stored pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
