"""Try to find a kernel wrong on a GPU, and keep what was tried: shapes, poison, compute-sanitizer.

Every kernel at every listed shape and at random ones, twice: with beta = 0 onto NaN (each element must be written, and
C must not be read) and with beta onto C. Those whose blocks leave each other parts of C run on two streams at once.
Then all of them on odd shapes under the four tools of compute-sanitizer, which runs this file as a program
(`python -m helpers.tools.measuring.correctness`).
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import LADDER, SPECIALISTS, UPPER, Kernel, at_shape, by_shape, get
from helpers import gpu, recordings, run
from helpers.measure.bench import NoGpu, compile_all, stop_after_fault, verify_twice
from helpers.measure.problem import ALPHA, BETA, Reference, problem, tolerance
from helpers.measure.provenance import code_sha256, provenance
from helpers.recordings.suites import (
    LADDER_SIZES,
    OTHER_SHAPES,
    RANDOM_COUNT,
    RANDOM_LARGEST,
    RANDOM_SEED,
    Shape,
    random_shapes,
)

SUITE = "correctness"
EVERY = LADDER + SPECIALISTS + UPPER
LISTED: tuple[Shape, ...] = (*((size, size, size) for size in LADDER_SIZES), *OTHER_SHAPES)
SPECIALISTS_LARGEST = 2**30  # M·N·K up to which kernels for special shapes are tried: some read B for each row
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SANITIZED: tuple[Shape, ...] = ((1, 1, 1), (33, 65, 129), (129, 257, 37))  # no tile's multiple; rows never aligned
SANITIZED_ALIGNED: tuple[Shape, ...] = ((68, 132, 36),)  # rows of whole float4s, tiles that stick out
STREAMED: tuple[Shape, ...] = ((300, 200, 5000), (1, 1000, 20_000), (100, 1, 50_000))  # few tiles, which blocks share
PARTS = 4  # processes for each tool
TOGETHER = 20  # launches of each of two streams
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazards? displayed)")


class Incorrect(Exception):
    """A kernel was found wrong; the message says which, where and how."""


def check(
    kernels: Sequence[Kernel] = EVERY,
    shapes: Sequence[Shape] | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Verify every kernel at every shape. One row a kernel with its worst error. Incorrect at the first that is wrong.

    What is chosen by shape is tried with the parameters for the shape, and on random shapes with all there are; each
    with the versions of its code that `fastest` would take there.
    Kernels for a special shape are not tried at products of more than SPECIALISTS_LARGEST multiplications.
    """
    if gpu.backend() != "gpu":
        raise NoGpu(f"Correctness on a GPU is checked on one. {gpu.reason()}")
    shapes = [*LISTED, *random_shapes()] if shapes is None else list(shapes)
    tried = {kernel.name: by_shape.variants(kernel, gpu.name()) for kernel in kernels}
    every = [*(kernel for variant in tried.values() for kernel in variant), *kernels]
    every = [kernel.for_rows(N) for kernel in every for N in {N for _, N, _ in shapes}]
    compile_all(every)
    launches = {kernel.entry: run.load(kernel) for kernel in {kernel.entry: kernel for kernel in every}.values()}
    rows = {kernel.name: _Row(kernel, len(tried[kernel.name])) for kernel in kernels}
    for done, shape in enumerate(shapes, start=1):
        A, B, C = (gpu.asarray(matrix) for matrix in problem(*shape, seed=done))
        reference = Reference.of(A, B)
        for kernel in kernels:
            if kernel in SPECIALISTS and math.prod(shape) > SPECIALISTS_LARGEST:
                continue
            small = max(shape) <= RANDOM_LARGEST
            chosen = tried[kernel.name] if small else [at_shape(kernel, *shape, gpu.name())]
            for sized in (kernel.for_rows(shape[1]) for kernel in chosen):
                try:
                    error = verify_twice(launches[sized.entry], reference, A, B, C, ALPHA, BETA)
                except Exception as reason:
                    stop_after_fault(sized, reason)
                    raise Incorrect(f"{sized.entry} at {'×'.join(map(str, shape))}: {reason}") from reason
                rows[kernel.name].add(shape, error)
        report(done, len(shapes))
    return [row.content() for row in rows.values()]


class _Row:
    """What was found for one kernel so far."""

    def __init__(self, kernel: Kernel, variants: int) -> None:
        self.kernel, self.variants, self.checks = kernel, variants, 0
        self.worst, self.where = 0.0, (0, 0, 0)

    def add(self, shape: Shape, error: float) -> None:
        self.checks += 1
        if error / math.sqrt(shape[2]) > self.worst:
            self.worst, self.where = error / math.sqrt(shape[2]), shape

    def content(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.name,
            "params": dict(self.kernel.params),
            "code_sha256": code_sha256(self.kernel),
            "parameter_sets": self.variants,
            "checks": self.checks,
            "worst_error_over_sqrt_k": float(f"{self.worst:.3g}"),
            "at": list(self.where),
        }


