"""What the kernels of notebook 18 are given."""

from __future__ import annotations

from helpers import headers
from helpers.exercises.framework.blank import Plain


def given() -> Plain:
    """The tile that they include, to be unfolded."""
    return Plain((headers.FOLDER / "family" / "tile.cuh").read_text(encoding="utf-8"), "family/tile.cuh")
