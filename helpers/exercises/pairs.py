"""Sources that differ in one thing, timed in turns: what does `__restrict__` buy, and the shape of a block?

python -m helpers.exercises.pairs     on a GPU: time them, and write recordings/<gpu>/source_pairs.json
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import cache
from typing import Any

from gemm_kernels import Launch, OwnKernel, get
from gpusim import devices
from helpers import gpu, recordings
from helpers.exercises.framework import rungs, speed
from helpers.exercises.framework.catalogue import get as exercise
from helpers.exercises.framework.exercise import code_of
from helpers.measure.provenance import provenance
from helpers.recordings.measurement import Measurement

SUITE = "source_pairs"
SIZE = 2048  # M = N = K
BUDGET_S = 4.0

# Every iteration adds to C itself. As far as the compiler knows, that may change A and B.
IN_PLACE = """\
extern "C" __global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    C[row * N + col] = 0.0f;
    for (int k = 0; k < K; ++k) C[row * N + col] += A[row * K + k] * B[k * N + col];
}
"""
SUM_IN_C, VECTORIZED, PATCH = "sum in C", "vectorized", "patch, 16 × 16 threads"
PLAIN_PATCH = "patch"  # the exercise
RESTRICTED, IN_A_LINE = "{}, __restrict__", "patch, 256 threads in a line"
FOUR_BLOCKS = "the line, for four blocks on an SM"


def restricted(source: str) -> str:
    """The source with `__restrict__` on the kernel's A, B and C."""
    return re.sub(r"float \*(?=[ABC]\b)", "float *__restrict__ ", source)


def in_a_line(source: str) -> str:
    """The source of a kernel of 16 × 16 threads for 256 threads along x: only their numbering changes."""
    parts = {"threadIdx.x": "(threadIdx.x % 16)", "threadIdx.y": "(threadIdx.x / 16)", "blockDim.x": "16"}
    return re.sub("|".join(map(re.escape, parts)), lambda match: parts[match.group()], source)


def for_four_blocks(source: str) -> str:
    """The source of a kernel of 256 threads for which the compiler takes so few registers that four blocks fit."""
    return source.replace("__global__ void ", "__global__ void __launch_bounds__(256, 4) ")


@cache
def launches(size: int = SIZE) -> dict[str, Launch]:
    """Each source by its name, at M = N = K = size; the partners of a pair follow each other."""
    shape = (size, size, size)
    in_place = OwnKernel(IN_PLACE, "sgemm", (32, 8), (8, 32), name=SUM_IN_C, scaled=False).launch(*shape)
    vectorized = get("vectorized").launch(*shape)
    patch = rungs.kernel_of(exercise(PLAIN_PATCH), exercise(PLAIN_PATCH).solved).launch(*shape)
    flat = replace(patch.with_source(in_a_line(patch.source)), block=(256, 1, 1))
    kernels = {SUM_IN_C: in_place, RESTRICTED.format(SUM_IN_C): in_place.with_source(restricted(in_place.source))}
    kernels |= {
        VECTORIZED: vectorized,
        RESTRICTED.format(VECTORIZED): vectorized.with_source(restricted(vectorized.source)),
    }
    kernels |= {PATCH: patch, IN_A_LINE: flat, FOUR_BLOCKS: flat.with_source(for_four_blocks(flat.source))}
    return {name: replace(launch, name=name) for name, launch in kernels.items()}


def speeds(*names: str) -> list[Measurement]:
    """The speeds of these sources, measured here if there is a GPU, else recorded. Raises recordings.NoRecording."""
    if gpu.backend() == "gpu":
        return rungs.timed([launches()[name] for name in names])
    rows = {row["kernel"]: row for row in recordings.raw(devices.DEFAULT.name, SUITE)["rows"]}
    rows |= {PATCH: _plain_patch()}
    measured = [{key: value for key, value in rows[name].items() if key != "sha256"} for name in names]
    return [Measurement.from_row(row, devices.DEFAULT.name) for row in measured]


def _plain_patch() -> dict[str, Any]:
    """The row of PATCH, which every page reads from the suite of the plain kernels."""
    rows = recordings.raw(devices.DEFAULT.name, speed.SUITE)["rows"]
    row = next(row for row in rows if (row["kernel"], row["M"]) == (PLAIN_PATCH, SIZE))
    return {**row, "kernel": PATCH}


def sha256(launch: Launch) -> str:
    """Of a source without its comments, by which a test sees that what was recorded is what the course shows."""
    return hashlib.sha256("\n".join(code_of(launch.source)).encode()).hexdigest()


def record() -> str:
    """Time all of them in turns on the GPU at hand, each checked first, and write all but PATCH. Returns where."""
    every = launches()
    rows = [
        {**measured.row(), "sha256": sha256(every[measured.kernel])}
        for measured in rungs.timed(list(every.values()), BUDGET_S)
        if measured.kernel != PATCH
    ]
    file = recordings.path(gpu.name(), SUITE)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return str(file)


if __name__ == "__main__":
    print(record())
