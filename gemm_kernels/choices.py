"""What was found on a GPU about which kernel is the fastest for a shape: one file per GPU, choices/<gpu>.json.

`python -m helpers.tools.measuring tune` searches the parameters of the kernel `autotuned` and writes `searched`;
`python -m helpers.tools.measuring choose` measures candidates at many shapes and writes `candidates`, with what a
launch of each costs, `trees`, which say what such estimates are off by, and `fastest`, the number of the best
candidate at each shape. `stream_k` has the parameters of that kernel at the shapes that its own were compared at.
`by_shape` makes kernels of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gemm_kernels.trees import Tree

FOLDER = Path(__file__).parent / "choices"
DEFAULT_GPU = "NVIDIA H200"  # whose parameters the kernels of the ladder have; gpusim.devices.DEFAULT is the same one

CHOSEN_BY = ("candidates", "fastest", "trees")  # the parts of a file that `fastest` chooses by

Shape = tuple[int, int, int]  # M, N, K
Params = Mapping[str, int]


class NoChoice(ValueError):
    """Nothing was found on this GPU; the message says what to run and which GPUs there are."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel's name, its parameters, and seconds per unit of work (see `by_shape.amounts`), or None if it is never
    estimated."""

    kernel: str
    params: Params
    costs: Mapping[str, float] | None


@dataclass(frozen=True, eq=False)
class Choices:
    """What was found on one GPU.

    sms: how many streaming multiprocessors it has.
    searched: the fastest parameters of `autotuned` at each shape that was searched for.
    stream_k: the fastest parameters of `stream_k` at each shape that they were compared at.
    candidates: the kernels that were compared.
    fastest: the number of the fastest candidate at each shape that was measured.
    promising_short: how many candidates were promising at a shape with few k (see `by_shape.promising`).
    trees: what estimates are usually off by (see `by_shape.corrected`).
    """

    gpu: str
    sms: int
    searched: Mapping[Shape, Params]
    stream_k: Mapping[Shape, Params]
    candidates: tuple[Candidate, ...]
    fastest: Mapping[Shape, int]
    promising_short: int
    trees: tuple[Tree, ...]


def path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the choices for a GPU are: "NVIDIA H200" -> choices/nvidia-h200.json."""
    return folder / f"{slug(gpu)}.json"


def slug(gpu: str) -> str:
    """A GPU's name as the name of a file or folder: "NVIDIA H200" -> "nvidia-h200"."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")


def gpus(part: str = "gpu") -> tuple[str, ...]:
    """The GPUs that something was found on, or this part of it: "searched", "stream_k" or "fastest"."""
    measured = (_read(file) for file in sorted(FOLDER.glob("*.json")))
    return tuple(choice.gpu for choice in measured if getattr(choice, part))


def of(gpu: str = DEFAULT_GPU, part: str = "gpu") -> Choices:
    """What was found on this GPU. NoChoice, with a sentence that names GPUs with this part of it, if nothing was."""
    file = path(gpu)
    if not file.exists():
        raise NoChoice(
            f"nothing was measured on {gpu!r} to choose kernels by. Run `python -m helpers.tools.measuring tune` and "
            f"`python -m helpers.tools.measuring choose` on it, or take the choice for another GPU: "
            f"{', '.join(map(repr, gpus(part)))}."
        )
    return _read(file)


def seed(gpu: str = DEFAULT_GPU) -> int:
    """A number that follows from what `fastest` chooses by on this GPU: what is drawn by it was drawn after the choice.

    0 if nothing was compared there.
    """
    file = path(gpu)
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    chosen = json.dumps([content[part] for part in CHOSEN_BY if part in content], sort_keys=True)
    return int.from_bytes(hashlib.sha256(chosen.encode("utf-8")).digest()[:8], "big") if "fastest" in content else 0


def searched(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Params:
    """The fastest parameters of `autotuned` at the searched shape nearest to M, N, K. NoChoice if there are none."""
    of_shape = of(gpu, "searched").searched
    if not of_shape:
        raise NoChoice(
            f"no parameters were searched for on {gpu!r}. Run `python -m helpers.tools.measuring tune` on it."
        )
    return of_shape[nearest((M, N, K), of_shape)]


def nearest(shape: Shape, among: Iterable[Shape]) -> Shape:
    """The one of these shapes that differs from `shape` by the smallest factors."""
    return min(among, key=lambda other: distance(shape, other))


def distance(first: Shape, other: Shape) -> float:
    """How far apart two shapes are: by which factors M, N and K differ, multiplied, as a logarithm."""
    return sum(abs(math.log(a / b)) for a, b in zip(first, other, strict=True))


def _read(file: Path) -> Choices:
    """The content of a file; read again when the file has changed."""
    return _cached(file, file.stat().st_mtime_ns)


@cache
def _cached(file: Path, modified: int) -> Choices:
    content = json.loads(file.read_text(encoding="utf-8"))
    return Choices(
        gpu=content["gpu"],
        sms=content["sms"],
        searched={(row["M"], row["N"], row["K"]): row["params"] for row in content.get("searched", ())},
        stream_k={(row["M"], row["N"], row["K"]): row["params"] for row in content.get("stream_k", ())},
        candidates=tuple(
            Candidate(row["kernel"], row["params"], row.get("seconds")) for row in content.get("candidates", ())
        ),
        fastest={(M, N, K): which for M, N, K, which in content.get("fastest", ())},
        promising_short=content.get("promising_short", 50),
        trees=tuple(
            Tree(tuple((name, limit) for name, limit in row["questions"]), tuple(row["values"]))
            for row in content.get("trees", ())
        ),
    )
