"""What does a thread load, and what does it compute? The index arithmetic of a small block of register tiles.

Each thread computes a patch of C's tile, and loads elements of the tiles of A and B that have nothing to do with it:
the elements of a tile are numbered row by row, and thread t loads number t, then t plus the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.register_tile.figure import LIGHT

CELL, GAP, LEFT, TOP = 29.0, 12.0, 22.0, 84.0  # CSS pixels; y runs down
TEXT_X, TEXT_STEP = 510.0, 18.5


@dataclass(frozen=True)
class Block:
    """A block and its tiles: C's tile has `rows` rows and `columns` columns, the others are `depth` k deep.

    tall, wide: rows and columns of a thread's patch.
    """

    rows: int = 8
    columns: int = 8
    depth: int = 4
    tall: int = 2
    wide: int = 2

    @property
    def across(self) -> int:
        """Threads along x."""
        return self.columns // self.wide

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.across * (self.rows // self.tall)

    def patch(self, thread: int) -> tuple[int, int]:
        """Row and column of C's tile at which the patch of a thread begins."""
        y, x = divmod(thread, self.across)
        return y * self.tall, x * self.wide

    def loaded(self, thread: int, width: int, count: int) -> list[tuple[int, int]]:
        """Row and column of the elements that a thread loads of a tile with so many elements, in rows of `width`."""
        return [divmod(number, width) for number in range(thread, count, self.threads)]


def patch_places_figure(block: Block, thread: int, k: int) -> theme.Figure:
    """The tiles of a block with what one thread loads, what it reads at k, and which patch it computes."""
    if not 0 <= thread < block.threads or not 0 <= k < block.depth:
        raise ValueError(f"The block has threads 0 to {block.threads - 1} and k from 0 to {block.depth - 1}.")
    title = f"Thread {thread} of a block whose threads compute {block.tall} × {block.wide} elements each"
    caption = f"What thread {thread} loads has nothing to do with what it computes: the barrier lies between the two."
    lines = _arithmetic(block, thread)
    height = max(TOP + (block.depth + block.rows) * CELL + GAP + 26, TOP + 12 + len(lines) * TEXT_STEP)
    drawn, axes = page.page(height, title, caption)
    with theme.style():
        keys = [page.Key(theme.A, "loads of A"), page.Key(theme.B, "loads of B"), page.Key(theme.C, "computes")]
        page.text(axes, max(335, page.legend(axes, 50, keys)), 50, f"framed: what it reads at k = {k}")
        _tiles(axes, block, thread, k)
        for number, (words, head) in enumerate(lines):
            weight = "bold" if head else "normal"
            page.text(axes, TEXT_X, TOP + 12 + number * TEXT_STEP, words, color=theme.INK, weight=weight)
    return drawn


def _tiles(axes: Axes, block: Block, thread: int, k: int) -> None:
    left, top = LEFT + block.depth * CELL + GAP, TOP + block.depth * CELL + GAP
    row, column = block.patch(thread)
    a_loads = block.loaded(thread, block.depth, block.rows * block.depth)
    b_loads = block.loaded(thread, block.columns, block.columns * block.depth)
    _tile(axes, "A", (LEFT, top), (block.rows, block.depth), a_loads)
    _tile(axes, "B", (left, TOP), (block.depth, block.columns), b_loads)
    page.outline(axes, page.boxes(LEFT + k * CELL, top + row * CELL, CELL, block.tall * CELL), theme.INK, 2.6)
    page.outline(axes, page.boxes(left + column * CELL, TOP + k * CELL, block.wide * CELL, CELL), theme.INK, 2.6)

    y, x = (np.array(axis) for axis in zip(*map(block.patch, range(block.threads)), strict=True))
    wide, tall = block.wide * CELL, block.tall * CELL
    page.fill(axes, page.boxes(left + x * CELL, top + y * CELL, wide, tall), LIGHT["C"], edge=theme.PAPER, line=1.2)
    mine = page.boxes(left + column * CELL, top + row * CELL, wide, tall)
    page.fill(axes, mine, theme.C, edge=theme.PAPER, line=1.2)
    for number in range(block.threads):
        middle = left + x[number] * CELL + wide / 2, top + y[number] * CELL + tall / 2
        ink, weight = (theme.PAPER, "bold") if number == thread else (theme.MUTED, "normal")
        page.text(axes, *middle, str(number), size=theme.TEXT, color=ink, weight=weight, ha="center")
    bold = {"size": theme.TEXT, "weight": "bold"}
    page.text(axes, LEFT, top - 14, "A: element", color=theme.A, **bold)
    page.text(axes, left + block.columns * CELL + 8, TOP + 10, "B: element", color=theme.ARRAY_NAMES["B"], **bold)
    page.text(axes, left + block.columns * CELL + 8, top + 10, "C: thread", color=theme.C, **bold)


def _tile(
    axes: Axes, array: str, corner: tuple[float, float], shape: tuple[int, int], loads: list[tuple[int, int]]
) -> None:
    """One tile, its elements numbered row by row, those that the thread loads in full colour."""
    number = np.arange(shape[0] * shape[1])
    y, x = corner[1] + number // shape[1] * CELL, corner[0] + number % shape[1] * CELL
    page.fill(axes, page.boxes(x, y, CELL, CELL), LIGHT[array], edge=theme.PAPER, line=0.8)
    mine = np.array([row * shape[1] + column for row, column in loads])
    colour = theme.ARRAY_COLOURS[array]
    page.fill(axes, page.boxes(x[mine], y[mine], CELL, CELL), colour, edge=theme.PAPER, line=0.8)
    others = np.setdiff1d(number, mine)
    for part, ink in ((others, theme.MUTED), (mine, theme.ink_on(colour))):
        page.labels(axes, [str(number) for number in part], x[part] + CELL / 2, y[part] + CELL / 2, 9.5, ink)


def _arithmetic(block: Block, thread: int) -> list[tuple[str, bool]]:
    """The index arithmetic of a thread, line by line: the words, and whether they are a heading."""
    y, x = divmod(thread, block.across)
    row, column = block.patch(thread)
    lines = [("its place in the block", True), (f"x = {x},  y = {y}", False), ("", False)]
    lines += [("computes rows and columns from", True)]
    lines += [(f"row = y · {block.tall} = {row},  col = x · {block.wide} = {column}", False)]
    for array, width, count in (
        ("A", block.depth, block.rows * block.depth),
        ("B", block.columns, block.columns * block.depth),
    ):
        numbers = range(thread, count, block.threads)
        *others, last = map(str, numbers)
        listed = f"{', '.join(others)} and {last}" if others else last
        lines += [("", False), (f"loads of {array}: elements {listed}", True)]
        lines += [
            (f"({number} / {width}, {number} % {width}) = ({number // width}, {number % width})", False)
            for number in numbers
        ]
    return lines
