"""The families of kernels: what their parameters must obey, and how they are launched.

A rule's sentence is the text of a static_assert in the family's .cu files and its condition is the same one: the tests
try both on the same parameters. T, BM, BN: a block's tile of C; BK: its depth. WM, WN: a warp's; TM, TN: a thread's.
"""

from __future__ import annotations

from collections.abc import Callable

from gemm_kernels.kernel import Family, Params, Rule

FLOAT_BYTES = 4
PAD = 4  # unused floats that end a row of As, in the kernels that pad

Count = Callable[[Params], int]


def _at_least_1(*names: str) -> Rule:
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return Rule(f"{listed} must be at least 1", lambda p: all(p[name] >= 1 for name in names))


def _multiples(*pairs: tuple[str, str]) -> Rule:
    (a, b), (c, d) = pairs
    return Rule(f"{a} must be a multiple of {b}, and {c} of {d}", lambda p: p[a] % p[b] == 0 and p[c] % p[d] == 0)


def _threads_fit(formula: str, threads: Count) -> Rule:
    return Rule(f"THREADS = {formula} must be at most 1024, the most a block can have", lambda p: threads(p) <= 1024)


def _whole_passes(tile: str, rows: str, columns: str, threads: Count, width: int) -> Rule:
    """All threads, each loading `width` neighbours of a row, must cover whole rows, and in whole passes the tile."""
    loaded = "THREADS" if width == 1 else f"{width} * THREADS"

    def holds(p: Params) -> bool:
        floats = width * threads(p)
        return floats % p[columns] == 0 and p[rows] % (floats // p[columns]) == 0

    return Rule(
        f"{loaded} must be a multiple of {columns}, and {rows} of {loaded} / {columns}, to load {tile} in whole passes",
        holds,
    )


def _static_shared(pad: int, buffers: int = 1) -> Rule:
    return Rule(
        "As and Bs must fit in 49152 bytes of static shared memory",
        lambda p: buffers * FLOAT_BYTES * p["BK"] * (p["BM"] + pad + p["BN"]) <= 49152,
    )


def _blocks_share_an_sm(threads: Count) -> Rule:
    return Rule(
        "BLOCKS must be at least 1, and BLOCKS * THREADS at most 2048, the most an SM can hold",
        lambda p: p["BLOCKS"] >= 1 and p["BLOCKS"] * threads(p) <= 2048,
    )


# --- naive, coalesced: a thread computes one element, and the block's shape is chosen at the launch -----------------

_BLOCK_SHAPE = (
    _at_least_1("block_x", "block_y"),
    Rule(
        "block_x * block_y must be at most 1024, the most threads a block can have",
        lambda p: p["block_x"] * p["block_y"] <= 1024,
    ),
)

_WITHOUT_TILES = {"depth": lambda p: 1, "buffers": lambda p: 0}  # in shared memory

X_DOWN_ROWS = Family(
    rules=_BLOCK_SHAPE,
    block=lambda p: (p["block_x"], p["block_y"], 1),
    tile=lambda p: (p["block_x"], p["block_y"]),
    **_WITHOUT_TILES,
    reuse=lambda p: (1, 1),
    rows_along="x",
    template=False,
)

X_ALONG_COLUMNS = Family(
    rules=_BLOCK_SHAPE,
    block=lambda p: (p["block_x"], p["block_y"], 1),
    tile=lambda p: (p["block_y"], p["block_x"]),
    **_WITHOUT_TILES,
    reuse=lambda p: (1, 1),
    template=False,
)

# --- shared_memory: a thread computes one element, a block T x T -----------------------------------------------------

SQUARE_TILE = Family(
    rules=(
        _at_least_1("T"),
        Rule("T * T must be at most 1024, the most threads a block can have", lambda p: p["T"] * p["T"] <= 1024),
    ),
    block=lambda p: (p["T"], p["T"], 1),
    tile=lambda p: (p["T"], p["T"]),
    depth=lambda p: p["T"],
)

# --- block_tile_1d: a thread computes TM elements of one column ------------------------------------------------------


def _threads_1d(p: Params) -> int:
    return p["BM"] // p["TM"] * p["BN"]


def _threads_2d(p: Params) -> int:
    return p["BM"] // p["TM"] * (p["BN"] // p["TN"])


def _threads_warptiled(p: Params) -> int:
    return 32 * (p["BM"] // p["WM"]) * (p["BN"] // p["WN"]) * p.get("SLICES", 1)


def _block_tile(p: Params) -> tuple[int, int]:
    return p["BM"], p["BN"]


THREAD_COLUMN = Family(
    rules=(
        _at_least_1("BM", "BN", "BK", "TM"),
        Rule("BM must be a multiple of TM", lambda p: p["BM"] % p["TM"] == 0),
        _threads_fit("(BM / TM) * BN", _threads_1d),
        _whole_passes("As", "BM", "BK", _threads_1d, width=1),
        _whole_passes("Bs", "BK", "BN", _threads_1d, width=1),
        _static_shared(pad=0),
    ),
    block=lambda p: (_threads_1d(p), 1, 1),
    tile=_block_tile,
)

# --- block_tile_2d and the bank-conflict variants: a thread computes TM x TN elements --------------------------------


def _thread_tile(*extra: Rule, pad: int) -> Family:
    return Family(
        rules=(
            _at_least_1("BM", "BN", "BK", "TM", "TN"),
            _multiples(("BM", "TM"), ("BN", "TN")),
            *extra,
            _threads_fit("(BM / TM) * (BN / TN)", _threads_2d),
            _whole_passes("As", "BM", "BK", _threads_2d, width=1),
            _whole_passes("Bs", "BK", "BN", _threads_2d, width=1),
            _static_shared(pad),
        ),
        block=lambda p: (_threads_2d(p), 1, 1),
        tile=_block_tile,
    )


THREAD_TILE = _thread_tile(pad=0)
PADDED = _thread_tile(pad=PAD)
SWIZZLED = _thread_tile(
    Rule("BM must be a multiple of 32, so that the swizzle stays inside a row of As", lambda p: p["BM"] % 32 == 0),
    Rule("TM must be a multiple of 4, the rows that the swizzle keeps together", lambda p: p["TM"] % 4 == 0),
    pad=0,
)
INTERLEAVED = _thread_tile(
    Rule("TN must be a multiple of 4, for whole groups of columns", lambda p: p["TN"] % 4 == 0), pad=PAD
)

# --- vectorized, double_buffered, ping_pong: loads of four floats ----------------------------------------------------


def _vectorized(*extra: Rule, buffers: int) -> Family:
    return Family(
        rules=(
            _at_least_1("BM", "BN", "BK", "TM", "TN"),
            _multiples(("BM", "TM"), ("BN", "TN")),
            Rule(
                "BK, TM and TN must be multiples of 4, the floats of a float4",
                lambda p: p["BK"] % 4 == 0 and p["TM"] % 4 == 0 and p["TN"] % 4 == 0,
            ),
            _threads_fit("(BM / TM) * (BN / TN)", _threads_2d),
            *extra,
            _whole_passes("As", "BM", "BK", _threads_2d, width=4),
            _whole_passes("Bs", "BK", "BN", _threads_2d, width=4),
            _static_shared(PAD, buffers),
        ),
        block=lambda p: (_threads_2d(p), 1, 1),
        tile=_block_tile,
        buffers=lambda p: buffers,
    )


VECTORIZED = _vectorized(buffers=1)
DOUBLE_BUFFERED = _vectorized(_blocks_share_an_sm(_threads_2d), buffers=2)

# --- async_copy and all after it: STAGES tiles in dynamic shared memory ----------------------------------------------

MOST_SHARED_BYTES = 232448  # CUDA C++ Programming Guide, shared memory per block by opting in: CC 9.0 and 10.0


def _stages(p: Params) -> int:
    return p["STAGES"]


def _stages_bytes(p: Params) -> int:
    return p["STAGES"] * FLOAT_BYTES * p["BK"] * (p["BM"] + PAD + p["BN"])


def _sums_bytes(p: Params) -> int:
    """A tile of C for each slice, where the stages were."""
    return FLOAT_BYTES * p.get("SLICES", 1) * p["BM"] * p["BN"]


def _stages_or_sums_bytes(p: Params) -> int:
    return max(_stages_bytes(p), _sums_bytes(p))


_FLOAT4_FRAGMENTS = Rule(
    "TM and TN must be multiples of 4, the floats of a float4", lambda p: p["TM"] % 4 == 0 and p["TN"] % 4 == 0
)
_EVEN_DEPTH = (Rule("BK must be even, because the fragments of even and odd k take turns", lambda p: p["BK"] % 2 == 0),)


def _pipeline(
    threads: Count, formula: str, depth: tuple[Rule, ...] = _EVEN_DEPTH, A_passes: Rule | None = None
) -> tuple[Rule, ...]:
    return (
        *depth,
        Rule("STAGES must be at least 2: one to multiply, one to copy into", lambda p: p["STAGES"] >= 2),
        _threads_fit(formula, threads),
        _blocks_share_an_sm(threads),
        A_passes or _whole_passes("As", "BM", "BK", threads, width=1),
        _whole_passes("Bs", "BK", "BN", threads, width=1),
    )


_STAGES_FIT = Rule(
    "As and Bs must fit in 232448 bytes, the most shared memory a block of any GPU can have",
    lambda p: _stages_bytes(p) <= MOST_SHARED_BYTES,
)

ASYNC_COPY = Family(
    rules=(
        _at_least_1("BM", "BN", "BK", "TM", "TN"),
        _multiples(("BM", "TM"), ("BN", "TN")),
        _FLOAT4_FRAGMENTS,
        *_pipeline(_threads_2d, "(BM / TM) * (BN / TN)"),
        _STAGES_FIT,
    ),
    block=lambda p: (_threads_2d(p), 1, 1),
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_bytes,
)

_WARP_TILE = (
    _multiples(("BM", "WM"), ("BN", "WN")),
    _multiples(("WM", "TM"), ("WN", "TN")),
    Rule(
        "(WM / TM) * (WN / TN) must be 32, the lanes of a warp",
        lambda p: p["WM"] // p["TM"] * (p["WN"] // p["TN"]) == 32,
    ),
    Rule(
        "WN / TN must be even, because the lanes zigzag over two columns of threads",
        lambda p: p["WN"] // p["TN"] % 2 == 0,
    ),
    _FLOAT4_FRAGMENTS,
)


def _warptiled(*extra: Rule, shared_bytes: Count) -> Family:
    return Family(
        rules=(
            _at_least_1("BM", "BN", "BK", "WM", "WN", "TM", "TN"),
            *_WARP_TILE,
            *_pipeline(_threads_warptiled, "32 * (BM / WM) * (BN / WN)"),
            *extra,
        ),
        block=lambda p: (_threads_warptiled(p), 1, 1),
        tile=_block_tile,
        buffers=_stages,
        shared_bytes=shared_bytes,
    )


_WIDE_PASSES = _whole_passes("Bs", "BK", "BN", _threads_warptiled, width=4)
_SUMS_FIT = Rule("the tile of C must fit in 232448 bytes, too", lambda p: _sums_bytes(p) <= MOST_SHARED_BYTES)


def _whole_batches(formula: str) -> Rule:
    """The float4s of C that a thread writes, in batches of 8 or all at once."""

    def holds(p: Params) -> bool:
        passes = max(p["TM"] * p["TN"] // 4 // p.get("SLICES", 1), 1)
        return passes % min(passes, 8) == 0

    return Rule(f"{formula} must be a multiple of 8, or at most 8, for whole batches of C", holds)


WARPTILED = _warptiled(_STAGES_FIT, shared_bytes=_stages_bytes)
WIDE_COPIES = _warptiled(_WIDE_PASSES, _STAGES_FIT, shared_bytes=_stages_bytes)
STAGED_EPILOGUE = _warptiled(
    _WIDE_PASSES, _STAGES_FIT, _SUMS_FIT, _whole_batches("TM * TN / 4"), shared_bytes=_stages_or_sums_bytes
)


def _warps_load_sectors(p: Params) -> bool:
    """All warps, each loading 4 rows x 8 k, must cover whole depths, and in whole passes the A tile."""
    warps, sectors = _threads_warptiled(p) // 32, p["BK"] // 8
    return warps % sectors == 0 and p["BM"] % (4 * warps // sectors) == 0


_WHOLE_SECTORS = Rule(
    "BK must be a multiple of 8, the floats of a sector, so that lanes can share one", lambda p: p["BK"] % 8 == 0
)
_SLICED_THREADS = "32 * (BM / WM) * (BN / WN) * SLICES"
_WRITE_PASSES = Rule(
    "TM * TN / 4 must be a multiple of SLICES, or SLICES of TM * TN / 4, to write C in whole passes",
    lambda p: p["TM"] * p["TN"] // 4 % p["SLICES"] == 0 or p["SLICES"] % (p["TM"] * p["TN"] // 4) == 0,
)

SPLIT_K = Family(
    rules=(
        _at_least_1("BM", "BN", "BK", "WM", "WN", "TM", "TN", "SLICES"),
        *_WARP_TILE,
        *_pipeline(
            _threads_warptiled,
            _SLICED_THREADS,
            depth=(
                _WHOLE_SECTORS,
                Rule(
                    "BK must be a multiple of 2 * SLICES: in a slice, too, the fragments of even and odd k take turns",
                    lambda p: p["BK"] % (2 * p["SLICES"]) == 0,
                ),
            ),
            A_passes=Rule(
                "THREADS / 32 must be a multiple of BK / 8, and BM of THREADS / BK, to load As in whole passes",
                _warps_load_sectors,
            ),
        ),
        _WIDE_PASSES,
        _STAGES_FIT,
        Rule("a tile of C for each slice must fit in 232448 bytes, too", lambda p: _sums_bytes(p) <= MOST_SHARED_BYTES),
        _WRITE_PASSES,
        _whole_batches("TM * TN / 4 / SLICES"),
    ),
    block=lambda p: (_threads_warptiled(p), 1, 1),
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_sums_bytes,
)

# --- stream_k: blocks that stay and share out the k of all tiles ------------------------------------------------------

USABLE_SHARED_BYTES = MOST_SHARED_BYTES - 16  # less a variable of its own


def _multiple_either_way(a: int, b: int) -> bool:
    return a % b == 0 or b % a == 0


def _warps_load_As(p: Params) -> bool:
    """A warp loads 4 rows x 8 k; warps that find no row left go on along k, and if there is no k left, some rest."""
    rows = _threads_warptiled(p) // 8
    depth = 8 * max(rows // p["BM"], 1)
    return _multiple_either_way(p["BM"], rows) and _multiple_either_way(p["BK"], depth)


def _warps_load_Bs(p: Params) -> bool:
    """32 lanes, or as many as there are in a row of the tile, load neighbours, four at a time or each one."""
    rows = [_threads_warptiled(p) // min(p["BN"] // width, 32) for width in (4, 1)]
    return _multiple_either_way(p["BN"], 128) and all(_multiple_either_way(p["BK"], depth) for depth in rows)


def _equal_parts(p: Params, tiles: int) -> int:
    """Blocks to launch: WORKERS, or somewhat fewer that a few tiles can be shared out among evenly."""
    if p["WORKERS"] == 0:
        return tiles
    even = p["WORKERS"] // tiles * tiles
    return even if even >= 0.9 * p["WORKERS"] else p["WORKERS"]


STREAM_K = Family(
    rules=(
        _at_least_1("BM", "BN", "BK", "WM", "WN", "TM", "TN", "SLICES"),
        *_WARP_TILE,
        _WHOLE_SECTORS,
        Rule(
            "BK must be a multiple of 4 * SLICES: in half a slice, too, fragments of even and odd k take turns",
            lambda p: p["BK"] % (4 * p["SLICES"]) == 0,
        ),
        Rule(
            "STAGES must be at least 3: to multiply, for those who still read, to copy into",
            lambda p: p["STAGES"] >= 3,
        ),
        _threads_fit(_SLICED_THREADS, _threads_warptiled),
        _blocks_share_an_sm(_threads_warptiled),
        Rule("WORKERS must be at least 0, which is a block for every tile", lambda p: p["WORKERS"] >= 0),
        Rule(
            "LOOPS must be 2, or 1 where rows of B do not begin at multiples of 16 bytes",
            lambda p: p["LOOPS"] in (2, 1),
        ),
        Rule(
            "BM and THREADS / 8, and BK and the k that are left, must be multiples one of the other, to load As",
            _warps_load_As,
        ),
        Rule(
            "BN and 128, and BK and the rows that THREADS load, must be multiples one of the other, to load Bs",
            _warps_load_Bs,
        ),
        Rule(
            "As and Bs must fit in 232432 bytes, the most shared memory a block of any GPU can have, less 16",
            lambda p: _stages_bytes(p) <= USABLE_SHARED_BYTES,
        ),
        Rule(
            "a tile of C for each slice must fit in 232432 bytes, too", lambda p: _sums_bytes(p) <= USABLE_SHARED_BYTES
        ),
        _WRITE_PASSES,
        Rule(
            "TM * TN / 4 / SLICES must be a multiple of 4, or at most 8, for whole batches of C",
            lambda p: (passes := p["TM"] * p["TN"] // 4 // p["SLICES"]) <= 8 or passes % 4 == 0,
        ),
    ),
    block=lambda p: (_threads_warptiled(p), 1, 1),
    tile=_block_tile,
    buffers=_stages,
    shared_bytes=_stages_or_sums_bytes,
    blocks=_equal_parts,
)

# --- vector_matrix, matrix_vector: C with few rows or few columns -----------------------------------------------------


def _parties(p: Params, tiles: int) -> int:
    """Blocks to launch: as many for every tile as there are WORKERS for."""
    return tiles * max(p["WORKERS"] // tiles, 1)


def _power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


VECTOR_MATRIX = Family(
    rules=(
        Rule(
            "BN must be at least 4, and WARPS, LOADS and WORKERS at least 1",
            lambda p: p["BN"] >= 4 and p["WARPS"] >= 1 and p["LOADS"] >= 1 and p["WORKERS"] >= 1,
        ),
        Rule("32 * WARPS must be at most 1024, the most threads a block can have", lambda p: p["WARPS"] <= 32),
        Rule(
            "BN and WARPS must be powers of two, so that sums can be halved",
            lambda p: _power_of_two(p["BN"]) and _power_of_two(p["WARPS"]),
        ),
        Rule("BN must be at most 32 * WARPS, so that every column has a thread", lambda p: p["BN"] <= 32 * p["WARPS"]),
    ),
    block=lambda p: (32 * p["WARPS"], 1, 1),
    tile=lambda p: (1, p["BN"]),
    **_WITHOUT_TILES,
    blocks=_parties,
)

MATRIX_VECTOR = Family(
    rules=(
        _at_least_1("BM", "LOADS", "WORKERS"),
        Rule("32 * BM must be at most 1024, the most threads a block can have", lambda p: p["BM"] <= 32),
    ),
    block=lambda p: (32 * p["BM"], 1, 1),
    tile=lambda p: (p["BM"], 1),
    **_WITHOUT_TILES,
    blocks=_parties,
)
