"""What of notebook 05 only a GPU knows: which blocks sit on one SM together, and what a full SM is worth.

    python -m helpers.exercises.residents     on a GPU: write recordings/<gpu>/residents.json

Each block of the tiled kernel writes the number of its SM and that SM's clock when it begins and when it ends. And one
compiled kernel, whose room is given at launch, is timed with tiles of three sizes and with room that no tile uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gemm_kernels import Launch, OwnKernel
from gpusim import devices
from helpers import cycles, gpu, recordings, run
from helpers.exercises.framework import rungs, speed
from helpers.exercises.n04 import TILED
from helpers.exercises.n05 import ROOM_AT_LAUNCH
from helpers.measure.problem import problem
from helpers.measure.provenance import provenance
from helpers.pictures import theme
from helpers.pictures.seats.facts import seats
from helpers.pictures.seats.figure import seats_figure
from helpers.recordings.measurement import MEASURED, Measurement, recorded_on

SUITE = "residents"
PLACED = 512  # M = N = K of the launch whose blocks say where they are: their tiles are large enough to be seen
TIMED = 2048  # M = N = K of the launches that are timed
ROOMS = ((8, 512), (16, 2048), (32, 8192), (16, 40000))  # T, bytes of shared memory
OUTPUT = "float *C) {"
MARKED = """float *C, unsigned *on_sm, long long *began, long long *ended) {
    const unsigned my_block = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x + threadIdx.y == 0) {
        asm volatile("mov.u32 %0, %%smid;" : "=r"(on_sm[my_block]));
        began[my_block] = clock64();
    }
"""
LAST = "    if (threadIdx.x + threadIdx.y == 0) ended[blockIdx.y * gridDim.x + blockIdx.x] = clock64();\n}"


@dataclass(frozen=True)
class Residents:
    """The blocks of `tiled()` that sat on one SM at the same time.

    blocks: their linear numbers.  sm: the SM's.  used: SMs on which a block ran.  label: where that was observed.
    """

    blocks: tuple[int, ...]
    sm: int
    used: int
    label: str


def marked(launch: Launch) -> Launch:
    """The launch of a plain kernel whose blocks write where and when they ran. ValueError if it has no place for it."""
    head, body = launch.source.rstrip().rsplit("\n}", 1)[0], launch.source.count(OUTPUT)
    if body != 1:
        raise ValueError(f"{launch.name} has {OUTPUT!r} {body} times: there is no one place for the marks.")
    return launch.with_source(head.replace(OUTPUT, MARKED) + "\n" + LAST)


def together(on_sm: np.ndarray, began: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """The blocks that sat on the SM of block 0 in the middle of that block's time.

    on_sm, began, ended: (blocks,); the clocks of two blocks compare only on one SM.
    """
    middle = (began[0] + ended[0]) // 2
    return np.flatnonzero((on_sm == on_sm[0]) & (began <= middle) & (ended >= middle))


def observe() -> Residents:
    """Launch the course's tiled kernel once on the device at hand, and say which blocks sat together."""
    launch = tiled()
    changed = marked(launch)
    A, B, _ = (gpu.asarray(matrix) for matrix in problem(*launch.shape))
    C = gpu.full(launch.shape[:2], np.nan, np.float32)
    blocks = int(np.prod(launch.grid))
    outputs = (gpu.zeros(blocks, np.uint32), gpu.zeros(blocks, np.int64), gpu.zeros(blocks, np.int64))
    arguments = (*map(np.int32, launch.shape), A, B, C, *outputs)
    run.call(run.function(changed.source, changed.entry), launch.grid, launch.block, arguments)
    gpu.synchronize()
    on_sm, began, ended = map(gpu.asnumpy, outputs)
    together_with = tuple(map(int, together(on_sm, began, ended)))
    return Residents(together_with, int(on_sm[0]), len(np.unique(on_sm)), MEASURED)


def residents(gpu_name: str = devices.DEFAULT.name) -> Residents:
    """Which blocks of `tiled()` sat together: observed now where a GPU is, else as recorded. NoRecording, in a
    sentence, without either."""
    if gpu.backend() == "gpu":
        return observe()
    row = recordings.raw(gpu_name, SUITE)["placed"]
    return Residents(tuple(row["blocks"]), row["sm"], row["used"], recorded_on(gpu_name))


