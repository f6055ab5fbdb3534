"""From moving a control to the new picture: how long does each explorer take, and does it survive any setting?

    python -m helpers.tools.bench.explorers [explorer …]              every control over its range, timed
    python -m helpers.tools.bench.explorers --random 500 [explorer …]   random settings: what was shown, memory

Every move is timed as the learner feels it without the browser: new value in, compile and simulate if the launch is a
new one, draw, PNG out. What is kept from earlier moves is forgotten first, and the compiler's disk cache is off. Beside
the time on the wall stands the processor's, children included, which others on the machine do not lengthen.
"""

from __future__ import annotations

import functools
import gc
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.compiler import cache
from helpers import run
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.barriers import explorer as barriers
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.diff import explorer as diff
from helpers.pictures.heat_source import explorer as heat_source
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.hot_lines import explorer as hot_lines
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.occupancy import explorer as occupancy
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.roofline import explorer as roofline
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tuning import explorer as tuning
from helpers.pictures.vector_width import explorer as vector_width
from helpers.tools.bench.moving import move, random_moves, setting, spread

RANDOM = "--random"
POSITIONS = 6  # of a control
STATM = Path("/proc/self/statm")  # where Linux says how much memory a process holds
EXPLORERS: dict[str, Any] = {
    module.__name__.split(".")[-2]: module
    for module in (
        roofline, thread_map, coalescing, tile_phases, barriers, occupancy, scheduler, register_tile, bank_board,
        vector_width, pipeline, hierarchy, tuning, ladder, hot_lines, heat_source, diff,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Move:
    """One move: which control, to which setting, and the milliseconds until the picture was there.

    processor: milliseconds of processor time in it.
    """

    control: str
    value: object
    milliseconds: float
    processor: float


def moves_of(name: str, positions: int = POSITIONS) -> Iterator[Move]:
    """Each control of an explorer over so many positions of its range, all others where they were at first."""
    _forget()
    explorer = EXPLORERS[name].explore()
    names = {control: name for name, control in vars(explorer).items() if control in explorer.controls}
    for control in explorer.controls:
        before = setting(control)
        for value in [*(value for value in spread(control, positions) if value != before), before]:
            started, worked = time.perf_counter(), _processor_seconds()
            move(explorer, control, value)
            wall, processor = time.perf_counter() - started, _processor_seconds() - worked
            yield Move(names.get(control, control.description), value, 1e3 * wall, 1e3 * processor)


def _forget() -> None:
    """Forget the launches, and the facts and pictures, that are kept."""
    run.forget()
    for module_name, module in [*sys.modules.items()]:
        if module_name.startswith("helpers.pictures."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def _processor_seconds() -> float:
    """Of this process and of those that it waited for, such as nvdisasm."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


@dataclass(frozen=True)
class Endurance:
    """An explorer under random settings.  shown: how often a picture, how often a sentence.

    milliseconds: of processor time a move, the median.  grown: megabytes by which the process grew in the second half
    of the moves, when what explorers keep is full; None where the system does not say how much memory a process holds.
    """

    shown: Mapping[str, int]
    milliseconds: float
    grown: float | None


def endurance(name: str, count: int, seed: int = 7) -> Endurance:
    """Set controls of an explorer at random, `count` times. An exception of the explorer is passed on."""
    explorer = EXPLORERS[name].explore()
    seen, times, begun = Counter(), [], 0.0
    worked = _processor_seconds()
    for number, answer in enumerate(random_moves(explorer, count, seed)):
        seen[answer] += 1
        times.append(_processor_seconds() - worked)
        if number == count // 2:
            gc.collect()
            begun = _resident_megabytes()
        worked = _processor_seconds()
    gc.collect()
    grown = _resident_megabytes() - begun if STATM.exists() else None
    return Endurance(seen, 1e3 * statistics.median(times), grown)


def _resident_megabytes() -> float:
    if not STATM.exists():
        return 0.0
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(arguments: Sequence[str]) -> None:
    """Print what the chosen explorers took, control by control; with --random how they stood so many settings."""
    wanted, count = list(arguments), 0
    if RANDOM in wanted:
        option = wanted.index(RANDOM)
        count = int(wanted[option + 1]) if wanted[option + 1 :] and wanted[option + 1].isdecimal() else 0
        if count < 5:
            sys.exit(f"Say how many settings, at least 5: {RANDOM} 200.")
        del wanted[option : option + 2]
    unknown = [name for name in wanted if name not in EXPLORERS]
    if unknown:
        sys.exit(f"There is no explorer {' or '.join(unknown)}; there are {', '.join(EXPLORERS)}.")
    with cache.kept_in("off"):
        if count:
            _random_table(wanted or list(EXPLORERS), count)
        else:
            _table(wanted or list(EXPLORERS))


def _table(names: Sequence[str]) -> None:
    print(f"{'explorer':14} {'control':22} {'moves':>5} {'median ms':>10} {'processor':>10} {'slowest ms':>11}")
    for name in names:
        moves = list(moves_of(name))
        for control in dict.fromkeys(each.control for each in moves):
            times = [each.milliseconds for each in moves if each.control == control]
            processor = [each.processor for each in moves if each.control == control]
            print(
                f"{name:14} {control:22} {len(times):5} {statistics.median(times):10.0f} "
                f"{statistics.median(processor):10.0f} {max(times):11.0f}",
                flush=True,
            )


def _random_table(names: Sequence[str], count: int) -> None:
    print(f"{'explorer':14} {'pictures':>8} {'sentences':>9} {'processor ms':>12} {'grown MB':>9}")
    for name in names:
        outcome = endurance(name, count)
        grown = "" if outcome.grown is None else f"{outcome.grown:.1f}"
        pictures, sentences = (outcome.shown.get(what, 0) for what in ("picture", "sentence"))
        print(f"{name:14} {pictures:8} {sentences:9} {outcome.milliseconds:12.0f} {grown:>9}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
