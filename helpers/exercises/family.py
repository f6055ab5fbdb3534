"""What notebook 18 only knows from a GPU: many small products in three ways, and a transformer's layer of members.

    python -m helpers.exercises.family     on a GPU: write recordings/<gpu>/family.json

Every way is compared with float64 first. Small products: the notebook's own kernel in one launch, in a loop of launches
from Python, and in a CUDA graph of those launches; beside it `gemm` and cuBLAS, each in one launch. The layer: each
part beside cuBLAS and the CuPy kernels that it needs besides, then the whole. All take turns, with a cold L2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels.products import plan
from gpusim import devices
from helpers import gpu, peaks, recordings, run
from helpers.exercises import transformer
from helpers.exercises.framework.problems import blocks
from helpers.exercises.n18.blanks import BATCH
from helpers.exercises.n18.members import BLOCK, T
from helpers.exercises.transformer import NO_PRODUCT, Layer, Sizes, parts
from helpers.measure.provenance import provenance
from helpers.measure.timing import interleave
from helpers.pictures import theme
from helpers.pictures.tables import Table, not_recorded
from helpers.recordings.measurement import MEASURED, Timing, recorded_on

SUITE = "family"
COUNT = 1000
SIDES = (16, 64, 256)  # M = N = K of the small products
WAYS = ONE_LAUNCH, LOOP, GRAPH, FAMILY, LIBRARY = "one launch", "a loop", "a graph", "gemm", "cuBLAS"
OURS, RIVAL = "ours", "cuBLAS + CuPy"
WHOLE = "the whole layer"
GATED = "gate", "up"
MOST_Z = 65_535
ERROR = 1e-4  # of a layer, relative to its largest element: sums in float32, one behind the other


class WrongResult(Exception):
    """A way has not computed what it should; the message says which."""


# --- many small products --------------------------------------------------------------------------------------------


def small_ways(side: int, count: int = COUNT) -> tuple[dict[str, Callable[[], Any]], Callable[[], None]]:
    """(ways, check): what is timed for `count` products of side × side × side, and what compares all with float64."""
    import cupy

    generator = np.random.default_rng(side)
    host = [generator.standard_normal((count, side, side)).astype(np.float32) for _ in "AB"]
    A, B = map(cupy.asarray, host)
    results = {name: cupy.zeros_like(A) for name in WAYS}
    kernel, step, across = run.function(BATCH.solved, BATCH.problem.entry), np.int64(side * side), blocks(side, T)

    def launch(C: Any, first: int, products: int) -> None:
        matrices = (A[first:], step, B[first:], step, C[first:], step)
        arguments = (np.int32(products), *(np.int32(side),) * 3, *matrices)
        kernel((across, across, min(products, MOST_Z)), BLOCK, arguments)

    def loop(C: Any) -> None:
        for p in range(count):
            launch(C, p, 1)

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        loop(results[GRAPH])  # compiled and loaded before the stream is captured
        stream.synchronize()
        stream.begin_capture()
        loop(results[GRAPH])
        graph = stream.end_capture()
    results[GRAPH][...] = 0

    def library() -> None:
        cupy.matmul(A, B, out=results[LIBRARY])

    ways = {
        ONE_LAUNCH: partial(launch, results[ONE_LAUNCH], 0, count), LOOP: partial(loop, results[LOOP]),
        GRAPH: graph.launch, FAMILY: plan(A, B, results[FAMILY]), LIBRARY: library,
    }  # fmt: skip

    def check() -> None:
        expected = host[0].astype(np.float64) @ host[1].astype(np.float64)
        for name, way in ways.items():
            way()
            cupy.cuda.runtime.deviceSynchronize()
            if not np.allclose(cupy.asnumpy(results[name]), expected, rtol=1e-4, atol=1e-4 * side**0.5):
                raise WrongResult(f"{name}: {count} products of {side}³ are not those of float64.")

    return ways, check


def small(side: int, budget_s: float) -> dict[str, Any]:
    """A row of the recording: all ways at one size."""
    ways, check = small_ways(side)
    check()
    times = interleave(list(ways.values()), budget_s)
    return {"side": side, "count": COUNT, "times": _written(ways, times)}


# --- the layer ------------------------------------------------------------------------------------------------------


def rival_steps(layer: Layer) -> dict[str, Callable[[], Any]]:
    """The same layer by cuBLAS, through its column-major eyes, and CuPy kernels for what it cannot do itself."""
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas as library

    handle, sizes, W, a = device.get_cublas_handle(), layer.sizes, layer.given, layer.made
    numbers = np.array([1.0, layer.scale, 0.0], np.float32)
    unit, scale, zero = (numbers.ctypes.data + 4 * n for n in range(3))

    def product(A: Any, B: Any, C: Any, keep: Any = numbers) -> None:
        (M, K), N = A.shape, B.shape[1]
        library.sgemm(handle, 0, 0, N, M, K, unit, B.data.ptr, N, A.data.ptr, K, zero, C.data.ptr, N)

    def batched(A: Any, B: Any, C: Any, op_b: int, alpha: int, keep: Any = numbers) -> None:
        # Views (batch, heads, rows, columns): heads are a strided batch; texts are a loop, for they have another step.
        M, N, K = C.shape[2], C.shape[3], A.shape[3]
        for a_, b_, c_ in zip(A, B, C, strict=True):
            library.sgemmStridedBatched(
                handle, op_b, 0, N, M, K, alpha, b_.data.ptr, b_.strides[1] // 4, b_.strides[0] // 4,
                a_.data.ptr, a_.strides[1] // 4, a_.strides[0] // 4, zero,
                c_.data.ptr, c_.strides[1] // 4, c_.strides[0] // 4, sizes.heads,
            )  # fmt: skip

    add = cupy.ElementwiseKernel("float32 r", "float32 x", "x += r", "residual")
    silu = cupy.ElementwiseKernel("float32 u", "float32 g", "g = g / (1.0f + expf(-g)) * u", "silu_gate")
    Q, K, V = (layer.heads(a["QKV"], third) for third in range(3))

    def with_residual(A: Any, B: Any, C: Any, R: Any) -> None:
        product(A, B, C)
        add(R, C)

    def up() -> None:
        product(a["Y"], W["up"], a["up"])
        silu(a["up"], a["gate"])  # the gate's array holds what goes on

    return {
        "Q, K, V": partial(product, W["X"], W["QKV"], a["QKV"]),
        "scores": partial(batched, Q, K, a["scores"], 1, scale),
        NO_PRODUCT: layer.softmax,
        "values": partial(batched, a["scores"], V, layer.heads(a["values"]), 0, unit),
        "output": partial(with_residual, a["values"], W["output"], a["Y"], W["X"]),
        "gate": partial(product, a["Y"], W["gate"], a["gate"]),
        "up": up,
        "down": partial(with_residual, a["gate"], W["down"], a["result"], a["Y"]),
    }


def layer_rows(sizes: Sizes, budget_s: float) -> list[dict[str, Any]]:
    """A row for each part, and one for the whole. Raises WrongResult."""
    given = transformer.weights(sizes)
    expected = transformer.exact(sizes, given)
    ours, theirs = Layer(sizes, given), Layer(sizes, given)
    ways = {OURS: ours.steps, RIVAL: rival_steps(theirs)}

    def whole(steps: Mapping[str, Callable[[], Any]]) -> None:
        for step in steps.values():
            step()

    for name, layer in ((OURS, ours), (RIVAL, theirs)):
        whole(ways[name])
        error = np.abs(gpu.asnumpy(layer.made["result"]) - expected).max() / np.abs(expected).max()
        if not error <= ERROR:
            raise WrongResult(f"The layer by {name} differs from float64 by {error:.1e} of its largest element.")
    rows = []
    for part in [*ways[OURS], WHOLE]:
        launches = [partial(whole, steps) if part == WHOLE else steps[part] for steps in ways.values()]
        times = interleave(launches, budget_s)
        rows.append({"part": part, "times": _written(ways, times)})
    return rows


# --- recorded -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """What one run found.

    small: side -> name of a way -> its time.  layer: part -> OURS or RIVAL -> its time.  label: where it was.
    """

    small: Mapping[int, Mapping[str, Timing]]
    layer: Mapping[str, Mapping[str, Timing]]
    sizes: Sizes
    label: str


def _written(names: Iterable[str], milliseconds: np.ndarray) -> dict[str, list[float]]:
    """What `_timings` reads back: a column of `interleave` for each name."""
    return {name: list(vars(Timing.of(column)).values()) for name, column in zip(names, milliseconds.T, strict=True)}


def _timings(times: Mapping[str, list[float]]) -> dict[str, Timing]:
    return {name: Timing(*times_of) for name, times_of in times.items()}


@cache
def recorded(gpu_name: str = devices.DEFAULT.name) -> Recorded:
    """What was recorded on a GPU. NoRecording, in a sentence, if nothing was."""
    content = recordings.raw(gpu_name, SUITE)
    return Recorded(
        {row["side"]: _timings(row["times"]) for row in content["small"]},
        {row["part"]: _timings(row["times"]) for row in content["layer"]},
        Sizes(**content["sizes"]), recorded_on(content["gpu"]),
    )  # fmt: skip


@cache
def small_times() -> tuple[Mapping[int, Mapping[str, Timing]], str]:
    """(side -> name of a way -> its time, where): measured now where a GPU is, else as recorded. NoRecording."""
    if gpu.backend() == "gpu":
        return {side: _timings(small(side, 0.2)["times"]) for side in SIDES}, MEASURED
    measured = recorded(recordings.shown(SUITE))
    return measured.small, measured.label


def small_table() -> Table:
    """By size: µs of a thousand products in one launch, in a loop and in a graph, by `gemm` and by cuBLAS."""
    heads = ("size", "one launch, µs", "a loop, µs", "a graph, µs", "gemm, µs", "cuBLAS, µs")
    try:
        measured, label = small_times()
    except recordings.NoRecording:
        return not_recorded(heads)
    rows = tuple(
        (f"{side} × {side} × {side}", *(theme.thousands(1e3 * times[name].median_ms) for name in WAYS))
        for side, times in measured.items()
    )
    return Table(heads, rows, f"{COUNT} products by gemm_batch in three ways, by gemm and by cuBLAS ({label})")


def comparable(layer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The parts of the layer, together where each alone does different work on the two sides: ours has SiLU in `gate`,
    and cuBLAS's side behind `up`."""
    return [GATED if name == GATED[0] else (name,) for name in layer if name not in GATED[1:]]


