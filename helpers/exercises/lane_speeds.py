"""The machine code for recordings/<gpu>/registers.json: what is changed in kernels, and notebook 12's three lane maps.

python -m helpers.exercises.lane_speeds FOLDER      writes it (needs no GPU)
python -m helpers.measure.registers record FOLDER   measures it, on a GPU
"""

from __future__ import annotations

import sys
from pathlib import Path

from gemm_kernels import Launch
from helpers import gpu
from helpers.exercises.framework import rungs
from helpers.exercises.n12 import UNMERGED_LANES
from helpers.measure import registers
from helpers.measure.registers import SIZE, write_cubins

MAPS = {"row by row": "row_by_row", "zigzag": "zigzag", "unmerged": "solution"}  # name -> version of the blank's source


def launches() -> dict[str, Launch]:
    """The blank's kernel with each lane map, at SIZE cubed."""
    return {
        name: rungs.kernel_of(UNMERGED_LANES, UNMERGED_LANES.marked.version(version)).launch(SIZE, SIZE, SIZE)
        for name, version in MAPS.items()
    }


def tflops() -> tuple[dict[str, float], str]:
    """The TFLOPS with each lane map at SIZE cubed, measured here with a GPU, else as recorded; and which of the two."""
    if gpu.backend() != "gpu":
        return {name: registers.recorded(name, kind="own").tflops for name in MAPS}, registers.label()
    measured = rungs.timed(list(launches().values()), budget_s=0.5)
    return {name: measurement.gflops / 1e3 for name, measurement in zip(MAPS, measured, strict=True)}, measured[0].label


if __name__ == "__main__":
    print(write_cubins(Path(sys.argv[1]), launches()))
