"""The explorer of notebook 08: stride, padding, width, swizzle, or a line of a kernel → lanes and banks, wavefronts.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

import ipywidgets

from gemm_kernels import Kernel, Launch, OwnKernel, get, launch_of
from gpusim.devices import BANKS, WARP
from helpers import run
from helpers.pictures import theme
from helpers.pictures.bank_board.facts import SharedInstruction, places
from helpers.pictures.bank_board.figure import FIGURE_HEIGHT, bank_board_figure, bank_boards_figure
from helpers.pictures.bank_board.tile_store import VECTORS, Tile, tile_access
from helpers.pictures.controls import choice_list, range_slider, switch
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, of_kind, taken
from helpers.pictures.speeds import speed_of_launch
from helpers.pictures.widgets import choice_slider, number_slider

KERNELS = ("transposed", "padded", "swizzled", "interleaved", "vectorized", "warptiled")
BY_HAND = "a tile of your own"
SIZE, DEPTH = 256, 16  # M = N and K: one block's tile at least, and two steps of its loop
ROW_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)
LANES_DOWN = (1, 2, 4, 8, 16, 32)
MOST_PADDING = 8


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel."""
    return launch_of(kernel, SIZE, SIZE, DEPTH)


def picture_of_tile(tile: Tile, *, whole: bool = False) -> theme.Figure:
    """The board of a store to a tile. whole: as high as every other."""
    swizzled = f", swizzled: column ^ (4 · k % {BANKS})" if tile.swizzle else ""
    code = f"tile[k][row], {theme.plural(tile.row_length, 'float')} per row + {tile.padding} of padding{swizzled}"
    rows = f"{theme.plural(tile.stride, 'float')} from row to row"
    title = f"{theme.plural(tile.down, 'lane')} down a column, {tile.bits} bits per lane, {rows}"
    return bank_board_figure(tile_access(tile), title, code, whole=whole)


def picture_of(
    launch: Launch, instruction: SharedInstruction, request: int = 0, warp: int = 0, *, whole: bool = False
) -> theme.Figure:
    """The board of one request of a kernel's line. whole: as high as every other."""
    access = places(launch, warp)[instruction][request]
    return bank_board_figure(
        access, f"{launch.name}, line {instruction.line}: {instruction.name}", instruction.code, whole=whole
    )


class BankBoardExplorer(LiveExplorer):
    """Controls for a tile of the learner's own, or for the line and request of a kernel."""

    def __init__(self, kernels: Sequence[Launch], first: Launch | None, tile: Tile) -> None:
        names = [(BY_HAND, None), *((f"kernel {launch.name}", launch) for launch in kernels)]
        self.launch = choice_list("show", names, first)
        self.instruction = choice_list("access", [("the store", None)], None)
        self.request = number_slider("request", 0)
        self.warp = number_slider("warp", 0)
        self.row_length = choice_slider("floats in a row", ROW_LENGTHS, tile.row_length)
        self.padding = range_slider("padding, floats", 0, MOST_PADDING, tile.padding)
        self.down = choice_slider("lanes down", LANES_DOWN, tile.down)
        self.bits = choice_slider("bits per lane", list(VECTORS), tile.bits)
        self.swizzle = switch("swizzle by exclusive or", tile.swizzle)
        rows = [
            [self.launch, self.instruction],
            [self.row_length, self.padding],
            [self.down, self.bits],
            [self.request, self.warp, self.swizzle],
        ]
        super().__init__("Explorer: lanes and banks of shared memory.", rows, FIGURE_HEIGHT)

    @property
    def tile(self) -> Tile:
        """What the controls of a tile say now."""
        return Tile(self.row_length.value, self.padding.value, self.down.value, self.bits.value, self.swizzle.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Only the controls that change the picture can be moved."""
        launch = self.launch.value
        for control in (self.row_length, self.padding, self.down, self.bits, self.swizzle):
            control.disabled = launch is not None
        for control in (self.instruction, self.request, self.warp):
            control.disabled = launch is None
        if launch is None:
            self.instruction.options = [("the store", None)]
            self.request.max = self.warp.max = 0
        else:
            self.warp.max = -(-launch.threads // WARP) - 1

    def needs(self) -> Iterable[Hashable]:
        return [self.launch.value] if self.launch.value else []

    def draw(self) -> tuple[theme.Figure, str]:
        launch = self.launch.value
        if launch is None:
            return picture_of_tile(self.tile, whole=True), ""
        accesses = places(launch, self.warp.value)
        with self.quiet():
            self._offer(list(accesses))
            self.request.max = len(accesses[self.instruction.value]) - 1
        note = run.counted_in(run.record(launch))
        return picture_of(launch, self.instruction.value, self.request.value, self.warp.value, whole=True), note

    def later(self) -> Callable[[], str] | None:
        """How fast the kernel is."""
        launch = self.launch.value
        return launch and partial(speed_of_launch, launch)

    def _offer(self, instructions: list[SharedInstruction]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(instruction.label, instruction) for instruction in instructions]
        if list(self.instruction.options) != options:
            before = self.instruction.value
            self.instruction.options = options
            self.instruction.value = before if before in instructions else instructions[0]


def explore(own: Own = None, *, kernel: str | None = None, tile: Tile | None = None) -> BankBoardExplorer:
    """The explorer, beginning with a tile, or with a kernel of the ladder, or with a learner's own kernel."""
    own = taken(own)
    kernels = [shown(get(name)) for name in dict.fromkeys((*KERNELS, *((kernel,) if kernel else ())))]
    mine = [shown(own)] if own else []
    first = [*mine, *([shown(get(kernel))] if kernel else []), None][0]
    return BankBoardExplorer([*mine, *kernels], first, of_kind("tile", tile, Tile) or Tile())


TELLING = (
    ("transposed", "st", "As"),
    ("padded", "st", "As"),
    ("swizzled", "st", "As"),
    ("transposed", "st", "Bs"),
    ("transposed", "ld", "As"),
    ("transposed", "ld", "Bs"),
    ("interleaved", "ld", "Bs"),
    ("shared_memory", "ld", "Bs"),
)


def small_multiples(settings: Sequence[tuple[str, str, str]] = TELLING) -> theme.Figure:
    """The explorer's static twin: (kernel, "ld" or "st", tile), the first such request of warp 0 of each."""
    boards = []
    for name, op, tile in settings:
        accesses = places(shown(get(name)))
        access = next(
            accesses[instruction][0]
            for instruction in accesses
            if instruction.op == op and instruction.name.endswith(tile)
        )
        boards.append((name, access))
    return bank_boards_figure(boards, "One request of a warp: 32 banks across, one row per wavefront, bits per lane")
