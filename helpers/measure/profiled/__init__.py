"""The small kernels of notebook 07: timed, and profiled by Nsight Compute, so that its predictions can be checked.

    python -m helpers.measure.profiled         on a GPU with ncu: write recordings/<gpu>/profiled.json

`ncu` runs the same module with a word that says what it launches, once each. For the kernels of the ladder the samples
are recorded that ncu's sampler took while a scheduler issued nothing: what these cycles are lost for
(`helpers.pictures.budget.facts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import LADDER, Kernel, at_shape, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance
from helpers.measure.states import METRICS, REASONS, profiled
from helpers.measure.timing import WRITE, interleave
from helpers.recordings.measurement import Timing

SUITE = "profiled"
M, N = 2048, 4096  # of the matrix whose columns are added up
UNKNOWN = {"one": 256, "two": 128, "three": 512, "four": 256}  # a kernel of unknown.cu, and its n
UNKNOWN_GRID, UNKNOWN_BLOCK = 4 * devices.DEFAULT.sms, 256
SIZE = 2048  # M = N = K of the ladder's kernels
NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_{}_not_issued"
READY = ("not_selected", "dispatch_stall")  # such warps do not wait for anything
SAMPLED = tuple(reason for reason in REASONS if reason not in ("selected",))


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel that is no multiplication. file: of its source, here.  args: of the launch, in NumPy."""

    name: str
    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    n: int = 0

    @property
    def source(self) -> str:
        return source(self.file)

    def arguments(self) -> tuple[Any, ...]:
        """Zeros wherever the time does not depend on the numbers."""
        if self.kernel == "column_sums":
            return np.int32(M), np.int32(N), np.zeros((M, N), np.float32), np.zeros(N, np.float32)
        threads = self.grid[0] * self.block[0]
        to = np.zeros(threads, np.float32)
        if self.kernel == "two":
            return np.int32(self.n), (np.arange(threads, dtype=np.int32) + 4096) % threads, to
        return np.int32(self.n), to


def source(name: str) -> str:
    """The CUDA C++ of a file of this folder, with a line break before it, as a notebook's cell has it."""
    return "\n" + (Path(__file__).parent / f"{name}.cu").read_text(encoding="utf-8")


def launches() -> tuple[Launch, ...]:
    """The column sums in four versions, and the four kernels that are to be told by their profiles."""
    sums = (("as it is", "slow", (32,)), ("large blocks", "slow", (256,)), ("eight sums", "eight_sums", (32,)),
            ("shared out", "shared_out", (32, 32)))  # fmt: skip
    return (
        *(Launch(name, file, "column_sums", (-(-N // block[0]),), block) for name, file, block in sums),
        *(Launch(name, "unknown", name, (UNKNOWN_GRID,), (UNKNOWN_BLOCK,), n) for name, n in UNKNOWN.items()),
    )


def measured(name: str, gpu_name: str = devices.DEFAULT.name) -> Mapping[str, Any]:
    """The row of a launch: "ms" (a `Timing`) and "metrics". Raises NoRecording, in a sentence."""
    for row in recordings.raw(gpu_name, SUITE)["rows"]:
        if row["name"] == name:
            return row
    known = ", ".join(row["name"] for row in recordings.raw(gpu_name, SUITE)["rows"])
    raise recordings.NoRecording(f"{name!r} was not profiled; there are {known}.")


def samples(kernel: str, gpu_name: str = devices.DEFAULT.name) -> Mapping[str, float]:
    """Samples of warps that wait, by reason, which were taken while a scheduler of the kernel issued nothing."""
    content = recordings.raw(gpu_name, SUITE)
    (counted,) = (row["samples"] for row in content["not_issued"] if row["kernel"] == kernel)
    return {reason: counted.get(NOT_ISSUED.format(reason), 0.0) for reason in SAMPLED if reason not in READY}


def _start(launch: Launch) -> Any:
    function = gpu.RawModule(code=launch.source, options=("-std=c++17",)).get_function(launch.kernel)
    args = tuple(gpu.asarray(value) if isinstance(value, np.ndarray) else value for value in launch.arguments())
    return partial(function, launch.grid, launch.block, args)


def record(folder: Path = recordings.FOLDER, kernels: Sequence[Kernel] = LADDER, budget_s: float = 2.0) -> Path:
    """Time and profile everything. Needs a GPU and ncu.

    kernels: all of the ladder, or those that alone are sampled again, see `recordings.replace_rows`.
    """
    file = recordings.path(gpu.name(), SUITE, folder)
    if kernels != LADDER:
        return recordings.replace_rows(file, provenance(), _not_issued(kernels), "not_issued")
    plan = launches()
    times = interleave([_start(launch) for launch in plan], budget_s, flush=WRITE)
    timed = [Timing.of(times[:, column]) for column in range(len(plan))]
    names = "|".join(dict.fromkeys(launch.kernel for launch in plan))
    states = profiled(METRICS, f"regex:^({names})$", __name__, ["small"])
    rows = [
        {"name": launch.name, "ms": [time.median_ms, time.lower_ms, time.upper_ms, time.repeats], "metrics": metrics}
        for launch, time, metrics in zip(plan, timed, states, strict=True)
    ]
    about = {"gpu": gpu.name(), "provenance": provenance(), "size": SIZE}
    recordings.write(file, {**about, "rows": rows, "not_issued": _not_issued(LADDER)})
    return file


def _not_issued(kernels: Sequence[Kernel]) -> list[dict[str, Any]]:
    metrics = [NOT_ISSUED.format(reason) for reason in SAMPLED]
    sampled = profiled(metrics, "regex:sgemm_", __name__, [kernel.name for kernel in kernels])
    return [{"kernel": kernel.name, "samples": samples} for kernel, samples in zip(kernels, sampled, strict=True)]


def launch(*names: str) -> None:
    """What ncu profiles: "small", the launches above, or kernels of the ladder by their names."""
    if names == ("small",):
        for launch in launches():
            _start(launch)()
    else:
        A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
        for name in names:
            start = run.load(at_shape(get(name), SIZE, SIZE, SIZE, gpu.name()))
            start(SIZE, SIZE, SIZE, ALPHA, A, B, BETA, C)
    gpu.synchronize()
