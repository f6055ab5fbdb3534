"""How fast the simulator is: `python -m helpers.tools.bench.simulator`.

Every kernel of the ladder, as it stands, computes one matrix product: alone, with full recording, and with the
sanitizer on top. With `--numba` the naive kernel is also run by Numba's CUDA simulator, which executes every thread as
a Python thread. `--goals` prints instead what the simulator is held to: seconds of the processor, of all its cores
together, which others on the machine lengthen less than time on the wall, at the sizes that learners record.
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
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gemm_kernels
import gpusim
from gpusim import compiler
from gpusim.compiler import cache
from helpers import run

LEVELS = ("ptx", "sass")
NUMBA_SCRIPT = Path(__file__).with_name("numba_simulator.py")
NUMBA_SIZE = 64
WARM, NUMBA_LAUNCHES = 3, 200  # launches of naive, as small as that, that are not timed, and that are
SIZES = (256, 512, 1024)
GOALS = {"recorded": 0.1, "checked": 0.15, "512": 0.5, "1024": 4.0, "first": 0.8}  # seconds


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


def load(kernel: gemm_kernels.Kernel, source: str) -> gpusim.Kernel:
    """The kernel compiled from `source`, ready to be launched."""
    return run.simulated(source, kernel.entry)


def measure(kernel: gemm_kernels.Kernel, size: int, level: str, repeats: int) -> Measurement:
    """The median times of launches, the time of a first use without any cache, and the peak of memory.

    SimulatorError or CompilerError if the level cannot run this kernel.
    """
    started = time.perf_counter()
    with cache.kept_in("off"):
        load(kernel, f"{kernel.source}\n// compiled for a benchmark, {time.time_ns()}\n").prepared(level)
    first_use = time.perf_counter() - started
    function = load(kernel, kernel.source)
    A, B, C = problem(size)
    reference = A.astype(np.float64) @ B
    geometry = kernel.launch(size, size, size)

    def launch() -> None:
        run.start(function, geometry, A, B, C)

    def recorded_launch(checks: bool) -> gpusim.Recording:
        with gpusim.record(level=level, checks=checks) as recording:
            launch()
        return recording

    def plain_launch() -> None:
        # Outside `record` kernels run at PTX level: at SASS level the nearest is to count, and to keep no addresses.
        if level == "ptx":
            with gpusim.sanitize("off"):
                launch()
        else:
            with gpusim.record(level=level, blocks=(), checks=False):
                launch()

    C[...] = np.nan
    recording = recorded_launch(checks=True)  # prepares the kernel, which is not measured again
    if not np.allclose(C, reference, atol=1e-3 * np.sqrt(size)):
        raise gpusim.SimulatorError(f"{kernel.name} at {level} level computed a wrong C.")
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
            except (gpusim.SimulatorError, compiler.CompilerError) as error:
                lines.append(f"{kernel.name:20} {level:5} not measured: {str(error).splitlines()[0]}")
                continue
            rate = row.instructions / row.recorded_milliseconds / 1e3
            lines.append(
                f"{row.kernel:20} {row.level:5} {row.plain_milliseconds:8.1f} {row.recorded_milliseconds:9.1f} "
                f"{row.checked_milliseconds:9.1f} {rate:14.1f} {row.peak_megabytes:9.1f} "
                f"{row.first_use_milliseconds:13.0f}"
            )
    return lines


@dataclass(frozen=True)
class Held:
    """What one kernel at SASS level is held to, in seconds of the processor; `walls` the same on the wall.

    `seconds` by what was done: "recorded" and "checked" launches of the smallest size, one of each larger size, and the
    "first" checked launch of a source that no cache knows, from its text on, in a process that has used another one: on
    the wall with the compiler, whose own process the seconds leave out.  megabytes: the peak of what Python and NumPy
    hold in a checked launch.
    """

    kernel: str
    seconds: dict[str, float]
    walls: dict[str, float]
    megabytes: float


def held(kernel: gemm_kernels.Kernel, repeats: int, sizes: Sequence[int] = SIZES) -> Held:
    """The medians of `repeats` launches of the smallest size; larger ones are launched once.

    Results are looked at in the end: NumPy's threads spin for a while after a product, on the clock of this process.
    """
    seconds, walls, results = {}, {}, []

    def note(name: str, action: Callable[[], object], times: int) -> None:
        both = [timed(action) for _ in range(times)]
        seconds[name], walls[name] = (statistics.median(column) for column in zip(*both, strict=True))

    function = load(kernel, kernel.source)
    smallest, *larger = sizes
    for size in sizes:
        A, B, C = problem(size)
        geometry = kernel.launch(size, size, size)

        def launch(checks: bool, function=function, geometry=geometry, arrays=(A, B, C)) -> None:
            with gpusim.record(level="sass", checks=checks):
                run.start(function, geometry, *arrays)

        def launch_new() -> None:
            launch(True, load(kernel, f"{kernel.source}\n// {time.time_ns()}\n"))

        if size == smallest:
            with cache.kept_in("off"):
                note("first", launch_new, repeats)
            launch(False)
            note("recorded", lambda: launch(False), repeats)
            note("checked", lambda: launch(True), repeats)
            tracemalloc.start()
            launch(True)
            megabytes = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
        else:
            note(str(size), lambda: launch(False), 1)
        results.append((size, A, B, C))
    for size, A, B, C in results:
        if not np.allclose(C, A.astype(np.float64) @ B, atol=1e-3 * np.sqrt(size)):
            raise gpusim.SimulatorError(f"{kernel.name} computed a wrong C at {size}.")
    return Held(kernel.name, seconds, walls, megabytes)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """(seconds of the processor, those of ended processes that this one started included, seconds on the wall)."""

    def used() -> float:
        children = os.times()
        return time.process_time() + children.children_user + children.children_system

    before, started = used(), time.perf_counter()
    action()
    return used() - before, time.perf_counter() - started


def goal_lines(kernels: Sequence[gemm_kernels.Kernel], repeats: int, sizes: Sequence[int] = SIZES) -> Iterator[str]:
    """The lines of the table of `--goals`; what is above its goal has a star."""
    names = ("recorded", "checked", *map(str, sizes[1:]), "first")
    yield f"Seconds of the processor (of the wall), SASS level; recorded and checked: {sizes[0]}, medians of {repeats}"
    yield f"{'kernel':20}" + "".join(f"{name:>16}" for name in names) + f"{'MiB checked':>14}"
    yield f"{'goal':20}" + "".join(f"{GOALS.get(name, np.nan):16.2f}" for name in names)
    for kernel in kernels:
        row = held(kernel, repeats, sizes)
        stars = {name: "*" if row.seconds[name] > GOALS.get(name, np.inf) else "" for name in names}
        cells = [f"{row.seconds[name]:.3f}{stars[name]} ({row.walls[name]:.2f})" for name in names]
        yield f"{row.kernel:20}" + "".join(f"{cell:>16}" for cell in cells) + f"{row.megabytes:14.1f}"


def numba_lines(interpreter: str, repeats: int) -> list[str]:
    """The naive kernel in both simulators, and how many times faster this one is; a sentence if Numba is not there.

    Both compute the same product by the same launch, from the call until it is over, and of neither the first launch
    counts, which compiles. Numba records nothing.
    """
    naive = gemm_kernels.get("naive")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [interpreter, str(NUMBA_SCRIPT), *map(str, (NUMBA_SIZE, *naive.block[:2], repeats))]
    try:
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        theirs = json.loads(answer.stdout)
    except (OSError, subprocess.CalledProcessError, json.JSONDecodeError) as error:
        reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        return [f"No comparison with Numba: {interpreter} cannot run its CUDA simulator ({reason})."]
    slow, version = _Times(theirs["milliseconds"], NUMBA_SIZE**3 / 1e3), theirs["version"]
    lines = [
        f"naive, {NUMBA_SIZE} x {NUMBA_SIZE} x {NUMBA_SIZE}, in both simulators: least (median) of so many launches",
        f"{f'Numba {version}, nothing recorded':36} {slow}",
    ]
    for what, size, blocks in (
        ("everything recorded", NUMBA_SIZE, ((0, 0, 0),)),
        ("nothing recorded", NUMBA_SIZE, None),
        ("everything recorded", 4 * NUMBA_SIZE, ((0, 0, 0),)),
    ):
        ours = _Times(naive_milliseconds(size, blocks, NUMBA_LAUNCHES * NUMBA_SIZE // size), size**3 / 1e3)
        least, median = (ours.rate(average) / slow.rate(average) for average in (min, statistics.median))
        lines.append(f"{f'this one at {size}³, {what}':36} {ours}: {least:.0f} ({median:.0f}) times as many")
    return lines


@dataclass(frozen=True)
class _Times:
    """Milliseconds of launches, each with so many thousand FMAs."""

    milliseconds: Sequence[float]
    work: float

    def rate(self, average: Callable[[Sequence[float]], float]) -> float:
        """Million FMAs a second."""
        return self.work / average(self.milliseconds)

    def __str__(self) -> str:
        least, median = min(self.milliseconds), statistics.median(self.milliseconds)
        return f"{least:8.3f} ({median:.3f}) ms of {len(self.milliseconds)}, {self.rate(min):.2f} M FMA/s"


def naive_milliseconds(size: int, blocks: tuple[tuple[int, int, int], ...] | None, launches: int) -> list[float]:
    """Times of warm launches of `naive` at the level of machine code, from the call until it is over.

    blocks: those whose addresses are kept while everything is counted; None: nothing is recorded.
    """
    kernel = gemm_kernels.get("naive")
    function, geometry, (A, B, C) = load(kernel, kernel.source), kernel.launch(size, size, size), problem(size)
    arguments = (*(np.int32(each) for each in geometry.shape), np.float32(1), A, B, np.float32(0), C)
    milliseconds = []
    for _ in range(WARM + launches):
        with ExitStack() as watched:
            if blocks is None:
                watched.enter_context(gpusim.sanitize("off"))
            else:
                watched.enter_context(gpusim.record(level="sass", blocks=blocks, checks=False))
            started = time.perf_counter()
            function(geometry.grid, geometry.block, arguments)
            milliseconds.append(1e3 * (time.perf_counter() - started))
    assert np.allclose(C, A @ B, atol=1e-3), "the simulator computed a wrong C"
    return milliseconds[WARM:]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.bench.simulator", description=__doc__)
    parser.add_argument("--size", type=int, default=256, help="M = N = K (default 256)")
    parser.add_argument("--repeats", type=int, default=5, help="launches of which the median is taken (default 5)")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="some of the ladder (default: all)")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS, help="default: both")
    parser.add_argument("--goals", action="store_true", help="what the simulator is held to, at 256, 512 and 1024")
    parser.add_argument("--numba", action="store_true", help="compare the naive kernel with Numba's CUDA simulator")
    parser.add_argument("--numba-python", metavar="PATH", default=sys.executable, help="a Python that has Numba")
    chosen = parser.parse_args(arguments)
    kernels = [gemm_kernels.get(name) for name in chosen.kernels] if chosen.kernels else gemm_kernels.LADDER
    if chosen.goals:
        for line in goal_lines(kernels if chosen.kernels else (*kernels, *gemm_kernels.UPPER), chosen.repeats):
            print(line, flush=True)
        return
    print("\n".join(ladder_table(kernels, chosen.size, chosen.levels, chosen.repeats)))
    if chosen.numba:
        print("\n" + "\n".join(numba_lines(chosen.numba_python, chosen.repeats)))


if __name__ == "__main__":
    main()
