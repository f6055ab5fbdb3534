"""In which order do the threads of a block line up? Each layer z of a block, with every thread's linear id and warp."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import WARP
from helpers.pictures import page, theme

TINTS = ("#D3BEDF", "#F0E8F4", "#B692C9", "#DCD0E6")  # purples: neighbouring warps differ
TOP, LEFT, GAP, CELL_HEIGHT = 84.0, 52.0, 40.0, 27.0  # CSS pixels
MOST_X, MOST_THREADS = 32, 256


def numbering_figure(ids: np.ndarray, title: str) -> theme.Figure:
    """ids: (z, y, x) int, the linear id of each thread of a block. Colours are warps: id // 32."""
    depth, height, width = ids.shape
    if ids.size > MOST_THREADS or width * depth > 2 * MOST_X:
        raise ValueError(
            f"A block of {width} × {height} × {depth} is too large to read its numbers; "
            f"take one of at most {MOST_THREADS} threads, such as 8 × 4 × 2."
        )
    gaps = LEFT * depth + page.MARGIN
    cell = min((page.WIDTH - gaps) / (width * depth), 44.0)
    bottom = TOP + height * CELL_HEIGHT + 14
    drawn, axes = page.page(bottom, title, _caption(ids))
    with theme.style():
        warps = int(ids.max()) // WARP + 1
        keys = [page.Key(TINTS[warp % len(TINTS)], f"warp {warp}") for warp in range(min(warps, 8))]
        page.legend(axes, 46, keys)
        for z in range(depth):
            _layer(axes, ids[z], z, LEFT + z * (width * cell + LEFT), cell)
    return drawn


def _layer(axes: Axes, ids: np.ndarray, z: int, left: float, cell: float) -> None:
    """One layer: x runs to the right, y downwards."""
    height, width = ids.shape
    row, col = np.mgrid[:height, :width]
    corners = page.boxes(left + col.ravel() * cell, TOP + row.ravel() * CELL_HEIGHT, cell, CELL_HEIGHT)
    colours = [TINTS[int(number) // WARP % len(TINTS)] for number in ids.ravel()]
    page.fill(axes, corners, colours, edge=theme.PAPER, line=1.2, label=f"layer {z}")
    page.labels(
        axes, [str(int(number)) for number in ids.ravel()], left + (col.ravel() + 0.5) * cell,
        TOP + (row.ravel() + 0.5) * CELL_HEIGHT, min(13.0, 0.42 * cell + 3), theme.INK, label=f"ids {z}",
    )  # fmt: skip
    page.text(axes, left, TOP - 12, f"z = {z},  x →", color=theme.INK)
    page.text(axes, left - 8, TOP + CELL_HEIGHT / 2, "y ↓", ha="right", color=theme.INK)


def _caption(ids: np.ndarray) -> str:
    depth, height, width = ids.shape
    steps = []
    if width > 1:
        steps.append(f"{abs(int(ids[0, 0, 1] - ids[0, 0, 0]))} along x")
    if height > 1:
        steps.append(f"{abs(int(ids[0, 1, 0] - ids[0, 0, 0]))} along y")
    if depth > 1:
        steps.append(f"{abs(int(ids[1, 0, 0] - ids[0, 0, 0]))} along z")
    warps = int(ids.max()) // WARP + 1
    return (
        f"A block of {width} × {height} × {depth} is {theme.plural(ids.size, 'thread')} in "
        f"{theme.plural(warps, 'warp')}; the linear id grows by {', '.join(steps) or '0'}."
    )
