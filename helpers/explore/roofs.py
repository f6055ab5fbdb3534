"""Four roofs of one GPU: what each unit can give, and where the last kernels of both ladders are under them."""

from __future__ import annotations

from gemm_kernels import get, tensor
from helpers import devices
from helpers.analysis import memories, precisions
from helpers.draw import theme
from helpers.draw.roofs import Dot, Roof, roofs_figure
from helpers.measure import recordings

SIZE = 4096
COLOURS = {"FP32": theme.SPEED, "TF32": theme.REFERENCE, "BF16": theme.WARP, "INT8": theme.C}


def intensity(rows: int, columns: int, element_bytes: int) -> float:
    """FLOP per byte that a block loads for a tile of C: 2 rows · columns for each rows + columns elements."""
    return 2 * rows * columns / ((rows + columns) * element_bytes)


def picture() -> theme.Figure:
    """FP32 on CUDA cores; TF32, BF16 and 8-bit integers on tensor cores."""
    recorded, single = precisions.recorded(), get("autotuned")
    roofs = [
        Roof("FP32", devices.DEFAULT.peak_fp32_gflops / 1e3, "CUDA cores, by the clock", COLOURS["FP32"]),
        Roof("TF32", recorded.ceilings["tf32"] / 1e3, "mma.sync", COLOURS["TF32"]),
        Roof("BF16", recorded.ceilings["bf16"] / 1e3, "mma.sync", COLOURS["BF16"]),
        Roof("INT8", recorded.ceilings["s8"] / 1e3, "mma.sync", COLOURS["INT8"]),
    ]
    speed = recordings.gflops(single, SIZE, SIZE, SIZE).gflops / 1e3
    dots = [Dot("FP32", intensity(single.params["BM"], single.params["BN"], 4), speed, COLOURS["FP32"])]
    for name, width, title in (("tf32", 4, "TF32"), ("mma_autotuned", 2, "BF16"), ("int8", 1, "INT8")):
        kernel = tensor.get(name)
        params, found = kernel.params, recorded.duel(name, SIZE, kernel.operands)
        dots.append(Dot(title, intensity(params["BM"], params["BN"], width), found.mine / 1e3, COLOURS[title]))
    title = f"Four roofs of the {devices.DEFAULT.short}, and the last kernel under each"
    machine = memories.machine()
    return roofs_figure(machine.bytes_per_second(machine.memory("l2")) / 1e12, roofs, dots, title)
