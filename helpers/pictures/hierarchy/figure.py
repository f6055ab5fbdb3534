"""Picture 10: who owns which part of C?

Three zooms from left to right: the block's tile in C, the warps' tiles in the block, the lanes' fragments in the warp.
Along the edges lie the parts of A and of B that they need at one k, in the colours of A and B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.hierarchy.facts import NO_THREAD, Hierarchy, Loads

TINTS = ("#E9DFEF", "#D3BEDF")  # neighbouring warps, neighbouring lanes
FAINT_A, FAINT_B = "#B3D1E4", "#F5D899"  # what other lanes of the warp need

# CSS pixels
TOP, STRIP, GAP = 112.0, 11.0, 4.0  # the panels' upper edge; a strip of A or B along an edge, and its distance
C_X, C_SIZE = 32.0, 160.0
BLOCK_X, BLOCK_SIZE = 252.0, 232.0
WARP_X, WARP_SIZE = 548.0, 338.0
FACTS_Y, FACTS_STEP = TOP + BLOCK_SIZE + 40, 26.0
HEIGHT = TOP + WARP_SIZE + 10
LARGEST, SMALLEST = 13.0, 7.0  # pixels of a lane's number
LETTER = 0.9  # of a number's size: the room of one of its digits, so that neighbours do not touch
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
TWIN_TOP, TWIN_STEP, SIDE_BY_SIDE = 128.0, 222.0, 4
TWIN_WIDTH, TWIN_HEIGHT = 196.0, 300.0  # the most that a warp's tile takes of the twin
ROW_STEP = 16.0  # lines that name the lanes of a row


def hierarchy_figure(data: Hierarchy, warp: int = 0, lane: int = 0, lane_map: str = "") -> theme.Figure:
    """The three zooms. lane_map: what the order of the lanes is called."""
    if not 0 <= warp < data.warps or not 0 <= lane < WARP:
        raise ValueError(f"There is no lane {lane} of warp {warp}: the block has {data.warps} warps of {WARP} lanes.")
    rows, columns = data.tile
    title = f"{data.name}, tile of {rows} × {columns}: block, warp, thread" + (
        f", lanes {lane_map}" if lane_map else ""
    )
    drawn, axes = page.page(HEIGHT, title, caption(data, warp), CAPTION_LINES)
    with theme.style():
        keys = [page.Key(theme.C, "the selected thread's elements"), page.Key(theme.WARP, "its warp, its block")]
        keys += [page.Key(theme.A, "what it needs of A at one k"), page.Key(theme.B, "of B")]
        page.legend(axes, 46, keys)
        _matrix(axes, data)
        _block(axes, data, warp)
        _warp(axes, data, warp, lane, WARP_X, TOP, WARP_SIZE)
        _facts(axes, data, warp, lane)
    return drawn


def caption(data: Hierarchy, warp: int) -> str:
    """'At each k warp 0 needs 64 floats of A and 64 of B for 4 096 FMAs. It loads As by 4 requests of …'"""
    rows, columns = data.needs(warp)
    text = f"At each k warp {warp} needs {rows} floats of A and {columns} of B for "
    text += f"{theme.plural(data.elements(warp), 'FMA')}."
    loads = data.loads[warp]
    if loads:
        text += f" It loads {' and '.join(_in_words(tile, load) for tile, load in loads.items())}."
    return text


def _in_words(tile: str, loads: Loads) -> str:
    """'As by 4 requests of 2 wavefronts'."""
    requests, fronts = (
        f"{theme.number(n)}\u00a0{noun}{'' if n == 1 else 's'}"
        for n, noun in ((loads.requests, "request"), (loads.each, "wavefront"))
    )
    return f"{tile} by {requests} of {fronts}"


def _cost(loads: Loads) -> str:
    """'2 requests × 4 wavefronts'."""
    return f"{theme.plural(loads.requests, 'request')} × {theme.plural(loads.each, 'wavefront')}"


def _matrix(axes: Axes, data: Hierarchy) -> None:
    """C with the tiles of all blocks, the recorded one filled."""
    M, N = data.shape
    rows, columns = data.tile
    scale = C_SIZE / max(M, N)
    page.text(axes, C_X, TOP - 45, "C", size=theme.TEXT, color=theme.INK, weight="bold")
    page.text(axes, C_X, TOP - 28, f"{theme.thousands(M)} × {theme.thousands(N)}")
    page.fill(axes, page.boxes(C_X, TOP, N * scale, M * scale), "#EEEEEE")
    top, left = TOP + data.origin[0] * scale, C_X + data.origin[1] * scale
    page.fill(axes, page.boxes(left, top, columns * scale, rows * scale), theme.WARP, label="block")
    down = [[(C_X, TOP + y * scale), (C_X + N * scale, TOP + y * scale)] for y in (*range(0, M, rows), M)]
    across = [[(C_X + x * scale, TOP), (C_X + x * scale, TOP + M * scale)] for x in (*range(0, N, columns), N)]
    page.lines(axes, [*down, *across], theme.MUTED, 0.7)
    _strips(
        axes,
        C_X,
        TOP,
        scale,
        [(data.origin[0] + np.arange(rows), theme.A)],
        [(data.origin[1] + np.arange(columns), theme.B)],
    )
    shown = _size(data.tile, BLOCK_SIZE)
    _zoom(axes, (C_X + N * scale, top, rows * scale), (BLOCK_X - GAP - STRIP, TOP, shown[1]))


def _size(tile: tuple[int, int], width: float, height: float | None = None) -> tuple[float, float]:
    """(width, height) in pixels at which a tile of (rows, columns) fits into a box, or into a square."""
    rows, columns = tile
    scale = min(width / columns, (width if height is None else height) / rows)
    return columns * scale, rows * scale


def _zoom(axes: Axes, small: tuple[float, float, float], large: tuple[float, float, float]) -> None:
    """Lines from the right side of a whole, where its part (x, top, height) lies, to the part's magnification."""
    paths = [[(small[0], small[1]), (large[0], large[1])]]
    paths.append([(small[0], small[1] + small[2]), (large[0], large[1] + large[2])])
    page.lines(axes, paths, theme.MUTED, 0.8, label="zoom")


