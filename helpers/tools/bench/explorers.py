"""From moving a control to the new picture: how long does each explorer take, and does it survive any setting?

    python -m helpers.tools.bench.explorers [explorer …]              every control over its range, timed
    python -m helpers.tools.bench.explorers --random 500 [explorer …]   random settings: what was shown, memory

Every move is timed as the learner feels it without the browser: new value in, compile and simulate if the launch is a
new one, draw, PNG out. Launches that are kept from earlier moves are forgotten first, and the compiler's disk cache is
off. Beside the time on the wall stands the processor's, children included, which others on the machine do not lengthen.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim import devices
from gpusim.compiler import cache
from helpers import run
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.bank_board.facts import places
from helpers.pictures.bank_board.tile_store import tile_access
from helpers.pictures.barriers import explorer as barriers
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.diff import explorer as diff
from helpers.pictures.diff.facts import counted
from helpers.pictures.heat_source import explorer as heat_source
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.hierarchy.facts import levels_of
from helpers.pictures.hot_lines import explorer as hot_lines
from helpers.pictures.hot_lines.facts import asked
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.occupancy import explorer as occupancy
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.pipeline.facts import loop_of
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.register_tile.facts import tile_of
from helpers.pictures.roofline import explorer as roofline
from helpers.pictures.roofline.facts import sectors_of_a_block
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tile_phases.facts import phases_of
from helpers.pictures.tuning import explorer as tuning
from helpers.pictures.vector_width import explorer as vector_width
from helpers.pictures.vector_width.facts import WIDTHS, way_of
from helpers.tools.bench.moving import random_moves

RANDOM = "--random"
STATM = Path("/proc/self/statm")  # where Linux says how much memory a process holds


@dataclass(frozen=True)
class Move:
    """One move: which control of which explorer, to which value, and the milliseconds until the picture was there.

    processor: milliseconds of processor time in it.  compiles: whether a kernel had to be compiled for it.
    """

    explorer: str
    control: str
    value: object
    milliseconds: float
    processor: float
    compiles: bool = False


def moves_of(
    name: str,
    explorer: Any,
    ranges: Mapping[str, Sequence[object]],
    positions: int | None = None,
    compiling: Sequence[str] = (),
) -> Iterator[Move]:
    """Each control, an attribute of the explorer or a path such as "sizes.TM", over its values, or the first so many.

    compiling: the controls whose values need a kernel of their own.
    """
    for path, values in ranges.items():
        control = explorer
        for part in path.split("."):
            control = control[part] if isinstance(control, dict) else getattr(control, part)
        for value in list(values)[:positions]:
            started, worked = time.perf_counter(), _processor_seconds()
            control.value = value
            wall, processor = time.perf_counter() - started, _processor_seconds() - worked
            yield Move(name, path, value, 1e3 * wall, 1e3 * processor, path in compiling)


def _processor_seconds() -> float:
    """Of this process and of those that it waited for, such as nvdisasm."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def coalescing_moves(positions: int | None = None) -> Iterator[Move]:
    """Every control of notebook 03's explorer over its range, or over its first so many positions.

    A new block, width or kernel makes a new launch; warp and k do not.
    """
    run.forget()
    explorer = coalescing.explore(block=(32, 32))
    coalesced = explorer.kernel.options[1][1]
    ranges = {
        "warp": range(1, 32, 6),
        "k": range(1, 64, 10),
        "block_x": (16, 8, 4, 2, 1, 32),
        "block_y": (16, 8, 4, 2, 1, 32),
        "width": (64, 128, 512, 1000, 1023, 4096),
        "kernel": (coalesced,),
    }
    return moves_of("coalescing", explorer, ranges, positions)


def thread_map_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 02: a new block, shape or grid makes a new launch; block and thread do not."""
    run.forget()
    explorer = thread_map.explore()
    x, y = (explorer.dims[axis] for axis in (0, 1))
    explorer.block_x, explorer.block_y = x, y
    ranges = {
        "thread": range(1, 256, 32),
        "block": range(1, 16, 3),
        "block_x": (8, 4, 32, 24, 16),
        "block_y": (8, 4, 32, 24, 16),
        "shape": thread_map.SHAPES,
        "grid_x": (1, 2, 4),
        "kernel": (explorer.kernel.options[1][1],),
    }
    return moves_of("thread_map", explorer, ranges, positions, ("kernel",))


def tile_phases_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 04: a new tile is a new kernel; phase and thread are not."""
    run.forget()
    phases_of.cache_clear()
    explorer = tile_phases.explore(tile=16)
    tiles = [launch for _, launch in explorer.launch.options]
    ranges = {"phase": (1, 2, 3), "thread": range(1, 256, 32), "launch": tiles}
    return moves_of("tile_phases", explorer, ranges, positions, ("launch",))


