"""The explorer of notebook 15: GPU and size → the roof of every precision, and who comes how near to it.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim import devices
from helpers import peaks
from helpers.pictures import precisions, theme
from helpers.pictures.controls import choice_list
from helpers.pictures.live import LiveExplorer
from helpers.pictures.roofs.figure import FIGURE_HEIGHT, Dot, Roofs, roofs_columns_figure, roofs_figure
from helpers.pictures.widgets import choice_slider

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # M = N = K


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. size: M = N = K."""

    device: devices.Device
    size: int


def roofs_of(device: devices.Device, size: int) -> Roofs:
    """The roofs of a GPU by its documents; where it was recorded, cuBLAS and our last kernels at M = N = K = size."""
    reached, dots = {}, []
    for name, side, gflops in precisions.at(device.name, size):
        dots.append(Dot(name, side, peaks.intensity(name, size, size, size), gflops / 1e3))
    reached = {name: gflops / 1e3 for name, gflops in precisions.reached(device.name).items()}
    return Roofs(device.short, device.memory_gb_per_s / 1e3, peaks.of(device).tflops, reached, tuple(dots))


def picture_of(choice: Choice) -> theme.Figure:
    """The roofs of a GPU, and multiplications of this size under them."""
    size = theme.thousands(choice.size)
    return roofs_figure(
        roofs_of(choice.device, choice.size), f"The roofs of the {choice.device.short}; M = N = K = {size}"
    )


class RoofsExplorer(LiveExplorer):
    """Controls for the GPU and the size."""

    def __init__(self, device: str, size: int) -> None:
        recorded = precisions.gpus()
        names = [(f"{name} (recorded)" if name in recorded else name, gpu) for name, gpu in devices.DEVICES.items()]
        self.device = choice_list("GPU", names, devices.get(device))
        self.size = choice_slider("M = N = K", SIZES, size)
        super().__init__("Explorer: the roofs of a GPU, by precision.", [[self.device, self.size]], FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.device.value, self.size.value)

    def draw(self) -> tuple[theme.Figure, str]:
        choice, names = self.choice, {}
        for name, need in self._needs(choice).items():
            least = next((size for size in SIZES if peaks.intensity(name, size, size, size) >= need), None)
            names.setdefault(least, []).append(name)
        sizes = "; ".join(f"{size} for {', '.join(those)}" for size, those in names.items() if size)
        return picture_of(choice), f"Memory need not limit squares from {sizes}."

    @staticmethod
    def _needs(choice: Choice) -> dict[str, float]:
        """Format → the FLOP per byte that its roof needs."""
        slope = choice.device.memory_gb_per_s / 1e3
        return {name: tflops / slope for name, tflops in peaks.of(choice.device).tflops.items()}


def explore(*, device: str = devices.DEFAULT.name, size: int = 4096) -> RoofsExplorer:
    """The explorer, beginning with this GPU and M = N = K = size."""
    return RoofsExplorer(device, size)


TELLING = ("NVIDIA GeForce RTX 4090", "NVIDIA A100-SXM4-80GB", "NVIDIA H20")


def small_multiples(names: Sequence[str] = TELLING) -> theme.Figure:
    """The explorer's static twin: the roofs of several GPUs side by side."""
    return roofs_columns_figure(
        [roofs_of(devices.get(name), SIZES[0]) for name in names], "Which precision a GPU was built for"
    )
