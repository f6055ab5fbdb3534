"""The explorer of notebook 10: warp tile, thread tile and lane map → the three levels drawn together.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import ipywidgets

from gemm_kernels import Kernel, OwnKernel, get
from helpers.analysis.hierarchy import Hierarchy, hierarchy
from helpers.devices import WARP
from helpers.draw import theme
from helpers.draw.hierarchy import FIGURE_HEIGHT, hierarchy_figure, lane_maps_figure
from helpers.explore.bank_board import Staged
from helpers.explore.controls import choice_list
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.machine_code import NOTES, record_as_run
from helpers.explore.widgets import number_slider

SIZE = 1024  # M = N
WARPTILED = "warptiled"
OTHERS = ("block_tile_2d", "interleaved", "async_copy")
DEPTHS = (2, 4, 8, 16)  # of a K-block: who owns what does not depend on it, and a short loop is compiled sooner
SHAPES = (  # BM, BN, WM, WN, TM, TN
    (128, 256, 64, 64, 16, 8),
    (128, 128, 64, 32, 8, 8),
    (128, 128, 32, 64, 8, 8),
    (64, 128, 32, 32, 8, 4),
    (128, 128, 128, 16, 8, 8),
    (128, 128, 64, 64, 16, 8),
)
ZIGZAG = "zigzag, as in the kernel"
# The line of the kernel that says where a lane is in its warp's tile, and two others that it could be.
LANE_MAP = "lane_y = lane / 2 % LANES_Y, lane_x = lane / 2 / LANES_Y * 2 + lane % 2"
LANE_MAPS = {
    ZIGZAG: LANE_MAP,
    "row by row": "lane_y = lane / LANES_X, lane_x = lane % LANES_X",
    "column by column": "lane_y = lane % LANES_Y, lane_x = lane / LANES_Y",
}


@dataclass(frozen=True)
class Tiled:
    """A kernel with its launch. label: what the control calls it.  shape: (M, N, K) that is recorded."""

    label: str
    staged: Staged
    shape: tuple[int, int, int]

    @classmethod
    def of(cls, kernel: Kernel | OwnKernel, label: str = "") -> Tiled:
        """A kernel of the ladder, or a learner's."""
        if isinstance(kernel, OwnKernel):
            shape = kernel.shape or (SIZE, SIZE, 2 * kernel.depth)
        else:
            shape = (SIZE, SIZE, 2 * kernel.params["BK"])
        return cls(label or kernel.name, Staged.of(kernel), shape)


def warptiled(shape: Sequence[int]) -> Kernel:
    """The warp-tiled kernel with these BM, BN, WM, WN, TM, TN and a BK that its rules allow; ValueError if none is."""
    sizes = dict(zip(("BM", "BN", "WM", "WN", "TM", "TN"), shape, strict=True))
    broken = ""
    for depth in DEPTHS:
        try:
            return get(WARPTILED).replace(**sizes, BK=depth, STAGES=2, BLOCKS=1)
        except ValueError as error:
            broken = str(error)
    raise ValueError(broken)


def with_lane_map(tiled: Tiled, lane_map: str) -> Tiled:
    """The kernel with another order of its lanes, one of LANE_MAPS. CannotShow if its source has no such line."""
    if lane_map == ZIGZAG:
        return tiled
    program = tiled.staged.program
    if LANE_MAP not in program.source:
        raise CannotShow(
            f"{program.name} does not say where its lanes are as {WARPTILED} does, so that their order cannot be "
            f"changed here. Choose the lane map {ZIGZAG!r}, or a shape of {WARPTILED}."
        )
    source = program.source.replace(LANE_MAP, LANE_MAPS[lane_map])
    return replace(tiled, staged=replace(tiled.staged, program=replace(program, source=source)))


@lru_cache(maxsize=16)
def levels_of(tiled: Tiled) -> tuple[Hierarchy, str]:
    """(who owns what in the first block, at which level it was counted). Raises the simulator's and the compiler's
    errors, and CannotShow for a kernel that stores nothing to C."""
    staged = tiled.staged
    M, N, K = tiled.shape
    recording = record_as_run(staged.program, staged.block, M, N, K, shared_bytes=staged.shared_bytes)
    try:
        return hierarchy(recording, (M, N), K, staged.program.name), recording.level
    except LookupError as error:
        raise CannotShow(str(error)) from error


def picture_of(tiled: Tiled, lane_map: str = ZIGZAG, warp: int = 0, lane: int = 0) -> theme.Figure:
    """The three levels of a kernel with an order of its lanes."""
    data, _ = levels_of(with_lane_map(tiled, lane_map))
    return hierarchy_figure(data, warp, lane, "" if lane_map == ZIGZAG else lane_map)


class HierarchyExplorer(LiveExplorer):
    """Controls for the kernel or the shape of its tiles, the lane map, and what is selected."""

    def __init__(self, kernels: Sequence[Tiled], first: Tiled) -> None:
        self.tiled = choice_list("kernel", [(tiled.label, tiled) for tiled in kernels], first)
        self.lane_map = choice_list("lanes", [(name, name) for name in LANE_MAPS], ZIGZAG)
        self.warp = number_slider("warp", 0)
        self.lane = number_slider("lane", WARP - 1)
        self._compiled: set[tuple[Tiled, str]] = set()
        rows = [[self.tiled, self.lane_map], [self.warp, self.lane]]
        super().__init__("Explorer: the tiles of block, warp and thread.", rows, FIGURE_HEIGHT)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many warps as the block has."""
        x, y, z = self.tiled.value.staged.block
        self.warp.max = -(-x * y * z // WARP) - 1

    def is_slow(self) -> bool:
        return (self.tiled.value, self.lane_map.value) not in self._compiled

    def draw(self) -> tuple[theme.Figure, str]:
        tiled, lane_map = self.tiled.value, self.lane_map.value
        data, level = levels_of(with_lane_map(tiled, lane_map))
        self._compiled.add((tiled, lane_map))
        if self.warp.value >= data.warps or not data.elements(self.warp.value):
            raise CannotShow(f"Warp {self.warp.value} of {data.name} stores nothing. Choose another warp.")
        return picture_of(tiled, lane_map, self.warp.value, self.lane.value), NOTES[level]


def explore(own: OwnKernel | None = None) -> HierarchyExplorer:
    """The explorer, beginning with the warp-tiled kernel, or with a learner's own."""
    kernels = [Tiled.of(warptiled(shape), _label(shape)) for shape in SHAPES]
    kernels += [Tiled.of(get(name)) for name in OTHERS]
    if own is not None:
        kernels.insert(0, Tiled.of(own))
    return HierarchyExplorer(kernels, kernels[0])


def _label(shape: Sequence[int]) -> str:
    BM, BN, WM, WN, TM, TN = shape
    return f"block {BM}×{BN}, warp {WM}×{WN}, thread {TM}×{TN}"


def small_multiples(shape: Sequence[int] = SHAPES[0], lane: int = 3) -> theme.Figure:
    """The explorer's static twin: the orders of the lanes side by side."""
    tiled = Tiled.of(warptiled(shape))
    maps = [(name.removesuffix(", as in the kernel"), levels_of(with_lane_map(tiled, name))[0]) for name in LANE_MAPS]
    without_tiles = Tiled.of(get("interleaved"))
    maps.append(("interleaved", levels_of(without_tiles)[0]))
    return lane_maps_figure(maps, "The tile of warp 0 by the order of its lanes", lane=lane)