def picture(kernel: OwnKernel) -> theme.Figure:
    """Which blocks sat on one SM, and which rows of C their warps compute.

    kernel: the tiled one of the learner or of the course, whose recorded addresses say what its warps compute.
    """
    resident = residents()
    launch = kernel.launch(PLACED, PLACED, PLACED)
    taken = seats(launch, resident.blocks)
    warps = sum(len(seat.rows) for seat in taken)
    sentence = (
        f"SM {resident.sm} ran {theme.plural(len(taken), 'block')} at the same time, {theme.plural(warps, 'warp')} in "
        f"all ({resident.label}). The launch has {theme.plural(int(np.prod(launch.grid)), 'block')} for "
        f"{resident.used} SMs, and those of one SM lie far apart."
    )
    return seats_figure(taken, launch.shape[:2], f"SM {resident.sm}", "Which blocks sit on one SM together?", sentence)


def tiled() -> Launch:
    """The course's solution of notebook 04 at PLACED."""
    return rungs.kernel_of(TILED, TILED.solved).launch(PLACED, PLACED, PLACED)


def room(T: int, shared_bytes: int, source: str, size: int = TIMED) -> Launch:
    """The multiplication whose tiles are as large as its launch says. source: of its kernel."""
    launch = rungs.kernel_of(ROOM_AT_LAUNCH, source).launch(size, size, size).in_blocks(T, T)
    return replace(launch, shared_bytes=shared_bytes)


def speeds(rooms: Sequence[tuple[int, int]] = ROOMS, gpu_name: str = devices.DEFAULT.name) -> list[str]:
    """'8 151 GFLOPS, measured here' for each (T, bytes) of the kernel that the notebook goes on with.

    Without a GPU the course's own is as recorded, a learner's, or what was not recorded, as predicted.
    """
    written = ROOM_AT_LAUNCH.written
    launches = [room(T, shared_bytes, written.source) for T, shared_bytes in rooms]
    if gpu.backend() == "gpu":
        return [f"{theme.thousands(timing.gflops)} GFLOPS, {timing.label}" for timing in rungs.timed(launches)]
    known = {} if written.by == rungs.LEARNER else _recorded(gpu_name)
    return [
        f"{theme.thousands(known[key].gflops)} GFLOPS, {known[key].label}" if key in known else _predicted(launch)
        for key, launch in zip(rooms, launches, strict=True)
    ]


def compiled_in(gpu_name: str = devices.DEFAULT.name) -> str:
    """The same for the course's kernel of notebook 04, in which T is a constant: measured here, else as recorded."""
    if gpu.backend() == "gpu":
        (timing,) = rungs.timed([rungs.kernel_of(TILED, TILED.solved).launch(TIMED, TIMED, TIMED)])
    elif (timing := speed.recorded(TILED.name, TIMED, gpu_name)) is None:
        return "not recorded"
    return f"{theme.thousands(timing.gflops)} GFLOPS, {timing.label}"


def _recorded(gpu_name: str) -> dict[tuple[int, int], Measurement]:
    try:
        rows = recordings.raw(gpu_name, SUITE)["rows"]
    except recordings.NoRecording:
        return {}
    measurements = [Measurement.from_row(row, gpu_name) for row in rows]
    return {(measurement.params["T"], measurement.params["shared_bytes"]): measurement for measurement in measurements}


def _predicted(launch: Launch) -> str:
    prediction, flops = cycles.predict(launch), 2e-6 * np.prod(launch.shape, dtype=float)
    slow, likely, fast = (
        theme.thousands(flops / ms) for ms in (prediction.range_ms[1], prediction.ms, prediction.range_ms[0])
    )
    return f"{likely} GFLOPS ({slow} to {fast}), {prediction.label}"


def record(folder: Path = recordings.FOLDER) -> Path:
    """Observe and time on the GPU at hand, and write residents.json."""
    observed = observe()
    placed = {
        "kernel": TILED.name,
        "size": PLACED,
        "sm": observed.sm,
        "used": observed.used,
        "blocks": list(observed.blocks),
    }
    timed = rungs.timed([room(T, shared_bytes, ROOM_AT_LAUNCH.solved) for T, shared_bytes in ROOMS], budget_s=4.0)
    rows = [
        replace(timing, params={"T": T, "shared_bytes": shared_bytes}).row()
        for timing, (T, shared_bytes) in zip(timed, ROOMS, strict=True)
    ]
    file = recordings.path(gpu.name(), SUITE, folder)
    content = {"gpu": gpu.name(), "provenance": provenance(), "placed": placed, "rows": rows}
    recordings.write(file, content)
    return file


if __name__ == "__main__":
    print(record())