def barriers_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 04: a kernel without a barrier is another kernel, and the sanitizer looks at its whole launch."""
    run.forget()
    explorer = barriers.explore()
    ranges = {"phase": (1, 2, 3), "removed": (1, 2, 0), "tile": (8, 32, 16)}
    return moves_of("barriers", explorer, ranges, positions, ("removed", "tile"))


def occupancy_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 05: a kernel is compiled for the chosen GPU; the sliders compile nothing."""
    explorer = occupancy.explore()
    kernels = [kernel for _, kernel in explorer.kernel.options[1:7]]
    ranges = {
        "kernel": kernels,
        "registers": range(16, 129, 16),
        "threads": range(64, 513, 64),
        "shared": range(32768, -1, -4096),
        "device": [devices.get(name) for name in ("A100 80GB", "RTX A6000", "RTX 4090", "B200")],
    }
    return moves_of("occupancy", explorer, ranges, positions, ("kernel",))


def scheduler_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 05: a model; nothing is compiled or launched."""
    explorer = scheduler.explore()
    ranges = {"warps": range(2, 17, 2), "independent": range(2, 17, 2), "latency": range(5, 41, 5)}
    return moves_of("scheduler", explorer, ranges, positions)


def register_tile_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 06: other sizes are another kernel; thread, k and move are not."""
    run.forget()
    tile_of.cache_clear()
    explorer = register_tile.explore()
    sizes = {"sizes.TM": (4, 8), "sizes.TN": (4, 8), "sizes.BM": (64, 128), "sizes.BN": (64, 128), "sizes.BK": (16, 8)}
    ranges = {"move": range(0, 81, 9), "k": range(1, 8), "thread": range(1, 256, 40), **sizes}
    return moves_of("register_tile", explorer, ranges, positions, tuple(sizes))


def roofline_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebooks 01 and 14: a kernel that is shown for the first time is compiled and counted."""
    run.forget()
    sectors_of_a_block.cache_clear()
    explorer = roofline.explore(kernels=("naive",))
    shown = [("naive", "coalesced"), ("coalesced", "shared_memory"), ("shared_memory", "block_tile_2d")]
    ranges = {
        "kernels": shown,
        "M": (64, 512, 2048, 8192),
        "N": (64, 512, 2048, 8192),
        "K": (64, 512, 2048, 8192),
        "device": [devices.get(name) for name in ("A100 80GB", "RTX A6000", "RTX 4090", "B200")],
        "selected": ("shared_memory", "block_tile_2d"),
    }
    return moves_of("roofline", explorer, ranges, positions, ("kernels",))


def bank_board_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 08: a tile is stored by one warp; a kernel is compiled when it is chosen."""
    run.forget()
    places.cache_clear()
    tile_access.cache_clear()
    explorer = bank_board.explore()
    kernels = [launch for _, launch in explorer.launch.options[1:5]]
    ranges = {
        "row_length": (64, 32, 16, 128),
        "padding": (4, 1, 8, 0),
        "down": (1, 32, 16, 4, 8),
        "bits": (64, 128, 32),
        "swizzle": (True, False),
        "launch": kernels,
        "request": (4, 8, 12),
        "warp": (1, 3, 7),
    }
    return moves_of("bank_board", explorer, ranges, positions, ("launch",))


def vector_width_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 09: each width is an instantiation of its own, compiled at its first use."""
    run.forget()
    way_of.cache_clear()
    explorer = vector_width.explore()
    kernels = [launch for _, launch in explorer.launch.options[2:5]]
    ranges = {
        "stride": (129, 130, 132, 1000, 1024, 128),
        "row": (1, 2, 3),
        "first": (1, 2, 4, 0),
        "width": WIDTHS,
        "launch": kernels,
    }
    return moves_of("vector_width", explorer, ranges, positions, ("launch",))


def pipeline_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 10: a model; only the work of a kernel has to be compiled and counted."""
    run.forget()
    loop_of.cache_clear()
    explorer = pipeline.explore()
    ranges = {
        "stages": (2, 3, 4, 1),
        "latency": range(0, 1001, 200),
        "warps": (2, 4, 8, 1),
        "multiply": (50, 400, 160),
        "copy": (40, 20),
        "store": (0, 20),
        "kernel": [kernel for _, kernel in explorer.kernel.options[1:3]],
    }
    return moves_of("pipeline", explorer, ranges, positions, ("kernel",))


def hierarchy_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 11: another shape or lane map is another kernel; warp and lane are not."""
    run.forget()
    levels_of.cache_clear()
    explorer = hierarchy.explore()
    ranges = {
        "lane": (3, 9, 17, 31),
        "warp": (1, 5, 7, 0),
        "lane_map": tuple(reversed(hierarchy.LANE_MAPS)),
        "launch": [launch for _, launch in explorer.launch.options[1:4]],
    }
    return moves_of("hierarchy", explorer, ranges, positions, ("lane_map", "launch"))


def tuning_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 13: rules and predictions; nothing is compiled or launched."""
    explorer = tuning.explore()
    ranges = {
        "across": ("WM", "TM", "BK"),
        "down": ("WN", "TN", "BM"),
        "measure": ("intensity", "floats_a_fma", "occupancy"),
        "device": [devices.get(name) for name in ("A100 80GB", "RTX A6000", "RTX 4090")],
    }
    return moves_of("tuning", explorer, ranges, positions)


