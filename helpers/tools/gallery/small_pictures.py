"""The settings of the gallery's pictures that have no explorer of their own, or one of a few lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gemm_kernels import LADDER, Kernel, at_shape, get
from gpusim import devices
from gpusim.devices import FLOAT_BYTES
from gpusim.occupancy import occupancy
from helpers import exercises, plan, recordings, run
from helpers.exercises import n07
from helpers.pictures import theme
from helpers.pictures.bars import Bar, gflops_figure
from helpers.pictures.block_shapes.facts import BlockShape, Cost, counted
from helpers.pictures.block_shapes.figure import scatter_figure
from helpers.pictures.coalescing.facts import warp_access
from helpers.pictures.cpu_loops import explorer as cpu_loops
from helpers.pictures.error_map.figure import ErrorMap, error_map_figure
from helpers.pictures.first_launch import explorer as first_launch
from helpers.pictures.host_timeline import facts as host_timeline
from helpers.pictures.host_timeline.figure import timelines_figure
from helpers.pictures.layouts.figure import layout_figure
from helpers.pictures.machine import facts as memories
from helpers.pictures.machine.figure import here_figure
from helpers.pictures.mix import facts as mix
from helpers.pictures.mix.figure import mix_figure
from helpers.pictures.numbering.figure import numbering_figure
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.occupancy.speed_figure import Dot, occupancy_speed_figure
from helpers.pictures.order.facts import events_of
from helpers.pictures.order.figure import order_figure
from helpers.pictures.patch.places_figure import Block, patch_places_figure
from helpers.pictures.pipeline.model import ByHand
from helpers.pictures.pipeline.time_lines import time_lines_figure
from helpers.pictures.schedule import facts as schedule
from helpers.pictures.schedule.figure import schedules_figure
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.warp_fill.figure import warp_fill_figure
from helpers.pictures.warp_states.facts import states_of
from helpers.pictures.warp_states.figure import warp_states_figure
from helpers.recordings.measurement import recorded_on
from helpers.slides.deck import SCALE

LANES = 32
SHAPES_SIZE = 2048  # M = N = K of the recorded block shapes
SHAPES = ((1, 32), (2, 64), (4, 32), (8, 32), (16, 16), (32, 1), (32, 8), (32, 32), (256, 1))
Draw = Callable[[], Any]


def strip(grid: int, block: int, elements: int) -> Draw:
    """A one-dimensional launch."""
    return lambda: first_launch.picture(SCALE, grid, block, elements)


def strips() -> theme.Figure:
    """Several of them."""
    return first_launch.small_multiples(SCALE)


def here(number: str) -> Draw:
    """Where most cycles of a notebook's kernels go."""
    notebook = plan.course().notebook(number)
    return lambda: here_figure(memories.machine(), notebook.now, notebook.then)


def by_hand(multiply: int, *buffers: int) -> Draw:
    """Four tiles that take 4 units to load, with these numbers of buffers."""
    return lambda: time_lines_figure([ByHand(4, 4, multiply, count) for count in buffers], "Four tiles by hand")


def mixes(*kernels: str) -> Draw:
    """The instructions of some kernels, by pipe."""
    return lambda: mix_figure([mix.mix(name) for name in kernels], "What the kernels execute")


def drawn_by(blank: str, version: str = "solution") -> Draw:
    """What a blank draws of one of its known kernels that it can draw: of others it shows a verdict."""
    exercise = exercises.get(blank)
    return lambda: exercise.show(exercise.marked.version(version))


def split_k(tiles: int, steps: int, parts: int) -> Draw:
    """Tiles on 8 SMs, whole and cut along k."""
    both = schedule.whole_tiles(tiles, steps, 8), schedule.whole_tiles(tiles, steps, 8, parts)
    return lambda: schedules_figure(both, f"{theme.plural(tiles, 'tile')} on 8 SMs")


def loops(*innermost: str) -> Draw:
    """What the choice of the innermost loop pulls out of memory."""
    return lambda: cpu_loops.picture(innermost)


def numbering(x: int, y: int, z: int) -> Draw:
    """The linear ids of a block's threads."""
    ids = np.arange(x * y * z).reshape(z, y, x)
    return lambda: numbering_figure(ids, f"A block of {(x, y, z)}: the line of its threads, cut into warps")


def layout(rows: int, columns: int) -> Draw:
    """Row-major and column-major."""
    return lambda: layout_figure(rows, columns)


def warp_fill(*threads: int) -> Draw:
    """Which lanes of blocks of so many threads stored an element, as recorded."""

    def draw() -> theme.Figure:
        return warp_fill_figure({count: _lanes(count) for count in threads}, "How much of its warps does a block fill?")

    return draw


