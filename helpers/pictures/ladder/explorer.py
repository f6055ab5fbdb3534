"""The explorer of notebook 14: size and kernel → what each idea bought, beside cuBLAS and the peak.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ipywidgets

from gpusim import devices
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.ladder.facts import (
    UPPER_RUNGS,
    Ladder,
    Shape,
    Suite,
    has_upper_rungs,
    ladder_of,
    shape_label,
)
from helpers.pictures.ladder.figure import FIGURE_HEIGHT, Scale, ladder_columns_figure, ladder_figure
from helpers.pictures.live import LiveExplorer
from helpers.pictures.widgets import choice_buttons, choice_slider, labelled

SUITES: tuple[tuple[str, Suite], ...] = (("square", "ladder"), ("other shapes", "shapes"))
UPPER: tuple[str, Suite] = ("square, upper rungs", UPPER_RUNGS)
KINDS: tuple[tuple[str, Suite], ...] = (*SUITES, ("square, the chosen kernel", "fastest"))
SCALES: tuple[tuple[str, Scale], ...] = (("linear", "linear"), ("logarithmic", "log"))


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls."""

    gpu: str
    suite: Suite
    shape: Shape
    kernel: str
    scale: Scale = "linear"


def picture_of(choice: Choice) -> theme.Figure:
    """All kernels over all shapes, and the list of the chosen one. Raises NoRecording."""
    return ladder_figure(ladder_of(choice.gpu, choice.suite), choice.shape, choice.kernel, choice.scale)


def kinds(gpu: str) -> list[tuple[str, Suite]]:
    """The kinds of shapes that were recorded on a GPU."""
    recorded = [(label, suite) for label, suite in KINDS if gpu in recordings.gpus(suites=(suite,))]
    return [*recorded, UPPER] if SUITES[0] in recorded and has_upper_rungs(gpu) else recorded


class LadderExplorer(LiveExplorer):
    """Controls for the GPU, the kind of shapes, one of them, the kernel that is marked, and the scale."""

    def __init__(self, gpus: Sequence[str], gpu: str, kernel: str, size: int) -> None:
        data = ladder_of(gpu, "ladder")
        self.gpu = choice_list("GPU", [(name, name) for name in gpus], gpu)
        self.suite = choice_buttons("shapes", kinds(gpu), "ladder")
        self.scale = choice_buttons("GFLOPS", SCALES, "linear")
        self.kernel = choice_list("kernel", [(name, name) for name in data.lines], kernel)
        self.shape = choice_slider("shape", _options(data), (size, size, size))
        rows = [[self.gpu, self.kernel], [labelled("shapes", self.suite), labelled("GFLOPS", self.scale)], [self.shape]]
        super().__init__("Explorer: the ladder by size, beside cuBLAS.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.gpu.value, self.suite.value, self.shape.value, self.kernel.value, self.scale.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Another GPU or another suite has its own shapes and kernels."""
        if moved not in (self.gpu, self.suite):
            return
        if list(self.suite.options) != kinds(self.gpu.value):
            before, self.suite.options = self.suite.value, kinds(self.gpu.value)
            self.suite.value = (
                before if before in [suite for _, suite in self.suite.options] else self.suite.options[0][1]
            )
        data = ladder_of(self.gpu.value, self.suite.value)
        kernel = self.kernel.value
        self.shape.options = _options(data)
        self.shape.index = len(data.shapes) - 1
        self.kernel.options = [(name, name) for name in data.lines]
        self.kernel.value = kernel if kernel in data.lines else next(reversed(data.lines))

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice), ""


def _options(data: Ladder) -> list[tuple[str, Shape]]:
    return [(shape_label(shape), shape) for shape in data.shapes]


def explore(*, gpu: str = devices.DEFAULT.name, kernel: str = "warptiled", size: int = 4096) -> LadderExplorer:
    """The explorer over the recordings of a GPU, beginning with this kernel at M = N = K = size."""
    return LadderExplorer(recordings.gpus(suites=[suite for _, suite in KINDS]), gpu, kernel, size)


TELLING = (256, 1024, 4096)


def small_multiples(sizes: Sequence[int] = TELLING, gpu: str = devices.DEFAULT.name) -> theme.Figure:
    """The explorer's static twin: the ladder at several sizes side by side."""
    shapes = [(size, size, size) for size in sizes]
    return ladder_columns_figure(ladder_of(gpu, "ladder"), shapes, f"The ladder on the {gpu}, M = N = K")
