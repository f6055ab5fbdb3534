"""What a number keeps in a shorter format, what a tensor core does to a sum, and what the recordings say of both."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import gpusim
from gemm_kernels import UPPER, tensor
from gpusim import compiler, devices
from gpusim.arithmetic import float8, float32, tensor_core
from helpers import gpu, peaks, recordings
from helpers.measure import tensor as measured
from helpers.recordings import FOLDER
from helpers.recordings.measurement import MEASURED

# The last kernel of each format whose A and B tensor cores take: (title, kernel, operands).
_LAST = (("BF16", "mma_autotuned", "bf16"), ("FP16", "mma_autotuned", "f16"), ("TF32", "tf32", "f32"),
         ("INT8", "int8", "s8"))  # fmt: skip


@dataclass(frozen=True)
class Bits:
    """A number in a format.  bits: sign, exponent and fraction, from the left.  value: what they stand for."""

    format: str
    exponent: int
    fraction: int
    bits: int
    value: float

    @property
    def text(self) -> str:
        """'0 10000000 10010010000', the three parts with a space between them."""
        text = f"{self.bits:0{1 + self.exponent + self.fraction}b}"
        return f"{text[0]} {text[1 : 1 + self.exponent]} {text[1 + self.exponent :]}"

    def flipped(self, part: str, number: int) -> Bits | None:
        """With one bit turned over: the sign, bit `number` of the exponent (0 is worth a factor of 2), or bit `number`
        of the fraction (1 is worth a half). None if the format has no such bit."""
        if part == "exponent":
            bit = self.fraction + number if number < self.exponent else None
        elif part == "fraction":
            bit = self.fraction - number if 1 <= number <= self.fraction else None
        else:
            bit = self.exponent + self.fraction
        if bit is None:
            return None
        bits = self.bits ^ 1 << bit
        return Bits(self.format, self.exponent, self.fraction, bits, _value_of(self.format, bits))


_SHAPES = {"FP32": (8, 23), "TF32": (8, 10), "FP16": (5, 10), "BF16": (8, 7), "E4M3": (4, 3)}


def _value_of(name: str, bits: int) -> float:
    """The number that a format's bits stand for."""
    if name in ("FP32", "TF32", "BF16"):
        return float(np.uint32(bits << 23 - _SHAPES[name][1]).view(np.float32))
    if name == "FP16":
        return float(np.uint16(bits).view(np.float16))
    return float(float8.to_float32(np.uint8([bits]), "e4m3")[0])


def bits_of(number: float) -> list[Bits]:
    """The nearest number in each format."""
    single = np.float32(number)
    with np.errstate(over="ignore"):  # what float16 cannot hold becomes infinite
        half = single.astype(np.float16)
    words = {
        "FP32": int(single.view(np.uint32)),
        "TF32": int(float32.to_tf32(single).view(np.uint32)) >> 13,
        "FP16": int(half.view(np.uint16)),
        "BF16": int(float32.to_bfloat16(single)),
        "E4M3": int(float8.from_float(single[None], "e4m3")[0]),
    }
    return [Bits(name, *_SHAPES[name], bits, _value_of(name, bits)) for name, bits in words.items()]


def formats_of(number: float) -> list[tuple[str, str, float]]:
    """(format, its bits as sign, exponent and fraction, the number that they stand for) of the nearest numbers."""
    return [(bits.format, bits.text, bits.value) for bits in bits_of(number)]


# ---- what the hardware's instruction does, by the simulator's rules


