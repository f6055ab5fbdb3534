"""When each warp begins each stage of a tile: the SM's clock, read by the warps themselves while the kernel runs.

    python -m helpers.measure.stamps     on a GPU: write recordings/<gpu>/stamps.json

Marks are put into the sources of KERNELS, between the stages of one iteration over the tiles. At each mark the first
lane of every warp writes the clock of its SM. The kernel with marks is the one to be predicted, too: what a mark costs
is in both. How much that is, is recorded as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Launch, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance
from helpers.measure.timing import WRITE, interleave
from helpers.recordings.measurement import recorded_on

SUITE = "stamps"
SIZE = 2048  # M = N = K
FIRST, TILES = 16, 8  # iterations that are stamped: from one in which the pipeline has long been filled
MOST_STAGES = 5
BLOCKS = 512  # of a grid that leave stamps at most
LOAD, STORE, COPY, MULTIPLY, WAIT, BARRIER = "load", "store", "copy", "multiply", "wait", "barrier"

# By kernel: the number of an iteration, and before which text which stage begins.
KERNELS: Mapping[str, tuple[str, Sequence[tuple[str, str]]]] = {
    "vectorized": (
        "k0 / BK",
        (
            (LOAD, "        // 2. Load the tiles;"),
            (STORE, "        for (int y = 0; y < BM; y += A_ROWS) {\n            As[a_k + 0]"),
            (BARRIER, "        __syncthreads();   // the tiles are whole"),
            (MULTIPLY, "        // 3. Multiply"),
            (BARRIER, "        __syncthreads();   // every thread has read"),
        ),
    ),
    "double_buffered": (
        "k0 / BK",
        (
            (LOAD, "        load_tiles(k0);"),
            (MULTIPLY, "        multiply_tiles(buffer);\n        buffer ^= 1;"),
            (STORE, "        store_tiles(buffer);\n        __syncthreads();"),
            (BARRIER, "        __syncthreads();   // the next tiles are whole"),
        ),
    ),
    "ping_pong": (
        "k0 / BK",
        (
            (LOAD, "        load_tiles(k0);"),
            (MULTIPLY, "        multiply_tiles(buffer);\n        buffer ^= 1;"),
            (STORE, "        store_tiles(buffer);\n        __syncthreads();"),
            (BARRIER, "        __syncthreads();   // the next tiles are whole"),
            (MULTIPLY, "        load_fragments(buffer, 0);\n        multiply_fragments(BK - 1);\n    }"),
        ),
    ),
    "async_copy": (
        "tile",
        (
            (COPY, "        if (tile + STAGES - 2 < tiles)"),
            (MULTIPLY, "        multiply_tiles(stage);\n        stage ="),
            (WAIT, '        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");\n        __sync'),
            (BARRIER, "        __syncthreads();   // the next tiles are whole"),
            (MULTIPLY, "        load_fragments(stage, 0);\n        multiply_fragments(BK - 1);\n    }"),
        ),
    ),
}
_BODY = "    // 1. Which TM x TN elements"
_HEAD = f"""
__device__ unsigned stamps[{BLOCKS} * 32 * {TILES * MOST_STAGES}];  // (block, warp, iteration, stage)
__device__ unsigned on_sm[{BLOCKS}];
"""
_SETUP = f"""    const unsigned my_block = blockIdx.y * gridDim.x + blockIdx.x;
    const bool marks = threadIdx.x % 32 == 0 && my_block < {BLOCKS};
    unsigned *const my_stamps = stamps + (my_block * 32 + threadIdx.x / 32) * {TILES * MOST_STAGES};
    if (marks && threadIdx.x == 0) asm volatile("mov.u32 %0, %%smid;" : "=r"(on_sm[my_block]));
"""
_MARK = """{{
        const unsigned which = {number} - {first};
        unsigned now;
        asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
        if (marks && which < {tiles}) my_stamps[which * {stages} + {stage}] = now;
    }}
