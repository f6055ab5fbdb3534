"""Picture 4: what is loaded once and read many times?

On the left the matrices as they lie in a multiplication: B above C, A beside it, with what the block loads in this
phase. On the right the same, magnified, in shared memory: the selected thread reads a row of the A tile and a column of
the B tile. Below, the bytes that the block asks global memory for, beside what it would ask for without sharing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch

from gpusim.devices import FLOAT_BYTES, unravel
from helpers.pictures import page, theme
from helpers.pictures.tile_phases.facts import TilePhases
from helpers.pictures.tile_phases.staging import Phase

LIGHT = {"A": "#CFE4F1", "B": "#FBE8C6", "C": "#C8EADF"}
EARLIER = {"A": "#E7F1F8", "B": "#FDF3E1"}
LETTERS = ("A", "B", "C")
GLOBAL_MEMORY = "global memory; pale: earlier phases"

# CSS pixels; y runs down
SMALL, SMALL_GAP = 128.0, 16.0
SMALL_X, SMALL_Y = 44.0, 122.0
BIG, BIG_GAP = 160.0, 18.0
BIG_X, BIG_Y = 518.0, 84.0
WORDS_X = 420.0
BARS_Y, BAR_STEP, BAR_HEIGHT, BAR_X = 470.0, 30.0, 20.0, 264.0
HEIGHT = 540.0
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
READS_WIDTH = 156.0  # of "thread reads 16 floats"
CELL_LINES_FROM = 7.0  # pixels of a cell from which on its outline is drawn
ROWS_Y, ROW, ROW_MATRICES, ROW_PHASES, ROW_USES, ROW_BAR = 86.0, 88.0, 120.0, 320.0, 460.0, 500.0


def tile_phases_figure(data: TilePhases, phase: int = 0, thread: int = 0) -> theme.Figure:
    """One phase of a block: what is loaded, where it is staged, and what the selected thread reads of it."""
    if not 0 <= phase < len(data.phases) or not 0 <= thread < data.threads:
        raise ValueError(
            f"There is no phase {phase} with a thread {thread}: the block has {len(data.phases)} phases and "
            f"{data.threads} threads."
        )
    thread_index = theme.index(unravel(thread, data.block))
    where = f"block {theme.index(data.block_index)}"
    title = f"{data.name}: {where}, phase {phase + 1} of {len(data.phases)}, thread {thread_index}"
    drawn, axes = page.page(HEIGHT, title, caption(data, phase), CAPTION_LINES)
    with theme.style():
        _matrices(axes, data, phase, _shared(axes, data, phase, thread))
        _bars(axes, data, phase)
    return drawn


def caption(data: TilePhases, number: int) -> str:
    """'Phase 2 of 4: 512 floats loaded, 8 192 reads served: each load is used 16 times.'; where the two tiles differ,
    or a thread uses what it reads more than once, how often for each of them."""
    phase = data.phases[number]
    loaded, read = phase.floats_loaded, phase.floats_read
    text = (
        f"Phase {number + 1} of {len(data.phases)}: {theme.plural(loaded, 'float')} loaded from global memory, "
        f"{theme.plural(read, 'read')} served from shared memory"
    )
    if not read:
        return f"{text}."
    counts = {letter: _reads_and_uses(data, phase, letter) for letter in phase.arrays}
    if len(set(counts.values())) == 1 and (reads_uses := counts[phase.arrays[0]])[1] == 1:
        return f"{text}: each load is used {_uses(reads_uses[0])}."
    parts = []
    for letter, (reads, uses) in counts.items():
        times = np.unique(np.concatenate(phase.readings(letter)), return_counts=True)[1]
        copied = sum(len(copy.element) for copy in phase.copies if copy.array == letter)
        if len(times) == copied and (times == times[0]).all():
            parts.append(f"each float of {letter} is read {_uses(reads)}, for {theme.plural(uses, 'product')} each")
        elif not len(times):
            parts.append(f"no float of {letter} is read")
        else:  # as by a kernel that reads other floats than its own
            average = _uses(reads * copied / len(times))
            parts.append(f"of {letter}'s {copied} floats {len(times)} are read, each {average} on average")
    return f"{text}: {'; '.join(parts)}."


def _reads_and_uses(data: TilePhases, phase: Phase, letter: str) -> tuple[float, float]:
    """How often each float of a tile is read, and how many products each of these reads is for."""
    row, col = np.divmod(data.tile, data.shapes["C"][1])
    row_of_A, col_of_B = phase.elements("A") // data.shapes["A"][1], phase.elements("B") % data.shapes["B"][1]
    # Of each float a product for each column, or row, of C's tile whose floats of the other matrix are there
    mine, others = (col, col_of_B) if letter == "A" else (row, row_of_A)
    products = len(np.intersect1d(mine, others) if len(others) else np.unique(mine))
    reads = sum(map(len, phase.readings(letter))) / sum(
        len(copy.element) for copy in phase.copies if copy.array == letter
    )
    return reads, products / reads if reads else 0.0


def _uses(times: float) -> str:
    """'once', '16 times', '2.5 times'."""
    return "once" if times == 1 else f"{theme.number(times)} times"


@dataclass(frozen=True, eq=False)
class _Tile:
    """A rectangle of a matrix on the page: the elements of the matrix in it, and where it lies."""

    letter: str
    elements: np.ndarray  # (rows, columns) linear elements of the matrix
    left: float
    top: float
    cell: float

    def boxes(self, chosen: np.ndarray) -> np.ndarray:
        """Corners of the cells of these elements, as far as they lie in the tile."""
        row, col = np.nonzero(np.isin(self.elements, chosen))
        return page.boxes(self.left + col * self.cell, self.top + row * self.cell, self.cell, self.cell)[: len(row)]

    @property
    def frame(self) -> np.ndarray:
        rows, columns = self.elements.shape
        return page.boxes(self.left, self.top, columns * self.cell, rows * self.cell)


# --- the matrices, and what was loaded of them --------------------------------------------------------------------


def _matrices(axes: Axes, data: TilePhases, phase: int, tiles: dict[str, _Tile]) -> None:
    rows, depth = data.shapes["A"]
    columns = data.shapes["B"][1]
    scale = SMALL / max(rows, columns, depth)
    across = SMALL_X + depth * scale + SMALL_GAP  # B and C
    down = SMALL_Y + depth * scale + SMALL_GAP  # A and C
    places = {"A": (SMALL_X, down), "B": (across, SMALL_Y), "C": (across, down)}
    page.text(axes, page.MARGIN, 50, GLOBAL_MEMORY, size=theme.TEXT, color=theme.INK)
    for letter in LETTERS:
        left, top = places[letter]
        height, width = data.shapes[letter]
        page.image(axes, _loaded_colours(data, letter, phase), left, top, scale, f"matrix {letter}")
        page.outline(axes, page.boxes(left, top, width * scale, height * scale), theme.MUTED, 0.9)
    for letter, (x, y) in {
        "A": (SMALL_X, down - 11), "B": (across, SMALL_Y - 11), "C": (across + columns * scale + 8, down + 8)
    }.items():  # fmt: skip
        page.text(axes, x, y, letter, size=theme.TEXT, weight="bold", color=theme.ARRAY_NAMES[letter])
    for letter in [name for name in data.phases[phase].arrays if name in tiles]:
        _load_arrow(axes, data, phase, letter, places[letter], scale, tiles[letter])


def _load_arrow(
    axes: Axes,
    data: TilePhases,
    number: int,
    letter: str,
    corner: tuple[float, float],
    scale: float,
    tile: _Tile,
) -> None:
    """From what is loaded of a matrix to its copy in shared memory, with the bytes."""
    phase = data.phases[number]
    count = FLOAT_BYTES * sum(len(copy.element) for copy in phase.copies if copy.array == letter)
    row, col = np.divmod(phase.elements(letter), data.shapes[letter][1])
    (left, top), (_, bottom) = tile.frame[0][0], tile.frame[0][2]
    if letter == "B":
        start = (corner[0] + scale * (col.max() + 1) + 2, corner[1] + scale * (row.min() + row.max() + 1) / 2)
        end = (left - 8, top + (bottom - top) / 2)
        over = (left - 10 - READS_WIDTH / 2, READS_WIDTH)  # where `_tile_names` says what a thread reads
        bend = next((curve for curve in (-0.12, 0.05) if _above(start, end, curve, *over) > top + 2), 0.15)
    else:
        start = (corner[0] + scale * (col.min() + col.max() + 1) / 2, corner[1] + scale * (row.max() + 1) + 2)
        end, bend = (left - 8, bottom - 0.18 * (bottom - top)), 0.2
    words = f"load {theme.plural(count, 'byte')}"
    words_y = _above(start, end, bend, WORDS_X, page.text_width(words)) - 11
    page.text(axes, WORDS_X, words_y, words, color=theme.INK, ha="center")
    axes.add_artist(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=13,
            color=theme.ARRAY_COLOURS[letter],
            linewidth=2.2,
            shrinkA=0,
            shrinkB=0,
            connectionstyle=f"arc3,rad={bend}",
        )
    )


def _above(start: tuple[float, float], end: tuple[float, float], bend: float, x: float, width: float) -> float:
    """The highest place (smallest y) of an arrow that is bent as arc3 bends it, over `width` pixels around x."""
    here, there = np.array(start), np.array(end)
    across = there - here
    corner = (here + there) / 2 + bend * np.array([-across[1], across[0]])
    t = np.linspace(0, 1, 65)[:, None]
    curve = (1 - t) ** 2 * here + 2 * t * (1 - t) * corner + t**2 * there
    near = np.abs(curve[:, 0] - x) <= width / 2
    return float(curve[near, 1].min() if near.any() else curve[:, 1].min())


def _loaded_colours(data: TilePhases, letter: str, phase: int) -> np.ndarray:
    """(rows, columns, 3): this phase's elements in the matrix's colour, those of earlier phases lighter."""
    shape = data.shapes[letter]
    image = np.ones((shape[0] * shape[1], 3))
    if letter == "C":
        image[data.tile] = to_rgb(LIGHT["C"])
    else:
        for earlier in data.phases[:phase]:
            image[earlier.elements(letter)] = to_rgb(EARLIER[letter])
        image[data.phases[phase].elements(letter)] = to_rgb(theme.ARRAY_COLOURS[letter])
    return image.reshape(*shape, 3)


# --- the tiles in shared memory, and what one thread reads of them ------------------------------------------------


def _tile(data: TilePhases, letter: str, elements: np.ndarray, left: float, top: float, cell: float) -> _Tile:
    columns = data.shapes[letter][1]
    row, col = np.divmod(elements, columns)
    rows, cols = np.arange(row.min(), row.max() + 1), np.arange(col.min(), col.max() + 1)
    return _Tile(letter, rows[:, None] * columns + cols[None, :], left, top, cell)


def _shared(axes: Axes, data: TilePhases, number: int, thread: int) -> dict[str, _Tile]:
    """The magnified tiles; where they lie, by the matrix's letter."""
    phase = data.phases[number]
    extents = {letter: _extent(data, letter, phase.elements(letter)) for letter in phase.arrays}
    extents["C"] = _extent(data, "C", data.tile)
    cell = BIG / max(max(extent) for extent in extents.values())
    depth = extents["A"][1] if "A" in extents else 0
    across = BIG_X + max(BIG, depth * cell) + BIG_GAP
    down = BIG_Y + BIG + BIG_GAP
    places = {"A": (across - BIG_GAP - depth * cell, down), "C": (across, down)}
    if "B" in extents:
        places["B"] = (across, down - BIG_GAP - extents["B"][0] * cell)
    page.text(
        axes, page.WIDTH - page.MARGIN, 50, "shared memory of the block", size=theme.TEXT, color=theme.INK, ha="right"
    )

    tiles = {}
    for letter in [*phase.arrays, "C"]:
        if letter not in places:
            continue
        wanted = data.tile if letter == "C" else phase.elements(letter)
        tile = tiles[letter] = _tile(data, letter, wanted, *places[letter], cell)
        mine = data.stores[thread] if letter == "C" else phase.read_by(thread, letter)
        page.fill(axes, tile.frame, LIGHT[letter])
        page.fill(
            axes, tile.boxes(mine), theme.ARRAY_COLOURS[letter], label=f"read of {letter}" if letter != "C" else "mine"
        )
        if cell >= CELL_LINES_FROM:
            page.outline(axes, tile.boxes(tile.elements), theme.PAPER, 0.7)
        page.outline(axes, tile.frame, theme.INK, 1.2)
    _tile_names(axes, data, phase, thread, tiles)
    return tiles


