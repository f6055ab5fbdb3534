"""The explorer of notebook 07: a kernel and one of its lines → which lane asks for which float, and what that costs.

`explore()` is the explorer, `picture_of(choice)` what it and the notebook are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import ipywidgets

from gemm_kernels import LADDER, Kernel, Launch, OwnKernel, get, launch_of
from gpusim.devices import WARP
from helpers import cycles, run
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.hot_lines.facts import Line, asked
from helpers.pictures.hot_lines.figure import FIGURE_HEIGHT, asked_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication
from helpers.pictures.speeds import PREDICTED_SIZE, recorded
from helpers.pictures.widgets import number_slider

KERNEL = "block_tile_2d"
TILES = ((64, 64, 8, 4, 4), (64, 64, 16, 8, 8))  # other BM, BN, BK, TM and TN of it
SIZE, DEPTH = 256, 64  # M = N and K of the launch whose addresses are drawn


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. request: of the warp in this line, counted from 0."""

    launch: Launch
    line: Line
    request: int = 0
    warp: int = 0


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch whose addresses are drawn of a kernel."""
    return launch_of(kernel, SIZE, SIZE, DEPTH)


def line_of(launch: Launch, text: str, op: str = "ld", array: str = "") -> Line:
    """The first line whose text contains this, and that loads ("ld") or stores ("st"). StopIteration if none does."""
    return next(line for line in asked(launch) if text in line.code and line.op == op and line.array.startswith(array))


def picture_of(choice: Choice, *, whole: bool = False) -> theme.Figure:
    """The lanes of one request. whole: as high as every other. Raises the simulator's errors, and CannotTell."""
    request = asked(choice.launch, choice.warp)[choice.line][choice.request]
    title = f"{choice.launch.name}: block (0, 0), warp {choice.warp}"
    return asked_figure(choice.line, request, title, whole=whole)


def cost_of(launch: Launch, line: Line) -> str:
    """'Line 46: 1 024 requests of 8 wavefronts': counted on the first block."""
    counted = next(row for row in run.record(launch).by_line() if row.line == line.number)
    space, unit = ("global", "sectors") if line.array in "ABC" else ("shared", "wavefronts")
    requests = counted.total("requests", space, line.op)
    each = counted.total(unit, space, line.op) / max(requests, 1)
    return f"Line {line.number}: {theme.plural(requests, 'request')} of {theme.number(each)} {unit}"


def time_of(kernel: Kernel | OwnKernel, line: Line) -> str:
    """', 6% of the predicted time. 31 632 GFLOPS at 4 096³, recorded on NVIDIA H200.': of the whole launch."""
    share = speed = ""
    with suppress(*cycles.CANNOT):
        prediction = cycles.predict(kernel.launch(*(PREDICTED_SIZE,) * 3))
        part = sum(prediction.by_line().get(line.number, {}).values()) * (1 - prediction.time["empty"])
        gflops = theme.thousands(2e-6 * PREDICTED_SIZE**3 / prediction.ms)
        share = f", {part:.0%} of the predicted time"
        speed = f"{gflops} GFLOPS at {theme.thousands(PREDICTED_SIZE)}³, {prediction.label}."
    if isinstance(kernel, Kernel) and (measured := recorded(kernel)):
        speed = f"{theme.thousands(measured.gflops)} GFLOPS at {theme.thousands(measured.M)}³, {measured.label}."
    return f"{share}. {speed}"


class HotLinesExplorer(LiveExplorer):
    """Controls for the kernel, its line, and which request of which warp of the first block is drawn."""

    def __init__(self, kernels: Sequence[Kernel | OwnKernel], first: Kernel | OwnKernel) -> None:
        self.kernel = choice_list("kernel", [(_named(kernel), kernel) for kernel in kernels], first)
        launch = shown(first)
        lines = list(asked(launch))
        self.line = choice_list("line", [(line.label, line) for line in lines], lines[0])
        self.request = number_slider("request", 0)
        self.warp = number_slider("warp", 0)
        rows = [[self.kernel, self.line], [self.request, self.warp]]
        super().__init__("Explorer: the lanes of a line.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(shown(self.kernel.value), self.line.value, self.request.value, self.warp.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        self.warp.max = -(-shown(self.kernel.value).threads // WARP) - 1

    def needs(self) -> Iterable[Hashable]:
        return [self.kernel.value]

    def draw(self) -> tuple[theme.Figure, str]:
        launch = shown(self.kernel.value)
        requests = asked(launch, self.warp.value)
        with self.quiet():
            self._offer(list(requests))
            self.request.max = len(requests[self.line.value]) - 1
        return picture_of(self.choice, whole=True), f"{cost_of(launch, self.line.value)}."

    def later(self) -> Callable[[], str] | None:
        """What the line takes of the predicted time, and how fast the kernel is, behind what was counted."""
        kernel, line = self.kernel.value, self.line.value
        return partial(_sentence, kernel, line)

    def _offer(self, lines: list[Line]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(line.label, line) for line in lines]
        if list(self.line.options) != options:
            before = self.line.value
            self.line.options = options
            self.line.value = before if before in lines else lines[0]


def _named(kernel: Kernel | OwnKernel) -> str:
    """The kernel's name, with its tile and patch where they are not those of the ladder."""
    if not isinstance(kernel, Kernel) or kernel == get(kernel.name):
        return kernel.name
    BM, BN, BK, TM, TN = (kernel.params[name] for name in ("BM", "BN", "BK", "TM", "TN"))
    return f"{kernel.name}, tile {BM} × {BN} × {BK}, patch {TM} × {TN}"


def _sentence(kernel: Kernel | OwnKernel, line: Line) -> str:
    return f"{cost_of(shown(kernel), line)}{time_of(kernel, line)}"


def explore(own: Own = None, *, kernel: str = KERNEL) -> HotLinesExplorer:
    """The explorer, beginning with a kernel of the ladder, or with a learner's own."""
    own = multiplication(own, "which lane asks for which float of a matrix or a tile")
    tiles = [get(KERNEL).replace(**dict(zip(("BM", "BN", "BK", "TM", "TN"), tile, strict=True))) for tile in TILES]
    return HotLinesExplorer([*([own] if own else []), *LADDER, *tiles], own or get(kernel))
