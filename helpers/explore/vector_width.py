"""The explorer of notebook 08: width and leading dimension → the instructions, the requests and the sectors.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import ipywidgets
import numpy as np

from gemm_kernels import Kernel, Launch, OwnKernel, get
from helpers import compiler, run
from helpers.analysis.vector_width import LineCode, Way, line_code
from helpers.compiler import CompiledKernel
from helpers.devices import DEFAULT
from helpers.draw import theme
from helpers.draw.vector_width import FIGURE_HEIGHT, vector_width_figure, widths_figure
from helpers.explore.bank_board import shown
from helpers.explore.controls import choice_list
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.widgets import choice_slider, number_slider
from helpers.simulator.errors import Misaligned

KERNELS = ("coalesced", "transposed", "interleaved", "vectorized", "vectorized_ptx", "async_copy", "warptiled")
COPY = "a copy of four floats a lane"
STRIDES = (128, 129, 130, 132, 136, 256, 1000, 1023, 1024)
LANES, ROWS, MOST_SHIFT = 32, 4, 4
LOAD_LINE, STORE_LINE = 8, 9

# Each lane of a warp copies four floats of a row of A, whatever the width: sixteen bytes at once, or in several passes.
COPY_SOURCE = """\
template <typename Vector, bool OWN_FOUR>   // Vector: float, float2 or float4
__global__ void copy_row(int stride, int row, int first, const float *A, float *C) {
    constexpr int PASSES = 16 / sizeof(Vector), STEP = OWN_FOUR ? 1 : 32;
    const int lane = threadIdx.x, start = OWN_FOUR ? PASSES * lane : lane;
    auto from = reinterpret_cast<const Vector *>(&A[row * stride + first]);
    auto to = reinterpret_cast<Vector *>(C);
    Vector mine[PASSES];
    for (int i = 0; i < PASSES; ++i) mine[i] = from[start + i * STEP];
    for (int i = 0; i < PASSES; ++i) to[start + i * STEP] = mine[i];
}
"""


@dataclass(frozen=True)
class Width:
    """A way to copy four floats a lane. arguments: the kernel's template arguments."""

    label: str
    arguments: str

    @property
    def entry(self) -> str:
        return f"copy_row<{self.arguments}>"


WIDTHS = (
    Width("float, four passes", "float, false"),
    Width("float, its own four", "float, true"),
    Width("float2, two passes", "float2, false"),
    Width("float4, at once", "float4, false"),
)


@dataclass(frozen=True)
class Copy:
    """A row of a matrix to copy: `stride` floats from row to row, beginning at float `first` of row `row`."""

    stride: int = 128
    row: int = 0
    first: int = 0


