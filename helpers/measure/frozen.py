"""Shapes by which nothing is ever chosen: drawn once, kept in frozen_shapes.toml, and never drawn again."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "frozen_shapes.toml"


@cache
def frozen_shapes() -> tuple[tuple[int, int, int], ...]:
    """(M, N, K) of each. How they were drawn is said in the file."""
    return tuple(tuple(shape) for shape in tomllib.loads(FILE.read_text(encoding="utf-8"))["shapes"])
