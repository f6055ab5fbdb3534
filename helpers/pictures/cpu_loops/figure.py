"""What does the innermost loop pull out of memory? A row for each choice of it, with A, B and C beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.cpu_loops.model import CACHE_LINE_BYTES, Walk

TOP, LEFT, GAP, ROW_GAP = 84.0, 150.0, 26.0, 34.0  # CSS pixels


def loop_order_figure(walks: Mapping[str, Sequence[Walk]], steps: int, corner: tuple[int, int]) -> theme.Figure:
    """walks: innermost loop -> what its first `steps` iterations touch of A, B and C.

    corner: (rows, columns) of every matrix that are drawn, from the upper left. Full colour is an element that was
    used, hatched is what came along in its cache line.
    """
    first = next(iter(walks.values()))
    rows, columns = corner
    cell = (page.WIDTH - LEFT - page.MARGIN - GAP * (len(first) - 1)) / (columns * len(first))
    step = rows * cell + ROW_GAP
    title = f"{steps} iterations of the innermost loop: upper left corners of A, B and C"
    drawn, axes = page.page(TOP + step * len(walks) - 6, title, caption(walks, steps))
    with theme.style():
        keys = [page.Key(theme.ARRAY_COLOURS[walk.array], f"used element of {walk.array}") for walk in first]
        keys.append(page.Key(theme.WASTE, f"rest of its {CACHE_LINE_BYTES}-byte line", hatched=True))
        page.legend(axes, 46, keys)
        for number, (innermost, across) in enumerate(walks.items()):
            top = TOP + number * step
            middle = top + rows * cell / 2
            page.text(axes, page.MARGIN, middle - 11, "innermost loop:", color=theme.INK)
            page.text(axes, page.MARGIN, middle + 11, innermost, size=theme.TITLE, color=theme.INK, weight="bold")
            left = LEFT
            for walk in across:
                _matrix(axes, walk, corner, left, top, cell)
                left += columns * cell + GAP
    return drawn


def caption(walks: Mapping[str, Sequence[Walk]], steps: int) -> str:
    """'Cache lines for 16 iterations – k innermost: 18 (A 1, B 16, C 1); …'"""
    parts = []
    for innermost, across in walks.items():
        each = ", ".join(f"{walk.array} {walk.lines}" for walk in across)
        parts.append(f"{innermost} innermost: {sum(walk.lines for walk in across)} ({each})")
    return f"Cache lines for {steps} iterations – {'; '.join(parts)}."


def _matrix(axes: Axes, walk: Walk, corner: tuple[int, int], left: float, top: float, cell: float) -> None:
    rows, columns = corner
    touched, entered = (mask[:rows, :columns] for mask in (walk.touched, walk.entered))
    page.text(axes, left, top - 10, f"{walk.array}: {theme.plural(walk.lines, 'line')}", color=theme.INK)
    everything = page.boxes(left, top, columns * cell, rows * cell)
    page.fill(axes, everything, theme.WASTE_FILL)
    along = np.argwhere(entered & ~touched)
    page.hatch(axes, _cells(along, left, top, cell), label=f"brought {walk.array}")
    used = np.argwhere(touched)
    colour = theme.ARRAY_COLOURS[walk.array]
    page.fill(axes, _cells(used, left, top, cell), colour, edge=theme.PAPER, line=0.5, label=f"used {walk.array}")
    page.outline(axes, everything, theme.MUTED, 0.9)


def _cells(where: np.ndarray, left: float, top: float, cell: float) -> np.ndarray:
    return page.boxes(left + where[:, 1] * cell, top + where[:, 0] * cell, cell, cell)