def _block(axes: Axes, data: Hierarchy, warp: int) -> None:
    """The block's tile, warp by warp, and what the selected warp needs along its edges."""
    width, height = _size(data.tile, BLOCK_SIZE)
    scale = width / data.tile[1]
    numbers = data.owner // WARP
    image = np.array([to_rgb(tint) for tint in TINTS])[_parity(data, numbers)]
    image[numbers == warp] = to_rgb(theme.WARP)
    image[data.owner == NO_THREAD] = to_rgb(theme.WASTE_FILL)
    rows, columns = data.tile
    page.text(axes, BLOCK_X, TOP - 45, "block", size=theme.TEXT, color=theme.INK, weight="bold")
    page.text(axes, BLOCK_X, TOP - 28, f"{rows} × {columns}, {theme.plural(data.warps, 'warp')}")
    page.image(axes, image, BLOCK_X, TOP, scale, "warps")
    _names(axes, numbers, BLOCK_X, TOP, scale, "warp numbers", white={warp})
    down, across = data.window(warp)
    _strips(axes, BLOCK_X, TOP, scale, [(needed_rows(data, warp), theme.A)], [(needed_columns(data, warp), theme.B)])
    right = BLOCK_X + width + 2
    top, size = TOP + down.start * scale, (down.stop - down.start) * scale
    shown = _size((down.stop - down.start, across.stop - across.start), WARP_SIZE)
    _zoom(axes, (right, top, size), (WARP_X - GAP - STRIP, TOP, shown[1]))


def needed_rows(data: Hierarchy, warp: int, lane: int | None = None) -> np.ndarray:
    """Rows of the tile in which a warp, or one of its lanes, has elements."""
    mine = data.owner // WARP == warp if lane is None else data.owner == warp * WARP + lane
    return np.flatnonzero(mine.any(axis=1))


def needed_columns(data: Hierarchy, warp: int, lane: int | None = None) -> np.ndarray:
    """Columns of the tile in which a warp, or one of its lanes, has elements."""
    mine = data.owner // WARP == warp if lane is None else data.owner == warp * WARP + lane
    return np.flatnonzero(mine.any(axis=0))


def _parity(data: Hierarchy, numbers: np.ndarray) -> np.ndarray:
    """(rows, columns) 0 or 1, different for neighbouring parts."""
    down = np.zeros(numbers.shape, np.int64)
    down[1:] = (numbers[1:] != numbers[:-1]).cumsum(axis=0)
    across = np.zeros(numbers.shape, np.int64)
    across[:, 1:] = (numbers[:, 1:] != numbers[:, :-1]).cumsum(axis=1)
    return (down + across) % 2