def on_two_streams(kernel: Kernel) -> int:
    """Launch a kernel on two streams at once, each with inputs of its own, again and again. Returns how many launches.

    Incorrect if one of them gave other bits than a launch that was alone on the GPU.
    """
    import cupy

    launch = run.load(kernel)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    for shape in STREAMED:
        inputs = [tuple(gpu.asarray(matrix) for matrix in problem(*shape, seed=seed)) for seed in range(len(streams))]
        alone = [C.copy() for _, _, C in inputs]
        for (A, B, _), output in zip(inputs, alone, strict=True):
            launch(*shape, ALPHA, A, B, BETA, output)
        together = [[C.copy() for _ in range(TOGETHER)] for _, _, C in inputs]
        gpu.synchronize()
        for turn in range(TOGETHER):
            for stream, (A, B, _), outputs in zip(streams, inputs, together, strict=True):
                with stream:
                    launch(*shape, ALPHA, A, B, BETA, outputs[turn])
        gpu.synchronize()
        for expected, outputs in zip(alone, together, strict=True):
            different = sum(not bool((output == expected).all()) for output in outputs)
            if different:
                raise Incorrect(
                    f"{kernel.entry} at {'×'.join(map(str, shape))}: {different} of {TOGETHER} launches on one of two "
                    "streams gave other bits than a launch alone. Do the launches share memory?"
                )
    return len(STREAMED) * len(streams) * TOGETHER


def sanitize(kernels: Sequence[Kernel] = EVERY) -> tuple[str, dict[str, int]]:
    """Run the kernels on odd shapes under each tool, all at once: the version, and each tool's findings, all 0.

    Each tool has PARTS processes, each with a part of the kernels: loading machine code under a tool takes longest.

    Incorrect, with the tool's words, if one of them reports anything.
    """
    program = shutil.which("compute-sanitizer")
    if program is None:
        raise Incorrect("compute-sanitizer is not on the PATH: add the CUDA toolkit's bin folder to it.")
    names = [kernel.name for kernel in kernels]

    def run(job: tuple[str, int]) -> int:
        tool, part = job
        command = [program, "--tool", tool, "--print-limit", "10", sys.executable, "-m", __name__, *names]
        command += ["--part", str(part)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        output = done.stdout + done.stderr
        findings = findings_in(output)
        if findings != 0 or done.returncode != 0 or f"{launches(names, part)} launches" not in output:
            count = "nothing that can be read" if findings is None else f"{findings} finding(s)"
            raise Incorrect(f"compute-sanitizer's {tool} reports {count}: {output[-3000:]}")
        return findings

    jobs = [(tool, part) for tool in TOOLS for part in range(PARTS)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        match = dict(zip(jobs, pool.map(run, jobs), strict=True))
    findings = {tool: sum(match[tool, part] for part in range(PARTS)) for tool in TOOLS}
    about = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    match = re.search(r"Version ([\d.]+)", about)
    return match.group(1) if match else "unknown", findings


def findings_in(output: str) -> int | None:
    """The number of findings in a tool's summary, None if there is no summary."""
    summary = _SUMMARY.search(output)
    return int(summary.group(1) or summary.group(2)) if summary else None


def launches(names: Sequence[str], part: int) -> int:
    """How many launches `launch_all` makes: each variant at each shape with beta = 0 and with beta."""
    return 2 * len((*SANITIZED, *SANITIZED_ALIGNED)) * len(_variants(names, part))


def _variants(names: Sequence[str], part: int) -> list[Kernel]:
    """One of PARTS parts of the kernels with each set of parameters that may be chosen for them."""
    return [kernel for name in names for kernel in by_shape.variants(get(name), gpu.name())][part::PARTS]


def launch_all(names: Sequence[str], part: int) -> int:
    """Launch the kernels on the sanitizer's shapes: with beta = 0 onto a C that nobody wrote, and with beta onto C."""
    import cupy

    cupy.cuda.set_allocator(None)  # one allocation an array: a pool would hide reads of what nobody wrote
    count = 0
    for kernel in _variants(names, part):
        launch = run.load(kernel)
        for M, N, K in (*SANITIZED, *SANITIZED_ALIGNED):
            A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
            for beta, output in ((0.0, gpu.empty((M, N), np.float32)), (BETA, C)):
                launch(M, N, K, ALPHA, A, B, beta, output)
                gpu.synchronize()
                count += 1
    return count


def record_correctness(
    kernels: Sequence[Kernel] = EVERY,
    folder: Path = recordings.FOLDER,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Check and sanitize, and write the GPU's correctness.json. Nothing is written if a kernel is found wrong.

    The rows of kernels that are not in `kernels` are kept.
    """
    file = recordings.path(gpu.name(), SUITE, folder)
    names = {kernel.name for kernel in kernels}
    checked = check(kernels, report=report)
    streamed = {kernel.name: on_two_streams(kernel) for kernel in kernels if kernel.workspace_bytes is not None}
    version, findings = sanitize(kernels)
    # Read now: on another GPU other kernels may have been checked meanwhile
    kept = [row for row in recordings.read(file)["rows"] if row["kernel"] not in names] if file.exists() else []
    content = {
        "provenance": provenance() | {"compute_sanitizer": version},
        "tolerance_over_sqrt_k": tolerance(1),
        "shapes": [list(shape) for shape in LISTED],
        "specialists_largest": SPECIALISTS_LARGEST,
        "random_shapes": {"seed": RANDOM_SEED, "count": RANDOM_COUNT, "largest": RANDOM_LARGEST},
        "sanitizer_shapes": [list(shape) for shape in (*SANITIZED, *SANITIZED_ALIGNED)],
        "rows": kept
        + [row | {"launches_on_two_streams": streamed.get(row["kernel"], 0), "findings": findings} for row in checked],
    }
    recordings.write(file, content)
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--part", type=int, required=True)
    options = parser.parse_args()
    print(f"{launch_all(options.kernels, options.part)} launches")
