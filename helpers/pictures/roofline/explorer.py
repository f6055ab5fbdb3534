"""The explorer of notebooks 01 and 14: GPU, M, N, K → the roof, and where each kernel stands under it.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import ipywidgets

from gemm_kernels import LADDER, Kernel, OwnKernel
from gpusim import devices
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.controls import Switches, choice_list
from helpers.pictures.ladder.facts import ladder_of
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication
from helpers.pictures.roofline.facts import bytes_moved
from helpers.pictures.roofline.figure import (
    FIGURE_HEIGHT,
    KernelPoint,
    Roofline,
    roofline_figure,
    rooflines_figure,
    steps_figure,
)
from helpers.pictures.traffic import compulsory, flops
from helpers.pictures.widgets import choice_slider, labelled

SIZES = (1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # of M and N
DEPTHS = tuple(size for size in SIZES if size >= 32)  # of K
FIRST = ("naive", "coalesced", "shared_memory", "block_tile_2d", "warptiled")


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. kernels: shown; selected: explained, None for the shape alone."""

    device: devices.Device
    shape: tuple[int, int, int]
    kernels: tuple[Kernel, ...] = ()
    selected: str | None = None
    own: OwnKernel | None = None


def point_of(kernel: Kernel, device: devices.Device, shape: tuple[int, int, int]) -> KernelPoint:
    """A kernel of the ladder at a shape: the bytes that it fetches, and its recorded GFLOPS."""
    asked = bytes_moved(kernel.launch(*shape))
    try:
        measured = recordings.find(kernel, *shape, gpu=device.name)
    except recordings.NoRecording:
        measured = None
    gflops, source = (measured.gflops, measured.label) if measured else (None, "")
    return KernelPoint(kernel.name, asked, flops(*shape), _blocks(kernel.tile, shape), gflops, source)


def own_point(own: OwnKernel, shape: tuple[int, int, int]) -> KernelPoint:
    """A learner's kernel: counted, not timed."""
    asked = bytes_moved(own.launch(*shape))
    return KernelPoint(own.name, asked, flops(*shape), _blocks(own.tile, shape))


def _blocks(tile: tuple[int, int], shape: tuple[int, int, int]) -> int:
    return -(-shape[0] // tile[0]) * -(-shape[1] // tile[1])


def roofline_of(choice: Choice) -> Roofline:
    """The roof and the chosen kernels under it. Raises the simulator's and the compiler's errors."""
    points = [point_of(kernel, choice.device, choice.shape) for kernel in choice.kernels]
    if choice.own is not None:
        points.append(own_point(choice.own, choice.shape))
    return Roofline(choice.device, choice.shape, tuple(points))


def picture_of(choice: Choice) -> theme.Figure:
    """The roof and the chosen kernels under it. Raises the simulator's and the compiler's errors."""
    return roofline_figure(roofline_of(choice), choice.selected)


def steps(shapes: Mapping[str, tuple[int, int, int]], device: str = devices.DEFAULT.name) -> theme.Figure:
    """How the roof of a GPU comes about, with these shapes under it: name -> (M, N, K)."""
    return steps_figure(devices.get(device), shapes)


class RooflineExplorer(LiveExplorer):
    """Controls for the GPU, M, N, K, the kernels that are shown and the one that is explained."""

    def __init__(self, device: str, shape: tuple[int, int, int], kernels: Sequence[str], own: OwnKernel | None) -> None:
        self.own = own
        self.device = choice_list("GPU", list(devices.DEVICES.items()), devices.get(device))
        self.M, self.N, self.K = (
            choice_slider(name, DEPTHS if name == "K" else SIZES, size) for name, size in zip("MNK", shape, strict=True)
        )
        self.kernels = Switches("kernels", [kernel.name for kernel in LADDER], kernels)
        self.selected = choice_list("explain", [("the shape", None)], None)
        rows = [[self.device, self.M], [self.N, self.K]]
        if kernels or own:
            rows += [[labelled(self.kernels.description, self.kernels)], [self.selected]]
        super().__init__("Explorer: the roofline of a GPU.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        kernels = tuple(kernel for kernel in LADDER if kernel.name in self.kernels.value)
        shape = (self.M.value, self.N.value, self.K.value)
        return Choice(self.device.value, shape, kernels, self.selected.value, self.own)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Only a kernel that is shown can be explained; at the start it is the last one."""
        if moved not in (None, self.kernels):
            return
        shown = [*self.kernels.value, *([self.own.name] if self.own else [])]
        selected = self.selected.value
        self.selected.options = [("the shape", None), *((name, name) for name in shown)]
        first = shown[-1] if moved is None and shown else None
        self.selected.value = selected if selected in shown else first

    def needs(self) -> Iterable[Hashable]:
        return self.kernels.value

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice), ""


def explore(
    own: Own = None,
    *,
    device: str = devices.DEFAULT.name,
    shape: tuple[int, int, int] = (4096, 4096, 4096),
    kernels: Sequence[str] = FIRST,
) -> RooflineExplorer:
    """The explorer, beginning with this GPU and shape. With `kernels=()` there are only the roof and the shape.

    own: a learner's kernel with its block and tile, counted beside the ladder's.
    """
    own = multiplication(own, "the FLOPs and bytes of M, N and K", any_k=True)
    return RooflineExplorer(device, shape, kernels, own)


def fastest_at(device: devices.Device, shape: tuple[int, int, int]) -> KernelPoint:
    """The ladder's fastest recorded kernel at a shape, with the bytes that no kernel can avoid. Raises NoRecording."""
    suites = [ladder_of(device.name, suite) for suite in ("ladder", "shapes")]
    here = next(data for data in suites if shape in data.shapes)
    name, best = max(here.at(shape).items(), key=lambda item: item[1].gflops)
    total = compulsory(*shape).total
    return KernelPoint(name, total, flops(*shape), 0, best.gflops, here.source)


TELLING = ((1, 4096, 4096), (128, 128, 128), (4096, 4096, 4096))


def small_multiples(
    shapes: Sequence[tuple[int, int, int]] = TELLING, device: str = devices.DEFAULT.name, *, measured: bool = False
) -> theme.Figure:
    """The explorer's static twin: several shapes under the roof of one GPU.

    measured: with the speed of the ladder's fastest kernel, drawn above the bytes that any kernel must move.
    """
    gpu = devices.get(device)
    panels = [Roofline(gpu, shape, (fastest_at(gpu, shape),) if measured else ()) for shape in shapes]
    return rooflines_figure(panels, f"Three multiplications under the roof of the {gpu.name}")
