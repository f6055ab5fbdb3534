"""The kernels whose parameters are chosen by shape, and the fastest kernel of all: as measured, or else as estimated.

What was measured is in `choices`. A shape that was not measured gets the candidate with the smallest estimate: the
seconds that the `amounts` of work of a launch cost, which were fitted to the candidate's measured times, times what
such estimates are off by for launches with the same `features`, of whichever candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gemm_kernels import choices
from gemm_kernels.choices import DEFAULT_GPU, Choices, NoChoice, Shape
from gemm_kernels.kernel import MAX_GRID_Y, Kernel, check_sizes
from gemm_kernels.ladder import SMS, get
from gemm_kernels.trees import Tree, total

# Kernels whose candidates have costs; the others are for few rows or columns of C, where they have been measured.
ESTIMATED = ("stream_k", "persistent", "sliced_k", "exchanged", "rank_k", "clustered", "reduce_scatter")
SKINNY = 16  # a tile with fewer rows or columns than this is tried only where C has few
FLAT = 32  # `rank_k` is tried at products of at most so many k, or as many as it copies at once
FEW = 4  # rows or columns of C: with more, the kernels for one row or column are not tried
PROMISING = 50  # tiled kernels that are tried at a shape; of 36, a faster one was left out at 13 of 310 shapes
SHORT_K = 80  # with at most so many k the rough estimate says less: FMAs are not what takes the time
PROMISING_SHORT = 80  # so many are tried there
# The SMs of an H200 that clusters of so many blocks are on at a time, if an SM has room for one block: few GPCs have a
# multiple of their size (cuOccupancyMaxActiveClusters: 30 clusters of four, 15 of eight; with room for two 62 and 30).
SMS_OF_CLUSTERS = {1: SMS, 2: SMS, 4: 120, 8: 120}
SM_FLOPS = 5e11  # of FP32 in a second: an SM of an H200
FEATURES_OF_WORK = ("rounds", "block_rounds", "tiles", "block_tiles", "odd_launch", "shared", "parts")
FEATURES_OF_SETS = (
    "BM",
    "BN",
    "BK",
    "WM",
    "WN",
    "TM",
    "TN",
    "SLICES",
    "STAGES",
    "BLOCKS",
    "WORKERS",
    "CLUSTER",
    "LOOPS",
)
LARGE_PRODUCT, LARGE_TILE = 1e10, 16384  # M·N·K from which on tiles with fewer elements are not tried
WIDE_PRODUCT, WIDE_TILE = 2048**3, 256  # M·N·K below which tiles with more columns are not tried


def autotuned(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `autotuned` with the parameters that a search on this GPU found to be the fastest for such shapes.

    `get("autotuned")` is the one for large matrices on the default GPU. ValueError, with a sentence that lists what
    there is, if no search was made on this GPU, or if M, N or K is less than 1.
    """
    check_sizes(M=M, N=N, K=K)
    return get("autotuned", **choices.searched(M, N, K, gpu))


