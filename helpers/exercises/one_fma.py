"""The explorer of notebook 12: an order of FMAs and a lane map → what 32 lanes do in each, and which bank falls behind.

`explore()` is the explorer, `picture_of(choice)` what it is made from and its static twin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import ipywidgets

from gpusim import devices
from gpusim.devices import WARP
from helpers.exercises.framework import rungs
from helpers.exercises.lane_speeds import MAPS
from helpers.exercises.n12 import UNMERGED_LANES, Order, steps_of
from helpers.measure import registers
from helpers.pictures import theme
from helpers.pictures.controls import choice_list, time_slider
from helpers.pictures.fma_lanes.facts import FmaLanes, lanes_of
from helpers.pictures.fma_lanes.figure import FIGURE_HEIGHT, fma_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.register_file.model import Fma, in_order
from helpers.pictures.widgets import number_slider

FIRST_SUM = 16  # registers below it hold addresses and the like
YOURS = "yours"
SHAPE = (64, 64, 8)  # of the launch that is recorded: one block


def _in_turns(TM: int, TN: int, back_first: bool) -> Order:
    """Row by row, every other row from its end."""
    return [(y, TN - 1 - x if (y % 2 == 0) == back_first else x) for y in range(TM) for x in range(TN)]


ORDERS: dict[str, Callable[[int, int], Order]] = {
    "row by row": lambda TM, TN: [(y, x) for y in range(TM) for x in range(TN)],
    "column by column": lambda TM, TN: [(y, x) for x in range(TN) for y in range(TM)],
    "rows, there and back": lambda TM, TN: _in_turns(TM, TN, back_first=False),
    "rows, back and there": lambda TM, TN: _in_turns(TM, TN, back_first=True),
    "columns, there and back": lambda TM, TN: [(y, x) for x, y in _in_turns(TN, TM, back_first=False)],
}


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls.

    lanes: one of MAPS, or YOURS: the learner's accepted kernel, or ours.  order: one of ORDERS.  number: of the FMA.
    """

    lanes: str = YOURS
    order: str = "row by row"
    number: int = 0
    lane: int = 0


def lanes(name: str) -> FmaLanes:
    """Who computes what with one of the lane maps. Raises the simulator's and the compiler's errors, and CannotTell."""
    written = UNMERGED_LANES.written.source
    source = written if name == YOURS else UNMERGED_LANES.marked.version(MAPS[name])
    return lanes_of(rungs.kernel_of(UNMERGED_LANES, source).launch(*SHAPE))


def picture_of(choice: Choice) -> theme.Figure:
    """One FMA of the patch, in all 32 lanes, and the queue of the banks around it."""
    data = lanes(choice.lanes)
    order, fmas = _fmas(choice.order, *data.patch)
    return fma_figure(data, order, fmas, steps_of(fmas), choice.number, choice.lane)


def _fmas(name: str, TM: int, TN: int) -> tuple[Order, Sequence[Fma]]:
    """The order, and its FMAs with registers as a compiler hands them out: sums, then a, then b."""
    order, a = ORDERS[name](TM, TN), FIRST_SUM + TM * TN
    return order, in_order((a + y, a + TM + x, FIRST_SUM + TN * y + x) for y, x in order)


class FmaExplorer(LiveExplorer):
    """Controls for the lane map, the order of the FMAs, the FMA that is shown, and a lane."""

    def __init__(self) -> None:
        self.lanes = choice_list("lanes", [(name, name) for name in (YOURS, *MAPS)], YOURS)
        self.order = choice_list("order", [(name, name) for name in ORDERS], "row by row")
        self.number, self.lane = time_slider("FMA", 0), number_slider("lane", WARP - 1)
        rows = [[self.lanes, self.order], [self.number, self.lane]]
        super().__init__("Explorer: one FMA, 32 lanes, two banks.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.lanes.value, self.order.value, self.number.value, self.lane.value)

    def needs(self) -> Iterable[Hashable]:
        return [self.lanes.value]

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many FMAs as the patch has sums."""
        if moved in (None, self.lanes):
            TM, TN = lanes(self.lanes.value).patch
            self.number.max = TM * TN - 1

    def draw(self) -> tuple[theme.Figure, str]:
        choice, data = self.choice, lanes(self.lanes.value)
        fmas = _fmas(choice.order, *data.patch)[1]
        lost = sum(step.lost for step in steps_of(fmas))
        most = devices.DEFAULT.peak_fp32_gflops / (1 + lost / len(fmas))
        note = f"With FMAs alone {theme.speed(most)} would be the most (predicted for the {devices.DEFAULT.short})"
        if choice.lanes in MAPS:
            recorded = registers.recorded(choice.lanes, kind="own")
            note += f"; the kernel with these lanes: {recorded.tflops:.1f} TFLOPS at 4096³, {registers.label()}"
        return picture_of(choice), f"{note}."


def explore() -> FmaExplorer:
    """The explorer, beginning with the learner's kernel, or ours, and two nested loops."""
    return FmaExplorer()
