"""Epilogues: what becomes of each element of alpha · A · B + beta · C before it is stored. They compose, in order:

gemm(A, B, epilogue=(epilogue.bias(b), epilogue.gelu(), epilogue.residual(X)))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemm_kernels.refused import Refused


@dataclass(frozen=True, eq=False)
class Step:
    """One step.

    name: what it was made by.  cpp: the struct of cuda/products/epilogue.cu, {} for the format of its array's elements.
    array: a matrix that fits C, with a missing axis where it is the same along rows or columns; None without one.
    number, seed: what it is given besides.
    """

    name: str
    cpp: str
    array: Any = None
    number: float = 1.0
    seed: int = 0

    @property
    def is_result(self) -> bool:
        """Whether its array is written, and is no matrix beside C."""
        return self.name == "amax"


def _array(name: str, value: Any, least: int) -> Any:
    if not hasattr(value, "ndim") or value.ndim < least:
        wanted = "a matrix" if least == 2 else "a vector"
        raise Refused(f"epilogue.{name} takes {wanted} of the device; found {_short(value)}.")
    return value


def bias(vector: Any) -> Step:
    """Add one number for each column: a vector (N,), or (batch, N) for a batch."""
    return Step("bias", "Add<{}>", _array("bias", vector, 1)[..., None, :])


def residual(matrix: Any, factor: float = 1.0) -> Step:
    """Add `factor` times a matrix of C's shape."""
    return Step("residual", "Add<{}>", _array("residual", matrix, 2), float(factor))


def multiply(matrix: Any) -> Step:
    """Multiply by a matrix of C's shape, element by element: the gate of a gated layer."""
    return Step("multiply", "Multiply<{}>", _array("multiply", matrix, 2))


def row_scale(vector: Any) -> Step:
    """Multiply each row by a number of its own: a vector (M,), or (batch, M)."""
    return Step("row_scale", "Multiply<{}>", _array("row_scale", vector, 1)[..., :, None])


def column_scale(vector: Any) -> Step:
    """Multiply each column by a number of its own: a vector (N,), or (batch, N)."""
    return Step("column_scale", "Multiply<{}>", _array("column_scale", vector, 1)[..., None, :])


def relu() -> Step:
    """max(x, 0); a NaN stays one."""
    return Step("relu", "Each<Relu>")


def gelu() -> Step:
    """x times the share of a normal distribution below x, by the error function and not by tanh."""
    return Step("gelu", "Each<Gelu>")


def silu() -> Step:
    """x / (1 + exp(-x)). A gated layer is (silu(), multiply(other product))."""
    return Step("silu", "Each<Silu>")


def amax(result: Any) -> Step:
    """Raise result[0], a float32 array of one element, to the largest size of an element so far.

    It is not set to zero before: several products can share one maximum.
    """
    if not hasattr(result, "dtype") or result.size != 1 or result.dtype.name != "float32":
        raise Refused(
            f"epilogue.amax takes a float32 array of one element to hold the maximum; found {_short(result)}."
        )
    return Step("amax", "Amax", result)


def dropout(probability: float, seed: int) -> Step:
    """Set elements to zero with this probability, and multiply the others by 1 / (1 - probability).

    Which ones follows from the seed and the element's product, row and column alone, by Philox 4x32-10 with the key
    `seed` and the counter (column // 4, row, product, 0), whose word column % 4 is compared: any launch with the same
    seed drops the same ones.
    """
    if not 0 <= probability < 1:
        raise Refused(f"epilogue.dropout takes a probability from 0 to below 1; found {probability!r}.")
    if not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
        raise Refused(f"epilogue.dropout takes a whole number of 64 bits as its seed; found {seed!r}.")
    return Step("dropout", "Dropout", None, float(probability), seed)


def _short(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
