"""Tiles of the products' kernel: for each kind of multiplication a few sizes, and which suits a launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gemm_kernels.products.formats import Format
from gemm_kernels.refused import Refused

FMA, DMMA, MMA = "FmaTile", "DmmaTile", "MmaTile"
SUM_BYTES = {"f32": 4, "f64": 8, "s32": 4}


@dataclass(frozen=True)
class Tile:
    """One size of a tile.

    kind: its struct, in the file of cuda/products with the same name.
    size: BM, BN, BK.  warp: WM, WN.  thread: TM, TN on CUDA cores, else ().
    stages, blocks: tiles in shared memory, and blocks that an SM should have room for.
    share: of the largest tile's speed, where there are enough tiles for all SMs.
    group: products between two scales along k, 0 without such scales.
    """

    kind: str
    size: tuple[int, int, int]
    warp: tuple[int, int]
    thread: tuple[int, ...]
    stages: int
    blocks: int
    share: float
    group: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.size[0] // self.warp[0]) * (self.size[1] // self.warp[1])

    def shared_bytes(self, operand: Format) -> int:
        """Dynamic shared memory: for the stages, and afterwards for the sums in their place."""
        BM, BN, BK = self.size
        width = SUM_BYTES[operand.sums]
        if self.kind == MMA:
            return max(self.stages * BK * (BM + BN) * operand.size, BM * (BN + 8) * width)
        pad = 16 // width if self.kind == FMA else 4
        return max(self.stages * BK * (BM + BN + 2 * pad) * width, BM * (BN + (self.kind == DMMA) * 4) * width)

    def cpp(self, panel_a: str, panel_b: str) -> str:
        """The C++ type."""
        numbers = (*self.size, *self.warp, *self.thread, self.stages, self.blocks)
        last = (self.group,) if self.kind == MMA else ()
        return f"{self.kind}<{panel_a}, {panel_b}, {', '.join(map(str, (*numbers, *last)))}>"


def _fma(*rows: tuple) -> tuple[Tile, ...]:
    return tuple(Tile(FMA, *row) for row in rows)


_SINGLE = _fma(
    ((128, 256, 8), (64, 64), (16, 8), 4, 1, 1.0),
    ((128, 128, 8), (64, 32), (8, 8), 4, 2, 0.92),
    ((64, 64, 16), (32, 32), (8, 4), 3, 4, 0.75),
    ((32, 32, 16), (32, 32), (8, 4), 3, 8, 0.5),
)
_DOUBLE = _fma(
    ((128, 64, 8), (64, 32), (8, 8), 3, 2, 1.0),
    ((64, 64, 8), (32, 32), (8, 4), 3, 3, 0.9),
    ((32, 32, 8), (32, 32), (8, 4), 3, 8, 0.6),
)
_DMMA = (
    Tile(DMMA, (128, 128, 16), (64, 32), (), 3, 1, 1.0),
    Tile(DMMA, (64, 64, 16), (32, 32), (), 3, 2, 0.8),
    Tile(DMMA, (32, 32, 16), (32, 32), (), 3, 6, 0.4),
)


def _mma(depth: int) -> tuple[Tile, ...]:
    return (
        Tile(MMA, (128, 256, 2 * depth), (64, 64), (), 3, 1, 1.0),
        Tile(MMA, (128, 128, depth), (64, 32), (), 4, 2, 0.8),
        Tile(MMA, (64, 64, depth), (32, 32), (), 4, 4, 0.5),
        Tile(MMA, (32, 32, depth), (32, 32), (), 4, 8, 0.25),
    )


def _scaled(depth: int, group: int) -> tuple[Tile, ...]:
    """With scales along k a thread has every sum twice."""
    return (
        Tile(MMA, (128, 128, depth), (32, 64), (), 4, 1, 1.0, group),
        Tile(MMA, (64, 64, depth), (32, 32), (), 4, 2, 0.7, group),
        Tile(MMA, (32, 32, depth), (32, 32), (), 4, 6, 0.4, group),
    )


def candidates(operand: Format, tensor_cores: bool, group: int) -> tuple[Tile, ...]:
    """The tiles that multiply a format, the largest first."""
    if tensor_cores and operand.name == "f64":
        return _DMMA
    if tensor_cores and operand.tensor_cores:
        depth = 64 // operand.size
        return _scaled(depth, group) if group else _mma(depth)
    return _DOUBLE if operand.name == "f64" else _SINGLE


def chosen(
    tiles: Iterable[Tile], operand: Format, shapes: Iterable[tuple[int, int]], sms: int, shared_bytes: int
) -> Tile:
    """The tile that is expected to be done first: the rounds of its blocks on all SMs, times the work of a round.

    shapes: (M, N) of each product, those of a batch as many times.  shared_bytes: the most that a block may have.
    """
    fitting = [tile for tile in tiles if tile.shared_bytes(operand) <= shared_bytes]
    if not fitting:
        raise Refused(
            f"no tile for {operand.name} fits in {shared_bytes:,} bytes of shared memory, the most of a block."
        )
    shapes = list(shapes)

    def seconds(tile: Tile) -> float:
        BM, BN, _ = tile.size
        count = sum(-(-M // BM) * -(-N // BN) for M, N in shapes)
        full, rest = divmod(count, sms * tile.blocks)
        rounds = full * tile.blocks + -(-rest // sms)
        return rounds * BM * BN / tile.share

    return min(fitting, key=seconds)
