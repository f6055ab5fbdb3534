"""The explorer of notebook 00: blocks, threads and elements of a one-dimensional launch → who writes what.

`explore(source)` is the explorer, `small_multiples(source)` its static twin, `picture(…)` one setting of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gpusim import compiler
from helpers import cycles, run
from helpers.pictures import theme
from helpers.pictures.controls import range_slider
from helpers.pictures.first_launch.facts import Strip, strip
from helpers.pictures.first_launch.figure import FIGURE_HEIGHT, MOST, strips_figure
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.widgets import choice_slider

ARRAY = "A"
BLOCKS = (1, 2, 4, 8, 16, 32)  # threads of a block
FACTOR = 3.0
TELLING = ((2, 16, 40), (3, 16, 40), (5, 8, 40))


def launch(source: str, grid: int, block: int, elements: int) -> Strip:
    """Who wrote what when `kernel(float *A, int N, float c)` ran with this launch, from recorded addresses.

    source: CUDA C++ with one kernel.  Raises the simulator's and the compiler's errors.
    """
    if not isinstance(elements, int) or not 1 <= elements <= MOST:
        raise CannotShow(f"An array of {elements!r} elements cannot be shown: there is room for 1 to {MOST}.")
    return _launch(source, grid, block, elements)


@lru_cache(maxsize=32)
def _launch(source: str, grid: int, block: int, elements: int) -> Strip:
    return strip(_recorded(source, grid, block, elements), elements, label(grid, block, elements), ARRAY)


@lru_cache(maxsize=32)
def _recorded(source: str, grid: int, block: int, elements: int) -> Any:
    arguments = (np.ones(elements, np.float32), np.int32(elements), np.float32(FACTOR))
    return run.recorded(run.simulated(source, entry_of(source)), (grid,), (block,), arguments)


def speed_of(source: str, grid: int, block: int, elements: int) -> str:
    """What such a small launch would take on a GPU, and how many GFLOPS that is; "" where it cannot be predicted."""
    try:
        prediction = cycles.predict(_recorded(source, grid, block, elements))
    except cycles.CANNOT:
        return ""
    gflops = elements / prediction.ms / 1e6
    return (
        f"{theme.plural(elements, 'multiplication')} in {1000 * prediction.ms:.1f} µs are {gflops:.3f} GFLOPS, "
        f"{prediction.label}: nearly all of it is the launch itself."
    )


def entry_of(source: str) -> str:
    """The name of the only kernel in a source. Raises CannotShow if there is none, or more than one."""
    names = compiler.kernel_names(source)
    if len(names) != 1:
        found_names = ", ".join(names) if names else "none"
        raise CannotShow(f"One kernel (a __global__ function) is expected in the source; found {found_names}.")
    return names[0]


def label(grid: int, block: int, elements: int) -> str:
    """'grid (3,), block (16,), N = 40'"""
    return f"grid ({grid},), block ({block},), N = {elements}"


def picture(source: str, grid: int, block: int, elements: int) -> theme.Figure:
    """Who writes what in one launch."""
    return strips_figure([launch(source, grid, block, elements)], "Which thread writes which element?")


class FirstLaunchExplorer(LiveExplorer):
    """Controls for the number of blocks, the threads of a block, and the length of the array."""

    def __init__(self, source: str, grid: int, block: int, elements: int) -> None:
        self.source = source
        self.grid = range_slider("blocks", 1, MOST // block, grid)
        self.block = choice_slider("threads per block", BLOCKS, block)
        self.elements = range_slider("elements N", 1, MOST, elements)
        rows = [[self.grid, self.block], [self.elements]]
        super().__init__("Explorer: blocks and threads, and which thread writes which element.", rows, FIGURE_HEIGHT)

    def settle(self, moved: object) -> None:
        """As many blocks as fit into the picture."""
        self.grid.max = MOST // self.block.value

    def draw(self) -> tuple[theme.Figure, str]:
        return picture(self.source, self.grid.value, self.block.value, self.elements.value), ""

    def later(self) -> Callable[[], str]:
        """How fast such a launch would be."""
        return partial(speed_of, self.source, self.grid.value, self.block.value, self.elements.value)


def explore(source: str, grid: int = 2, block: int = 16, elements: int = 40) -> FirstLaunchExplorer:
    """The explorer for a learner's kernel `(float *A, int N, float c)`, beginning with this launch."""
    return FirstLaunchExplorer(source, grid, block, elements)


def small_multiples(source: str, settings: Sequence[tuple[int, int, int]] = TELLING) -> theme.Figure:
    """The explorer's static twin: (blocks, threads of a block, elements) below each other."""
    return strips_figure(
        [launch(source, *setting) for setting in settings], "Too few blocks, enough of them, and a block size that fits"
    )
