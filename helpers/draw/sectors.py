"""Picture 3: how much of what the memory sends does a warp use?

A warp is a bar of 32 lanes. Under it lies what the memory sends for one request: sectors of 32 bytes, eight floats
each, brackets under those that share a 128-byte line. A ray leads from each lane to its float. One float has the same
width in every picture, so a longer ribbon is more bytes; what no lane asked for is hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from helpers.analysis.access import WarpAccess
from helpers.devices import FLOAT_BYTES, LINE_BYTES, SECTOR_BYTES, WARP
from helpers.draw import theme

# Everything is placed in CSS pixels of a figure theme.WIDTH wide; y runs down.
PAGE = theme.WIDTH * theme.CSS_DPI
MARGIN = 14.0
BREAK = 5.0  # between sectors that are not neighbours in memory
SECTOR = (PAGE - 2 * MARGIN - (WARP - 1) * BREAK) / WARP  # so that 32 scattered sectors just fit
LANE = 13.0
HEAD, PANEL = 58.0, 124.0
TITLE_Y = 13.0  # the following lie within a panel
BAR_TOP, BAR_HEIGHT = 27.0, 17.0
RIBBON_TOP, RIBBON_HEIGHT = 75.0, 22.0
BRACKET, BRACKET_HEIGHT = RIBBON_TOP + RIBBON_HEIGHT + 4, 4.0
PLACE_Y = BRACKET + 7
CAPTION_LINES = 3  # the longest caption of three accesses; always reserved, so that an explorer never moves the page
FIGURE_HEIGHT = round(HEAD + 3 * PANEL + 6 + theme.caption_height(CAPTION_LINES) * theme.CSS_DPI)  # of A, B and C
TROUBLE_FACTOR = 2  # a request is trouble if it costs more than so many times the sectors that its bytes would fill


@dataclass(frozen=True)
class Ribbon:
    """Where the touched sectors lie on the page: left edges in pixels, one a sector, ascending with the address."""

    starts: np.ndarray  # (sectors,) bytes from the array's start
    left: np.ndarray  # (sectors,) pixels
    line_origin: (
        int  # byte of the array (0 or less) at which a 128-byte line starts; not 0 if the array starts inside one
    )

    def x_of(self, offsets: np.ndarray) -> np.ndarray:
        """Pixels of byte offsets that lie in touched sectors."""
        which = np.searchsorted(self.starts, offsets, side="right") - 1
        return self.left[which] + (offsets - self.starts[which]) * (SECTOR / SECTOR_BYTES)

    @property
    def jumps(self) -> np.ndarray:
        """(sectors - 1,) bytes from the start of each touched sector to the next one's."""
        return np.diff(self.starts)


def ribbon_of(access: WarpAccess) -> Ribbon:
    """Neighbouring sectors touch; a jump in memory leaves a gap. The ribbon is centred."""
    starts = access.sector_starts
    gaps = np.where(np.diff(starts) > SECTOR_BYTES, BREAK, 0.0)
    left = np.concatenate(([0.0], np.cumsum(gaps + SECTOR))) if len(starts) else np.zeros(0)
    width = left[-1] + SECTOR if len(starts) else 0.0
    return Ribbon(starts, left + (PAGE - width) / 2, line_origin=-(access.base % LINE_BYTES))


def sectors_figure(accesses: Sequence[WarpAccess], title: str) -> theme.Figure:
    """One ribbon for each access of a warp, for example the load of A, the load of B and the store of C."""
    if not accesses:
        raise ValueError("There is no access to draw: give at least one WarpAccess.")
    height = HEAD + PANEL * len(accesses) + 6
    drawn = theme.Figure(height / theme.CSS_DPI, caption(accesses), CAPTION_LINES)
    axes = drawn.axes_in_inches(0, 0, theme.WIDTH, height / theme.CSS_DPI)
    axes.set(xlim=(0, PAGE), ylim=(height, 0))
    axes.set_axis_off()
    with theme.style():
        axes.text(MARGIN, 19, title, fontsize=theme.TITLE, weight="bold", va="center")
        _legend(axes)
        for number, access in enumerate(accesses):
            _panel(axes, access, HEAD + number * PANEL)
    return drawn


def caption(accesses: Sequence[WarpAccess]) -> str:
    """'Load of A: 32 sectors for 128 useful bytes – 12.5 % used. …': a sentence for each access, then all loads."""
    sentences = [_sentence(access) for access in accesses]
    loads = [access.sectors for access in accesses if access.op == "ld"]
    if len(loads) > 1:
        mean = theme.thousands(sum(loads) / len(loads), 1)
        sentences.append(f"Mean of the {len(loads)} loads: {mean} sectors.")
    return " ".join(sentences)


