"""Which panels of A and B do the blocks share that run at the same time? Orders of the tiles side by side.

Every cell is a tile of C with the number of the block that takes it. The blocks that run first are tinted, and beside
and above C are the panels that these need: A's in blue, one for each row of tiles, B's in orange, one for each column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.raster.facts import Raster

RUNNING = "#B5E2D6"  # a light green of C

# CSS pixels
TOP, PANEL, BETWEEN, ROOM = 124.0, 24.0, 6.0, 400.0
MOST = 300.0  # of all rows of tiles
MOST_HEIGHT = TOP + PANEL + BETWEEN + MOST + 30
LETTER_SHARE, DIGIT = 0.42, 0.78  # of a cell; of a letter's size, with the room beside it
SMALLEST_NUMBERED = 17.0  # cell: in smaller ones numbers could not be read


def rasters_figure(orders: Sequence[Raster], title: str) -> theme.Figure:
    """At most two orders side by side. Raises ValueError for more, or for none."""
    if not 1 <= len(orders) <= 2:
        raise ValueError(f"One or two orders fit side by side, not {len(orders)}.")
    cells = [min(40.0, (ROOM - PANEL - 20) / order.tiles[1], MOST / order.tiles[0]) for order in orders]
    height = TOP + PANEL + BETWEEN + max(cell * order.tiles[0] for order, cell in zip(orders, cells, strict=True)) + 30
    drawn, axes = page.page(height, title, caption(orders), 2)
    with theme.style():
        keys = [page.Key(RUNNING, f"the first {orders[0].running} blocks, which run together")]
        keys += [page.Key(theme.A, "panel of A that they need"), page.Key(theme.B, "panel of B")]
        page.legend(axes, 46, keys)
        for number, (order, cell) in enumerate(zip(orders, cells, strict=True)):
            _order(axes, order, page.MARGIN + number * (ROOM + 40), cell)
    return drawn


def caption(orders: Sequence[Raster]) -> str:
    """'row by row: 1 panel of A and 4 of B, 5 together; …'"""
    parts = (
        f"{order.name}: {theme.plural(order.panels[0], 'panel')} of A and {order.panels[1]} of B, "
        f"{sum(order.panels)} together"
        for order in orders
    )
    return f"What the first {orders[0].running} blocks need – " + "; ".join(parts) + "."


def _order(axes: Axes, raster: Raster, left: float, cell: float) -> None:
    down, along = raster.tiles
    page.text(axes, left, TOP - 44, raster.name, size=theme.TEXT, color=theme.INK, weight="bold")
    x, y = left + PANEL + BETWEEN, TOP + PANEL + BETWEEN
    page.text(axes, x, TOP - 18, f"{theme.plural(raster.panels[1], 'panel')} of B ↓", color=theme.INK)
    first, line = np.array(raster.order[: raster.running], float), min(1.0, cell / 20)
    rows, columns = np.unique(first[:, 0]), np.unique(first[:, 1])
    page.fill(axes, page.boxes(x + cell * columns, TOP, cell, PANEL), theme.B, edge=theme.PAPER, line=line, label="B")
    page.fill(axes, page.boxes(left, y + cell * rows, PANEL, cell), theme.A, edge=theme.PAPER, line=line, label="A")
    page.fill(axes, page.boxes(x + cell * first[:, 1], y + cell * first[:, 0], cell, cell), RUNNING, label="running")
    places = np.array(raster.order, float)
    page.outline(
        axes, page.boxes(x + cell * places[:, 1], y + cell * places[:, 0], cell, cell), theme.WASTE, 0.8 * line
    )
    if cell < SMALLEST_NUMBERED:
        return
    fits = cell / (DIGIT * len(str(len(raster.order) - 1)))
    page.labels(
        axes, [str(number) for number in range(len(raster.order))], x + cell * (places[:, 1] + 0.5),
        y + cell * (places[:, 0] + 0.5), min(max(9.0, LETTER_SHARE * cell), fits), theme.INK, label="numbers",
    )  # fmt: skip
