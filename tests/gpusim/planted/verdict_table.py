"""Who finds what: the simulator's sanitizer beside compute-sanitizer's four tools, as recorded on a GPU.

`python -m tests.gpusim.planted.verdict_table` prints the table.
"""

import json
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[3]
sys.path += [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("GEMM_COURSE_BACKEND", "simulator")

import gpusim  # noqa: E402 (the path is set above)
from gpusim import errors  # noqa: E402 (the path is set above)
from helpers import gpu  # noqa: E402
from tests.gpusim.planted import bugs  # noqa: E402

GOLDEN = ROOT / "tests/gpusim/goldens/sanitizer.json"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
KINDS = {
    errors.OutOfBounds: bugs.OUT_OF_BOUNDS,
    errors.Misaligned: bugs.MISALIGNED,
    errors.BarrierError: bugs.BARRIER,
}
WARNINGS = {errors.BARRIERS: bugs.BARRIER}
# The simulator's arrays under CuPy's names.
ARRAYS = SimpleNamespace(asarray=gpu.asarray, zeros=gpu.zeros, empty=gpusim.empty)


@cache
def recorded() -> dict:
    """compute-sanitizer's verdicts."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]


@cache
def module(file: str):
    """A file of kernels, compiled for the simulator."""
    compiled = gpusim.RawModule(code=bugs.source(file), options=bugs.OPTIONS)
    compiled.compile()
    return compiled


def simulate(planted: bugs.Planted, level: str = "auto") -> tuple[errors.KernelError | None, gpusim.Recording]:
    """The error of a simulated launch, if it has one, and the recording; warnings are only in that."""
    with gpusim.record(level=level) as recording, warnings.catch_warnings(action="ignore"):
        try:
            bugs.launch(planted, module(planted.file), ARRAYS)
        except errors.KernelError as error:
            return error, recording
    return None, recording


def kinds_and_lines(error: errors.KernelError | None, recording: gpusim.Recording) -> tuple[set[str], set[int]]:
    """What was found: kinds of `bugs`, and all source lines that are named."""
    if error is None:
        findings = recording.checks.findings
        return {WARNINGS[finding.kind] for finding in findings}, {
            line for finding in findings for line in finding.lines
        }
    if isinstance(error, errors.HazardError):
        return {finding.kind for finding in error.report.findings}, set(error.lines)
    return {KINDS[type(error)]}, set(error.lines)


def tool_verdict(verdict: dict) -> str:
    """One word for a tool's verdict."""
    if verdict["errors"] is None:
        return "hangs"
    return "found" if verdict["errors"] else "-"


def table(planted: Sequence[bugs.Planted]) -> list[str]:
    """The lines of the table, and a line of sums."""
    rows = [f"{'kernel':28} {'planted':24} {'simulator':9} " + " ".join(f"{tool:9}" for tool in TOOLS)]
    counts = dict.fromkeys(("simulator", *TOOLS, "any tool"), 0)
    for bug in planted:
        kinds, lines = kinds_and_lines(*simulate(bug))
        mine = "found" if bug.kind in kinds and bug.lines <= lines else "-" if not kinds else "other"
        verdicts = {tool: tool_verdict(recorded()[bug.kernel]["verdicts"][tool]) for tool in TOOLS}
        counts["simulator"] += mine == "found"
        counts["any tool"] += "found" in verdicts.values()
        for tool, verdict in verdicts.items():
            counts[tool] += verdict == "found"
        rows.append(
            f"{bug.kernel:28} {bug.kind or 'correct':24} {mine:9} " + " ".join(f"{verdicts[tool]:9}" for tool in TOOLS)
        )
    rows.append(f"found of {len(planted)}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    return rows


if __name__ == "__main__":
    print("\n".join([*table(bugs.PLANTED), "", *table(bugs.CORRECT)]))
