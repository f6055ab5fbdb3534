"""From a notebook's cells to slides: pure data, no page around it.

Slide types are Jupyter's (slide, subslide, fragment, skip, notes; a cell without one continues the slide before it).
What is dead in a file is left out: a widget has no stored output, and a line in its place names it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CudaLexer, PythonLexer

from helpers.authoring.notebooks.steps import STEP

# Code whose output is a live widget: what is stored of it is HTML, if it says something on paper, or nothing
# (helpers.authoring.notebooks.form).
LIVE = "nbval-ignore-output"
HEADING = re.compile(r"^#{1,3} +(.+)$", re.MULTILINE)
FORMULA = re.compile(r"(?<![\\$`\w])\$(?![\s$`])[^$`\n]+?(?<![\s\\])\$(?![\d\w])|\$\$.+?\$\$", re.DOTALL)
CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|^```.*?^```", re.DOTALL | re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ANCHOR = re.compile(r'<a class="anchor-link".*?</a>')
LINK = re.compile(r'(?<=href=")([\w.-]+)\.(?:ipynb|md)(?=["#])')
KERNEL = re.compile(r'^(\w+ = r""")\n(.*?)^(""".*?)$', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A piece of a slide that a page break may come before.

    kind: text, code, output, picture, live (a widget's name) or asked (a question on paper).  html: what stands in it.
    cell: its number in the notebook, from 1.  fragment: it appears at the next press of a key.
    """

    kind: str
    html: str
    cell: int
    fragment: bool = False


@dataclass
class Slide:
    """What one slide shows, in order.

    level: "slide" starts a column of the overview, "subslide" continues it.  heading: the last heading up to here.
    notes: HTML for the speaker.
    """

    level: str
    heading: str = ""
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def title(notebook: NotebookNode, path: Path) -> str:
    """The notebook's first heading, or its file name where it has none."""
    for cell in notebook.cells:
        found = HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            return found[1]
    return path.stem


def slides(notebook: NotebookNode, speaker: Mapping[int, str] = MappingProxyType({})) -> list[Slide]:
    """The notebook's slides in order; a slide that would show nothing is left out, its notes move to the one before.

    speaker: step → what to say at its first slide, as Markdown.  A widget that stores nothing is named in a line.
    Raises ValueError where a text has a TeX formula: the file carries no program that sets one.
    """
    found: list[Slide] = []
    heading = ""
    for number, cell in enumerate(notebook.cells, 1):
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        if kind in ("slide", "subslide") or not found:
            found.append(Slide("subslide" if kind == "subslide" else "slide", heading))
        if kind == "skip":
            continue
        if kind == "notes":
            found[-1].notes.append(_text(cell, number))
            continue
        blocks = _blocks(cell, number, kind == "fragment")
        headings = HEADING.findall(cell.source) if cell.cell_type == "markdown" else []
        heading = headings[-1] if headings else heading
        found[-1].heading = heading
        step = STEP.search(cell.source) if cell.cell_type == "markdown" else None
        if step and int(step[1]) in speaker:
            found[-1].notes.append(markdown(speaker[int(step[1])]))
        found[-1].blocks += blocks
    return _with_content(found)


def _with_content(found: list[Slide]) -> list[Slide]:
    kept: list[Slide] = []
    for slide in found:
        if slide.blocks:
            kept.append(slide)
        elif kept:
            kept[-1].notes += slide.notes
    return kept


def _blocks(cell: NotebookNode, number: int, fragment: bool) -> list[Block]:
    if cell.cell_type == "markdown":
        return [Block("text", _text(cell, number), number, fragment)]
    if cell.cell_type != "code":
        return []
    tags = cell.metadata.get("tags", [])
    asked = [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]
    if LIVE in tags and asked:
        return [Block("asked", question, number, fragment) for question in asked]
    if LIVE in tags and not cell.outputs:
        call = cell.source.strip().split("\n")[-1]
        return [Block("live", f"Live in the notebook: <code>{html.escape(call)}</code>", number, fragment)]
    hidden = "hide-input" in tags or cell.metadata.get("jupyter", {}).get("source_hidden")
    blocks = [] if hidden else [Block("code", _code(cell.source), number, fragment)]
    return blocks + [block for output in cell.outputs for block in _output(output, number, fragment)]


def _text(cell: NotebookNode, number: int) -> str:
    formula = FORMULA.search(CODE_SPAN.sub("", cell.source))
    if formula:
        raise ValueError(
            f"cell {number} has the formula {formula[0]!r}, and a slide cannot set TeX; write it with Unicode "
            "(α, ×, ², ⌈ ⌉) or as code."
        )
    return markdown(cell.source)


def markdown(source: str) -> str:
    """Markdown as HTML; links to other notebooks and to the glossary lead to their hand-outs."""
    return LINK.sub(r"\1.html", ANCHOR.sub("", str(markdown2html(source))))


def _code(source: str) -> str:
    """Python in colours, a span each line; a kernel that stands in it, and a cell of %%cuda, as CUDA C++."""
    if source.startswith("%%cuda"):
        magic, _, kernel = source.partition("\n")
        return _line(html.escape(magic)) + _lines(kernel, CudaLexer())
    kernel = KERNEL.search(source)
    if not kernel:
        return _lines(source, PythonLexer())
    before, after = source[: kernel.start()] + kernel[1], kernel[3] + source[kernel.end() :]
    parts = [html.escape(before).split("\n"), _lines(kernel[2], CudaLexer()), html.escape(after).split("\n")]
    return "".join(part if isinstance(part, str) else "".join(map(_line, part)) for part in parts)


def _lines(source: str, lexer: CudaLexer | PythonLexer) -> str:
    coloured = highlight(source, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    # Pygments closes a token before it ends a line, except in a multi-line string or comment: one span a line there.
    return "".join(_line(line) for line in _balanced(coloured.split("\n")))


def _line(line: str) -> str:
    return f'<span class="line">{line or "&#8203;"}</span>'


def _balanced(lines: list[str]) -> list[str]:
    """The lines with every <span> that reaches over a line's end closed there and opened again on the next."""
    opened: list[str] = []
    whole = []
    for line in lines:
        start = "".join(opened)
        for tag in re.findall(r"<span[^>]*>|</span>", line):
            if tag == "</span>":
                opened.pop()
            else:
                opened.append(tag)
        whole.append(start + line + "</span>" * len(opened))
    return whole


def _output(output: NotebookNode, number: int, fragment: bool) -> list[Block]:
    if output.output_type == "stream":
        return [Block("output", _printed(output.text), number, fragment)]
    if output.output_type == "error":
        return [Block("output", _printed(f"{output.ename}: {output.evalue}"), number, fragment)]
    data = output.get("data", {})
    if "image/png" in data:
        size = output.metadata.get("image/png", {})
        return [Block("picture", _picture(data["image/png"], size), number, fragment)]
    if "text/html" in data:
        return [Block("output", data["text/html"], number, fragment)]
    if "text/markdown" in data:
        return [Block("text", markdown(data["text/markdown"]), number, fragment)]
    return [Block("output", _printed(data["text/plain"]), number, fragment)] if "text/plain" in data else []


def _printed(text: str) -> str:
    lines = ANSI.sub("", text).rstrip("\n").split("\n")
    return f'<pre class="printed">{"".join(_line(html.escape(line)) for line in lines)}</pre>'


def _picture(png: str, size: dict[str, str | int]) -> str:
    attributes = "".join(f' {key}="{html.escape(str(size[key]))}"' for key in ("alt", "height", "width") if key in size)
    return f'<img{attributes} src="data:image/png;base64,{"".join(png.split())}">'