def _warp(
    axes: Axes, data: Hierarchy, warp: int, lane: int, left: float, top: float, most: float, height: float | None = None
) -> None:
    """The warp's tile, lane by lane, and what the selected lane needs along its edges.

    Where lanes are too narrow for their numbers, a line below the tile names those of each row.
    """
    down, across = data.window(warp)
    lanes = _lanes(data, warp)
    width, height = _size(lanes.shape, most, height)
    scale = width / lanes.shape[1]
    image = np.array([to_rgb(tint) for tint in TINTS])[_parity(data, lanes)]
    image[lanes == NO_THREAD] = to_rgb(theme.WASTE_FILL)
    image[lanes == lane] = to_rgb(theme.C)
    rows, columns = lanes.shape
    page.text(axes, left, top - 45, f"warp {warp}", size=theme.TEXT, color=theme.INK, weight="bold")
    page.image(axes, image, left, top, scale, "lanes")
    page.outline(axes, page.boxes(left, top, width, height), theme.WARP, 2.0)
    _names(axes, lanes, left, top, scale, "lane numbers", white={lane})
    below = _lines_below(lanes, scale)
    page.text(axes, left, top - 28, f"{rows} × {columns}{'' if below else ', lane numbers'}")
    for number, words in enumerate(below):
        page.text(axes, left, top + height + (number + 1) * ROW_STEP, words)
    a = [(needed_rows(data, warp) - down.start, FAINT_A), (needed_rows(data, warp, lane) - down.start, theme.A)]
    b = [(needed_columns(data, warp) - across.start, FAINT_B)]
    _strips(axes, left, top, scale, a, [*b, (needed_columns(data, warp, lane) - across.start, theme.B)])


