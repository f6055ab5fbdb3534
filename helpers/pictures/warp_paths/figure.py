"""A branch as time: the instructions that a warp issues one after the other, and which of its lanes take part.

A row for each lane, a column for each issued instruction. Where two paths are taken by lanes of one warp, each path is
issued by itself while the other lanes wait.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.warp_paths.facts import WarpPath

# CSS pixels
LEFT, RIGHT, TOP = 150.0, 886.0, 84.0
LANE, BETWEEN, TITLE = 3.6, 30.0, 26.0
LEGEND_Y = 50.0
CAPTION_LINES = 2
COLOURS = {"": "#B4BCC8", "even": theme.WARP, "odd": theme.REFERENCE}
NAMES = {"": "all lanes", "even": "the first path", "odd": "the second path"}


def paths_figure(groups: Sequence[tuple[str, Sequence[WarpPath]]], title: str) -> theme.Figure:
    """Launches below each other on one axis, each with its warps. groups: (title, its warps)."""
    rows = sum(len(warps) for _, warps in groups)
    height = TOP + len(groups) * TITLE + rows * (WARP * LANE + BETWEEN) + 14
    drawn, axes = page.page(height, title, caption(groups), CAPTION_LINES)
    longest = max(warp.issued for _, warps in groups for warp in warps)
    step = (RIGHT - LEFT) / longest
    with theme.style():
        page.legend(axes, LEGEND_Y, [page.Key(colour, NAMES[name]) for name, colour in COLOURS.items()])
        page.text(axes, RIGHT, TOP + 4, "time: one issued instruction after the other →", ha="right")
        y = TOP
        for name, warps in groups:
            page.text(axes, page.MARGIN, y + 4, name, size=theme.TEXT, color=theme.INK, weight="bold")
            y += TITLE
            for warp in warps:
                _warp(axes, warp, y, step)
                y += WARP * LANE + BETWEEN
    return drawn


def _warp(axes, warp: WarpPath, y: float, step: float) -> None:
    height = WARP * LANE
    page.text(axes, page.MARGIN, y + height / 2 - 9, warp.name, color=theme.INK)
    page.text(axes, page.MARGIN, y + height / 2 + 9, f"{warp.issued} issued")
    page.fill(axes, page.boxes(LEFT, y, warp.issued * step, height), theme.WASTE_FILL, label="lanes that wait")
    for path, colour in COLOURS.items():
        taken = warp.lanes & (np.array(warp.path) == path)[:, None]
        column, lane = np.nonzero(taken)
        boxes = page.boxes(LEFT + column * step, y + lane * LANE, max(step - 1.5, 1.0), LANE - 0.6)
        page.fill(axes, boxes, colour, label=NAMES[path])
    page.text(axes, LEFT - 8, y + LANE, "lane 0", ha="right")
    page.text(axes, LEFT - 8, y + height - LANE, WARP - 1, ha="right")


def caption(groups: Sequence[tuple[str, Sequence[WarpPath]]]) -> str:
    """'By lane a warp issues up to 55 instructions with 63% of its lanes, by warp up to 35 …'"""
    parts = []
    for name, warps in groups:
        most, use = max(warp.issued for warp in warps), np.mean([warp.use for warp in warps])
        lanes = "all its lanes" if use == 1 else f"{use:.0%} of its lanes"
        name = name[:1].lower() + name[1:] if parts else name
        parts.append(f"{name} a warp issues up to {most} instructions with {lanes}")
    return f"{', '.join(parts)}."
