"""Launches of many kinds of kernels that are no step of the ladder: what `helpers.cycles` is judged by.

Each is timed on a GPU as the ladder is, with a cold L2 (`python -m helpers.measure record --suite workloads`). They are
split in two by a rule that looks at the kernel's name alone, written before anything was measured: `CALIBRATION` is
what constants may be fitted to, of `HELD_BACK` only the errors are reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SUITE = "workloads"
CALIBRATION, HELD_BACK = "calibration", "held back"
M = 2**20


@dataclass(frozen=True)
class Array:
    """`size` elements: "f" random floats, "i" random integers, "chain" a random cycle, "0" and "0i" zeros, floats or
    integers."""

    size: int
    kind: str = "f"

    def values(self) -> np.ndarray:
        """The same ones each time; zeros take no memory before they are written."""
        random = np.random.default_rng(self.size)
        if self.kind == "f":
            return random.random(self.size, np.float32)
        if self.kind == "i":
            return random.integers(0, 2**30, self.size, np.int32)
        if self.kind == "chain":
            order = random.permutation(self.size).astype(np.int32)
            following = np.empty_like(order)
            following[order] = np.roll(order, -1)
            return following
        return np.zeros(self.size, np.int32 if self.kind == "0i" else np.float32)


@dataclass(frozen=True)
class Workload:
    """One launch.  file: of its source here.  args: arrays and NumPy scalars."""

    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Array | np.generic, ...]
    size: str

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.size}"

    @property
    def source(self) -> str:
        return (Path(__file__).parent / f"{self.file}.cu").read_text(encoding="utf-8")

    @property
    def half(self) -> str:
        """CALIBRATION or HELD_BACK: all launches of a kernel are in one of them."""
        return (CALIBRATION, HELD_BACK)[hashlib.sha256(f"2026 {self.kernel}".encode()).digest()[0] & 1]

    def arguments(self) -> tuple[np.ndarray | np.generic, ...]:
        """What the kernel is launched with, on the host."""
        return tuple(one.values() if isinstance(one, Array) else one for one in self.args)


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
