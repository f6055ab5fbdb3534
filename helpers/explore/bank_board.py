"""The explorer of notebook 07: stride, padding, width, swizzle, or a line of a kernel → lanes and banks, wavefronts.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np

from gemm_kernels import Kernel, OwnKernel, get
from helpers import simulator
from helpers.analysis.banks import SharedAccess, shared_accesses
from helpers.devices import BANKS, WARP, WORD_BYTES
from helpers.draw import theme
from helpers.draw.bank_board import FIGURE_HEIGHT, bank_board_figure, bank_boards_figure
from helpers.explore.controls import choice_list, range_slider, switch
from helpers.explore.launches import Program
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.machine_code import NOTES, record_as_run
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
class Staged:
    """A kernel with its launch.

    block: threads.  shared_bytes: dynamic shared memory.  shape: (M, N, K); None: what suits the picture.
    """

    program: Program
    block: tuple[int, int, int]
    shared_bytes: int = 0
    shape: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, kernel: Kernel | OwnKernel) -> Staged:
        """A kernel of the ladder, or a learner's."""
        shape = kernel.shape if isinstance(kernel, OwnKernel) else None
        return cls(Program.of(kernel), kernel.block, kernel.shared_bytes, shape)


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
    function = _store_tile(VECTORS[str(tile.bits)])
    args = (np.int32(tile.stride), np.int32(tile.down), np.int32(tile.swizzle))
    floats = tile.down * tile.stride + WARP * tile.bits // (8 * WORD_BYTES)
    shared_bytes = -(-WORD_BYTES * floats // 128) * 128
    with simulator.record(level="ptx", checks="off") as recording:
        function((1,), (WARP,), args, shared_mem=shared_bytes)
    return shared_accesses(recording)[0][1]


@lru_cache(maxsize=3)
def _store_tile(vector: str) -> simulator.Kernel:
    entry = f"store_tile<{vector}>"
    return simulator.RawModule(code=TILE_SOURCE, name_expressions=[entry]).get_function(entry)


def _recorded(staged: Staged) -> simulator.Recording:
    M, N, K = staged.shape or (SIZE, SIZE, DEPTH)
    return record_as_run(staged.program, staged.block, M, N, K, shared_bytes=staged.shared_bytes)


@lru_cache(maxsize=16)
def places(staged: Staged, warp: int = 0) -> dict[Place, tuple[SharedAccess, ...]]:
    """Every line of a kernel with which a warp accesses shared memory, and its requests in the order of execution.

    Raises the simulator's and the compiler's errors, and CannotShow for a warp without such requests.
    """
    recording = _recorded(staged)
    texts = {one.line: one.text.strip() for one in recording.by_line()}
    found: dict[Place, list[SharedAccess]] = {}
    for line, access in shared_accesses(recording, warp=warp):
        place = Place(line, access.op, access.width, access.name, texts.get(line, ""))
        found.setdefault(place, []).append(access)
    if not found:
        raise CannotShow(
            f"Warp {warp} of {staged.program.name} makes no request to shared memory. Choose another kernel."
        )
    return {place: tuple(found[place]) for place in sorted(found, key=lambda place: (place.line, place.op))}


def picture_of_tile(tile: Tile) -> theme.Figure:
    """The board of a store to a tile."""
    swizzled = f", swizzled: column ^ (4 · k % {BANKS})" if tile.swizzle else ""
    code = f"tile[k][row], {theme.plural(tile.row_length, 'float')} a row + {tile.padding} of padding{swizzled}"
    rows = f"{theme.plural(tile.stride, 'float')} from row to row"
    title = f"{theme.plural(tile.down, 'lane')} down a column, {tile.bits} bits a lane, {rows}"
    return bank_board_figure(tile_access(tile), title, code)


def picture_of(staged: Staged, place: Place, request: int = 0, warp: int = 0) -> theme.Figure:
    """The board of one request of a kernel's line."""
    access = places(staged, warp)[place][request]
    return bank_board_figure(access, f"{staged.program.name}, line {place.line}: {place.name}", place.code)


class BankBoardExplorer(LiveExplorer):
    """Controls for a tile of the learner's own, or for the line and request of a kernel."""

    def __init__(self, kernels: Sequence[Staged], first: Staged | None, tile: Tile) -> None:
        names = [(BY_HAND, None), *((f"kernel {staged.program.name}", staged) for staged in kernels)]
        self.staged = choice_list("show", names, first)
        self.place = choice_list("access", [("the store", None)], None)
        self.request = number_slider("request", 0)
        self.warp = number_slider("warp", 0)
        self.row_length = choice_slider("floats in a row", ROW_LENGTHS, tile.row_length)
        self.padding = range_slider("padding, floats", 0, MOST_PADDING, tile.padding)
        self.down = choice_slider("lanes down", LANES_DOWN, tile.down)
        self.bits = choice_slider("bits a lane", [int(bits) for bits in VECTORS], tile.bits)
        self.swizzle = switch("swizzle by exclusive or", tile.swizzle)
        self._compiled: Staged | None = None
        rows = [
            [self.staged, self.place],
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
        staged = self.staged.value
        for control in (self.row_length, self.padding, self.down, self.bits, self.swizzle):
            control.disabled = staged is not None
        for control in (self.place, self.request, self.warp):
            control.disabled = staged is None
        if staged is None:
            self.place.options = [("the store", None)]
            self.request.max = self.warp.max = 0
        else:
            x, y, z = staged.block
            self.warp.max = -(-x * y * z // WARP) - 1

    def is_slow(self) -> bool:
        return self.staged.value not in (None, self._compiled)

    def draw(self) -> tuple[theme.Figure, str]:
        staged = self.staged.value
        if staged is None:
            return picture_of_tile(self.tile), ""
        found = places(staged, self.warp.value)
        self._compiled = staged
        with self.quiet():
            self._offer(list(found))
            self.request.max = len(found[self.place.value]) - 1
        note = NOTES[_recorded(staged).level]
        return picture_of(staged, self.place.value, self.request.value, self.warp.value), note

    def _offer(self, found: list[Place]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(place.label, place) for place in found]
        if list(self.place.options) != options:
            before = self.place.value
            self.place.options = options
            self.place.value = before if before in found else found[0]


def explore(own: OwnKernel | None = None, *, kernel: str | None = None, tile: Tile | None = None) -> BankBoardExplorer:
    """The explorer, beginning with a tile, or with a kernel of the ladder, or with a learner's own kernel."""
    kernels = [Staged.of(get(name)) for name in dict.fromkeys((*KERNELS, *((kernel,) if kernel else ())))]
    mine = [Staged.of(own)] if own else []
    first = [*mine, *([Staged.of(get(kernel))] if kernel else []), None][0]
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
        found = places(Staged.of(get(name)))
        access = next(found[place][0] for place in found if place.op == op and place.name.endswith(tile))
        boards.append((name, access))
    return bank_boards_figure(boards, "One request of a warp: 32 banks across, one wavefront a row")
