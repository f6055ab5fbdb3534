"""One FMA of a warp: the element that each lane adds to, what it needs of A and B, where its registers come from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.fma_lanes.facts import FmaLanes
from helpers.pictures.register_file.figure import AT_HAND, BANKS, CODE, QUEUES, queue_row
from helpers.pictures.register_file.model import Fma, Step

TINTS = ("#E9DFEF", "#D3BEDF")  # neighbouring lanes

# CSS pixels
LEFT, TOP, SIZE, STRIP = 46.0, 96.0, 272.0, 10.0  # of the warp's tile, and of what it needs along its edges
FACTS_X, FACTS_STEP = 372.0, 26.0
QUEUE_TOP, ROW, SHOWN = TOP + SIZE + 56, 19.0, 9  # FMAs around the chosen one
HEIGHT = QUEUE_TOP + SHOWN * ROW + 8
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)


def fma_figure(
    data: FmaLanes, order: Sequence[tuple[int, int]], fmas: Sequence[Fma], steps: Sequence[Step], number: int, lane: int
) -> theme.Figure:
    """FMA `number` of a patch. order: (y, x) of each FMA.  steps: what the banks do with them.  lane: is marked."""
    y, x = order[number]
    title = f"{data.name}: FMA {number}, sums[{y}][{x}], in all 32 lanes"
    drawn, axes = page.page(HEIGHT, title, caption(data, order, steps, number), CAPTION_LINES)
    with theme.style():
        page.legend(axes, 46, [page.Key(theme.C, "the element of C of each lane"), page.Key(theme.A, "its row of A"),
                               page.Key(theme.B, "its column of B"), page.Key(theme.WARP, f"lane {lane}"),
                               page.Key(theme.TROUBLE, "a read still owed")])  # fmt: skip
        _tile(axes, data, y, x, lane)
        _facts(axes, data, y, x, lane, fmas[number])
        for column, words in ((CODE, "machine code"), (AT_HAND, "at hand"), *zip(QUEUES, BANKS, strict=True)):
            page.text(axes, column, QUEUE_TOP - 14, words, color=theme.INK)
        page.text(axes, page.WIDTH - page.MARGIN, QUEUE_TOP - 14, "cycles lost", ha="right", color=theme.INK)
        first = min(max(number - SHOWN // 2, 0), max(len(fmas) - SHOWN, 0))
        for row, at in enumerate(range(first, min(first + SHOWN, len(fmas)))):
            top = QUEUE_TOP + row * ROW
            if at == number:
                page.outline(axes, page.boxes(page.MARGIN, top, page.WIDTH - 2 * page.MARGIN, ROW), theme.WARP, 1.8)
            queue_row(axes, top, at, fmas[at - 1] if at else None, fmas[at], steps[at])
    return drawn


def caption(data: FmaLanes, order: Sequence[tuple[int, int]], steps: Sequence[Step], number: int) -> str:
    """'In this FMA 32 lanes multiply 4 floats of A by 8 of B. The 32 FMAs of a patch lose 8 cycles to the banks …'"""
    a, b = data.needs(*order[number])
    lost = sum(step.lost for step in steps)
    cycles = theme.plural(lost, "cycle") if lost else "no cycle"
    return (
        f"In this FMA the lanes multiply {theme.plural(a, 'float')} of A by {b} of B. The {len(steps)} FMAs of a patch "
        f"lose {cycles} to the banks: {1 + lost / len(steps):.2f} cycles for each (a model)."
    )


def _tile(axes: Axes, data: FmaLanes, y: int, x: int, lane: int) -> None:
    rows, columns = data.tile
    cell = SIZE / max(rows, columns)
    tints = np.empty((rows, columns, 3))
    for number in range(WARP):
        cells = np.ix_(data.rows[number], data.columns[number])
        shade = (data.rows[number, 0] // data.patch[0] + data.columns[number, 0] // data.patch[1]) % 2
        tints[cells] = to_rgb(TINTS[shade])
    page.image(axes, tints, LEFT, TOP, cell, "lanes")
    elements = data.elements(y, x)
    down, along = elements[:, 0], elements[:, 1]
    for which, places, colour in (("A", np.unique(down), theme.A), ("B", np.unique(along), theme.B)):
        if which == "A":
            page.fill(axes, page.boxes(LEFT - STRIP - 4, TOP + places * cell, STRIP, cell), colour, label="of A")
        else:
            page.fill(axes, page.boxes(LEFT + places * cell, TOP - STRIP - 4, cell, STRIP), colour, label="of B")
    page.fill(axes, page.boxes(LEFT + along * cell, TOP + down * cell, cell, cell), theme.C, label="elements")
    middles = [(data.columns[lane].mean() + 0.5, data.rows[lane].mean() + 0.5) for lane in range(WARP)]
    page.labels(axes, [str(lane) for lane in range(WARP)], [LEFT + at[0] * cell for at in middles],
                [TOP + at[1] * cell for at in middles], 12.0, theme.INK, label="numbers")  # fmt: skip
    top, left = data.rows[lane].min(), data.columns[lane].min()
    height, width = np.ptp(data.rows[lane]) + 1, np.ptp(data.columns[lane]) + 1
    frame = page.boxes(LEFT + left * cell, TOP + top * cell, width * cell, height * cell)
    page.outline(axes, frame, theme.WARP, 2.4, label="lane")
    page.text(axes, LEFT, TOP + rows * cell + 12, f"the warp's tile of C, {rows} × {columns}")


def _facts(axes: Axes, data: FmaLanes, y: int, x: int, lane: int, fma: Fma) -> None:
    row, column = data.elements(y, x)[lane]
    facts = (
        ("one instruction, in registers of the model", ""),
        (fma.text, "mono"),
        ("the same registers in every lane, with other floats in them", ""),
        (f"lane {lane}: C[{row}][{column}] += A[{row}][k] · B[k][{column}]", ""),
        (f"R{fma.sum} is its sum, R{fma.a} its float of A, R{fma.b} its float of B", ""),
    )
    for number, (words, kind) in enumerate(facts):
        look = {"family": "DejaVu Sans Mono"} if kind else {}
        page.text(axes, FACTS_X, TOP + 14 + number * FACTS_STEP, words, color=theme.INK, size=theme.TEXT, **look)
