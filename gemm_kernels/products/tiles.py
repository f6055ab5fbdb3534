"""Tiles of the products' kernel: for each kind of multiplication a few sizes, and which suits a launch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemm_kernels.products.formats import Format
from gemm_kernels.refused import Refused

FMA, DMMA, WIDE, MMA = "FmaTile", "DmmaTile", "WideDmmaTile", "MmaTile"
SUM_BYTES = {"f32": 4, "f64": 8, "s32": 4}
TIMES = Path(__file__).with_name("times.json")  # `python -m helpers.tools.measuring.products times` writes it


@dataclass(frozen=True)
class Tile:
    """One size of a tile.

    kind: its struct, in the file of cuda/products with the same name.
    size: BM, BN, BK.  warp: WM, WN.  thread: TM, TN on CUDA cores, else ().
    stages, blocks: tiles in shared memory, and blocks that an SM should have room for.
    group: k between two scales, 0 without scales along k.
    """

    kind: str
    size: tuple[int, int, int]
    warp: tuple[int, int]
    thread: tuple[int, ...]
    stages: int
    blocks: int
    group: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.size[0] // self.warp[0]) * (self.size[1] // self.warp[1])

    def shared_bytes(self, operand: Format) -> int:
        """Dynamic shared memory: for the stages, and afterwards for the sums in their place."""
        BM, BN, BK = self.size
        width = SUM_BYTES[operand.sums]
        if self.kind == FMA:
            return max(self.stages * BK * (BM + BN + 2 * (16 // width)) * width, BM * BN * width)
        if self.kind == WIDE:  # a row of a stage is padded by two doubles, along k by four
            padded = sum(max(lines * (BK + 4), BK * (lines + 2)) for lines in (BM, BN))
            return max(self.stages * padded, BM * (BN + 2)) * width
        return max(self.stages * BK * (BM + BN) * operand.size, BM * (BN + 8) * width)

    @property
    def _numbers(self) -> tuple[int, ...]:
        return (*self.size, *self.warp, *self.thread, self.stages, self.blocks)

    def cpp(self, panel_a: str, panel_b: str) -> str:
        """The C++ type."""
        numbers = (*self._numbers, self.group) if self.kind == MMA else self._numbers
        return f"{self.kind}<{panel_a}, {panel_b}, {', '.join(map(str, numbers))}>"

    def key(self, operand: Format) -> str:
        """What its measured times are found by. With scales along k those of 8-bit numbers are taken for all: a tile of
        16-bit numbers that is as many bytes deep moves as much, and keeps the sums as they do."""
        name = {"bf16": "f16", "e5m2": "e4m3"}.get(operand.name, operand.name)
        BM, BN, BK, *others = self._numbers
        if self.kind == FMA:
            name = "f64" if operand.name == "f64" else "f32"
        elif self.group:
            name, BK = "scaled", BK * operand.size
        return f"{self.kind} {name} {' '.join(map(str, (BM, BN, BK, *others)))}"


@dataclass(frozen=True)
class Times:
    """What a tile was measured to take, in seconds.

    round, k: for as many blocks as an SM has room for, on all SMs: at all, and for each k.
    more_round, more_k: by how much one more block on each SM, for which there is no room at first, makes that longer.
    later_round, later_k: by how much as many again do.
    alone_round, alone_k: the same for one block on each SM.
    """

    round: float
    k: float
    more_round: float
    more_k: float
    later_round: float
    later_k: float
    alone_round: float
    alone_k: float


@cache
def measured() -> Mapping[str, Times]:
    """The times of all tiles by their keys."""
    return {key: Times(**times) for key, times in json.loads(TIMES.read_text(encoding="utf-8"))["tiles"].items()}


def _fma(*rows: tuple) -> tuple[Tile, ...]:
    return tuple(Tile(FMA, *row) for row in rows)


_SINGLE = _fma(
    ((128, 256, 8), (32, 128), (16, 8), 5, 1),
    ((128, 128, 8), (64, 64), (16, 8), 5, 2),
    ((64, 128, 8), (64, 64), (16, 8), 5, 4),
    ((96, 96, 8), (48, 32), (12, 4), 4, 3),
    ((64, 64, 8), (32, 64), (8, 8), 4, 7),
    ((32, 64, 8), (32, 32), (8, 4), 5, 10),
    ((32, 32, 16), (32, 32), (8, 4), 4, 8),
    ((32, 32, 8), (32, 32), (8, 4), 5, 14),
)
_DOUBLE = _fma(
    ((128, 64, 8), (64, 32), (8, 8), 4, 2),
    ((64, 64, 8), (32, 32), (8, 4), 4, 3),
    ((32, 32, 8), (32, 32), (8, 4), 4, 8),
)
_TENSOR_DOUBLE = (
    Tile(WIDE, (128, 128, 16), (64, 32), (), 4, 1),
    Tile(WIDE, (128, 64, 16), (64, 32), (), 3, 2),
    Tile(DMMA, (64, 64, 32), (32, 32), (), 3, 2),
    Tile(DMMA, (64, 32, 32), (32, 32), (), 3, 3),
    Tile(DMMA, (32, 32, 32), (32, 32), (), 3, 4),
)


def _mma(depth: int) -> tuple[Tile, ...]:
    return (
        Tile(MMA, (128, 256, 2 * depth), (64, 64), (), 3, 1),
        Tile(MMA, (128, 128, 2 * depth), (64, 64), (), 3, 2),
        Tile(MMA, (64, 128, 2 * depth), (32, 64), (), 4, 2),
        Tile(MMA, (64, 64, 2 * depth), (32, 32), (), 3, 4),
        Tile(MMA, (64, 64, depth), (32, 32), (), 4, 4),
        Tile(MMA, (32, 32, depth), (32, 32), (), 4, 8),
    )


def _scaled(depth: int, group: int) -> tuple[Tile, ...]:
    """With scales along k a thread has every sum twice."""
    return (
        Tile(MMA, (128, 128, depth), (32, 64), (), 4, 1, group=group),
        Tile(MMA, (64, 64, depth), (32, 32), (), 4, 2, group=group),
        Tile(MMA, (32, 32, depth), (32, 32), (), 4, 6, group=group),
    )


def candidates(operand: Format, tensor_cores: bool, group: int) -> tuple[Tile, ...]:
    """The tiles that multiply a format, the largest first."""
    if tensor_cores and operand.name == "f64":
        return _TENSOR_DOUBLE
    if tensor_cores and operand.tensor_cores:
        depth = 64 // operand.size
        return _scaled(depth, group) if group else _mma(depth)
    return _DOUBLE if operand.name == "f64" else _SINGLE


def shortest(times: Mapping[str, Times]) -> float:
    """Seconds of the shortest launch of all, which are taken for what any launch costs."""
    return min(each.alone_round for each in times.values())


def expected(
    tile: Tile, operand: Format, shapes: Mapping[tuple[int, int], int], K: int, sms: int, times: Mapping[str, Times]
) -> float:
    """Seconds that a launch is expected to take, by the tile's measured times for the SM with the most blocks: as many
    as it has room for work side by side, and where there are more, one begins when another ends.

    shapes: how many products have each (M, N).  times: by the tiles' keys.
    """
    BM, BN, BK = tile.size
    K = -(-K // BK) * BK  # the last tile along k is multiplied whole
    blocks = sum(count * -(-M // BM) * -(-N // BN) for (M, N), count in shapes.items())
    most = -(-blocks // sms)
    timed, start = times[tile.key(operand)], shortest(times)
    whole = timed.round - start + timed.k * K
    alone = timed.alone_round - start + timed.alone_k * K
    if most <= tile.blocks:
        return start + alone + (whole - alone) * (most - 1) / max(tile.blocks - 1, 1)
    rounds, rest = divmod(most, tile.blocks)
    more, later = timed.more_round + timed.more_k * K, timed.later_round + timed.later_k * K
    last = more + (later - more) * (rest - 1) / max(tile.blocks - 1, 1) if rest else 0
    return start + whole + later * (rounds - 1) + last


def chosen(
    tiles: Iterable[Tile],
    operand: Format,
    shapes: Iterable[tuple[int, int]],
    K: int,
    sms: int,
    shared_bytes: int,
    times: Mapping[str, Times] | None = None,
) -> Tile:
    """The tile that is expected to be done first, of those that fit.

    shapes: (M, N) of each product, those of a batch as many times.  shared_bytes: the most that a block may have.
    times: of tiles, None for the measured ones.
    """
    fitting = [tile for tile in tiles if tile.shared_bytes(operand) <= shared_bytes]
    if not fitting:
        raise Refused(
            f"no tile for {operand.name} fits in {shared_bytes:,} bytes of shared memory, the most of a block."
        )
    counts, times = Counter(shapes), measured() if times is None else times
    return min(fitting, key=lambda tile: expected(tile, operand, counts, K, sms, times))
