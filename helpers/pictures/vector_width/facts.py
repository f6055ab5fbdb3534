"""What became of a source line's memory accesses in PTX and in machine code, and what a way to copy costs a warp."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gemm_kernels import Kernel, Launch, OwnKernel
from gpusim import compiler
from gpusim.compiler import CompiledKernel
from gpusim.devices import FLOAT_BYTES, WARP
from gpusim.errors import Misaligned
from helpers import run
from helpers.pictures import CannotTell

_MEMORY_PTX = re.compile(r"(@!?%\w+ )?(ld|st|atom|red|cp\.async)\.(?!param)[\w.:]*(global|shared|local|\.ca|\.cg)")
_MEMORY_SASS = re.compile(r"(@!?U?P\w+ )?(LDG|STG|LDS|STS|LDL|STL|LDGSTS|ATOM\w*|RED)\b")
SIZES = {"float": 4, "float2": 8, "float4": 16}  # bytes
ROWS, MOST_SHIFT = 4, 4  # of the matrix, and columns by which a copy begins later
LOAD_LINE, STORE_LINE = 8, 9  # of COPY_SOURCE
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
class LineCode:
    """A source line and its memory instructions. array: "A", "B" or "C", for its colour, or ""."""

    line: int
    text: str
    ptx: tuple[str, ...]
    sass: tuple[str, ...]
    array: str = ""


@dataclass(frozen=True)
class Way:
    """What one way to copy costs a warp. unit: "sectors" or "wavefronts".  refused: why it cannot be done, or ""."""

    label: str
    requests: int
    cost: int
    unit: str = "sectors"
    refused: str = ""


def line_code(
    source: str, line: int, ptx: Mapping[int, Sequence[str]], sass: Mapping[int, Sequence[str]], array: str = ""
) -> LineCode:
    """The memory instructions of a source line.

    ptx, sass: instructions by line, as `gpusim.compiler.ptx_by_line` and `sass_by_line` give them.
    """
    text = source.splitlines()[line - 1].strip()
    return LineCode(
        line,
        text,
        tuple(instruction for instruction in ptx.get(line, ()) if _MEMORY_PTX.match(instruction)),
        tuple(instruction for instruction in sass.get(line, ()) if _MEMORY_SASS.match(instruction)),
        array,
    )


def instructions_of(compiled: CompiledKernel) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """(PTX by line, SASS by line). Raises CannotTell without nvdisasm."""
    try:
        return compiler.ptx_by_line(compiled), compiler.sass_by_line(compiled)
    except (compiler.NvdisasmMissing, compiler.DisassemblyError) as error:
        raise CannotTell(str(error)) from error


@lru_cache(maxsize=24)
def lines_of(kernel: Kernel | OwnKernel | Launch) -> tuple[LineCode, ...]:
    """The lines of a kernel that became memory instructions. Raises CompileError, and CannotTell without nvdisasm."""
    source = kernel.source
    by_line = instructions_of(run.compiled(kernel))
    texts = source.splitlines()
    lines = sorted({*by_line[0], *by_line[1]})
    codes = [line_code(source, line, *by_line, array_of(texts[line - 1])) for line in lines]
    return tuple(code for code in codes if code.ptx or code.sass)


def array_of(text: str) -> str:
    """Whose element a source line moves, "A", "B" or "C", if it names one alone, else ""."""
    named = {name[0] for name in re.findall(r"\b(?:As|Bs|[ABC])(?=\[)", text)}
    return named.pop() if len(named) == 1 else ""


def cost_of_line(launch: Launch, line: int, label: str = "warp 0") -> Way:
    """What a source line costs warp 0 of a launch's first block, in wavefronts if it accesses shared memory alone."""
    rows = run.record(launch).requests(line=line)
    unit = "wavefronts" if set(rows["space"]) == {"shared"} else "sectors"
    return Way(label, len(rows), int(rows[unit].sum()), unit)


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

    @property
    def first_byte(self) -> int:
        """Where in A the copy begins."""
        return FLOAT_BYTES * (self.row * self.stride + self.first)


@lru_cache(maxsize=256)
def way_of(width: Width, copy: Copy) -> Way:
    """What the load of A costs the warp, recorded in machine code."""
    A, C = np.zeros(ROWS * copy.stride + MOST_SHIFT + 4 * WARP, np.float32), np.zeros(4 * WARP, np.float32)
    args = (np.int32(copy.stride), np.int32(copy.row), np.int32(copy.first), A, C)
    try:
        recording = run.recorded(run.simulated(COPY_SOURCE, width.entry), (1,), (WARP,), args)
    except Misaligned:
        size = SIZES[width.arguments.split(",")[0]]
        byte = f"{copy.first_byte:,}".replace(",", "\u202f")
        reason = f"Row {copy.row} begins at byte {byte} of A, which is no multiple of {size}."
        return Way(width.label, 16 // size, 0, refused=reason)
    return Way(width.label, recording.total("requests", "global", "ld"), recording.total("sectors", "global", "ld"))


@lru_cache(maxsize=8)
def copy_code(width: Width) -> tuple[LineCode, LineCode]:
    """The line that loads from A and the line that stores to C, as compiled. CannotTell without nvdisasm."""
    by_line = instructions_of(run.simulated(COPY_SOURCE, width.entry).compiled)
    load, store = line_code(COPY_SOURCE, LOAD_LINE, *by_line, "A"), line_code(COPY_SOURCE, STORE_LINE, *by_line, "C")
    return _with_types(load, width, "const {} *from;"), _with_types(store, width, "{} *to;")


def _with_types(code: LineCode, width: Width, pointer: str) -> LineCode:
    """A line of the copy with its template arguments put in, behind its pointer's declaration: what a width changes."""
    vector, own_four = width.arguments.split(", ")
    passes, step = 16 // SIZES[vector], 1 if own_four == "true" else 32
    text = code.text.replace("PASSES", str(passes)).replace("STEP", str(step))
    return replace(code, text=f"{pointer.format(vector)} {text}")


def moves_of(kernel: Kernel | OwnKernel | Launch) -> str:
    """'14 × LDG, 16 × LDS.128, …': the loads and stores of a kernel's machine code, counted by name."""
    sass = "\n".join(instruction for line in lines_of(kernel) for instruction in line.sass)
    names = Counter(name.replace(".E", "") for name in re.findall(r"\b(?:LDG|STG|LDS|STS)[.\w]*", sass))
    return ", ".join(f"{count} × {name}" for name, count in sorted(names.items()))
