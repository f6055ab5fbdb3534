"""Which thread copies which element into which stage? A row of tiles of a matrix, and the stages below them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.copies.facts import StageCopy, stages_of
from helpers.pictures.register_tile.figure import LIGHT

# CSS pixels
LEFT, TOP, CELL, GAP = 60.0, 104.0, 10.5, 32.0
BETWEEN = 80.0  # from the matrix to the stages: room for arrows
WORDS = 44.0  # below the stages
WARP = 32


def copies_figure(copies: Sequence[StageCopy], thread: tuple[int, int], title: str) -> theme.Figure:
    """copies: of A, one tile of side × side floats each, by side × side threads.  thread: (x, y), the one in colour."""
    side = int(len(copies[0].row) ** 0.5)
    extent, number = side * CELL, thread[1] * side + thread[0]
    below = TOP + extent + BETWEEN
    stages = stages_of(copies)
    name = theme.index((*thread, 0))
    caption = (
        f"Thread {name} copies one element of each tile, always to the same place of a stage; tile {stages} goes where "
        "tile 0 was."
    )
    drawn, axes = page.page(below + extent + WORDS, title, caption, 2)
    with theme.style():
        keys = [page.Key(theme.A, f"element of thread {name}")]
        page.legend(axes, 50, [*keys, page.Key(theme.WARP, f"what warp {number // WARP} copies")])
        words = f"matrix A, rows {theme.runs(np.unique(copies[0].row).tolist())}: one tile after the other along k"
        page.text(axes, LEFT, 74, words, color=theme.INK)
        for tile, copy in enumerate(copies):
            left = LEFT + tile * (extent + GAP)
            rows, columns = copy.row - copy.row.min(), copy.column - copy.column.min()
            _square(axes, left, TOP, side, rows, columns, number)
            page.text(axes, left + extent / 2, TOP - 12, f"tile {tile}", color=theme.INK, ha="center", weight="bold")
            start = (left + extent / 2, TOP + extent + 4)
            end = LEFT + copy.stage * (extent + GAP) + extent / 2
            page.arrow(axes, start, (end + (12 if tile >= stages else 0), below - 26), theme.INK)
        for stage in range(stages):
            _stage(axes, copies, stage, (LEFT + stage * (extent + GAP), below, side), number)
    return drawn


def _stage(axes: Axes, copies: Sequence[StageCopy], stage: int, corner: tuple[float, float, int], number: int) -> None:
    left, top, side = corner
    extent = side * CELL
    mine = [copy for copy in copies if copy.stage == stage]
    offset = mine[0].offset
    _square(axes, left, top, side, offset // side, offset % side, number)
    page.text(
        axes, left + extent / 2, top - 12, f"stage {stage}: As[{stage}]", color=theme.INK, ha="center", weight="bold"
    )
    row, column = divmod(int(offset[number]), side)
    elements = ", then ".join(f"A[{copy.row[number]}, {copy.column[number]}]" for copy in mine)
    for line, words in enumerate((f"As[{stage}][{row}][{column}] holds", elements)):
        page.text(axes, left + extent / 2, top + extent + 14 + 17 * line, words, color=theme.INK, ha="center")


def _square(axes: Axes, left: float, top: float, side: int, rows: np.ndarray, columns: np.ndarray, number: int) -> None:
    """A tile or a stage, with the floats of one thread and of its warp."""
    page.fill(axes, page.boxes(left, top, side * CELL, side * CELL), LIGHT["A"], edge=theme.FAINT, line=0.8)
    first = number // WARP * WARP
    for threads, colour in ((slice(first, first + WARP), theme.WARP), (slice(number, number + 1), theme.A)):
        x, y = left + columns[threads] * CELL, top + rows[threads] * CELL
        alpha = "66" if colour == theme.WARP else ""
        page.fill(axes, page.boxes(x, y, CELL, CELL), colour + alpha, edge=theme.PAPER, line=0.4)
