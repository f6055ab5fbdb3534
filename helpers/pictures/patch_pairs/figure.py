"""A tile of C with the patches of its threads, and the two elements that each thread has found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.pictures import page, theme

CELL, TOP, LEGEND_Y = 13.5, 78.0, 48.0  # CSS pixels


def patch_pairs_figure(
    tile: np.ndarray, pairs: Sequence[Sequence[tuple[int, int]]], patch: tuple[int, int], title: str
) -> theme.Figure:
    """tile: the elements of C that the block computes.  found: (row, column) in it of the first ones, of the second
    ones.  patch: rows and columns of a thread's."""
    rows, columns = tile.shape
    counts = " and ".join(f"{len(ones)} {name}" for ones, name in zip(pairs, ("first", "second"), strict=True))
    drawn, axes = page.page(TOP + rows * CELL + 12, title, f"{rows} × {columns} elements of C: the threads have left "
                            f"{counts} ones.", 1)  # fmt: skip
    left, top = page.MARGIN, TOP
    with theme.style():
        page.legend(axes, LEGEND_Y, [page.Key(theme.WARP, "the smallest of its thread"),
                                     page.Key(theme.B, "the second smallest")])  # fmt: skip
        y, x = np.divmod(np.arange(rows * columns), columns)
        page.fill(axes, page.boxes(left + x * CELL, top + y * CELL, CELL, CELL), theme.WASTE_FILL, edge=theme.PAPER,
                  line=0.5, label="elements")  # fmt: skip
        for ones, colour in zip(pairs, (theme.WARP, theme.B), strict=True):
            inside = np.array(
                [element for element in ones if 0 <= element[0] < rows and 0 <= element[1] < columns]
            ).reshape(-1, 2)
            page.fill(axes, page.boxes(left + inside[:, 1] * CELL, top + inside[:, 0] * CELL, CELL, CELL), colour,
                      edge=theme.PAPER, line=0.5, label="found")  # fmt: skip
        down, across = np.mgrid[0 : rows : patch[0], 0 : columns : patch[1]]
        high, wide = np.minimum(patch[0], rows - down), np.minimum(patch[1], columns - across)
        page.outline(axes, page.boxes(left + across.ravel() * CELL, top + down.ravel() * CELL, wide.ravel() * CELL,
                                      high.ravel() * CELL), theme.MUTED, 0.8, label="patches")  # fmt: skip
    return drawn