def _extent(data: TilePhases, letter: str, elements: np.ndarray) -> tuple[int, int]:
    row, col = np.divmod(elements, data.shapes[letter][1])
    return int(np.ptp(row)) + 1, int(np.ptp(col)) + 1


def _tile_names(axes: Axes, data: TilePhases, phase: Phase, thread: int, tiles: dict[str, _Tile]) -> None:
    """The name of each tile, and how many floats the thread reads of it."""
    for letter, tile in tiles.items():
        (left, top), (right, bottom) = tile.frame[0][0], tile.frame[0][2]
        options = {"size": theme.TEXT, "weight": "bold", "color": theme.ARRAY_NAMES[letter]}
        if letter == "C":
            page.text(axes, right + 8, top + 8, "C", **options)
            page.text(axes, left, bottom + 14, "sums, in registers", color=theme.INK)
            continue
        at, side = (right, "right") if letter == "A" else (left, "left")  # A's name must not lie over B's tile
        page.text(axes, at, top - 11, f"tile of {letter}", ha=side, **options)
        words = f"thread reads {theme.plural(len(phase.read_by(thread, letter)), 'float')}"
        if letter == "A":
            page.text(axes, right, bottom + 14, words, color=theme.INK, ha="right")
        else:
            page.text(axes, left - 10, top - 11, words, color=theme.INK, ha="right")


