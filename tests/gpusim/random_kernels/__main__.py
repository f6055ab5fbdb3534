"""Try random kernels: right ones must run and give the numbers that NumPy gives, planted faults must be found.

    python -m tests.gpusim.random_kernels --seeds 0:20000 --planted 0:5000 --workers 14

Each seed is tried on one of the architectures, in turn, at every level. With `--gpu` the right kernels run on the GPU
of this machine, too, compiled by CuPy for it; `--level` with nothing behind it then leaves the simulator out. The
status is 1 if a right kernel was stopped or gave other numbers, or if fewer faults were found than `--share` of them.

With NVRTC 13.0 some 4 in 1000 right kernels are stopped for sm_120: its PTX computes an address in an unrolled loop
from a register that it writes only after that. With NVRTC 12.9 the same seeds (300203, 300443, 300674) are right.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing import TimeoutError as NothingYet, get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gpusim.random_kernels.trial import Outcome, Task, tried

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
LEVELS = ("sass", "ptx")
BATCH = 96  # kernels of a module: the headers, which take the compiler a second, are read once for all
SHOWN = 10  # failures whose sources are printed


@dataclass
class Counts:
    """By architecture and level, and for planted ones by kind, how often what came of them."""

    right: dict[str, Counter] = field(default_factory=dict)
    planted: dict[str, Counter] = field(default_factory=dict)
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """One more."""
        where = self.right if outcome.kind == "right" else self.planted
        name = f"{outcome.level} {outcome.arch}" + ("" if outcome.kind == "right" else f", {outcome.kind}")
        where.setdefault(name, Counter())[outcome.outcome] += 1
        if not outcome.is_good:
            self.failures.append(outcome)

    @property
    def share(self) -> float:
        """How many of the planted faults were found."""
        every = sum((each for each in self.planted.values()), Counter())
        missed = every["right"] + every["wrong numbers"]
        return 1 - missed / every.total() if every else 1.0

    @property
    def stopped(self) -> int:
        """How many right kernels did not give the right numbers."""
        return sum(each.total() - each["right"] for each in self.right.values())


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    """Right ones and planted ones of all architectures by turns, so that a run that is cut short has tried of each."""
    outcomes = []
    for seeds, planted in ((arguments.seeds, False), (arguments.planted, True)):
        for each, arch in enumerate(arguments.arch):
            of_arch = [seed for seed in seeds if seed % len(arguments.arch) == each]
            for first in range(0, len(of_arch), BATCH):
                some = tuple(of_arch[first : first + BATCH])
                task = Task(some, planted, arch, tuple(arguments.level), arguments.gpu)
                outcomes.append((first / len(of_arch), len(outcomes), task))
    return [task for *_, task in sorted(outcomes, key=lambda each: each[:2])]


def counted(tasks: Sequence[Task], workers: int, seconds: float, write: Callable[[Counts], None]) -> Counts:
    """What becomes of all of them, tried by so many processes for so many seconds; `write` is called now and then."""
    counts, begun, written = Counts(), time.monotonic(), 0.0
    with get_context("spawn").Pool(workers) as pool:
        results = pool.imap_unordered(tried, tasks)
        for number in range(1, len(tasks) + 1):
            try:
                every = results.next(max(0.1, begun + seconds - time.monotonic()))
            except NothingYet:
                print(f"  {number - 1} of {len(tasks)} modules were tried in {seconds:.0f} s.")
                break
            for outcome in every:
                counts.add(outcome)
            if time.monotonic() - written > 10:
                written = time.monotonic()
                so_far = f"{counts.stopped} right ones stopped, {counts.share:.2%} of the faults found"
                print(f"  {number} of {len(tasks)} modules, {written - begun:.0f} s, {so_far}", flush=True)
                write(counts)
    return counts


def _seeds(text: str) -> range:
    first, _, stop = text.partition(":")
    return range(int(first), int(stop)) if stop else range(int(first), int(first) + 1)


def _printed(counts: Counts) -> None:
    for title, table in (("Right kernels", counts.right), ("Planted faults", counts.planted)):
        if table:
            print(f"\n{title}")
        for name, of in sorted(table.items()):
            print(f"  {name:44} " + ", ".join(f"{count} {outcome}" for outcome, count in of.most_common()))
    for failure in counts.failures[:SHOWN]:
        print(f"\nseed {failure.seed}, {failure.kind}, {failure.level} {failure.arch}: {failure.outcome}")
        print(failure.message[:400], failure.source, sep="\n")
    print(f"\n{counts.stopped} right kernels stopped or wrong, {counts.share:.2%} of the faults found.")


def main() -> int:
    """Read the arguments, try, and print what was counted."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpusim.random_kernels", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=_seeds, default=range(0), help="of right kernels, FIRST:STOP")
    parser.add_argument("--planted", type=_seeds, default=range(0), help="of kernels with one fault, FIRST:STOP")
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES)
    parser.add_argument("--level", nargs="*", default=LEVELS, choices=LEVELS)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--gpu", action="store_true", help="run the right ones on this machine's GPU, too")
    parser.add_argument("--share", type=float, default=0.99, help="of the faults that must be found")
    parser.add_argument("--seconds", type=float, default=1e6, help="after which it stops")
    parser.add_argument("--json", type=Path, help="a file for the counts and the failures")
    arguments = parser.parse_args()
    os.environ["GEMM_COURSE_BACKEND"] = "simulator"
    begun = time.monotonic()
    about = {"machine": platform.node(), "python": platform.python_version(), "command": sys.argv[1:]}

    def write(counts: Counts) -> None:
        if arguments.json:
            text = {**about, "seconds": time.monotonic() - begun, "right": counts.right, "planted": counts.planted,
                    "share": counts.share, "failures": [asdict(failure) for failure in counts.failures]}  # fmt: skip
            arguments.json.write_text(json.dumps(text, indent=1) + "\n")

    with TemporaryDirectory() as folder:  # none of these is compiled again in another run
        os.environ["GEMM_COURSE_CACHE"] = folder
        counts = counted(_tasks(arguments), arguments.workers, arguments.seconds, write)
    _printed(counts)
    print(f"{time.monotonic() - begun:.0f} s with {arguments.workers} processes.")
    write(counts)
    return int(counts.stopped > 0 or counts.share < arguments.share)


if __name__ == "__main__":
    sys.exit(main())
