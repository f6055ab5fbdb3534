"""Picture 2: which thread computes C[row, col], and who is its neighbour in the warp?

On the left all of C, cut into the tiles of the blocks; the selected block's tile is tinted warp by warp. On the right a
magnifying glass over it: the lanes of the selected warp by number, and the selected thread's element in C's green.
Cells that no thread computes are hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from gpusim.devices import WARP
from helpers.pictures import marks, page, theme
from helpers.pictures.thread_map.facts import NO_THREAD, ThreadMap

TINTS = ("#E9DFEF", "#D3BEDF", "#C3A6D3")  # purples for the warps that are not selected: neighbours differ
OTHER_BLOCK = "#EEEEEE"

# CSS pixels
MAP_X, MAP_Y, MAP_SIZE = 44.0, 84.0, 250.0
GLASS_X, GLASS_Y, CELL, WINDOW = 460.0, 84.0, 13.0, 32  # the glass shows WINDOW × WINDOW cells
FORMULA_Y, FORMULA_STEP = 372.0, 24.0
HEIGHT = 514.0
CAPTION_LINES = 3
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
MOST_NAMES = 64
CORNER_Y, CORNER_GAP, SIDE_BY_SIDE = 92.0, 18.0, 4


def thread_map_figure(data: ThreadMap, block: int = 0, thread: int = 0) -> theme.Figure:
    """C and its blocks, the selected block's warps, and the selected thread's place in them.

    block, thread: linear numbers.
    """
    if not 0 <= block < data.blocks or not 0 <= thread < data.threads:
        raise ValueError(
            f"There is no thread {thread} in block {block}: the launch has {data.blocks} blocks of {data.threads}."
        )
    title = f"{data.name}, block {data.block}, grid {data.grid}: who computes {data.array}?"
    drawn, axes = page.page(HEIGHT, title, caption(data, block, thread), CAPTION_LINES)
    with theme.style():
        _legend(axes, data.uncomputed > 0)
        rows, columns = _window(data, block, thread)
        _whole(axes, data, block, rows, columns)
        _glass(axes, data, block, thread, rows, columns)
        _formula(axes, data, block, thread)
    return drawn


@dataclass(frozen=True)
class Corner:
    """One of several launches side by side: its map, and what is above it."""

    data: ThreadMap
    label: str


def thread_maps_figure(corners: Sequence[Corner], title: str) -> theme.Figure:
    """The upper left corner of C for several launches: warp 0 in its lanes' order, and how far apart its lanes are."""
    if not 1 <= len(corners) <= SIDE_BY_SIDE:
        raise ValueError(f"Between 1 and {SIDE_BY_SIDE} launches fit side by side, but {len(corners)} were given.")
    step = (page.WIDTH - 2 * page.MARGIN + CORNER_GAP) / SIDE_BY_SIDE
    cell = (step - CORNER_GAP) / WINDOW
    parts = "; ".join(f"{corner.label}: {_distances(corner.data)}" for corner in corners)
    drawn, axes = page.page(CORNER_Y + WINDOW * cell + 34, title, f"From lane to lane – {parts}.", 2)
    with theme.style():
        keys = [page.Key(theme.WARP, "warp 0 of block (0, 0), from lane 0 (dot) to lane 31")]
        keys += [page.Key(TINTS[2], "its block, warp by warp"), page.Key(OTHER_BLOCK, "other blocks")]
        page.legend(axes, 46, keys)
        for number, corner in enumerate(corners):
            left = page.MARGIN + number * step
            rows, columns = (slice(0, min(WINDOW, size)) for size in corner.data.shape)
            page.image(axes, _colours(corner.data, 0, 0)[rows, columns], left, CORNER_Y, cell, "corner")
            owners = corner.data.owner_block[rows, columns]
            page.lines(axes, _borders(owners, left, CORNER_Y, cell), theme.INK, 1.0)
            _lane_path(axes, corner.data, left, cell, rows, columns)
            page.text(axes, left, CORNER_Y - 14, corner.label, size=theme.TEXT, color=theme.INK)
            below = CORNER_Y + (rows.stop - rows.start) * cell + 16
            page.text(axes, left, below, f"next lane: {_distances(corner.data, short=True)}", color=theme.INK)
    return drawn


