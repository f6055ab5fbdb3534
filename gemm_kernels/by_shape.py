"""The kernels whose parameters are chosen by shape, and the fastest kernel of all: as measured, or else as estimated.

What was measured is in `choices`. A shape that was not measured gets the candidate with the smallest estimate: the
seconds that the `amounts` of work of a launch cost, which were fitted to the candidate's measured times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from gemm_kernels import choices
from gemm_kernels.choices import DEFAULT_GPU, Choices, NoChoice, Shape
from gemm_kernels.kernel import Kernel, check_sizes
from gemm_kernels.ladder import get

ESTIMATED = "stream_k"  # the kernel whose candidates have costs; the others are for one row or one column of C


def autotuned(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `autotuned` with the parameters that a search on this GPU found to be the fastest for such shapes.

    `get("autotuned")` is the one for large matrices on the default GPU. ValueError, with a sentence that lists what
    there is, if no search was made on this GPU, or if M, N or K is less than 1.
    """
    check_sizes(M=M, N=N, K=K)
    return get("autotuned", **choices.searched(M, N, K, gpu))


def stream_k(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `stream_k` with the parameters for this shape, also where `fastest` prefers another kernel."""
    found = fastest(M, N, K, gpu)
    return found if found.name == ESTIMATED else _estimated(_compared(gpu), (M, N, K))


def fastest(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The fastest kernel for C (M, N) = A (M, K) times B (K, N), as measured at this shape or else as estimated.

    ValueError, with a sentence, if nothing was measured on this GPU, or if M, N or K is less than 1.
    """
    check_sizes(M=M, N=N, K=K)
    found, shape = _compared(gpu), (M, N, K)
    if shape not in found.fastest:
        if M > 1 and N > 1:
            return _estimated(found, shape)
        # Bound by memory, where little depends on the parameters: those of a shape with one row, or column, as well.
        one = 0 if M == 1 else 1
        shape = choices.nearest(shape, [measured for measured in found.fastest if measured[one] == 1])
    return _kernels(found)[found.fastest[shape]]


def at_shape(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel itself, or the one that it stands for at this shape.

    A kernel that is chosen by shape and has the parameters of the ladder stands for the one with the parameters for
    this shape on this GPU, if any were found there.
    """
    if not kernel.chosen_by_shape or kernel != get(kernel.name):
        return kernel
    try:
        return {"autotuned": autotuned, "stream_k": stream_k}[kernel.name](M, N, K, gpu)
    except NoChoice:
        return kernel


def variants(kernel: Kernel, gpu: str = DEFAULT_GPU) -> list[Kernel]:
    """The kernel with each set of parameters that may be chosen for it on this GPU, all different."""
    try:
        found = choices.of(gpu)
    except NoChoice:
        return [kernel]
    if kernel.name == "autotuned" and found.searched:
        every = [get(kernel.name, **params) for params in found.searched.values()]
    else:
        every = [kernel, *(one for one in _kernels(found) if one.name == kernel.name)]
    return list({one.entry: one for one in every}.values())


def estimate(kernel: Kernel, costs: Mapping[str, float], shape: Shape, sms: int) -> float:
    """Seconds that a launch is expected to take, by the seconds that each unit of its `amounts` of work costs."""
    done = amounts(kernel, shape, sms)
    return sum(cost * done[name] for name, cost in costs.items())


def amounts(kernel: Kernel, shape: Shape, sms: int) -> dict[str, float]:
    """The work that a launch of the `stream_k` kernel makes for its busiest SM, in the units that costs are per.

    launch: 1.  rounds: rounds of BK one after another, on a GPU with so many SMs.  block_rounds: the same times the
    blocks that share the SM.  tiles, block_tiles: tiles one after another, likewise.  shared: 1 if blocks add up the
    parts of a tile.  parts: how many there are of one.  bytes: of A, B and C, read and written once.
    """
    M, N, K = shape
    p = kernel.params
    tiles = math.ceil(M / p["BM"]) * math.ceil(N / p["BN"])
    of_a_tile = math.ceil(K / p["BK"])
    blocks = kernel.grid(M, N)[0]
    parts = 0.0
    if p["WORKERS"]:
        shared_tiles = tiles % blocks
        if 0 < 2 * shared_tiles < blocks < tiles:
            shared_tiles += blocks
        sharers = min(blocks, max(shared_tiles * of_a_tile, 1))
        share = math.ceil(shared_tiles * of_a_tile / sharers)
        on_an_sm = math.ceil(blocks / sms)
        own_tiles = (tiles - shared_tiles) // blocks + (1 + share / of_a_tile if share else 0)
        rounds = (tiles - shared_tiles) // blocks * of_a_tile + share
        block_rounds, block_tiles = on_an_sm * rounds, on_an_sm * own_tiles
        if shared_tiles and share % of_a_tile:
            parts = sharers / shared_tiles
    else:
        full, rest = divmod(tiles, sms * p["BLOCKS"])
        own_tiles = full + (rest > 0)
        block_tiles = full * p["BLOCKS"] + math.ceil(rest / sms)
        rounds, block_rounds = own_tiles * of_a_tile, block_tiles * of_a_tile
    return {
        "launch": 1.0,
        "rounds": rounds,
        "block_rounds": block_rounds,
        "tiles": own_tiles,
        "block_tiles": block_tiles,
        "shared": float(parts > 0),
        "parts": parts,
        "bytes": 4.0 * (M * K + K * N + 2 * M * N),
    }


def suits(kernel: Kernel, shape: Shape) -> bool:
    """Whether the kernel's LOOPS are those for the rows of B in this shape, if it has a choice of them."""
    return kernel.params.get("LOOPS", 0) in (0, 2 if shape[1] % 4 == 0 else 1)


@lru_cache(maxsize=8)
def _kernels(found: Choices) -> tuple[Kernel, ...]:
    """The candidates as kernels, in the same order."""
    return tuple(get(one.kernel, **one.params) for one in found.candidates)


def _compared(gpu: str) -> Choices:
    """What was found on this GPU, if kernels were compared there; NoChoice otherwise."""
    found = choices.of(gpu)
    if not found.fastest:
        raise NoChoice(f"no kernels were compared on {gpu!r}. Run `python -m helpers.measure choose` on it.")
    return found


def _estimated(found: Choices, shape: Shape) -> Kernel:
    """The candidate with the smallest estimate."""
    pairs = zip(_kernels(found), found.candidates, strict=True)
    fitting = [(kernel, one.costs) for kernel, one in pairs if one.costs and suits(kernel, shape)]
    return min(fitting, key=lambda pair: estimate(*pair, shape, found.sms))[0]
