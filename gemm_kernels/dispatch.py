"""Which kernel, with which parameters, is the fastest for a shape: read from dispatch.json, or estimated from it.

The file is written by `python -m helpers.measure choose`, which measures candidates on a GPU at many shapes. It holds
the fastest at each of them, and for every candidate what a launch costs: seconds for each unit of the `amounts` of work
below, fitted to what was measured. A shape that was not measured gets the candidate with the smallest estimate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemm_kernels.kernel import Kernel
from gemm_kernels.ladder import get
from gemm_kernels.tuned import DEFAULT_GPU

FILE = Path(__file__).parent / "dispatch.json"
ESTIMATED = "stream_k"  # the kernel whose candidates have costs; the others are for one row or one column of C

Shape = tuple[int, int, int]  # M, N, K


@dataclass(frozen=True)
class Candidate:
    """A kernel and what it costs: seconds for each unit of its `amounts`, or None if it is never estimated."""

    kernel: Kernel
    costs: Mapping[str, float] | None


@dataclass(frozen=True)
class Choices:
    """What was found on one GPU: how many SMs it has, the candidates, and the fastest at the measured shapes."""

    sms: int
    candidates: tuple[Candidate, ...]
    fastest: Mapping[Shape, Kernel]


def fastest(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The fastest kernel for C (M, N) = A (M, K) times B (K, N), as measured at this shape or else as estimated.

    ValueError, with a sentence, if nothing was measured on this GPU, or if M, N or K is less than 1.
    """
    for name, size in (("M", M), ("N", N), ("K", K)):
        if size < 1:
            raise ValueError(f"{name} = {size}, but a matrix has at least one row and one column")
    choices = of(gpu)
    if (M, N, K) in choices.fastest:
        return choices.fastest[M, N, K]
    if M == 1 or N == 1:  # bound by memory, where little depends on the parameters
        return choices.fastest[_nearest_with_the_same_one(choices, (M, N, K))]
    return _estimated(choices, (M, N, K))


def stream_k(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel `stream_k` with the parameters for this shape, also where `fastest` prefers another kernel."""
    found = fastest(M, N, K, gpu)
    return found if found.name == ESTIMATED else _estimated(of(gpu), (M, N, K))


def gpus() -> tuple[str, ...]:
    """The GPUs that were measured on."""
    return tuple(_read(FILE))


def of(gpu: str = DEFAULT_GPU) -> Choices:
    """What was found on this GPU. ValueError, with a sentence, if nothing was."""
    found = _read(FILE)
    if gpu not in found:
        raise ValueError(
            f"no kernels were compared on {gpu!r}. Run `python -m helpers.measure choose` on it, or take the choice "
            f"for another GPU: {', '.join(map(repr, found))}."
        )
    return found[gpu]


def estimate(candidate: Candidate, shape: Shape, sms: int) -> float:
    """Seconds that a launch is expected to take."""
    done = amounts(candidate.kernel, shape, sms)
    return sum(cost * done[name] for name, cost in (candidate.costs or {}).items())


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


def forget() -> None:
    """Read the file again at the next question: it was written anew."""
    _read.cache_clear()


def _estimated(choices: Choices, shape: Shape) -> Kernel:
    """The candidate with the smallest estimate."""
    fitting = (one for one in choices.candidates if one.costs and suits(one.kernel, shape))
    return min(fitting, key=lambda one: estimate(one, shape, choices.sms)).kernel


def _nearest_with_the_same_one(choices: Choices, shape: Shape) -> Shape:
    """The measured shape that differs by the smallest factors, among those with one row or column, as this has."""
    which = 0 if shape[0] == 1 else 1
    alike = [measured for measured in choices.fastest if measured[which] == 1]
    return min(alike, key=lambda one: sum(abs(math.log(a / b)) for a, b in zip(one, shape, strict=True)))


@cache
def _read(file: Path) -> Mapping[str, Choices]:
    """GPU -> choices."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return {gpu: _choices(found) for gpu, found in content.items()}


def _choices(found: Mapping[str, object]) -> Choices:
    candidates = tuple(
        Candidate(get(one["kernel"], **one["params"]), one.get("seconds")) for one in found["candidates"]
    )
    return Choices(
        sms=found["sms"],
        candidates=candidates,
        fastest={(M, N, K): candidates[which].kernel for M, N, K, which in found["fastest"]},
    )
