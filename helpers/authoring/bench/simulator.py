"""How fast the simulator is: `python -m helpers.authoring.bench.simulator`.

Every kernel of the ladder, as it stands, computes one matrix product: alone, with full recording, and with the
sanitizer on top. With `--numba` the naive kernel is also run by Numba's CUDA simulator, which executes every thread as
a Python thread.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gemm_kernels
from helpers import compiler, run, simulator
from helpers.compiler import cache

LEVELS = ("ptx", "sass")
NUMBA_SCRIPT = Path(__file__).with_name("bench_numba.py")
NUMBA_SIZE = 64


@dataclass(frozen=True)
class Measurement:
    """One kernel at one level: milliseconds of a launch that nobody watches, that is recorded, and that is recorded and
    checked by the sanitizer; of the first use without any cache; `instructions` are one launch's warp instructions."""

    kernel: str
    level: str
    plain_milliseconds: float
    recorded_milliseconds: float
    checked_milliseconds: float
    first_use_milliseconds: float
    instructions: int
    peak_megabytes: float


def problem(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C for a size × size product."""
    rng = np.random.default_rng(size)
    A, B, C = (rng.standard_normal((size, size), np.float32) for _ in range(3))
    return A, B, C


def load(kernel: gemm_kernels.Kernel, source: str) -> simulator.Kernel:
    """The kernel compiled from `source`, ready to be launched."""
    return run.simulated(source, kernel.entry)


def measure(kernel: gemm_kernels.Kernel, size: int, level: str, repeats: int) -> Measurement:
    """The median times of launches, the time of a first use without any cache, and the peak of memory.

    SimulatorError or CompilerError if the level cannot run this kernel.
    """
    started = time.perf_counter()
    with without_disk_cache():
        load(kernel, f"{kernel.source}\n// compiled for a benchmark, {time.time_ns()}\n").prepared(level)
    first_use = time.perf_counter() - started
    function = load(kernel, kernel.source)
    A, B, C = problem(size)
    reference = A.astype(np.float64) @ B
    geometry = kernel.launch(size, size, size)

    def launch() -> None:
        run.start(function, geometry, A, B, C)

    def recorded_launch(checks: bool) -> simulator.Recording:
        with simulator.record(level=level, checks=checks) as recording:
            launch()
        return recording

    def plain_launch() -> None:
        # Outside `record` kernels run at PTX level: at SASS level the nearest is to count, and to keep no addresses.
        if level == "ptx":
            with simulator.sanitize("off"):
                launch()
        else:
            with simulator.record(level=level, blocks=(), checks=False):
                launch()

    C[...] = np.nan
    recording = recorded_launch(checks=True)  # prepares the kernel, which is not measured again
    if not np.allclose(C, reference, atol=1e-3 * np.sqrt(size)):
        raise simulator.SimulatorError(f"{kernel.name} at {level} level computed a wrong C.")
    plain = median_milliseconds(plain_launch, repeats)
    recorded = median_milliseconds(lambda: recorded_launch(checks=False), repeats)
    checked = median_milliseconds(lambda: recorded_launch(checks=True), repeats)
    tracemalloc.start()
    recorded_launch(checks=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Measurement(
        kernel.name, level, plain, recorded, checked, 1e3 * first_use,
        recording.counters["smsp__inst_executed.sum"], peak / 2**20,
    )  # fmt: skip


def median_milliseconds(action: Callable[[], object], repeats: int) -> float:
    """The median time of an action."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return 1e3 * statistics.median(seconds)


@contextmanager
def without_disk_cache() -> Iterator[None]:
    """Compile and disassemble as on a machine that never did."""
    before = os.environ.get(cache.ENVIRONMENT_VARIABLE)
    os.environ[cache.ENVIRONMENT_VARIABLE] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[cache.ENVIRONMENT_VARIABLE]
        else:
            os.environ[cache.ENVIRONMENT_VARIABLE] = before


def ladder_table(kernels: Sequence[gemm_kernels.Kernel], size: int, levels: Sequence[str], repeats: int) -> list[str]:
    """The lines of the table; a level that cannot run a kernel gets a sentence instead of numbers."""
    lines = [
        f"C = A B, {size} x {size} x {size}; median of {repeats} launches, ms",
        f"{'kernel':20} {'level':5} {'plain':>8} {'recorded':>9} {'+ checks':>9} {'M warp inst/s':>14} {'peak MiB':>9} "
        f"{'first use ms':>13}",
    ]
    for kernel in kernels:
        for level in levels:
            try:
                row = measure(kernel, size, level, repeats)
            except (simulator.SimulatorError, compiler.CompilerError) as error:
                lines.append(f"{kernel.name:20} {level:5} not measured: {str(error).splitlines()[0]}")
                continue
            rate = row.instructions / row.recorded_milliseconds / 1e3
            lines.append(
                f"{row.kernel:20} {row.level:5} {row.plain_milliseconds:8.1f} {row.recorded_milliseconds:9.1f} "
                f"{row.checked_milliseconds:9.1f} {rate:14.1f} {row.peak_megabytes:9.1f} "
                f"{row.first_use_milliseconds:13.0f}"
            )
    return lines


def numba_lines(interpreter: str, repeats: int) -> list[str]:
    """The naive kernel in both simulators, and how many times faster this one is; a sentence if Numba is not there."""
    naive = gemm_kernels.get("naive")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [interpreter, str(NUMBA_SCRIPT), str(NUMBA_SIZE), *map(str, naive.block[:2])]
    try:
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        theirs = json.loads(answer.stdout)
    except (OSError, subprocess.CalledProcessError, json.JSONDecodeError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        return [f"No comparison with Numba: {interpreter} cannot run its CUDA simulator ({reason})."]
    lines = [
        f"naive, {NUMBA_SIZE} x {NUMBA_SIZE} x {NUMBA_SIZE}, in both simulators",
        f"Numba {theirs['version']} CUDA simulator, nothing recorded: {theirs['milliseconds']:.0f} ms",
    ]
    for level in LEVELS:
        try:
            row = measure(naive, NUMBA_SIZE, level, repeats)
        except (simulator.SimulatorError, compiler.CompilerError):
            continue
        times = {"everything recorded": row.recorded_milliseconds, "nothing recorded": row.plain_milliseconds}
        for what, ours in times.items():
            ratio = theirs["milliseconds"] / ours
            lines.append(f"this one at {level} level, {what}: {ours:.1f} ms, {ratio:.0f} times faster")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.authoring.bench.simulator", description=__doc__)
    parser.add_argument("--size", type=int, default=256, help="M = N = K (default 256)")
    parser.add_argument("--repeats", type=int, default=5, help="launches of which the median is taken (default 5)")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="some of the ladder (default: all)")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS, help="default: both")
    parser.add_argument("--numba", action="store_true", help="compare the naive kernel with Numba's CUDA simulator")
    parser.add_argument("--numba-python", metavar="PATH", default=sys.executable, help="a Python that has Numba")
    chosen = parser.parse_args(arguments)
    kernels = [gemm_kernels.get(name) for name in chosen.kernels] if chosen.kernels else gemm_kernels.LADDER
    print("\n".join(ladder_table(kernels, chosen.size, chosen.levels, chosen.repeats)))
    if chosen.numba:
        print("\n" + "\n".join(numba_lines(chosen.numba_python, chosen.repeats)))


if __name__ == "__main__":
    main()
