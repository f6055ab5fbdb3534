"""The families of kernels: how they are launched, as far as their sources do not say it.

T, BM, BN: a block's tile of C; BK: its depth. STAGES: tiles in shared memory. SLICES: parts of k that warps share out.
"""

from __future__ import annotations

import math

from gemm_kernels.kernel import Family
from gemm_kernels.rules import Params, Rule

FLOAT_BYTES = 4
_WIDTHS = (4, 2, 1)  # floats that one instruction moves, in the versions of a kernel's code
PAD = 4  # unused floats that end a row of As

_WITHOUT_TILES = {"depth": lambda p: 1, "buffers": lambda p: 0}  # in shared memory


def _block_tile(p: Params) -> tuple[int, int]:
    return p["BM"], p["BN"]


# --- naive, coalesced: a thread computes one element, and the block's shape is chosen at the launch -------------------

_BLOCK_SHAPE = (
    Rule("block_x and block_y must be at least 1", lambda p: p["block_x"] >= 1 and p["block_y"] >= 1),
    Rule(
        "block_x * block_y must be at most 1024, the most threads a block can have",
        lambda p: p["block_x"] * p["block_y"] <= 1024,
    ),
)

X_DOWN_ROWS = Family(
    rules=_BLOCK_SHAPE,
    block=lambda p: (p["block_x"], p["block_y"], 1),
    tile=lambda p: (p["block_x"], p["block_y"]),
    **_WITHOUT_TILES,
    rows_along="x",
    template=False,
)

X_ALONG_COLUMNS = Family(
    rules=_BLOCK_SHAPE,
    block=lambda p: (p["block_x"], p["block_y"], 1),
    tile=lambda p: (p["block_y"], p["block_x"]),
    **_WITHOUT_TILES,
    template=False,
)

# --- kernels with a tile of A and of B in static shared memory, and with two of each ----------------------------------

SQUARE_TILE = Family(
    block=lambda p: (p["T"], p["T"], 1),
    tile=lambda p: (p["T"], p["T"]),
    depth=lambda p: p["T"],
)
ONE_TILE = Family(tile=_block_tile)
TWO_TILES = Family(tile=_block_tile, buffers=lambda p: 2)

# --- kernels with STAGES tiles of each in dynamic shared memory -------------------------------------------------------


def _stages(p: Params) -> int:
    return p["STAGES"]


def _stages_bytes(p: Params) -> int:
    return p["STAGES"] * FLOAT_BYTES * p["BK"] * (p["BM"] + PAD + p["BN"])


def _stages_or_sums_bytes(p: Params) -> int:
    """For the stages, and afterwards for a tile of C for each slice in their place."""
    return max(_stages_bytes(p), FLOAT_BYTES * p.get("SLICES", 1) * p["BM"] * p["BN"])


STAGES = Family(tile=_block_tile, buffers=_stages, shared_bytes=_stages_bytes)
STAGED_EPILOGUE = Family(tile=_block_tile, buffers=_stages, shared_bytes=_stages_or_sums_bytes)

# --- kernels whose blocks share out the tiles: stream_k, and those for C with few rows or few columns -----------------


def _equal_parts(p: Params, tiles: int) -> int:
    """Blocks to launch: WORKERS, or somewhat fewer that a few tiles can be shared out among evenly."""
    if p["WORKERS"] == 0:
        return tiles
    even = p["WORKERS"] // tiles * tiles
    return even if even >= 0.9 * p["WORKERS"] else p["WORKERS"]


def _parties(p: Params, tiles: int) -> int:
    """Blocks to launch: as many for every tile as there are WORKERS for, in whole clusters."""
    blocks = tiles * p.get("CLUSTER", 1)
    return blocks * max(p["WORKERS"] // blocks, 1)


def _parts_bytes(parts: int, elements: int, counters: int = 1) -> int:
    """A workspace for so many parts of C of so many elements, each with its counters."""
    return FLOAT_BYTES * parts * (elements + counters)


STREAM_K = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_sums_bytes,
    blocks=_equal_parts,
    workspace_bytes=lambda p: _parts_bytes(2 * p["WORKERS"], p["BM"] * p["BN"]),  # a block shares two tiles at most
)


