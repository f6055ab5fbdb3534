"""Two kernels of the ladder side by side: what is new in the code, and which counters it moved.

`explore()` is the explorer, `step_between(old, new)` what it shows and what a notebook stores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache

from gemm_kernels import LADDER, UPPER, Kernel, OwnKernel, get
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.diff.facts import counted
from helpers.pictures.diff.figure import Step, step
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, taken
from helpers.pictures.source_diff import source_diff
from helpers.pictures.text_stage import TextStage

Shape = tuple[int, int, int]
RUNGS = LADDER + UPPER
SHAPE: Shape = (256, 256, 64)  # (M, N, K) of the launch that is counted, unless a learner's kernel names another
HEIGHT = 620  # CSS pixels; longer diffs scroll


@lru_cache(maxsize=32)
def step_between(old: Kernel | OwnKernel, new: Kernel | OwnKernel) -> Step:
    """What changes from one kernel to the other: lines and counters. Raises the simulator's and compiler's errors."""
    diff = source_diff(old.source, new.source, (old.name, new.name), same=(old.function, new.function))
    shapes = [kernel.shape for kernel in (old, new) if isinstance(kernel, OwnKernel) and kernel.shape]
    M, N, K = shape = shapes[0] if shapes else SHAPE
    (before, level), (after, other) = (counted(kernel.launch(*shape)) for kernel in (old, new))
    levels = theme.LEVELS[level] if level == other else f"{theme.LEVELS[level]} and {theme.LEVELS[other]}"
    what = f"{M} × {N} × {K}, simulated in {levels}"
    return step(diff, (old.name, new.name), before, after, what)


class DiffExplorer(LiveExplorer):
    """Controls for the two kernels."""

    def __init__(self, kernels: Sequence[Kernel | OwnKernel], old: Kernel | OwnKernel, new: Kernel | OwnKernel) -> None:
        names = [(kernel.name, kernel) for kernel in kernels]
        self.old, self.new = choice_list("from", names, old), choice_list("to", names, new)
        super().__init__(
            "Explorer: what is new from kernel to kernel.", [[self.old, self.new]], HEIGHT, TextStage(HEIGHT)
        )

    def needs(self) -> Iterable[Hashable]:
        return self.old.value, self.new.value

    def draw(self) -> tuple[Step, str]:
        diff = step_between(self.old.value, self.new.value)
        return diff, self.new.value.idea


def explore(
    new: OwnKernel | Kernel | str = "padded",
    old: Own = None,
    *,
    own: OwnKernel | None = None,
) -> DiffExplorer:
    """The explorer, beginning with a kernel and the one that it is a change to, or another.

    Each is a kernel of the learner's, or one of the ladder or its name. own: the same as `new`; beside one of the
    learner's stands the ladder's `padded` if `old` is left out.
    """
    after = _of_the_ladder(own or new) or taken(own or new)
    if old is not None:
        before = _of_the_ladder(old) or taken(old)
    elif own is not None and isinstance(new, str):
        before = get(new)
    else:
        before = get((isinstance(after, Kernel) and after.after) or (RUNGS[0].name if after in RUNGS else "padded"))
    return DiffExplorer([*RUNGS, *(rung for rung in (before, after) if rung not in RUNGS)], before, after)


def _of_the_ladder(given: object) -> Kernel | None:
    return next((kernel for kernel in RUNGS if given in (kernel, kernel.name)), None)
