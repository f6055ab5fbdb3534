"""What `record` measures: the ladder by size and shape, block shapes, tiles, and the C that the simulator repeats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemm_kernels import LADDER, UPPER, Kernel, choices, get
from gemm_kernels.rules import broken

RUNGS = LADDER + UPPER  # which the suites `ladder` and `shapes` time in turns
LADDER_SIZES = (128, 256, 512, 1024, 2048, 4096)
OTHER_SHAPES = (
    *(
        (size, size, size) for size in (1000, 1023, 2049, 4095)
    ),  # rows that do not begin at a sector, tiles that stick out
    (4096, 4096, 128),  # M, N, K of products inside neural networks: short sums, few rows, long rows
    (128, 4096, 4096),
    (64, 4096, 1024),
    (8192, 1024, 4096),
    (1, 4096, 4096),  # a vector times a matrix: bound by memory
    (8192, 8192, 8192),
)
BLOCK_SIZE = 2048  # M = N = K of the block-shape suite
BLOCK_THREADS = (16, 1024)
BLOCK_KERNELS = ("naive", "coalesced")  # x is the row index, x is the column index
SWEEP_SIZES = (2, 4, 8, 16, 32, 64, 128, *range(256, 4097, 256))
SWEEP_KERNELS = ("vectorized", "double_buffered", "ping_pong", "async_copy")  # the same tile, loaded in four ways
DEEPER = get("vectorized").replace(BK=16)
TILES_SIZE = 2048  # M = N = K of the tiles suite
TILES = {  # kernel: the values of its parameters, of which every set that its rules accept is measured
    "block_tile_1d": {"BM": (32, 64, 128), "BN": (32, 64, 128), "BK": (8, 16), "TM": (2, 4, 8, 16)},
    "block_tile_2d": {"BM": (64, 128), "BN": (64, 128), "BK": (8, 16), "TM": (2, 4, 8), "TN": (2, 4, 8)},
}
RANDOM_SEED, RANDOM_COUNT, RANDOM_LARGEST = 11, 100, 700
GOLDEN_SEED = 20

FASTEST = "fastest"  # the suite of what `gemm_kernels.fastest` gives
SQUARES, OTHERS, UNSEEN = "squares", "others", "unseen"  # its groups of shapes
FASTEST_SQUARES = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
FASTEST_OTHERS = (
    # Squares whose tiles stick out, most of them with rows that do not start at 16 bytes.
    *((size, size, size) for size in (1000, 1023, 1025, 2047, 2049, 2050, 4095, 4097)),
    # Rectangles, with rows that start at 16 bytes and with others.
    *((1500, 700, 900), (777, 1555, 333), (1023, 4097, 511), (1201, 1203, 401), (3001, 2999, 2003), (255, 4095, 1023)),
    *((1000, 2001, 700), (4300, 650, 870), (1999, 1999, 199), (150, 151, 3001), (2296, 150, 37), (2000, 300, 5000)),
    # Layers of language models: few rows or many, short sums, a vocabulary.
    *((4096, 4096, 128), (128, 4096, 4096), (64, 4096, 1024), (8192, 1024, 4096), (512, 11008, 4096)),
    *((32, 4096, 11008), (128, 12288, 4096), (2048, 5120, 1280), (4096, 11008, 48), (1000, 50257, 768)),
    # One row or one column.
    *((1, 4096, 4096), (4096, 1, 4096), (1, 4097, 4096), (4097, 1, 4095), (1, 32000, 4096), (1, 1001, 3000)),
    *((12345, 1, 1000), (1, 333, 100_000), (33, 1, 200_001)),
    # Skinny: few rows or few columns.
    *((2, 4096, 4096), (8192, 3, 2048), (5000, 7, 3001), (8, 4096, 1000), (12, 8191, 1023), (16, 4096, 4096)),
    *((4096, 16, 4096), (4300, 23, 3160), (33, 4096, 4097), (4096, 64, 4096), (64, 50257, 768), (20_000, 100, 300)),
    # Deep: k is many times the sides.
    *((100, 100, 10_000), (256, 256, 8192), (512, 512, 8192), (64, 64, 65_536), (128, 128, 16_384)),
    *((96, 96, 24_576), (63, 65, 30_000), (300, 200, 9001), (40, 501, 8000), (20, 20, 20_000)),
    # Flat: k is short.
    *((12345, 17, 19), (3001, 3001, 17), (5000, 401, 33), (2048, 2048, 40), (6000, 371, 47), (401, 5000, 60)),
    *((10_000, 50, 64), (1024, 4096, 64)),
)
UNSEEN_COUNT = 40
UNSEEN_SIZES = (16, 8192)  # of M, N and K
UNSEEN_FLOPS = (1e7, 3e11)  # of 2·M·N·K

Shape = tuple[int, int, int]


def random_shapes() -> list[Shape]:
    """RANDOM_COUNT shapes with M, N and K from 1 to RANDOM_LARGEST, always the same."""
    chance = np.random.default_rng(RANDOM_SEED)
    drawn = chance.integers(1, RANDOM_LARGEST + 1, (RANDOM_COUNT, 3))
    return [(int(M), int(N), int(K)) for M, N, K in drawn]


def drawn_shape(chance: np.random.Generator, *ranges: tuple[int, int]) -> Shape:
    """M, N and K, each between a smallest and a largest size, with uniform logarithms."""
    parts = chance.random(3).tolist()
    M, N, K = (round(low * (high / low) ** part) for (low, high), part in zip(ranges, parts, strict=True))
    return M, N, K


def shapes_like_unseen(chance: np.random.Generator) -> Iterator[Shape]:
    """Without end: the logarithms of M, N and K are uniform within UNSEEN_SIZES, and UNSEEN_FLOPS says how much work a
    shape may be. What is too little or too much is drawn again."""
    least, most = UNSEEN_FLOPS
    while True:
        M, N, K = drawn_shape(chance, UNSEEN_SIZES, UNSEEN_SIZES, UNSEEN_SIZES)
        if least <= 2 * M * N * K <= most:
            yield M, N, K


def unseen_shapes(gpu: str = choices.DEFAULT_GPU) -> list[Shape]:
    """UNSEEN_COUNT shapes that nothing was chosen by: they show whether the choice for this GPU generalises.

    They are drawn by a seed that follows from the choice, so that it was made before them.
    """
    return list(itertools.islice(shapes_like_unseen(np.random.default_rng(choices.seed(gpu))), UNSEEN_COUNT))


@dataclass(frozen=True)
class SuiteShape:
    """A shape of the suite `fastest`, and the group that it counts for."""

    group: str
    M: int
    N: int
    K: int

    @property
    def shape(self) -> Shape:
        return self.M, self.N, self.K


def fastest_shapes(shapes: Sequence[Shape] = (), gpu: str = choices.DEFAULT_GPU) -> list[SuiteShape]:
    """All shapes of the suite `fastest`, or only the given ones; one that is not of the suite counts as another.

    gpu: whose choice the unseen ones are drawn after.
    """
    every = [SuiteShape(SQUARES, size, size, size) for size in FASTEST_SQUARES]
    every += [SuiteShape(OTHERS, *shape) for shape in FASTEST_OTHERS]
    every += [SuiteShape(UNSEEN, *shape) for shape in unseen_shapes(gpu)]
    known = {row.shape: row for row in every}
    return [known.get(shape, SuiteShape(OTHERS, *shape)) for shape in shapes] if shapes else every


GOLDEN_SHAPES = (
    *((size, size, size) for size in (1, 64, 128, 256)),
    *((100, 90, 77), (33, 65, 129)),
    *(shape for shape in random_shapes() if max(shape) <= 256),  # what the simulator repeats in reasonable time
)


@dataclass(frozen=True)
class Group:
    """Kernels that are timed in turns with each other and with cuBLAS at one shape."""

    kernels: tuple[Kernel, ...]
    M: int
    N: int
    K: int


def ladder(kernels: Sequence[Kernel] = RUNGS, sizes: Sequence[int] = LADDER_SIZES) -> list[Group]:
    """Every kernel at every square size."""
    return [Group(tuple(kernels), size, size, size) for size in sizes]


def shapes(kernels: Sequence[Kernel] = RUNGS) -> list[Group]:
    """Every kernel at odd, rectangular and very large shapes."""
    return [Group(tuple(kernels), *shape) for shape in OTHER_SHAPES]


def block_shapes() -> list[tuple[int, int]]:
    """All (x, y) with x, y powers of two and from 16 to 1024 threads, so that a slider over powers of two hits each."""
    fewest, most = BLOCK_THREADS
    powers = [2**exponent for exponent in range(most.bit_length())]
    return [(x, y) for x in powers for y in powers if fewest <= x * y <= most]


def blocks(size: int = BLOCK_SIZE) -> list[Group]:
    """Every block shape, along either axis order."""
    return [
        Group(tuple(get(name).replace(block_x=x, block_y=y) for name in BLOCK_KERNELS), size, size, size)
        for x, y in block_shapes()
    ]


def sweep(sizes: Sequence[int] = SWEEP_SIZES) -> list[Group]:
    """One tile, loaded in four ways, by size: when does double buffering help?

    Once more with a single block on an SM, which frees the compiler of its limit on registers; and one tile that is
    twice as deep, which takes the shared memory of two buffers.
    """
    kernels = (*(get(name) for name in SWEEP_KERNELS), get("double_buffered").replace(BLOCKS=1), DEEPER)
    return [Group(kernels, size, size, size) for size in sizes]


def tiles(size: int = TILES_SIZE) -> list[Group]:
    """Tiles of the kernels that keep more than one result in a thread: all that TILES and the rules leave."""
    kernels = []
    for name, values in TILES.items():
        kernel = get(name)
        sets = (dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))
        kernels += [kernel.replace(**params) for params in sets if not broken(kernel.rules, params)]
    return [Group(tuple(kernels), size, size, size)]


def groups_of(suite: str) -> list[Group]:
    """What a suite of TIMED_SUITES measures. A kernel is timed once at a shape: what a suite before this one has there
    is left out, and is read from that one."""
    every = {"ladder": ladder, "shapes": shapes, "blocks": blocks, "sweep": sweep, "tiles": tiles}
    before = TIMED_SUITES[: TIMED_SUITES.index(suite)]
    known = {_key(kernel, group) for name in before for group in every[name]() for kernel in group.kernels}
    groups = [
        replace(group, kernels=tuple(kernel for kernel in group.kernels if _key(kernel, group) not in known))
        for group in every[suite]()
    ]
    return [group for group in groups if group.kernels]


def _key(kernel: Kernel, group: Group) -> tuple[object, ...]:
    return kernel.name, tuple(kernel.params.items()), group.M, group.N, group.K


def in_turns(groups: Mapping[str, Sequence[Group]]) -> list[tuple[Group, tuple[str, ...], int]]:
    """Groups of several suites as one for each shape, so that all kernels there take turns in one run.

    Returns:
        (the group, the suite of each of its kernels, how many groups it was) for each shape.
    """
    at: dict[Shape, list[tuple[str, Group]]] = {}
    for suite, members in groups.items():
        for group in members:
            at.setdefault((group.M, group.N, group.K), []).append((suite, group))
    return [
        (
            Group(tuple(kernel for _, group in members for kernel in group.kernels), *shape),
            tuple(suite for suite, group in members for _ in group.kernels),
            len(members),
        )
        for shape, members in at.items()
    ]


SEARCH, FINALS = "search", "finals"  # of `tune`: all configurations, and the finalists beside cuBLAS
SEARCHES = (SEARCH, FINALS)
CHOICES = "choices"  # of `choose`: the candidates for `gemm_kernels.fastest`
TIMED_SUITES = ("ladder", "shapes", "blocks", "sweep", "tiles")
GOLDEN = "golden"
ALGORITHMS = "algorithms"  # of cuBLASLt (`helpers.tools.measuring.algorithms`)
NAMED, EVERY = "named by the heuristic", "all algorithms"  # of which the best was timed there
LOST, FETCHED = "lost", "fetched"  # for the log of the kernels: where `fastest` loses, and what fetching code costs
SUITES = (*TIMED_SUITES, FASTEST, LOST, FETCHED, GOLDEN, "clocks", "occupancy", "counters", "correctness")
SUITES += ("states", "profiled")  # by Nsight Compute
