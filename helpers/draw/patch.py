"""A patch of C, the column of A and the row of B that feed it in one step of k: how edges grow against an area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from helpers.draw import page, theme

# CSS pixels
SIDE, EDGE, GAP, TOP, LEFT = 190.0, 14.0, 8.0, 72.0, 14.0
STEP = 220.0
LEAST = 3.0  # of what is drawn, so that one float can be seen
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(TOP + EDGE + GAP + SIDE + 74, CAPTION_LINES)


@dataclass(frozen=True)
class Patch:
    """rows, columns: of the patch.  roof: GFLOPS that the memory of a GPU can feed at its intensity, at most the
    peak."""

    rows: int
    columns: int
    roof: float

    @property
    def floats(self) -> int:
        """Of A and of B in one step of k."""
        return self.rows + self.columns

    @property
    def fmas(self) -> int:
        """Multiply-adds in one step of k."""
        return self.rows * self.columns


def patches_figure(patches: Sequence[Patch], device: str) -> theme.Figure:
    """Patches side by side, each in a C that is as large as the largest of them; the caption is about the last one.

    device: the GPU's name, of the roof.
    """
    last = patches[-1]
    each = theme.number(last.floats / last.fmas, 4)
    told = (
        f"A patch of {last.rows} × {last.columns}: {theme.plural(last.floats, 'float')} feed "
        f"{theme.plural(last.fmas, 'multiply-add')}, {each} for each. If all of them came from its main memory, an "
        f"{device} could reach {theme.speed(last.roof)}."
    )
    drawn, axes = page.page(TOP + EDGE + GAP + SIDE + 74, "One step of k: a column of A times a row of B", told, 2)
    scale = SIDE / max(max(one.rows, one.columns) for one in patches)
    with theme.style():
        keys = [page.Key(theme.A, "A"), page.Key(theme.B, "B"), page.Key(theme.C, "the patch of C")]
        page.legend(axes, 48, keys)
        for number, one in enumerate(patches):
            _patch(axes, one, LEFT + number * STEP, scale)
    return drawn


def _patch(axes: Axes, one: Patch, left: float, scale: float) -> None:
    x, y = left + EDGE + GAP, TOP + EDGE + GAP
    high, wide = max(LEAST, one.rows * scale), max(LEAST, one.columns * scale)
    page.outline(axes, page.boxes(x, y, SIDE, SIDE), theme.FAINT, 1.0, label="C")
    page.fill(axes, page.boxes(left, y, EDGE, high), theme.A, label="A")
    page.fill(axes, page.boxes(x, TOP, wide, EDGE), theme.B, label="B")
    page.fill(axes, page.boxes(x, y, wide, high), theme.C, label="patch")
    lines = (
        f"{one.rows} × {one.columns}",
        f"{theme.plural(one.floats, 'float')} feed",
        theme.plural(one.fmas, "multiply-add"),
    )
    for number, words in enumerate(lines):
        page.text(axes, x, y + SIDE + 18 + 20 * number, words, color=theme.INK)
