"""What notebook 18 only knows from a GPU: many small products in three ways, and a transformer's layer of members.

    python -m helpers.exercises.family     on a GPU: write recordings/<gpu>/family.json

Every way is compared with float64 first. Small products: the notebook's own kernel in one launch, in a loop of launches
from Python, and in a CUDA graph of those launches; beside it `gemm` and cuBLAS, each in one launch. The layer: each
part beside cuBLAS, in the fastest of the ways in which it can be asked, and the kernel that it needs besides, then the
whole. All take turns, with a cold L2.
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
from helpers.exercises.transformer import FLOAT_BYTES, NO_PRODUCT, Layer, Sizes, parts
from helpers.measure import second_kernels
from helpers.measure.provenance import provenance
from helpers.measure.timing import flusher, take_turns
from helpers.pictures import theme
from helpers.pictures.tables import Table, not_recorded
from helpers.recordings.measurement import MEASURED, Timing, recorded_on

SUITE = "family"
COUNT = 1000
SIDES = (16, 64, 256)  # M = N = K of the small products
WAYS = ONE_LAUNCH, LOOP, GRAPH, FAMILY, LIBRARY = "one launch", "a loop", "a graph", "gemm", "cuBLAS"
OURS, FUSED, RIVAL = "ours", "ours, one launch", "cuBLAS"
FUSED_MEMBER = "in one launch each"
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
    flush = flusher()

    def before() -> None:  # twice: Python takes longer for `cupy.matmul` than the GPU for one
        flush()
        flush()

    times = _in_turns(ways.values(), budget_s, before)
    return {"side": side, "count": COUNT, "times": _written(ways, times)}


# --- the layer ------------------------------------------------------------------------------------------------------


def rival_ways(layer: Layer) -> dict[str, dict[str, Callable[[], Any]]]:
    """part -> way -> the same part of a layer by cuBLAS, through its column-major eyes.

    A residual is C = A · B + C, in place, as `beta` has it: Y begins as X, and ends as the result. SiLU and the gate
    are a kernel behind `up`. The texts of a batch lie at another step than their heads, so all products at once go by
    pointers, and by one step those of each text.
    """
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas as library

    handle, sizes, W, a = device.get_cublas_handle(), layer.sizes, layer.given, layer.made
    numbers = np.array([1.0, layer.scale, 0.0], np.float32)
    unit, scale, zero = (numbers.ctypes.data + 4 * n for n in range(3))

    def product(A: Any, B: Any, C: Any, beta: int = zero, keep: Any = numbers) -> None:
        (M, K), N = A.shape, B.shape[1]
        library.sgemm(handle, 0, 0, N, M, K, unit, B.data.ptr, N, A.data.ptr, K, beta, C.data.ptr, N)

    def batched(A: Any, B: Any, C: Any, op_b: int, alpha: int) -> dict[str, Callable[[], Any]]:
        # Views (batch, heads, rows, columns).
        shape = op_b, 0, C.shape[3], C.shape[2], A.shape[3]
        a_row, b_row, c_row = (view.strides[2] // FLOAT_BYTES for view in (A, B, C))
        lists = [gpu.asarray(addresses(view)) for view in (A, B, C)]

        def by_pointers(keep: Any = lists) -> None:
            left, right, to = (array.data.ptr for array in lists)
            library.sgemmBatched(handle, *shape, alpha, right, b_row, left, a_row, zero, to, c_row, lists[0].size)

        def by_steps(keep: Any = numbers) -> None:
            for a_, b_, c_ in zip(A, B, C, strict=True):
                library.sgemmStridedBatched(
                    handle, *shape, alpha, b_.data.ptr, b_row, b_.strides[0] // FLOAT_BYTES,
                    a_.data.ptr, a_row, a_.strides[0] // FLOAT_BYTES, zero,
                    c_.data.ptr, c_row, c_.strides[0] // FLOAT_BYTES, sizes.heads,
                )  # fmt: skip

        return {"all by pointers": by_pointers, "a text at a time": by_steps}

    Q, K, V = (layer.heads(a["QKV"], third) for third in range(3))
    silu_gate = second_kernels.silu_gate(a["up"], a["gate"])

    def up() -> None:
        product(a["Y"], W["up"], a["up"])
        silu_gate()  # the gate's array holds what goes on

    alone = {
        "Q, K, V": partial(product, W["X"], W["QKV"], a["QKV"]),
        NO_PRODUCT: layer.softmax,
        "output": partial(product, a["values"], W["output"], a["Y"], unit),
        "gate": partial(product, a["Y"], W["gate"], a["gate"]),
        "up": up,
        "down": partial(product, a["gate"], W["down"], a["Y"], unit),
    }
    several = {
        "scores": batched(Q, K, a["scores"], 1, scale),
        "values": batched(a["scores"], V, layer.heads(a["values"]), 0, unit),
    }
    return {part: several.get(part) or {"": alone[part]} for part in layer.steps}


def addresses(view: Any) -> np.ndarray:
    """Where each matrix of a view (batch, heads, rows, columns) begins, in memory."""
    batch, heads = np.indices(view.shape[:2]).astype(np.uint64)
    return (np.uint64(view.data.ptr) + batch * np.uint64(view.strides[0]) + heads * np.uint64(view.strides[1])).ravel()


def layer_rows(sizes: Sizes, budget_s: float) -> list[dict[str, Any]]:
    """A row for each part, and one for the whole. Raises WrongResult."""
    given = transformer.weights(sizes)
    expected = transformer.exact(sizes, given)
    ours, theirs, fused = Layer(sizes, given), Layer(sizes, given), Layer(sizes, given, several=False)
    theirs.made["Y"][...] = theirs.given["X"]
    asked = rival_ways(theirs)

    def whole(steps: Iterable[Callable[[], Any]]) -> None:
        for step in steps:
            step()

    whole(next(iter(ways.values())) for ways in asked.values())
    whole(ours.steps.values())
    whole(fused.steps.values())
    results = {OURS: ours.made["result"], FUSED: fused.made["result"], RIVAL: theirs.made["Y"]}
    for name, result in results.items():
        error = np.abs(gpu.asnumpy(result) - expected).max() / np.abs(expected).max()
        if not error <= ERROR:
            raise WrongResult(f"The layer by {name} differs from float64 by {error:.1e} of its largest element.")
    for part, ways in asked.items():
        _same_results(theirs, part, ways)
    theirs.made["Y"][...] = theirs.given["X"]
    in_one = {part: fused.plans[part] for part, made in ours.plans.items() if len(made.launches) > 1}
    flush, rows, best = flusher(), [], {}
    restore = _restorer([theirs.made[name] for name in ("Y", "gate")])

    def before() -> None:  # what is added to in place does not grow from launch to launch
        restore()
        flush()

    for part, step in ours.steps.items():
        launches = {OURS: step} | ({FUSED: in_one[part]} if part in in_one else {}) | asked[part]
        times = _in_turns(launches.values(), budget_s, before)
        fastest = min(asked[part], key=dict(zip(launches, np.median(times, axis=0), strict=True)).__getitem__)
        best[part] = asked[part][fastest]
        written = _written(launches, times)
        kept = {name: written[name] for name in (OURS, FUSED) if name in written} | {RIVAL: written[fastest]}
        others = {way: time for way, time in written.items() if way in asked[part] and way}
        rows.append({"part": part, "times": kept, "asked": others})
    wholes = {OURS: ours.steps.values(), RIVAL: best.values()}
    times = _in_turns([partial(whole, list(steps)) for steps in wholes.values()], budget_s, before)
    return [*rows, {"part": WHOLE, "times": _written(wholes, times)}]


def _restorer(arrays: Iterable[Any]) -> Callable[[], None]:
    """What gives the arrays back the numbers that they have now."""
    pairs = [(array, array.copy()) for array in arrays]

    def restore() -> None:
        for array, numbers in pairs:
            array[...] = numbers

    return restore


def _same_results(layer: Layer, part: str, ways: Mapping[str, Callable[[], Any]]) -> None:
    """Raise WrongResult if the ways in which cuBLAS is asked for a part leave different numbers."""
    if len(ways) > 1:
        left = []
        for way in ways.values():
            layer.made[part][...] = np.nan
            way()
            left.append(gpu.asnumpy(layer.made[part]))
        if not all(np.allclose(numbers, left[0], rtol=ERROR, atol=ERROR) for numbers in left):
            raise WrongResult(f"{part} is not the same by cuBLAS {' and '.join(ways)}.")


def _in_turns(launches: Iterable[Callable[[], Any]], budget_s: float, before: Callable[[], None]) -> np.ndarray:
    import cupy

    return take_turns(list(launches), cupy.cuda.get_current_stream(), budget_s, before)


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
    """What `_timings` reads back: a column of `take_turns` for each name."""
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
        (f"{side} × {side} × {side}", *(_microseconds(times[name]) for name in WAYS))
        for side, times in measured.items()
    )
    return Table(heads, rows, f"{COUNT} products by gemm_batch in three ways, by gemm and by cuBLAS ({label})")


def _microseconds(time: Timing) -> str:
    return theme.median(*(1e3 * ms for ms in (time.lower_ms, time.median_ms, time.upper_ms)))


def comparable(layer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The parts of the layer, together where each alone does different work on the two sides: ours has SiLU in `gate`,
    and cuBLAS's side behind `up`."""
    return [GATED if name == GATED[0] else (name,) for name in layer if name not in GATED[1:]]


