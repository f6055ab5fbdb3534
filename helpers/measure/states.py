"""What the warps of the ladder's kernels wait for, and what L2 and DRAM do for them, by Nsight Compute.

`ncu` runs this file as a program (`python -m helpers.measure.states`), which launches each kernel at each size once; it
empties the caches before each launch. The stall reasons are warps that wait for each per instruction that is issued.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gemm_kernels import LADDER, Kernel, at_shape, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance
from helpers.recordings.measurement import recorded_on

SUITE = "states"
SIZES = (512, 1024, 2048)
REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = (
    *(STALL.format(reason) for reason in REASONS),
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__cycles_active.avg",
    "gpu__time_duration.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_op_read_lookup_hit.sum",
    "l1tex__t_sector_hit_rate.pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_alu.sum",
    "smsp__inst_executed_pipe_lsu.sum",
)


@dataclass(frozen=True)
class States:
    """What was recorded of one launch.  metrics: under Nsight Compute's names.  label: where."""

    kernel: str
    size: int
    metrics: Mapping[str, float] = field(hash=False)
    label: str

    @property
    def issuing(self) -> float:
        """The share of the cycles in which a scheduler issues an instruction."""
        return self.metrics["smsp__issue_active.avg.pct_of_peak_sustained_active"] / 100

    @property
    def warps(self) -> float:
        """The mean number of warps that a scheduler had: in each cycle every warp is in one of the states."""
        return self.waiting(*REASONS) * self.issuing

    def waiting(self, *reasons: str) -> float:
        """Warps that wait for one of these REASONS, per issued instruction."""
        return sum(self.metrics[STALL.format(reason)] for reason in reasons)


def states(kernel: str, size: int, gpu: str = devices.DEFAULT.name) -> States:
    """What was recorded of a kernel of the ladder at M = N = K = size. NoRecording, in a sentence, if nothing was."""
    rows = recordings.raw(gpu, SUITE)["rows"]
    for row in rows:
        if (row["kernel"], row["size"]) == (kernel, size):
            return States(kernel, size, row["metrics"], f"{recorded_on(gpu)} by Nsight Compute")
    sizes = ", ".join(str(row["size"]) for row in rows if row["kernel"] == kernel) or "none"
    raise recordings.NoRecording(
        f"What the warps of {kernel} wait for was not recorded at {size}; recorded sizes: {sizes}. "
        f"{recordings.how_to(SUITE)}"
    )


def record_states(folder: Path = recordings.FOLDER, kernels: Sequence[Kernel] = LADDER) -> Path:
    """Profile the ladder and write states.json. Needs ncu and the permission to read counters: NoProfiler otherwise.

    kernels: all of the ladder, or those whose rows are replaced, see `recordings.replace_rows`.
    """
    launches = profiled(METRICS, "regex:sgemm_", __name__, [kernel.name for kernel in kernels])
    plan = [(kernel, size) for kernel in kernels for size in SIZES]
    if len(launches) != len(plan):
        raise NoProfiler(f"ncu reported {len(launches)} launches, expected {len(plan)}.")
    rows = [
        {
            "kernel": kernel.name,
            "params": dict(at_shape(kernel, size, size, size, gpu.name()).params),
            "size": size,
            "metrics": metrics,
        }
        for (kernel, size), metrics in zip(plan, launches, strict=True)
    ]
    file = recordings.path(gpu.name(), SUITE, folder)
    if kernels != LADDER:
        return recordings.replace_rows(file, provenance(), rows)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return file


def profiled(metrics: Sequence[str], kernels: str, module: str, arguments: Sequence[str]) -> list[dict[str, float]]:
    """`launches` with the values of the metrics alone, as numbers."""
    rows = launches(metrics, kernels, module, arguments)
    return [{name: float(row[name].replace(",", "")) for name in metrics if row.get(name)} for row in rows]


def launches(metrics: Sequence[str], kernels: str, module: str, arguments: Sequence[str]) -> list[dict[str, str]]:
    """The columns of ncu's report by name, for each launch of a module that it runs as a program.

    kernels: which ones are profiled, ncu's --kernel-name.  Raises NoProfiler, with ncu's last words, without any.
    """
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--kernel-name", kernels, "--metrics", ",".join(metrics), sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except FileNotFoundError as error:
        raise NoProfiler("ncu is not on the PATH: install Nsight Compute, or add the CUDA toolkit's bin.") from error
    start = done.stdout.find('"ID"')
    if start < 0:
        raise NoProfiler(f"ncu reported no launch. Its last words: {(done.stdout + done.stderr)[-800:]}")
    return list(csv.DictReader(io.StringIO(done.stdout[start:])))[1:]  # the first row holds the units


def launch_all(names: Sequence[str]) -> None:
    """Launch each kernel at each size once, in the order that `record_states` expects."""
    for name in names:
        for size in SIZES:
            A, B, C = (gpu.asarray(matrix) for matrix in problem(size, size, size))
            run.load(at_shape(get(name), size, size, size, gpu.name()))(size, size, size, ALPHA, A, B, BETA, C)
    gpu.synchronize()


if __name__ == "__main__":
    launch_all(sys.argv[1:])
