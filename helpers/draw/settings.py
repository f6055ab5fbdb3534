"""Picture 3 as small multiples: the sectors of A, B and C for several settings, a row each, one scale for all.

A sector is an upright box, filled from below as far as its bytes are used: an eighth for one float of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from helpers.analysis.access import WarpAccess
from helpers.analysis.block_shapes import BlockShape
from helpers.devices import SECTOR_BYTES
from helpers.draw import theme
from helpers.draw.sectors import PAGE, boxes, is_trouble

# CSS pixels of a figure theme.WIDTH wide; y runs down.
HEAD, ROW = 92.0, 40.0
LABEL_X, ARRAYS_X, ARRAY_STEP = 14.0, 184.0, 184.0
BOX_WIDTH, BOX_STEP, BOX_HEIGHT = 3.6, 4.6, 24.0  # 32 sectors are 147 pixels
SECTORS_X, GFLOPS_X, GFLOPS_WIDTH = 786.0, PAGE - 94.0, 80.0


@dataclass(frozen=True)
class Setting:
    """A block shape and what one of its warps asks for: the load of A, the load of B, the store of C.

    note: what else is particular about it, in small letters under its name.
    """

    shape: BlockShape
    accesses: tuple[WarpAccess, ...]
    note: str = ""


def settings_figure(settings: Sequence[Setting], title: str, source: str) -> theme.Figure:
    """One row a setting: a box for every sector, filled as far as it is used; sectors a request; GFLOPS.

    source: where the GFLOPS come from.
    """
    if not settings:
        raise ValueError("There is no setting to draw: give at least one Setting.")
    height = HEAD + ROW * len(settings) + 6
    drawn = theme.Figure(height / theme.CSS_DPI, _caption(settings, source), 2)
    axes = drawn.axes_in_inches(0, 0, theme.WIDTH, height / theme.CSS_DPI)
    axes.set(xlim=(0, PAGE), ylim=(height, 0))
    axes.set_axis_off()
    with theme.style():
        axes.text(LABEL_X, 19, title, fontsize=theme.TITLE, weight="bold", va="center")
        _heads(axes, settings[0], source)
        fastest = max((setting.shape.gflops or 0.0 for setting in settings), default=0.0)
        for number, setting in enumerate(settings):
            _row(axes, setting, HEAD + number * ROW, fastest)
    return drawn


def _heads(axes: Axes, first: Setting, source: str) -> None:
    texts = {"size": theme.SMALL, "color": theme.MUTED, "va": "bottom"}
    for number, access in enumerate(first.accesses):
        x = ARRAYS_X + number * ARRAY_STEP
        colour = theme.ARRAY_COLOURS.get(access.array, theme.MUTED)
        axes.add_artist(Rectangle((x, HEAD - 21), 11, 11, color=colour))
        axes.text(x + 17, HEAD - 7, access.name, **texts)
    axes.text(SECTORS_X, HEAD - 7, "sectors a\nrequest", ha="right", **texts)
    place = source.replace("recorded on ", "recorded on\n").replace(" at ", "\nat ")  # the column is narrow
    axes.text(PAGE - LABEL_X, HEAD - 7, f"GFLOPS,\n{place}", ha="right", **texts)


def _row(axes: Axes, setting: Setting, top: float, fastest: float) -> None:
    middle = top + ROW / 2
    shape = setting.shape
    axes.add_artist(Rectangle((LABEL_X, top), PAGE - 2 * LABEL_X, 0, color=theme.FAINT, linewidth=0.8))
    name_y = middle - 8 if setting.note else middle
    axes.text(LABEL_X, name_y, f"{shape.label} {shape.kernel}", size=theme.TEXT, va="center")
    axes.text(LABEL_X, middle + 10, setting.note, size=theme.SMALL, color=theme.MUTED, va="center")
    for number, access in enumerate(setting.accesses):
        _sectors(axes, access, ARRAYS_X + number * ARRAY_STEP, top + (ROW - BOX_HEIGHT) / 2)
    mean = theme.thousands(shape.sectors_per_request, 1)
    axes.text(SECTORS_X, middle, mean, size=theme.TITLE, weight="bold", ha="right", va="center")
    right = PAGE - LABEL_X
    if shape.gflops is None:
        axes.text(right, middle, "not timed", size=theme.SMALL, color=theme.MUTED, ha="right", va="center")
        return
    axes.text(right, middle - 4, theme.thousands(shape.gflops), size=theme.TEXT, ha="right", va="center")
    length = GFLOPS_WIDTH * shape.gflops / fastest
    axes.add_artist(Rectangle((right - length, top + ROW - 12), length, 7, color=theme.SPEED, label="gflops"))


def _sectors(axes: Axes, access: WarpAccess, left: float, top: float) -> None:
    """A box for each touched sector, filled from below as far as it is used, and how many they are."""
    colour = theme.ARRAY_COLOURS.get(access.array, theme.MUTED)
    used = _used_share(access) * BOX_HEIGHT
    x = left + BOX_STEP * np.arange(len(used))
    whole = boxes(x, top, BOX_WIDTH, BOX_HEIGHT)
    filled = whole.copy()
    filled[:, :2, 1] = (top + BOX_HEIGHT - used)[:, None]
    axes.add_artist(PolyCollection(whole, facecolor=theme.WASTE_FILL, edgecolor="none"))
    axes.add_artist(PolyCollection(filled, facecolor=colour, edgecolor="none", label="used"))
    axes.add_artist(PolyCollection(whole, facecolor="none", edgecolor=theme.MUTED, linewidth=0.6, label="sectors"))
    ink = theme.TROUBLE if is_trouble(access) else theme.INK
    right = left + BOX_STEP * len(used) + 4
    axes.text(right, top + BOX_HEIGHT / 2, access.sectors, size=theme.TEXT, weight="bold", color=ink, va="center")


def _used_share(access: WarpAccess) -> np.ndarray:
    """(sectors,) 0 … 1: how much of each touched sector the lanes asked for."""
    words = np.unique(access.offset[access.active])
    which = np.searchsorted(access.sector_starts, words, side="right") - 1
    return np.bincount(which, minlength=access.sectors) * access.width / SECTOR_BYTES


def _caption(settings: Sequence[Setting], source: str) -> str:
    shapes = [setting.shape for setting in settings]
    fewest = min(shapes, key=lambda shape: shape.sectors_per_request)
    text = f"Fewest sectors: {_cost(fewest)}."
    measured = [shape for shape in shapes if shape.gflops is not None]
    if measured:
        slowest = min(measured, key=lambda shape: shape.gflops or 0.0)
        fastest = max(measured, key=lambda shape: shape.gflops or 0.0)
        text += f" Slowest: {_cost(slowest)}. Fastest: {_cost(fastest)} (GFLOPS {source})."
    return text


def _cost(shape: BlockShape) -> str:
    mean = theme.thousands(shape.sectors_per_request, 1)
    speed = "" if shape.gflops is None else f", {theme.thousands(shape.gflops)} GFLOPS"
    return f"{shape.kernel} {shape.label} with {mean} a request{speed}"