def stream_k(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `stream_k` with the parameters of the nearest shape that they were compared at on this GPU.

    Rows of B that start at 16 bytes and others are different shapes: `stream_k` has a parameter for that, LOOPS.
    """
    check_sizes(M=M, N=N, K=K)
    of_stream_k = choices.of(gpu, "stream_k").stream_k
    if not of_stream_k:
        raise NoChoice(f"the parameters of stream_k were not compared on {gpu!r}. Set them yourself.")
    return get("stream_k", **of_stream_k[choices.nearest((M, N, K), _like((M, N, K), of_stream_k))])


def persistent(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `persistent` with the parameters of the nearest shape at which it was the fastest on this GPU.

    ValueError, with a sentence, if nothing was measured there.
    """
    check_sizes(M=M, N=N, K=K)
    recorded = _compared(gpu)
    best = {shape: _kernels(recorded)[which] for shape, which in recorded.fastest.items()}
    where = [shape for shape, kernel in best.items() if kernel.name == "persistent"]
    return best[choices.nearest((M, N, K), _like((M, N, K), where))]


def fastest(M: int, N: int, K: int, gpu: str = DEFAULT_GPU, shared_bytes: int | None = None) -> Kernel:
    """The fastest kernel for C (M, N) = A (M, K) times B (K, N), as measured at this shape or else as estimated.

    shared_bytes: the most shared memory that a block may have, if it is less than on this GPU: candidates that need
    more are left out. ValueError, with a sentence, if nothing was measured on this GPU, if no candidate
    needs so little, or if M, N or K is less than 1.
    """
    check_sizes(M=M, N=N, K=K)
    recorded, shape = _compared(gpu), (M, N, K)
    if shape not in recorded.fastest and (M == 1 or N == 1):
        # Bound by memory, where little depends on the parameters: those of a shape with one row, or column, as well.
        side = 0 if M == 1 else 1
        kernels = _kernels(recorded)
        best = {other: kernels[which].name for other, which in recorded.fastest.items() if other[side] == 1}
        vectors = [other for other, name in best.items() if name not in ESTIMATED]
        shape = choices.nearest(shape, _like(shape, vectors))
    if shape in recorded.fastest:
        kernel = _kernels(recorded)[recorded.fastest[shape]]
        if shared_bytes is None or kernel.shared_bytes <= shared_bytes:
            return kernel.for_rows(N)
    return _estimated(recorded, (M, N, K), shared_bytes).for_rows(N)


def at_shape(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel itself, or the one that it stands for at this shape.

    A kernel that is chosen by shape and has the parameters of the ladder stands for the one with the parameters for
    this shape on this GPU, if any were found there.
    """
    if not kernel.chosen_by_shape or kernel != get(kernel.name):
        return kernel
    try:
        return {"autotuned": autotuned, "stream_k": stream_k, "persistent": persistent}[kernel.name](M, N, K, gpu)
    except NoChoice:
        return kernel


def variants(kernel: Kernel, gpu: str = DEFAULT_GPU) -> list[Kernel]:
    """The kernel with each set of parameters that may be chosen for it on this GPU, all different."""
    try:
        chosen = choices.of(gpu)
    except NoChoice:
        return [kernel]
    if kernel.name == "autotuned" and chosen.searched:
        every = [get(kernel.name, **params) for params in chosen.searched.values()]
    else:
        every = [kernel, *(candidate for candidate in _kernels(chosen) if candidate.name == kernel.name)]
        if kernel.name == "stream_k":
            every += [get(kernel.name, **params) for params in chosen.stream_k.values()]
    return list({variant.entry: variant for variant in every}.values())


def estimate(kernel: Kernel, costs: Mapping[str, float], shape: Shape, sms: int) -> float:
    """Seconds that a launch is expected to take, by the seconds that each unit of its `amounts` of work costs."""
    done = amounts(kernel, shape, sms)
    return sum(cost * done[name] for name, cost in costs.items())


def amounts(kernel: Kernel, shape: Shape, sms: int) -> dict[str, float]:
    """The work that a launch of a tiled kernel makes for its busiest SM, in the units that costs are per.

    launch: 1.  rounds: rounds of BK one after another, on a GPU with so many SMs; of `rank_k`, which has hardly more
    than one, the part that has k.  block_rounds: the same times the blocks that share the SM.  tiles, block_tiles:
    tiles one after another, likewise; that of a cluster counts for each of its blocks.  odd_launch, odd_waits,
    odd_rounds, odd_tiles: of launch, rounds, block_rounds and block_tiles, where rows of B do not all start at 16
    bytes, and half of them where two floats are moved at a time.  shared: 1 if blocks add up the parts of a tile.
    parts: how many of them a thread reads one after another.  bytes: of A, B and C, read and written once.
    bytes_of_c: those of C among them.
    """
    M, N, K = shape
    p = kernel.params
    workers = p.get("WORKERS", 0)
    tiles = math.ceil(M / p["BM"]) * math.ceil(N / p["BN"])
    together = p.get("CLUSTER", 1)  # blocks that share the k of a tile
    of_a_tile = K / p["BK"] if kernel.name == "rank_k" else math.ceil(math.ceil(K / p["BK"]) / together)
    parts = 0.0
    if workers:
        blocks = kernel.grid(M, N)[0]
        shared_tiles = tiles % blocks
        if 0 < 2 * shared_tiles < blocks < tiles:
            shared_tiles += blocks
        sharers = min(blocks, max(shared_tiles * of_a_tile, 1))
        share = math.ceil(shared_tiles * of_a_tile / sharers)
        on_an_sm = math.ceil(blocks / sms)
        own_tiles = (tiles - shared_tiles) // blocks + (1 + share / of_a_tile if share else 0)
        if kernel.name == "reduce_scatter" and shared_tiles and sharers % shared_tiles == 0:
            own_tiles = (tiles - shared_tiles) // blocks + 1  # no share ends within a tile that another one begins
        rounds = (tiles - shared_tiles) // blocks * of_a_tile + share
        block_rounds, block_tiles = on_an_sm * rounds, on_an_sm * own_tiles
        if shared_tiles and share % of_a_tile:
            parts = sharers / shared_tiles
            if kernel.name == "reduce_scatter":
                parts = _read_by_a_team(math.ceil(parts), kernel)
            elif kernel.name == "persistent":
                at_once = p["BM"] * p["BN"] <= 4 * kernel.threads and p["BLOCKS"] * kernel.threads <= 512
                parts = _read_in_turn(parts, few=16 if at_once else 8)
    else:
        usable = sms * SMS_OF_CLUSTERS[together] // SMS
        full, rest = divmod(tiles * together, usable * p["BLOCKS"])
        own_tiles = full + (rest > 0)
        block_tiles = full * p["BLOCKS"] + math.ceil(rest / usable)
        rounds, block_rounds = own_tiles * of_a_tile, block_tiles * of_a_tile
    moves_two = kernel.name in ("persistent", "clustered", "reduce_scatter")
    odd = 0.0 if N % 4 == 0 else 0.5 if N % 2 == 0 and moves_two else 1.0
    return {
        "launch": 1.0,
        "rounds": rounds,
        "block_rounds": block_rounds,
        "tiles": own_tiles,
        "block_tiles": block_tiles,
        "odd_launch": odd,
        "odd_waits": odd * rounds,
        "odd_rounds": odd * block_rounds,
        "odd_tiles": odd * block_tiles,
        "shared": float(parts > 0),
        "parts": parts,
        "bytes": 4.0 * (M * K + K * N + 2 * M * N),
        "bytes_of_c": 8.0 * M * N,
    }


def features(kernel: Kernel, shape: Shape, sms: int, seconds: float, least: float) -> dict[str, float]:
    """What an error of an estimate may depend on: the shape, the work, how tiles fit, and the kernel's parameters.

    seconds: the estimate.  least: the smallest one at this shape; it was chosen among many, and is the more often
    too small.
    """
    M, N, K = shape
    p = kernel.params
    done = amounts(kernel, shape, sms)
    tiles = math.ceil(M / p["BM"]) * math.ceil(N / p["BN"])
    return {
        **{"M": M, "N": N, "K": K, "n_beyond_4": N % 4, "k_beyond_4": K % 4},
        **{"seconds": seconds, "to_least": seconds / least, "of_peak": 2 * M * N * K / sms / SM_FLOPS / seconds},
        **{name: done[name] for name in FEATURES_OF_WORK},
        **{"rough": 1e6 * rough_seconds(kernel, shape, sms), "filled": M * N / (tiles * p["BM"] * p["BN"])},
        **{"all_tiles": tiles, "turns": tiles / (sms * p["BLOCKS"]), "last_turn": math.ceil(tiles / sms) * sms / tiles},
        **{"family": ESTIMATED.index(kernel.name), "threads": kernel.threads, "sums": p["TM"] * p["TN"]},
        **{"sm_threads": kernel.threads * p["BLOCKS"], "sm_bytes": kernel.shared_bytes * p["BLOCKS"]},
        **{name: p.get(name, 0) for name in FEATURES_OF_SETS},
    }


def corrected(estimates: Mapping[Kernel, float], shape: Shape, sms: int, trees: Sequence[Tree]) -> dict[Kernel, float]:
    """The estimates at a shape, each times what the trees say that it is off by, of which they give the logarithm."""
    least = min(estimates.values())
    return {
        kernel: seconds * math.exp(total(trees, features(kernel, shape, sms, seconds, least)) if trees else 0.0)
        for kernel, seconds in estimates.items()
    }


def suits(kernel: Kernel, shape: Shape) -> bool:
    """Whether a candidate is worth a try at a shape.

    Four kinds are not tried: kernels for few rows or columns where there are many; tiles with more than twice as many
    rows or columns as C has; small tiles for a large product; and wide tiles for a product that is not large. Of a
    kernel with a choice of LOOPS only the variant for the alignment of B's rows is tried, and `exchanged` only where
    rows do not all start at 16 bytes: elsewhere `persistent` does the same and more.
    """
    M, N, K = shape
    rows, columns = kernel.tile
    if kernel.name == "vector_matrix":
        return M <= FEW
    if kernel.name == "matrix_vector":
        return N <= FEW
    if kernel.name == "rank_k" and max(FLAT, kernel.params["BK"]) < K:
        return False
    if kernel.name == "clustered" and not _shares_enough(kernel, shape):
        return False
    if kernel.name == "reduce_scatter" and not _shares_all(kernel, shape):
        return False
    if kernel.params.get("LOOPS", 0) not in (0, 2 if N % 4 == 0 else 1):
        return False
    if rows > 2 * max(M, SKINNY) or columns > 2 * max(N, SKINNY):
        return False
    if kernel.name == "exchanged" and N % 4 == 0:
        return False
    if kernel.name in ("sliced_k", "exchanged") and rows * MAX_GRID_Y < M:
        return False
    if columns > WIDE_TILE and M * N * K < WIDE_PRODUCT:
        return False
    if rows < SKINNY or columns < SKINNY:  # tiles for few rows or columns
        return min(M, N) <= 64 or M * N * K <= 1024**2
    return rows * columns >= LARGE_TILE or M * N * K <= LARGE_PRODUCT


def promising(
    kernels: Iterable[Kernel], shape: Shape, sms: int, promising_short: int = PROMISING_SHORT
) -> list[Kernel]:
    """Those kernels that suit a shape and may be the fastest there.

    Of the tiled ones these are the PROMISING first ones by a rough estimate, which needs no costs, or `promising_short`
    of them with few k; of the others all. A kernel is measured, and its costs are fitted, only at shapes where it
    is promising.
    """
    suiting = [kernel for kernel in kernels if suits(kernel, shape)]
    tiled = [kernel for kernel in suiting if kernel.name in ESTIMATED]
    count = promising_short if shape[2] <= SHORT_K else PROMISING
    left_out = set(sorted(tiled, key=lambda kernel: rough_seconds(kernel, shape, sms))[count:])
    return [kernel for kernel in suiting if kernel not in left_out]


def rough_seconds(kernel: Kernel, shape: Shape, sms: int) -> float:
    """What the FMAs of the busiest SM take at four fifths of its peak, or less where a thread has few sums for each
    load, and some time for rounds, tiles and parts: about what it is on an H200."""
    done, p = amounts(kernel, shape, sms), kernel.params
    flops = 2 * p["BM"] * p["BN"] * p["BK"] * done["block_rounds"]
    speed = SM_FLOPS * (0.8 if p["TM"] * p["TN"] >= 64 else 0.64)
    waiting = 3e-7 * done["rounds"] + 1e-6 * done["block_tiles"] + 2e-6 * done["shared"] + 1e-7 * done["parts"]
    waiting += 1e-6 * (kernel.name == "clustered")
    return flops / speed + waiting


def _shares_enough(kernel: Kernel, shape: Shape) -> bool:
    """Whether clusters have something to share out: two rounds or more for every block, and blocks for a third of the
    room that the default GPU has for them at least, and at most for all of it."""
    M, N, K = shape
    p = kernel.params
    room = p["BLOCKS"] * SMS_OF_CLUSTERS[p["CLUSTER"]]
    return 2 * p["BK"] * p["CLUSTER"] <= K and room / 3 <= kernel.grid(M, N)[0] <= room


def _shares_all(kernel: Kernel, shape: Shape) -> bool:
    """Whether there are fewer tiles than blocks, and two rounds or more for every block."""
    M, N, K = shape
    p = kernel.params
    tiles, blocks = math.ceil(M / p["BM"]) * math.ceil(N / p["BN"]), kernel.grid(M, N)[0]
    return tiles < blocks and 2 * p["BK"] * blocks <= K * tiles


def _read_in_turn(parts: float, few: int) -> float:
    """How many parts of a tile a block of `persistent` reads one after another: a few, or a group and the groups."""
    if parts <= few:
        return parts
    group = 2 ** (((math.ceil(parts) - 1).bit_length() + 1) // 2)
    return group + parts / group


def _read_by_a_team(parts: int, kernel: Kernel) -> int:
    """How many parts of a tile a thread of `reduce_scatter` reads one after another: all, or those of its team, where
    there are more threads than sums for each of the blocks that add them."""
    sums = math.ceil(kernel.params["BM"] * kernel.params["BN"] / 4 / parts)
    teams = max(min(kernel.threads // sums, math.ceil(parts / 8), 32), 1)
    return math.ceil(parts / 2 ** (teams.bit_length() - 1))


def _like(shape: Shape, others: Iterable[Shape]) -> list[Shape]:
    """Those of the others whose rows of B all start at 16 bytes if this one's do, or do not; all, if there are none."""
    others = list(others)
    return [other for other in others if (other[1] % 4 == 0) == (shape[1] % 4 == 0)] or others


@lru_cache(maxsize=8)
def _kernels(recorded: Choices) -> tuple[Kernel, ...]:
    """The candidates as kernels, in the same order."""
    return tuple(get(candidate.kernel, **candidate.params) for candidate in recorded.candidates)


def _compared(gpu: str) -> Choices:
    """What was found on this GPU, if kernels were compared there; NoChoice otherwise."""
    chosen = choices.of(gpu, "fastest")
    if not chosen.fastest:
        raise NoChoice(f"no kernels were compared on {gpu!r}. Run `python -m helpers.tools.measuring choose` on it.")
    return chosen


def _estimated(recorded: Choices, shape: Shape, shared_bytes: int | None = None) -> Kernel:
    """The candidate with the smallest estimate, of those that need no more shared memory for a block."""
    costs = {
        kernel: candidate.costs
        for kernel, candidate in zip(_kernels(recorded), recorded.candidates, strict=True)
        if candidate.costs
    }
    fitting = [kernel for kernel in costs if shared_bytes is None or kernel.shared_bytes <= shared_bytes]
    if not fitting:
        raise ValueError(
            f"no kernel that was compared on {recorded.gpu!r} needs at most {shared_bytes} bytes of shared memory for "
            f"each block. The least is {min(kernel.shared_bytes for kernel in costs)} bytes."
        )
    # Costs say little of shapes that a kernel is not for
    likely = promising(fitting, shape, recorded.sms, recorded.promising_short)
    estimates = {kernel: estimate(kernel, costs[kernel], shape, recorded.sms) for kernel in likely}
    expected = corrected(estimates, shape, recorded.sms, recorded.trees)
    return min(expected, key=expected.__getitem__)