def _stages_or_strip_bytes(p: Params) -> int:
    """For the stages, and afterwards for a strip of sums in their place, which is as high as it can be there, and at
    least one row of each thread: 16 unused floats end each row if a warp has several."""
    warps, lanes_y = p["BM"] // p["WM"] * (p["BN"] // p["WN"]), p["WM"] // p["TM"]
    row = FLOAT_BYTES * p["SLICES"] * warps * lanes_y * (p["WN"] + (16 if lanes_y > 1 else 0))
    return max(_stages_bytes(p), row)


def _stages_or_low_strip_bytes(p: Params) -> int:
    """For the stages, and afterwards for a strip of sums in their place: of 16 KB, or one row of each thread."""
    warps, lanes_y = p["BM"] // p["WM"] * (p["BN"] // p["WN"]), p["WM"] // p["TM"]
    row = FLOAT_BYTES * p["SLICES"] * warps * lanes_y * (p["WN"] + 16)
    return max(_stages_bytes(p), row, min(p["TM"] * row, 16384))


STRIPS = Family(tile=_block_tile, buffers=_stages, shared_bytes=_stages_or_low_strip_bytes)
RESIDENT = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_low_strip_bytes,
    blocks=lambda p, tiles: min(p["WORKERS"], tiles),
)
EVEN_SHARES = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_low_strip_bytes,
    blocks=lambda p, tiles: p["WORKERS"],
    workspace_bytes=STREAM_K.workspace_bytes,
)
WHOLE_FIRST = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_low_strip_bytes,
    blocks=_equal_parts,
    workspace_bytes=STREAM_K.workspace_bytes,
)
PERSISTENT = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_strip_bytes,
    blocks=_equal_parts,
    workspace_bytes=lambda p: _parts_bytes(2 * p["WORKERS"], p["BM"] * p["BN"], counters=2),  # of parts and of groups
    widths=_WIDTHS,
)


STRIP_FLOATS = 16_384  # of shared memory that sums of `producer` pass through on their way out, for all blocks of an SM


def _stages_and_strip_bytes(p: Params) -> int:
    """For the stages, each with two barriers of 8 bytes, and for a strip of sums beside them: as many rows of each
    thread, a power of two, as there is room for, and at least one; 16 unused floats may end a row."""
    warps, lanes_y = p["BM"] // p["WM"] * (p["BN"] // p["WN"]), p["WM"] // p["TM"]
    row = p["SLICES"] * warps * lanes_y * (p["WN"] + (16 if lanes_y > 1 else 0))
    rows = math.gcd(p["TM"], 1 << max(STRIP_FLOATS // p["BLOCKS"] // row, 1).bit_length() - 1)
    return _stages_bytes(p) + 16 * p["STAGES"] + FLOAT_BYTES * row * rows


PRODUCER = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_and_strip_bytes,
    blocks=_equal_parts,
    workspace_bytes=PERSISTENT.workspace_bytes,
)


def _stages_or_padded_sums_bytes(p: Params) -> int:
    """For the stages, and afterwards for a tile of sums for each slice in their place; unused floats end its rows."""
    return max(_stages_bytes(p), FLOAT_BYTES * p["SLICES"] * p["BM"] * (p["BN"] + PAD))


CLUSTERED = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_padded_sums_bytes,
    blocks=lambda p, tiles: tiles * p["CLUSTER"],
    widths=_WIDTHS,
)
REDUCE_SCATTER = Family(
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_padded_sums_bytes,
    blocks=_equal_parts,
    workspace_bytes=PERSISTENT.workspace_bytes,  # the two counters of a part: who is there, who knows
    widths=_WIDTHS,
)
ALL_AT_ONCE = Family(
    tile=_block_tile,
    shared_bytes=lambda p: FLOAT_BYTES * max(p["BK"] * (p["BM"] + PAD + p["BN"]), p["BM"] * p["BN"]),
    blocks=lambda p, tiles: tiles,
)
VECTOR_MATRIX = Family(
    tile=lambda p: (1, p["BN"]),
    columns=lambda p, N: p["BN"] if N % 4 == 0 else p["BN"] - 3,  # lanes load from up to three columns before on
    blocks=_parties,
    workspace_bytes=lambda p: _parts_bytes(p["WORKERS"], p["BN"]),
    **_WITHOUT_TILES,
)
MATRIX_VECTOR = Family(
    tile=lambda p: (p["BM"], 1),
    blocks=_parties,
    workspace_bytes=lambda p: _parts_bytes(p["WORKERS"], p["BM"]),
    **_WITHOUT_TILES,
)
