"""A picture laid out in CSS pixels: axes over the whole figure, y runs down, and the shapes that pictures share.

Many shapes of one kind are one artist (a collection, a compound path): a picture is redrawn while a slider moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path
from matplotlib.transforms import Affine2D

from helpers.pictures import theme

WIDTH = theme.WIDTH * theme.CSS_DPI  # pixels of every figure
MARGIN = 14.0
TITLE_Y = 19.0
CAP_HEIGHT = 0.73  # of a digit in DejaVu Sans, as a share of the letter size
PIXELS_A_POINT = theme.CSS_DPI / 72
BOXES, OVER_LINES = 1.0, 2.5  # in which order is drawn: matplotlib puts lines at 2, over boxes and their letters
LETTERS = "letters"  # the gid of texts that are drawn as shapes, which would else be taken for marks

Align = Literal["left", "center", "right"]


def page(height: float, title: str, caption: str, caption_lines: int = 1) -> tuple[theme.Figure, Axes]:
    """A figure of `height` pixels above its caption, with its title, and axes in pixels from its left upper corner."""
    drawn = theme.Figure(height / theme.CSS_DPI, caption, caption_lines)
    axes = drawn.axes_in_inches(0, 0, theme.WIDTH, height / theme.CSS_DPI)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    with theme.style():
        axes.text(MARGIN, TITLE_Y, title, fontsize=theme.TITLE, weight="bold", va="center")
    return drawn, axes


def full_height(height: float, caption_lines: int) -> int:
    """CSS pixels of a picture with its caption: what an explorer's stage needs."""
    return round(height + theme.caption_height(caption_lines) * theme.CSS_DPI)


def text(axes: Axes, x: float, y: float, words: object, **options: Any) -> None:
    """Text in the middle of the line at y; small and muted unless told otherwise."""
    size = theme.size(options.pop("size", theme.SMALL))
    axes.text(x, y, words, **{"color": theme.MUTED, "va": "center", "size": size, **options})


def boxes(left: Any, top: Any, width: Any, height: Any) -> np.ndarray:
    """(n, 4, 2) corners of boxes. Each argument is a number, or an array (n,)."""
    left, top, width, height = np.broadcast_arrays(*(np.asarray(x, float) for x in (left, top, width, height)))
    left, top, width, height = (np.atleast_1d(x) for x in (left, top, width, height))
    right, bottom = left + width, top + height
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)


def fill(
    axes: Axes,
    corners: np.ndarray,
    colour: Any,
    *,
    edge: Any = "none",
    line: float = 0.0,
    label: str = "",
    zorder: float = BOXES,
) -> None:
    """Filled boxes. colour: one for all, or one for each."""
    if len(corners):
        boxes_ = PolyCollection(corners, facecolor=colour, edgecolor=edge, linewidth=line, label=label, zorder=zorder)
        axes.add_artist(boxes_)


def outline(
    axes: Axes, corners: np.ndarray, colour: Any, line: float, *, label: str = "", dashed: bool = False
) -> None:
    """Boxes without a filling."""
    if len(corners):
        style = (0, (4, 2.5)) if dashed else "solid"
        axes.add_artist(
            PolyCollection(
                corners,
                facecolor="none",
                edgecolor=colour,
                linewidth=line,
                linestyle=style,
                label=label,
                joinstyle="miter",
            )
        )


def hatch(axes: Axes, corners: np.ndarray, *, colour: str = theme.WASTE, label: str = "") -> None:
    """Boxes hatched as waste: room that nothing uses, bytes that nobody needs.

    They are one path, so that the hatching is drawn once; box by box it is the slowest thing of a picture.
    """
    if len(corners):
        path = Path.make_compound_path(*(Path([*box, box[0]], closed=True) for box in corners))
        axes.add_artist(
            PathPatch(
                path,
                facecolor=theme.WASTE_FILL,
                edgecolor=colour,
                hatch=theme.WASTE_HATCH,
                hatchcolor=colour,
                linewidth=0,
                label=label,
            )
        )