def _lane_path(axes: Axes, data: ThreadMap, left: float, cell: float, rows: slice, columns: slice) -> None:
    """A line through the elements of warp 0 of block 0, lane by lane, with a dot at the first."""
    places = [data.elements(0, lane) for lane in range(min(WARP, data.threads))]
    through = np.array([location[0] for location in places if len(location)])
    through = through[(through[:, 0] < rows.stop) & (through[:, 1] < columns.stop)]
    points = np.stack([left + (through[:, 1] + 0.5) * cell, CORNER_Y + (through[:, 0] + 0.5) * cell], axis=1)
    page.lines(axes, [points], theme.PAPER, 1.2, label="lanes")
    axes.plot(*points[0], "o", color=theme.PAPER, markersize=4.5)


def _distances(data: ThreadMap, *, short: bool = False) -> str:
    """'1 float' or '1 float, and 49 at a jump': the distances in memory from lane to lane of warp 0 of block 0."""
    places = [data.elements(0, lane) for lane in range(min(WARP, data.threads))]
    linear = np.array([location[0] @ (data.shape[1], 1) for location in places if len(location)])
    if len(linear) < 2:
        return "a single lane"
    distances, counts = np.unique(np.diff(linear), return_counts=True)
    usual = int(distances[counts.argmax()])
    others = sorted({int(step) for step in distances if abs(step) != abs(usual)}, key=abs)
    usual = abs(usual)
    sign, back = ("−", "") if short else ("", " back")
    jumps = [f"{sign}{theme.thousands(-step)}{back}" if step < 0 else theme.thousands(step) for step in others]
    where = "" if short else " at a jump"
    return theme.plural(usual, "float") + (f", and {' or '.join(jumps)}{where}" if jumps else "")


def caption(data: ThreadMap, block: int, thread: int) -> str:
    """'thread (3, 1) of block (0, 2): linear id 35 = warp 1, lane 3 → C[65, 3].'"""
    warp, lane = divmod(thread, WARP)
    subject = f"Thread {theme.index(data.thread_index(thread))} of block {theme.index(data.block_index(block))}"
    sentence = f"{subject}: linear id {thread} = warp {warp}, lane {lane} → {_what(data, block, thread)}."
    used, room = data.threads, data.warps * WARP
    if used < room:
        share = theme.thousands(100 * used / room)
        sentence += (
            f" The block fills {used} of the {room} lanes of its {theme.plural(data.warps, 'warp')}, {share}\u202f%."
        )
    if data.uncomputed:
        missing = theme.thousands(data.uncomputed)
        threads = data.blocks * data.threads  # enough, if they compute several elements each
        why = ": grid too small" if data.writers.sum() <= threads < data.writers.size else ""
        sentence += (
            f" No thread computes {missing} of {data.array}'s {theme.thousands(data.writers.size)} elements{why}."
        )
    often = data.writers[data.writers > 1]
    if len(often):
        most = int(often.max())
        by = f"{most} threads each" if (often == most).all() else f"up to {most} threads"
        are = f"{theme.plural(len(often), 'element')} {'is' if len(often) == 1 else 'are'}"
        sentence += f" {are} computed by {by}, where one would do; the map shows the last to store."
        return sentence
    idle = {
        f"lie outside {data.array} and compute nothing": ~data.accessed,
        f"work, but store nothing of {data.array}": data.accessed & ~data.stored & ~data.updated,
    }
    for words, threads in idle.items():
        if count := int(threads.sum()):
            sentence += f" {theme.thousands(count)} of {theme.thousands(threads.size)} threads {words}."
    return sentence


