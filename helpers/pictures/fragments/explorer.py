"""Who holds which element: the lanes that the simulator gave, one of them framed, or a learner's map beside them.

`explore()` is the explorer, `picture_of(lane)` its static twin, `map_of(function)` the learner's map beside the
instruction's.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusim.devices import WARP
from helpers.pictures import page, theme
from helpers.pictures.fragments.facts import Held, held, of_function
from helpers.pictures.fragments.figure import CELL, GAP, TOP, Part, map_figure, product_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.widgets import number_slider, offered

FIGURE_HEIGHT = page.full_height(TOP + 24 * CELL + GAP + 16, 2)  # A has 16 rows and B has eight


def _part(held: Held) -> Part:
    return Part(held.name, held.lane, held.register)


def picture_of(lane: int = 5) -> theme.Figure:
    """A, B and C of mma.m16n8k8 with the lane of each element."""
    a, b, c = map(_part, held())
    return product_figure(a, b, c, lane, "mma.m16n8k8: the lane that holds each element")


def map_of(element: Callable[[int, int], int | None]) -> theme.Figure:
    """What a function (lane, register) → number of an element of A says, beside what the instruction gave."""
    a = held()[0]
    return map_figure(_part(of_function(element, 4, a.lane.shape)), _part(a), "Who holds which element of A?")


class FragmentExplorer(LiveExplorer):
    """One control, the lane that is framed."""

    def __init__(self, lane: int) -> None:
        self.lane = number_slider("lane", WARP - 1)
        self.lane.value = lane
        super().__init__("Explorer: what a lane holds.", [[self.lane]], FIGURE_HEIGHT)

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.lane.value), "Asked of ldmatrix and mma.sync in a simulated launch."


def explore(lane: int = 5) -> FragmentExplorer:
    """The explorer, beginning with a lane."""
    return FragmentExplorer(offered("lane", range(WARP), lane))
