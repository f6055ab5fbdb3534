"""Which lines of the ladder's kernels warps wait before, and for what, by the sampler of Nsight Compute.

    python -m helpers.tools.measuring.lines profile REPORT CUBINS [KERNEL …]     on a GPU, with ncu
    python -m helpers.tools.measuring.lines keep REPORT                          where the course's compiler is

CUBINS is the folder that `helpers.tools.measuring.counters.write_cubins` filled. ncu names instructions, not lines:
which line an instruction belongs to, the course's compiler says where a report is kept. So it is its machine code that
is profiled.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gemm_kernels import LADDER, Kernel, get
from gpusim import devices
from gpusim.engine.ir import Instruction
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance
from helpers.tools.measuring.counters import index_of

SUITE = "lines"
MODULE = "helpers.tools.measuring.lines"  # which ncu runs; as a program it has another __name__
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


def profile(report: Path, cubins: Path, kernels: Sequence[Kernel] = LADDER) -> Path:
    """Launch the kernels under ncu's sampler, and write its source page, with all that `keep` has to know, to `report`.

    Needs a GPU. NoProfiler, with ncu's last words, if it does not report.
    """
    names = [kernel.name for kernel in kernels]
    with tempfile.TemporaryDirectory() as folder:
        samples = str(Path(folder) / "samples.ncu-rep")
        command = ["ncu", "--clock-control", "none", "--section", "SourceCounters", "--kernel-name", "regex:sgemm_"]
        _run([*command, "-o", samples, sys.executable, "-m", MODULE, "launch", str(cubins), *names])
        page = _run(["ncu", "--import", samples, "--page", "source", "--csv"])
    content = {"gpu": gpu.name(), "provenance": provenance(), "kernels": names, "page": page}
    report.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return report


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise NoProfiler(f"ncu failed. Its last words: {(done.stdout + done.stderr)[-800:]}")
    return done.stdout


def keep(report: Path, folder: Path = recordings.FOLDER) -> Path:
    """Write what `profile` reported into lines.json: all of the ladder, or kernels whose rows are replaced."""
    content = json.loads(report.read_text(encoding="utf-8"))
    kernels = tuple(get(name) for name in content["kernels"])
    rows = kept(content["page"].splitlines(), kernels)
    file = recordings.path(content["gpu"], SUITE, folder)
    if kernels != LADDER:
        return recordings.replace_rows(file, content["provenance"], rows)
    recordings.write(file, {"gpu": content["gpu"], "provenance": content["provenance"], "size": SIZE, "rows": rows})
    return file


def kept(page: Iterable[str], kernels: Sequence[Kernel] = LADDER) -> list[dict[str, Any]]:
    """The rows of lines.json from ncu's source page as CSV, one for each of the kernels, in the order of the page.

    A kernel that has other instructions now than when it was profiled is left out.
    """
    parts: list[list[dict[str, str]]] = []
    head: list[str] = []
    for fields in csv.reader(page):
        if fields[:1] == ["Kernel Name"]:
            parts.append([])
        elif fields[:1] == ["Address"]:
            head = fields
        elif parts and head and len(fields) == len(head):
            parts[-1].append(dict(zip(head, fields, strict=True)))
    rows = []
    for kernel, printed in zip(kernels, parts, strict=True):
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


def launch(cubins: Path, kernels: Sequence[Kernel]) -> None:
    """Launch each kernel once, as ncu profiles it."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
    for kernel in kernels:
        module = gpu.RawModule(path=str(cubins / f"{kernel.name}.cubin"))
        function = module.get_function(index_of(cubins)["functions"][kernel.name])
        run.launcher(kernel, function)(SIZE, SIZE, SIZE, ALPHA, A, B, BETA, C)
    gpu.synchronize()


def main(command: str, path: str, *rest: str) -> None:
    """What the command line says, see above; `launch CUBINS [KERNEL …]` is what ncu runs."""
    if command == "keep":
        print(keep(Path(path)))
    elif command == "profile":
        cubins, *names = rest
        print(profile(Path(path), Path(cubins), tuple(map(get, names)) or LADDER))
    else:
        launch(Path(path), tuple(map(get, rest)))


if __name__ == "__main__":
    main(*sys.argv[1:])
