"""The `Figure` of the course: a picture of one width, with its caption under it, drawn by matplotlib.

What `helpers.pictures.theme` hands on when a figure is first asked for: colours and words need no matplotlib, which
takes longer to load than the rest of the course.
"""

from __future__ import annotations

import base64
import html
import io
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib import figure
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from PIL import Image

from helpers.pictures.letters import Canvas
from helpers.pictures.theme import (
    CSS_DPI,
    DPI,
    FAINT,
    INK,
    MUTED,
    ON_B,
    PAPER,
    SMALL,
    TEXT,
    TITLE,
    WASTE,
    WIDTH,
    contrast,
    in_the_dark,
    size,
)

LIGHTEST = 250  # of 255: what is as light is paper
PALETTE_COLOURS = 128  # a PNG of so many colours is a third of the size, and no eye sees the difference
_CAPTION_LINE = 0.26  # inches
_CAPTION_MARGIN = 0.10
_CAPTION_WIDTH = WIDTH - 0.3
_RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same on every machine
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "axes.labelsize": TEXT,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "grid.color": FAINT,
    "hatch.color": WASTE,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "gemm-course",
}


class Figure(figure.Figure):
    """A matplotlib figure of the course's width with its caption under it.

    caption: the sentence under the picture, with its number; also the alternative text of the image.  words: the
    caption as it is drawn.
    """

    def __init__(self, height: float, caption: str, caption_lines: int = 1) -> None:
        """height: inches of the picture itself; the caption is added below it, with room for at least caption_lines.

        A picture that is redrawn in place reserves its longest caption, so that the page never moves.
        """
        if not caption.strip():
            raise ValueError("A picture of this course has a caption: one sentence that states the number.")
        lines = _wrapped(caption, TEXT, _CAPTION_WIDTH)
        below = caption_height(max(len(lines), caption_lines))
        super().__init__(figsize=(WIDTH, height + below), dpi=DPI, facecolor=PAPER)
        Canvas(self)
        self.caption = caption
        self._below = below
        with style():
            top_of_caption = (below - _CAPTION_MARGIN * 0.3) / (height + below)
            self.words = self.text(
                0.0155, top_of_caption, "\n".join(lines), fontsize=TEXT, color=INK, va="top", linespacing=1.45
            )

    @property
    def picture_bottom(self) -> float:
        """Where the picture begins above its caption, as a fraction of the figure's height."""
        return self._below / float(self.get_size_inches()[1])

    @property
    def smallest_letters(self) -> float:
        """CSS pixels of the smallest letters of the drawn picture, its caption left out; 0 where it has none.

        Numbers in the cells of a matrix, which are drawn as shapes, are no letters.
        """
        texts = (text for text in self.findobj(Text) if text is not self.words and text.get_text().strip())
        sizes = [text.get_fontsize() for text in texts if text.get_visible()]
        return min(sizes, default=0.0) / 72 * CSS_DPI

    def axes_in_inches(self, left: float, top: float, width: float, height: float, **axes_options: Any) -> Axes:
        """Axes placed in inches from the figure's left and top edge, so that no layout engine moves them."""
        full = float(self.get_size_inches()[1])
        box = (left / WIDTH, 1 - (top + height) / full, width / WIDTH, height / full)
        with style():
            return self.add_axes(box, **axes_options)

    def png(self) -> bytes:
        """The picture as a PNG of `WIDTH * DPI` pixels across."""
        return to_png(self)

    def html(self) -> str:
        """The picture as an element of a page, with its alternative text, where a page takes nothing but HTML."""
        width, height = self.css_size()
        png = base64.b64encode(self.png()).decode()
        return (
            f'<img class="jp-CoursePicture" alt="{html.escape(self.caption)}" width="{width}" height="{height}" '
            f'style="max-width: 100%; height: auto" src="data:image/png;base64,{png}">'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        width, height = self.css_size()
        sizes = {"width": width, "height": height, "alt": self.caption}
        return {"image/png": self.png(), "text/plain": self.caption}, {"image/png": sizes}

    def css_size(self) -> tuple[int, int]:
        """Width and height in CSS pixels, at which a notebook shows it."""
        width, height = self.get_size_inches()
        return round(float(width) * CSS_DPI), round(float(height) * CSS_DPI)


def caption_height(lines: int) -> float:
    """Inches that a caption of so many lines takes under a picture."""
    return lines * _CAPTION_LINE + _CAPTION_MARGIN


def style() -> Any:
    """The context in which figure functions create their artists: `with theme.style(): ...`; one in another is free."""
    if matplotlib.rcParams["svg.hashsalt"] == _RC["svg.hashsalt"]:
        return nullcontext()
    sizes = {name: size(points) for name, points in _RC.items() if name.endswith("size")}
    return matplotlib.rc_context({**_RC, **sizes})


def to_png(drawn: figure.Figure) -> bytes:
    """PNG bytes of a figure, in few colours and without metadata: the same bytes for the same picture."""
    with style():
        canvas = drawn.canvas
        assert isinstance(canvas, FigureCanvasAgg)
        canvas.draw()
        return in_few_colours(np.asarray(canvas.buffer_rgba())[..., :3])


def in_few_colours(pixels: np.ndarray) -> bytes:
    """PNG bytes of (rows, columns, 3) pixels, 0 … 255, without metadata."""
    reduced = Image.fromarray(np.ascontiguousarray(pixels)).quantize(
        PALETTE_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
    )
    # The octree rounds white to 254; on a white page the card would show its edge.
    palette = np.array(reduced.getpalette()).reshape(-1, 3)
    palette[(palette >= LIGHTEST).all(axis=1)] = 255
    reduced.putpalette(palette.astype(np.uint8).tobytes())
    out = io.BytesIO()
    reduced.save(out, format="PNG", optimize=False)
    return out.getvalue()


def _wrapped(text: str, size: float, width: float) -> list[str]:
    """Lines of text that are at most `width` inches wide in letters of `size` points; no-break spaces do not break."""
    space, full = _points(" ", size), width * 72
    lines: list[list[str]] = [[]]
    used = 0.0
    for word in text.split(" "):
        length = _points(word, size)
        if lines[-1] and used + space + length > full:
            lines.append([])
        used = used + space + length if lines[-1] else length
        lines[-1].append(word)
    return [" ".join(line) for line in lines]


@lru_cache(maxsize=2048)
def _points(word: str, size: float) -> float:
    """The width of a word in points. Captions repeat their words, and measuring one takes longer than drawing it."""
    font = FontProperties(family=_RC["font.family"], size=size)
    return text_to_path.get_text_width_height_descent(word, font, ismath=False)[0]


def ink_on(fill: Any) -> str:
    """PAPER, INK or ON_B: the letters that stand out best from a fill, on a light page and on a dark one."""

    def weakest(ink: str) -> float:
        return min(contrast(page(to_rgb(ink)), page(to_rgb(fill))) for page in (np.asarray, in_the_dark))

    return max((PAPER, INK, ON_B), key=weakest)
