"""Which warp reads which elements? The map of threads of notebook 16.

A column for each warp of the launch, a row for each round; in a box stands the first element that the warp's lanes load
then, of as many neighbours as there are lanes. A box that is only partly filled has lanes beyond the end of the array.
"""

from __future__ import annotations

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.reads.facts import Reads
from helpers.pictures.thread_map.figure import TINTS

# CSS pixels
LEFT, RIGHT, TOP, ROW = 96.0, 886.0, 112.0, 30.0
LEGEND_Y = 50.0
MOST_WARPS, MOST_ROUNDS = 24, 8
NUMBERS = 11.0
CAPTION_LINES = 2


def reads_figure(reads: Reads, title: str, *, whole: bool = False) -> theme.Figure:
    """The loads of the first warps and rounds. whole: as high as every other."""
    columns = min(reads.blocks * reads.warps, MOST_WARPS)
    rounds = min(reads.rounds, MOST_ROUNDS)
    height = TOP + (MOST_ROUNDS if whole else rounds) * ROW + 28
    drawn, axes = page.page(height, title, caption(reads), CAPTION_LINES)
    width = min((RIGHT - LEFT) / columns, 64.0)
    shown = [read for read in reads.reads if read.warp < columns and read.round < rounds]
    with theme.style():
        keys = [page.Key(TINTS[1], f"a warp reads 32 neighbours; the first element of {reads.array} stands in the box")]
        if any(read.lanes < WARP for read in shown):
            keys.append(page.Key(theme.WASTE, "lanes without an element", hatched=True))
        page.legend(axes, LEGEND_Y, keys)
        for block in range(-(-columns // reads.warps)):
            first = block * reads.warps
            count = min(reads.warps, columns - first)
            left = LEFT + first * width
            words = f"block {block}" if count * width > page.text_width("block 00") else str(block)
            page.text(axes, left + count * width / 2, TOP - 26, words, ha="center", color=theme.INK)
            page.lines(axes, [[(left + 1, TOP - 16), (left + count * width - 1, TOP - 16)]], theme.INK, 1.4)
        page.text(axes, page.MARGIN, TOP - 26, "warps of")
        for number in range(rounds):
            page.text(axes, page.MARGIN, TOP + (number + 0.5) * ROW, f"round {number + 1}", color=theme.INK)
        for read in shown:
            x, y = LEFT + read.warp * width, TOP + read.round * ROW
            part = (width - 2) * read.lanes / WARP
            tint = theme.TROUBLE if not read.together else TINTS[read.warp // reads.warps % 2]
            page.hatch(axes, page.boxes(x + part, y + 1, width - 2 - part, ROW - 3), label="no element")
            page.fill(axes, page.boxes(x, y + 1, part, ROW - 3), tint, label="read")
        texts = [str(read.first) for read in shown]
        xs = [LEFT + read.warp * width + width / 2 - 1 for read in shown]
        ys = [TOP + (read.round + 0.5) * ROW - 0.5 for read in shown]
        page.labels(axes, texts, xs, ys, NUMBERS, theme.INK, room=width - 6)
    return drawn


def caption(reads: Reads) -> str:
    """'3 blocks of 8 warps read 1 601 elements in 3 rounds.'"""
    loads = sum(read.lanes for read in reads.reads)
    again = "" if loads == reads.n else f" Together they load {theme.thousands(loads)} times an element."
    blocks = f"{theme.plural(reads.blocks, 'block')} of {theme.plural(reads.warps, 'warp')}"
    rounds = theme.plural(reads.rounds, "round")
    verb = "reads" if reads.blocks == 1 else "read"
    return f"{blocks} {verb} {theme.thousands(reads.n)} elements of {reads.array} in {rounds}.{again}"