"""


@dataclass(frozen=True)
class Stamps:
    """What was recorded of one kernel.

    stages: names, in the order of an iteration.  clocks: (block, warp, iteration, stage), cycles since the first stamp
    of the blocks that one SM ran together.  slower: the kernel's time with marks over its time without.
    """

    kernel: str
    stages: tuple[str, ...]
    clocks: np.ndarray
    slower: float
    label: str


def marked(kernel: str) -> Launch:
    """The launch of a kernel of KERNELS at SIZE with marks in its source. ValueError if its source has changed."""
    launch = get(kernel).launch(SIZE, SIZE, SIZE)
    number, stages = KERNELS[kernel]
    source = launch.source
    for stage, (_, before) in enumerate(stages):
        if source.count(before) != 1:
            raise ValueError(f"{kernel} has {before!r} {source.count(before)} times, so that no mark can be put there.")
        mark = _MARK.format(number=number, first=FIRST, tiles=TILES, stages=MOST_STAGES, stage=stage)
        source = source.replace(before, f"        {mark}{before}")
    source = source.replace(_BODY, _SETUP + _BODY)
    head, template, rest = source.partition("\ntemplate <")
    return replace(launch, source=head + _HEAD + template + rest)


def stamps(kernel: str, gpu_name: str = devices.DEFAULT.name) -> Stamps:
    """What was recorded of a kernel. Raises NoRecording, in a sentence."""
    row = recordings.row_of(kernel, gpu_name, SUITE, "clock stamps")
    return Stamps(kernel, tuple(row["stages"]), np.array(row["clocks"]), row["slower"], recorded_on(gpu_name))


def together(on_sm: np.ndarray, clocks: np.ndarray) -> np.ndarray:
    """The numbers of the blocks that ran on one SM at the same time as block 0.

    on_sm: by block.  clocks: (block, warp, …), zeros where nothing was stamped.
    """
    on_same = [block for block in np.flatnonzero(on_sm == on_sm[0]) if clocks[block].any()]
    first, last = ({block: edge(clocks[block][clocks[block] > 0]) for block in on_same} for edge in (np.min, np.max))
    return np.array([block for block in on_same if first[block] < last[0] and last[block] > first[0]])


def record(folder: Path = recordings.FOLDER) -> Path:
    """Stamp every kernel of KERNELS and write stamps.json. Needs a GPU."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
    rows = []
    for kernel, (_, marks) in KERNELS.items():
        plain, launch = get(kernel).launch(SIZE, SIZE, SIZE), marked(kernel)
        module = run.module(launch.source, launch.entry)
        functions = (run.function(plain.source, plain.entry), module.get_function(launch.entry))
        launches = [partial(run.start, function, plain, A, B, C, ALPHA, BETA) for function in functions]
        without, with_marks = np.median(interleave(launches, 0.3, flush=WRITE), axis=0)
        on_sm, clocks = read(module, launch.threads // 32, len(marks))
        of_sm = together(on_sm, clocks)
        rows.append(
            {
                "kernel": kernel,
                "stages": [stage for stage, _ in marks],
                "slower": round(float(with_marks / without), 4),
                "blocks": of_sm.tolist(),
                "clocks": (clocks[of_sm] - clocks[of_sm].min()).tolist(),
            }
        )
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "size": SIZE, "first": FIRST, "rows": rows})
    return file


def read(module: Any, warps: int, stages: int) -> tuple[np.ndarray, np.ndarray]:
    """(the SM of each block, the clocks (block, warp, iteration, stage)) that the last launch left in a module."""
    sizes = {"on_sm": (BLOCKS,), "stamps": (BLOCKS, 32, TILES, MOST_STAGES)}
    on_sm, clocks = (
        gpu.asnumpy(gpu.ndarray(size, np.uint32, module.get_global(name))).astype(np.int64)
        for name, size in sizes.items()
    )
    return on_sm, clocks[:, :warps, :, :stages]


if __name__ == "__main__":
    print(record())
