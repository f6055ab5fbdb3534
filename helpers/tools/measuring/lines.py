"""Which lines of the ladder's kernels warps wait before, and for what, by the sampler of Nsight Compute.

    ncu --clock-control none --section SourceCounters -k regex:sgemm_ -o report python -m helpers.tools.measuring.lines
    CUBINS ncu --import report.ncu-rep --page source --csv > report.csv

CUBINS is the folder that `helpers.tools.measuring.counters.write_cubins` filled. ncu names instructions, not lines:
which line an instruction belongs to, the course's compiler says where `kept` reads the report. So it is its machine
code that is profiled.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gemm_kernels import LADDER
from gpusim import devices
from gpusim.engine.ir import Instruction
from helpers import gpu, recordings, run
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.tools.measuring.counters import index_of

SUITE = "lines"
SIZE = 2048  # M = N = K
COLUMNS: Mapping[str, str] = {  # of ncu's source page: samples while nothing was issued
    "long_scoreboard": "long_sb", "short_scoreboard": "short_sb", "barrier": "barrier", "mio_throttle": "mio",
    "lg_throttle": "lg", "math_pipe_throttle": "math", "dispatch_stall": "dispatch", "wait": "wait",
    "no_instruction": "no_inst", "branch_resolving": "branch_resolving",
}  # fmt: skip
ISSUED = "issued"  # samples in which the instruction was issued


def by_line(kernel: str, gpu_name: str = devices.DEFAULT.name) -> Mapping[int, Mapping[str, int]]:
    """By source line of a kernel, samples: ISSUED, and by reason those taken while nothing was issued. NoRecording."""
    row = recordings.row_of(kernel, gpu_name, SUITE, "samples of the lines")
    return {int(line): samples for line, samples in row["samples"].items()}


def kept(report: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of lines.json from ncu's source page as CSV, one for each kernel of the ladder.

    A kernel that has other instructions now than when it was profiled is left out.
    """
    parts: list[list[dict[str, str]]] = []
    head: list[str] = []
    for fields in csv.reader(report):
        if fields[:1] == ["Kernel Name"]:
            parts.append([])
        elif fields[:1] == ["Address"]:
            head = fields
        elif parts and head and len(fields) == len(head):
            parts[-1].append(dict(zip(head, fields, strict=True)))
    rows = []
    for kernel, printed in zip(LADDER, parts, strict=True):
        program = run.simulated(kernel.source, kernel.entry).prepared("sass").program
        if not _same(program.instructions, printed):
            continue
        samples: dict[int, dict[str, int]] = {}
        for instruction, fields in zip(program.instructions, printed, strict=False):
            counts = {ISSUED: int(fields["stall_selected"])}
            counts |= {name: int(fields[f"stall_{column} (Not Issued)"]) for name, column in COLUMNS.items()}
            line = samples.setdefault(instruction.line, {})
            for name, count in counts.items():
                if count:
                    line[name] = line.get(name, 0) + count
        rows.append(
            {
                "kernel": kernel.name,
                "samples": {str(line): sampled for line, sampled in sorted(samples.items()) if sampled},
            }
        )
    return rows


def _same(instructions: Sequence[Instruction], rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether the report is about these instructions."""
    return len(rows) >= len(instructions) and all(
        instruction.opcode in fields["Source"] for instruction, fields in zip(instructions, rows, strict=False)
    )


def launch(cubins: Path) -> None:
    """Launch each kernel of the ladder once, as ncu profiles it."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
    for kernel in LADDER:
        module = gpu.RawModule(path=str(cubins / f"{kernel.name}.cubin"))
        function = module.get_function(index_of(cubins)["functions"][kernel.name])
        run.launcher(kernel, function)(SIZE, SIZE, SIZE, ALPHA, A, B, BETA, C)
    gpu.synchronize()


if __name__ == "__main__":
    launch(Path(sys.argv[1]))
