"""Search for the fastest parameters of the `autotuned` kernel on the GPU at hand, shape by shape, with Kernel Tuner.

Kernel Tuner (the extra `tune`) walks the space within the restrictions, compiles and times through its CuPy back end,
and keeps a cache from which an interrupted search goes on. Three things that it does not do, an observer adds: it
lifts the function's limit on dynamic shared memory (the back end leaves it at 48 KB, and a larger launch would end the
search), it overwrites the L2 before each launch, and it holds C against float64.

Its times are taken one configuration after another, each launched on an idle GPU, so that some microseconds of the host
are in them. They choose the finalists. Those take turns with each other and with cuBLAS in `bench_together`, and the
fastest of them is the one that `gemm_kernels.autotuned` gives for the shape.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel, choices, get
from gemm_kernels.launch import OPTIONS
from helpers import gpu, recordings
from helpers.measure.bench import bench_together
from helpers.measure.problem import ALPHA, BETA, Reference, WrongResult, problem
from helpers.measure.provenance import code_sha256, provenance
from helpers.measure.timing import flusher
from helpers.pictures.tuning.search_space import KERNEL, SPACE, THREADS, Params, suits
from helpers.recordings.measurement import MEASURED, Measurement, Timing
from helpers.recordings.suites import FINALS, LADDER_SIZES, OTHER_SHAPES, SEARCH, Shape
from helpers.tools.measuring.choosing import update_choices

# Every size and shape that is recorded, and squares between them.
SHAPES: tuple[Shape, ...] = tuple(
    sorted(
        {*((size, size, size) for size in (*LADDER_SIZES, 384, 768, 1536, 3072)), *OTHER_SHAPES},
        key=lambda shape: (math.prod(shape), shape),
    )
)
FINALISTS = 6
TIMED_S, FEWEST, MOST = 0.02, 3, 9  # launches of a configuration: as many as fit into TIMED_S seconds, within these
WHOLE = ((256, 256, 256), (1024, 1024, 1024), (4096, 4096, 4096))  # shapes of which all that was measured is kept
KEPT = 20  # and of the others the fastest so many


class NoTuner(Exception):
    """Kernel Tuner is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Searched:
    """What a search found at one shape.

    searched: every configuration that was measured and right, fastest first. finals: those that took turns with cuBLAS,
    fastest first. refused: what was wrong or did not run, in sentences.
    """

    shape: Shape
    searched: tuple[Measurement, ...]
    finals: tuple[Measurement, ...]
    refused: tuple[str, ...]


