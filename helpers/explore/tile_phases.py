"""The explorer of notebook 04: tile and phase → what is loaded, what is read, and the bytes from global memory.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets

from gemm_kernels import Kernel, OwnKernel, get
from helpers.analysis.staging import NotStaged
from helpers.analysis.tile_phases import TilePhases, tile_phases
from helpers.draw import theme
from helpers.draw.tile_phases import FIGURE_HEIGHT, TileSize, tile_phases_figure, tile_sizes_figure
from helpers.explore import launches
from helpers.explore.launches import Program
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.widgets import choice_slider, number_slider

SIZE = 64  # M = N = K: every tile divides it, and its elements are large enough to be seen
TILES = (2, 4, 8, 16, 32)
BLOCK = (1, 1, 0)  # neither the first row of blocks nor the first column


@dataclass(frozen=True)
class Tiled:
    """A tiled kernel with its launch.

    label: what the control calls it.  name: what the picture calls it.  program: the kernel.  block: its threads.
    tile: (rows, columns) of C that a block computes.  shape: (M, N, K).  shared_bytes: dynamic shared memory.
    """

    label: str
    name: str
    program: Program
    block: tuple[int, int, int]
    tile: tuple[int, int]
    shape: tuple[int, int, int] = (SIZE, SIZE, SIZE)
    shared_bytes: int = 0

    @classmethod
    def of(cls, kernel: Kernel) -> Tiled:
        """A kernel of the ladder."""
        params = ", ".join(f"{name} = {value}" for name, value in kernel.params.items())
        return cls(params, f"{kernel.name}, {params}", Program.of(kernel), kernel.block, kernel.tile)

    @classmethod
    def of_own(cls, own: OwnKernel) -> Tiled:
        """A learner's kernel."""
        shape = own.shape or (SIZE, SIZE, SIZE)
        return cls(own.name, own.name, Program.of(own), own.block, own.tile, shape, own.shared_bytes)

    @property
    def shown_block(self) -> tuple[int, int, int]:
        """The block that is drawn: (1, 1), or the nearest to it that C has."""
        (rows, columns), (M, N, _) = self.tile, self.shape
        return (min(BLOCK[0], -(-N // columns) - 1), min(BLOCK[1], -(-M // rows) - 1), 0)


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls: a kernel, a phase of its loop, and a thread of the block."""

    tiled: Tiled
    phase: int = 0
    thread: int = 0


@lru_cache(maxsize=16)
def phases_of(tiled: Tiled) -> TilePhases:
    """The phases of one block of a launch, recorded. Raises CannotShow for a kernel without tiles."""
    block, (M, N, K) = tiled.shown_block, tiled.shape
    recording = launches.record_launch(
        tiled.program, tiled.block, M, N, K, blocks=(block,), shared_bytes=tiled.shared_bytes
    )
    unshared = launches.record_launch(get("naive"), (8, 8), M, N, K)
    try:
        return tile_phases(recording, tiled.name, {"A": (M, K), "B": (K, N), "C": (M, N)}, block, unshared)
    except NotStaged as error:
        raise CannotShow(str(error)) from error


def picture_of(choice: Choice) -> theme.Figure:
    """One phase of a block. Raises the simulator's and the compiler's errors, and CannotShow."""
    return tile_phases_figure(phases_of(choice.tiled), choice.phase, choice.thread)


class TilePhasesExplorer(LiveExplorer):
    """Controls for the tile, the phase and the thread."""

    def __init__(self, kernels: Sequence[Tiled], first: Tiled) -> None:
        self.tiled = choice_slider("tile", [(tiled.label, tiled) for tiled in kernels], first)
        self.phase = number_slider("phase", 0)
        self.thread = number_slider("thread", 0)
        self._seen: set[Tiled] = set()
        rows = [[self.tiled, self.phase], [self.thread]]
        super().__init__("Explorer: the phases of a tiled kernel.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.tiled.value, self.phase.value, self.thread.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many phases and threads as the kernel has."""
        x, y, z = self.tiled.value.block
        self.thread.max = x * y * z - 1

    def is_slow(self) -> bool:
        return self.tiled.value not in self._seen

    def draw(self) -> tuple[theme.Figure, str]:
        with self.quiet():
            self.phase.max = len(phases_of(self.tiled.value).phases) - 1
        self._seen.add(self.tiled.value)
        return picture_of(self.choice), ""


def explore(own: OwnKernel | None = None, *, tile: int = 16) -> TilePhasesExplorer:
    """The explorer, beginning with this tile of the shared-memory kernel, or with a learner's own kernel."""
    kernels = [Tiled.of(get("shared_memory").replace(T=size)) for size in TILES]
    if own is not None:
        mine = Tiled.of_own(own)
        return TilePhasesExplorer([*kernels, mine], mine)
    return TilePhasesExplorer(kernels, kernels[TILES.index(tile)])


def small_multiples(tiles: Sequence[int] = (4, 8, 16, 32), phase: int = 1) -> theme.Figure:
    """The explorer's static twin: several tiles of the shared-memory kernel, a row each."""
    rows = []
    for size in tiles:
        tiled = Tiled.of(get("shared_memory").replace(T=size))
        rows.append(TileSize(f"T = {size}", phases_of(tiled), phase))
    return tile_sizes_figure(rows, f"One block of shared_memory in its second phase, matrices of {SIZE} × {SIZE}")
