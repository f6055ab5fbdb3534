"""Launches of the kernels in tests/kernels and of the ladder: one list for the tests and for recording on a GPU.

A launch is data: which source, which instantiation, which geometry, and how its arguments are made from a seed. Nothing
here needs the simulator or a GPU, so that a machine with one can run the very same launches.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import gemm_kernels
from gemm_kernels import tensor as tensor_kernels
from gemm_kernels.launch import OPTIONS as OPTIONS  # of every launch: the ladder is C++20
from tests.gpusim.goldens import sparse, tensor_core

FOLDER = Path(__file__).parent / "kernels"
LADDER_SHAPES = ((128, 128, 128), (256, 256, 256), (100, 90, 77), (33, 257, 65), (1, 130, 3))
ALPHA, BETA = np.float32(1.25), np.float32(-0.5)
Arguments = Callable[[np.random.Generator], list]


@dataclass(frozen=True)
class Launch:
    """One launch. `approximate` names the special functions that its results depend on, beyond exact arithmetic; if
    there are several, each is alone in one plane of the results. `recorded_as` is the name that the launch had when it
    was recorded, if that was another: the arguments are drawn from it."""

    name: str
    file: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Arguments
    shared_bytes: int = 0
    approximate: tuple[str, ...] = ()
    recorded_as: str = ""

    @property
    def source(self) -> str:
        """The CUDA text."""
        return source_of(self.file)

    def make_arguments(self) -> list:
        """NumPy arrays and scalars, the same at every call and as at the recording."""
        return self.arguments(np.random.default_rng(zlib.crc32((self.recorded_as or self.name).encode())))


@cache
def source_of(file: str) -> str:
    """The text of tests/kernels/<file>.cu or, as "ladder/<name>" and "tensor/<name>", of a kernel of the ladders; as
    "product/<name>" of one form of `mma.sync`, as "sparse_product/<name>" of `mma.sp`."""
    where, _, name = file.partition("/")
    if where == "ladder":
        return gemm_kernels.get(name).source
    if where == "tensor":
        return tensor_kernels.get(name).source
    if where in ("product", "sparse_product"):
        products = tensor_core.PRODUCTS if where == "product" else sparse.PRODUCTS
        return next(product.source for product in products if product.name == name)
    return (FOLDER / f"{file}.cu").read_text(encoding="utf-8")


# ---- how arguments are made


def floats(*shape: int, low: float = -1.0, high: float = 1.0, dtype: type = np.float32) -> Arguments:
    return lambda rng: [rng.uniform(low, high, shape).astype(dtype)]


def _wide(rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Numbers of both signs between 2**low and 2**high, their exponents evenly spread.

    Made without a function that a mathematical library may round otherwise on another machine.
    """
    return rng.choice([-1.0, 1.0], shape) * np.ldexp(1 + rng.random(shape), rng.integers(low, high, shape))


def wide_floats(*shape: int, dtype: type = np.float32) -> Arguments:
    """Of very different sizes, with both signs."""
    return lambda rng: [_wide(rng, shape, -20, 20).astype(dtype)]


def integers(*shape: int, low: int, high: int, dtype: type = np.int32) -> Arguments:
    return lambda rng: [rng.integers(low, high, shape, dtype=dtype)]


def halves(*shape: int) -> Arguments:
    """float16 numbers as their bits."""
    return lambda rng: [rng.uniform(-1, 1, shape).astype(np.float16).view(np.uint16)]


def bfloats(*shape: int) -> Arguments:
    """bfloat16 numbers as their bits, two in a uint32 along the last axis."""

    def make(rng):
        bits = rng.uniform(-1, 1, (*shape[:-1], 2 * shape[-1])).astype(np.float32).view(np.uint32) >> 16
        return [(bits[..., 0::2] | (bits[..., 1::2] << 16)).astype(np.uint32)]

    return make


def single_bfloats(*shape: int) -> Arguments:
    """bfloat16 numbers as their bits."""
    return lambda rng: [(rng.uniform(-1, 1, shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)]


def signed_bytes(*shape: int) -> Arguments:
    """All integers of 8 bits."""
    return integers(*shape, low=-128, high=128, dtype=np.int8)


def wide_halves(*shape: int) -> Arguments:
    """float16 numbers of very different sizes, as their bits."""

    def make(rng):
        return [_wide(rng, shape, -14, 6).astype(np.float16).view(np.uint16)]

    return make


def wide_bfloats(*shape: int) -> Arguments:
    """bfloat16 numbers of very different sizes, as their bits, two in a uint32 along the last axis."""

    def make(rng):
        bits = _wide(rng, (*shape[:-1], 2 * shape[-1]), -20, 20).astype(np.float32).view(np.uint32) >> 16
        return [(bits[..., 0::2] | (bits[..., 1::2] << 16)).astype(np.uint32)]

    return make


def zeros(*shape: int, dtype: type = np.float32) -> Arguments:
    return lambda rng: [np.zeros(shape, dtype)]


def scalars(*values) -> Arguments:
    return lambda rng: list(values)


def i32(*values: int) -> Arguments:
    return scalars(*(np.int32(value) for value in values))


def together(*parts: Arguments) -> Arguments:
    """All arguments of a launch, in order."""
    return lambda rng: [argument for part in parts for argument in part(rng)]


def sparse_matrix(rows: int, columns: int, most: int) -> Arguments:
    """(starts, columns, values) of a CSR matrix whose rows are of very different lengths."""

    def make(rng):
        share = rng.random(rows)
        lengths = (most * (share * share * share)).astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        where = rng.integers(0, columns, starts[-1], dtype=np.int32)
        return [starts, where, rng.uniform(-1, 1, starts[-1]).astype(np.float32)]

    return make


def particles(count: int) -> Arguments:
    """An array of structures {float x, y, z; int kind; double mass}."""
    layout = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("kind", "i4"), ("mass", "f8")])

    def make(rng):
        array = np.zeros(count, layout)
        for name in "xyz":
            array[name] = rng.uniform(-1, 1, count)
        array["kind"], array["mass"] = rng.integers(0, 3, count), rng.uniform(0, 10, count)
        return [array.view(np.uint8)]

    return make


