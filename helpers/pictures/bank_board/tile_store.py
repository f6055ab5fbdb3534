"""A warp's store to a tile of any layout in shared memory: padded, swizzled, wide; executed, not computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpusim.devices import BANKS, WARP, WORD_BYTES
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.bank_board.facts import SharedAccess, shared_accesses

VECTORS = {32: "float", 64: "float2", 128: "float4"}  # by bits
# One warp stores to a tile as the transposed A tile is stored to: `down` neighbouring lanes go down a column.
TILE_SOURCE = """\
template <typename Vector>   // float, float2 or float4: what a lane stores
__global__ void store_tile(int stride, int down, int swizzle) {
    extern __shared__ float tile[];   // (k, row), rows of `stride` floats
    const int k = threadIdx.x % down, row = threadIdx.x / down * (sizeof(Vector) / sizeof(float));
    const int place = swizzle ? row ^ (4 * k % 32) : row;   // the exclusive or keeps groups of four together
    reinterpret_cast<Vector &>(tile[k * stride + place]) = Vector{};
}
"""


@dataclass(frozen=True)
class Tile:
    """A store to a tile in shared memory by one warp.

    row_length, padding: floats.  down: neighbouring lanes that go down a column; the next ones start a new column.
    bits: 32, 64 or 128, what each lane stores.  swizzle: whether column c of row k is kept at c ^ (4 * k % 32).
    """

    row_length: int = 128
    padding: int = 0
    down: int = 8
    bits: int = 32
    swizzle: bool = False

    @property
    def stride(self) -> int:
        """Floats from a row to the next."""
        return self.row_length + self.padding


@lru_cache(maxsize=64)
def tile_access(tile: Tile) -> SharedAccess:
    """The warp's store, recorded. Raises CannotTell for a swizzle that leaves the row, Misaligned for a bad padding."""
    if tile.swizzle and tile.row_length < BANKS:
        raise CannotTell(
            f"The swizzle exchanges places within {BANKS} neighbouring floats of a row, but a row has "
            f"{tile.row_length}. Choose rows of {BANKS} floats or more, or turn the swizzle off."
        )
    function = run.simulated(TILE_SOURCE, f"store_tile<{VECTORS[tile.bits]}>")
    args = (np.int32(tile.stride), np.int32(tile.down), np.int32(tile.swizzle))
    floats = tile.down * tile.stride + WARP * tile.bits // (8 * WORD_BYTES)
    shared_bytes = -(-WORD_BYTES * floats // 128) * 128
    recording = run.recorded(function, (1,), (WARP,), args, shared_bytes)
    return shared_accesses(recording)[0][1]