# --- below: bytes -----------------------------------------------------------------------------------------------


def _bars(axes: Axes, data: TilePhases, phase: int) -> None:
    """Bytes that the block asks global memory for: so far, in all, and without sharing."""
    without, total = data.bytes_without_sharing, data.bytes_loaded()
    so_far = data.bytes_loaded(phase + 1)
    room = page.WIDTH - page.MARGIN - 170 - BAR_X
    scale = room / max(without, total)
    page.lines(axes, [[(page.MARGIN, BARS_Y - 20), (page.WIDTH - page.MARGIN, BARS_Y - 20)]], theme.FAINT, 0.8)
    rows = [
        (
            "global bytes, this block",
            total,
            so_far,
            theme.SPEED,
            f"{theme.thousands(so_far)} of {theme.thousands(total)}",
        ),
        ("the same without sharing", without, without, theme.REFERENCE, theme.thousands(without)),
    ]
    for number, (name, length, solid, colour, words) in enumerate(rows):
        top = BARS_Y + number * BAR_STEP
        page.text(axes, page.MARGIN, top + BAR_HEIGHT / 2, name, color=theme.INK, size=theme.TEXT)
        page.fill(axes, page.boxes(BAR_X, top, solid * scale, BAR_HEIGHT), colour, label=f"bytes {number}")
        page.outline(axes, page.boxes(BAR_X, top, length * scale, BAR_HEIGHT), colour, 1.2)
        times = f"  ({theme.number(without / total)}×)" if number == 1 and total else ""
        page.text(
            axes, BAR_X + length * scale + 9, top + BAR_HEIGHT / 2, words + times, color=theme.INK, size=theme.TEXT
        )


