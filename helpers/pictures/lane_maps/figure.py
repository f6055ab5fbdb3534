"""Where does each lane of a warp stand? Maps of the 32 lanes side by side, with the way from lane to lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme

NO_LANE = -1
PAIR = "#E9DFEF"  # behind lanes i and i ^ 1, where they stand side by side
INSET = 4.0  # pixels between a pair and the cells around it

# CSS pixels
TOP, CELL, LETTER = 104.0, 40.0, 16.0


@dataclass(frozen=True)
class LaneMap:
    """name: what a picture calls it.  lanes: (rows, columns) of lane numbers, NO_LANE where no lane stands."""

    name: str
    lanes: np.ndarray

    def shared(self, bit: int, axis: int) -> bool:
        """Whether every lane i stands in the same row (axis 0) or column (axis 1) as lane i ^ bit."""
        places = {int(lane): where for where, lane in np.ndenumerate(self.lanes) if lane != NO_LANE}
        return all(lane ^ bit in places and places[lane ^ bit][axis] == where[axis] for lane, where in places.items())


def warp_maps_figure(maps: Sequence[LaneMap], title: str) -> theme.Figure:
    """The maps side by side, lane numbers large enough to be read. Raises ValueError if they do not fit."""
    widths = [CELL * lane_map.lanes.shape[1] for lane_map in maps]
    gap = (page.WIDTH - 2 * page.MARGIN - sum(widths)) / max(1, len(maps))
    if not maps or gap < CELL / 2:
        raise ValueError(f"{len(maps)} maps of {sum(widths) / CELL:.0f} columns together do not fit side by side.")
    height = TOP + CELL * max(lane_map.lanes.shape[0] for lane_map in maps) + 60
    drawn, axes = page.page(height, title, caption(maps), 2)
    with theme.style():
        page.legend(axes, 46, [page.Key(PAIR, "a pair of lanes, i and i ^ 1")])
        left = page.MARGIN + gap / 2
        for lane_map, width in zip(maps, widths, strict=True):
            _map(axes, lane_map, left)
            left += width + gap
    return drawn


def caption(maps: Sequence[LaneMap]) -> str:
    """'row by row: lanes i and i ^ 1 share a row, i and i ^ 2 share a row; …'"""
    return "Who shares what – " + "; ".join(f"{lane_map.name}: {_shared(lane_map)}" for lane_map in maps) + "."


def _shared(lane_map: LaneMap) -> str:
    parts = []
    for bit in (1, 2):
        what = [word for axis, word in enumerate(("row", "column")) if lane_map.shared(bit, axis)]
        parts.append(f"lanes i and i ^ {bit} share {'a ' + what[0] if len(what) == 1 else 'neither'}")
    return ", ".join(parts)


def _map(axes: Axes, lane_map: LaneMap, left: float) -> None:
    rows, columns = lane_map.lanes.shape
    page.text(axes, left, TOP - 20, lane_map.name, size=theme.TEXT, color=theme.INK, weight="bold")
    places = {int(lane): (row, column) for (row, column), lane in np.ndenumerate(lane_map.lanes) if lane != NO_LANE}
    page.outline(
        axes,
        page.boxes(
            left + CELL * np.tile(np.arange(columns), rows),
            TOP + CELL * np.repeat(np.arange(rows), columns),
            CELL,
            CELL,
        ),
        theme.FAINT,
        1.0,
    )
    both = np.array(
        [(places[lane], places[lane + 1]) for lane in sorted(places) if lane % 2 == 0 and lane + 1 in places]
    )
    beside = both[np.abs(both[:, 1] - both[:, 0]).sum(axis=1) == 1] if len(both) else both
    if len(beside):
        first, size = beside.min(axis=1), beside.max(axis=1) - beside.min(axis=1) + 1
        corner = np.array([left, TOP]) + CELL * first[:, ::-1] + INSET
        wide, high = (CELL * size[:, ::-1] - 2 * INSET).T
        page.fill(
            axes, page.boxes(corner[:, 0], corner[:, 1], wide, high), PAIR, edge=theme.WARP, line=0.8, label="pairs"
        )
    middles = {lane: (left + CELL * (column + 0.5), TOP + CELL * (row + 0.5)) for lane, (row, column) in places.items()}
    for one_lane, other in zip(sorted(middles), sorted(middles)[1:], strict=False):
        _step(axes, middles[one_lane], middles[other])
    lanes = sorted(middles)
    page.labels(
        axes, [str(lane) for lane in lanes], [middles[lane][0] for lane in lanes],
        [middles[lane][1] for lane in lanes], LETTER, theme.INK, label="lanes",
    )  # fmt: skip


def _step(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A short line between lanes that stand next to each other; a longer way would cross the numbers of others."""
    a, b = np.array(start), np.array(end)
    length = np.hypot(*(b - a))
    if 0 < length < 1.5 * CELL:
        free = (b - a) / length * 0.34 * CELL
        page.lines(axes, [[a + free, b - free]], theme.WARP, 1.6)
