"""The explorer of a shuffle: mode, offset, width and mask → which lane takes whose value, and who asks in vain.

`explore()` is the explorer, `picture_of(choice)` what it is made from. Each setting is executed: the values that lanes
get are their givers' numbers, and where one asks a lane that is not there, the sanitizer's sentence stands below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.devices import WARP
from helpers import run
from helpers.pictures import theme
from helpers.pictures.controls import choice_list, range_slider
from helpers.pictures.exchange.facts import ALL_LANES, MODES, Mode, absent
from helpers.pictures.exchange.figure import MASKED_HEIGHT, shuffle_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.widgets import choice_slider

WIDTHS = (2, 4, 8, 16, 32)
MASKS = {
    "all lanes": ALL_LANES, "lanes 0 to 15": 0x0000FFFF, "lanes 0 to 19": 0x000FFFFF, "even lanes": 0x55555555,
    "lanes 8 to 15": 0x0000FF00,
}  # fmt: skip
CALLS: dict[Mode, str] = {
    "down": "__shfl_down_sync", "up": "__shfl_up_sync", "xor": "__shfl_xor_sync", "lane": "__shfl_sync",
}  # fmt: skip
SOURCE = """
extern "C" __global__ void shuffled(int mode, int offset, int width, unsigned mask, int *from) {
    const int lane = threadIdx.x;
    if (!(mask >> lane & 1)) return;
    int v = lane;
    if (mode == 0) v = __shfl_down_sync(mask, v, offset, width);
    if (mode == 1) v = __shfl_up_sync(mask, v, offset, width);
    if (mode == 2) v = __shfl_xor_sync(mask, v, offset, width);
    if (mode == 3) v = __shfl_sync(mask, v, offset, width);
    from[lane] = v;
}
"""


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. offset: in mode "lane" the lane's number.  mask: a name of MASKS."""

    mode: Mode = "down"
    offset: int = 8
    width: int = WARP
    mask: str = "all lanes"

    @property
    def call(self) -> str:
        """'__shfl_down_sync(0xffffffff, v, 8)'"""
        width = "" if self.width == WARP else f", {self.width}"
        return f"{CALLS[self.mode]}({MASKS[self.mask]:#010x}, v, {self.offset}{width})"


def executed(choice: Choice) -> tuple[np.ndarray, str]:
    """(32,) whose value each lane got, -1 where the mask does not name it; and the sanitizer's sentence, or ""."""
    mask = MASKS[choice.mask]
    got = np.full(WARP, -1, np.int32)
    kernel = run.simulated(SOURCE, "shuffled")
    numbers = (np.int32(MODES.index(choice.mode)), np.int32(choice.offset), np.int32(choice.width), np.uint32(mask))
    report = run.checked(kernel, (1,), (WARP,), (*numbers, got))
    sentences = [finding.message.partition("\n")[0] for finding in report.findings]
    return got, (sentences or [""])[0]


def picture_of(choice: Choice) -> theme.Figure:
    """Who gives and who takes in one shuffle."""
    mask = MASKS[choice.mask]
    got, stopped = executed(choice)
    named = got >= 0
    giver = np.where(named, got, np.arange(WARP))
    vain = absent(giver, mask)
    others = int((named & (giver != np.arange(WARP))).sum())
    sentence = f"{theme.plural(int(named.sum()), 'lane')} take part, {others} get another lane's value."
    if stopped:
        sentence = (
            f"{theme.plural(int(vain.sum()), 'lane')} ask a lane that does not take part: the result is undefined."
        )
    return shuffle_figure(giver, named, vain, choice.call, sentence)


class ShuffleExplorer(LiveExplorer):
    """Controls for the mode, the offset, the width and the mask."""

    def __init__(self, choice: Choice) -> None:
        self.mode = choice_list("function", [(CALLS[mode], mode) for mode in MODES], choice.mode)
        self.offset = range_slider("offset or lane", 0, WARP - 1, choice.offset)
        self.width = choice_slider("width", WIDTHS, choice.width)
        self.mask = choice_list("mask", [(name, name) for name in MASKS], choice.mask)
        rows = [[self.mode, self.offset], [self.width, self.mask]]
        super().__init__("Explorer: which lane takes whose value.", rows, MASKED_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.mode.value, self.offset.value, self.width.value, self.mask.value)

    def draw(self) -> tuple[theme.Figure, str]:
        _, stopped = executed(self.choice)
        return picture_of(self.choice), stopped or "Executed: each lane got the number of the lane that it took from."


def explore(*, mode: Mode = "down", offset: int = 8, width: int = WARP, mask: str = "all lanes") -> ShuffleExplorer:
    """The explorer, beginning with this shuffle."""
    return ShuffleExplorer(Choice(mode, offset, width, mask))