def layer_table() -> Table:
    """By part: shape, the roof, and the time of ours and of cuBLAS with CuPy kernels."""
    heads = ("part", "member", "products", "roof, µs", "ours, µs", "of the roof", "cuBLAS + CuPy, µs", "ratio")
    try:
        measured = recorded(recordings.shown(SUITE))
    except recordings.NoRecording:
        return not_recorded(heads)
    device = devices.DEFAULT
    known = {part.name: part for part in parts(measured.sizes)}
    rows = []
    for names in comparable(measured.layer):
        ours, rival = (sum(measured.layer[name][which].median_ms for name in names) for which in (OURS, RIVAL))
        cells, products = ("", "", "", ""), [known[name] for name in names if name in known]
        if products:
            roof = sum(product.roof_ms(peaks.of(device).tflops["FP32"], device.memory_gb_per_s) for product in products)
            count, shape = sum(product.count for product in products), " × ".join(map(str, products[0].shape))
            many = f"{count} × " if count > 1 else ""
            member = "; ".join(product.member for product in products)
            cells = (member, f"{many}({shape})", theme.thousands(1e3 * roof), f"{roof / ours:.0%}")
        rows.append((", ".join(names), *cells[:3], theme.thousands(1e3 * ours), cells[3], theme.thousands(1e3 * rival),
                     f"{rival / ours:.2f}"))  # fmt: skip
    caption = f"{measured.sizes.rows} tokens, float32 ({measured.label}); above 1 ours is faster"
    return Table(heads, tuple(rows), caption,
                 words=frozenset({0, 1}))  # fmt: skip


def record(folder: Path = recordings.FOLDER, budget_s: float = 0.5, sizes: Sizes | None = None) -> Path:
    """Verify and measure on the GPU at hand, and write family.json."""
    sizes = sizes or Sizes()
    content = {
        "gpu": gpu.name(), "provenance": provenance(), "sizes": vars(sizes),
        "small": [small(side, budget_s) for side in SIDES], "layer": layer_rows(sizes, budget_s),
    }  # fmt: skip
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, content)
    return file


def main() -> None:
    """Record."""
    if gpu.backend() != "gpu":
        raise SystemExit(f"Measuring needs a GPU. {gpu.reason()}")
    print(record())
    measured = recorded(gpu.name())
    for rows in (measured.small, measured.layer):
        for name, times in rows.items():
            print(name, {way: time.median_ms for way, time in times.items()})


if __name__ == "__main__":
    sys.exit(main())
