"""The explorer of notebook 04: tile and phase → what is loaded, what is read, and the bytes from global memory.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import ipywidgets

from gemm_kernels import Kernel, Launch, OwnKernel, get, launch_of
from helpers.pictures import theme
from helpers.pictures.controls import time_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication
from helpers.pictures.speeds import speed_of
from helpers.pictures.tile_phases.facts import phases_of
from helpers.pictures.tile_phases.figure import FIGURE_HEIGHT, TileSize, tile_phases_figure, tile_sizes_figure
from helpers.pictures.widgets import choice_slider, number_slider, offered

SIZE = 64  # M = N = K: every tile divides it, and its elements are large enough to be seen
TILES = (2, 4, 8, 16, 32)


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel; one of the ladder is named with its parameters."""
    launch = launch_of(kernel, SIZE, SIZE, SIZE)
    return replace(launch, name=f"{kernel.name}, {_params(kernel)}") if isinstance(kernel, Kernel) else launch


def _name(kernel: Kernel | OwnKernel) -> str:
    return _params(kernel) if isinstance(kernel, Kernel) else kernel.name


def _params(kernel: Kernel) -> str:
    return ", ".join(f"{name} = {value}" for name, value in kernel.params.items())


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls: a launch, a phase of its loop, and a thread of the block."""

    launch: Launch
    phase: int = 0
    thread: int = 0


def picture_of(choice: Choice) -> theme.Figure:
    """One phase of a block. Raises the simulator's and the compiler's errors, and CannotTell."""
    return tile_phases_figure(phases_of(choice.launch), choice.phase, choice.thread)


class TilePhasesExplorer(LiveExplorer):
    """Controls for the tile, the phase and the thread."""

    def __init__(self, kernels: Sequence[Kernel | OwnKernel], first: Kernel | OwnKernel, speeds: bool) -> None:
        self.speeds = speeds
        self.kernels = {shown(kernel): kernel for kernel in kernels}
        launches = [(_name(kernel), launch) for launch, kernel in self.kernels.items()]
        self.launch = choice_slider("tile", launches, shown(first))
        self.phase = time_slider("phase", 0)
        self.thread = number_slider("thread", 0)
        rows = [[self.launch, self.phase], [self.thread]]
        super().__init__("Explorer: the phases of a tiled kernel.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.launch.value, self.phase.value, self.thread.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many phases and threads as the kernel has."""
        self.thread.max = self.launch.value.threads - 1

    def needs(self) -> Iterable[Hashable]:
        return [self.launch.value]

    def draw(self) -> tuple[theme.Figure, str]:
        with self.quiet():
            self.phase.max = len(phases_of(self.launch.value).phases) - 1
        return picture_of(self.choice), ""

    def later(self) -> Callable[[], str] | None:
        """How fast the kernel is with this tile, recorded or predicted, if that may be known yet."""
        if not self.speeds:
            return None
        kernel = self.kernels[self.launch.value]
        return lambda: f"{speed}." if (speed := speed_of(kernel)) else ""


def explore(own: Own = None, *, tile: int = 16, speeds: bool = False) -> TilePhasesExplorer:
    """The explorer, beginning with this tile of the shared-memory kernel, or with a learner's own kernel.

    speeds: with GFLOPS beside the picture, after the notebook has asked for a prediction of them.
    """
    own = multiplication(own, "the tiles of A and B in shared memory")
    kernels = [get("shared_memory", T=size) for size in TILES]
    if own is not None:
        return TilePhasesExplorer([*kernels, own], own, speeds)
    return TilePhasesExplorer(kernels, kernels[TILES.index(offered("tile", TILES, tile))], speeds)


def small_multiples(tiles: Sequence[int] = (4, 8, 16, 32), phase: int = 1) -> theme.Figure:
    """The explorer's static twin: several tiles of the shared-memory kernel, a row each."""
    rows = []
    for size in tiles:
        rows.append(TileSize(f"T = {size}", phases_of(shown(get("shared_memory", T=size))), phase))
    return tile_sizes_figure(rows, f"One block of shared_memory in its second phase, matrices of {SIZE} × {SIZE}")
