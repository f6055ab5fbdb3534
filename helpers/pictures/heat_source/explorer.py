"""The source of a kernel with its costs, line by line: which line costs?

`explore()` is the explorer, `source_of(choice)` what it shows and what a notebook stores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache

from gemm_kernels import LADDER, Kernel, Launch, OwnKernel, get, launch_of
from helpers import run
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.heat_source.facts import source_costs
from helpers.pictures.heat_source.figure import HeatSource, heat_source
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, taken
from helpers.pictures.text_stage import TextStage
from helpers.pictures.widgets import choice_buttons, labelled
from helpers.run import Level

SIZE, DEPTH = 256, 64  # M = N and K
HEIGHT = 560  # CSS pixels; longer sources scroll


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel."""
    return launch_of(kernel, SIZE, SIZE, DEPTH)


@lru_cache(maxsize=24)
def source_of(launch: Launch, level: Level = "auto") -> HeatSource:
    """A kernel's source with the counts of its first block. level: as for `run.record`.

    Raises the simulator's and the compiler's errors.
    """
    recording = run.record(launch, level=level)
    what = f"counted on one block with K = {launch.shape[2]}, in {theme.LEVELS[recording.level]}"
    return heat_source(source_costs(recording, launch.name), what)


class HeatSourceExplorer(LiveExplorer):
    """Controls for the kernel and the level at which it is counted."""

    def __init__(self, kernels: Sequence[Launch], first: Launch) -> None:
        self.launch = choice_list("kernel", [(launch.name, launch) for launch in kernels], first)
        self.level = choice_buttons("counted in", [(name, level) for level, name in theme.LEVELS.items()], "sass")
        rows = [[self.launch, labelled("counted in", self.level)]]
        super().__init__("Explorer: the cost of every line.", rows, HEIGHT, TextStage(HEIGHT))

    def needs(self) -> Iterable[Hashable]:
        return [(self.launch.value, self.level.value)]

    def draw(self) -> tuple[HeatSource, str]:
        source = source_of(self.launch.value, self.level.value)
        return source, "Counted by the simulator; click a line to see what it was compiled to."


def explore(own: Own = None, *, kernel: str = "transposed") -> HeatSourceExplorer:
    """The explorer, beginning with a kernel of the ladder, or with a learner's own."""
    own = taken(own)
    kernels = [shown(kernel) for kernel in LADDER]
    if own is not None:
        mine = shown(own)
        return HeatSourceExplorer([mine, *kernels], mine)
    return HeatSourceExplorer(kernels, shown(get(kernel)))
