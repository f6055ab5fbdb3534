"""The source of a kernel with its costs, line by line: which line costs?

`explore()` is the explorer, `source_of(choice)` what it shows and what a notebook stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gemm_kernels import LADDER, OwnKernel, get
from helpers.analysis.lines import source_costs
from helpers.draw import theme
from helpers.draw.heat_source import HeatSource, heat_source
from helpers.explore.bank_board import Staged
from helpers.explore.controls import choice_list
from helpers.explore.launches import record_launch
from helpers.explore.live import LiveExplorer
from helpers.explore.machine_code import record_as_run
from helpers.explore.text_stage import TextStage
from helpers.explore.widgets import choice_buttons, labelled

SIZE, DEPTH = 256, 64  # M = N and K
HEIGHT = 560  # CSS pixels; longer sources scroll


@lru_cache(maxsize=24)
def source_of(staged: Staged, level: str = "sass") -> HeatSource:
    """A kernel's source with the counts of its first block. level: "sass", or "ptx".

    Raises the simulator's and the compiler's errors.
    """
    M, N, K = staged.shape or (SIZE, SIZE, DEPTH)
    program, launch = staged.program, (staged.block, M, N, K)
    if level == "sass":
        recording = record_as_run(program, *launch, shared_bytes=staged.shared_bytes)
    else:
        recording = record_launch(program, *launch, shared_bytes=staged.shared_bytes)
    what = f"counted on one block with K = {K}, in {theme.LEVELS[recording.level]}"
    return heat_source(source_costs(recording, program.name), what)


class HeatSourceExplorer(LiveExplorer):
    """Controls for the kernel and the level at which it is counted."""

    def __init__(self, kernels: Sequence[Staged], first: Staged) -> None:
        self.staged = choice_list("kernel", [(staged.program.name, staged) for staged in kernels], first)
        self.level = choice_buttons("counted in", [(name, level) for level, name in theme.LEVELS.items()], "sass")
        self._counted: set[tuple[Staged, str]] = set()
        rows = [[self.staged, labelled("counted in", self.level)]]
        super().__init__("Explorer: the cost of every line.", rows, HEIGHT, TextStage(HEIGHT))

    def is_slow(self) -> bool:
        return (self.staged.value, self.level.value) not in self._counted

    def draw(self) -> tuple[HeatSource, str]:
        found = source_of(self.staged.value, self.level.value)
        self._counted.add((self.staged.value, self.level.value))
        return found, "Counted by the simulator; click a line to see what it was compiled to."


def explore(own: OwnKernel | None = None, *, kernel: str = "transposed") -> HeatSourceExplorer:
    """The explorer, beginning with a kernel of the ladder, or with a learner's own."""
    kernels = [Staged.of(one) for one in LADDER]
    if own is not None:
        mine = Staged.of(own)
        return HeatSourceExplorer([mine, *kernels], mine)
    return HeatSourceExplorer(kernels, Staged.of(get(kernel)))
