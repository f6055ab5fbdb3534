"""The explorer of notebook 03: block shape, axis order and matrix width → the sectors of one warp.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import ipywidgets

from gemm_kernels import Kernel, Launch, get, launch_of
from gpusim import devices
from gpusim.devices import FLOAT_BYTES, LINE_BYTES, WARP
from helpers import gpu, run
from helpers.measure import WrongResult, performance
from helpers.pictures import theme
from helpers.pictures.block_shapes.facts import SHORT_K, block_shape
from helpers.pictures.coalescing.facts import first_accesses, gemm_accesses
from helpers.pictures.coalescing.figure import FIGURE_HEIGHT, sectors_figure
from helpers.pictures.coalescing.settings import Setting, settings_figure
from helpers.pictures.controls import time_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, sizes, taken
from helpers.pictures.speeds import BLOCKS_SIZE, known, speed_of_block
from helpers.pictures.widgets import choice_buttons, choice_slider, labelled, number_slider
from helpers.recordings.measurement import recorded_on

ROWS = 1024  # of A and C: enough for the tallest block
WIDTHS = (
    64,
    100,
    128,
    256,
    512,
    1000,
    1023,
    1024,
    2048,
    4096,
)  # 1000 and 1023: rows that do not begin where a line begins
BLOCK_DIMS = tuple(2**exponent for exponent in range(11))
MOST_REQUESTS = 64  # of a warp to one array, that are shown of a kernel that is no multiplication

TELLING = (
    ("naive", (32, 1), 1024),
    ("naive", (16, 16), 1024),
    ("naive", (2, 64), 1024),
    ("coalesced", (32, 1), 1024),
    ("coalesced", (16, 16), 1024),
    ("coalesced", (32, 8), 1024),
    ("coalesced", (32, 1), 1023),
    ("coalesced", (16, 16), 1023),
)


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls.

    launch: with the block and the shapes that are shown; K is how long the loop is, and therefore how wide A is.
    warp: of block (0, 0).  k: the step of the loop.
    """

    launch: Launch
    warp: int = 0
    k: int = 0

    @property
    def warps(self) -> int:
        """Warps of the block, the last one perhaps not full."""
        return -(-self.launch.threads // WARP)


def picture_of(choice: Choice) -> theme.Figure:
    """The sectors of the chosen warp at step k. Raises the simulator's and the compiler's errors, and CannotTell."""
    launch, recording = choice.launch, run.record(choice.launch)
    x, y, _ = launch.block
    subject = f"{launch.name}, block ({x}, {y}): warp {choice.warp}"
    if launch.arguments is not None:
        accesses = first_accesses(recording, choice.k, warp=choice.warp)
        return sectors_figure(accesses, f"{subject}, request {choice.k} to each array")
    return sectors_figure(gemm_accesses(recording, choice.k, warp=choice.warp), f"{subject}, k = {choice.k}")


class CoalescingExplorer(LiveExplorer):
    """Controls for a block's shape, the axis order, warp, k and the matrices' width, over the three ribbons."""

    def __init__(self, kernels: Sequence[tuple[str, Launch]], block: tuple[int, int], width: int) -> None:
        self.kernel = choice_buttons("x is", kernels, kernels[0][1])
        self.block_x = choice_slider("threads along x", sorted({*BLOCK_DIMS, block[0]}), block[0])
        self.block_y = choice_slider("threads along y", sorted({*BLOCK_DIMS, block[1]}), block[1])
        self.width = choice_slider("matrix width", sorted({*WIDTHS, width}), width)
        self.warp = number_slider("warp", 0)
        self.k = time_slider("k", SHORT_K - 1)
        self.measure = ipywidgets.Button(description="Measure here", layout={"width": "140px"})
        self.measure.on_click(lambda _: self.measure_here())
        rows = [[labelled("x is", self.kernel), self.width], [self.block_x, self.block_y], [self.warp, self.k]]
        if kernels[0][1].arguments is not None:  # a launch that is as it is
            rows = [[self.warp, self.k]]
        if gpu.backend() == "gpu":
            rows[0].append(self.measure)
        super().__init__("Explorer: block shape and axis order, and the sectors of one warp.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        launch = self.kernel.value
        if launch.arguments is None:
            M, _, K = launch.shape
            z = launch.block[2]
            launch = launch.covering((M, self.width.value, K), self.block_x.value, self.block_y.value, z)
        return Choice(launch, self.warp.value, self.k.value)

    def measure_here(self) -> None:
        """Time the chosen block shape on this machine's GPU, and say what was found below the picture."""
        x, y = self.block_x.value, self.block_y.value
        try:
            kernel = get(self.kernel.value.name).replace(block_x=x, block_y=y)
            sentence = performance(kernel, BLOCKS_SIZE, BLOCKS_SIZE, BLOCKS_SIZE).sentence
        except (ValueError, WrongResult, run.LaunchFailed) as error:
            sentence = str(error)
        self.stage.note.value = html.escape(sentence)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many warps as the block has, as many steps as the loop."""
        self.warp.max = min(self.choice.warps, 32) - 1
        launch = self.kernel.value
        self.k.max = (launch.shape[2] if launch.arguments is None else MOST_REQUESTS) - 1

    def needs(self) -> Iterable[Hashable]:
        return [self.kernel.value]

    def draw(self) -> tuple[theme.Figure, str]:
        choice = self.choice
        return picture_of(choice), speed_of_block(choice.launch, known)

    def later(self) -> Callable[[], str]:
        """How fast the launch is, recorded or predicted."""
        return partial(speed_of_block, self.choice.launch)


class StepExplorer(LiveExplorer):
    """One kernel, one block, one warp: the step k is all that moves."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.k = time_slider("k", launch.shape[2] - 1)
        super().__init__(f"Explorer: step k of {launch.name}.", [[self.k]], FIGURE_HEIGHT)

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(Choice(self.launch, k=self.k.value)), ""


def explore_steps(kernel: Kernel | str, width: int = 1024) -> StepExplorer:
    """A slider over the steps k of a kernel of the ladder, which may be named: warp 0 of its own block, square matrices
    of this width."""
    kernel = get(kernel) if isinstance(kernel, str) else kernel
    return StepExplorer(kernel.launch(ROWS, width, width))


def explore(own: Own = None, *, block: tuple[int, int] = (32, 1), width: int = 1024) -> CoalescingExplorer:
    """The explorer, beginning with this block and width.

    `own` puts a learner's kernel before the naive and the coalesced one, with its own block, and its N as the width.
    """
    block = sizes("block", block, (2,))
    kernels = [
        ("the row index", get("naive").launch(ROWS, width, SHORT_K)),
        ("the column index", get("coalesced").launch(ROWS, width, SHORT_K)),
    ]
    own = taken(own)
    if own is not None:
        mine = launch_of(own, ROWS, width, SHORT_K)
        kernels.insert(0, (f"as in {own.name}", mine))
        block, width = mine.block[:2], mine.shape[1]
    return CoalescingExplorer(kernels, block, width)


def small_multiples(settings: Sequence[tuple[str, tuple[int, int], int]] = TELLING) -> theme.Figure:
    """The explorer's static twin: several settings (kernel, block, matrix width) one above the other.

    A row shows one request of the last warp of block (0, 1) at k = 1, so that rows of odd width do not happen to begin
    with a sector, and the mean over the block's loads. Speeds are shown for widths of whole lines: those were recorded.
    """
    rows = []
    for name, block, width in settings:
        kernel, where = get(name), (0, 1, 0)
        recording = run.record(kernel.launch(ROWS, width, SHORT_K).in_blocks(*block), blocks=(where,))
        accesses = gemm_accesses(recording, k=1, block=where, warp=block[0] * block[1] // 32 - 1)
        whole_lines = width * FLOAT_BYTES % LINE_BYTES == 0
        shape = block_shape(recording, kernel, block, BLOCKS_SIZE if whole_lines else None)
        rows.append(Setting(shape, accesses, f"{theme.plural(width, 'column')}"))
    title = "What one warp asks for at k = 1, one row per setting"
    return settings_figure(rows, title, f"{recorded_on(devices.DEFAULT.name)} at {BLOCKS_SIZE}³")
