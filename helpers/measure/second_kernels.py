"""What the user of a library launches before or behind a product, at the speed of memory: see `second_kernels.cu`.

Each function returns a launch on arrays of the device, row-major and without gaps between their rows. A product with
its epilogue, or a convolution without its matrix, is compared with cuBLAS and these, and not with slower ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import run

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, EACH = 256, 4  # as the source has them
WIDE = 16  # bytes that a thread loads at once


def bias_gelu(bias: Any, C: Any) -> Callable[[], None]:
    """C = GELU(C + bias) in place, by the error function. bias has a number for each column; both are float32."""
    rows, columns = C.shape
    _whole("A row of C", columns * C.itemsize)
    grid = (-(-columns * C.itemsize // WIDE // THREADS), -(-rows // EACH))
    return _launch("bias_gelu", grid, (np.int32(rows), np.int32(columns), bias, C))


def silu_gate(up: Any, gate: Any) -> Callable[[], None]:
    """gate = gate / (1 + exp(-gate)) · up, element by element, in place; both are float32."""
    _whole("The gate", gate.nbytes)
    quads = gate.nbytes // WIDE
    return _launch("silu_gate", (-(-quads // (EACH * THREADS)),), (np.int32(quads), up, gate))


def patches(X: Any, R: int, matrix: Any) -> Callable[[], None]:
    """Every pixel's R × R neighbours in a row of `matrix`, (images · H · W, R · R · C), with zeros beyond the image.

    X: (images, H, W, C).
    """
    _, H, W, C = X.shape
    _whole("A pixel", C * X.itemsize)
    chunks = matrix.nbytes // WIDE
    entry = f"patches<{H}, {W}, {C * X.itemsize // WIDE}, {R}>"
    return _launch(
        entry, (-(-chunks // (EACH * THREADS)),), (np.uint32(chunks), X.view(np.uint32), matrix.view(np.uint32))
    )


def _whole(what: str, size: int) -> None:
    if size % WIDE:
        raise ValueError(f"{what} has {size} bytes, which is no multiple of {WIDE}: this kernel loads {WIDE} at once.")


def _launch(entry: str, grid: tuple[int, ...], arguments: tuple[Any, ...]) -> Callable[[], None]:
    return partial(_kernel(entry), grid, (THREADS,), arguments)


@cache
def _kernel(entry: str) -> Any:
    return run.function(SOURCE.read_text(encoding="utf-8"), entry)
