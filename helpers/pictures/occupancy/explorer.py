"""The explorer of notebook 05: GPU, threads, registers, shared bytes → how many blocks an SM holds, and why no more.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import ipywidgets

from gemm_kernels import LADDER, Kernel, OwnKernel, get
from gpusim import devices
from helpers.pictures import theme
from helpers.pictures.controls import choice_list, range_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.occupancy.facts import Resources, resources_of
from helpers.pictures.occupancy.figure import FIGURE_HEIGHT, filling, occupancy_figure
from helpers.pictures.own_kernel import Own, taken
from helpers.pictures.speeds import speed_of

MOST_REGISTERS, WARP = 255, 32
BY_HAND = "these numbers"


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls."""

    device: devices.Device
    name: str
    resources: Resources


def picture_of(choice: Choice) -> theme.Figure:
    """The filled SM. Raises DoesNotFit."""
    taken = choice.resources
    data = filling(choice.device, choice.device.name, choice.name, taken.threads, taken.registers, taken.shared_bytes)
    return occupancy_figure(data)


class OccupancyExplorer(LiveExplorer):
    """Controls for the GPU and for what a block takes: a kernel's numbers as compiled, or the learner's own."""

    def __init__(self, kernels: Sequence[Kernel | OwnKernel], device: str) -> None:
        names = [(kernel.name, kernel) for kernel in kernels]
        self.device = choice_list("GPU", [(name, gpu) for name, gpu in devices.DEVICES.items()], devices.get(device))
        self.kernel = choice_list("numbers of", [*names, (BY_HAND, None)], kernels[0])
        self.threads = range_slider("threads a block", WARP, 1024, WARP, step=WARP)
        self.registers = range_slider("registers", 1, MOST_REGISTERS, 1)
        self.shared = range_slider("shared bytes", 0, devices.get(device).shared_bytes_per_block_optin, 0, step=1024)
        self._compiled: dict[tuple[Kernel | OwnKernel, str], Resources] = {}
        rows = [[self.device, self.kernel], [self.threads, self.registers], [self.shared]]
        super().__init__("Explorer: what a block takes, and what stops the next one.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        kernel = self.kernel.value
        name = kernel.name if kernel else BY_HAND
        return Choice(self.device.value, name, Resources(self.threads.value, self.registers.value, self.shared.value))

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """A slider that moves leaves the kernel's numbers."""
        self.shared.max = self.device.value.shared_bytes_per_block_optin
        if moved in (self.threads, self.registers, self.shared):
            self.kernel.value = None

    def needs(self) -> Iterable[Hashable]:
        return [(self.kernel.value, self.device.value.arch)] if self.kernel.value else []

    def draw(self) -> tuple[theme.Figure, str]:
        if self.kernel.value is not None:
            self._take_the_kernels_numbers()
        return picture_of(self.choice), ""

    def later(self) -> Callable[[], str] | None:
        """How fast the chosen kernel is on the GPU that is recorded, or else would be; nothing for numbers of none."""
        kernel = self.kernel.value
        if kernel is None or self.device.value != devices.DEFAULT or getattr(kernel, "args", None) is not None:
            return None
        return lambda: f"{speed}." if (speed := speed_of(kernel)) else ""

    def _take_the_kernels_numbers(self) -> None:
        """Set the sliders to what the kernel takes on this GPU."""
        key = (self.kernel.value, self.device.value.arch)
        if key not in self._compiled:
            self._compiled[key] = resources_of(*key)
        taken = self._compiled[key]
        with self.quiet():
            self.threads.min = min(WARP, taken.threads)  # of a learner's block, which may be smaller than a warp
            self.threads.value, self.registers.value = taken.threads, taken.registers
            self.shared.max = max(self.shared.max, taken.shared_bytes)
            self.shared.value = taken.shared_bytes


def explore(own: Own = None, *, kernel: str = "block_tile_2d", device: str = devices.DEFAULT.name) -> OccupancyExplorer:
    """The explorer, beginning with a kernel of the ladder, or with a learner's own."""
    own = taken(own)
    first = own or get(kernel)
    return OccupancyExplorer([first, *(kernel for kernel in LADDER if kernel != first)], device)
