"""The parameters of the `autotuned` kernel that are worth trying: on a GPU, and at a shape of the matrices.

`helpers.tools.measuring.tuning` searches them on a GPU; notebook 13 counts them, and leaves out more and more of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from gemm_kernels import Kernel, get
from gemm_kernels.rules import broken
from gpusim.devices import Device
from helpers.pictures.traffic import tile_intensity
from helpers.pictures.tuning.model import predict
from helpers.recordings.suites import Shape

Params = Mapping[str, int]

KERNEL = "autotuned"
# Legal values that are worth trying. Not the product of them: see `space`.
SPACE: Mapping[str, tuple[int, ...]] = {
    "BM": (16, 32, 64, 128, 256),
    "BN": (32, 64, 128, 256),
    "BK": (8, 16, 32, 64, 128),
    "WM": (16, 32, 64),
    "WN": (32, 64),
    "TM": (4, 8, 16),
    "TN": (4, 8),
    "SLICES": (1, 2, 4, 8, 16),
    "STAGES": (2, 3, 4, 6),
    "BLOCKS": (1, 2, 3, 4),
}
SLICE_DEPTHS = (8, 16)  # k of a tile that a slice multiplies between two barriers
FEW_STAGES, MANY_SLICES = 3, 4  # more stages than so many are for short rounds, which many slices make
THREADS = (64, 128, 256, 512)
LEAST_BUSY = 0.6  # of what the best tile leaves the SMs to do, see `busy`
LARGE, LARGE_INTENSITY = 1536**3, 20  # at so many products or more, FLOP a byte that a block must get out of its tiles
HUGE, HUGE_INTENSITY = 5000**3, 40


def space(device: Device) -> list[dict[str, int]]:
    """The parameters that are legal and promising on this GPU, in a fixed order.

    Legal: the kernel's own rules. Promising: 2 to 16 warps whose registers are not predicted to spill, tiles that are
    at most four times as long as wide, and BLOCKS no less than what fits on an SM anyway.
    """
    kernel = get(KERNEL)
    rules, space = kernel.rules, []
    for params in _combinations():
        if broken(rules, params):
            continue
        if promising(kernel.replace(**params), device):
            space.append(params)
    return space


def _combinations() -> Iterator[dict[str, int]]:
    """The product of SPACE, without what could not be a warp's tile or a slice's depth (most of it)."""
    warp_tiles = itertools.product(*(SPACE[name] for name in ("WM", "WN", "TM", "TN")))
    for WM, WN, TM, TN in (tile for tile in warp_tiles if tile[0] // tile[2] * (tile[1] // tile[3]) == 32):
        for BM, BN, SLICES, depth in itertools.product(SPACE["BM"], SPACE["BN"], SPACE["SLICES"], SLICE_DEPTHS):
            if BM % WM or BN % WN or SLICES * depth not in SPACE["BK"]:
                continue
            for STAGES, BLOCKS in itertools.product(SPACE["STAGES"], SPACE["BLOCKS"]):
                values = (BM, BN, SLICES * depth, WM, WN, TM, TN, SLICES, STAGES, BLOCKS)
                yield dict(zip(SPACE, values, strict=True))


def promising(kernel: Kernel, device: Device) -> bool:
    """Whether a configuration is worth compiling for this GPU, by prediction alone."""
    p = kernel.params
    if kernel.threads not in THREADS or not 0.25 <= p["BM"] / p["BN"] <= 4:
        return False
    if p["BK"] // p["SLICES"] > SLICE_DEPTHS[0] and p["SLICES"] > 2:
        return False  # many slices are for short sums, of which deep tiles leave too few
    if p["STAGES"] > FEW_STAGES and p["SLICES"] < MANY_SLICES:
        return False
    if not _fits(kernel, device):
        return False
    most = SPACE["BLOCKS"][-1]
    return p["BLOCKS"] == most or not _fits(kernel.replace(BLOCKS=p["BLOCKS"] + 1), device)


def _fits(kernel: Kernel, device: Device) -> bool:
    """Whether BLOCKS blocks fit on an SM, none of them spilling."""
    if kernel.params["BLOCKS"] * kernel.threads > device.threads_per_sm // 2:
        return False  # more warps than hide the latency of eight products by each of 32 lanes
    predicted = predict(device, kernel)
    return not predicted.spills and predicted.result is not None and predicted.result.blocks >= kernel.params["BLOCKS"]


def suits(params: Params, shape: Shape, sms: int) -> bool:
    """Whether a configuration is worth measuring at a shape: tiles no larger than C, and SMs no idler than need be."""
    M, N, K = shape
    rows, columns = params["BM"], params["BN"]
    if rows > max(_power_of_two(M), 16) or columns > max(_power_of_two(N), 32) or params["BK"] > max(K, 8):
        return False
    intensity = tile_intensity(rows, columns)
    if M * N * K >= HUGE and intensity < HUGE_INTENSITY or M * N * K >= LARGE and intensity < LARGE_INTENSITY:
        return False
    best = max(busy(rows, columns, M, N, sms) for rows in SPACE["BM"] for columns in SPACE["BN"])
    return busy(rows, columns, M, N, sms) >= LEAST_BUSY * best


def busy(rows: int, columns: int, M: int, N: int, sms: int) -> float:
    """The part of all SMs' time that goes into elements of C, were tiles all that takes time, and all equally long."""
    tiles = -(-M // rows) * -(-N // columns)
    rounds = -(-tiles // sms)
    return M * N / (rounds * sms * rows * columns)


def _power_of_two(size: int) -> int:
    """The next power of two."""
    return 1 << (size - 1).bit_length()
