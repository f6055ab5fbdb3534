"""How much of its warps does a block fill? A row for each block size, its lanes in warps of 32, idle ones hatched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusim.devices import WARP
from helpers.pictures import page, theme

TOP, ROW, LEFT, BOX, GAP = 72.0, 31.0, 130.0, 18.0, 10.0  # CSS pixels
RIGHT = 176.0  # for the words at the end of a row
MOST_WARPS = 4


def warp_fill_figure(lanes: Mapping[int, Sequence[np.ndarray]], title: str) -> theme.Figure:
    """lanes: threads of a block -> for each of its warps (32,) bool, the lanes that took part, as recorded."""
    most = max((len(warps) for warps in lanes.values()), default=0)
    if not 1 <= most <= MOST_WARPS:
        raise ValueError(f"Blocks of 1 to {MOST_WARPS} warps can be drawn, but the largest given has {most}.")
    step = (page.WIDTH - LEFT - RIGHT - (most - 1) * GAP) / (most * WARP)
    drawn, axes = page.page(TOP + ROW * len(lanes) + 8, title, _caption(lanes))
    with theme.style():
        page.legend(
            axes, 46, [page.Key(theme.WARP, "lane that works"), page.Key(theme.WASTE, "idle lane", hatched=True)]
        )
        for number, (threads, warps) in enumerate(lanes.items()):
            top = TOP + number * ROW
            middle = top + BOX / 2
            page.text(
                axes, LEFT - 12, middle, theme.plural(threads, "thread"), ha="right", size=theme.TEXT, color=theme.INK
            )
            for warp, active in enumerate(warps):
                left = LEFT + warp * (WARP * step + GAP) + np.arange(WARP) * step
                boxes = page.boxes(left, top, step, BOX)
                page.fill(axes, boxes[active], theme.WARP, edge=theme.PAPER, line=0.6, label=f"working {threads}")
                page.hatch(axes, boxes[~active], label=f"idle {threads}")
                page.outline(axes, page.boxes(left[0], top, WARP * step, BOX), theme.INK, 1.0)
            end = LEFT + len(warps) * (WARP * step + GAP)
            page.text(axes, end, middle, _words(warps), size=theme.TEXT, color=theme.INK)
    return drawn


def used_share(warps: Sequence[np.ndarray]) -> float:
    """Working lanes as a share of all lanes of the warps, 0 … 1."""
    return float(np.mean(warps))


def _words(warps: Sequence[np.ndarray]) -> str:
    return f"{theme.plural(len(warps), 'warp')}, {theme.thousands(100 * used_share(warps))}\u202f%"


def _caption(lanes: Mapping[int, Sequence[np.ndarray]]) -> str:
    full = [str(threads) for threads, warps in lanes.items() if used_share(warps) == 1]
    worst = min(lanes, key=lambda threads: used_share(lanes[threads]))
    share = theme.thousands(100 * used_share(lanes[worst]))
    sentence = f"Full warps: blocks of {', '.join(full)}. " if full else ""
    return f"{sentence}A block of {worst} uses {share}\u202f% of the lanes that it occupies."
