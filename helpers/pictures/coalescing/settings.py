"""Picture 3 as small multiples: the sectors of A, B and C for several settings, a row each, one scale for all.

A sector is an upright box, filled from below as far as its bytes are used: an eighth for one float of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import SECTOR_BYTES
from helpers.pictures import page, theme
from helpers.pictures.block_shapes.facts import BlockShape
from helpers.pictures.coalescing.facts import WarpAccess
from helpers.pictures.coalescing.figure import is_trouble

# CSS pixels; y runs down
HEAD, ROW = 92.0, 40.0
LABEL_X, ARRAYS_X, ARRAY_STEP = page.MARGIN, 184.0, 184.0
BOX_WIDTH, BOX_STEP, BOX_HEIGHT = 3.6, 4.6, 24.0  # 32 sectors are 147 pixels
SECTORS_X, RIGHT, GFLOPS_WIDTH = 786.0, page.WIDTH - page.MARGIN, 80.0


@dataclass(frozen=True)
class Setting:
    """A block shape and what one of its warps asks for: the load of A, the load of B, the store of C.

    note: what else is particular about it, in small letters under its name.
    """

    shape: BlockShape
    accesses: tuple[WarpAccess, ...]
    note: str = ""


def settings_figure(settings: Sequence[Setting], title: str, source: str) -> theme.Figure:
    """One row per setting: a box for every sector, filled as far as it is used; sectors per load; GFLOPS.

    source: where the GFLOPS come from.
    """
    if not settings:
        raise ValueError("There is no setting to draw: give at least one Setting.")
    drawn, axes = page.page(HEAD + ROW * len(settings) + 6, title, _caption(settings, source), 2)
    with theme.style():
        _heads(axes, settings[0], source)
        fastest = max((setting.shape.speed for setting in settings), default=0.0)
        for number, setting in enumerate(settings):
            _row(axes, setting, HEAD + number * ROW, fastest)
    return drawn


def _heads(axes: Axes, first: Setting, source: str) -> None:
    for number, access in enumerate(first.accesses):
        x = ARRAYS_X + number * ARRAY_STEP
        page.fill(axes, page.boxes(x, HEAD - 21, 11, 11), theme.ARRAY_COLOURS.get(access.array, theme.MUTED))
        page.text(axes, x + 17, HEAD - 7, access.name, va="bottom")
    page.text(axes, SECTORS_X, HEAD - 7, "sectors per load,\nmean of all k", ha="right", va="bottom")
    origin = source.replace("recorded on ", "recorded on\n").replace(" at ", "\nat ")  # the column is narrow
    page.text(axes, RIGHT, HEAD - 7, f"GFLOPS,\n{origin}", ha="right", va="bottom")


def _row(axes: Axes, setting: Setting, top: float, fastest: float) -> None:
    middle, shape, ink = top + ROW / 2, setting.shape, {"color": theme.INK}
    page.lines(axes, [[(LABEL_X, top), (RIGHT, top)]], theme.FAINT, 0.8)
    name_y = middle - 8 if setting.note else middle
    page.text(axes, LABEL_X, name_y, f"{shape.label} {shape.kernel}", size=theme.TEXT, **ink)
    page.text(axes, LABEL_X, middle + 10, setting.note)
    for number, access in enumerate(setting.accesses):
        _sectors(axes, access, ARRAYS_X + number * ARRAY_STEP, top + (ROW - BOX_HEIGHT) / 2)
    mean = theme.thousands(shape.sectors_per_request, 1)
    page.text(axes, SECTORS_X, middle, mean, size=theme.TITLE, weight="bold", ha="right", **ink)
    if shape.gflops is None:
        page.text(axes, RIGHT, middle, "not timed", ha="right")
        return
    page.text(axes, RIGHT, middle - 4, theme.thousands(shape.gflops), size=theme.TEXT, ha="right", **ink)
    length = GFLOPS_WIDTH * shape.gflops / fastest
    page.fill(axes, page.boxes(RIGHT - length, top + ROW - 12, length, 7), theme.SPEED, label="gflops")


def _sectors(axes: Axes, access: WarpAccess, left: float, top: float) -> None:
    """A box for each touched sector, filled from below as far as it is used, and how many they are."""
    used = _used_share(access) * BOX_HEIGHT
    x = left + BOX_STEP * np.arange(len(used))
    whole = page.boxes(x, top, BOX_WIDTH, BOX_HEIGHT)
    page.fill(axes, whole, theme.WASTE_FILL)
    filled = page.boxes(x, top + BOX_HEIGHT - used, BOX_WIDTH, used)
    page.fill(axes, filled, theme.ARRAY_COLOURS.get(access.array, theme.MUTED), label="used")
    page.outline(axes, whole, theme.MUTED, 0.6, label="sectors")
    ink = theme.TROUBLE if is_trouble(access) else theme.INK
    right = left + BOX_STEP * len(used) + 4
    page.text(axes, right, top + BOX_HEIGHT / 2, access.sectors, size=theme.TEXT, weight="bold", color=ink)


def _used_share(access: WarpAccess) -> np.ndarray:
    """(sectors,) 0 … 1: how much of each touched sector the lanes asked for."""
    words = np.unique(access.offset[access.active])
    which = np.searchsorted(access.sector_starts, words, side="right") - 1
    return np.bincount(which, minlength=access.sectors) * access.width / SECTOR_BYTES


def _caption(settings: Sequence[Setting], source: str) -> str:
    shapes = [setting.shape for setting in settings]
    least = min(shape.sectors_per_request for shape in shapes)
    text = f"Fewest sectors: {' and '.join(_cost(shape) for shape in shapes if shape.sectors_per_request == least)}."
    measured = [shape for shape in shapes if shape.gflops is not None]
    if measured:
        slowest = min(measured, key=lambda shape: shape.gflops or 0.0)
        fastest = max(measured, key=lambda shape: shape.gflops or 0.0)
        text += f" Slowest: {_cost(slowest)}. Fastest: {_cost(fastest)} (GFLOPS {source})."
    return text


def _cost(shape: BlockShape) -> str:
    mean = theme.thousands(shape.sectors_per_request, 1)
    speed = "" if shape.gflops is None else f", {theme.thousands(shape.gflops)} GFLOPS"
    return f"{shape.kernel} {shape.label} with {mean} per request{speed}"