def search(
    shape: Shape,
    candidates: Sequence[Params],
    cache: Path,
    *,
    budget_s: float = 1.0,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Searched:
    """Measure the candidates that suit a shape, then the fastest of them beside cuBLAS. Needs a GPU and Kernel Tuner.

    cache: a folder for Kernel Tuner's caches; a search that was interrupted there goes on where it stopped.
    budget_s: seconds for the finals.  report: called with the number of configurations done, and of all.
    """
    kernel_tuner, observers = _kernel_tuner()
    kernel = get(KERNEL)
    M, N, K = shape
    chosen = [params for params in candidates if suits(params, shape, _sms())]
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
    output = C.copy()
    observer = _observer(observers.BenchmarkObserver, Reference.of(A, B), C, output, report, len(chosen))
    values, restrictions = kernel_tuner_space(chosen)
    rows, _ = kernel_tuner.tune_kernel(
        f"{kernel.function}<Params{{{', '.join(SPACE)}}}>",  # without names, which Kernel Tuner would replace, too
        kernel.source,
        (N, M),
        [np.int32(M), np.int32(N), np.int32(K), np.float32(ALPHA), A, B, np.float32(BETA), output],
        values,
        restrictions=restrictions,
        grid_div_x=["BN"],
        grid_div_y=["BM"],
        block_size_names=["THREADS"],
        smem_args={"size": lambda params: _kernel(params).shared_bytes},
        lang="CUPY",
        compiler_options=list(OPTIONS),
        defines={},
        iterations=_launches(shape),
        observers=[observer],
        cache=str(cache / f"{_key(kernel, values)}-{M}x{N}x{K}.json"),
        quiet=True,
    )
    right = [row for row in rows if row.get("error") is not None and row["error"] == row["error"]]
    refused = [f"{_kernel(row).entry}: {row.get('__error__', 'wrong result')}" for row in rows if row not in right]
    right.sort(key=lambda row: float(np.median(row["times"])))
    finals, refusals = bench_together([_kernel(row) for row in right[:FINALISTS]], M, N, K, budget_s=budget_s)
    refused += [f"{refusal.kernel.entry}: {refusal.error}" for refusal in refusals]
    searched = [_measurement(row, shape, finals[0].cublas) for row in right] if finals else []
    return Searched(shape, tuple(searched), tuple(sorted(finals, key=lambda row: row.median_ms)), tuple(refused))


def kernel_tuner_space(chosen: Sequence[Params]) -> tuple[dict[str, list[int]], list[Any]]:
    """The values of each parameter and the restrictions, for Kernel Tuner to walk exactly the chosen sets.

    The block's threads are a parameter of their own, because that is where Kernel Tuner looks for the block's shape.
    """
    values = {name: sorted({params[name] for params in chosen}) for name in SPACE}
    wanted = {tuple(params[name] for name in SPACE) for params in chosen}

    def is_chosen(*params: int) -> bool:
        return params[: len(SPACE)] in wanted

    # Being chosen is the restriction. The others say parts of it again, in a form that prunes early.
    return {**values, "THREADS": list(THREADS)}, [
        is_chosen,
        "(WM // TM) * (WN // TN) == 32",
        "BK % (8 * SLICES) == 0",
        "THREADS == 32 * (BM // WM) * (BN // WN) * SLICES",
    ]


def _kernel(params: Params) -> Kernel:
    """The kernel with these parameters, of which some may be Kernel Tuner's own."""
    return get(KERNEL).replace(**{name: int(params[name]) for name in SPACE})


def _measurement(row: Mapping[str, Any], shape: Shape, cublas: Timing) -> Measurement:
    kernel = _kernel(row)
    return Measurement(
        kernel=KERNEL,
        params=dict(kernel.params),
        block=kernel.block,
        M=shape[0],
        N=shape[1],
        K=shape[2],
        time=Timing.of(row["times"]),
        cublas=cublas,
        error=row["error"],
        gpu=gpu.name(),
        label=MEASURED,
    )


def _launches(shape: Shape) -> int:
    """Launches of a configuration, from the time that half of the peak would take."""
    device = gpu.device()
    peak = device.peak_fp32_gflops if device else 10_000.0
    seconds = 2 * math.prod(shape) / (0.5e9 * peak)
    return int(np.clip(TIMED_S / max(seconds, 1e-6), FEWEST, MOST))


def _key(kernel: Kernel, values: Mapping[str, Sequence[int]]) -> str:
    """What a cached search depends on, beside the GPU and the shape."""
    text = json.dumps([gpu.name(), kernel.source, values])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sms() -> int:
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def _kernel_tuner() -> tuple[Any, Any]:
    try:
        import kernel_tuner
        from kernel_tuner import observers
    except ImportError as error:
        raise NoTuner(
            f"Kernel Tuner cannot be imported ({error}). `make tune` installs it into .venv; elsewhere "
            "`pip install kernel-tuner` does."
        ) from error
    return kernel_tuner, observers


def _observer(
    base: type, reference: Reference, before: Any, output: Any, report: Callable[[int, int], None], total: int
) -> Any:
    """Kernel Tuner's view on a search at one shape: a cold L2, C against float64, dynamic shared memory, progress."""
    flush = flusher()

    class ColdAndRight(base):
        done = 0

        def register_configuration(self, params: Params) -> None:
            shared_bytes = _kernel(params).shared_bytes
            if shared_bytes:
                self.dev.func.max_dynamic_shared_size_bytes = shared_bytes
            self.error: float | None = None
            output[...] = before

        def before_start(self) -> None:
            flush()

        def after_finish(self) -> None:
            if self.error is None:  # of the first launch; each launch finds in C what the one before has left
                try:
                    self.error = reference.check(output, ALPHA, BETA, before)
                except WrongResult:
                    self.error = math.nan

        def get_results(self) -> dict[str, float | None]:
            self.done += 1
            report(min(self.done, total), total)
            return {"error": self.error}

    return ColdAndRight()


def keep(
    results: Sequence[Searched], sms: int, folder: Path = recordings.FOLDER, choices_folder: Path = choices.FOLDER
) -> Path:
    """Merge searches into the GPU's recordings, and the fastest parameters at each shape into its choices.

    sms: of the GPU. What an older run measured at a shape that is searched again is dropped. Returns the finals' file.
    """
    if not results:
        raise ValueError("There is nothing to keep: no search was finished.")
    import kernel_tuner

    about = provenance() | {"kernel_tuner": kernel_tuner.__version__, "code_sha256": {KERNEL: code_sha256(get(KERNEL))}}
    again = {result.shape for result in results}
    searched = [
        row for result in results for row in (result.searched if result.shape in WHOLE else result.searched[:KEPT])
    ]
    for suite, rows in ((SEARCH, searched), (FINALS, [row for result in results for row in result.finals])):
        file = recordings.path(gpu.name(), suite, folder)
        recordings.drop(file, lambda row: (row["M"], row["N"], row["K"]) in again)
        recordings.merge(gpu.name(), suite, about, [row.row() for row in rows], folder)
    update_choices(gpu.name(), sms, choices_folder, searched=chosen(recordings.load(gpu.name(), FINALS, folder)))
    return file


def chosen(finals: Sequence[Measurement]) -> list[dict[str, Any]]:
    """The fastest finalist at each shape, by the number of operations: what `gemm_kernels.autotuned` chooses from."""
    best: dict[Shape, Measurement] = {}
    for row in finals:
        shape = row.M, row.N, row.K
        if shape not in best or row.median_ms < best[shape].median_ms:
            best[shape] = row
    ordered = sorted(best, key=lambda shape: (math.prod(shape), shape))
    return [{"M": M, "N": N, "K": K, "params": dict(best[M, N, K].params)} for M, N, K in ordered]
