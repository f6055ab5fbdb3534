"""Who finds what: the simulator's sanitizer beside compute-sanitizer's four tools, as recorded on a GPU.

`python -m tests.simulator.planted.verdict_table` prints the table.
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

from helpers import gpu, simulator  # noqa: E402 (the path is set above)
from helpers.simulator.sanitizer import checks  # noqa: E402
from tests.simulator.planted import bugs  # noqa: E402

GOLDEN = ROOT / "tests/simulator/goldens/sanitizer.json"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
KINDS = {
    simulator.OutOfBounds: bugs.OUT_OF_BOUNDS,
    simulator.Misaligned: bugs.MISALIGNED,
    simulator.BarrierError: bugs.BARRIER,
}
WARNINGS = {checks.BARRIERS: bugs.BARRIER}
# The simulator's arrays under CuPy's names.
ARRAYS = SimpleNamespace(asarray=gpu.asarray, zeros=gpu.zeros, empty=simulator.empty)


@cache
def recorded() -> dict:
    """compute-sanitizer's verdicts."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))["kernels"]


@cache
def module(file: str):
    """A file of kernels, compiled for the simulator."""
    compiled = simulator.RawModule(code=bugs.source(file), options=bugs.OPTIONS)
    compiled.compile()
    return compiled


def simulate(planted: bugs.Planted, level: str = "auto") -> tuple[simulator.KernelError | None, simulator.Recording]:
    """The error of a simulated launch, if it has one, and the recording; warnings are only in that."""
    with simulator.record(level=level) as recording, warnings.catch_warnings(action="ignore"):
        try:
            bugs.launch(planted, module(planted.file), ARRAYS)
        except simulator.KernelError as error:
            return error, recording
    return None, recording


def kinds_and_lines(error: simulator.KernelError | None, recording: simulator.Recording) -> tuple[set[str], set[int]]:
    """What was found: kinds of `bugs`, and all source lines that are named."""
    if error is None:
        found = recording.checks.findings
        return {WARNINGS[one.kind] for one in found}, {line for one in found for line in one.lines}
    if isinstance(error, simulator.HazardError):
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
    found = dict.fromkeys(("simulator", *TOOLS, "any tool"), 0)
    for bug in planted:
        kinds, lines = kinds_and_lines(*simulate(bug))
        mine = "found" if bug.kind in kinds and bug.lines <= lines else "-" if not kinds else "other"
        verdicts = {tool: tool_verdict(recorded()[bug.kernel]["verdicts"][tool]) for tool in TOOLS}
        found["simulator"] += mine == "found"
        found["any tool"] += "found" in verdicts.values()
        for tool, verdict in verdicts.items():
            found[tool] += verdict == "found"
        rows.append(
            f"{bug.kernel:28} {bug.kind or 'correct':24} {mine:9} " + " ".join(f"{verdicts[tool]:9}" for tool in TOOLS)
        )
    rows.append(f"found of {len(planted)}: " + ", ".join(f"{name} {count}" for name, count in found.items()))
    return rows


if __name__ == "__main__":
    print("\n".join([*table(bugs.PLANTED), "", *table(bugs.CORRECT)]))
