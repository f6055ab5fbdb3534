"""The explorer of notebook 02: block and grid → which thread computes which element of C, and which warp it is in.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import ipywidgets

from gemm_kernels import Launch, get, launch_of
from helpers.pictures import theme
from helpers.pictures.controls import range_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, sizes, taken
from helpers.pictures.speeds import known, speed_of_block
from helpers.pictures.thread_map.facts import map_of
from helpers.pictures.thread_map.figure import FIGURE_HEIGHT, Corner, thread_map_figure, thread_maps_figure
from helpers.pictures.widgets import choice_buttons, choice_slider, labelled, number_slider

SHAPES = ((16, 16), (32, 32), (40, 48), (64, 64), (24, 100), (100, 24))  # of C; some are no multiple of any block
DIMS = (1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512, 1024)
DIMS_Z = (1, 2, 4, 64, 128)
MOST_BLOCKS = 128  # along an axis of the grid
DEPTH = 1  # K: who stores an element does not depend on it

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls.

    launch: with the block, the grid and the shape of C that are shown.  selected_block, thread: linear numbers.
    """

    launch: Launch
    selected_block: int = 0
    thread: int = 0


def picture_of(choice: Choice) -> theme.Figure:
    """Who computes C. Raises the simulator's and the compiler's errors."""
    return thread_map_figure(map_of(choice.launch), choice.selected_block, choice.thread)


class ThreadMapExplorer(LiveExplorer):
    """Controls for the launch (C's shape, block, grid) and for what is selected in it (a block, a thread)."""

    def __init__(self, kernels: Sequence[tuple[str, Launch]], block: Dims, shape: tuple[int, int]) -> None:
        self.kernel = choice_buttons("x is", kernels, kernels[0][1])
        shapes = [(f"{rows} × {columns}", (rows, columns)) for rows, columns in dict.fromkeys((*SHAPES, shape))]
        self.shape = choice_slider("shape of C", shapes, shape)
        self.dims = [
            choice_slider(f"threads along {axis}", sorted({*(DIMS_Z if axis == "z" else DIMS), size}), size)
            for axis, size in zip("xyz", block, strict=True)
        ]
        self.grid_x, self.grid_y = (range_slider(f"blocks along {axis}", 1, MOST_BLOCKS, 1) for axis in "xy")
        self.block = number_slider("show block", 0)
        self.thread = number_slider("show thread", 0)
        x, y, z = self.dims
        rows = [
            [labelled("x is", self.kernel)],
            [self.shape, z],
            [x, y],
            [self.grid_x, self.grid_y],
            [self.block, self.thread],
        ]
        if kernels[0][1].arguments is not None:  # a launch that is as it is
            rows = [[self.block, self.thread]]
        super().__init__("Explorer: block and grid, and which thread computes which element.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        launch = self._covering
        if launch.arguments is None:
            launch = replace(launch, grid=(self.grid_x.value, self.grid_y.value, launch.grid[2]))
        return Choice(launch, self.block.value, self.thread.value)

    @property
    def _covering(self) -> Launch:
        """The chosen kernel, shape and block, with the grid that covers C."""
        launch = self.kernel.value
        return launch.covering((*self.shape.value, launch.shape[2]), *(dim.value for dim in self.dims))

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """A new block or shape gets the grid that covers C; the selection stays inside the launch."""
        launch = self._covering
        if moved in (None, self.kernel, self.shape, *self.dims):
            x, y, _ = launch.grid
            self.grid_x.max, self.grid_y.max = max(MOST_BLOCKS, x), max(MOST_BLOCKS, y)
            self.grid_x.value, self.grid_y.value = x, y
        self.block.max = self.grid_x.value * self.grid_y.value - 1
        self.thread.max = min(launch.threads, 1024) - 1

    def draw(self) -> tuple[theme.Figure, str]:
        said = speed_of_block(self.choice.launch, known) if self.kernel.value.arguments is None else ""
        return picture_of(self.choice), said

    def later(self) -> Callable[[], str] | None:
        """How fast the kernel is in these blocks, recorded or predicted."""
        return partial(speed_of_block, self.choice.launch) if self.kernel.value.arguments is None else None


def explore(
    own: Own = None, *, block: Sequence[int] = (16, 16), shape: tuple[int, int] = (64, 64)
) -> ThreadMapExplorer:
    """The explorer, beginning with this block and this shape of C.

    `own` puts a learner's kernel first, before the naive and the coalesced one, with its own block and shape.
    """
    block, shape = sizes("block", block, (1, 2, 3)), sizes("shape", shape, (2,))
    kernels = [
        ("the column index (coalesced)", get("coalesced").launch(*shape, DEPTH)),
        ("the row index (naive)", get("naive").launch(*shape, DEPTH)),
    ]
    own = taken(own)
    if own is not None:
        mine = launch_of(own, *shape, DEPTH)
        kernels.insert(0, (f"as in {own.name}", mine))
        block, shape = mine.block, mine.shape[:2]
    return ThreadMapExplorer(kernels, (*block, 1, 1)[:3], shape)


TELLING = (("coalesced", (32, 8, 1)), ("coalesced", (16, 16, 1)), ("naive", (32, 8, 1)), ("naive", (16, 16, 1)))


def small_multiples(settings: Sequence[tuple[str, Dims]] = TELLING, shape: tuple[int, int] = (64, 64)) -> theme.Figure:
    """The explorer's static twin: (kernel, block) side by side, warp 0 in the order of its lanes."""
    corners = []
    for name, block in settings:
        data = map_of(get(name).launch(*shape, DEPTH).in_blocks(*block))
        corners.append(Corner(data, f"{name} ({block[0]}, {block[1]})"))
    M, N = shape
    return thread_maps_figure(corners, f"The upper left corner of C, {M} × {N}: which way does a warp run?")
