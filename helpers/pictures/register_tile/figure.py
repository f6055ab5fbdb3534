"""Picture 6: why does computing many results in a thread need fewer loads?

On the left the block's tiles with the selected thread's part of each. In the middle that thread's registers: the column
of A's tile and the row of B's tile that it reads at step k, and its patch of C, where the outer product grows step by
step. On the right a gauge: floats read from shared memory per FMA.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.register_tile.facts import RegisterTile
from helpers.pictures.traffic import shared_loads_per_fma

LIGHT = {"A": "#CFE4F1", "B": "#FBE8C6", "C": "#C8EADF"}
MODEL_SIDES = (1, 2, 4, 8)  # the square patches that the gauge compares with

# CSS pixels; y runs down
BLOCK_X, BLOCK_Y, BLOCK_SIZE, BLOCK_GAP = 36.0, 92.0, 200.0, 8.0
PATCH_X, PATCH_Y, PATCH_SIZE, PATCH_CELL, PATCH_GAP = 348.0, 92.0, 224.0, 44.0, 12.0
GAUGE_X, GAUGE_Y, GAUGE_STEP, GAUGE_BAR, GAUGE_LABEL = 654.0, 104.0, 40.0, 112.0, 68.0
COUNTS_Y = 314.0
HEIGHT = 380.0
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
PANEL_Y, PANEL_CELL = 128.0, 20.0
LEAST_MARK = 4.0


def register_tile_figure(data: RegisterTile, k: int = 0, move: int | None = None) -> theme.Figure:
    """Step number k of the thread after `move` of its small moves (None: all), first the reads, then the FMAs."""
    moves = data.moves(k)
    move = moves if move is None else move
    if not 0 <= move <= moves:
        raise ValueError(f"Step {k} has {moves} reads and FMAs; there is no move {move}.")
    loaded, done = min(move, len(data.reads[k])), max(0, move - len(data.reads[k]))
    title = f"{data.name}: thread {data.thread}, k = {data.ks[k]} of {data.ks[0]} … {data.ks[-1]}"
    drawn, axes = page.page(HEIGHT, title, caption(data), CAPTION_LINES)
    with theme.style():
        _block(axes, data, k)
        _patch(axes, data, k, loaded, done)
        _gauge(axes, data)
        _counts(axes, data, k, loaded, done)
    return drawn


def caption(data: RegisterTile) -> str:
    """'8 × 8: 16 floats feed 64 FMAs, 0.25 per FMA; 1 × 1: 2 per FMA.'"""
    floats = sum(map(len, data.reads)) / len(data.ks)
    text = f"{data.label} elements per thread: {theme.plural(round(floats), 'float')} from shared memory feed "
    text += f"{theme.plural(data.fmas, 'FMA')}, {theme.number(data.loads_per_fma, 3)} per FMA."
    alone = shared_loads_per_fma(1, 1)
    if data.fmas > 1:
        times = theme.number(alone / data.loads_per_fma)
        text += f" With one element per thread it is {theme.number(alone, 3)} per FMA, {times} times as many."
    return text


def _block(axes: Axes, data: RegisterTile, k: int) -> None:
    """The block's tiles of A, B and C, and the thread's part of each."""
    rows, columns, depth = len(data.tile_rows), len(data.tile_columns), len(data.ks)
    scale = (BLOCK_SIZE - BLOCK_GAP) / (max(rows, columns) + depth)
    left, top = BLOCK_X, BLOCK_Y
    across, down = left + depth * scale + BLOCK_GAP, top + depth * scale + BLOCK_GAP
    page.text(axes, page.MARGIN, 50, "the block's tiles", size=theme.TEXT, color=theme.INK)
    my_rows, my_columns = data.rows - data.tile_rows[0], data.columns - data.tile_columns[0]
    page.fill(axes, page.boxes(left, down, depth * scale, rows * scale), LIGHT["A"])
    page.fill(axes, page.boxes(across, top, columns * scale, depth * scale), LIGHT["B"])
    page.fill(axes, page.boxes(across, down, columns * scale, rows * scale), LIGHT["C"])
    thick = min(max(scale, LEAST_MARK), depth * scale)  # wide enough to be seen, and inside the tile
    a_left, b_top = (min(edge + k * scale, edge + depth * scale - thick) for edge in (left, top))
    page.fill(axes, page.boxes(a_left, down + my_rows * scale, thick, scale), theme.A, label="column of A")
    page.fill(axes, page.boxes(across + my_columns * scale, b_top, scale, thick), theme.B, label="row of B")
    y, x = np.meshgrid(my_rows, my_columns, indexing="ij")
    page.fill(
        axes, page.boxes(across + x.ravel() * scale, down + y.ravel() * scale, scale, scale), theme.C, label="patch"
    )
    for box in (
        page.boxes(left, down, depth * scale, rows * scale),
        page.boxes(across, top, columns * scale, depth * scale),
        page.boxes(across, down, columns * scale, rows * scale),
    ):
        page.outline(axes, box, theme.MUTED, 0.9)
    bold = {"size": theme.TEXT, "weight": "bold"}
    page.text(axes, left, down + rows * scale + 12, "A", color=theme.A, **bold)
    page.text(axes, across + columns * scale + 6, top + 6, "B", color=theme.ARRAY_NAMES["B"], **bold)
    page.text(axes, across + columns * scale + 6, down + 8, "C", color=theme.C, **bold)
    page.text(axes, across, down + rows * scale + 12, f"{rows} × {columns}, {depth} deep", color=theme.INK)


def _patch(axes: Axes, data: RegisterTile, k: int, loaded: int, done: int) -> None:
    """The thread's registers: what it has read of A and B, and how far the outer product has grown."""
    tall, wide = data.shape
    cell = min(PATCH_CELL, PATCH_SIZE / max(tall, wide))
    across, down = PATCH_X + cell + PATCH_GAP, PATCH_Y + cell + PATCH_GAP
    page.text(axes, PATCH_X, 50, "the thread's registers", size=theme.TEXT, color=theme.INK)
    a_rows = {int(row): number for number, row in enumerate(data.rows)}
    b_columns = {int(column): number for number, column in enumerate(data.columns)}
    seen = data.reads[k][:loaded]
    in_a = np.array([a_rows[index] for array, index in seen if array == "A"], int)
    in_b = np.array([b_columns[index] for array, index in seen if array == "B"], int)
    page.fill(axes, page.boxes(PATCH_X, down + cell * in_a, cell, cell), theme.A, label="read of A")
    page.fill(axes, page.boxes(across + cell * in_b, PATCH_Y, cell, cell), theme.B, label="read of B")

    numbers = np.arange(data.fmas)
    y, x = down + cell * (numbers // wide), across + cell * (numbers % wide)
    page.fill(axes, page.boxes(x, y, cell, cell), LIGHT["C"], edge=theme.PAPER, line=0.8)
    page.fill(axes, page.boxes(x[:done], y[:done], cell, cell), theme.C, edge=theme.PAPER, line=0.8, label="done")
    sums = [str(k + 1 if number < done else k) for number in numbers]
    for part, colour in ((slice(0, done), theme.PAPER), (slice(done, None), theme.MUTED)):
        page.labels(axes, sums[part], x[part] + cell / 2, y[part] + cell / 2, min(12.0, 0.55 * cell), colour)

    for box in (page.boxes(PATCH_X, down + cell * np.arange(tall), cell, cell),
                page.boxes(across + cell * np.arange(wide), PATCH_Y, cell, cell)):  # fmt: skip
        page.outline(axes, box, theme.MUTED, 0.9)
    if 0 < done <= data.fmas:
        row, column = divmod(done - 1, wide)
        now = page.boxes(
            [PATCH_X, across + cell * column, across + cell * column], [down + cell * row, PATCH_Y, down + cell * row],
            cell, cell,
        )  # fmt: skip
        page.outline(axes, now, theme.INK, 2.6, label="now")
    page.text(
        axes,
        PATCH_X + cell / 2,
        down + cell * tall + 12,
        "a",
        color=theme.A,
        weight="bold",
        ha="center",
        size=theme.TEXT,
    )
    page.text(
        axes,
        across + cell * wide + 8,
        PATCH_Y + cell / 2,
        "b",
        color=theme.ARRAY_NAMES["B"],
        weight="bold",
        size=theme.TEXT,
    )
    page.text(axes, across, down + cell * tall + 12, "sums: products so far", color=theme.INK)


def _gauge(axes: Axes, data: RegisterTile) -> None:
    """Floats read per FMA: this thread's, as recorded, and square patches by the formula."""
    page.text(axes, GAUGE_X, 50, "floats read per FMA", size=theme.TEXT, color=theme.INK)
    page.legend(axes, 74, [page.Key(theme.REFERENCE, "by formula"), page.Key(theme.SPEED, "recorded")], GAUGE_X)
    rows = [(f"{side} × {side}", shared_loads_per_fma(side, side), theme.REFERENCE, "formula") for side in MODEL_SIDES]
    rows.append((data.label, data.loads_per_fma, theme.SPEED, "recorded"))
    longest = max(value for _, value, _, _ in rows)
    for number, (name, value, colour, label) in enumerate(rows):
        middle = GAUGE_Y + number * GAUGE_STEP
        weight = "bold" if label == "recorded" else "normal"
        page.text(axes, GAUGE_X, middle, name, size=theme.TEXT, color=theme.INK, weight=weight)
        length = GAUGE_BAR * value / longest
        page.fill(axes, page.boxes(GAUGE_X + GAUGE_LABEL, middle - 10, length, 20), colour, label=label)
        x = GAUGE_X + GAUGE_LABEL + length + 7
        page.text(axes, x, middle, theme.number(value, 3), size=theme.TEXT, color=theme.INK, weight=weight)


def _counts(axes: Axes, data: RegisterTile, k: int, loaded: int, done: int) -> None:
    lines = (f"floats  {loaded} of {len(data.reads[k])}", f"FMAs  {done} of {data.fmas}")
    page.text(axes, GAUGE_X, COUNTS_Y, f"k = {data.ks[k]} so far", color=theme.INK)
    for number, words in enumerate(lines):
        page.text(axes, GAUGE_X, COUNTS_Y + 24 * (number + 1), words, size=theme.TITLE, color=theme.INK, weight="bold")


def register_tiles_figure(tiles: Sequence[RegisterTile], title: str) -> theme.Figure:
    """Patches of several sizes side by side: what one step reads, what it computes, and floats per FMA."""
    if not tiles:
        raise ValueError("There is no register tile to draw: give at least one RegisterTile.")
    sides = [tile.label.replace(" ", "\u00a0") for tile in tiles]
    parts = "; ".join(
        f"{side}: {_quotient(tile)} = {theme.number(tile.loads_per_fma, 3)}"
        for side, tile in zip(sides, tiles, strict=True)
    )
    tallest = max(tile.shape[0] for tile in tiles)
    bottom = PANEL_Y + (tallest + 1) * PANEL_CELL + 8
    drawn, axes = page.page(bottom + 62, title, f"Floats read from shared memory per FMA, at one k – {parts}.", 2)
    step = (page.WIDTH - 2 * page.MARGIN) / len(tiles)
    with theme.style():
        keys = [page.Key(theme.A, "read of A's tile"), page.Key(theme.B, "read of B's tile")]
        page.legend(axes, 46, [*keys, page.Key(theme.C, "an FMA in registers")])
        for number, tile in enumerate(tiles):
            _panel(axes, tile, page.MARGIN + number * step, bottom)
    return drawn


def _panel(axes: Axes, tile: RegisterTile, left: float, bottom: float) -> None:
    tall, wide = tile.shape
    cell, across, down = PANEL_CELL, left + PANEL_CELL + 6, PANEL_Y + PANEL_CELL
    page.text(axes, left, PANEL_Y - 34, tile.label, size=theme.TITLE, color=theme.INK, weight="bold")
    style = {"edge": theme.PAPER, "line": 1.0}
    page.fill(axes, page.boxes(left, down + cell * np.arange(tall), cell, cell), theme.A, **style)
    page.fill(axes, page.boxes(across + cell * np.arange(wide), PANEL_Y - 6, cell, cell), theme.B, **style)
    numbers = np.arange(tile.fmas)
    page.fill(
        axes,
        page.boxes(across + cell * (numbers % wide), down + cell * (numbers // wide), cell, cell),
        theme.C,
        **style,
    )
    page.text(axes, left, bottom + 14, f"{_quotient(tile)} =", size=theme.TEXT, color=theme.INK)
    words = f"{theme.number(tile.loads_per_fma, 3)} per FMA"
    page.text(axes, left, bottom + 38, words, size=theme.TITLE, color=theme.INK, weight="bold")


def _quotient(tile: RegisterTile) -> str:
    """'16 floats / 64 FMAs'."""
    floats = theme.plural(round(sum(map(len, tile.reads)) / len(tile.ks)), "float")
    return f"{floats} / {theme.plural(tile.fmas, 'FMA')}"
