"""Picture 3: how much of what the memory sends does a warp use?

A warp is a bar of 32 lanes. Under it lies what the memory sends for one request: sectors of 32 bytes, eight floats
each, brackets under those that share a 128-byte line. A ray leads from each lane to its float. One float has the same
width in every picture, so a longer ribbon is more bytes; what no lane asked for is hatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import FLOAT_BYTES, LINE_BYTES, SECTOR_BYTES, WARP
from helpers.pictures import marks, page, theme
from helpers.pictures.coalescing.facts import WarpAccess

# CSS pixels; y runs down
BREAK = 5.0  # between sectors that are not neighbours in memory
SECTOR = (page.WIDTH - 2 * page.MARGIN - (WARP - 1) * BREAK) / WARP  # so that 32 scattered sectors just fit
LANE = 18.5
NUMBER = 11.5  # of the letters in a lane
HEAD, PANEL = 58.0, 124.0
TITLE_Y = 13.0  # the following lie within a panel
BAR_TOP, BAR_HEIGHT = 27.0, 17.0
RIBBON_TOP, RIBBON_HEIGHT = 75.0, 22.0
BRACKET, BRACKET_HEIGHT = RIBBON_TOP + RIBBON_HEIGHT + 4, 4.0
PLACE_Y = BRACKET + 13
LEGEND_Y, LEGEND_LINE_X = 44.0, page.MARGIN + 432
CAPTION_LINES = 3  # the longest caption of three accesses; always reserved, so that an explorer never moves the page
FIGURE_HEIGHT = page.full_height(HEAD + 3 * PANEL + 6, CAPTION_LINES)  # of A, B and C
TROUBLE_FACTOR = 2  # a request is trouble if it costs more than so many times the sectors that its bytes would fill


@dataclass(frozen=True)
class Ribbon:
    """Where the touched sectors lie on the page: left edges in pixels, one a sector, ascending with the address."""

    starts: np.ndarray  # (sectors,) bytes from the array's start
    left: np.ndarray  # (sectors,) pixels
    line_origin: int  # the byte of the array, 0 or less, at which a 128-byte line starts

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
    return Ribbon(starts, left + (page.WIDTH - width) / 2, line_origin=-(access.base % LINE_BYTES))


def sectors_figure(accesses: Sequence[WarpAccess], title: str) -> theme.Figure:
    """One ribbon for each access of a warp, for example the load of A, the load of B and the store of C."""
    if not accesses:
        raise ValueError("There is no access to draw: give at least one WarpAccess.")
    drawn, axes = page.page(HEAD + PANEL * len(accesses) + 6, title, caption(accesses), CAPTION_LINES)
    with theme.style():
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
        words = (
            "one word"
            if access.useful_bytes <= FLOAT_BYTES
            else theme.plural(access.useful_bytes // FLOAT_BYTES, "word")
        )
        return f"{name}: {theme.plural(access.sectors, 'sector')}, {words} broadcast to {lanes} lanes."
    sectors, useful = theme.plural(access.sectors, "sector"), theme.plural(access.useful_bytes, "useful byte")
    return f"{name}: {sectors} for {useful} – {theme.percent(access.used_share)} used."


def _panel(axes: Axes, access: WarpAccess, top: float) -> None:
    colour = theme.ARRAY_COLOURS.get(access.array, theme.MUTED)
    title = {"size": theme.TITLE, "color": theme.INK}
    page.fill(axes, page.boxes(page.MARGIN, top + TITLE_Y - 7, 14, 14), colour)
    page.text(axes, page.MARGIN + 22, top + TITLE_Y, access.name, **title)
    cost = f"{theme.plural(access.sectors, 'sector')} in {theme.plural(access.tags, 'line')}"
    used = f"{access.useful_bytes} of {theme.thousands(access.moved_bytes)} bytes used"
    title["color"] = theme.TROUBLE if is_trouble(access) else theme.INK
    right = page.WIDTH - page.MARGIN
    page.text(axes, right, top + TITLE_Y, f"{cost}, {used}", ha="right", weight="bold", **title)
    _lanes(axes, access, top + BAR_TOP)
    ribbon = ribbon_of(access)
    if len(ribbon.starts):
        _cells(axes, access, ribbon, top + RIBBON_TOP, colour)
        _rays(axes, access, ribbon, top, colour)
        _brackets(axes, ribbon, top + BRACKET)
        page.text(axes, page.WIDTH / 2, top + PLACE_Y, _range(access, ribbon), ha="center")


def _lane_left(lanes: np.ndarray) -> np.ndarray:
    """Pixels: the left edges of lanes in the warp's bar."""
    return (page.WIDTH - WARP * LANE) / 2 + LANE * lanes


