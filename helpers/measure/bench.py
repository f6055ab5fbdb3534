"""Verify a kernel, then time it against cuBLAS in the same run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gemm_kernels import Kernel, Launch
from gpusim.sentences import Sentence
from helpers import gpu, run
from helpers.measure.problem import ALPHA, BETA, Reference, problem
from helpers.measure.timing import interleave
from helpers.recordings.measurement import MEASURED, Measurement, Timing

MOST_PROCESSES = 16  # that compile at once: each has a context on the GPU


class NoGpu(Sentence, Exception):
    """A measurement was asked for on a machine without a GPU; the message says what to use instead."""


class NoProfiler(Exception):
    """Nsight Compute cannot count here; the message says what it answered."""


def bench(
    kernel: Kernel, M: int, N: int, K: int, *, alpha: float = ALPHA, beta: float = BETA, budget_s: float = 1.0
) -> Measurement:
    """Measure one kernel at one shape beside cuBLAS. Needs a GPU (NoGpu otherwise); refuses a wrong C (WrongResult)."""
    measured, refused = bench_together((kernel,), M, N, K, alpha=alpha, beta=beta, budget_s=budget_s)
    for refusal in refused:
        raise refusal.error
    return measured[0]


@dataclass(frozen=True)
class Refusal:
    """A kernel that was not timed, and why: it does not compile, does not launch, or its C is wrong.

    shape: (M, N, K), where it is needed to find the launch again.
    """

    kernel: Kernel
    error: Exception
    shape: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Accepted:
    """A kernel that may be timed: it is loaded, and its error is within the tolerance."""

    kernel: Kernel
    launch: Callable[..., None]
    error: float


def accept(
    kernels: Sequence[Kernel], check: Callable[[Callable[..., None]], float]
) -> tuple[list[Accepted], list[Refusal]]:
    """Load kernels and check each: those that pass, in order, and those that are refused.

    check: takes `launch(M, N, K, alpha, A, B, beta, C)`, returns the error, and raises if something is wrong.
    LaunchFailed if a kernel faults.
    """
    accepted: list[Accepted] = []
    refused: list[Refusal] = []
    for kernel in kernels:
        try:
            launch = run.load(kernel)
            accepted.append(Accepted(kernel, launch, check(launch)))
        except Exception as reason:  # compile and launch errors are CuPy's own types
            stop_after_fault(kernel, reason)
            refused.append(Refusal(kernel, reason))
    return accepted, refused


def bench_together(
    kernels: Sequence[Kernel],
    M: int,
    N: int,
    K: int,
    *,
    alpha: float = ALPHA,
    beta: float = BETA,
    budget_s: float = 1.0,
) -> tuple[list[Measurement], list[Refusal]]:
    """Measure several kernels and cuBLAS in turns at one shape: those that pass, in order, and those that are refused.

    Every kernel is verified before it is timed, cuBLAS too. `budget_s` is the time in seconds to spend on timing, all
    together. NoGpu without a GPU; LaunchFailed if a kernel faults, after which the process can measure nothing more.
    """
    if gpu.backend() != "gpu":
        raise NoGpu(
            f"Timing needs a GPU. {gpu.reason()} helpers.measure.performance(…) reads what was recorded on a GPU."
        )
    A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
    reference = Reference.of(A, B)
    output = C.copy()  # one for all: what a launch finds in it does not change its time

    accepted, refused = accept(kernels, lambda launch: verify_twice(launch, reference, A, B, C, alpha, beta))
    verify_twice(cublas_sgemm, reference, A, B, C, alpha, beta)
    launches = [*(candidate.launch for candidate in accepted), cublas_sgemm]

    milliseconds = interleave([partial(launch, M, N, K, alpha, A, B, beta, output) for launch in launches], budget_s)
    cublas = Timing.of(milliseconds[:, -1])
    measured = [
        Measurement(
            kernel=candidate.kernel.name,
            params=dict(candidate.kernel.params),
            block=candidate.kernel.block,
            M=M,
            N=N,
            K=K,
            time=Timing.of(milliseconds[:, column]),
            cublas=cublas,
            error=candidate.error,
            gpu=gpu.name(),
            label=MEASURED,
        )
        for column, candidate in enumerate(accepted)
    ]
    return measured, refused


def compile_all(
    kernels: Sequence[Kernel | Launch], report: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Compile kernels into CuPy's disk cache in a process for each core, so that loading them one by one is quick.

    report: called with the number of kernels done, and of all. What does not compile says so when it is loaded.

    NoGpu on the simulator.
    """
    if gpu.backend() != "gpu":
        raise NoGpu(f"Compiling for a GPU through CuPy needs one. {gpu.reason()}")
    different = list(dict.fromkeys((kernel.source, kernel.entry) for kernel in kernels))
    count = min(len(different), os.cpu_count() or 1, MOST_PROCESSES)
    with ProcessPoolExecutor(max(1, count), multiprocessing.get_context("spawn")) as pool:
        for done, _ in enumerate(pool.map(_compiled, different), start=1):
            report(done, len(different))


def _compiled(kernel: tuple[str, str]) -> None:
    """Compile (source, entry) into CuPy's cache on disk; the load that follows says what is wrong."""
    with contextlib.suppress(Exception):
        run.module(*kernel).compile()


def cublas_sgemm(M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
    """C = alpha·A·B + beta·C by cuBLAS's float32 SGEMM, called as the ladder's kernels are, on row-major arrays."""
    import cupy.cublas

    cupy.cublas.gemm("N", "N", A, B, out=C, alpha=alpha, beta=beta)


def verify_twice(
    launch: Callable[..., None], reference: Reference, A: Any, B: Any, C: Any, alpha: float, beta: float
) -> float:
    """The larger error of two launches: one onto NaN with beta = 0, one onto C. WrongResult if either is wrong."""
    (M, K), N = A.shape, B.shape[1]
    poisoned = gpu.full((M, N), np.nan, np.float32)
    launch(M, N, K, alpha, A, B, 0.0, poisoned)
    updated = C.copy()
    launch(M, N, K, alpha, A, B, beta, updated)
    gpu.synchronize()
    return max(reference.check(poisoned, alpha), reference.check(updated, alpha, beta, C))


def stop_after_fault(kernel: Kernel, reason: Exception) -> None:
    """A fault inside a kernel makes every later CUDA call fail; then nothing more can be measured in this process."""
    try:
        gpu.synchronize()
    except Exception:
        raise run.LaunchFailed(
            f"{kernel.entry} faulted on the GPU ({reason}); nothing more can be measured in this process."
        ) from reason
