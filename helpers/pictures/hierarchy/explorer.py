"""The explorer of notebook 11: warp tile, thread tile and lane map → the three levels drawn together.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import ipywidgets

from gemm_kernels import Kernel, Launch, OwnKernel, get, launch_of
from gpusim.devices import WARP
from helpers import run
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.hierarchy.facts import levels_of
from helpers.pictures.hierarchy.figure import FIGURE_HEIGHT, hierarchy_figure, lane_maps_figure
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication
from helpers.pictures.speeds import speed_of
from helpers.pictures.widgets import number_slider

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
ZIGZAG = "as in the kernel"
# The line of the kernel that says where a lane is in its warp's tile, and two others that it could be.
LANE_MAP = "lane_y = lane / 2 % LANES_Y, lane_x = lane / 2 / LANES_Y * 2 + lane % 2"
LANE_MAPS = {
    ZIGZAG: LANE_MAP,
    "row by row": "lane_y = lane / LANES_X, lane_x = lane % LANES_X",
    "column by column": "lane_y = lane % LANES_Y, lane_x = lane / LANES_Y",
}


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel."""
    return launch_of(kernel, SIZE, SIZE, 2 * kernel.depth)


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


def with_lane_map(launch: Launch, lane_map: str) -> Launch:
    """The kernel with another order of its lanes, one of LANE_MAPS. CannotShow if its source has no such line."""
    if lane_map == ZIGZAG:
        return launch
    if LANE_MAP not in launch.source:
        raise CannotShow(
            f"{launch.name} does not say where its lanes are as {WARPTILED} does, so that their order cannot be "
            f"changed here. Choose the lane map {ZIGZAG!r}, or a shape of {WARPTILED}."
        )
    return launch.with_source(launch.source.replace(LANE_MAP, LANE_MAPS[lane_map]))


def picture_of(launch: Launch, lane_map: str = ZIGZAG, warp: int = 0, lane: int = 0) -> theme.Figure:
    """The three levels of a kernel with an order of its lanes."""
    data = levels_of(with_lane_map(launch, lane_map))
    return hierarchy_figure(data, warp, lane, "" if lane_map == ZIGZAG else lane_map)


class HierarchyExplorer(LiveExplorer):
    """Controls for the kernel or the shape of its tiles, the lane map, and what is selected."""

    def __init__(self, kernels: Sequence[tuple[str, Launch]], timed: Mapping[Launch, Kernel | OwnKernel]) -> None:
        self.timed = timed  # with the depth that is fast; the pictures need a short loop alone
        self.launch = choice_list("kernel", kernels, kernels[0][1])
        self.lane_map = choice_list("lanes", [(name, name) for name in LANE_MAPS], ZIGZAG)
        self.warp = number_slider("warp", 0)
        self.lane = number_slider("lane", WARP - 1)
        rows = [[self.launch, self.lane_map], [self.warp, self.lane]]
        super().__init__("Explorer: the tiles of block, warp and thread.", rows, FIGURE_HEIGHT)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many warps as the block has."""
        self.warp.max = -(-self.launch.value.threads // WARP) - 1

    def needs(self) -> Iterable[Hashable]:
        return [(self.launch.value, self.lane_map.value)]

    def draw(self) -> tuple[theme.Figure, str]:
        launch, lane_map = self.launch.value, self.lane_map.value
        shown = with_lane_map(launch, lane_map)
        data = levels_of(shown)
        if self.warp.value >= data.warps or not data.elements(self.warp.value):
            raise CannotShow(f"Warp {self.warp.value} of {data.name} stores nothing. Choose another warp.")
        picture = picture_of(launch, lane_map, self.warp.value, self.lane.value)
        return picture, run.counted_in(run.record(shown))

    def later(self) -> Callable[[], str] | None:
        """How fast the kernel is with the lanes as it has them."""
        kernel = self.timed.get(self.launch.value) if self.lane_map.value == ZIGZAG else None
        return kernel and partial(_sentence, kernel)


def explore(own: Own = None) -> HierarchyExplorer:
    """The explorer, beginning with the warp-tiled kernel, or with a learner's own."""
    own = multiplication(own, "the tiles of block, warp and thread in C")
    kernels = [(_label(shape), shown(warptiled(shape)), _timed(shape)) for shape in SHAPES]
    kernels += [(name, shown(get(name)), get(name)) for name in OTHERS]
    if own is not None:
        kernels.insert(0, (own.name, shown(own), own))
    timed = {launch: kernel for _, launch, kernel in kernels if kernel is not None}
    return HierarchyExplorer([(label, launch) for label, launch, _ in kernels], timed)


def _timed(shape: Sequence[int]) -> Kernel | None:
    """The kernel with this shape and the ladder's other parameters; None where its rules refuse them."""
    with suppress(ValueError):
        return get(WARPTILED).replace(**dict(zip(("BM", "BN", "WM", "WN", "TM", "TN"), shape, strict=True)))
    return None


def _sentence(kernel: Kernel | OwnKernel) -> str:
    speed = speed_of(kernel)
    return speed and f"{kernel.name} at {speed}."


def _label(shape: Sequence[int]) -> str:
    BM, BN, WM, WN, TM, TN = shape
    return f"block {BM}×{BN}, warp {WM}×{WN}, thread {TM}×{TN}"


def small_multiples(shape: Sequence[int] = SHAPES[0], lane: int = 3) -> theme.Figure:
    """The explorer's static twin: the orders of the lanes side by side."""
    launch = shown(warptiled(shape))
    maps = [("zigzag" if name == ZIGZAG else name, levels_of(with_lane_map(launch, name))) for name in LANE_MAPS]
    maps.append(("interleaved", levels_of(shown(get("interleaved")))))
    return lane_maps_figure(maps, "The tile of warp 0 by the order of its lanes", lane=lane)
