"""The parameters that searches on GPUs found for the `autotuned` kernel, by shape: read from tuned.json.

The file is written by `python -m helpers.measure tune`, which keeps all that was searched in its recordings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "tuned.json"
DEFAULT_GPU = "NVIDIA H200"

Shape = tuple[int, int, int]  # M, N, K


def gpus() -> tuple[str, ...]:
    """The GPUs that were searched on."""
    return tuple(_read(FILE))


def shapes(gpu: str = DEFAULT_GPU) -> tuple[Shape, ...]:
    """The shapes (M, N, K) that were searched for on this GPU; each stands for those that are like it."""
    return tuple(_of(gpu))


def params(M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> dict[str, int]:
    """The fastest parameters at the searched shape nearest to M, N, K.

    Nearest: M, N and K differ by the smallest factors, multiplied. ValueError if there was no search on this GPU, or if
    M, N or K is less than 1.
    """
    for name, size in (("M", M), ("N", N), ("K", K)):
        if size < 1:
            raise ValueError(f"{name} = {size}, but a matrix has at least one row and one column")
    found = _of(gpu)

    def distance(shape: Shape) -> float:
        return sum(abs(math.log(searched / asked)) for searched, asked in zip(shape, (M, N, K), strict=True))

    return dict(found[min(found, key=distance)])


def forget() -> None:
    """Read the file again at the next question: it was written anew."""
    _read.cache_clear()


def _of(gpu: str) -> Mapping[Shape, Mapping[str, int]]:
    everything = _read(FILE)
    if gpu not in everything:
        raise ValueError(
            f"no parameters were searched for on {gpu!r}. Run `python -m helpers.measure tune` on it, or take those of "
            f"another GPU: {', '.join(map(repr, everything))}."
        )
    return everything[gpu]


@cache
def _read(file: Path) -> Mapping[str, Mapping[Shape, Mapping[str, int]]]:
    """GPU -> shape -> parameters."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return {gpu: {(row["M"], row["N"], row["K"]): row["params"] for row in rows} for gpu, rows in content.items()}