def is_trouble(access: WarpAccess) -> bool:
    """The useful bytes would fit in fewer than half of the sectors that the request costs."""
    needed = -(-access.useful_bytes // SECTOR_BYTES)
    return access.sectors > TROUBLE_FACTOR * needed


def _sentence(access: WarpAccess) -> str:
    lanes = int(access.active.sum())
    name = access.name[0].upper() + access.name[1:]
    if not lanes:
        return f"{name}: no lane takes part."
    if access.is_broadcast:
        return f"{name}: {theme.plural(access.sectors, 'sector')}, one word broadcast to {lanes} lanes."
    sectors, useful = theme.plural(access.sectors, "sector"), theme.plural(access.useful_bytes, "useful byte")
    return f"{name}: {sectors} for {useful} – {theme.percent(access.used_share)} used."


def _panel(axes: Axes, access: WarpAccess, top: float) -> None:
    colour = theme.ARRAY_COLOURS.get(access.array, theme.MUTED)
    axes.add_artist(Rectangle((MARGIN, top + TITLE_Y - 7), 14, 14, color=colour))
    axes.text(MARGIN + 22, top + TITLE_Y, access.name, fontsize=theme.TITLE, va="center")
    count = f"{theme.plural(access.sectors, 'sector')} in {theme.plural(access.tags, 'line')}"
    used = f"{access.useful_bytes} of {theme.thousands(access.moved_bytes)} bytes used"
    ink = theme.TROUBLE if is_trouble(access) else theme.INK
    axes.text(
        PAGE - MARGIN,
        top + TITLE_Y,
        f"{count}, {used}",
        size=theme.TITLE,
        color=ink,
        va="center",
        ha="right",
        weight="bold",
    )
    _lanes(axes, access, top + BAR_TOP)
    ribbon = ribbon_of(access)
    if len(ribbon.starts):
        _cells(axes, access, ribbon, top + RIBBON_TOP, colour)
        _rays(axes, access, ribbon, top, colour)
        _brackets(axes, ribbon, top + BRACKET)
        axes.text(
            PAGE / 2, top + PLACE_Y, _place(access, ribbon), size=theme.SMALL, color=theme.MUTED, ha="center", va="top"
        )


def boxes(left: np.ndarray, top: float, width: float, height: float) -> np.ndarray:
    """(n, 4, 2) corners of n boxes of one size."""
    corners = np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)])
    return np.stack([left, np.full(len(left), top)], axis=1)[:, None, :] + corners


def _lane_left() -> np.ndarray:
    """(32,) pixels: the left edge of each lane in the warp's bar."""
    return (PAGE - WARP * LANE) / 2 + LANE * np.arange(WARP)


@cache
def _lane_numbers() -> tuple[Path, ...]:
    """The outlines of the numbers 0 … 31, each in the middle of its lane: drawn as paths, far faster than 32 texts."""
    paths = []
    for lane, left in enumerate(_lane_left()):
        number = TextPath((0, 0), str(lane), size=8.5)
        box = number.get_extents()
        upright = Affine2D().translate(-box.x0 - box.width / 2, -3.1).scale(1, -1)
        paths.append(upright.translate(left + LANE / 2, BAR_HEIGHT / 2).transform_path(number))
    return tuple(paths)


def _lanes(axes: Axes, access: WarpAccess, top: float) -> None:
    """The warp's bar: a box with a number for each lane, hollow where the lane takes no part."""
    left = _lane_left()
    for taking_part, fill, edge, ink in (
        (access.active, theme.WARP, theme.PAPER, theme.PAPER),
        (~access.active, theme.PAPER, theme.WASTE, theme.WASTE),
    ):
        lanes = np.flatnonzero(taking_part)
        if not len(lanes):
            continue
        corners = boxes(left[lanes], top, LANE, BAR_HEIGHT)
        axes.add_artist(PolyCollection(corners, facecolor=fill, edgecolor=edge, linewidth=0.8))
        numbers = Path.make_compound_path(*(_lane_numbers()[lane] for lane in lanes))
        axes.add_artist(
            PathPatch(numbers, color=ink, linewidth=0, transform=Affine2D().translate(0, top) + axes.transData)
        )
    middle = top + BAR_HEIGHT / 2
    axes.text(left[0] - 8, middle, "lanes of the warp", size=theme.SMALL, color=theme.MUTED, ha="right", va="center")


