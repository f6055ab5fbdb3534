"""From a notebook and what its slides say to slides: pure data, no page around it."""

from __future__ import annotations

import ast
import base64
import html
import importlib
import io
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ipywidgets
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CudaLexer

import gemm_kernels
from helpers import exercises, pictures, plan
from helpers.pictures import theme
from helpers.pictures.bank_board.tile_store import Tile
from helpers.pictures.excerpt import excerpt
from helpers.pictures.faults import faults
from helpers.pictures.live import LiveExplorer
from helpers.slides import redrawn
from helpers.slides.planned import Planned
from helpers.slides.steps import STEP

ANSI = re.compile(r"\x1b\[[0-9;]*m")
ANCHOR = re.compile(r'<a class="anchor-link".*?</a>')
LINK = re.compile(r'(?<=href=")([\w.-]+)\.(?:ipynb|md)(?=["#])')
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<listing>.*?)^```|(?:^\|[^\n]*\n?)+", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(\s*)(//\s*(?:\d+\.\s*)?)")  # up to its first word
COMMENTED = re.compile(r"(\s*)(\S.*?)\s+(//.*)")
ROW = re.compile(r"(<tr\b[^>]*>)(.*?)(</tr>)", re.DOTALL)
CELL = re.compile(r"<t[hd]\b.*?</t[hd]>", re.DOTALL)
CODE = re.compile(r"(?<=<code>)[^<]+(?=</code>)")
UNBROKEN = re.compile(r"\S+")
COLOURS = HtmlFormatter(nowrap=True)
SCALE = """\
extern "C" __global__ void scale(float *A, int N, float c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) A[i] *= c;
}
"""
WIDE, HIGH = 1168, 674  # pixels of a slide for all that it shows (slide.css)
TITLE = (47, 46)  # of a line of its title: pixels down, and letters across, of the widest text there is
WORDS = (37, 68)  # of a line of its words
GAP = 10
LAST_ROW = (18.4, 17.2, 16.2)  # pixels of letters for the last row of a room; the smaller where the larger do not fit
MOST_LINES = 14  # of code on a slide
WIDEST = (78, 86)  # letters of a line in the two sizes of code, 24 and 22 pixels
WIDEST_DRAWING = 94  # of a drawing made of letters, which may have 20 pixels


@dataclass(frozen=True)
class Slide:
    """What one slide shows.

    words: HTML.  kind: of what it shows, as in `Planned`; a task and code are kernels.
    shown: what it shows as HTML; of a film, a picture for each frame.
    cell: the notebook's cell, from 0, that is alive where the notebook runs; None if there is none.
    number: its place, from 0, among the slides that its notebook says.
    notes: what to say at it, as HTML, at the first slide of a step.
    columns: those of a table that are shown, from 1; none means all.
    """

    step: int
    title: str
    words: str
    kind: str
    shown: tuple[str, ...]
    cell: int | None = None
    number: int = 0
    notes: str = ""
    columns: tuple[int, ...] = ()


def title(notebook: NotebookNode, path: Path) -> str:
    """The notebook's heading, or its file name where it has none."""
    headings = (HEADING.search(cell.source) for cell in notebook.cells if cell.cell_type == "markdown")
    return next((heading[1] for heading in headings if heading), path.stem)


def slides(
    notebook: NotebookNode, planned: Sequence[Planned], speaker: Mapping[int, str] = MappingProxyType({}),
    *, frames: bool = True,
) -> list[Slide]:  # fmt: skip
    """The slides in order. speaker: step → what to say at its first slide, as Markdown.
    frames: draw pictures and films; where the notebook runs, `live.draw` does.

    ValueError where a slide names a cell, a kernel or an explorer that is not there.
    """
    made: list[Slide] = []
    for index, slide in enumerate(planned):
        try:
            cell, shown = _shown(notebook, slide, frames)
        except (ValueError, KeyError, AttributeError, NameError, SyntaxError) as error:
            raise ValueError(f"the slide {slide.title!r}, {slide.kind}: {error}") from error
        first = slide.step not in {slide.step for slide in made}
        notes = markdown(speaker[slide.step]) if first and slide.step in speaker else ""
        kind = "kernel" if slide.kind in ("task", "code") else slide.kind
        columns = _columns(slide) if slide.kind == "table" else ()
        made.append(Slide(slide.step, slide.title, markdown(slide.words), kind, shown, cell, index, notes, columns))
    return made


def _shown(notebook: NotebookNode, planned: Planned, frames: bool) -> tuple[int | None, tuple[str, ...]]:
    if planned.kind == "way":
        return None, (f"<ol start='0'>{''.join(f'<li>{book.trail}</li>' for book in plan.course().notebooks)}</ol>",)
    if planned.kind == "kernel":
        return None, (_kernel(planned.what, planned.how),)
    if planned.kind == "task":
        return None, (_part(exercises.get(planned.what).starter, planned.how),)
    if planned.kind == "code":
        return None, (
            _part(notebook.cells[cell_of(notebook, planned.step, planned.what, earlier=True)].source, planned.how),
        )
    if planned.kind == "block":
        return None, (_block(notebook, planned.step, planned.what),)
    if planned.kind == "film":
        return None, tuple(_frames(planned, planned.how[0])) if frames else ()
    number = cell_of(notebook, planned.step, planned.what)
    if planned.kind == "picture":
        drawn = partial(redrawn.picture, notebook, number)
        return number, (image(legible(planned, drawn)[0]),) if frames else ()
    stored = _stored(notebook.cells[number].outputs, planned.kind)
    return number, (_some(stored, _columns(planned)) if planned.kind == "table" else stored,)


def legible(planned: Planned, draw: Callable[[float], theme.Figure]) -> tuple[theme.Figure, float]:
    """A picture whose letters the last row of a room can read, and of how many points they are at least, 0 if it is
    drawn as in the notebook: the largest of which none is cut off or lies over others."""
    drawn, points = draw(0.0), 0.0
    shown, small = _scale(planned, drawn), drawn.smallest_letters
    if shown * small < LAST_ROW[0]:
        for pixels in LAST_ROW:
            points = pixels / shown * 72 / theme.CSS_DPI
            drawn = draw(points)
            if not faults(drawn):
                break
    return drawn, points


def _scale(planned: Planned, drawn: theme.Figure) -> float:
    """How much larger a slide shows a picture than a notebook."""
    lines = -(-len(planned.title) // TITLE[1]) * TITLE[0] + -(-len(planned.words) // WORDS[1]) * WORDS[0]
    width, height = drawn.css_size()
    drawn.png()  # which makes the axes' numbers
    return min(WIDE / width, (HIGH - lines - 2 * GAP) / (height * (1 - drawn.picture_bottom)))


def cell_of(notebook: NotebookNode, step: int | None, text: str, *, earlier: bool = False) -> int:
    """The first code cell that has a text, of a step or of the whole notebook; earlier: or of a step before it. What
    stands before the first step is shown with it."""
    inside = earlier or step in (None, 1)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and (heading := STEP.search(cell.source)):
            of_cell = int(heading[1])
            inside = step in (None, of_cell) or (earlier and of_cell < step)
        elif inside and cell.cell_type == "code" and text in cell.source:
            return number
    raise ValueError(f"no code cell of {'the notebook' if step is None else f'step {step}'} has {text!r}")


def _block(notebook: NotebookNode, step: int, text: str) -> str:
    """The first table or listing with a text in what a step says."""
    inside = False
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        if heading := STEP.search(cell.source):
            inside = int(heading[1]) == step
        for match in BLOCK.finditer(cell.source) if inside else ():
            if text not in match[0]:
                continue
            if not match["listing"]:
                return markdown(match[0])
            return _listing(match["listing"], match["language"] == "cuda")
    raise ValueError(f"no table or listing of step {step} has {text!r}")


def _listing(source: str, coloured: bool = True) -> str:
    """Lines of code, in the largest letters in which they fit on the slide; a comment too long for any goes on in
    the next line, or stands above its code."""
    lines = source.strip("\n").split("\n")
    if coloured:
        broken = ([part for line in lines for part in _broken(line, letters)] for letters in WIDEST)
        lines = next((parts for parts in broken if len(parts) <= MOST_LINES), lines)
    widest = max(map(len, lines))
    if len(lines) > MOST_LINES:
        raise ValueError(f"it has {len(lines)} lines; {MOST_LINES} is the most that a room can read")
    if widest > (WIDEST[-1] if coloured else WIDEST_DRAWING):
        raise ValueError(f"a line of it has {widest} letters; {WIDEST[-1]} is the most that a room can read")
    text = "\n".join(lines)
    shown = highlight(text, CudaLexer(), COLOURS).rstrip("\n") if coloured else html.escape(text)
    size = sum(widest > room for room in WIDEST)
    return f'<pre class="{"code" if coloured else "drawing"} size{size}" data-lines="{len(lines)}">{shown}</pre>'


def _broken(line: str, letters: int) -> list[str]:
    """A line of more letters as two or more: a comment goes on in the next, code has its comment above it."""
    if len(line) <= letters:
        return [line]
    begin, commented = COMMENT.match(line), COMMENTED.match(line)
    if begin is None:
        if commented is None:
            return [line]
        indent, code, comment = commented.groups()
        return [*_broken(indent + comment, letters), indent + code]
    indent = "//".ljust(len(begin[2])).rjust(len(begin[0]))
    return textwrap.wrap(line, WIDEST[0], subsequent_indent=indent, drop_whitespace=True)


def _stored(outputs: Sequence[Any], kind: str) -> str:
    for output in outputs:
        if kind != "printed" and "text/html" in output.get("data", {}):
            return str(output["data"]["text/html"])
        if kind == "printed" and "text" in output:
            lines = html.escape(ANSI.sub("", output.text)).rstrip().split("\n")
            return "".join(['<pre class="printed">', *(f"<span>{line}\n</span>" for line in lines), "</pre>"])
    raise ValueError(f"its cell stores no {kind} output; run it with `make notebooks`")


def _columns(planned: Planned) -> tuple[int, ...]:
    """The columns that a slide names, "1, 3, 4"."""
    return tuple(int(number) for wanted in planned.how for number in wanted.split(","))


def _some(table: str, columns: Sequence[int]) -> str:
    """A table as HTML with these of its columns, from 1; all of them if none is named."""
    if not columns:
        return table

    def row(match: re.Match[str]) -> str:
        cells = CELL.findall(match[2])
        return match[1] + "".join(cells[number - 1] for number in columns) + match[3]

    return ROW.sub(row, table)


def image(picture: theme.Figure, name: str = "still") -> str:
    """A picture without its caption, for which a slide has words; with the pixels of its smallest letters, and with
    what is wrong with it."""
    whole = Image.open(io.BytesIO(picture.png()))
    out = io.BytesIO()
    whole.crop((0, 0, whole.width, round(whole.height * (1 - picture.picture_bottom)))).save(out, format="PNG")
    data = base64.b64encode(out.getvalue()).decode()
    letters, wrong = round(picture.smallest_letters, 1), html.escape("; ".join(faults(picture)))
    return (
        f'<img class="{name}" alt="{html.escape(picture.caption)}" data-letters="{letters}" data-faults="{wrong}" '
        f'src="data:image/png;base64,{data}">'
    )


def _kernel(name: str, part: Sequence[str]) -> str:
    asked = {exercise.name for exercise in exercises.EXERCISES}
    return _part(exercises.get(name).solved if name in asked else gemm_kernels.get(name).source, part)


def _part(source: str, part: Sequence[str]) -> str:
    return _listing(excerpt(source, *part) if part else source)


def _frames(planned: Planned, moves: str) -> Iterator[str]:
    """A picture for each value of a control, "warps = 1, 4, 8"; without its caption, for which a slide has words."""
    explorer, control = explored(planned)
    for value in ast.literal_eval(f"[{moves.partition('=')[2]}]"):
        control.value = value
        yield image(legible(planned, partial(picture_of, explorer))[0], "frame")


def explored(planned: Planned) -> tuple[LiveExplorer, ipywidgets.Widget]:
    """The explorer of a film, and the control that moves; ValueError if it cannot be moved, which a room would see."""
    explorer = eval(planned.what, _names())  # written beside the notebook, by its author
    name = planned.how[0].partition("=")[0].strip()
    control = getattr(explorer, name)
    if control.has_trait("disabled") and control.disabled:
        raise ValueError(
            f"its control {name} cannot be moved in {planned.what}: open it where it can, or move another one"
        )
    return explorer, control


def picture_of(explorer: LiveExplorer, points: float) -> theme.Figure:
    """What an explorer shows, with letters of at least so many points."""
    with theme.at_least(points):
        return explorer.draw()[0]


def _names() -> dict[str, Any]:
    modules = [path.parent.name for path in Path(pictures.__file__).parent.glob("*/explorer.py")]
    return {"get": gemm_kernels.get, "SCALE": SCALE, "Tile": Tile} | {
        name: importlib.import_module(f"helpers.pictures.{name}.explorer") for name in modules
    }


def markdown(source: str) -> str:
    """Markdown as HTML; links to other notebooks and to the glossary lead to their hand-outs, and a line of code
    breaks at its spaces alone."""
    page = LINK.sub(r"\1.html", ANCHOR.sub("", str(markdown2html(source))))
    return CODE.sub(lambda match: UNBROKEN.sub(r"<span>\g<0></span>", match[0]), page)