@lru_cache(maxsize=256)
def way_of(width: Width, copy: Copy) -> Way:
    """What the load of A costs the warp, recorded in machine code."""
    A, C = np.zeros(ROWS * copy.stride + MOST_SHIFT + 4 * LANES, np.float32), np.zeros(4 * LANES, np.float32)
    args = (np.int32(copy.stride), np.int32(copy.row), np.int32(copy.first), A, C)
    try:
        recording = run.recorded(run.simulated(COPY_SOURCE, width.entry), (1,), (LANES,), args)
    except Misaligned:
        byte = 4 * (copy.row * copy.stride + copy.first)
        size = {"float2": 8, "float4": 16}[width.arguments.split(",")[0]]
        reason = f"Row {copy.row} begins at byte {theme.thousands(byte)} of A, which is no multiple of {size}."
        return Way(width.label, 16 // size, 0, refused=reason)
    return Way(width.label, recording.total("requests", "global", "ld"), recording.total("sectors", "global", "ld"))


def _instructions(compiled: CompiledKernel) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """(PTX by line, SASS by line)."""
    try:
        return compiler.ptx_by_line(compiled), compiler.sass_by_line(compiled)
    except (compiler.NvdisasmMissing, compiler.DisassemblyError) as error:
        raise CannotShow(str(error)) from error


@lru_cache(maxsize=8)
def _copy_instructions(entry: str) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    return _instructions(run.simulated(COPY_SOURCE, entry).compiled)


def picture_of(width: Width, copy: Copy) -> theme.Figure:
    """The load and the store of one way to copy, as compiled, and the load's cost beside the other ways'."""
    lines = [_copy_code(width, line, array) for line, array in ((LOAD_LINE, "A"), (STORE_LINE, "C"))]
    ways = [way_of(one, copy) for one in WIDTHS]
    where = f"row {copy.row}, from column {copy.first} on, of {theme.plural(copy.stride, 'column')}"
    title = f"A warp copies 128 floats: {where}"
    selected = WIDTHS.index(width)
    return vector_width_figure(lines, ways, selected, title, before=_copy_code(WIDTHS[0], LOAD_LINE, "A"))


def _copy_code(width: Width, line: int, array: str) -> LineCode:
    return line_code(COPY_SOURCE, line, *_copy_instructions(width.entry), array)


@lru_cache(maxsize=24)
def lines_of(kernel: Kernel | OwnKernel | Launch) -> tuple[LineCode, ...]:
    """The lines of a kernel that became memory instructions. Raises CompileError, and CannotShow without nvdisasm."""
    source = kernel.source
    by_line = _instructions(run.compiled(kernel))
    texts = source.splitlines()
    lines = sorted({*by_line[0], *by_line[1]})
    found = [line_code(source, line, *by_line, array_of(texts[line - 1])) for line in lines]
    return tuple(one for one in found if one.ptx or one.sass)


def array_of(text: str) -> str:
    """Whose element a source line moves, "A", "B" or "C", if it names one alone, else ""."""
    named = {name[0] for name in re.findall(r"\b(?:As|Bs|[ABC])(?=\[)", text)}
    return named.pop() if len(named) == 1 else ""


def picture_of_line(launch: Launch, code: LineCode) -> theme.Figure:
    """A line of a kernel, and what it costs warp 0 of the first block."""
    rows = run.record(launch).requests(line=code.line)
    shared = set(rows["space"]) == {"shared"}
    unit = "wavefronts" if shared else "sectors"
    way = Way(f"warp 0, {theme.plural(launch.shape[2], 'step')} of k", len(rows), int(rows[unit].sum()), unit)
    return vector_width_figure([code], [way], 0, f"{launch.name}, line {code.line}")


class VectorWidthExplorer(LiveExplorer):
    """Controls for a copy of the learner's own width and alignment, or for the line of a kernel."""

    def __init__(self, kernels: Sequence[Launch], first: Launch | None, width: Width, copy: Copy) -> None:
        names = [(COPY, None), *((f"kernel {launch.name}", launch) for launch in kernels)]
        self.launch = choice_list("code of", names, first)
        self.line = choice_list("line", [("the copy", None)], None)
        self.width = choice_slider("a lane moves", [(width.label, width) for width in WIDTHS], width)
        self.stride = choice_slider("columns of A", list(dict.fromkeys((*STRIDES, copy.stride))), copy.stride)
        self.row = number_slider("row", ROWS - 1)
        self.first = number_slider("first column", MOST_SHIFT)
        self.row.value, self.first.value = copy.row, copy.first
        self._compiled: set[Launch | None] = set()
        rows = [[self.launch, self.line], [self.width, self.stride], [self.row, self.first]]
        super().__init__("Explorer: what the compiler makes of a line.", rows, FIGURE_HEIGHT)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Only the controls that change the picture can be moved."""
        for control in (self.width, self.stride, self.row, self.first):
            control.disabled = self.launch.value is not None
        self.line.disabled = self.launch.value is None
        if self.launch.value is None:
            self.line.options = [("the copy", None)]

    def is_slow(self) -> bool:
        return self.launch.value not in self._compiled

    def draw(self) -> tuple[theme.Figure, str]:
        launch = self.launch.value
        if launch is None:
            picture = picture_of(self.width.value, Copy(self.stride.value, self.row.value, self.first.value))
        else:
            with self.quiet():
                self._offer(lines_of(launch))
            if self.line.value is None:
                raise CannotShow(f"No line of {launch.name} accesses memory. Choose another kernel.")
            picture = picture_of_line(launch, self.line.value)
        self._compiled.add(launch)
        return picture, f"Compiled for {DEFAULT.arch}, the architecture of the {DEFAULT.short}."

    def _offer(self, found: Sequence[LineCode]) -> None:
        """The lines to choose from; the one that was chosen stays chosen if it is still there."""
        options = [(f"line {one.line}: {one.text[:44]}", one) for one in found] or [("none", None)]
        if list(self.line.options) != options:
            before = self.line.value
            self.line.options = options
            self.line.value = before if before in found else options[0][1]


def explore(
    own: OwnKernel | None = None, *, kernel: str | None = None, width: Width = WIDTHS[-1], copy: Copy | None = None
) -> VectorWidthExplorer:
    """The explorer, beginning with a copy, or with a kernel of the ladder, or with a learner's own kernel."""
    kernels = [shown(get(name)) for name in dict.fromkeys((*KERNELS, *((kernel,) if kernel else ())))]
    mine = [shown(own)] if own else []
    first = [*mine, *([shown(get(kernel))] if kernel else []), None][0]
    return VectorWidthExplorer([*mine, *kernels], first, width, copy or Copy())


TELLING = (Copy(128, 1), Copy(1000, 1), Copy(132, 1), Copy(130, 1), Copy(129, 1))


def small_multiples(settings: Sequence[Copy] = TELLING) -> theme.Figure:
    """The explorer's static twin: rows that begin at several places, copied in every way."""
    rows = []
    for copy in settings:
        byte = theme.thousands(4 * (copy.row * copy.stride + copy.first))
        rows.append((f"row begins at byte {byte}", [way_of(width, copy) for width in WIDTHS]))
    return widths_figure(rows, "128 floats of a row, copied by one warp: 32-byte sectors that are asked for")