def _cells(axes: Axes, access: WarpAccess, ribbon: Ribbon, top: float, colour: str) -> None:
    """The touched sectors: hatched all over, the floats that a lane asked for filled in, outlines on top."""
    sectors = boxes(ribbon.left, top, SECTOR, RIBBON_HEIGHT)
    axes.add_artist(_hatched(sectors))
    words = ribbon.x_of(np.unique(access.offset[access.active]))
    width = SECTOR * access.width / SECTOR_BYTES
    used = PolyCollection(
        boxes(words, top, width, RIBBON_HEIGHT), facecolor=colour, edgecolor=theme.PAPER, linewidth=0.3, label="used"
    )
    axes.add_artist(used)
    axes.add_artist(PolyCollection(sectors, facecolor="none", edgecolor=theme.INK, linewidth=0.9, label="sectors"))


def _rays(axes: Axes, access: WarpAccess, ribbon: Ribbon, top: float, colour: str) -> None:
    """A line from each lane that takes part to the middle of what it asked for."""
    lanes = np.flatnonzero(access.active)
    ends = ribbon.x_of(access.offset[lanes]) + SECTOR * access.width / SECTOR_BYTES / 2
    begins = _lane_left()[lanes] + LANE / 2
    lower, upper = np.full(len(lanes), top + RIBBON_TOP), np.full(len(lanes), top + BAR_TOP + BAR_HEIGHT)
    rays = np.stack([np.stack([begins, upper], axis=1), np.stack([ends, lower], axis=1)], axis=1)
    axes.add_artist(LineCollection(rays, colors=colour, linewidths=1.0, alpha=0.8, label="rays"))


def _brackets(axes: Axes, ribbon: Ribbon, top: float) -> None:
    """A bracket under the sectors of each 128-byte line."""
    lines = (ribbon.starts - ribbon.line_origin) // LINE_BYTES
    _, first, size = np.unique(lines, return_index=True, return_counts=True)
    left, right = ribbon.left[first] + 1, ribbon.left[first + size - 1] + SECTOR - 1
    paths = [
        [(x0, top), (x0, top + BRACKET_HEIGHT), (x1, top + BRACKET_HEIGHT), (x1, top)]
        for x0, x1 in zip(left, right, strict=True)
    ]
    axes.add_artist(LineCollection(paths, colors=theme.MUTED, linewidths=1.0, label="lines"))


def _place(access: WarpAccess, ribbon: Ribbon) -> str:
    """Where in the array the ribbon lies and how far apart its pieces are."""
    first = theme.thousands(int(ribbon.starts[0]))
    jumps = ribbon.jumps[ribbon.jumps > SECTOR_BYTES]
    if not len(jumps):
        return f"bytes {first} to {theme.thousands(int(ribbon.starts[-1]) + SECTOR_BYTES - 1)} of {access.array}"
    nearest, farthest = theme.thousands(int(jumps.min())), theme.thousands(int(jumps.max()))
    bytes_each = f"{nearest} bytes" if nearest == farthest else f"{nearest} to {farthest} bytes"
    return f"from byte {first} of {access.array}, then {theme.plural(len(jumps), 'jump')} of {bytes_each}"


def _legend(axes: Axes) -> None:
    """One sector of eight floats, three of them used, and a line, with their names."""
    texts = {"size": theme.SMALL, "color": theme.MUTED, "va": "center"}
    x, y, middle, cell = MARGIN, 35.0, 44.0, SECTOR * FLOAT_BYTES / SECTOR_BYTES
    one = boxes(np.array([x]), y, SECTOR, 18)
    axes.add_artist(_hatched(one))
    axes.add_artist(PolyCollection(boxes(np.array([x]), y, 3 * cell, 18), facecolor=theme.INK, edgecolor="none"))
    axes.add_artist(PolyCollection(one, facecolor="none", edgecolor=theme.INK, linewidth=0.9))
    axes.text(x + SECTOR + 7, middle, "a sector: 32 bytes, 8 floats (hatched: sent, not used)", **texts)
    left, right = x + 432, x + 432 + SECTOR
    bracket = [(left, middle - 3), (left, middle + 2), (right, middle + 2), (right, middle - 3)]
    axes.add_artist(LineCollection([bracket], colors=theme.MUTED, linewidths=1.0))
    axes.text(right + 7, middle, "a line: 128 bytes, 4 sectors (gap: jump in memory)", **texts)


def _hatched(corners: np.ndarray) -> PathPatch:
    """Boxes as one path: the hatching is then drawn once instead of once a box."""
    path = Path.make_compound_path(*(Path([*box, box[0]], closed=True) for box in corners))
    return PathPatch(path, facecolor=theme.WASTE_FILL, edgecolor=theme.WASTE, hatch=theme.WASTE_HATCH, linewidth=0)
