"""Nsight Compute's counters of every kernel, to compare the simulator's with.

Machine code differs from compiler to compiler, and counters with it. The simulator executes what the compiler that the
course pins makes; `write_cubins` (no GPU needed) puts that into files, and `record_counters(cubins=…)` launches it.

`ncu` runs this file as a program (`python -m helpers.tools.measuring.counters`), which launches each kernel at each
shape once.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gemm_kernels import LADDER, Kernel, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance

SUITE = "counters"
INDEX = "index.json"
# Whole tiles; partial tiles with rows that are 16-byte aligned, and with rows that are not: small, to be simulated too.
SMALL_SHAPES = ((256, 256, 32), (160, 136, 40), (100, 90, 77))
SHAPES = (*SMALL_SHAPES, (1024, 1024, 1024))
METRICS = (
    "smsp__inst_executed.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_set_accesses_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "sm__maximum_warps_per_active_cycle_pct",
)


def record_counters(
    kernels: Sequence[Kernel] = LADDER, folder: Path = recordings.FOLDER, cubins: Path | None = None
) -> Path:
    """Profile every kernel, default parameters, at every shape and write counters.json. The rows of other kernels stay.

    cubins: a folder that `write_cubins` filled; without it the kernels are compiled by the NVRTC that is found here.
    Needs Nsight Compute (`ncu`) on the PATH and the permission to read the GPU's counters: NoProfiler otherwise.
    """
    file = recordings.path(gpu.name(), SUITE, folder)
    names = {kernel.name for kernel in kernels}
    kept = [row for row in recordings.read(file)["rows"] if row["kernel"] not in names] if file.exists() else []
    measured = list(profile(kernels, cubins))
    about_this_run = provenance() | {"ncu": ncu_version()}
    if cubins is not None:
        about_this_run["nvrtc"] = index_of(cubins)["nvrtc"]
    recordings.write(file, {"provenance": about_this_run, "rows": kept + measured})
    return file


def write_cubins(folder: Path, kernels: Sequence[Kernel] = LADDER, arch: str = devices.DEFAULT.arch) -> Path:
    """Compile the kernels with the course's compiler for `arch` into folder/<kernel>.cubin, with an index of names."""
    folder.mkdir(parents=True, exist_ok=True)
    functions, versions = {}, set()
    for kernel in kernels:
        compiled = run.compiled(kernel, arch)
        (folder / f"{kernel.name}.cubin").write_bytes(compiled.cubin)
        functions[kernel.name] = compiled.lowered_name
        versions.add(".".join(map(str, compiled.compiler_version)))
    index = {"arch": arch, "nvrtc": ", ".join(sorted(versions)), "functions": functions}
    (folder / INDEX).write_text(json.dumps(index, indent=1), encoding="utf-8")
    return folder / INDEX


def index_of(cubins: Path) -> dict[str, Any]:
    return json.loads((cubins / INDEX).read_text(encoding="utf-8"))


def profile(kernels: Sequence[Kernel], cubins: Path | None = None) -> Iterator[dict[str, Any]]:
    """One row a launch: kernel, params, M, N, K, beta and its counters."""
    if shutil.which("ncu") is None:
        raise NoProfiler(
            "ncu is not on the PATH: install Nsight Compute, or add the CUDA toolkit's bin folder to PATH."
        )
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name", "regex:sgemm_"]
    command += ["--metrics", ",".join(METRICS), sys.executable, "-m", __name__]
    command += [kernel.name for kernel in kernels]
    if cubins is not None:
        command += ["--cubins", str(cubins)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    launches = parse(run.stdout)
    expected = len(kernels) * len(SHAPES)
    if len(launches) != expected:
        raise NoProfiler(
            f"ncu reported {len(launches)} launches, expected {expected}. "
            f"Its last words: {(run.stdout + run.stderr)[-800:]}"
        )
    plan = [(kernel, shape) for kernel in kernels for shape in SHAPES]
    for (kernel, (M, N, K)), counters in zip(plan, launches, strict=True):
        yield {
            "kernel": kernel.name,
            "params": dict(kernel.params),
            "M": M,
            "N": N,
            "K": K,
            "beta": BETA,
            "counters": counters,
        }


def parse(text: str) -> list[dict[str, int | float]]:
    """The counters of each launch, in the order of the launches, from the output of `ncu --csv --page raw`."""
    start = text.find('"ID"')
    if start < 0:
        return []
    rows = list(csv.DictReader(io.StringIO(text[start:])))[1:]  # the first row holds the units
    return [{name: _number(row[name]) for name in METRICS if name in row} for row in rows]


def _number(text: str) -> int | float:
    value = float(text.replace(",", ""))
    return int(value) if value == int(value) else value


def ncu_version() -> str:
    return subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]


def launch_all(names: Sequence[str], cubins: Path | None) -> None:
    """Launch each kernel at each shape once, in the order that `profile` expects."""
    for name in names:
        kernel = get(name)
        if cubins is None:
            launch = run.load(kernel)
        else:
            module = gpu.RawModule(path=str(cubins / f"{name}.cubin"))
            launch = run.launcher(kernel, module.get_function(index_of(cubins)["functions"][name]))
        for M, N, K in SHAPES:
            A, B, C = (gpu.asarray(matrix) for matrix in problem(M, N, K))
            launch(M, N, K, ALPHA, A, B, BETA, C)
            gpu.synchronize()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--cubins", type=Path)
    options = parser.parse_args()
    launch_all(options.kernels, options.cubins)
