"""The ladder: every kernel of the course, in the order of the course, each a change to the one it names as `after`."""

from __future__ import annotations

from gemm_kernels import choices, families
from gemm_kernels.kernel import Kernel
from gemm_kernels.refused import Refused

# Blocks of 256 threads: two of the medium tile share an SM, or one of the large tile has it alone (H200, 4096 cubed).
MEDIUM_TILE = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}
LARGE_TILE = {"BM": 128, "BN": 256, "BK": 8, "WM": 64, "WN": 64, "TM": 16, "TN": 8, "STAGES": 2, "BLOCKS": 1}
LONG_TILE = {"BM": 128, "BN": 256, "BK": 8, "WM": 32, "WN": 128, "TM": 16, "TN": 8}
# Four slices of one warp tile each, for a C that is too small for large tiles.
SMALL_TILE = {"BM": 32, "BN": 64, "BK": 32, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 4, "STAGES": 3, "BLOCKS": 2}
SMS = choices.of().sms  # WORKERS are so many blocks for each SM of the default GPU

LADDER: tuple[Kernel, ...] = (
    Kernel(
        "naive", "Naive",
        "One thread computes one element of C, and threadIdx.x is its row index.",
        after=None, family=families.X_DOWN_ROWS, params={"block_x": 32, "block_y": 32},
    ),
    Kernel(
        "coalesced", "Coalesced",
        "threadIdx.x is the column index, so that a warp reads and writes neighbours.",
        after="naive", family=families.X_ALONG_COLUMNS, params={"block_x": 32, "block_y": 32},
    ),
    Kernel(
        "shared_memory", "Shared memory",
        "A block loads a tile of A and of B once and reads each element T times.",
        after="coalesced", family=families.SQUARE_TILE, params={"T": 32},
    ),
    Kernel(
        "block_tile_1d", "1-D block tile",
        "A thread computes TM elements of one column, so that an element of B is read once for TM products.",
        after="shared_memory", family=families.ONE_TILE, params={"BM": 128, "BN": 64, "BK": 16, "TM": 16},
    ),
    Kernel(
        "block_tile_2d", "2-D block tile",
        "A thread computes TM x TN elements: TM + TN loads from shared memory feed TM * TN FMAs.",
        after="block_tile_1d", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "transposed", "A tile transposed",
        "The elements of A that a thread needs at one k become neighbours; the store pays with bank conflicts.",
        after="block_tile_2d", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "padded", "Padded",
        "Four unused floats end each row of the A tile, and its store has no bank conflicts.",
        after="transposed", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "swizzled", "Swizzled",
        "An exclusive or permutes the A tile instead: no bank conflicts, and no memory spent.",
        after="transposed", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "interleaved", "Interleaved columns",
        "A thread's columns are groups of four, far apart, so that loads of the B tile have no bank conflicts.",
        after="padded", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "vectorized", "Vectorized",
        "Loads and stores move four neighbouring floats by one instruction, where alignment allows.",
        after="interleaved", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "vectorized_ptx", "Vectorized, inline PTX",
        "The loads are written in PTX: global ones with a hint to the caches, shared ones kept in their order.",
        after="vectorized", family=families.ONE_TILE, params=MEDIUM_TILE,
    ),
    Kernel(
        "double_buffered", "Double buffered",
        "While the block multiplies one pair of tiles, the next is on its way through registers to a second pair.",
        after="vectorized", family=families.TWO_TILES, params=MEDIUM_TILE | {"BLOCKS": 2},
    ),
    Kernel(
        "ping_pong", "Ping-pong fragments",
        "While a thread multiplies one pair of fragments, the next is on its way from shared memory.",
        after="double_buffered", family=families.TWO_TILES, params=MEDIUM_TILE | {"BLOCKS": 2},
    ),
    Kernel(
        "async_copy", "Asynchronous copies",
        "cp.async moves tiles past the registers, several of them at a time.",
        after="ping_pong", family=families.STAGES, params=MEDIUM_TILE | {"STAGES": 3, "BLOCKS": 2},
    ),
    Kernel(
        "warptiled", "Warptiled",
        "A warp owns a tile of its own and its lanes zigzag over it, so that it reads less from shared memory.",
        after="async_copy", family=families.STAGES, params=LARGE_TILE,
    ),
    Kernel(
        "serpentine", "Serpentine",
        "Every other row of a thread's products runs backwards, so that an operand is used twice in a row.",
        after="warptiled", family=families.STAGES, params=LARGE_TILE,
    ),
    Kernel(
        "wide_copies", "Wide copies",
        "One asynchronous copy moves four floats of B, where alignment allows.",
        after="serpentine", family=families.STAGES, params=LARGE_TILE,
    ),
    Kernel(
        "staged_epilogue", "Staged epilogue",
        "The sums pass through shared memory on their way to C, whose rows warps then read and write whole.",
        after="wide_copies", family=families.STAGED_EPILOGUE, params=LARGE_TILE,
    ),
    Kernel(
        "rasterized", "Rasterized",
        "Blocks that run together form a compact patch of C, and share more of A and B in the L2 cache.",
        after="staged_epilogue", family=families.STAGED_EPILOGUE, params=LARGE_TILE,
    ),
    Kernel(
        "sliced_k", "Sliced K",
        "The warps of a block share out k, too, and add their sums in a fixed order.",
        after="rasterized", family=families.STAGED_EPILOGUE, params=SMALL_TILE,
    ),
    Kernel(
        "autotuned", "Autotuned",
        "The same kernel with the parameters that a search found to be the fastest on this GPU.",
        after="sliced_k", family=families.STAGED_EPILOGUE, params=choices.searched(4096, 4096, 4096), file="sliced_k",
        chosen_by_shape=True,
    ),
    Kernel(
        "stream_k", "Stream-K",
        "Persistent blocks share out the tiles of an incomplete last turn; registers and loads suit the hardware.",
        after="sliced_k", family=families.STREAM_K,
        params=LONG_TILE | {"SLICES": 1, "STAGES": 5, "BLOCKS": 1, "WORKERS": SMS, "LOOPS": 2}, chosen_by_shape=True,
    ),
)  # fmt: skip