def layer_table() -> Table:
    """By part: shape, the roof, and the time of ours and of cuBLAS. Where ours has its epilogue in a launch of its own,
    one launch with both is a row, too."""
    heads = ("part", "member", "products", "roof, µs", "ours, µs", "of the roof", "cuBLAS, µs", "ratio")
    try:
        measured = recorded(recordings.shown(SUITE))
    except recordings.NoRecording:
        return not_recorded(heads)
    device = devices.DEFAULT
    known = {part.name: part for part in parts(measured.sizes)}
    rows = []
    for names in comparable(measured.layer):
        cells, roof, products = ("", "", ""), 0.0, [known[name] for name in names if name in known]
        if products:
            roof = sum(product.roof_ms(peaks.of(device).tflops["FP32"], device.memory_gb_per_s) for product in products)
            count, shape = sum(product.count for product in products), " × ".join(map(str, products[0].shape))
            many = f"{count} × " if count > 1 else ""
            member = "; ".join(product.member for product in products)
            cells = (member, f"{many}({shape})", theme.thousands(1e3 * roof))
        rows.append((", ".join(names), *cells, *_compared(measured.layer, names, OURS, roof)))
        if all(FUSED in measured.layer[name] for name in names):
            rows.append(("the same", FUSED_MEMBER, *cells[1:], *_compared(measured.layer, names, FUSED, roof)))
    caption = f"{measured.sizes.rows} tokens, float32 ({measured.label}); above 1 ours is faster"
    return Table(heads, tuple(rows), caption, words=frozenset({0, 1}))


def _compared(
    layer: Mapping[str, Mapping[str, Timing]], names: Iterable[str], way: str, roof: float
) -> tuple[str, str, str, str]:
    """µs of ours in a way, what the roof is of it, µs of cuBLAS, and how many times as long that is."""
    ours, rival = (sum(layer[name][which].median_ms for name in names) for which in (way, RIVAL))
    share = f"{roof / ours:.0%}" if roof else ""
    return theme.thousands(1e3 * ours), share, theme.thousands(1e3 * rival), f"{rival / ours:.2f}"


def record(folder: Path = recordings.FOLDER, budget_s: float = 0.4, sizes: Sizes | None = None) -> Path:
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