def _lanes(data: Hierarchy, warp: int) -> np.ndarray:
    """(rows, columns) of the warp's tile: the lane that owns each element, NO_THREAD for another warp's."""
    owner = data.owner[data.window(warp)]
    return np.where(owner // WARP == warp, owner % WARP, NO_THREAD)


def _lines_below(lanes: np.ndarray, scale: float) -> list[str]:
    """The lines under a tile whose lanes are too narrow for their numbers; none where they fit."""
    return rows_of_lanes(lanes) if _letters(_owned(lanes), scale) < SMALLEST else []


def _owned(numbers: np.ndarray) -> list[tuple[int, int, int, int, int]]:
    """The rectangles that belong to a lane or a warp."""
    return [part for part in rectangles(numbers) if part[0] != NO_THREAD]


def _letters(parts: Sequence[tuple[int, int, int, int, int]], scale: float) -> float:
    """The size in which the numbers of all parts, as `rectangles` gives them, fit into their places."""
    room = [min(columns / (LETTER * len(str(number))), rows / 0.8) for number, _, _, rows, columns in parts]
    return min(LARGEST, scale * min(room, default=0))


Needed = Sequence[tuple[np.ndarray, str]]  # rows or columns, and the colour that they have


def _strips(axes: Axes, left: float, top: float, scale: float, rows: Needed, columns: Needed) -> None:
    """What is needed of A along the left edge and of B along the upper one."""
    for where, colour in rows:
        boxes = page.boxes(left - GAP - STRIP, top + where * scale, STRIP, scale)
        page.fill(axes, boxes, colour, edge=colour, line=0.3, label=f"A {colour}")
    for where, colour in columns:
        boxes = page.boxes(left + where * scale, top - GAP - STRIP, scale, STRIP)
        page.fill(axes, boxes, colour, edge=colour, line=0.3, label=f"B {colour}")


def _names(axes: Axes, numbers: np.ndarray, left: float, top: float, scale: float, label: str, white: set[int]) -> None:
    """The number of each rectangle of equal numbers in its middle, all of one size, if they fit."""
    parts = _owned(numbers)
    size = _letters(parts, scale)
    if size < SMALLEST:
        return
    for is_white, ink in ((False, theme.INK), (True, theme.PAPER)):
        names, x, y = [], [], []
        for number, row, col, rows, columns in parts:
            if (number in white) == is_white:
                names.append(str(number))
                x.append(left + (col + columns / 2) * scale)
                y.append(top + (row + rows / 2) * scale)
        page.labels(axes, names, np.array(x), np.array(y), size, ink, label=label)


def rows_of_lanes(lanes: np.ndarray) -> list[str]:
    """'row 0 of lanes: 0 to 15' for each row of lanes that differs from those above it; of the first four."""
    rows = dict.fromkeys(tuple(np.unique(row[row != NO_THREAD]).tolist()) for row in lanes)
    return [f"row {number} of lanes: {_short(row)}" for number, row in enumerate(rows)][:4]


def _short(lanes: Sequence[int]) -> str:
    """'0 to 7'; of a set with many gaps, how many of how many: '8 of 0 to 25'."""
    text = theme.runs(lanes)
    return text if len(text) <= 16 else f"{len(lanes)} of {lanes[0]} to {lanes[-1]}"


def rectangles(numbers: np.ndarray) -> list[tuple[int, int, int, int, int]]:
    """(number, first row, first column, rows, columns) of each rectangle of equal numbers."""
    new = np.ones(numbers.shape, bool)
    new[1:] &= numbers[1:] != numbers[:-1]
    new[:, 1:] &= numbers[:, 1:] != numbers[:, :-1]
    rectangles = []
    for row, col in np.argwhere(new).tolist():
        number = numbers[row, col]
        down, across = numbers[row:, col] != number, numbers[row, col:] != number
        rows = int(np.argmax(down)) if down.any() else len(down)
        columns = int(np.argmax(across)) if across.any() else len(across)
        rectangles.append((int(number), row, col, rows, columns))
    return rectangles


def _facts(axes: Axes, data: Hierarchy, warp: int, lane: int) -> None:
    """What the thread and the warp load for each FMA."""
    needs = {"thread": data.needs(warp, lane), "warp": data.needs(warp)}
    for number, (owner, (rows, columns)) in enumerate(needs.items()):
        words = f"{owner}: computes nothing"
        if rows and columns:
            share = theme.thousands((rows + columns) / (rows * columns), 3)
            words = f"{owner}: {rows} + {columns} floats for {rows} × {columns} FMAs, {share} per FMA"
        page.text(axes, page.MARGIN, FACTS_Y + number * FACTS_STEP, words, size=theme.TEXT, color=theme.INK)


def lane_maps_figure(maps: Sequence[tuple[str, Hierarchy]], title: str, warp: int = 0, lane: int = 0) -> theme.Figure:
    """Several orders of the lanes side by side: (what it is called, the kernel with it), and what their loads cost."""
    if not 1 <= len(maps) <= SIDE_BY_SIDE:
        raise ValueError(f"Between 1 and {SIDE_BY_SIDE} lane maps fit side by side, but {len(maps)} were given.")
    parts = []
    for name, data in maps:
        fronts = ", ".join(f"{tile[:1]} {theme.number(loads.each)}" for tile, loads in data.loads[warp].items())
        parts.append(f"{name}: {fronts}")
    tiles = [_lanes(data, warp) for _, data in maps]
    sizes = [_size(tile.shape, TWIN_WIDTH, TWIN_HEIGHT) for tile in tiles]
    below = (_lines_below(tile, width / tile.shape[1]) for tile, (width, _) in zip(tiles, sizes, strict=True))
    height = max(90.0, *(height + len(lines) * ROW_STEP for lines, (_, height) in zip(below, sizes, strict=True)))
    drawn, axes = page.page(TWIN_TOP + height + 64, title, f"Wavefronts per request – {'; '.join(parts)}.", 2)
    with theme.style():
        keys = [page.Key(theme.C, f"lane {lane}'s elements"), page.Key(theme.A, "its part of A")]
        page.legend(axes, 46, [*keys, page.Key(theme.B, "its part of B")])
        for number, (name, data) in enumerate(maps):
            left = page.MARGIN + STRIP + GAP + number * TWIN_STEP
            page.text(axes, left, TWIN_TOP - 58, name, size=theme.TEXT, color=theme.INK)
            _warp(axes, data, warp, lane, left, TWIN_TOP + 8, TWIN_WIDTH, TWIN_HEIGHT)
            for line, (tile, load) in enumerate(data.loads[warp].items()):
                words = f"{tile[:1]}: {_cost(load)}"
                page.text(axes, left, TWIN_TOP + height + 32 + 18 * line, words, color=theme.INK)
    return drawn
