"""The explorer of notebook 02: block and grid → which thread computes which element of C, and which warp it is in.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import ipywidgets

from gemm_kernels import OwnKernel, get
from helpers.analysis.thread_map import ThreadMap, thread_map
from helpers.draw import theme
from helpers.draw.thread_map import FIGURE_HEIGHT, Corner, thread_map_figure, thread_maps_figure
from helpers.explore import launches
from helpers.explore.controls import range_slider
from helpers.explore.launches import Program
from helpers.explore.live import LiveExplorer
from helpers.explore.widgets import choice_buttons, choice_slider, labelled, number_slider

SHAPES = ((16, 16), (32, 32), (40, 48), (64, 64), (24, 100), (100, 24))  # of C; some are no multiple of any block
DIMS = (1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512, 1024)
DIMS_Z = (1, 2, 4, 64, 128)
MOST_BLOCKS = 128  # along an axis of the grid
DEPTH = 1  # K: who stores an element does not depend on it
ROWS_DOWN_X = "naive"

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls.

    program: the kernel.  shape: (M, N) of C.  block, grid: the launch.  selected_block, thread: linear numbers.
    shared_bytes: dynamic shared memory.
    """

    program: Program
    shape: tuple[int, int]
    block: Dims
    grid: Dims
    selected_block: int = 0
    thread: int = 0
    shared_bytes: int = 0


def covering_grid(program: Program, block: Dims, shape: tuple[int, int], own: OwnKernel | None = None) -> Dims:
    """The smallest grid whose blocks cover C. A learner's kernel, `own`, is taken to run x along the columns, and to
    compute as many elements a thread in another block as in its own."""
    M, N = shape
    if own is not None and program == Program.of(own):
        (rows, columns), (x, y, _) = own.tile or (1, 1), own.block
        return -(-N * x // (columns * block[0])), -(-M * y // (rows * block[1])), 1
    down, across = (block[0], block[1]) if program.name == ROWS_DOWN_X else (block[1], block[0])
    rows, columns = -(-M // down), -(-N // across)
    return (rows, columns, 1) if program.name == ROWS_DOWN_X else (columns, rows, 1)


def picture_of(choice: Choice) -> theme.Figure:
    """Who computes C. Raises the simulator's and the compiler's errors."""
    data = map_of(choice.program, choice.shape, choice.block, choice.grid, choice.shared_bytes)
    return thread_map_figure(data, choice.selected_block, choice.thread)


@lru_cache(maxsize=16)
def map_of(program: Program, shape: tuple[int, int], block: Dims, grid: Dims, shared_bytes: int = 0) -> ThreadMap:
    """Who stored what, from the recorded stores of every block."""
    (M, N), (x, y, z) = shape, grid
    every = tuple(product(range(x), range(y), range(z)))
    recording = launches.record_launch(program, block, M, N, DEPTH, blocks=every, shared_bytes=shared_bytes)
    return thread_map(recording, shape, program.name)


class ThreadMapExplorer(LiveExplorer):
    """Controls for the launch (C's shape, block, grid) and for what is selected in it (a block, a thread)."""

    def __init__(
        self, kernels: Sequence[tuple[str, Program]], block: Dims, shape: tuple[int, int], own: OwnKernel | None
    ) -> None:
        self.own = own
        self.kernel = choice_buttons("x runs", kernels, kernels[0][1])
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
            [labelled("x runs", self.kernel)],
            [self.shape, z],
            [x, y],
            [self.grid_x, self.grid_y],
            [self.block, self.thread],
        ]
        super().__init__("Explorer: block and grid, and which thread computes which element.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        x, y, z = (dim.value for dim in self.dims)
        grid = (self.grid_x.value, self.grid_y.value, 1)
        program, own = self.kernel.value, self.own
        shared_bytes = own.shared_bytes if own is not None and program == Program.of(own) else 0
        return Choice(program, self.shape.value, (x, y, z), grid, self.block.value, self.thread.value, shared_bytes)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """A new block or shape gets the grid that covers C; the selection stays inside the launch."""
        choice = self.choice
        if moved in (None, self.kernel, self.shape, *self.dims):
            x, y, _ = covering_grid(choice.program, choice.block, choice.shape, self.own)
            self.grid_x.max, self.grid_y.max = max(MOST_BLOCKS, x), max(MOST_BLOCKS, y)
            self.grid_x.value, self.grid_y.value = x, y
        self.block.max = self.grid_x.value * self.grid_y.value - 1
        x, y, z = choice.block
        self.thread.max = min(x * y * z, 1024) - 1

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice), ""


def explore(
    own: OwnKernel | None = None, *, block: Sequence[int] = (16, 16), shape: tuple[int, int] = (64, 64)
) -> ThreadMapExplorer:
    """The explorer, beginning with this block and this shape of C.

    `own` puts a learner's kernel first, before the naive and the coalesced one, with its own block and shape.
    """
    kernels = [
        ("along the columns (coalesced)", Program.of(get("coalesced"))),
        ("down the rows (naive)", Program.of(get("naive"))),
    ]
    if own is not None:
        kernels.insert(0, (f"as in {own.name}", Program.of(own)))
        block, shape = own.block, own.shape[:2] if own.shape else shape
    return ThreadMapExplorer(kernels, (*block, 1, 1)[:3], shape, own)


TELLING = (("coalesced", (32, 8, 1)), ("coalesced", (16, 16, 1)), ("naive", (32, 8, 1)), ("naive", (16, 16, 1)))


def small_multiples(settings: Sequence[tuple[str, Dims]] = TELLING, shape: tuple[int, int] = (64, 64)) -> theme.Figure:
    """The explorer's static twin: (kernel, block) side by side, warp 0 in the order of its lanes."""
    corners = []
    for name, block in settings:
        program = Program.of(get(name))
        data = map_of(program, shape, block, covering_grid(program, block, shape))
        corners.append(Corner(data, f"{name} ({block[0]}, {block[1]})"))
    M, N = shape
    return thread_maps_figure(corners, f"The upper left corner of C, {M} × {N}: which way does a warp run?")
