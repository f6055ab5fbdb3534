"""Facts written out by hand, or of one small launch, for the tests of analysis and of the pictures."""

from dataclasses import dataclass

import numpy as np

import gpusim
from gemm_kernels import Kernel, get
from gpusim import devices
from gpusim.occupancy import Occupancy
from helpers import recordings
from helpers.measure import Timing
from helpers.pictures.bank_board.facts import SharedAccess
from helpers.pictures.hierarchy.facts import Hierarchy, Loads
from helpers.pictures.register_tile.facts import RegisterTile, register_tile
from helpers.pictures.thread_map.facts import ThreadMap
from helpers.pictures.tuning import facts as landscape
from helpers.pictures.tuning.facts import Configuration, Landscape
from helpers.pictures.tuning.model import Prediction
from helpers.recordings.measurement import Measurement

LANES = np.arange(32)
ALL = np.ones(32, bool)
LOADS = {"As": Loads(4, 8), "Bs": Loads(2, 8)}
H200 = devices.get("H200")
RULE = "BM must be a multiple of WM"


def shared_access(words, width: int = 4, active=ALL, op: str = "st", name: str = "store to As", array: str = "A"):
    return SharedAccess(name, op, width, 4 * np.broadcast_to(np.asarray(words, np.int64), 32).copy(), active, array)


def transposed(stride: int):
    """The store of the transposed A tile: 8 neighbouring lanes go down a column."""
    return shared_access(LANES % 8 * stride + LANES // 8)


def hierarchy(warps=(2, 2), lanes=(4, 8), group=(2, 2)) -> Hierarchy:
    """Warps in a grid; each lane owns one group of rows × columns; lanes row by row."""
    rows, columns = lanes[0] * group[0], lanes[1] * group[1]
    row, col = np.mgrid[: warps[0] * rows, : warps[1] * columns]
    warp = row // rows * warps[1] + col // columns
    lane = row % rows // group[0] * lanes[1] + col % columns // group[1]
    return Hierarchy("k", (64, 64), (0, 0), warp * 32 + lane, (LOADS,) * (warps[0] * warps[1]))


def first_phase(kernel: Kernel, thread: int, depth: int) -> RegisterTile:
    M, N = kernel.tile
    module = gpusim.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
    A, B, C = (np.zeros(shape, np.float32) for shape in ((M, depth), (depth, N), (M, N)))
    args = (np.int32(M), np.int32(N), np.int32(depth), np.float32(1), A, B, np.float32(0), C)
    with gpusim.record() as recording:
        module.get_function(kernel.entry)((1, 1), kernel.block, args)
    return register_tile(recording, kernel.name, {"A": A.shape, "B": B.shape, "C": C.shape}, thread)


@dataclass
class Row:
    """What the picture needs of a recorded measurement."""

    kernel: str
    M: int
    N: int
    K: int
    gflops: float
    cublas_gflops: float
    label: str = "recorded on a GPU"


def cube(kernel: str, size: int, gflops: float, cublas: float) -> Row:
    return Row(kernel, size, size, size, gflops, cublas)


def predicted(warps: int, intensity: float, floats: float = 0.03, spills: bool = False) -> Prediction:
    limits = {"blocks": 32, "warps": 8, "registers": warps, "shared": 9}
    return Prediction(128, spills, Occupancy(1, 4096, 1024, limits, 64), intensity, floats)


def configuration(bm: int, wm: int, gflops: float | None = None, **prediction) -> Configuration:
    return Configuration({"BM": bm, "WM": wm, "BK": 8}, "", predicted(**prediction), gflops)


MEASURED = Landscape(
    "k",
    "a GPU",
    (
        configuration(64, 32, 1000.0, warps=4, intensity=16, floats=0.06),
        configuration(64, 64, 3000.0, warps=2, intensity=16),
        configuration(128, 32, 2000.0, warps=4, intensity=32, spills=True),
        configuration(128, 32, 1500.0, warps=8, intensity=32, floats=0.02),
        Configuration({"BM": 128, "WM": 64, "BK": 8}, RULE),
        Configuration({"BM": 128, "WM": 64, "BK": 8}, RULE),
    ),
    {"BM": 64, "WM": 32, "BK": 8, "other": 1},
    "recorded on a GPU",
)


def measured(milliseconds: float, size: int = 4096, **params: int) -> Measurement:
    kernel = get(landscape.KERNEL).replace(**{**landscape.fixed(), **params})
    time = Timing(milliseconds, milliseconds, milliseconds, 5)
    return Measurement(kernel.name, kernel.params, kernel.block, size, size, size, time, time, 0.0, H200.name, "")


SEARCH = [
    measured(4.0, BM=128, BN=256, BK=8, WM=64, WN=64, TM=16, TN=8),
    measured(3.0, BM=128, BN=128, BK=8, WM=64, WN=32, TM=8, TN=8),
    measured(5.0, BM=128, BN=128, BK=64, WM=64, WN=32, TM=8, TN=8),  # outside of the space
]


def with_a_search(monkeypatch, rows: list[Measurement]) -> None:
    """Only the H200 has a recorded search, of these rows."""
    landscape.landscape_of.cache_clear()

    def load(gpu: str, suite: str | None = None) -> list[Measurement]:
        if gpu != H200.name:
            raise recordings.NoRecording("none")
        return rows

    monkeypatch.setattr(landscape.recordings, "load", load)


def recorded_stores(name: str, block: tuple, grid: tuple, shape: tuple[int, int]) -> gpusim.Recording:
    kernel, (M, N) = get(name), shape
    function = gpusim.RawModule(code=kernel.source, options=("-std=c++17",)).get_function(kernel.function)
    A, B, C = (np.zeros(size, np.float32) for size in ((M, 1), (1, N), shape))
    with gpusim.record(blocks="all") as recording:
        function(grid, block, (np.int32(M), np.int32(N), np.int32(1), np.float32(1), A, B, np.float32(0), C))
    return recording


def map_by_hand(rows_down_x: bool, block: tuple, grid: tuple, shape: tuple[int, int]) -> ThreadMap:
    """The map that the index formulas of notebook 02 give."""
    row, col = np.indices(shape)
    along_x, along_y = (row, col) if rows_down_x else (col, row)
    owner_block = along_x // block[0] + grid[0] * (along_y // block[1])
    owner_thread = along_x % block[0] + block[0] * (along_y % block[1])
    accessed = np.zeros((np.prod(grid), np.prod(block)), bool)
    accessed[owner_block, owner_thread] = True
    return ThreadMap(
        "by hand", grid, block, owner_block, owner_thread, np.ones(shape, np.int64), accessed, np.zeros_like(accessed)
    )