def _what(data: ThreadMap, block: int, thread: int) -> str:
    """'C[65, 3]', 'the 8 × 8 elements from C[0, 8] on' or 'nothing: it lies outside C'."""
    cells = data.elements(block, thread)
    if not len(cells) and _shadowed(data):
        return "nothing that lasts: another thread stores over it"
    if not len(cells):
        why = "works, but stores nothing of" if data.accessed[block, thread] else "lies outside"
        return f"nothing: it {why} {data.array}"
    first = f"{data.array}[{cells[0][0]}, {cells[0][1]}]"
    return first if len(cells) == 1 else f"{theme.plural(len(cells), 'element')} from {first} on"


def _shadowed(data: ThreadMap) -> bool:
    return int(data.writers.max(initial=0)) > 1


def _window(data: ThreadMap, block: int, thread: int) -> tuple[slice, slice]:
    """The rows and columns of C under the magnifying glass: the block's tile, or as much as fits around the warp."""
    mine = data.owner_block == block
    in_warp = mine & (data.owner_thread // WARP == thread // WARP)
    window = []
    for axis, size in enumerate(data.shape):
        tile = np.flatnonzero(mine.any(axis=1 - axis))
        warp = np.flatnonzero(in_warp.any(axis=1 - axis))
        first = int(tile[0]) if len(tile) else 0
        if len(warp) and warp[-1] >= first + WINDOW:
            own = data.elements(block, thread)
            here = int(own[0][axis]) if len(own) else int(warp[0])
            first = int(warp[0]) if warp[-1] - warp[0] < WINDOW else here - here % WINDOW
        first = max(0, min(first, size - WINDOW))
        window.append(slice(first, min(first + WINDOW, size)))
    return window[0], window[1]


def _colours(data: ThreadMap, block: int, warp: int) -> np.ndarray:
    """(M, N, 3) RGB of C's cells."""
    palette = np.array([to_rgb(tint) for tint in TINTS])
    warps = data.owner_thread // WARP
    image = np.empty((*data.shape, 3))
    image[:] = to_rgb(OTHER_BLOCK)
    mine = data.owner_block == block
    image[mine] = palette[warps[mine] % len(TINTS)]
    image[mine & (warps == warp)] = to_rgb(theme.WARP)
    image[data.writers == 0] = to_rgb(theme.WASTE_FILL)
    return image


def _whole(axes: Axes, data: ThreadMap, block: int, rows: slice, columns: slice) -> None:
    """All of C, the blocks' borders, and the frame of the magnifying glass."""
    M, N = data.shape
    cell = MAP_SIZE / max(M, N)
    page.image(axes, _colours(data, block, NO_THREAD), MAP_X, MAP_Y, cell, "map")
    _unowned(axes, data, MAP_X, MAP_Y, cell, slice(0, M), slice(0, N))
    page.lines(axes, _borders(data.owner_block, MAP_X, MAP_Y, cell), theme.MUTED, 0.8, label="block borders")
    frame = page.boxes(
        MAP_X + columns.start * cell,
        MAP_Y + rows.start * cell,
        (columns.stop - columns.start) * cell,
        (rows.stop - rows.start) * cell,
    )
    page.outline(axes, frame, theme.INK, 2.2, label="glass")
    middle = MAP_Y + (rows.start + rows.stop) / 2 * cell
    right = MAP_X + N * cell + 10
    page.arrow(axes, (right, middle), (GLASS_X - 32, middle), theme.INK)
    page.text(axes, (right + GLASS_X - 32) / 2, middle - 12, "magnified", ha="center")
    page.text(axes, MAP_X, MAP_Y - 13, f"{data.array}: {M} rows, {N} columns", color=theme.INK)
    page.text(axes, MAP_X - 8, MAP_Y + 6, "0", ha="right")
    page.text(axes, MAP_X - 8, MAP_Y + M * cell - 6, M - 1, ha="right")
    _block_names(axes, data, MAP_X, MAP_Y, cell, slice(0, M), slice(0, N), 11.0)


def _block_names(
    axes: Axes,
    data: ThreadMap,
    left: float,
    top: float,
    cell: float,
    rows: slice,
    columns: slice,
    size: float,
    but: int = NO_THREAD,
) -> None:
    """The index of each block in the middle of its tile, as far as the tile is shown and the name fits."""
    owners = data.owner_block[rows, columns]
    names, x, y = [], [], []
    for block in np.unique(owners[(owners != NO_THREAD) & (owners != but)])[:MOST_NAMES].tolist():
        cells = np.argwhere(owners == block)
        (first_row, first_col), (last_row, last_col) = cells.min(axis=0), cells.max(axis=0) + 1
        name = theme.index(data.block_index(block)).replace("\u00a0", " ")
        if (last_col - first_col) * cell > 0.75 * size * len(name) and (last_row - first_row) * cell > 1.3 * size:
            names.append(name)
            x.append(left + cell * (first_col + last_col) / 2)
            y.append(top + cell * (first_row + last_row) / 2)
    widths = np.array([0.68 * size * len(name) for name in names])
    plates = page.boxes(np.array(x) - widths / 2, np.array(y) - 0.7 * size, widths, 1.4 * size) if names else []
    page.fill(axes, plates, OTHER_BLOCK, label="plates", zorder=page.OVER_LINES)  # no border crosses a name
    page.labels(axes, names, x, y, size, theme.INK, label="blocks", zorder=page.OVER_LINES)


def _of_cell(data: ThreadMap, row: int, column: int) -> str:
    """'C[3, 5]: thread (5, 3) of block (0, 0), lane 21 of warp 1': what a mark under the glass says."""
    block, thread = int(data.owner_block[row, column]), int(data.owner_thread[row, column])
    subject = f"thread {theme.index(data.thread_index(thread))} of block {theme.index(data.block_index(block))}"
    return f"{data.array}[{row}, {column}]: {subject}, lane {thread % WARP} of warp {thread // WARP}"


def _glass(axes: Axes, data: ThreadMap, block: int, thread: int, rows: slice, columns: slice) -> None:
    """The cells under the magnifying glass, the numbers of the selected warp's lanes, the selected thread's element."""
    warp = thread // WARP
    page.image(axes, _colours(data, block, warp)[rows, columns], GLASS_X, GLASS_Y, CELL, "cells")
    owner_block, owner_thread = data.owner_block[rows, columns], data.owner_thread[rows, columns]
    _unowned(axes, data, GLASS_X, GLASS_Y, CELL, rows, columns)
    height, width = owner_block.shape
    right, bottom = GLASS_X + width * CELL, GLASS_Y + height * CELL
    grid = [[(GLASS_X, GLASS_Y + n * CELL), (right, GLASS_Y + n * CELL)] for n in range(height + 1)]
    grid += [[(GLASS_X + n * CELL, GLASS_Y), (GLASS_X + n * CELL, bottom)] for n in range(width + 1)]
    page.lines(axes, grid, theme.PAPER, 0.7)
    page.lines(axes, _borders(owner_block, GLASS_X, GLASS_Y, CELL), theme.INK, 1.3)

    _block_names(axes, data, GLASS_X, GLASS_Y, CELL, rows, columns, 13.0, but=block)

    selected = np.argwhere((owner_block == block) & (owner_thread == thread))
    if len(selected):
        left, top = GLASS_X + selected[:, 1] * CELL, GLASS_Y + selected[:, 0] * CELL
        page.fill(axes, page.boxes(left, top, CELL, CELL), theme.C, edge=theme.INK, line=1.4, label="selected")
    lanes = np.argwhere((owner_block == block) & (owner_thread // WARP == warp))
    numbers = [str(int(owner_thread[row, col]) % WARP) for row, col in lanes]
    x, y = GLASS_X + (lanes[:, 1] + 0.5) * CELL, GLASS_Y + (lanes[:, 0] + 0.5) * CELL
    page.labels(axes, numbers, x, y, 8.5, theme.PAPER, label="lanes")
    cells = np.argwhere(owner_block != NO_THREAD)
    corners = page.boxes(GLASS_X + cells[:, 1] * CELL, GLASS_Y + cells[:, 0] * CELL, CELL, CELL)
    marks.tell(axes, corners, [_of_cell(data, rows.start + row, columns.start + column) for row, column in cells])

    page.text(axes, GLASS_X, GLASS_Y - 12, _range("columns", columns), color=theme.INK)
    page.text(axes, GLASS_X - 10, GLASS_Y + 2, _range("rows", rows), color=theme.INK, rotation=90, va="top", ha="right")


def _formula(axes: Axes, data: ThreadMap, block: int, thread: int) -> None:
    """The linear id and what follows from it, with the numbers filled in."""
    x, y, z = data.thread_index(thread)
    across, down, _ = data.block
    warp, lane = divmod(thread, WARP)
    lines = [
        f"thread ({x}, {y}, {z}) in a block of {data.block}",
        f"id = x + {across}·(y + {down}·z)",
        f"    = {x} + {across}·({y} + {down}·{z}) = {thread}",
        f"warp = {thread} // 32 = {warp},  lane = {thread} % 32 = {lane}",
        *_neighbour(data, block, thread),
    ]
    for number, words in enumerate(lines):
        page.text(
            axes, page.MARGIN, FORMULA_Y + number * FORMULA_STEP, words, size=theme.TEXT, color=theme.INK,
            weight="bold" if number == 0 else "normal",
        )  # fmt: skip


def _neighbour(data: ThreadMap, block: int, thread: int) -> list[str]:
    """Where the thread's element lies in memory, and its neighbour's in the warp."""
    here = data.elements(block, thread)
    if not len(here):
        return []
    columns = data.shape[1]
    row, col = map(int, here[0])
    at = f"{row}·{columns} + {col} = {theme.thousands(row * columns + col)}"
    sentences = [f"{data.array}[{row}, {col}] is float {at} of {data.array}"]
    lane = thread % WARP
    following = data.elements(block, thread + 1)
    if lane < WARP - 1 and len(following):
        far = int((following[0] - here[0]) @ (columns, 1))
        floats = theme.plural(abs(far), "float")
        element = f"{data.array}[{following[0][0]}, {following[0][1]}]"
        sentences.append(f"lane {lane + 1} is {floats} {'further' if far >= 0 else 'back'}: {element}")
    return sentences


def _legend(axes: Axes, has_idle: bool) -> None:
    keys = [
        page.Key(theme.C, "selected thread's element"),
        page.Key(theme.WARP, "its warp, lanes 0 … 31"),
        page.Key(TINTS[2], "its block, warp by warp"),
        page.Key(OTHER_BLOCK, "other blocks (x, y)"),
    ]
    if has_idle:
        keys.append(page.Key(theme.TROUBLE, "no thread", hatched=True))
    page.legend(axes, 46, keys)


def _unowned(axes: Axes, data: ThreadMap, left: float, top: float, cell: float, rows: slice, columns: slice) -> None:
    """Runs of cells that no thread computes, hatched in the colour of trouble."""
    row, first, last = _runs(data.writers[rows, columns] == 0)
    corners = page.boxes(left + first * cell, top + row * cell, (last - first) * cell, cell)
    page.hatch(axes, corners[: len(row)], colour=theme.TROUBLE, label="nobody")


def _borders(owner: np.ndarray, left: float, top: float, cell: float) -> list[np.ndarray]:
    """Segments along which the owner changes, and around the whole."""
    segments = []
    for turned in (False, True):
        values = owner.T if turned else owner
        edge = np.ones((values.shape[0] + 1, values.shape[1]), bool)
        edge[1:-1] = values[1:] != values[:-1]
        line, first, last = _runs(edge)
        begin, end = np.stack([first, line], axis=1), np.stack([last, line], axis=1)
        both = np.stack([begin, end], axis=1)
        segments.append(both[..., ::-1] if turned else both)
    return list(np.concatenate(segments) * cell + (left, top))


def _runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of True along the rows of (R, C): their row, first column, and the column after their last."""
    padded = np.pad(mask.astype(np.int8), ((0, 0), (1, 1)))
    step = np.diff(padded, axis=1)
    row, first = np.nonzero(step == 1)
    return row, first, np.nonzero(step == -1)[1]


def _range(what: str, window: slice) -> str:
    return f"{what} {window.start} … {window.stop - 1}"
