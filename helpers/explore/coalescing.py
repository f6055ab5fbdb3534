"""The explorer of notebook 03: block shape, axis order and matrix width → the sectors of one warp.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemm_kernels import Kernel, get
from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.draw.sectors import sectors_figure
from helpers.draw.settings import Setting, settings_figure
from helpers.explore import launches
from helpers.explore.launches import Program
from helpers.explore.widgets import Explorer, Stage, choice_buttons, choice_slider, number_slider
from helpers.measure import recordings
from helpers.measure.measurement import recorded_on
from helpers.simulator.errors import SimulatorError

ROWS = 1024  # of A and C: enough for the tallest block
WIDTHS = (64, 100, 128, 256, 512, 1000, 1023, 1024)  # 1000 and 1023: rows that do not begin where a line begins
BLOCK_DIMS = tuple(2**exponent for exponent in range(11))
RECORDED_SIZE = 2048
STAGE_HEIGHT = 572  # CSS pixels of the sectors picture, three lines of caption included

TELLING_SHAPES = ((32, 1), (16, 16), (32, 32))


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls.

    program: the kernel.  block: threads along x and y.  width: columns of A, B and C.  warp: of block (0, 0).
    k: the step of the loop.
    """

    program: Program
    block: tuple[int, int]
    width: int = 1024
    warp: int = 0
    k: int = 0

    @property
    def warps(self) -> int:
        """Warps of the block, the last one perhaps not full."""
        return -(-self.block[0] * self.block[1] // 32)


def picture_of(choice: Choice) -> theme.Figure:
    """The sectors of the chosen warp at step k. Raises the simulator's and the compiler's errors, and LookupError."""
    recording = launches.record_launch(choice.program, choice.block, M=ROWS, N=choice.width, K=choice.width)
    accesses = launches.gemm_accesses(recording, choice.k, warp=choice.warp)
    x, y = choice.block
    return sectors_figure(accesses, f"{choice.program.name}, block ({x}, {y}): warp {choice.warp}, k = {choice.k}")


def speed_of(choice: Choice) -> str:
    """The recorded GFLOPS of this block shape as a sentence, or why there is none."""
    x, y = choice.block
    size = f"{theme.thousands(RECORDED_SIZE)}³"
    try:
        measured = launches.recorded(get(choice.program.name), choice.block, RECORDED_SIZE)
    except ValueError:  # a learner's own kernel
        return f"{choice.program.name} was not recorded on a GPU."
    if measured is None:
        return f"Block ({x}, {y}) was not recorded at {size}."
    gflops = theme.thousands(measured.gflops)
    return f"{choice.program.name} with block ({x}, {y}) at {size}: {gflops} GFLOPS, {measured.label}."


class CoalescingExplorer(Explorer):
    """Controls for a block's shape, the axis order, warp, k and the matrices' width, over the three ribbons."""

    def __init__(self, kernels: Sequence[tuple[str, Program]], block: tuple[int, int], width: int) -> None:
        self.kernel = choice_buttons("x runs", kernels, kernels[0][1])
        self.block_x = choice_slider("threads along x", BLOCK_DIMS, block[0])
        self.block_y = choice_slider("threads along y", BLOCK_DIMS, block[1])
        self.width = choice_slider("matrix width", WIDTHS, width)
        self.warp = number_slider("warp", 0)
        self.k = number_slider("k", 0)
        stage = Stage(STAGE_HEIGHT)
        rows = ([self.kernel, self.width], [self.block_x, self.block_y], [self.warp, self.k])
        super().__init__("Explorer: block shape and axis order, and the sectors of one warp.", rows, stage)
        for control in (self.kernel, self.block_x, self.block_y, self.width, self.warp, self.k):
            control.observe(self._moved, names="value")
        self._settling = False
        self.update()

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        block = (self.block_x.value, self.block_y.value)
        return Choice(self.kernel.value, block, self.width.value, self.warp.value, self.k.value)

    def update(self) -> None:
        """Fit the sliders' ranges to the choice, then draw it once."""
        self._settling = True
        try:
            self.warp.max = min(self.choice.warps, 32) - 1
            self.k.max = self.width.value - 1
        finally:
            self._settling = False
        try:
            self.stage.show(picture_of(self.choice), speed_of(self.choice))
        except (SimulatorError, CompileError, LookupError) as error:
            self.stage.say(str(error))

    def _moved(self, _: object) -> None:
        if not self._settling:
            self.update()


def explore(own: Program | None = None, *, block: tuple[int, int] = (32, 1), width: int = 1024) -> CoalescingExplorer:
    """The explorer, beginning with this block and width. `own` adds a learner's kernel to the naive and coalesced."""
    kernels = [
        ("down the rows (naive)", Program.of(get("naive"))),
        ("along the columns (coalesced)", Program.of(get("coalesced"))),
    ]
    if own is not None:
        kernels.append((f"as in {own.name}", own))
    return CoalescingExplorer(kernels, block, width)


def small_multiples(
    shapes: Sequence[tuple[int, int]] = TELLING_SHAPES, kernels: Sequence[Kernel] = (), width: int = 1024
) -> theme.Figure:
    """The explorer's static twin: warp 0 at k = 0 for several block shapes, both axis orders, with recorded GFLOPS."""
    settings = []
    for kernel in kernels or (get("naive"), get("coalesced")):
        for block in shapes:
            recording = launches.record_launch(kernel, block, M=ROWS, N=width, K=width)
            shape = launches.block_shape(kernel, block, width, speed_at=RECORDED_SIZE)
            settings.append(Setting(shape, launches.gemm_accesses(recording)))
    title = f"Warp 0 at k = 0, matrices of {theme.plural(width, 'column')}"
    return settings_figure(settings, title, recorded_on(recordings.DEFAULT_GPU))