# One m16n8k8 product of a warp. a, b, d: for each lane its registers, (32, 4), (32, 2) and (32, 4).
ONE_PRODUCT = r"""
extern "C" __global__ void product(const float *a, const float *b, float *d) {
    a += threadIdx.x * 4, b += threadIdx.x * 2, d += threadIdx.x * 4;
    float sums[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                   "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
    for (int n = 0; n < 4; ++n) d[n] = sums[n];
}
"""
# The same of FP8: what the compiler makes of one mma.sync.
ONE_PRODUCT_OF_FP8 = r"""
extern "C" __global__ void product(const uint4 *a, const uint2 *b, float4 *d) {
    const uint4 A = a[threadIdx.x];
    const uint2 B = b[threadIdx.x];
    float4 D = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(D.x), "+f"(D.y), "+f"(D.z), "+f"(D.w)
                 : "r"(A.x), "r"(A.y), "r"(A.z), "r"(A.w), "r"(B.x), "r"(B.y));
    d[threadIdx.x] = D;
}
"""


def registers_of(element: Callable[[int, int], int]) -> tuple[np.ndarray, np.ndarray]:
    """(32, 4) and (32, 2): what each lane holds of A and of B for `ONE_PRODUCT`.

    element: (lane, register) → which number of A the lane holds there; A's elements are their own numbers.  B is the
    identity, so that what comes out is A.
    """
    a = np.float32([[element(lane, register) for register in range(4)] for lane in range(32)])
    b = np.float32([[lane % 4 + 4 * register == lane // 4 for register in range(2)] for lane in range(32)])
    return a, b


def matrix_of(d: np.ndarray) -> np.ndarray:
    """(16, 8): the sums that `ONE_PRODUCT` leaves in the lanes' registers, (32, 4), each at its place."""
    lanes, result = np.arange(32), np.empty((16, 8), np.float32)
    for register, values in enumerate(d.T):
        result[lanes // 4 + register // 2 * 8, lanes % 4 * 2 + register % 2] = values
    return result


def random_bfloat16(seed: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Random bfloat16 numbers between -1 and 1: their bits, uint16, and what they stand for, float64."""
    bits = float32.to_bfloat16(np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32))
    return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def machine_code_of_fp8(arch: str) -> dict[str, int]:
    """What one mma.sync of FP8 becomes for an architecture: the machine instructions that convert, multiply and add."""
    text = compiler.disassemble(compiler.compile(ONE_PRODUCT_OF_FP8, "product", arch=arch))
    return dict(Counter(re.findall(r"\b(?:[HQ]MMA|F2FP|FADD)\b", text)))


def sums_of_four(start: float, product: float) -> tuple[float, float, float]:
    """What four equal products add to a sum: exactly, in float32 one after the other, and by an H200's tensor core."""
    single = np.float32(start)
    for _ in range(4):
        single = np.float32(single + np.float32(product))
    form = tensor_core.form(16, 8, "f16", "f16", "f32")
    ones = np.float16([1, 1]).view(np.uint32)[0]
    factor = np.float16([product, product]).view(np.uint32)[0]
    inside = np.arange(32) % 4 < 2  # k = 0 to 3 of every row and column
    a = [np.where(inside, ones, 0).astype(np.uint32)] * 2
    total = [np.full(32, np.float32(start)).view(np.uint32)] * 4
    b = [np.where(inside, factor, 0).astype(np.uint32)]
    core = tensor_core.multiply(form, a, b, total, tensor_core.terms_at_once(devices.DEFAULT.arch, form))[0][0]
    return 4 * product, float(single) - start, float(core) - start


def counted(names: Sequence[str], size: int = 128) -> tuple[tuple[str, ...], ...]:
    """A row of counters for each kernel of the ladder of tensor cores, simulated: requests that load from shared
    memory, one by one and by ldmatrix, the wavefronts of both and how many of these conflicts cost, and HMMA."""
    rows = []
    for name in names:
        kernel = tensor.get(name)
        module = gpusim.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
        numbers = np.random.default_rng(0).uniform(-1, 1, (2, size, size)).astype(np.float32)
        A, B = float32.to_bfloat16(numbers)
        C = np.zeros((size, size), np.float32)
        sizes = (np.int32(size),) * 3
        arguments = (*sizes, np.float32(1), A, B, np.float32(0), C)
        with gpusim.record() as recording:
            module.get_function(kernel.entry)(kernel.grid(size, size), kernel.block, arguments)
        counters = recording.counters
        taken, needed = (
            sum(recording.total(what, "shared", op) for op in ("ld", "ldsm"))
            for what in ("wavefronts", "ideal_wavefronts")
        )
        numbers_of = [
            counters["smsp__sass_inst_executed_op_shared_ld.sum"],
            counters["smsp__sass_inst_executed_op_ldsm.sum"],
            taken,
            taken - needed,
            counters["smsp__inst_executed_pipe_tensor_op_hmma.sum"],
        ]
        rows.append((kernel.name, *(f"{number:,}".replace(",", " ") for number in numbers_of)))
    return tuple(rows)


def errors_by_chain(depth: int, chains: Sequence[int], size: int = 128) -> tuple[tuple[str, ...], ...]:
    """The error of 3xTF32 at a K, if the tensor core adds so many k before the CUDA cores do: simulated, whose bits are
    the GPU's. Beside it the recorded one of cuBLAS in FP32."""
    random = np.random.default_rng(depth)
    A, B = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((size, depth), (depth, size)))
    exact = A.astype(np.float64) @ B.astype(np.float64)
    fp32 = next(
        row["error"] for row in recorded().error_rows
        if (row["way"], row["rows"], row["K"]) == ("FP32, cuBLAS", 2048, depth)
    )  # fmt: skip
    rows = []
    for chain in chains:
        kernel = tensor.get("tf32x3", BK=chain, STAGES=2)
        module = gpusim.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
        C = np.zeros((size, size), np.float32)
        arguments = (*(np.int32(n) for n in (size, size, depth)), np.float32(1), A, B, np.float32(0), C)
        function = module.get_function(kernel.entry)
        function.max_dynamic_shared_size_bytes = max(function.max_dynamic_shared_size_bytes, kernel.shared_bytes)
        function(kernel.grid(size, size), kernel.block, arguments, shared_mem=kernel.shared_bytes)
        error = float(np.sqrt(((C - exact) ** 2).mean() / (exact**2).mean()))
        rows.append((str(chain), f"{error:.2e}", f"{fp32:.2e}"))
    return tuple(rows)


# ---- recordings


@dataclass(frozen=True)
class Duel:
    """A kernel and cuBLAS that took turns with nobody else.  mine, cublas: GFLOPS."""

    mine: float
    cublas: float

    @property
    def share(self) -> float:
        """Of cuBLAS's speed."""
        return self.mine / self.cublas


@dataclass(frozen=True)
class Recorded:
    """The recording of the kernels for tensor cores. rows, errors, duels: as `helpers.measure.tensor` writes them.

    alone_rows: those of a duel, each by itself.
    """

    rows: tuple[dict, ...]
    error_rows: tuple[dict, ...]
    source: str
    duel_rows: tuple[dict, ...]
    alone_rows: tuple[dict, ...]

    def duel(self, kernel: str, size: int, operands: str) -> Duel:
        """The last kernel of a format in turns with cuBLAS alone."""
        rows = [row for row in self.duel_rows if (row["size"], row["operands"]) == (size, operands)]
        position = next(number for number, row in enumerate(rows) if row["kernel"] == kernel)
        return Duel(rows[position]["gflops"], rows[position + 1]["gflops"])

    def _row(self, size: int, operands: str, kernel: str, params: dict | None = None) -> dict:
        return next(
            row for row in self.rows
            if (row["size"], row["operands"], row["kernel"]) == (size, operands, kernel)
            and (params is None or row["params"] == params)
        )  # fmt: skip

    def ladder(self, kernels: Sequence[tensor.TensorKernel], sizes: Sequence[int]) -> tuple[tuple[str, ...], ...]:
        """A row for each kernel in bfloat16: its TFLOPS at each size, and the share of cuBLAS; – where not measured."""
        rows = []
        for kernel in kernels:
            cells = [kernel.name, kernel.idea]
            for size in sizes:
                measured = [
                    row for row in self.rows
                    if row["size"] == size and row["operands"] == "bf16" and row["params"] == dict(kernel.params)
                    and row["kernel"] in (kernel.name, kernel.file.replace("tensor/", "mma_"))
                ]  # fmt: skip
                if not measured:
                    cells += ["–", "–"]
                    continue
                speed = measured[0]["gflops"]
                cells += [f"{speed / 1e3:.0f}", f"{speed / self._row(size, 'bf16', 'cublas')['gflops']:.0%}"]
            rows.append(tuple(cells))
        return tuple(rows)

    def duels(self, sizes: Sequence[int]) -> tuple[tuple[str, ...], ...]:
        """A row for each format and size: what the last kernel and cuBLAS reached in turns with nobody else."""
        rows = []
        for title, kernel, operands in _LAST:
            for size in sizes:
                duel = self.duel(kernel, size, operands)
                cells = (title, str(size), f"{duel.mine / 1e3:.0f}", f"{duel.cublas / 1e3:.0f}", f"{duel.share:.0%}")
                rows.append(cells)
        return tuple(rows)

    def alone(self) -> tuple[tuple[str, ...], ...]:
        """A row for the last kernel of each format and for its cuBLAS, each launched again and again by itself: TFLOPS,
        the clock and the power that the GPU settles at, FLOP of an SM in a cycle, and GFLOP for a joule."""
        rows = []
        for title, kernel, operands in _LAST:
            measured = [row for row in self.alone_rows if row["operands"] == operands]
            position = next(number for number, row in enumerate(measured) if row["kernel"] == kernel)
            for name, row in zip(("last kernel", "cuBLAS"), measured[position : position + 2], strict=True):
                per_cycle = row["gflops"] * 1e3 / (row["mhz"] * devices.DEFAULT.sms)
                cells = (f"{row['gflops'] / 1e3:.0f}", str(row["mhz"]), f"{row['watts']:.0f}", f"{per_cycle:.0f}")
                rows.append((title, name, *cells, f"{row['gflops'] / row['watts']:.0f}"))
        return tuple(rows)

    def single(self, kernels: Sequence[tensor.TensorKernel], size: int) -> tuple[tuple[str, ...], ...]:
        """A row for each kernel that takes float32 and was measured, and for cuBLAS."""
        rival = self._row(size, "f32", "cublas")
        measured = {(row["kernel"], *row["params"].values()): row for row in self.rows if row["size"] == size}
        rows_of = ((kernel.title, measured.get((kernel.name, *kernel.params.values()))) for kernel in kernels)
        rows = [(title, row) for title, row in rows_of if row]
        rows += [("cuBLAS TF32", self._row(size, "f32", "cublas TF32")), ("cuBLAS FP32", rival)]
        return tuple(
            (name, f"{row['gflops'] / 1e3:.1f}", f"{row['gflops'] / rival['gflops']:.2f}", f"{row['error']:.1e}")
            for name, row in rows
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of 4096 and its multiples that were measured."""
        return tuple(sorted({row["size"] for row in self.rows if row["size"] % 4096 == 0}))

    @property
    def depths(self) -> tuple[int, ...]:
        """The K at which errors were recorded."""
        return tuple(dict.fromkeys(row["K"] for row in self.error_rows))

    def errors(self, size: int) -> tuple[tuple[str, ...], ...]:
        """A row for each format: its error at each K, for C of (size, size)."""
        rows: dict[str, list[str]] = {}
        for row in self.error_rows:
            if row["rows"] == size:
                rows.setdefault(row["way"], []).append(f"{row['error']:.1e}")
        return tuple((name, *cells) for name, cells in rows.items())


_CEILINGS = {"TF32": "tf32", "BF16": "bf16", "INT8": "s8"}


def gpus() -> list[str]:
    """The GPUs on which cuBLAS was recorded at every precision."""
    return recordings.gpus(suites=(recordings.FORMATS,))


def by_format(gpu: str, size: int) -> dict[str, float]:
    """Format → cuBLAS's TFLOPS there at M = N = K = size, all in turns; nothing where it was not recorded."""
    try:
        rows = recordings.raw(gpu, recordings.FORMATS)["rows"]
    except recordings.NoRecording:
        return {}
    return {row["format"]: row["tflops"] for row in rows if row["size"] == size}


def beside_float32(gpu: str, size: int) -> tuple[tuple[str, ...], ...]:
    """A row for each format: cuBLAS's TFLOPS there, all in turns, how many times those of float32, and of its roof."""
    speeds, roofs = by_format(gpu, size), peaks.of(devices.get(gpu)).tflops
    return tuple(
        (name, f"{tflops:.0f}", f"{tflops / speeds['FP32']:.1f}", f"{roofs[name]:.0f}", f"{tflops / roofs[name]:.0%}")
        for name, tflops in speeds.items()
    )


def beside_triton(gpu: str) -> tuple[tuple[str, ...], ...]:
    """A row for each size: TFLOPS of a Triton kernel in bfloat16, of our last one and of cuBLAS, all in turns, and what
    ours is of cuBLAS."""
    speeds: dict[int, list[float]] = {}
    for row in recordings.raw(gpu, recordings.TILE_LANGUAGE)["rows"]:
        speeds.setdefault(row["size"], []).append(row["tflops"])
    return tuple(
        (str(size), *(f"{tflops:.0f}" for tflops in (triton, ours, cublas)), f"{ours / cublas:.0%}")
        for size, (triton, ours, cublas) in speeds.items()
    )


def at(gpu: str, size: int) -> list[tuple[str, str, float]]:
    """(format, who, GFLOPS) of what was recorded there at M = N = K = size: cuBLAS, and our last kernels on an H200.

    Both of FP32 there are from the ladder's run: where all formats took turns, the short ones left less power.
    """
    cublas, ours = {name: tflops * 1e3 for name, tflops in by_format(gpu, size).items()}, {}
    if gpu == devices.DEFAULT.name:
        with suppress(recordings.NoRecording):
            last = recordings.gflops(UPPER[-1], size, size, size, gpu)
            cublas["FP32"], ours["FP32"] = last.cublas_gflops, last.gflops
        rows = {(row["kernel"], row["operands"]): row["gflops"] for row in recorded().duel_rows if row["size"] == size}
        ours |= {title: rows[name, operands] for title, name, operands in _LAST if (name, operands) in rows}
    marks = {"cuBLAS": cublas, "our last kernel": ours}
    return [(name, side, gflops) for side, speeds in marks.items() for name, gflops in speeds.items()]


def reached(gpu: str) -> dict[str, float]:
    """Format → GFLOPS that mma.sync gives there from registers alone; nothing where it was not recorded."""
    with suppress(recordings.NoRecording):
        rates = recordings.raw(gpu, "products")["mma_sync"]
        return {name: rates[operands]["rate"] / 1e9 for name, operands in _CEILINGS.items()}
    return {}


@cache
def recorded() -> Recorded:
    """What was recorded on an NVIDIA H200."""
    document = json.loads((FOLDER / "nvidia-h200" / "tensor.json").read_text(encoding="utf-8"))
    provenance = document["provenance"]
    source = f"recorded on {provenance['gpu']}, {provenance['date'][:10]}"
    rows, errors, duels, alone = (tuple(document[name]) for name in ("rows", "errors", "duels", "alone"))
    return Recorded(rows, errors, source, duels, alone)


def speeds(size: int = 4096) -> Recorded:
    """The ladder of tensor cores and the duels: with a GPU measured there, at this size alone; else as recorded."""
    if gpu.backend() != "gpu":
        return recorded()
    with redirect_stdout(io.StringIO()):  # which tells every row as it is measured
        here = measured.here(size)
    return replace(
        recorded(), rows=tuple(here["rows"]), duel_rows=tuple(here["duels"]), source=f"{MEASURED} on {gpu.name()}"
    )
