"""Measure a suite on the GPU at hand and keep it. What was measured is kept even if the suite is interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gemm_kernels
from gemm_kernels import LADDER, Kernel
from helpers import gpu, recordings, run
from helpers.measure.bench import NoGpu, Refusal, bench_together, compile_all
from helpers.measure.problem import ALPHA, BETA, problem, verify
from helpers.measure.provenance import code_sha256, provenance
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import GOLDEN, GOLDEN_SEED, GOLDEN_SHAPES, Group


def record_suites(
    shapes: Sequence[tuple[Group, tuple[str, ...], int]],
    *,
    budget_s: float = 1.0,
    folder: Path = recordings.FOLDER,
    report: Callable[[int, list[Measurement]], None] = lambda done, measured: None,
) -> tuple[list[Path], list[Refusal]]:
    """Measure every shape and merge its rows into the files of their suites. Returns the files and what was refused.

    shapes: of `in_turns`.  budget_s: for each group that a shape is made of.  `report` is called after each shape with
    the number of shapes done. An exception, KeyboardInterrupt among them, passes through after the rows of the finished
    shapes are on disk: an interrupted run keeps what it measured.
    """
    compile_all([kernel for group, _, _ in shapes for kernel in at_shape(group, gpu.name())])
    sources = {kernel.name: code_sha256(kernel) for group, _, _ in shapes for kernel in group.kernels}
    about_this_run = provenance()
    rows: dict[str, list[dict[str, Any]]] = {}
    refused: list[Refusal] = []
    files: list[Path] = []
    try:
        for done, (group, suites, count) in enumerate(shapes, start=1):
            kernels = at_shape(group, gpu.name())
            measured, refusals = bench_together(kernels, group.M, group.N, group.K, budget_s=count * budget_s)
            refused += refusals
            suite_of = {
                (kernel.name, tuple(kernel.params.items())): suite
                for kernel, suite in zip(kernels, suites, strict=True)
            }
            for row in measured:
                rows.setdefault(suite_of[row.kernel, tuple(row.params.items())], []).append(row.row())
            report(done, measured)
    finally:
        for suite, its_rows in rows.items():
            its_sources = {name: sources[name] for name in dict.fromkeys(row["kernel"] for row in its_rows)}
            about = about_this_run | {"code_sha256": its_sources}
            files.append(recordings.merge(gpu.name(), suite, about, its_rows, folder))
    return files, refused


def at_shape(group: Group, gpu_name: str) -> list[Kernel]:
    """The kernels of a group, those that are chosen by shape with the parameters for this one."""
    return [gemm_kernels.at_shape(kernel, group.M, group.N, group.K, gpu_name) for kernel in group.kernels]


def record_golden(kernels: Sequence[Kernel] = LADDER, folder: Path = recordings.FOLDER) -> Path:
    """Write the SHA-256 of each kernel's C at each golden shape, computed on this GPU, to its golden.json.

    Rows of kernels that are not in `kernels` are kept. Needs a GPU: hashes from the simulator would prove nothing.
    """
    if gpu.backend() != "gpu":
        raise NoGpu(f"Golden hashes are made on a GPU. {gpu.reason()}")
    file = recordings.path(gpu.name(), GOLDEN, folder)
    names = {kernel.name for kernel in kernels}
    kept = recordings.read(file)["rows"] if file.exists() else []
    rows = [row for row in kept if row["kernel"] not in names]
    rows += [row for kernel in kernels for row in golden(kernel)]
    recordings.write(
        file, {"provenance": provenance(), "alpha": ALPHA, "beta": BETA, "seed": GOLDEN_SEED, "rows": rows}
    )
    return file


def golden(kernel: Kernel) -> Iterator[dict[str, Any]]:
    """The golden rows of one kernel, computed on the device that helpers.gpu stands for, each C verified first."""
    for M, N, K in GOLDEN_SHAPES:
        A, B, C = problem(M, N, K, GOLDEN_SEED)
        for beta in golden_betas(M, N, K):
            before = None if beta == 0.0 else C
            result = run.multiply(kernel, A, B, before, ALPHA, beta)
            verify(result, A, B, before, ALPHA, beta)
            yield {
                "kernel": kernel.name,
                "params": dict(kernel.params),
                "M": M,
                "N": N,
                "K": K,
                "beta": beta,
                "sha256": sha256(result),
            }


def golden_betas(M: int, N: int, K: int) -> tuple[float, ...]:
    """With and without reading C; a large shape, which takes the simulator long, with it only."""
    return (0.0, BETA) if M * N * K < 10**6 else (BETA,)


def sha256(C: np.ndarray) -> str:
    """SHA-256 of C's bytes, row-major float32 little-endian."""
    return hashlib.sha256(np.ascontiguousarray(C, dtype="<f4").tobytes()).hexdigest()
