"""A patch of C, the column of A and the row of B that feed it at one k: how edges grow against an area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from helpers.pictures import page, theme

# CSS pixels
SIDE, EDGE, GAP, TOP, LEFT = 190.0, 14.0, 8.0, 72.0, 14.0
STEP = 220.0
LEAST = 3.0  # of what is drawn, so that one float can be seen
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(TOP + EDGE + GAP + SIDE + 74, CAPTION_LINES)


@dataclass(frozen=True)
class Patch:
    """Rows and columns that one thread, warp or block computes.

    Attributes:
        roof: GFLOPS that the memory of a GPU can feed at its intensity, at most the peak.
        groups: into which its columns are divided, at equal distances.
    """

    rows: int
    columns: int
    roof: float
    groups: int = 1

    @property
    def floats(self) -> int:
        """Of A and of B at one k."""
        return self.rows + self.columns

    @property
    def fmas(self) -> int:
        """Multiply-adds at one k."""
        return self.rows * self.columns


def patches_figure(patches: Sequence[Patch], device: str, side: int = 0) -> theme.Figure:
    """Patches side by side, each in a C that is as large as the largest of them; the caption is about the last one.

    device: the GPU's name, of the roof.  side: rows and columns of the tile of C that each patch is a part of: its
    floats come from shared memory, so that the caption has no roof; 0 for none.
    """
    last = patches[-1]
    each = theme.number(last.floats / last.fmas, 4)
    caption = (
        f"A rectangle of {last.rows} × {last.columns}: {theme.plural(last.floats, 'float')} feed "
        f"{theme.plural(last.fmas, 'multiply-add')}, {each} for each."
    )
    if not side:
        caption += f" If all of them came from main memory, an {device} could reach {theme.speed(last.roof)}."
    drawn, axes = page.page(TOP + EDGE + GAP + SIDE + 74, "At one k: a column of A times a row of B", caption, 2)
    scale = SIDE / (side or max(max(patch.rows, patch.columns) for patch in patches))
    with theme.style():
        keys = [page.Key(theme.A, "A"), page.Key(theme.B, "B"), page.Key(theme.C, "the rectangle of C")]
        page.legend(axes, 48, keys)
        for number, patch in enumerate(patches):
            _patch(axes, patch, LEFT + number * STEP, scale)
    return drawn


def _patch(axes: Axes, patch: Patch, left: float, scale: float) -> None:
    x, y = left + EDGE + GAP, TOP + EDGE + GAP
    high, wide = max(LEAST, patch.rows * scale), max(LEAST, patch.columns * scale)
    page.outline(axes, page.boxes(x, y, SIDE, SIDE), theme.FAINT, 1.0, label="C")
    page.fill(axes, page.boxes(left, y, EDGE, high), theme.A, label="A")
    for group in range(patch.groups):
        at, part = x + group * SIDE / patch.groups, wide / patch.groups
        page.fill(axes, page.boxes(at, TOP, part, EDGE), theme.B, label="B")
        page.fill(axes, page.boxes(at, y, part, high), theme.C, label="patch")
    lines = (
        f"{patch.rows} × {patch.columns}",
        f"{theme.plural(patch.floats, 'float')} feed",
        theme.plural(patch.fmas, "multiply-add"),
    )
    for number, words in enumerate(lines):
        page.text(axes, x, y + SIDE + 18 + 20 * number, words, color=theme.INK)
