"""What a GPU looks like to a kernel: its memories, how wide the way between them is, how long a float is on it.

The large picture has them one above the other with their numbers. The small one stands at the end of a notebook: it
marks where most cycles of the kernel go that the notebook began with, where those of the one go that it ends with, and
how far the two are on the way to cuBLAS.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.machine.facts import PLACES, Machine, Memory
from helpers.plan import LANES, Mark

NAMES = {
    "hbm": ("main memory", "(HBM)"),
    "l2": ("L2 cache",),
    "shared": ("shared memory", "and L1 cache"),
    "registers": ("registers",),
    LANES: ("multiply-add", "units"),
}
OWNERS = {
    "hbm": "of the whole GPU: all matrices lie here",
    "l2": "a cache: the hardware keeps here what was used lately",
    "shared": "at most, for the threads of blocks to share; the rest of it is the L1 cache",
    "registers": "each belongs to one thread; no other thread can read it",
}
SM_TINT, BOX_TINT, WAY = "#F3EEF6", "#FFFFFF", theme.REFERENCE

# CSS pixels of the large picture
CENTRE, BOX, FIRST, STEP = 165.0, 44.0, 62.0, 92.0
WIDTHS = {"hbm": 290.0, "l2": 290.0, "shared": 210.0, "registers": 210.0, LANES: 210.0}
A_FLOAT = 0.55  # the width of a way, for each float per cycle
WORDS = 338.0
HEIGHT = FIRST + 4 * STEP + BOX + 16

# of the small one
HERE_BOX, HERE_STEP, HERE_WIDTH, HERE_TOP, HERE_HEIGHT = 44.0, 177.0, 150.0, 44.0, 122.0
HERE_A_FLOAT = 0.17
HERE_LINES = 2  # of its caption
HERE_BAR_TOP, HERE_BAR, HERE_BAR_STEP, HERE_MOST = 122.0, 14.0, 46.0, 1.12  # the bar, which ends a little beyond cuBLAS


def machine_figure(data: Machine) -> theme.Figure:
    """All memories of a GPU from the registers down, each with its size, its owner, and the way to the one above it."""
    device = data.device
    lanes = device.fp32_lanes_per_sm
    title = f"One of the {device.sms} SMs of an {device.short}, and what all of them share"
    far, near = (data.floats_per_cycle(data.memory(level)) for level in ("hbm", "shared"))
    caption = (
        f"While one float comes from main memory, {near / far:.0f} can come from shared memory, and multiply-adds "
    )
    caption += f"could use {2 * lanes / far:.0f}: so keep what you fetched ({data.source})."
    drawn, axes = page.page(HEIGHT, title, caption, 2)
    with theme.style():
        places = (LANES, *reversed(PLACES))
        tops = {level: FIRST + STEP * row for row, level in enumerate(places)}
        _sms(axes, tops[LANES] - 12, tops["shared"] + BOX + 20)
        for upper, level in zip(places, places[1:], strict=False):
            _way(axes, data, data.memory(level), tops[upper] + BOX, tops[level])
        for level, top in tops.items():
            _box(axes, level, CENTRE - WIDTHS[level] / 2, top, WIDTHS[level], BOX)
        middle = tops[LANES] + BOX / 2
        page.text(axes, WORDS, middle - 9, f"{lanes} multiply-adds per cycle", size=theme.TEXT, color=theme.INK)
        page.text(axes, WORDS, middle + 10, f"Each needs a float of A and one of B: {2 * lanes} per cycle.")
        for memory in data.memories:
            middle = tops[memory.level] + BOX / 2
            page.text(axes, WORDS, middle - 9, _size(data, memory), size=theme.TEXT, color=theme.INK)
            page.text(axes, WORDS, middle + 10, OWNERS[memory.level])
    return drawn


def here_figure(
    data: Machine, before: Mark, after: Mark, shares: Mapping[str, float] = MappingProxyType({}), source: str = ""
) -> theme.Figure:
    """The same ways from left to right, with the places where most cycles went before and go afterwards.

    shares: of cuBLAS's speed, by the kernel that reaches it, before and afterwards, or afterwards alone; empty for no
    bar.  source: of the shares.
    """
    caption = f"What costs most. Before: {before.why}. Now: {after.why}."
    named = (("before", before), ("now", after))
    if before.why == after.why:  # nothing is compared
        caption, named = f"What costs most: {after.why}.", (("now", after),)
    drawn, axes = page.page(HERE_HEIGHT + (HERE_BAR_STEP if shares else 0), "You are here", caption, HERE_LINES)
    with theme.style():
        places = (*PLACES, LANES)
        lefts = {level: page.MARGIN + HERE_STEP * column for column, level in enumerate(places)}
        middle = HERE_TOP + HERE_BOX / 2
        for level, right in zip(places, places[1:], strict=False):
            floats = data.floats_per_cycle(data.memory(level))
            left = lefts[level] + HERE_WIDTH
            page.fill(axes, _centred(left, lefts[right], middle, floats * HERE_A_FLOAT), WAY, label=f"from {level}")
        for level, left in lefts.items():
            colour = theme.TROUBLE if level == after.place else theme.INK
            _box(axes, level, left, HERE_TOP, HERE_WIDTH, HERE_BOX, colour)
            words = [word for word, mark in named if mark.place == level]
            page.text(
                axes, left + HERE_WIDTH / 2, HERE_TOP + HERE_BOX + 17, " and ".join(words),
                size=theme.TEXT, color=theme.TROUBLE, ha="center", weight="bold" if level == after.place else "normal",
            )  # fmt: skip
            if level == before.place != after.place:
                box = page.boxes(left, HERE_TOP, HERE_WIDTH, HERE_BOX)
                page.outline(axes, box, theme.TROUBLE, 2.0, dashed=True, label="before")
        if shares:
            _progress(axes, shares, source)
    return drawn


def _progress(axes: Axes, shares: Mapping[str, float], source: str) -> None:
    """A bar that ends at cuBLAS, filled up to the share that was reached; what the notebook added is darker."""
    left, width = page.MARGIN, 4 * HERE_STEP + HERE_WIDTH
    whole = width / HERE_MOST
    for share, colour, label in zip(reversed(shares.values()), (theme.SPEED, WAY), ("now", "before"), strict=False):
        box = page.boxes(left, HERE_BAR_TOP, whole * min(share, HERE_MOST), HERE_BAR)
        page.fill(axes, box, colour, label=f"bar {label}")
    ends = whole * min(max(1.0, *shares.values()), HERE_MOST)
    page.outline(axes, page.boxes(left, HERE_BAR_TOP, ends, HERE_BAR), theme.MUTED, 1.0)
    page.lines(axes, [[(left + whole, HERE_BAR_TOP - 4), (left + whole, HERE_BAR_TOP + HERE_BAR + 4)]], theme.INK, 2.0)
    page.text(axes, left + whole, HERE_BAR_TOP + HERE_BAR + 13, "cuBLAS", ha="center", color=theme.INK)
    words = " → ".join(f"{name} {theme.percent(share, 0)}" for name, share in shares.items())
    page.text(axes, left, HERE_BAR_TOP + HERE_BAR + 13, f"{words} of cuBLAS ({source})", color=theme.INK)


def _sms(axes: Axes, top: float, bottom: float) -> None:
    """The frame of an SM, and behind it those of its neighbours."""
    width = WIDTHS[LANES] + 44
    for behind in (2, 1, 0):
        box = page.boxes(CENTRE - width / 2 + 7 * behind, top - 6 * behind, width, bottom - top)
        page.fill(axes, box, SM_TINT, edge=theme.WARP, line=1.0)
    page.text(axes, CENTRE + width / 2 - 6, bottom - 9, "SM", color=theme.WARP, weight="bold", ha="right")


def _box(axes: Axes, level: str, left: float, top: float, width: float, height: float, colour: str = theme.INK) -> None:
    box = page.boxes(left, top, width, height)
    page.fill(axes, box, BOX_TINT, edge=colour, line=3.0 if colour == theme.TROUBLE else 1.2, label=level)
    names = NAMES[level]
    for number, name in enumerate(names):
        y = top + height / 2 + 18 * (number - (len(names) - 1) / 2)
        page.text(axes, left + width / 2, y, name, ha="center", size=theme.TEXT, color=theme.INK, weight="bold")


def _centred(left: float, right: float, middle: float, width: float):
    return page.boxes(left, middle - width / 2, right - left, width)


def _way(axes: Axes, data: Machine, memory: Memory, top: float, bottom: float) -> None:
    """The way up from a memory: as wide as floats pass it in a cycle, with its numbers beside it."""
    floats = data.floats_per_cycle(memory)
    page.fill(axes, page.boxes(CENTRE - floats * A_FLOAT / 2, top, floats * A_FLOAT, bottom - top), WAY, label="way")
    terabytes = data.bytes_per_second(memory) / 1e12
    words = f"↑ {theme.number(floats, 0 if floats >= 10 else 1)} floats per cycle for each SM, "
    words += (
        f"{theme.number(terabytes, 0 if terabytes >= 10 else 1)} TB/s in all; on the way for {memory.latency} cycles"
    )
    page.text(axes, WORDS, (top + bottom) / 2, words, color=theme.A, size=theme.SMALL)


def _size(data: Machine, memory: Memory) -> str:
    """'256 KB in each SM, 33 MB in all', '60 MB', '141 GB'."""
    if not memory.for_each_sm:
        return _bytes(memory.bytes)
    return f"{_bytes(memory.bytes)} in each SM, {_bytes(memory.bytes * data.device.sms)} in all"


def _bytes(count: int) -> str:
    """In the unit that leaves it below 1024, as memories are sold: the GB of main memory are 10⁹ bytes."""
    if count >= 10**10:
        return f"{count / 1e9:.0f}\u00a0GB"
    return f"{count / 1024**2:.0f}\u00a0MB" if count >= 1024**2 else f"{count / 1024:.0f}\u00a0KB"
