"""How fast the simulator is, beside what it is held to: `python -m helpers.tools.bench.simulator`.

Every rung of the ladder, as it stands, computes matrix products as a learner's cell does: recorded, and with the
sanitizer on top. Counted are seconds of the processor, of all its cores together, which others on the machine lengthen
less than time on the wall, at the sizes that learners record.
"""

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import gemm_kernels
import gpusim
from gpusim.compiler import cache
from helpers import run
from helpers.recordings import suites

SIZES = (256, 512, 1024)
GOALS = {"recorded": 0.1, "checked": 0.15, "512": 0.5, "1024": 4.0, "first": 0.8}  # seconds


def problem(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C for a size × size product."""
    rng = np.random.default_rng(size)
    A, B, C = (rng.standard_normal((size, size), np.float32) for _ in range(3))
    return A, B, C


def load(kernel: gemm_kernels.Kernel, source: str) -> gpusim.Kernel:
    """The kernel compiled from `source`, ready to be launched."""
    return run.simulated(source, kernel.entry)


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


def held(kernel: gemm_kernels.Kernel, repeats: int, sizes: Sequence[int]) -> Held:
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


def goal_lines(kernels: Sequence[gemm_kernels.Kernel], repeats: int) -> Iterator[str]:
    """The lines of the table; what is above its goal has a star."""
    names = ("recorded", "checked", *map(str, SIZES[1:]), "first")
    yield f"Seconds of the processor (of the wall), SASS level; recorded and checked: {SIZES[0]}, medians of {repeats}"
    yield f"{'kernel':20}" + "".join(f"{name:>16}" for name in names) + f"{'MiB checked':>14}"
    yield f"{'goal':20}" + "".join(f"{GOALS.get(name, np.nan):16.2f}" for name in names)
    for kernel in kernels:
        row = held(kernel, repeats, SIZES)
        stars = {name: "*" if row.seconds[name] > GOALS.get(name, np.inf) else "" for name in names}
        cells = [f"{row.seconds[name]:.3f}{stars[name]} ({row.walls[name]:.2f})" for name in names]
        yield f"{row.kernel:20}" + "".join(f"{cell:>16}" for cell in cells) + f"{row.megabytes:14.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.bench.simulator", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="launches of which the median is taken (default 5)")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="some of the ladder (default: all rungs)")
    chosen = parser.parse_args(arguments)
    kernels = [*map(gemm_kernels.get, chosen.kernels)] if chosen.kernels else suites.RUNGS
    for line in goal_lines(kernels, chosen.repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
