"""Launches of many kinds of kernels that are no step of the ladder: what `helpers.cycles` is judged by.

Each is timed on a GPU as the ladder is, with a cold L2 (`python -m helpers.tools.measuring record --suite workloads`).
`gpusim.timing.series` says how they are split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gpusim.timing.series import CALIBRATION, FURTHER, HELD_BACK, LEARNT, SUITE, VALIDATION

M = 2**20


@dataclass(frozen=True)
class Array:
    """`size` elements: "f" random floats, "i" random integers, "d" random doubles, "h" random shorts, "b" random bytes,
    "sorted" floats from 0 to 1, "chain" a random cycle; "0", "0i", "0d", "0h", "0b" zeros of these types."""

    size: int
    kind: str = "f"

    def values(self) -> np.ndarray:
        """The same ones each time; zeros take no memory before they are written."""
        random = np.random.default_rng(self.size)
        if self.kind == "f":
            return random.random(self.size, np.float32)
        if self.kind == "i":
            return random.integers(0, 2**30, self.size, np.int32)
        if self.kind == "d":
            return random.random(self.size)
        if self.kind == "h":
            return random.integers(-(2**15), 2**15, self.size, np.int16)
        if self.kind == "b":
            return random.integers(0, 256, self.size, np.uint8)
        if self.kind == "sorted":
            return np.linspace(0, 1, self.size, dtype=np.float32)
        if self.kind == "chain":
            order = random.permutation(self.size).astype(np.int32)
            following = np.empty_like(order)
            following[order] = np.roll(order, -1)
            return following
        types = {"0": np.float32, "0i": np.int32, "0d": np.float64, "0h": np.int16, "0b": np.uint8}
        return np.zeros(self.size, types[self.kind])


@dataclass(frozen=True)
class Workload:
    """One launch.  file: of its source here.  args: arrays and NumPy scalars.  series: SUITE or FURTHER."""

    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Array | np.generic, ...]
    size: str
    series: str = SUITE

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.size}"

    @property
    def source(self) -> str:
        return (Path(__file__).parent / f"{self.file}.cu").read_text(encoding="utf-8")

    @property
    def half(self) -> str:
        """Of the two halves of its series: all launches of a kernel are in one of them."""
        seed, halves = (2026, (CALIBRATION, HELD_BACK)) if self.series == SUITE else (16, (LEARNT, VALIDATION))
        return halves[hashlib.sha256(f"{seed} {self.kernel}".encode()).digest()[0] & 1]

    def arguments(self) -> tuple[np.ndarray | np.generic, ...]:
        """What the kernel is launched with, on the host."""
        return tuple(argument.values() if isinstance(argument, Array) else argument for argument in self.args)


def _i(*values: int) -> tuple[np.int32, ...]:
    return tuple(np.int32(value) for value in values)


def _up(n: int, by: int) -> int:
    return -(-n // by)


def workloads() -> Iterator[Workload]:
    """All of them."""
    f = np.float32
    for n in (M, 16 * M, 64 * M):
        name = f"{n // M}M"
        yield Workload("streams", "copy", (_up(n, 256),), (256,), (Array(n), Array(n, "0"), *_i(n)), name)
        yield Workload("streams", "copy_float4", (1056,), (256,), (Array(n), Array(n, "0"), *_i(n)), name)
        yield Workload("streams", "triad", (1056,), (512,), (Array(n), Array(n), Array(n, "0"), f(1.5), *_i(n)), name)
        yield Workload("streams", "fill", (528,), (512,), (Array(n, "0"), f(2), *_i(n)), name)
    for n, stride in ((M, 2), (4 * M, 4), (M, 32), (4 * M, 8)):
        name = f"{n // M}M by {stride}"
        for kernel in ("read_strided", "write_strided"):
            sizes = (n * stride, n) if kernel.startswith("read") else (n, n * stride)
            args = (Array(sizes[0]), Array(sizes[1], "0"), *_i(n, stride))
            yield Workload("streams", kernel, (_up(n, 256),), (256,), args, name)
    for n, shift in ((4 * M, 1), (16 * M, 13)):
        args = (Array(n), Array(n, "0"), *_i(n, shift))
        yield Workload("streams", "copy_shifted", (_up(n, 256),), (256,), args, f"{n // M}M by {shift}")
    for rows, columns in ((1024, 1024), (4096, 2048)):
        args, name = (Array(rows * columns), Array(rows * columns, "0"), *_i(rows, columns)), f"{rows}×{columns}"
        yield Workload("matrices", "transpose", (_up(columns, 32), _up(rows, 8)), (32, 8), args, name)
        for kernel in ("transpose_tiled", "transpose_padded"):
            yield Workload("matrices", kernel, (_up(columns, 32), _up(rows, 32)), (32, 8), args, name)
        yield Workload("matrices", "stencil_5", (_up(columns, 32), _up(rows, 8)), (32, 8), args, name)
        yield Workload("matrices", "stencil_9_shared", (_up(columns, 32), _up(rows, 16)), (32, 16), args, name)
        yield Workload(
            "reductions", "sum_of_rows", (_up(rows, 8),), (256,), (args[0], Array(rows, "0"), *args[2:]), name
        )
        yield Workload(
            "reductions",
            "sum_of_columns",
            (_up(columns, 128), 32),
            (128,),
            (args[0], Array(columns, "0"), *args[2:]),
            name,
        )
        yield Workload("reductions", "softmax_warp", (_up(rows, 8),), (256,), args, name)
        yield Workload("reductions", "softmax_block", (rows,), (256,), (*args[:2], *_i(columns)), name)
        yield Workload("reductions", "normalise_rows", (rows,), (128,), (*args[:2], *_i(columns)), name)
        x = Array(max(rows, columns))
        yield Workload(
            "products", "matrix_vector", (_up(rows, 4),), (128,), (args[0], x, Array(rows, "0"), *args[2:]), name
        )
        yield Workload(
            "products", "vector_matrix", (_up(columns, 64),), (64,), (args[0], x, Array(columns, "0"), *args[2:]), name
        )
        yield Workload(
            "irregular", "gather_rows", (rows,), (128,), (args[0], Array(rows, "i"), args[1], *args[2:]), name
        )
        yield Workload(
            "products", "convolution_3x3", (_up(columns - 2, 32), _up(rows - 2, 8)), (32, 8),
            (args[0], Array(144), Array(16 * rows * columns, "0"), *args[2:]), name,
        )  # fmt: skip
    for n in (M, 8 * M):
        name = f"{n // M}M"
        yield Workload("matrices", "blur_1d", (_up(n, 256),), (256,), (Array(n), Array(n, "0"), *_i(n)), name)
        yield Workload("reductions", "sum_shared", (528,), (256,), (Array(n), Array(528, "0"), *_i(n)), name)
        yield Workload("reductions", "sum_shuffle", (264,), (512,), (Array(n), Array(1, "0"), *_i(n)), name)
        yield Workload("reductions", "scan_blocks", (_up(n, 512),), (512,), (Array(n), Array(n, "0"), *_i(n)), name)
        yield Workload("reductions", "scan_warps", (_up(n, 256),), (256,), (Array(n), Array(n, "0"), *_i(n)), name)
        keys = Array(n, "i")
        yield Workload("irregular", "histogram_shared", (528,), (256,), (keys, Array(256, "0i"), *_i(n)), name)
        yield Workload(
            "irregular", "histogram_global", (_up(n, 256),), (256,), (keys, Array(65536, "0i"), *_i(n, 65536)), name
        )
        yield Workload("irregular", "gather", (_up(n, 256),), (256,), (Array(n), keys, Array(n, "0"), *_i(n)), name)
        yield Workload("irregular", "scatter", (_up(n, 256),), (256,), (Array(n), keys, Array(n, "0"), *_i(n)), name)
        yield Workload("irregular", "polynomial", (_up(n, 128),), (128,), (Array(n), Array(n, "0"), *_i(n)), name)
        yield Workload("irregular", "divergent", (_up(n, 256),), (256,), (Array(n), Array(n, "0"), *_i(n)), name)
    for blocks, threads, steps in ((1, 32, 200), (132, 64, 200)):
        args = (Array(blocks * threads * 1024, "chain"), Array(blocks * threads, "0i"), *_i(steps))
        yield Workload("irregular", "chase", (blocks,), (threads,), args, f"{blocks} × {threads}")
    for blocks, threads, steps in ((132, 128, 4096), (264, 1024, 1024), (1320, 256, 512)):
        name, to = f"{blocks} × {threads}", Array(blocks * threads, "0")
        yield Workload("irregular", "fma_chain", (blocks,), (threads,), (to, f(0.99), *_i(steps)), name)
        yield Workload("irregular", "special_chain", (blocks,), (threads,), (to, f(0.7), *_i(steps // 4)), name)
        yield Workload(
            "irregular",
            "integer_mix",
            (blocks,),
            (threads,),
            (Array(blocks * threads, "0i"), np.uint32(7), *_i(steps // 4)),
            name,
        )
    for n in (4096, 16384):
        yield Workload("irregular", "bodies", (n // 256,), (256,), (Array(4 * n), Array(4 * n, "0"), *_i(n)), str(n))
    for n in (512, 1024, 2048):
        matrices, name = (Array(n * n), Array(n * n), Array(n * n, "0"), *_i(n)), str(n)
        yield Workload("products", "product_16", (n // 16, n // 16), (16, 16), matrices, name)
        yield Workload("products", "product_4x4", (n // 64, n // 64), (256,), matrices, name)
        if n < 2048:
            yield Workload("products", "product_transposed", (n // 32, n // 8), (32, 8), matrices, name)
    for count in (4096, 65536):
        arrays = (Array(64 * count), Array(64 * count), Array(64 * count, "0"))
        yield Workload("products", "products_of_8", (count // 4,), (256,), arrays, str(count))


def further() -> Iterator[Workload]:
    """The second series."""
    for workload in (*_access(), *_grids(), *_rows(), *_chains(), *_products()):
        yield replace(workload, series=FURTHER)


def of_series(series: str) -> Iterator[Workload]:
    """Those of SUITE or of FURTHER."""
    return workloads() if series == SUITE else further()


def _line(file: str, kernel: str, n: int, threads: int, *args: Array | np.generic, size: str = "") -> Workload:
    """A thread for each of n elements, n the last argument."""
    return Workload(file, kernel, (_up(n, threads),), (threads,), (*args, *_i(n)), size or _short(n))


def _short(n: int) -> str:
    return f"{n // M}M" if n >= M else f"{n // 1024}k"


def _access() -> Iterator[Workload]:
    f = np.float32
    for n in (M, 24 * M):
        yield Workload("access", "invert_bytes", (1056,), (256,), (Array(n, "b"), Array(n, "0b"), *_i(n)), _short(n))
        yield _line("access", "halve_shorts", n, 256, Array(n, "h"), Array(n, "0h"))
        yield _line("access", "grey", n, 256, Array(3 * n, "b"), Array(n, "0b"))
        yield _line("access", "reverse", n, 128, Array(n), Array(n, "0"))
        yield Workload("access", "scale_in_place", (264,), (1024,), (Array(n), f(1.01), *_i(n)), _short(n))
        quads = (Array(n), Array(n, "0"), *_i(n // 4))
        yield Workload("access", "four_at_a_time", (_up(n // 4, 512),), (128,), quads, _short(n))
    for n in (M // 2, 8 * M):
        args = (Array(n, "d"), Array(n, "d"), np.float64(1.5), *_i(n))
        yield Workload("access", "axpy_double", (_up(n, 256),), (256,), args, _short(n))
        yield _line("access", "multiply_complex", n, 192, Array(2 * n), Array(2 * n), Array(2 * n, "0"))
        yield Workload("access", "move_particles", (_up(n, 128),), (128,), (Array(6 * n), f(0.1), *_i(n)), _short(n))
        yield _line("access", "split_records", n, 256, Array(3 * n), *(Array(n, "0"),) * 3)
        yield _line("access", "first_of_record", n, 512, Array(4 * n), Array(n, "0"))
    for rows, columns in ((1000, 1500), (4096, 4096)):
        a, b, name = Array(rows * columns), Array(rows * columns, "0"), f"{rows}×{columns}"
        grid = (_up(columns, 16), _up(rows, 16))
        yield Workload("access", "add_matrices", grid, (16, 16), (a, a, b, *_i(rows, columns)), name)
        half = (_up(columns // 2, 16), grid[1])
        args = (a, Array(rows * columns // 2, "0"), *_i(rows, columns))
        yield Workload("access", "every_other_column", half, (16, 16), args, name)
        yield Workload("access", "zero_column", (_up(rows, 96),), (96,), (b, *_i(rows, columns, 7)), name)
    for n, entries in ((M, 1024), (4 * M, 65536), (4 * M, 4 * M), (8 * M, 64 * M)):
        keys, name = Array(n, "i"), f"{_short(n)} in {_short(entries)}"
        args = (keys, Array(entries), Array(n, "0"), *_i(n, entries))
        yield Workload("access", "look_up", (_up(n, 256),), (256,), args, name)
        if entries != 65536:
            few = min(entries, 4 * M)
            args = (Array(n // 4, "i"), Array(4 * few), Array(n, "0"), *_i(n // 4, few))
            yield Workload("access", "look_up_4", (1056,), (256,), args, name)
            args = (Array(n // 16, "i"), Array(16 * few), Array(n, "0"), *_i(n // 16, few))
            yield Workload("access", "embed", (_up(n, 256),), (256,), args, name)
    for n, entries in ((M, 16384), (2 * M, 2 * M), (4 * M, 32 * M)):
        keys, name = Array(n, "i"), f"{_short(n)} in {_short(entries)}"
        args = (keys, Array(n), Array(entries, "0"), *_i(n, entries))
        yield Workload("access", "scatter_into", (_up(n, 256),), (256,), args, name)
        yield Workload("access", "add_at", (_up(n, 128),), (128,), args, name)
    for n in (M // 4, 2 * M):
        yield _line("access", "scatter_4", n, 256, Array(n, "i"), Array(4 * n), Array(4 * n, "0"))
    for n, entries in ((M // 4, 4096), (M, 4 * M)):
        args = (Array(entries, "sorted"), Array(n), Array(n, "0i"), *_i(n, entries))
        name = f"{_short(n)} in {_short(entries)}"
        yield Workload("access", "search_sorted", (_up(n, 256),), (256,), args, name)
    for rows, each in ((65536, 16), (M, 8)):
        args = (Array(rows * each, "i"), Array(rows * each), Array(rows), Array(rows, "0"), *_i(rows, each))
        for kernel in ("sparse_rows", "sparse_columns"):
            yield Workload("access", kernel, (_up(rows, 256),), (256,), args, f"{_short(rows)} × {each}")


def _grids() -> Iterator[Workload]:
    for n in (M, 16 * M):
        yield _line("grids", "second_difference", n, 256, Array(n), Array(n, "0"))
        yield _line("grids", "filter_long", n, 128, Array(n), Array(n, "0"))
    for n in (96, 256):
        args = (Array(n**3), Array(n**3, "0"), *_i(n))
        yield Workload("grids", "heat_3d", (n // 32, n // 4, n // 2), (32, 4, 2), args, f"{n} cubed")
        yield Workload("grids", "heat_marching", (n // 32, n // 8), (32, 8), args, f"{n} cubed")
    for rows, columns in ((600, 800), (3000, 4000)):
        n, name = rows * columns, f"{rows}×{columns}"
        args = (Array(n), Array(n, "0"), *_i(rows, columns))
        yield Workload("grids", "filter_5x5", (_up(columns, 16), _up(rows, 16)), (16, 16), args, name)
        yield Workload("grids", "filter_shared", (_up(columns, 32), _up(rows, 8)), (32, 8), args, name)
        pooled = (Array(n), Array(n // 4, "0"), *_i(rows, columns))
        yield Workload("grids", "pool", (_up(columns // 2, 32), _up(rows // 2, 4)), (32, 4), pooled, name)
        yield Workload("grids", "running_mean_down", (_up(columns, 64),), (64,), args, name)
    for rows, columns in ((256, 512), (1024, 2048)):
        n, name = rows * columns, f"{rows}×{columns}"
        args = (Array(8 * n), Array(64), Array(8 * n, "0"), *_i(rows, columns))
        yield Workload("grids", "channels", (_up(n, 256),), (256,), args, name)
        args = (Array(n), Array(4 * n, "0"), *_i(rows, columns))
        yield Workload("grids", "enlarge", (_up(2 * columns, 32), _up(2 * rows, 8)), (32, 8), args, name)
    for n in (1000, 4096):
        grid, args = (_up(n, 32), _up(n, 8)), (Array(n * n, "b"), Array(n * n, "0b"), *_i(n))
        yield Workload("grids", "life", grid, (32, 8), args, str(n))
        yield Workload("grids", "transpose_by_rows", grid, (32, 8), (Array(n * n), Array(n * n, "0"), *_i(n)), str(n))
    for n in (1024, 3072):
        args = (Array(n * n, "d"), Array(n * n, "0d"), *_i(n))
        yield Workload("grids", "transpose_double", (n // 16, n // 16), (16, 16), args, str(n))
        args = (Array(n * n), Array(n * n, "0"), *_i(n))
        yield Workload("grids", "transpose_4x4", (_up(n, 64), _up(n, 64)), (16, 16), args, str(n))


def _rows() -> Iterator[Workload]:
    for rows, columns, threads in ((8192, 128, 32), (2048, 1024, 128), (1024, 8192, 256), (132, 32768, 1024)):
        n, name = rows * columns, f"{rows}×{columns}"
        args = (Array(n), Array(columns), Array(n, "0"), *_i(columns))
        yield Workload("rows", "layernorm", (rows,), (threads,), args, name)
        yield Workload("rows", "softmax_online", (rows,), (threads,), (Array(n), Array(n, "0"), *_i(columns)), name)
        args = (Array(n), Array(rows, "i"), Array(rows, "0"), *_i(columns))
        yield Workload("rows", "cross_entropy", (rows,), (threads,), args, name)
    for rows, columns in ((16384, 512), (4096, 4096)):
        n, name = rows * columns, f"{rows}×{columns}"
        yield Workload(
            "rows", "rmsnorm_4", (rows,), (columns // 4,), (Array(n), Array(n, "0"), *_i(columns // 4)), name
        )
    for rows in (2000, 100_000):
        args = (Array(128 * rows), Array(128 * rows, "0"), *_i(rows))
        yield Workload("rows", "softmax_short", (_up(rows, 4),), (128,), args, str(rows))
    for rows, columns in ((4096, 200), (65536, 64)):
        n, name = rows * columns, f"{rows}×{columns}"
        args = (Array(n), Array(n, "0"), *_i(rows, columns))
        yield Workload("rows", "softmax_thread", (_up(rows, 64),), (64,), args, name)
        args = (Array(n), Array(rows, "0i"), *_i(rows, columns))
        yield Workload("rows", "largest_of_row", (_up(rows, 8),), (256,), args, name)
    for n in (128 * 1024, 4 * M):
        yield _line("rows", "sum_atomic", n, 256, Array(n), Array(1, "0"))
    for n, blocks, threads in ((2 * M, 133, 1000), (16 * M, 264, 512)):
        args = (Array(n), Array(1, "0"), *_i(n))
        yield Workload("rows", "sum_in_block", (blocks,), (threads,), args, f"{_short(n)} by {blocks} × {threads}")
        yield Workload("rows", "count_large", (blocks,), (512,), (Array(n), Array(1, "0i"), *_i(n)), _short(n))
        args = (Array(n, "i"), Array(64, "0i"), *_i(n))
        yield Workload("rows", "histogram_warps", (4 * blocks,), (256,), args, _short(n))
        few = n // 4
        args = (Array(few, "i"), Array(16, "0i"), *_i(few, 16))
        yield Workload("rows", "histogram_few", (_up(few, 256),), (256,), args, f"{_short(few)} in 16")
    for n in (M, 8 * M):
        args = (Array(n, "d"), Array(n, "d"), Array(396, "0d"), *_i(n))
        yield Workload("rows", "dot_double", (396,), (256,), args, _short(n))
        yield _line("rows", "keep_large", n, 256, Array(n), Array(n, "0"), Array(1, "0i"))
        yield _line("rows", "scan_256", n, 256, Array(n), Array(n, "0"))
        yield Workload("rows", "scan_serial", (_up(n, 32 * 64),), (64,), (Array(n), Array(n, "0"), *_i(n)), _short(n))
        yield Workload("rows", "sort_1024", (n // 1024,), (512,), (Array(n), Array(n, "0")), _short(n))
    for n, distance in ((M, 1), (4 * M, 16), (16 * M, 65536)):
        args = (Array(n), *_i(distance, 2 * distance))
        yield Workload("rows", "compare_exchange", (n // 256,), (256,), args, f"{_short(n)} by {distance}")


def _chains() -> Iterator[Workload]:
    f, d = np.float32, np.float64
    for blocks, threads, steps, table in ((66, 32, 2000, 4096), (133, 96, 1000, 2 * M), (264, 1000, 300, 32 * M)):
        name, n = f"{blocks} × {threads}", blocks * threads

        def chain(kernel: str, kind: str, *args: np.generic, of=(blocks, threads, name, n)) -> Workload:
            return Workload("chains", kernel, of[:1], of[1:2], (Array(of[3], kind), *args), of[2])

        yield chain("double_chain", "0d", d(0.99), *_i(steps))
        yield chain("double_roots", "0d", d(3), *_i(steps // 10))
        yield chain("eight_chains", "0", f(0.99), *_i(2 * steps))
        yield chain("divide_integers", "0i", *_i(7, steps // 4))
        yield chain("sines", "0", f(0.7), *_i(steps // 4))
        yield chain("random_points", "0i", np.uint32(7), *_i(steps))
        yield chain("shared_chain", "0i", *_i(5, steps))
        yield chain("shared_atomics", "0i", *_i(512, steps))
        yield chain("barriers", "0", *_i(steps))
        yield chain("shuffles", "0", *_i(steps))
        args = (Array(table, "chain"), Array(n, "0i"), *_i(steps // 10, table))
        yield Workload("chains", "follow", (blocks,), (threads,), args, name)
    for blocks, threads in ((200, 128), (8192, 256)):
        name = f"{blocks} × {threads}"
        yield Workload("chains", "collatz", (blocks,), (threads,), (Array(blocks * threads, "0i"), *_i(1000)), name)
    for n, most in ((512, 256), (2048, 64)):
        yield Workload("chains", "mandelbrot", (n // 16, n // 16), (16, 16), (Array(n * n, "0i"), *_i(n, most)), str(n))
    for n in (M // 4, 4 * M):
        yield _line("chains", "powers", n, 256, Array(n), Array(n, "0"))
        yield _line("chains", "branches", n, 256, Array(n, "i"), Array(n, "0"))
        yield _line("chains", "local_table", n, 128, Array(n, "i"), Array(n, "0i"))
        yield _line("chains", "insertion_sort", n // 4, 128, Array(4 * n), Array(4 * n, "0"))


def _products() -> Iterator[Workload]:
    file = "small_products"
    for count in (500, 20_000):
        n = 256 * count
        yield Workload(file, "batched_16", (count,), (16, 16), (Array(n), Array(n), Array(n, "0")), str(count))
        n = 1024 * (count // 2)
        yield Workload(file, "batched_32", (count // 2,), (32, 8), (Array(n), Array(n), Array(n, "0")), str(count // 2))
        count *= 20
        n = 16 * count
        yield _line(file, "batched_4", count, 128, Array(n), Array(n), Array(n, "0"), size=str(count))
    for rows, columns in ((4096, 1024), (16384, 1024)):
        n, name = rows * columns, f"{rows}×{columns}"
        args = (Array(n), Array(columns), Array(rows, "0"), *_i(rows, columns))
        yield Workload(file, "row_a_thread", (_up(rows, 64),), (64,), args, name)
        args = (Array(n), Array(columns), Array(rows, "0"), *_i(columns // 4))
        yield Workload(file, "row_a_block", (rows,), (256,), args, name)
        args = (Array(rows), Array(columns), Array(n, "0"), *_i(columns))
        yield Workload(file, "outer", (columns // 128, rows), (128,), args, name)
    for n in (256, 1024):
        args, name = (Array(n * n), Array(n * n), Array(n * n, "0"), *_i(n)), str(n)
        doubles = (Array(n * n, "d"), Array(n * n, "d"), Array(n * n, "0d"), *_i(n))
        yield Workload(file, "product_double", (n // 16, n // 16), (16, 16), doubles, name)
        yield Workload(file, "product_column_first", (n // 16, n // 16), (16, 16), args, name)
        yield Workload(file, "product_four_columns", (n // 128, n // 8), (32, 8), args, name)
    for M_, N, K in ((1024, 64, 256), (2048, 1024, 512)):
        args = (Array(M_ * K), Array(K * N), Array(M_ * N, "0"), *_i(M_, N, K))
        yield Workload(file, "product_32", (N // 32, M_ // 32), (16, 16), args, f"{M_}×{N}×{K}")
    for rows in (64 * 1024, 2 * M):
        args = (Array(8 * rows), Array(64), Array(8 * rows, "0"), *_i(rows))
        yield Workload(file, "times_8x8", (_up(rows, 256),), (256,), args, _short(rows))
        args = (Array(16 * (rows // 2)), Array(16 * 64), Array(rows // 2, "0"), *_i(rows // 2, 64))
        yield Workload(file, "distances", (_up(rows // 2, 256),), (256,), args, _short(rows // 2))
    for n in (512, 4096):
        args = (Array(64 * n), Array(64 * n), Array(n * n, "0"), *_i(n))
        yield Workload(file, "attention", (n // 64, n // 64), (64,), args, str(n))