def image(
    axes: Axes, colours: np.ndarray, left: float, top: float, cell: float, label: str, height: float | None = None
) -> None:
    """A matrix as one image: each of its elements, a colour, is `cell` pixels wide and, unless told, as high."""
    rows, columns = colours.shape[:2]
    extent = (left, left + columns * cell, top + rows * (cell if height is None else height), top)
    drawn = AxesImage(axes, extent=extent, interpolation="nearest", origin="upper", label=label)
    drawn.set_data(colours)
    axes.add_image(drawn)


def lines(axes: Axes, paths: Sequence[Any], colour: Any, line: float, *, label: str = "") -> None:
    """Polylines, each a sequence of (x, y)."""
    if len(paths):
        axes.add_artist(LineCollection(paths, colors=colour, linewidths=line, label=label, capstyle="butt"))


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str, line: float = 1.6) -> None:
    """An arrow from start to end."""
    axes.add_artist(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, color=colour, linewidth=line, shrinkA=0, shrinkB=0
        )
    )


@dataclass(frozen=True)
class Key:
    """An entry of a legend: a colour and what it means; hatched as waste, or in the colour of trouble, if asked.

    frame: the width of its line where only the frame has the colour, 0 for a filled box.
    """

    colour: str
    words: str
    hatched: bool = False
    frame: float = 0.0


def legend(axes: Axes, y: float, keys: Sequence[Key], x: float = MARGIN) -> float:
    """The entries side by side, their middle at y. Returns where the next entry would begin."""
    for key in keys:
        box = boxes(x, y - 6, 12, 12)
        if key.frame:
            outline(axes, box, key.colour, key.frame)
        elif key.hatched:
            hatch(axes, box, colour=key.colour)
        else:
            fill(axes, box, key.colour)
        text(axes, x + 18, y, key.words)
        x += 18 + text_width(key.words) + 22
    return x


def text_width(words: str, size: float = theme.SMALL) -> float:
    """Pixels of a text in letters of `size` points."""
    return _width(words, theme.size(size))


@lru_cache(maxsize=1024)
def _width(words: str, size: float) -> float:
    font = FontProperties(family="DejaVu Sans", size=size)
    return text_to_path.get_text_width_height_descent(words, font, ismath=False)[0] * PIXELS_A_POINT


def labels(
    axes: Axes,
    texts: Sequence[str],
    x: Any,
    y: Any,
    size: float,
    colour: str,
    *,
    align: Align = "center",
    bold: bool = False,
    label: str = "",
    zorder: float = BOXES,
    room: float = 0.0,
) -> None:
    """Many short texts as one path: far faster than as many text artists.

    x, y: where each is aligned to, and its middle; a number, or one for each text.  size: pixels of the letters.
    room: pixels across that each may take; on a slide the letters grow into it (`theme.at_least`).
    """
    if not len(texts):
        return
    widest = max(_outline(words, size, align, bold).get_extents().width for words in texts) if room else 0.0
    if widest:
        size = max(size, min(theme.size(0.0) / 72 * theme.CSS_DPI, size * room / widest))
    x, y = np.broadcast_to(x, len(texts)), np.broadcast_to(y, len(texts))
    paths = []
    for words, place_x, place_y in zip(texts, x, y, strict=True):
        outlines = _outline(words, size, align, bold)
        paths.append(Path(outlines.vertices + (place_x, place_y), outlines.codes))
    letters = Path.make_compound_path(*paths)
    axes.add_artist(PathPatch(letters, color=colour, linewidth=0, label=label, gid=LETTERS, zorder=zorder))


@lru_cache(maxsize=4096)
def _outline(words: str, size: float, align: Align, bold: bool) -> Path:
    """The outlines of a text, aligned to x = 0 and centred on y = 0, y down."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    drawn = TextPath((0, 0), words, size=size, prop=font)
    box = drawn.get_extents()
    x = {"left": box.x0, "center": box.x0 + box.width / 2, "right": box.x1}[align]
    return Affine2D().translate(-x, -CAP_HEIGHT * size / 2).scale(1, -1).transform_path(drawn)
