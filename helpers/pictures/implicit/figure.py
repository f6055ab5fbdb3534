"""The matrix that is nowhere, with what a warp wants of it, and the image in which the warp finds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.pictures import page, theme
from helpers.pictures.implicit.facts import WarpOfImage

TOP, SIDE, IMAGE_LEFT = 104.0, 320.0, 470.0  # CSS pixels
MOST_CELL = 10.0
CAPTION_LINES = 2


def implicit_figure(warp: WarpOfImage, title: str) -> theme.Figure:
    """One warp in one iteration."""
    zeros = len(warp.wanted) - warp.loads
    caption = (
        f"At k0 = {warp.k0} warp 0 wants {len(warp.wanted)} elements of a matrix of {warp.rows} × {warp.depth} "
        f"that is nowhere: {warp.loads} lie in {theme.plural(warp.sectors, 'sector')} of the image, and {zeros} in "
        "its border are zeros that nobody loads."
    )
    drawn, axes = page.page(TOP + SIDE + 16, title, caption, CAPTION_LINES)
    with theme.style():
        keys = (theme.WARP, "loaded by warp 0"), (theme.WASTE, "zero, not loaded", True), (theme.FAINT, "the rest")
        page.legend(axes, 50, [page.Key(*key) for key in keys])
        _matrix(axes, warp)
        _image(axes, warp)
    return drawn


def _matrix(axes: Any, warp: WarpOfImage) -> None:
    cell = min(MOST_CELL, SIDE / max(warp.rows, warp.depth))
    page.text(axes, page.MARGIN, TOP - 16, "the matrix: rows are places of the result, columns k", color=theme.INK)
    page.fill(axes, page.boxes(page.MARGIN, TOP, warp.depth * cell, warp.rows * cell), theme.WASTE_FILL)
    sizes = warp.sizes
    edges = np.arange(0, warp.depth + 1, sizes.C)
    page.lines(axes, [[(page.MARGIN + k * cell, TOP), (page.MARGIN + k * cell, TOP + warp.rows * cell)]
                      for k in edges.tolist()], theme.FAINT, 0.8)  # fmt: skip
    for loaded in (True, False):
        places = np.array([(element.k, element.row) for element in warp.wanted if element.loaded is loaded]).reshape(
            -1, 2
        )
        boxes = page.boxes(page.MARGIN + places[:, 0] * cell, TOP + places[:, 1] * cell, cell, cell)
        if loaded:
            page.fill(axes, boxes, theme.WARP, edge=theme.PAPER, line=0.4, label="wanted")
        else:
            page.hatch(axes, boxes, label="zeros")


def _image(axes: Any, warp: WarpOfImage) -> None:
    sizes = warp.sizes
    pad = sizes.pad
    rows, columns = sizes.H + 2 * pad, sizes.W + 2 * pad
    pixel = SIDE / max(rows, columns)
    across = int(np.ceil(np.sqrt(sizes.C)))
    down = -(-sizes.C // across)
    wide, high = (pixel - 4) / across, (pixel - 4) / down

    def places(wanted: list[tuple[int, int, int]]) -> np.ndarray:
        h, w, c = np.array(wanted).reshape(-1, 3).T
        return page.boxes(IMAGE_LEFT + (w + pad) * pixel + 2 + c % across * wide,
                          TOP + (h + pad) * pixel + 2 + c // across * high, wide, high)  # fmt: skip

    words = f"image 0 with its border: {sizes.H} × {sizes.W} pixels of {theme.plural(sizes.C, 'channel')}"
    page.text(axes, IMAGE_LEFT, TOP - 16, words, color=theme.INK)
    inside = [(h, w, c) for h in range(sizes.H) for w in range(sizes.W) for c in range(sizes.C)]
    page.fill(axes, places(inside), theme.FAINT, edge=theme.PAPER, line=0.6, label="pixels")
    mine = [element for element in warp.wanted if element.pixel[0] == 0]
    page.hatch(axes, places([element.pixel[1:] for element in mine if not element.loaded]), label="border")
    loaded = places([element.pixel[1:] for element in mine if element.loaded])
    page.fill(axes, loaded, theme.WARP, edge=theme.PAPER, line=0.6,
              label="loaded")  # fmt: skip
    page.outline(axes, page.boxes(IMAGE_LEFT, TOP, columns * pixel, rows * pixel), theme.WASTE, 1.0, dashed=True)
    page.outline(axes, page.boxes(IMAGE_LEFT + pad * pixel, TOP + pad * pixel, sizes.W * pixel, sizes.H * pixel),
                 theme.MUTED, 1.4)  # fmt: skip
    done = set()
    for element in mine:
        if element.loaded and element.pixel not in done:
            done.add(element.pixel)
            count = sum(other.pixel == element.pixel for other in mine)
            _, h, w, c = element.pixel
            if count > 1:
                page.text(axes, IMAGE_LEFT + (w + pad) * pixel + 2 + (c % across + 0.5) * wide,
                          TOP + (h + pad) * pixel + 2 + (c // across + 0.5) * high, f"{count}×", color=theme.PAPER,
                          ha="center", size=8)  # fmt: skip