def hot_lines_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 07: a kernel that is shown for the first time is compiled and recorded."""
    run.forget()
    asked.cache_clear()
    explorer = hot_lines.explore()
    kernels = [kernel for _, kernel in explorer.kernel.options[1:6]]
    ranges = {"kernel": kernels, "request": (0, 1, 2, 3), "warp": (0, 1, 2, 3)}
    return moves_of("hot_lines", explorer, ranges, positions, ("kernel",))


def heat_source_moves(positions: int | None = None) -> Iterator[Move]:
    """A kernel that is shown for the first time is compiled and counted."""
    run.forget()
    heat_source.source_of.cache_clear()
    explorer = heat_source.explore(kernel="naive")
    kernels = [launch for _, launch in explorer.launch.options[1:6]]
    return moves_of(
        "heat_source", explorer, {"launch": kernels, "level": ("ptx", "sass")}, positions, ("launch", "level")
    )


def diff_moves(positions: int | None = None) -> Iterator[Move]:
    """A kernel that is shown for the first time is compiled and counted over its whole launch."""
    counted.cache_clear()
    diff.step_between.cache_clear()
    explorer = diff.explore("coalesced")
    kernels = [kernel for _, kernel in explorer.new.options[2:6]]
    return moves_of("diff", explorer, {"new": kernels, "old": kernels}, positions, ("new",))


def ladder_moves(positions: int | None = None) -> Iterator[Move]:
    """Notebook 14: recordings only, nothing is launched."""
    explorer = ladder.explore()
    ranges = {
        "kernel": [name for name, _ in explorer.kernel.options[:8]],
        "shape": [shape for _, shape in explorer.shape.options],
        "scale": ("log", "linear"),
        "suite": ("shapes", "ladder"),
    }
    return moves_of("ladder", explorer, ranges, positions)


EXPLORERS: dict[str, Callable[[int | None], Iterator[Move]]] = {
    "roofline": roofline_moves,
    "thread_map": thread_map_moves,
    "coalescing": coalescing_moves,
    "tile_phases": tile_phases_moves,
    "barriers": barriers_moves,
    "occupancy": occupancy_moves,
    "scheduler": scheduler_moves,
    "register_tile": register_tile_moves,
    "bank_board": bank_board_moves,
    "vector_width": vector_width_moves,
    "pipeline": pipeline_moves,
    "hierarchy": hierarchy_moves,
    "tuning": tuning_moves,
    "ladder": ladder_moves,
    "hot_lines": hot_lines_moves,
    "heat_source": heat_source_moves,
    "diff": diff_moves,
}


MODULES: dict[str, Any] = {
    module.__name__.split(".")[-2]: module
    for module in (
        roofline, thread_map, coalescing, tile_phases, barriers, occupancy, scheduler, register_tile, bank_board,
        vector_width, pipeline, hierarchy, tuning, ladder, hot_lines, heat_source, diff,
    )
}  # fmt: skip


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
    explorer = MODULES[name].explore()
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
    known = MODULES if count else EXPLORERS
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"There is no explorer {' or '.join(unknown)}; there are {', '.join(known)}.")
    with cache.kept_in("off"):
        if count:
            _random_table(wanted or list(known), count)
        else:
            _table(wanted or list(known))


def _table(names: Sequence[str]) -> None:
    print(f"{'explorer':14} {'control':10} {'moves':>5} {'median ms':>10} {'processor':>10} {'slowest ms':>11}")
    for name in names:
        moves = list(EXPLORERS[name](None))
        for control in dict.fromkeys(move.control for move in moves):
            _line(control, [move for move in moves if move.control == control])
        _line("all", [move for move in moves if not move.compiles])
        _line("compiles", [move for move in moves if move.compiles])


def _random_table(names: Sequence[str], count: int) -> None:
    print(f"{'explorer':14} {'pictures':>8} {'sentences':>9} {'processor ms':>12} {'grown MB':>9}")
    for name in names:
        outcome = endurance(name, count)
        grown = "" if outcome.grown is None else f"{outcome.grown:.1f}"
        pictures, sentences = (outcome.shown.get(what, 0) for what in ("picture", "sentence"))
        print(f"{name:14} {pictures:8} {sentences:9} {outcome.milliseconds:12.0f} {grown:>9}", flush=True)


def _line(name: str, moves: Sequence[Move]) -> None:
    if moves:
        times = [move.milliseconds for move in moves]
        median, slowest = statistics.median(times), max(times)
        processor = statistics.median(move.processor for move in moves)
        row = f"{moves[0].explorer:14} {name:10} {len(times):5} {median:10.0f} {processor:10.0f} {slowest:11.0f}"
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
