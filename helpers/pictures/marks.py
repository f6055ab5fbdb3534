"""What the marks of a picture mean, for whoever points at them: a lane, an address, a value.

A picture says it where it draws: `marks.tell(axes, corners, words)`. The words stay with the figure as the links of an
artist that is never painted, in the axes' own coordinates; `marks.of(figure)` finds them for the page that shows the
figure, and `marks.overlay(figure)` is the transparent layer that it lays over the picture.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KIND = "mark"  # the group of the artists that carry words


@dataclass(frozen=True)
class Mark:
    """A box of a picture and what it is. left, top, width, height: shares of the picture's width and height."""

    left: float
    top: float
    width: float
    height: float
    words: str


def tell(axes: Axes, corners: np.ndarray, words: Sequence[str]) -> None:
    """Say what each of the boxes is, corners (n, 4, 2) as `page.boxes` makes them. A later one lies above."""
    if len(corners) != len(words):
        raise ValueError(f"There are {len(corners)} boxes, but words for {len(words)}.")
    from matplotlib.collections import PolyCollection  # loaded by then: there are axes

    if len(corners):
        axes.add_artist(PolyCollection(corners, urls=list(words), gid=KIND, visible=False))


def of(drawn: Figure) -> list[Mark]:
    """Every mark of a figure with its words, in the order in which they were drawn."""
    marks = []
    for axes in drawn.axes:
        for artist in axes.collections:
            if artist.get_gid() != KIND:
                continue
            outlines = np.stack([path.vertices for path in artist.get_paths()])
            flat = artist.get_transform().transform(outlines.reshape(-1, 2))
            share = drawn.transFigure.inverted().transform(flat).reshape(*outlines.shape)
            (left, bottom), (right, top) = share.min(axis=1).T, share.max(axis=1).T
            edges = zip(left, 1 - top, right - left, top - bottom, artist.get_urls(), strict=True)
            marks += [Mark(*map(float, box), words) for *box, words in edges]
    return marks


def overlay(drawn: Figure, name: str) -> str:
    """HTML of a layer as large as the picture, in which each mark says what it is while the mouse rests on it.

    name: what the picture is called for those who cannot see it: its caption.
    """
    width, height = (100 * float(size) for size in drawn.get_size_inches())
    boxes = "".join(
        f'<rect x="{width * mark.left:.1f}" y="{height * mark.top:.1f}" width="{width * mark.width:.1f}" '
        f'height="{height * mark.height:.1f}"><title>{html.escape(mark.words)}</title></rect>'
        for mark in of(drawn)
    )
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(name)}" fill="transparent" '
        f'style="position: relative; z-index: 1; display: block; width: 100%; pointer-events: all">{boxes}</svg>'
    )