def _lanes(axes: Axes, access: WarpAccess, top: float) -> None:
    """The warp's bar: a box with a number for each lane, hollow where the lane takes no part."""
    middle = top + BAR_HEIGHT / 2
    for taking_part, fill, edge, ink in (
        (access.active, theme.WARP, theme.PAPER, theme.PAPER),
        (~access.active, theme.PAPER, theme.WASTE, theme.WASTE),
    ):
        lanes = np.flatnonzero(taking_part)
        left = _lane_left(lanes)
        page.fill(axes, page.boxes(left, top, LANE, BAR_HEIGHT), fill, edge=edge, line=0.8)
        page.labels(axes, [str(lane) for lane in lanes], left + LANE / 2, middle, NUMBER, ink)
        marks.tell(axes, page.boxes(left, top, LANE, BAR_HEIGHT), [_of_lane(access, lane) for lane in lanes])
    page.text(axes, _lane_left(np.array(0)) - 8, middle, "lanes of the warp", ha="right")


def _cells(axes: Axes, access: WarpAccess, ribbon: Ribbon, top: float, colour: str) -> None:
    """The touched sectors: hatched all over, the floats that a lane asked for filled in, outlines on top."""
    sectors = page.boxes(ribbon.left, top, SECTOR, RIBBON_HEIGHT)
    page.hatch(axes, sectors)
    words = ribbon.x_of(np.unique(access.offset[access.active]))
    used = page.boxes(words, top, SECTOR * access.width / SECTOR_BYTES, RIBBON_HEIGHT)
    page.fill(axes, used, colour, edge=theme.PAPER, line=0.3, label="used")
    page.outline(axes, sectors, theme.INK, 0.9, label="sectors")
    marks.tell(axes, sectors, [_of_sector(access, int(start)) for start in ribbon.starts])


def _of_lane(access: WarpAccess, lane: int) -> str:
    """'lane 3: load of A at bytes 12 to 15, float 3 of A': what a mark of the warp says."""
    if not access.active[lane]:
        return f"lane {lane} takes no part"
    first = int(access.offset[lane])
    where = f"bytes {theme.thousands(first)} to {theme.thousands(first + access.width - 1)}"
    return f"lane {lane}: {access.name} at {where}, float {theme.thousands(first // FLOAT_BYTES)} of {access.array}"


def _of_sector(access: WarpAccess, start: int) -> str:
    """'bytes 0 to 31 of A, wanted by lane 0'."""
    inside = (access.offset + access.width > start) & (access.offset < start + SECTOR_BYTES) & access.active
    lanes = np.flatnonzero(inside)
    readers = f"lane {lanes[0]}" if len(lanes) == 1 else f"{len(lanes)} lanes, {theme.runs(lanes.tolist())}"
    last = theme.thousands(start + SECTOR_BYTES - 1)
    return f"a sector: bytes {theme.thousands(start)} to {last} of {access.array}, wanted by {readers}"


def _rays(axes: Axes, access: WarpAccess, ribbon: Ribbon, top: float, colour: str) -> None:
    """A line from each lane that takes part to the middle of what it asked for."""
    lanes = np.flatnonzero(access.active)
    ends = ribbon.x_of(access.offset[lanes]) + SECTOR * access.width / SECTOR_BYTES / 2
    begins = _lane_left(lanes) + LANE / 2
    lower, upper = top + RIBBON_TOP, top + BAR_TOP + BAR_HEIGHT
    rays = [[(begin, upper), (end, lower)] for begin, end in zip(begins, ends, strict=True)]
    page.lines(axes, rays, (colour, 0.8), 1.0, label="rays")


def _brackets(axes: Axes, ribbon: Ribbon, top: float) -> None:
    """A bracket under the sectors of each 128-byte line."""
    lines = (ribbon.starts - ribbon.line_origin) // LINE_BYTES
    _, first, size = np.unique(lines, return_index=True, return_counts=True)
    left, right = ribbon.left[first] + 1, ribbon.left[first + size - 1] + SECTOR - 1
    brackets = [_bracket(*ends, top, BRACKET_HEIGHT) for ends in zip(left, right, strict=True)]
    page.lines(axes, brackets, theme.MUTED, 1.0, label="lines")


def _bracket(left: float, right: float, top: float, height: float) -> list[tuple[float, float]]:
    return [(left, top), (left, top + height), (right, top + height), (right, top)]


def _range(access: WarpAccess, ribbon: Ribbon) -> str:
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
    left, words = page.MARGIN, "a sector: 32 bytes, 8 floats (hatched: sent, not used)"
    line = max(LEGEND_LINE_X, left + SECTOR + 7 + page.text_width(words) + 10)
    sector = page.boxes(left, LEGEND_Y - 9, SECTOR, 18)
    page.hatch(axes, sector)
    page.fill(axes, page.boxes(left, LEGEND_Y - 9, 3 * SECTOR * FLOAT_BYTES / SECTOR_BYTES, 18), theme.INK)
    page.outline(axes, sector, theme.INK, 0.9)
    page.text(axes, left + SECTOR + 7, LEGEND_Y, words)
    page.lines(axes, [_bracket(line, line + SECTOR, LEGEND_Y - 3, 5)], theme.MUTED, 1.0)
    page.text(axes, line + SECTOR + 7, LEGEND_Y, "a line: 128 bytes, 4 sectors (gap: jump in memory)")