@dataclass(frozen=True, eq=False)
class TileSize:
    """One row of the comparison of tile sizes: its label, a block's phases, and the phase that is drawn."""

    label: str
    data: TilePhases
    phase: int

    @property
    def bytes_each(self) -> float:
        """Bytes that the block asks global memory for, for each element of C that it computes."""
        return self.data.bytes_loaded() / len(self.data.tile)

    @property
    def uses(self) -> float:
        """How often a float is read from shared memory after it was loaded once."""
        phase = self.data.phases[self.phase]
        return phase.floats_read / phase.floats_loaded


def tile_sizes_figure(rows: Sequence[TileSize], title: str) -> theme.Figure:
    """Tile sizes under each other: what one phase loads, how often each load is used, and the bytes that remain."""
    if not rows:
        raise ValueError("There is no tile size to draw: give at least one TileSize.")
    naive = max(row.data.bytes_unshared for row in rows)
    least = min(rows, key=lambda row: row.bytes_each)
    bytes_each, without = theme.thousands(least.bytes_each), theme.thousands(naive)
    caption = (
        f"{least.label}: each load from global memory is used {_uses(least.uses)}, and an element of C costs "
        f"{bytes_each} bytes where a kernel without sharing asks for {without}."
    )
    drawn, axes = page.page(ROWS_Y + ROW * len(rows) + 4, title, caption, 2)
    with theme.style():
        heads = {
            ROW_PHASES: "phases",
            ROW_USES: "uses of a load",
            ROW_BAR: "global bytes for an element of C",
        }
        keys = [page.Key(theme.SPEED, "this kernel"), page.Key(theme.REFERENCE, "without sharing (outline)")]
        page.legend(axes, 46, keys, ROW_BAR)
        for x, words in heads.items():
            page.text(axes, x, ROWS_Y - 16, words, ha="left" if x == ROW_BAR else "right")
        for number, row in enumerate(rows):
            _size_row(axes, row, ROWS_Y + number * ROW, naive)
    return drawn