# The upper rungs of the ladder: what `stream_k` does at once, one step at a time, up to the kernel that `fastest` gives
# for most shapes. They are timed together with the others; what else is recorded of LADDER, is not of these.
UNMERGED_TILE = LONG_TILE | {"SLICES": 1, "STAGES": 4, "BLOCKS": 1}
TALL_TILE = UNMERGED_TILE | {"BM": 96, "BN": 512, "WM": 96, "WN": 64, "TM": 24}  # 24 x 8 sums for each thread
UPPER: tuple[Kernel, ...] = (
    Kernel(
        "pinned", "Pinned loads",
        "Fragments are loaded where the code says, and warps meet in the middle of a tile, not at its end.",
        after="sliced_k", family=families.STAGED_EPILOGUE, params=UNMERGED_TILE,
    ),
    Kernel(
        "unmerged", "Unmerged lanes",
        "No two neighbouring lanes read the same address, so that loads return to the registers one at a time.",
        after="pinned", family=families.STAGED_EPILOGUE, params=UNMERGED_TILE,
    ),
    Kernel(
        "exchanged", "Exchanged sums",
        "Neighbouring sums change places, so that an FMA finds its b and its sum in different banks of registers.",
        after="unmerged", family=families.STAGED_EPILOGUE, params=UNMERGED_TILE,
    ),
    Kernel(
        "strips", "Sums in strips",
        "The sums pass through shared memory a few rows at a time, and need no more of it than the tiles did.",
        after="exchanged", family=families.STRIPS, params=UNMERGED_TILE,
    ),
    Kernel(
        "resident", "Resident blocks",
        "Blocks stay on their SMs, as many as there is room for, and a scheduler says which tile is next.",
        after="strips", family=families.RESIDENT, params=UNMERGED_TILE | {"WORKERS": SMS},
    ),
    Kernel(
        "even_shares", "Even shares",
        "The scheduler deals out the k of all tiles evenly, and the parts of a tile meet in a workspace.",
        after="resident", family=families.EVEN_SHARES, params=UNMERGED_TILE | {"WORKERS": SMS},
    ),
    Kernel(
        "whole_first", "Whole tiles first",
        "Blocks take whole tiles in turns, and share out only those of a last turn that would be incomplete.",
        after="even_shares", family=families.WHOLE_FIRST, params=UNMERGED_TILE | {"WORKERS": SMS},
    ),
    Kernel(
        "two_versions", "Two versions",
        "Everything exists for rows that start at 16 bytes and for others, so that no loop asks how to copy.",
        after="whole_first", family=families.WHOLE_FIRST, params=UNMERGED_TILE | {"WORKERS": SMS},
    ),
    Kernel(
        "tall_patches", "Tall patches",
        "A thread has 24 x 8 sums: they fit if what can be added up or asked again is not kept in registers.",
        after="two_versions", family=families.WHOLE_FIRST, params=TALL_TILE | {"WORKERS": SMS},
    ),
    Kernel(
        "persistent", "Persistent",
        "One text, with a tile for each shape: copies of two floats, too, and many parts added in groups.",
        after="tall_patches", family=families.PERSISTENT, params=UNMERGED_TILE | {"WORKERS": SMS}, chosen_by_shape=True,
    ),
)  # fmt: skip

