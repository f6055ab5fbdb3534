"""The explorer of notebook 07: stride, padding, width, swizzle, or a line of a kernel → lanes and banks, wavefronts.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np

from gemm_kernels import Kernel, Launch, OwnKernel, get, launch_of
from helpers import run
from helpers.analysis.banks import SharedAccess, shared_accesses
from helpers.devices import BANKS, WARP, WORD_BYTES
from helpers.draw import theme
from helpers.draw.bank_board import FIGURE_HEIGHT, bank_board_figure, bank_boards_figure
from helpers.explore.controls import choice_list, range_slider, switch
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.widgets import choice_slider, number_slider

KERNELS = ("transposed", "padded", "swizzled", "interleaved", "vectorized", "warptiled")
BY_HAND = "a tile of your own"
SIZE, DEPTH = 256, 16  # M = N and K: one block's tile at least, and two steps of its loop
ROW_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)
LANES_DOWN = (1, 2, 4, 8, 16, 32)
VECTORS = {"32": "float", "64": "float2", "128": "float4"}
MOST_PADDING = 8

# One warp stores to a tile as the transposed A tile is stored to: `down` neighbouring lanes go down a column.
TILE_SOURCE = """\
template <typename Vector>   // float, float2 or float4: what a lane stores
__global__ void store_tile(int stride, int down, int swizzle) {
    extern __shared__ float tile[];   // (k, row), rows of `stride` floats
    const int k = threadIdx.x % down, row = threadIdx.x / down * (sizeof(Vector) / sizeof(float));
    const int place = swizzle ? row ^ (4 * k % 32) : row;   // the exclusive or keeps groups of four together
    reinterpret_cast<Vector &>(tile[k * stride + place]) = Vector{};
}
"""


@dataclass(frozen=True)
class Tile:
    """A store to a tile in shared memory by one warp.

    row_length, padding: floats.  down: neighbouring lanes that go down a column; the next ones start a new column.
    bits: 32, 64 or 128, what each lane stores.  swizzle: whether column c of row k is kept at c ^ (4 * k % 32).
    """

    row_length: int = 128
    padding: int = 0
    down: int = 8
    bits: int = 32
    swizzle: bool = False

    @property
    def stride(self) -> int:
        """Floats from a row to the next."""
        return self.row_length + self.padding


@dataclass(frozen=True)
class Place:
    """A source line that accesses shared memory. op: "ld" or "st".  code: its text."""

    line: int
    op: str
    width: int
    name: str
    code: str

    @property
    def label(self) -> str:
        """'line 34: store to As, 32 bits'."""
        return f"line {self.line}: {self.name}, {8 * self.width} bits"


@lru_cache(maxsize=64)
def tile_access(tile: Tile) -> SharedAccess:
    """The warp's store, recorded. Raises CannotShow for a swizzle that leaves the row, Misaligned for a bad padding."""
    if tile.swizzle and tile.row_length < BANKS:
        raise CannotShow(
            f"The swizzle exchanges places within {BANKS} neighbouring floats of a row, but a row has "
            f"{tile.row_length}. Choose rows of {BANKS} floats or more, or turn the swizzle off."
        )
    function = run.simulated(TILE_SOURCE, f"store_tile<{VECTORS[str(tile.bits)]}>")
    args = (np.int32(tile.stride), np.int32(tile.down), np.int32(tile.swizzle))
    floats = tile.down * tile.stride + WARP * tile.bits // (8 * WORD_BYTES)
    shared_bytes = -(-WORD_BYTES * floats // 128) * 128
    recording = run.recorded(function, (1,), (WARP,), args, shared_bytes)
    return shared_accesses(recording)[0][1]


def shown(kernel: Kernel | OwnKernel) -> Launch:
    """The launch that is shown of a kernel."""
    return launch_of(kernel, SIZE, SIZE, DEPTH)


@lru_cache(maxsize=16)
def places(launch: Launch, warp: int = 0) -> dict[Place, tuple[SharedAccess, ...]]:
    """Every line of a kernel with which a warp accesses shared memory, and its requests in the order of execution.

    Raises the simulator's and the compiler's errors, and CannotShow for a warp without such requests.
    """
    recording = run.record(launch)
    texts = {one.line: one.text.strip() for one in recording.by_line()}
    found: dict[Place, list[SharedAccess]] = {}
    for line, access in shared_accesses(recording, warp=warp):
        place = Place(line, access.op, access.width, access.name, texts.get(line, ""))
        found.setdefault(place, []).append(access)
    if not found:
        raise CannotShow(f"Warp {warp} of {launch.name} makes no request to shared memory. Choose another kernel.")
    return {place: tuple(found[place]) for place in sorted(found, key=lambda place: (place.line, place.op))}


def picture_of_tile(tile: Tile) -> theme.Figure:
    """The board of a store to a tile."""
    swizzled = f", swizzled: column ^ (4 · k % {BANKS})" if tile.swizzle else ""
    code = f"tile[k][row], {theme.plural(tile.row_length, 'float')} a row + {tile.padding} of padding{swizzled}"
    rows = f"{theme.plural(tile.stride, 'float')} from row to row"
    title = f"{theme.plural(tile.down, 'lane')} down a column, {tile.bits} bits a lane, {rows}"
    return bank_board_figure(tile_access(tile), title, code)


def picture_of(launch: Launch, place: Place, request: int = 0, warp: int = 0) -> theme.Figure:
    """The board of one request of a kernel's line."""
    access = places(launch, warp)[place][request]
    return bank_board_figure(access, f"{launch.name}, line {place.line}: {place.name}", place.code)


class BankBoardExplorer(LiveExplorer):
    """Controls for a tile of the learner's own, or for the line and request of a kernel."""

    def __init__(self, kernels: Sequence[Launch], first: Launch | None, tile: Tile) -> None:
        names = [(BY_HAND, None), *((f"kernel {launch.name}", launch) for launch in kernels)]
        self.launch = choice_list("show", names, first)
        self.place = choice_list("access", [("the store", None)], None)
        self.request = number_slider("request", 0)
        self.warp = number_slider("warp", 0)
        self.row_length = choice_slider("floats in a row", ROW_LENGTHS, tile.row_length)
        self.padding = range_slider("padding, floats", 0, MOST_PADDING, tile.padding)
        self.down = choice_slider("lanes down", LANES_DOWN, tile.down)
        self.bits = choice_slider("bits a lane", [int(bits) for bits in VECTORS], tile.bits)
        self.swizzle = switch("swizzle by exclusive or", tile.swizzle)
        self._compiled: Launch | None = None
        rows = [
            [self.launch, self.place],
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
        for control in (self.place, self.request, self.warp):
            control.disabled = launch is None
        if launch is None:
            self.place.options = [("the store", None)]
            self.request.max = self.warp.max = 0
        else:
            self.warp.max = -(-launch.threads // WARP) - 1

    def is_slow(self) -> bool:
        return self.launch.value not in (None, self._compiled)

    def draw(self) -> tuple[theme.Figure, str]:
        launch = self.launch.value
        if launch is None:
            return picture_of_tile(self.tile), ""
        found = places(launch, self.warp.value)
        self._compiled = launch
        with self.quiet():
            self._offer(list(found))
            self.request.max = len(found[self.place.value]) - 1
        note = run.counted_in(run.record(launch))
        return picture_of(launch, self.place.value, self.request.value, self.warp.value), note

    def _offer(self, found: list[Place]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(place.label, place) for place in found]
        if list(self.place.options) != options:
            before = self.place.value
            self.place.options = options
            self.place.value = before if before in found else found[0]


def explore(own: OwnKernel | None = None, *, kernel: str | None = None, tile: Tile | None = None) -> BankBoardExplorer:
    """The explorer, beginning with a tile, or with a kernel of the ladder, or with a learner's own kernel."""
    kernels = [shown(get(name)) for name in dict.fromkeys((*KERNELS, *((kernel,) if kernel else ())))]
    mine = [shown(own)] if own else []
    first = [*mine, *([shown(get(kernel))] if kernel else []), None][0]
    return BankBoardExplorer([*mine, *kernels], first, tile or Tile())


TELLING = (
    ("transposed", "st", "As"),
    ("padded", "st", "As"),
    ("swizzled", "st", "As"),
    ("transposed", "st", "Bs"),
    ("transposed", "ld", "As"),
    ("transposed", "ld", "Bs"),
    ("interleaved", "ld", "Bs"),
    ("warptiled", "ld", "Bs"),
)


def small_multiples(settings: Sequence[tuple[str, str, str]] = TELLING) -> theme.Figure:
    """The explorer's static twin: (kernel, "ld" or "st", tile), the first such request of warp 0 of each."""
    boards = []
    for name, op, tile in settings:
        found = places(shown(get(name)))
        access = next(found[place][0] for place in found if place.op == op and place.name.endswith(tile))
        boards.append((name, access))
    return bank_boards_figure(boards, "One request of a warp: 32 banks across, one wavefront a row")