def _size_row(axes: Axes, row: TileSize, top: float, naive: float) -> None:
    middle = top + ROW / 2
    page.lines(axes, [[(page.MARGIN, top), (page.WIDTH - page.MARGIN, top)]], theme.FAINT, 0.8)
    page.text(axes, page.MARGIN, middle, row.label, size=theme.TITLE, color=theme.INK)
    scale = (ROW - 18) / 2 / max(max(shape) for shape in row.data.shapes.values())
    left, up = ROW_MATRICES, top + 7
    across, down = left + row.data.shapes["A"][1] * scale + 4, up + row.data.shapes["B"][0] * scale + 4
    for letter, (x, y) in {"A": (left, down), "B": (across, up), "C": (across, down)}.items():
        height, width = row.data.shapes[letter]
        page.image(axes, _loaded_colours(row.data, letter, row.phase), x, y, scale, f"matrix {letter}")
        page.outline(axes, page.boxes(x, y, width * scale, height * scale), theme.MUTED, 0.8)
    for x, number in {ROW_PHASES: len(row.data.phases), ROW_USES: row.uses}.items():
        page.text(axes, x, middle, theme.thousands(number), size=theme.TITLE, color=theme.INK, ha="right")
    length = (page.WIDTH - page.MARGIN - 70 - ROW_BAR) / naive
    page.fill(axes, page.boxes(ROW_BAR, middle - 10, row.bytes_each * length, 20), theme.SPEED, label="bytes")
    page.outline(axes, page.boxes(ROW_BAR, middle - 10, naive * length, 20), theme.REFERENCE, 1.2)
    words = theme.thousands(row.bytes_each)
    inside = row.bytes_each * length > 60
    x = ROW_BAR + row.bytes_each * length + (-8 if inside else 8)
    colour = theme.PAPER if inside else theme.INK
    page.text(axes, x, middle, words, size=theme.TEXT, color=colour, weight="bold", ha="right" if inside else "left")
