"""compute-sanitizer's verdict on every planted bug: `python tests/planted/record_verdicts.py OUTPUT.json`.

Needs a GPU, CuPy and compute-sanitizer. Each launch runs in a process of its own under each of the four tools; the
result is tests/goldens/sanitizer.json.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from planted import bugs  # noqa: E402 (the path is set above)

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
OPTIONS = {"racecheck": ("--racecheck-report", "all")}
SECONDS = 60  # a launch that takes longer hangs


def launch_here(kernel: str) -> None:
    """What runs under the sanitizer: one launch, memory straight from the driver, no pool."""
    os.environ["GEMM_COURSE_BACKEND"] = "gpu"
    import cupy

    from helpers import gpu

    cupy.cuda.set_allocator(None)
    planted = next(p for p in (*bugs.PLANTED, *bugs.CORRECT) if p.kernel == kernel)
    module = gpu.RawModule(code=bugs.source(planted.file), options=bugs.OPTIONS)
    bugs.launch(planted, module, gpu)
    gpu.synchronize()


def verdict(planted: bugs.Planted, tool: str) -> dict:
    """What one tool says about one launch: the number of errors, the kinds, the source lines named, the report."""
    command = ["compute-sanitizer", "--tool", tool, *OPTIONS.get(tool, ()), sys.executable, __file__, "--launch"]
    started = time.perf_counter()
    try:
        ended = subprocess.run([*command, planted.kernel], capture_output=True, text=True, timeout=SECONDS)
        output = ended.stdout + ended.stderr
    except subprocess.TimeoutExpired as hung:
        output = f"========= no answer after {SECONDS} s\n" + (hung.stdout or b"").decode(errors="replace")
    return {**read_report(output), "seconds": round(time.perf_counter() - started, 1)}


def read_report(output: str) -> dict:
    """The facts of a compute-sanitizer report."""
    report = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    summary = next((line for line in reversed(report) if "SUMMARY" in line), "")
    counted = re.search(r"SUMMARY: (\d+)", summary)
    frames = [line for line in report if re.search(r"\.cu:\d+", line)]
    lines = sorted({int(number) for line in frames for number in re.findall(r"\.cu:(\d+)", line)})
    what = re.compile(
        r"(Invalid [^\n]*|Error: [^\n]*|Warning: [^\n]*|Uninitialized [^\n]*|Barrier error[^\n]*|Divergent [^\n]*|"
        r"Program hit [^\n]*|no answer[^\n]*)"
    )
    kinds = sorted(
        {re.sub(r"0x[0-9a-f]+|\(\d+, ?\d+, ?\d+\)", "…", m[1]) for line in report if (m := what.search(line))}
    )
    return {
        "errors": int(counted[1]) if counted else None,
        "summary": summary,
        "kinds": kinds[:6],
        "lines": lines,
        "report": report[:24],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--launch", metavar="KERNEL")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=500, help="start no further launch after this time")
    parser.add_argument("--kernels", nargs="+")
    chosen = parser.parse_args()
    if chosen.launch:
        launch_here(chosen.launch)
        return
    deadline = time.monotonic() + chosen.seconds
    tasks = [
        (planted, tool)
        for planted in (*bugs.PLANTED, *bugs.CORRECT)
        for tool in TOOLS
        if not chosen.kernels or planted.kernel in chosen.kernels
    ]

    def run(task):
        return verdict(*task) if time.monotonic() < deadline else None

    verdicts: dict[str, dict] = {}
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for (planted, tool), found in zip(tasks, pool.map(run, tasks), strict=True):
            if found is not None:
                verdicts.setdefault(planted.kernel, {})[tool] = found
                print(f"{planted.kernel:30} {tool:10} {found['errors']} {found['lines']} {found['kinds'][:2]}")
    chosen.output.write_text(json.dumps({"provenance": provenance(), "verdicts": verdicts}, indent=1) + "\n")


def provenance() -> dict:
    """The GPU, the software and the commit."""
    from helpers.measure.provenance import provenance as of_machine

    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout.split()
    facts = of_machine()
    facts.pop("clocks_under_load")
    return {**facts, "compute_sanitizer": next((word for word in version if word[0].isdigit()), "unknown")}


if __name__ == "__main__":
    main()