# ---- the launches of tests/kernels


def _launch(
    name: str, file: str, entry: str, grid, block, *parts: Arguments, approximate: tuple[str, ...] = ()
) -> Launch:
    sizes = [(*((size,) if isinstance(size, int) else size), 1, 1)[:3] for size in (grid, block)]
    return Launch(name, file, entry, sizes[0], sizes[1], together(*parts), approximate=approximate)


def _transposes() -> Iterator[Launch]:
    rows, columns = 100, 70
    data = (floats(rows, columns), zeros(columns, rows), i32(rows, columns))
    yield _launch("transpose_naive", "transpose", "transpose_naive", (3, 4), (32, 32), *data)
    for entry in ("transpose_tiled<0>", "transpose_tiled<1>", "transpose_tiled<2>", "transpose_swizzled"):
        yield _launch(entry, "transpose", entry, (3, 4), (32, 8), *data)


def _reductions() -> Iterator[Launch]:
    n = 5000
    for entry in ("reduce_interleaved", "reduce_contiguous", "reduce_shuffle"):
        yield _launch(entry, "reduction", entry, 20, 256, floats(n), zeros(20), i32(n))
    signed = integers(n, low=-1000, high=1000)
    yield _launch("reduce_atomic", "reduction", "reduce_atomic", 7, 96, signed, zeros(3, dtype=np.int32), i32(n))
    unsigned = integers(n, low=0, high=2**31, dtype=np.uint32)
    yield _launch("reduce_redux", "reduction", "reduce_redux", 20, 256, unsigned, zeros(480, dtype=np.uint32), i32(n))
    doubles = floats(n, dtype=np.float64)
    yield _launch("dot_double", "reduction", "dot_double", 1, 128, doubles, doubles, zeros(1, dtype=np.float64), i32(n))


def _scans() -> Iterator[Launch]:
    n = 1000
    whole = integers(n, low=-50, high=50)
    yield _launch("scan_block", "scan", "scan_block", 4, 256, whole, zeros(n, dtype=np.int32), i32(n))
    yield _launch("scan_warp", "scan", "scan_warp", 8, 128, floats(n), zeros(n), i32(n))
    counted = (zeros(1024, dtype=np.int32), zeros(1, dtype=np.int32), i32(n))
    yield _launch("compact_warp", "scan", "compact_warp", 4, 256, whole, *counted)
    yield _launch("compact_warp, 100 threads", "scan", "compact_warp", 10, 100, whole, *counted)
    yield _launch("vote_flags", "scan", "vote_flags", 4, 256, integers(n, low=-120, high=50), counted[0], i32(n))


