"""The explorer of notebook 06: tile sizes → who computes what, step by step, loads per FMA, registers, GFLOPS.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from gemm_kernels import Kernel, Launch, OwnKernel, get, launch_of
from gpusim import devices
from helpers.pictures import theme
from helpers.pictures.controls import time_slider
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.own_kernel import Own, multiplication
from helpers.pictures.register_tile.facts import tile_of
from helpers.pictures.register_tile.figure import FIGURE_HEIGHT, register_tile_figure, register_tiles_figure
from helpers.pictures.speeds import PREDICTED_SIZE, known, predicted, recorded
from helpers.pictures.widgets import choice_slider, number_slider

KERNEL = "block_tile_2d"
SIZES = {
    "BM": (16, 32, 64, 128, 256),
    "BN": (16, 32, 64, 128, 256),
    "BK": (4, 8, 16, 32),
    "TM": (1, 2, 4, 8),
    "TN": (1, 2, 4, 8),
}


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel: one tile, one phase."""
    return launch_of(kernel, *kernel.tile, kernel.depth)


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. k: number of the step.  move: reads and FMAs done, None for all."""

    launch: Launch
    thread: int = 0
    k: int = 0
    move: int | None = None


def picture_of(choice: Choice) -> theme.Figure:
    """A step of a thread. Raises the simulator's and the compiler's errors, and CannotTell."""
    return register_tile_figure(tile_of(choice.launch, choice.thread), choice.k, choice.move)


def kernel_with(**params: int) -> Kernel:
    """The 2-D block tile with these sizes. Raises CannotShow with the broken rule's sentence."""
    try:
        return get(KERNEL).replace(**params)
    except ValueError as error:
        raise CannotShow(str(error)) from error


def cost_of(kernel: Kernel, device: devices.Device, predict: Callable[[Launch], str] = predicted) -> str:
    """'256 threads, 128 registers per thread, 25 % occupancy; …GFLOPS': what the sizes cost, and what was recorded.

    predict: of what was not, `predicted`, or `known`, which does not take its time.
    """
    taken = resources_of(kernel, device.arch)
    share = theme.percent(taken.occupancy(device).fraction, 2)
    text = f"{taken.threads} threads, {taken.registers} registers per thread, {share} occupancy ({device.name})"
    if measured := recorded(kernel):
        size = theme.thousands(measured.M)
        return f"{text}; {theme.thousands(measured.gflops)} GFLOPS at {size}³, {measured.label}."
    predicted = predict(kernel.launch(PREDICTED_SIZE, PREDICTED_SIZE, PREDICTED_SIZE))
    sentence = f" At {theme.thousands(PREDICTED_SIZE)}³: {predicted}." if predicted else ""
    return f"{text}; these sizes were not timed.{sentence}"


class RegisterTileExplorer(LiveExplorer):
    """Controls for the five tile sizes, the thread, the step k and the small moves in it."""

    def __init__(self, own: Launch | None, sizes: dict[str, int]) -> None:
        self.own = own
        self.sizes = {name: choice_slider(name, options, sizes[name]) for name, options in SIZES.items()}
        self.thread = number_slider("thread", 0)
        self.k = time_slider("step k", 0)
        self.move = time_slider("reads and FMAs", 0)
        s = self.sizes
        rows = [[self.k, self.move], [self.thread]]
        if own is None:
            rows = [[s["TM"], s["TN"]], [s["BM"], s["BN"]], [s["BK"], self.thread], [self.k, self.move]]
        super().__init__("Explorer: a thread's tile in registers, step by step.", rows, FIGURE_HEIGHT)

    @property
    def params(self) -> dict[str, int]:
        """The tile sizes that the sliders say."""
        return {name: slider.value for name, slider in self.sizes.items()}

    @property
    def launch(self) -> Launch:
        """What the controls say now. Raises CannotShow."""
        return self.own or shown(kernel_with(**self.params))

    @property
    def choice(self) -> Choice:
        """What the controls say now. Raises CannotShow."""
        return Choice(self.launch, self.thread.value, self.k.value, self.move.value)

    def needs(self) -> Iterable[Hashable]:
        return [] if self.own else [tuple(self.params.values())]

    def draw(self) -> tuple[theme.Figure, str]:
        launch = self.launch
        with self.quiet():
            self.thread.max = launch.threads - 1
            data = tile_of(launch, self.thread.value)
            self.k.max = len(data.ks) - 1
            whole = self.move.value == self.move.max  # a finished step stays finished where the next has more moves
            self.move.max = data.moves(self.k.value)
            if whole:
                self.move.value = self.move.max
        note = "" if self.own else cost_of(kernel_with(**self.params), devices.DEFAULT, known)
        return picture_of(self.choice), note

    def later(self) -> Callable[[], str] | None:
        """What the sizes cost, and how fast they are, recorded or predicted; nothing for a learner's own kernel."""
        return None if self.own else partial(cost_of, kernel_with(**self.params), devices.DEFAULT)


def explore(
    own: Own = None, *, BM: int = 128, BN: int = 128, BK: int = 8, TM: int = 8, TN: int = 8
) -> RegisterTileExplorer:
    """The explorer, beginning with these sizes of the 2-D block tile, or for a learner's own kernel."""
    own = multiplication(own, "what a thread multiplies of the tiles of A and B")
    return RegisterTileExplorer(shown(own) if own else None, {"BM": BM, "BN": BN, "BK": BK, "TM": TM, "TN": TN})


TELLING = ((32, 32, 1), (32, 8, 2), (64, 8, 4), (128, 8, 8))


def small_multiples(settings: Sequence[tuple[int, int, int]] = TELLING) -> theme.Figure:
    """The explorer's static twin: (BM = BN, BK, TM = TN) side by side."""
    tiles = [
        tile_of(shown(kernel_with(BM=block, BN=block, BK=depth, TM=side, TN=side)), 0)
        for block, depth, side in settings
    ]
    return register_tiles_figure(tiles, "What a thread reads and computes at one k")
