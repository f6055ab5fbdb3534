"""compute-sanitizer's verdict on every planted bug: `python -m tests.gpusim.planted.record_verdicts OUTPUT.json`.

Needs a GPU, CuPy and compute-sanitizer. Each launch runs in a process of its own under each of the four tools; the
result is tests/gpusim/goldens/sanitizer.json. An existing file is updated: verdicts on kernels whose source or
launch has not changed are kept.
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

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests.gpusim.planted import bugs  # noqa: E402 (the path is set above)

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
OPTIONS = {"racecheck": ("--racecheck-report", "all")}
SECONDS = 30  # a launch that takes longer hangs


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
    return {**read_report(output, planted.span), "seconds": round(time.perf_counter() - started, 1)}


def read_report(output: str, span: range) -> dict:
    """The facts of a compute-sanitizer report; lines are counted from the first of the kernel."""
    report = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    report = [line for line in report if line and not line.startswith(("Host Frame", "Saved host backtrace"))]
    summary = next((line for line in reversed(report) if "SUMMARY" in line), "")
    counted = re.search(r"SUMMARY: (\d+)", summary)
    frames = [line for line in report if re.search(r"\.cu:\d+", line)]
    named = {int(number) for line in frames for number in re.findall(r"\.cu:(\d+)", line)}
    lines = sorted(number - span.start for number in named if number in span)
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
        "report": report[:8],
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
    before = json.loads(chosen.output.read_text()) if chosen.output.exists() else {"runs": [], "kernels": {}}
    kernels = {p.kernel: before["kernels"].get(p.kernel) for p in (*bugs.PLANTED, *bugs.CORRECT)}
    kernels = {name: known for name, known in kernels.items() if known is not None}
    tasks = [
        (planted, tool)
        for planted in (*bugs.PLANTED, *bugs.CORRECT)
        for tool in TOOLS
        if kernels.get(planted.kernel, {}).get("key") != planted.key
        and (not chosen.kernels or planted.kernel in chosen.kernels)
    ]
    runs = [*before["runs"], provenance()]

    def run(task):
        return verdict(*task) if time.monotonic() < deadline else None

    with ThreadPoolExecutor(chosen.jobs) as pool:
        for (planted, tool), seen in zip(tasks, pool.map(run, tasks), strict=True):
            if seen is not None:
                if kernels.get(planted.kernel, {}).get("key") != planted.key:
                    kernels[planted.kernel] = {"key": planted.key, "run": len(runs) - 1, "verdicts": {}}
                kernels[planted.kernel]["verdicts"][tool] = seen
                print(f"{planted.kernel:30} {tool:10} {seen['errors']} {seen['lines']} {seen['kinds'][:2]}")
    chosen.output.write_text(json.dumps({"runs": runs, "kernels": kernels}, indent=1) + "\n")


def provenance() -> dict:
    """The GPU, the software and the commit."""
    from helpers.measure.provenance import provenance as of_machine

    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    number = re.search(r"Version ([\d.]+)", version)
    wanted = ("gpu", "driver", "cuda_driver", "nvrtc", "cupy", "date", "commit")
    facts = {name: value for name, value in of_machine().items() if name in wanted}
    return {**facts, "compute_sanitizer": number[1] if number else "unknown"}


if __name__ == "__main__":
    main()