def _histograms() -> Iterator[Launch]:
    n = 6000
    octets = integers(n, low=0, high=256, dtype=np.uint8)
    skewed = lambda rng: [np.minimum(*rng.integers(0, 256, (2, n), dtype=np.uint8)) // 3]  # noqa: E731
    for entry in ("histogram_global", "histogram_shared"):
        for kind, data in (("", octets), (" skewed", skewed)):
            yield _launch(entry + kind, "histogram", entry, 6, 160, data, zeros(256, dtype=np.uint32), i32(n))
    keys, values = integers(n, low=0, high=40), integers(n, low=-900, high=900)
    out = (zeros(40, dtype=np.int32), zeros(40, dtype=np.uint64), i32(n))
    yield _launch("histogram_extremes", "histogram", "histogram_extremes", 24, 256, keys, values, *out)
    own = lambda rng: [rng.permutation(n).astype(np.int32)]  # noqa: E731
    out = (integers(n, low=-900, high=900), zeros(n, dtype=np.uint64), i32(n))
    yield _launch("histogram_extremes, own keys", "histogram", "histogram_extremes", 24, 256, own, values, *out)


def _stencils() -> Iterator[Launch]:
    n, rows, columns = 1500, 61, 83
    yield _launch("stencil_1d", "stencil", "stencil_1d", 6, 256, floats(n), zeros(n), i32(n))
    plane = (floats(rows, columns), zeros(rows, columns), i32(rows, columns))
    for entry in ("jacobi_2d", "blur_constant"):
        yield _launch(entry, "stencil", entry, (6, 8), (16, 8), *plane)
    yield _launch("weigh_constant", "stencil", "weigh_constant", 12, 128, floats(n), zeros(n), i32(n))
    cells = (integers(rows, columns, low=0, high=2, dtype=np.uint8), zeros(rows, columns, dtype=np.uint8))
    yield _launch("life", "stencil", "life", (3, 8), (32, 8), *cells, i32(rows, columns))
    cube = (floats(20, 20, 20, dtype=np.float64), zeros(20, 20, 20, dtype=np.float64), i32(20))
    yield _launch("heat_3d", "stencil", "heat_3d", (3, 5, 5), (8, 4, 4), *cube)


def _data_dependent() -> Iterator[Launch]:
    rows = 300
    matrix = (sparse_matrix(rows, 200, 70), floats(200), zeros(rows), i32(rows))
    yield _launch("spmv_scalar", "sparse", "spmv_scalar", 3, 128, *matrix)
    yield _launch("spmv_vector", "sparse", "spmv_vector", 75, 128, *matrix)
    sorted_numbers = lambda rng: [np.sort(rng.integers(0, 5000, 700, dtype=np.int32))]  # noqa: E731
    queries = (i32(700), integers(500, low=0, high=5000), zeros(500, dtype=np.int32), i32(500))
    yield _launch("binary_search", "sparse", "binary_search", 4, 128, sorted_numbers, *queries)
    yield _launch("collatz", "sparse", "collatz", 5, 96, zeros(450, dtype=np.int32), i32(450, 200))
    yield _launch("mandelbrot", "sparse", "mandelbrot", (4, 8), (16, 8), zeros(64, 64, dtype=np.int32), i32(64, 64, 60))
    numbers = integers(700, low=-500, high=1500)
    yield _launch("branches", "sparse", "branches", 6, 128, numbers, zeros(700, dtype=np.int32), i32(700))


def _divergence() -> Iterator[Launch]:
    n = 600
    a, b = integers(n, low=-500, high=500), integers(n, low=-90, high=90)
    out, positive = zeros(n, dtype=np.int32), integers(n, low=1, high=900)
    yield _launch("nested_loops", "divergence", "nested_loops", 5, 128, positive, positive, out, i32(n))
    for entry in ("early_return", "unstructured", "calls", "split_warps"):
        yield _launch(entry, "divergence", entry, 5, 128, positive, out, i32(n))
    yield _launch("conditions", "divergence", "conditions", 5, 128, a, b, zeros(2 * n, dtype=np.int32), i32(n))
    yield _launch("jump_table", "divergence", "jump_table", 5, 128, positive, zeros(n + 1, dtype=np.int32), i32(n))
    yield _launch("elections", "divergence", "elections", 5, 128, positive, zeros(6, dtype=np.int32), i32(n))


def _rows() -> Iterator[Launch]:
    rows, columns = 12, 300
    table, out = floats(rows, columns, low=-4, high=4), zeros(rows, columns)
    yield _launch("softmax", "rows", "softmax", rows, 128, table, out, i32(columns), approximate=("EX2",))
    vectors = (floats(columns), floats(columns))
    yield _launch("layer_norm", "rows", "layer_norm", rows, 128, table, *vectors, out, i32(columns))
    yield _launch("rms_norm_vectorized", "rows", "rms_norm_vectorized", rows, 64, table, out, i32(columns // 4))
    planes = ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH")
    numbers = (floats(1000, low=-3, high=3), zeros(len(planes), 1000), i32(1000))
    yield _launch("fast_math", "rows", "fast_math", 8, 128, *numbers, approximate=planes)
    yield _launch("gemv", "rows", "gemv", rows, 96, table, floats(columns), zeros(rows), i32(rows, columns))


def _strides() -> Iterator[Launch]:
    n = 1000
    for stride, offset in ((1, 0), (1, 1), (2, 0), (3, 5), (8, 0), (32, 7), (33, 0)):
        tail = (i32(stride, offset, n),)
        size = n * stride + offset
        name = f"stride {stride} offset {offset}"
        yield _launch(f"copy, {name}", "patterns", "copy_strided", 8, 128, floats(size), zeros(n), *tail)
        yield _launch(f"write, {name}", "patterns", "write_strided", 8, 128, floats(n), zeros(size), *tail)
    widths = (("unsigned char", np.uint8), ("short", np.int16), ("float2", np.uint64), ("double", np.uint64))
    for type_, dtype in widths:
        data = integers(n, low=0, high=127, dtype=dtype)
        yield _launch(f"copy {type_}", "patterns", f"copy_wide<{type_}>", 8, 128, data, zeros(n, dtype=dtype), i32(n))
    yield _launch("copy float4", "patterns", "copy_wide<float4>", 8, 128, floats(n, 4), zeros(n, 4), i32(n))
    data = (particles(n), zeros(n), i32(n))
    yield _launch("array_of_structures", "patterns", "array_of_structures", 8, 128, *data)
    order = lambda rng: [rng.permutation(n).astype(np.int32)]  # noqa: E731
    for entry in ("gather", "scatter"):
        yield _launch(entry, "patterns", entry, 8, 128, order, floats(n), zeros(n), i32(n))


def _shared_patterns() -> Iterator[Launch]:
    for type_, words in (("float", 1), ("float2", 2), ("float4", 4)):
        entry = f"shared_skew<{type_}, {words}>"
        for skew in range(34):
            # At skew 0 all lanes write the same place: the same number, so that the result is defined.
            numbers = floats(32, words) if skew else floats(32, words, low=0.5, high=0.5)
            data = (numbers, zeros(32, words), i32(skew))
            yield _launch(f"skew {skew} of {type_}", "patterns", entry, 1, 32, *data)
    some = lambda share: lambda rng: [(rng.uniform(0, 1, 64) < share).astype(np.int32)]  # noqa: E731
    lane = np.arange(64)
    maps = {
        "random": lambda rng: [rng.integers(0, 256, 64, dtype=np.int32)],
        "few": lambda rng: [rng.integers(0, 9, 64, dtype=np.int32) * 16],
        "pairs": lambda rng: [np.repeat(rng.integers(0, 256, 32, dtype=np.int32), 2)],
        "second neighbours": lambda rng: [rng.integers(0, 256, 64, dtype=np.int32)[lane & ~2]],
        "one": lambda rng: [np.full(64, 77, np.int32)],
        "column": lambda rng: [(lane % 32 * 8 + lane // 32).astype(np.int32)],
    }
    for type_, words in (("float", 1), ("float2", 2), ("float4", 4)):
        entry = f"shared_mapped<{type_}, {words}>"
        for kind, pattern in maps.items():
            for share in (1.0, 0.5, 0.1):
                data = (pattern, some(share), zeros(64))
                yield _launch(f"{kind} map of {type_}, {share:.0%} active", "patterns", entry, 2, 64, *data)
    octets = integers(32, low=0, high=256, dtype=np.uint8)
    for skew in (1, 2, 3, 4, 7, 8, 32, 33):
        data = (octets, zeros(32, dtype=np.uint8), i32(skew))
        yield _launch(f"bytes at skew {skew}", "patterns", "shared_bytes", 1, 32, *data)
    for threads, keep in ((32, 1), (33, 20), (48, 31), (100, 7), (256, 16), (1000, 32)):
        data = (floats(3 * threads), zeros(3 * threads), i32(keep))
        yield _launch(f"{keep} lanes of {threads} threads", "patterns", "partial_warps", 3, threads, *data)
    data = (integers(300, low=0, high=1000), zeros(300, dtype=np.int32), i32(300))
    yield _launch("local_array", "patterns", "local_array", 5, 64, *data)


def _arithmetic() -> Iterator[Launch]:
    n = 700
    a, b = integers(n, low=-(2**31), high=2**31 - 1), integers(n, low=-500, high=500)
    out = zeros(n, 4, dtype=np.int32)
    yield _launch("divide_integers", "arithmetic", "divide_integers", 6, 128, a, b, out, i32(n))
    wide = integers(n, low=-(2**62), high=2**62, dtype=np.int64)
    small = integers(n, low=-(10**6), high=10**6, dtype=np.int64)
    quotients = zeros(n, 4, dtype=np.int64)
    yield _launch("divide_long", "arithmetic", "divide_long", 6, 128, wide, small, quotients, i32(n))
    counts = zeros(n, dtype=np.int32)
    yield _launch("divide_by_constants", "arithmetic", "divide_by_constants", 6, 128, a, counts, i32(n))
    x, y = wide_floats(n), wide_floats(n)
    yield _launch("divide_floats", "arithmetic", "divide_floats", 6, 128, x, y, zeros(n, 4), i32(n))
    doubles = wide_floats(n, dtype=np.float64)
    results = zeros(n, 4, dtype=np.float64)
    yield _launch("divide_doubles", "arithmetic", "divide_doubles", 6, 128, doubles, doubles, results, i32(n))
    yield _launch("convert", "arithmetic", "convert", 6, 128, x, a, counts, i32(n))
    words = integers(n, low=0, high=2**63, dtype=np.uint64)
    numbers = (words, words, zeros(n, dtype=np.uint64), i32(n))
    yield _launch("wide_integers", "arithmetic", "wide_integers", 6, 128, *numbers)
    bits = integers(n, low=0, high=2**32 - 1, dtype=np.uint32)
    tricks = (bits, bits, zeros(n, dtype=np.uint32), i32(n))
    yield _launch("bit_tricks", "arithmetic", "bit_tricks", 6, 128, *tricks)
    yield _launch("monte_carlo", "arithmetic", "monte_carlo", 3, 100, zeros(1, dtype=np.uint64), i32(20))
    yield _launch("bitonic_sort", "arithmetic", "bitonic_sort", 2, 512, integers(1024, low=0, high=5000))


def _products() -> Iterator[Launch]:
    M, N, K = 37, 29, 50
    matrices = (floats(M, K), floats(K, N), zeros(M, N), i32(M, N, K))
    yield _launch("gemm_split", "products", "gemm_split", (5, 8), (7, 5, 3), *matrices)
    yield _launch("gemm_tiled<float, 8>", "products", "gemm_tiled<float, 8>", (4, 5), (8, 8), *matrices)
    doubles = (*(floats(*shape, dtype=np.float64) for shape in ((M, K), (K, N))), zeros(M, N, dtype=np.float64))
    yield _launch("gemm double", "products", "gemm_tiled<double, 16>", (2, 3), (16, 16), *doubles, i32(M, N, K))
    whole = (*(integers(*shape, low=-99, high=99) for shape in ((M, K), (K, N))), zeros(M, N, dtype=np.int32))
    yield _launch("gemm int", "products", "gemm_tiled<int, 16>", (2, 3), (16, 16), *whole, i32(M, N, K))
    yield _launch("gemm_atomic", "products", "gemm_atomic", (2, 5, 3), (16, 8), *whole, i32(M, N, K))
    pairs = lambda rng: [rng.uniform(-1, 1, (K, 30)).astype(np.float16).view(np.uint32)]  # noqa: E731
    packed = (halves(M, K), pairs, zeros(M, 15, dtype=np.uint32), i32(M, 15, K))
    yield _launch("gemm_half2", "products", "gemm_half2", (1, 5), (16, 8), *packed)
    results = (zeros(500, 2, dtype=np.uint16), i32(500))
    yield _launch("half_arithmetic", "products", "half_arithmetic", 4, 128, halves(500), halves(500), *results)
    words = (bfloats(500), bfloats(500), zeros(500, dtype=np.uint32), i32(500))
    yield _launch("bfloat_arithmetic", "products", "bfloat_arithmetic", 4, 128, *words)
    steps = 4
    tiles = (halves(steps, 16, 16), halves(steps, 16, 8), zeros(16, 8), i32(steps))
    yield _launch("mma_half", "products", "mma_half", 1, 32, *tiles)
    words = (bfloats(steps, 16, 8), bfloats(steps, 8, 8), zeros(16, 8), i32(steps))
    yield _launch("mma_bfloat", "products", "mma_bfloat", 1, 32, *words)
    numbers = (floats(steps, 16, 8), floats(steps, 8, 8), zeros(16, 8), i32(steps))
    yield _launch("mma_tf32", "products", "mma_tf32", 1, 32, *numbers)
    # Products and sums of very different sizes show how a tensor core adds.
    many = 60
    tiles = (wide_halves(many, 16, 16), wide_halves(many, 16, 8), zeros(16, 8), i32(many))
    yield _launch("mma_half, wide", "products", "mma_half", 1, 32, *tiles)
    words = (wide_bfloats(many, 16, 8), wide_bfloats(many, 8, 8), zeros(16, 8), i32(many))
    yield _launch("mma_bfloat, wide", "products", "mma_bfloat", 1, 32, *words)
    numbers = (wide_floats(many, 16, 8), wide_floats(many, 8, 8), zeros(16, 8), i32(many))
    yield _launch("mma_tf32, wide", "products", "mma_tf32", 1, 32, *numbers)
    for octets in (4, 8, 16):
        data = (floats(5, 128, octets // 4), zeros(128), i32(5))
        yield _launch(f"copy_pipeline<{octets}>", "products", f"copy_pipeline<{octets}>", 1, 128, *data)


def _simple() -> Iterator[Launch]:
    n = 1000
    yield _launch("saxpy", "simple", "saxpy", 8, 128, scalars(np.float32(2.5)), floats(n), floats(n), i32(n))
    vectors = (scalars(np.float32(-0.75)), floats(n, 4), floats(n, 4), i32(n))
    yield _launch("saxpy_vectorized", "simple", "saxpy_vectorized", 3, 64, *vectors)
    image = (integers(40, 50, 4, low=0, high=256, dtype=np.uint8), zeros(40, 50, dtype=np.uint8), i32(50, 40))
    yield _launch("grayscale", "simple", "grayscale", (2, 5), (32, 8), *image)
    yield _launch("polynomial", "simple", "polynomial", 8, 128, floats(n, low=-2, high=2), zeros(n), i32(n))
    doubles = (floats(n, dtype=np.float64), zeros(n, dtype=np.float64), scalars(np.float64(-0.5), np.float64(0.25)))
    yield _launch("clamp_double", "simple", "clamp_double", 8, 128, *doubles, i32(n))
    cube = (zeros(9, 10, 11, dtype=np.int32), i32(11, 10, 9))
    yield _launch("coordinates_3d", "simple", "coordinates_3d", (3, 4, 3), (4, 3, 4), *cube)
    yield _launch("spilling", "simple", "spilling", 3, 1024, floats(2500), zeros(2500), i32(2500))


@cache
def ordinary() -> tuple[Launch, ...]:
    """All launches of the kernels in tests/kernels."""
    groups = (_transposes, _reductions, _scans, _histograms, _stencils, _data_dependent, _divergence, _rows,
              _strides, _shared_patterns, _arithmetic, _products, _simple)  # fmt: skip
    return tuple(launch for group in groups for launch in group())


@cache
def ladder(shapes: tuple[tuple[int, int, int], ...] = LADDER_SHAPES) -> tuple[Launch, ...]:
    """Every kernel of the ladder, and of what comes after it, at every shape (M, N, K)."""
    every = gemm_kernels.LADDER + gemm_kernels.UPPER
    return tuple(product(kernel, *shape) for kernel in every for shape in shapes)


# Where blocks share tiles: parameters with few workers, and shapes with more tiles than those, with fewer, with few k.
SHARING = {
    "stream_k": ({"BM": 32, "BN": 32, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "WORKERS": 6},
              ((70, 131, 37), (33, 60, 90), (40, 20, 3))),
    "persistent": ({"BM": 32, "BN": 32, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "WORKERS": 6},
                   ((70, 131, 37), (33, 62, 90), (40, 20, 3))),
    "vector_matrix": ({"BN": 32, "WARPS": 4, "WORKERS": 10}, ((1, 70, 61), (2, 36, 300), (1, 33, 3))),
    "matrix_vector": ({"BM": 4, "WORKERS": 10}, ((7, 1, 300), (3, 2, 5), (9, 1, 259))),
    "reduce_scatter": ({"BM": 16, "WM": 16, "BN": 64, "WN": 64, "TM": 8, "TN": 4, "WORKERS": 24},
                       ((16, 100, 390), (150, 131, 40), (16, 20, 3))),
}  # fmt: skip


@cache
def sharing() -> tuple[Launch, ...]:
    """The kernels whose blocks share tiles, where they do."""
    return tuple(
        product(gemm_kernels.get(name, **params), *shape)
        for name, (params, shapes) in SHARING.items()
        for shape in shapes
    )


RECORDED_AS = {"stream_k": "tuned", "sliced_k": "split_k"}  # the name that a kernel had when it was recorded


# What the ladder of tensor cores is recorded at, and the forms of which one launch is recorded.
HALF, BFLOAT, BYTES = ("__half", np.float16), ("__nv_bfloat16", np.uint16), ("signed char", np.int8)
SINGLE, DOUBLE, WHOLE = ("float", np.float32), ("double", np.float64), ("int", np.int32)
ORDERS = [(True, False, True), (False, True, False)]  # whether A, B and C lie row by row
WMMA_SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
WMMA = [  # the shape, and the types of the fragments, of the elements and of the sums, in C++ and in NumPy
    (shape, *types)
    for types in ((HALF, HALF, SINGLE), (HALF, HALF, HALF), (BFLOAT, BFLOAT, SINGLE), (BYTES, BYTES, WHOLE),
                  (("unsigned char", np.uint8),) * 2 + (WHOLE,))
    for shape in WMMA_SHAPES
]  # fmt: skip
WMMA += [((16, 16, 8), ("wmma::precision::tf32", np.float32), SINGLE, SINGLE), ((8, 8, 4), DOUBLE, DOUBLE, DOUBLE)]


def _any_numbers(rng, dtype, rows, columns):
    """Any integers, or numbers between -1 and 1; of bfloat16 their bits."""
    if dtype in (np.int8, np.uint8, np.int32):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, (rows, columns), dtype=dtype, endpoint=True)
    numbers = rng.uniform(-1, 1, (rows, columns)).astype(np.float32)
    return (numbers.view(np.uint32) >> 16).astype(dtype) if dtype == np.uint16 else numbers.astype(dtype)


def tile_of_wmma(shape, type_, element, total, by_row):
    """How C++ calls the kernel."""
    a, b, _ = ("wmma::row_major" if is_by_row else "wmma::col_major" for is_by_row in by_row)
    return f"tile<{type_[0]}, {element[0]}, {total[0]}, {', '.join(map(str, shape))}, {a}, {b}>"


def operands_of_wmma(shape, element, total, by_row) -> Arguments:
    """A, B, C with eight unused columns, room for what the fragments hold, and the lengths of the rows."""
    M, N, K = shape
    sizes = [size if row else size[::-1] for size, row in zip(((M, K), (K, N), (M, N)), by_row, strict=True)]
    dtypes = (element[1], element[1], total[1])

    def make(rng):
        matrices = [
            _any_numbers(rng, dtype, rows, columns + 8) for dtype, (rows, columns) in zip(dtypes, sizes, strict=True)
        ]
        strides = [np.int32(matrix.shape[1]) for matrix in matrices]
        return [*matrices, np.full((48, 32), np.nan, np.float32), *strides, np.bool_(by_row[2])]

    return make


TENSOR_SHAPES = ((128, 128, 128), (256, 256, 256), (100, 90, 77), (33, 257, 65))
TENSOR_PARAMS = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}  # beside the kernels' own: smaller tiles, other counts
# Where the parameters that were recorded are not the kernel's own of today.
_NARROW = {"BM": 128, "BN": 64, "WM": 64, "WN": 32, "STAGES": 4, "BLOCKS": 2}
TENSOR_RECORDED = {"tf32x3": _NARROW, "bf16x3": _NARROW, "bf16x6": _NARROW | {"BK": 32}}
TENSOR_BYTES = {"BM": 64, "BN": 128, "BK": 64, "WM": 32, "WN": 32}  # the same of a kernel whose elements are bytes
TENSOR_FORMS = (
    "m16n8k16 f16 f16 f16", "m16n8k8 f32 bf16 bf16", "m16n8k4 f32 tf32 tf32", "m16n8k32 f32 e4m3 e5m2",
    "m8n8k4 f64 f64 f64", "m16n8k16 f64 f64 f64", "m8n8k16 s32 s8 s8", "m16n8k32 s32 u8 s8", "m16n8k64 s32 s4 u4",
    "m16n8k256 s32 b1 b1 and popc",
)  # fmt: skip


@cache
def tensor() -> tuple[Launch, ...]:
    """Every kernel of the ladder of tensor cores at some shapes, matrices that are stored, loaded and transposed, and
    one launch of each form."""
    launches = []
    own = [kernel for kernel in tensor_kernels.KERNELS if kernel.name != "mma_autotuned"]
    for kernel in own:  # without the one that is the same source with other parameters
        kernel = kernel.replace(**TENSOR_RECORDED.get(kernel.name, {}))
        variants = [kernel]
        if kernel.operands == "s8":
            variants.append(kernel.replace(**TENSOR_BYTES))
        elif "BM" in kernel.params:
            variants.append(kernel.replace(**TENSOR_PARAMS, **({"BF16": 0} if "BF16" in kernel.params else {})))
        launches += [of_tensors(variant, *shape) for variant in variants for shape in TENSOR_SHAPES]
    for transposed in (0, 1):
        words = (integers(4, 32, low=0, high=2**32 - 1, dtype=np.uint32), zeros(3, 128, dtype=np.uint32))
        name = f"matrices<{transposed}>"
        launches.append(_launch(name, "matrices", name, 1, 32, *words))
    for name in TENSOR_FORMS:
        product = next(product for product in tensor_core.PRODUCTS if product.name == name)
        launches.append(Launch(name, f"product/{name}", "product", (3, 1, 1), (32, 4, 1), _operands(product)))
    for number, form in enumerate(WMMA[:: len(WMMA_SHAPES)] + WMMA[-1:]):  # every type in one shape
        shape, type_, element, total = form
        by_row = ORDERS[number % len(ORDERS)]
        entry, arguments = tile_of_wmma(*form, by_row), operands_of_wmma(shape, element, total, by_row)
        launches.append(Launch(entry, "wmma_tiles", entry, (1, 1, 1), (32, 1, 1), arguments))
    return tuple(launches)


@cache
def sparse_products() -> tuple[Launch, ...]:
    """A launch of each form of `mma.sp`, by one of its selectors."""
    last = {product.name[:-1]: product for product in sparse.PRODUCTS}
    return tuple(
        Launch(case.name, f"sparse_product/{case.name}", case.entry, (3, 1, 1), (32, 4, 1), _operands_of_sparse(case))
        for case in last.values()
    )


@cache
def clusters() -> tuple[Launch, ...]:
    """The kernels whose blocks form clusters."""
    file, words = "clusters", lambda *shape: zeros(*shape, dtype=np.uint32)
    rows = [
        _launch(entry := f"cluster_shape<{', '.join(map(str, size))}>", file, entry, grid, block, words(blocks, 32))
        for size, grid, block, blocks in (
            ((2, 1, 1), 6, 64, 6), ((2, 2, 1), (4, 6), (16, 4), 24), ((2, 1, 3), (4, 3, 6), (8, 2, 4), 72),
            ((3, 1, 1), 21, 40, 21), ((1, 5, 1), (2, 35), 64, 70), ((7, 1, 1), 49, 34, 49), ((8, 1, 1), 16, 1024, 16),
        )
    ]  # fmt: skip
    rows.append(_launch("shape_without_clusters", file, "shape_without_clusters", 3, 32, words(3, 64)))
    rows.append(
        _launch(
            "neighbours", file, "neighbours", 12, 96, integers(12, 96, low=-99, high=99), zeros(12, 96, dtype=np.int32)
        )
    )
    for blocks in (2, 4):
        entry = f"cluster_histogram<{blocks}>"
        numbers = integers(3000, low=0, high=50 * blocks)
        data = together(numbers, zeros(50 * blocks, dtype=np.int32), i32(3000, 50))
        rows.append(Launch(entry, file, entry, (2 * blocks, 1, 1), (128, 1, 1), data, shared_bytes=200))
    rows.append(_launch("cluster_sum", file, "cluster_sum", (5, 4), 64, floats(5, 700), zeros(5, 2), i32(700)))
    M, N, K = 50, 37, 45
    matrices = (floats(M, K), floats(K, N), zeros(M, N), i32(M, N, K))
    rows.append(_launch("cluster_gemm", file, "cluster_gemm", (3, 4), (16, 16), *matrices))
    numbers = integers(6, 64, low=-(2**20), high=2**20), zeros(6, 64, dtype=np.int32)
    rows.append(_launch("arrive_and_wait", file, "arrive_and_wait", 6, 64, *numbers, i32(7)))
    rows.append(_launch("ring", file, "ring", 16, 64, integers(640, low=-99, high=99), zeros(640, dtype=np.int32)))
    for type_, dtype, wide in (("int", np.int32, 1), ("float4", np.uint32, 4), ("unsigned char", np.uint8, 1),
                               ("double", np.uint64, 1)):  # fmt: skip
        for stride, by in ((1, 0), (2, 3), (32, 1)):
            data = integers(4, 256, wide, low=0, high=255, dtype=dtype), zeros(4, 64, wide, dtype=dtype)
            name = f"far_accesses<{type_}>"
            rows.append(_launch(f"{name}, {stride} by {by}", file, name, 4, 64, *data, i32(stride, by)))
    words = integers(8, 32, low=0, high=900, dtype=np.uint32), zeros(8, 64, dtype=np.uint32)
    rows.append(_launch("far_words", file, "far_words", 8, 32, *words))
    return tuple(rows)


def _numbers_and_bits(*shape: int, dtype: type) -> Arguments:
    """In turns numbers between -1 and 1 and any bits at all; as the bits of `dtype`, "bfloat16" for that."""

    def make(rng):
        size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
        word = np.dtype(f"u{size}")
        near = rng.uniform(-1, 1, shape)
        near = near.astype(np.float32).view(np.uint32) >> 16 if dtype == "bfloat16" else near.astype(dtype).view(word)
        every = rng.integers(0, 256, (*shape, size), dtype=np.uint8).view(word)[..., 0]
        return [np.where(np.arange(shape[-1]) % 2, near.astype(word), every).view(np.uint8)]

    return make


BULK_REDUCTIONS = {
    "add_f32": np.float32, "add_f64": np.float64, "add_f16": np.float16, "add_bf16": "bfloat16",
    "min_f16": np.float16, "max_bf16": "bfloat16",
} | dict.fromkeys(
    ("add_u32", "add_s32", "min_u32", "max_s32", "inc_u32", "dec_u32", "and_b32", "or_b32", "xor_b32"), np.uint32
) | dict.fromkeys(("add_u64", "min_s64", "max_u64", "and_b64", "xor_b64"), np.uint64)  # fmt: skip


@cache
def bulk() -> tuple[Launch, ...]:
    """The kernels that copy in bulk."""
    file, rows, blocks = "bulk", [], 3
    bytes_of = lambda *shape: integers(*shape, low=0, high=256, dtype=np.uint8)  # noqa: E731
    words_of = lambda *shape: integers(*shape, low=-(2**31), high=2**31)  # noqa: E731

    def row(name: str, entry: str, grid, block, *parts: Arguments, shared: int = 0) -> None:
        rows.append(replace(_launch(name, file, entry, grid, block, *parts), shared_bytes=shared))

    # Bytes of a piece, how far they are apart, where the first lies in global and in shared memory, and how many.
    pieces = [
        *((size, 0, 0, 0, 1) for size in (16, 32, 48, 64, 96, 112, 128, 144, 160, 256, 512, 1024, 2048, 4096, 8192)),
        *((128, 0, at, 0, 1) for at in (16, 32, 48, 64, 96, 112, 144)), *((256, 0, at, 0, 1) for at in (16, 48, 96)),
        *((256, 0, 0, at, 1) for at in (16, 32, 64, 112)), (32, 0, 16, 0, 1), (112, 0, 80, 48, 1), (1008, 0, 16, 16, 1),
        (64, 256, 0, 0, 4), (64, 272, 16, 0, 7), (256, 256, 0, 0, 8), (16, 16, 0, 0, 33), (16, 128, 0, 0, 6),
    ]  # fmt: skip
    for size, stride, far, near, copies in pieces:
        room = (far + (copies - 1) * stride + size + 1023) // 1024 * 1024
        in_words, shared = copies * size // 4, near + copies * size
        numbers = i32(size, stride, far, near, copies, room)
        name = f"{size} bytes at {far} to {near}, {copies} x {stride}"
        data = bytes_of(blocks, room), zeros(blocks, in_words, dtype=np.int32)
        row(f"fetch {name}", "fetch_pieces", blocks, 64, *data, numbers, shared=shared)
        numbers = i32(size, stride, near, far, copies, room)
        data = words_of(blocks, in_words), bytes_of(blocks, room)
        row(f"put {name}", "put_pieces", blocks, 64, *data, numbers, shared=shared)
    for operation, dtype in BULK_REDUCTIONS.items():
        size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
        if size == 8 or dtype is np.uint32:
            values = bytes_of(blocks, 1008) if dtype is not np.float64 else _numbers_and_bits(blocks, 126, dtype=dtype)
        else:
            values = _numbers_and_bits(blocks, 1008 // size, dtype=dtype)
        row(f"reduce_{operation}", f"reduce_{operation}", blocks, 64, values, values, i32(1008), shared=1008)
    row("every_lane", "every_lane", 1, 29, bytes_of(29, 48), bytes_of(29, 48), i32(48), shared=29 * 48)
    row("put_by_all", "put_by_all", 1, 96, words_of(100), words_of(100), i32(400), shared=400)
    for size, at in ((16, 0), (256, 0), (256, 48), (4096, 16)):
        row(f"prefetch {size} at {at}", "prefetch_pieces", 1, 64, words_of(1100), words_of(64), i32(size, at))
    row("with_policies", "with_policies", 1, 32, bytes_of(640), bytes_of(640), i32(640), shared=640)
    for entry in ("producer_gemm<3, 8>", "producer_gemm<2, 16>"):
        for M, N, K in ((70, 132, 45), (33, 64, 7), (32, 64, 96)):
            matrices = (floats(M, K), floats(K, N), zeros(M, N), i32(M, N, K))
            row(f"{entry} {M}x{N}x{K}", entry, (-(-N // 64), -(-M // 32)), 160, *matrices)
    row("copies_arrive", "copies_arrive", 2, 96, words_of(96, 4), words_of(96), shared=96 * 16)
    for size in (16, 64, 1008):
        row(f"to_the_next {size}", "to_the_next", 8, 32, words_of(8, size // 4), words_of(8, size // 4), i32(size),
            shared=2 * size)  # fmt: skip
        row(f"fetch_for_another {size}", "fetch_for_another", 4, 32, bytes_of(4, size), words_of(4, size // 4),
            i32(size), shared=size)  # fmt: skip
        for mask in (0b1111, 0b1010):
            row(f"fetch_for_all {size} {mask:04b}", "fetch_for_all", 8, 32, bytes_of(8, size), words_of(8, size),
                i32(size, mask), shared=4 * size)  # fmt: skip
    return tuple(rows)


def _operands(product: tensor_core.Product) -> Arguments:
    def make(rng):
        a, b, c = (np.ascontiguousarray(words[:12]) for words in tensor_core.operands(product, "near", 100))
        return [a, b, c, np.zeros_like(c)]

    return make


def _operands_of_sparse(product: sparse.Sparse) -> Arguments:
    def make(rng):
        a, b, c, places = (np.ascontiguousarray(words[:12]) for words in sparse.given(product, "near", 150))
        return [a, b, c, places, np.zeros_like(c)]

    return make


def of_tensors(kernel: tensor_kernels.TensorKernel, M: int, N: int, K: int) -> Launch:
    if kernel.operands == "s8":
        matrix, sums = signed_bytes, integers(M, N, low=-(2**31), high=2**31)
        alpha, beta = np.int32(3), np.int32(-2)
    else:
        matrix = {"f16": halves, "bf16": single_bfloats, "f32": floats}[kernel.operands]
        sums, alpha, beta = floats(M, N), ALPHA, BETA
    arguments = together(i32(M, N, K), scalars(alpha), matrix(M, K), matrix(K, N), scalars(beta), sums)
    return Launch(
        f"{kernel.entry.removeprefix('hgemm_')} {M}x{N}x{K}", f"tensor/{kernel.name}", kernel.entry, kernel.grid(M, N),
        kernel.block, arguments, kernel.shared_bytes,
    )  # fmt: skip


def product(kernel: gemm_kernels.Kernel, M: int, N: int, K: int) -> Launch:
    """One multiplication by a kernel of the ladder."""
    recorded_as = f"{RECORDED_AS.get(kernel.name, kernel.name)} {M}x{N}x{K}"
    workspace = () if kernel.workspace_bytes is None else (zeros(max(kernel.workspace_bytes // 4, 1)),)
    arguments = together(
        i32(M, N, K), scalars(ALPHA), floats(M, K), floats(K, N), scalars(BETA), floats(M, N), *workspace
    )
    return Launch(
        f"{kernel.name} {M}x{N}x{K}", f"ladder/{kernel.name}", kernel.entry, kernel.grid(M, N), kernel.block, arguments,
        kernel.shared_bytes, recorded_as=recorded_as,
    )  # fmt: skip