def _lanes(threads: int) -> list[np.ndarray]:
    recording = run.record(get("naive").launch(M=threads, N=1, K=1).in_blocks(threads, 1))
    return [warp_access(recording, "C", "st", warp=warp).active for warp in range(-(-threads // LANES))]


@lru_cache(maxsize=1)
def _block_shapes() -> list[BlockShape]:
    return [counted(get(name), shape, SHAPES_SIZE) for name in ("naive", "coalesced") for shape in SHAPES]


def block_shapes(cost: Cost, limited: bool = False) -> Draw:
    """The cost of a request against GFLOPS. limited: with the line of one 128-byte line a clock on each SM."""

    def draw() -> theme.Figure:
        h200 = devices.DEFAULT
        # A multiply-add makes two requests a warp, and a warp's request of one line takes a clock of its SM.
        limit = h200.sms * h200.clock_mhz * 1e6 * LANES / 1e9 if limited else None
        title = f"{len(SHAPES)} block shapes, two axis orders, M = N = K = {SHAPES_SIZE}"
        return scatter_figure(
            _block_shapes(), title, recorded_on(h200.name), cost=cost, limit=limit, limit_name="one line a clock"
        )

    return draw


def issue(warps: int, independent: int, latency: int) -> Draw:
    """A scheduler and its warps, cycle by cycle."""
    return lambda: scheduler.picture_of(scheduler.Choice(warps, independent, latency))


def occupancy_speed(size: int, *named: str) -> Draw:
    """Kernels of the ladder by their occupancy and their recorded GFLOPS at M = N = K = size."""

    def draw() -> theme.Figure:
        h200 = devices.DEFAULT
        kernels = [at_shape(kernel, size, size, size) for kernel in LADDER]
        speeds = [recordings.gflops(kernel, size, size, size).gflops for kernel in kernels]
        dots = [
            Dot(kernel.name, _occupancy(kernel, h200), speed) for kernel, speed in zip(kernels, speeds, strict=True)
        ]
        title = f"All kernels of the course, M = N = K = {size}"
        return occupancy_speed_figure(dots, title, recorded_on(h200.name), named)

    return draw


def _occupancy(kernel: Kernel, device: devices.Device) -> float:
    taken = resources_of(kernel, device.arch)
    return occupancy(device, taken.threads, taken.registers, taken.shared_bytes).fraction


def bars(size: int, *names: str) -> Draw:
    """Recorded GFLOPS of some kernels, and cuBLAS's in the run of the last."""

    def draw() -> theme.Figure:
        measured = [recordings.gflops(get(name), size, size, size) for name in names]
        cublas = Bar("cuBLAS", measured[-1].cublas_gflops, theme.REFERENCE)
        ladder = [*(Bar(measurement.kernel, measurement.gflops) for measurement in measured), cublas]
        return gflops_figure(ladder, f"One multiplication, M = N = K = {size}", measured[0].label)

    return draw


def by_letters(*rows: str) -> Draw:
    """What one scheduler of an SM does in some cycles, a letter of notebook 07 for each cycle of each warp."""
    return lambda: warp_states_figure(states_of(n07.LETTERS, rows), "Some cycles by hand", "Made up.")


def timelines(*names: str) -> Draw:
    """What the host, the copies and the kernels of a multiplication do, recorded."""

    def draw() -> theme.Figure:
        timelines = [host_timeline.recorded(name) for name in names]
        caption = f"{' and '.join(f'{timeline.length:.1f} ms' for timeline in timelines)} ({timelines[0].label})."
        return timelines_figure(timelines, "The seven steps of a multiplication", caption)

    return draw


def order(name: str, phases: int = 4) -> Draw:
    """In which order warp 0 of a kernel loads, stores to shared memory and reads from it."""

    def draw() -> theme.Figure:
        kernel = get(name)
        rows, columns = kernel.tile
        recording = run.record(kernel.launch(rows, columns, phases * kernel.depth))
        events = events_of(recording, rows * kernel.depth * FLOAT_BYTES)
        return order_figure(events, f"{name}: what warp 0 does in {phases} phases, in its order")

    return draw


def errors(rows: int, columns: int, wrong: tuple[slice, slice], unwritten: tuple[slice, slice] | None = None) -> Draw:
    """A result of (rows, columns) of which a part is wrong and another was not written."""

    def draw() -> theme.Figure:
        missing, bad = np.zeros((2, rows, columns), bool)
        if unwritten is not None:
            missing[unwritten] = True
        bad[wrong] = True
        bad |= missing
        first = tuple(int(index) for index in np.argwhere(bad)[0])
        return error_map_figure(ErrorMap("C", bad, missing, first, (16, 16)), f"C for M = {rows}, N = {columns}")

    return draw


def patch_places(rows: int, thread: int, k: int) -> Callable[[], theme.Figure]:
    """Who loads and who computes what, in a tile of so many rows."""
    return lambda: patch_places_figure(Block(rows=rows), thread, k)