# For products of a special shape, where `fastest` prefers them: one row or column of C, many k or few. They are right
# for any shape, but no step of the ladder. `clustered` needs compute capability 9.0 or later.
SPECIALISTS: tuple[Kernel, ...] = (
    Kernel(
        "vector_matrix", "Vector times matrix",
        "Only the speed of memory counts: a block goes down a strip of B with many loads under way.",
        after=None, family=families.VECTOR_MATRIX, params={"BN": 32, "WARPS": 16, "LOADS": 4, "CLUSTER": 1}
        | {"WORKERS": SMS},
    ),
    Kernel(
        "matrix_vector", "Matrix times vector",
        "Only the speed of memory counts: a warp goes along a row of A with many loads under way.",
        after=None, family=families.MATRIX_VECTOR, params={"BM": 8, "LOADS": 4, "WORKERS": 4 * SMS},
    ),
    Kernel(
        "clustered", "Clustered",
        "The blocks of a cluster share out the k of a tile, and add their sums in each other's shared memory.",
        after="persistent", family=families.CLUSTERED,
        params={"BM": 32, "BN": 32, "BK": 32, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 4, "STAGES": 4}
        | {"BLOCKS": 4, "CLUSTER": 8},
    ),
    Kernel(
        "reduce_scatter", "Reduce-scatter",
        "Blocks share the k of all tiles, and then each adds a stretch of a tile, over the parts of all of them.",
        after="persistent", family=families.REDUCE_SCATTER,
        params={"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 16, "TN": 8, "SLICES": 2, "STAGES": 4}
        | {"BLOCKS": 1, "WORKERS": SMS},
    ),
    Kernel(
        "rank_k", "Rank-k update",
        "With few k, every instruction counts: a block copies all that it needs at once, multiplies and is done.",
        after=None, family=families.ALL_AT_ONCE,
        params={"BM": 64, "BN": 64, "BK": 40, "TM": 8, "TN": 4, "BLOCKS": 5},
    ),
)  # fmt: skip

# What was tried and is told of in the log, but is not among what `fastest` chooses from. Right for any shape, too;
# `producer` needs compute capability 9.0 or later.
TRIED: tuple[Kernel, ...] = (
    Kernel(
        "producer", "Producer warps",
        "Warps of their own copy tiles, beyond the end of one, while others multiply; barriers hand the stages over.",
        after="persistent", family=families.PRODUCER,
        params={"BM": 64, "BN": 256, "BK": 16, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "SLICES": 1, "STAGES": 3}
        | {"PRODUCERS": 4, "BLOCKS": 1, "WORKERS": SMS},
    ),
)  # fmt: skip


def get(name: str, **params: int) -> Kernel:
    """The kernel with this name, its parameters the defaults but for those given: `get("shared_memory", T=16)`.

    ValueError, with a sentence, if there is no such kernel or if the parameters break one of its rules.
    """
    every = LADDER + UPPER + SPECIALISTS + TRIED
    for kernel in every:
        if kernel.name == name:
            return kernel.replace(**params)
    raise Refused(f"there is no kernel {name!r}; there are {', '.join(kernel.name for kernel in every)}")
