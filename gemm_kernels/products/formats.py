"""Formats of elements: what they are called, what C++ calls them, and which arrays hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gemm_kernels.refused import Refused


@dataclass(frozen=True)
class Format:
    """How the elements of a matrix are stored.

    name: "f32", as `dtype=` names it.  cpp: the struct of cuda/products/formats.cu.
    size: bytes of an element.  sums: the name of the format that sums of products have.
    stored: NumPy's types that hold it, by name; the last one holds its bits where NumPy has no such type.
    tensor_cores: whether a tensor core multiplies it without a change of its bits.
    since: the first compute capability, times ten, whose tensor cores do.
    """

    name: str
    cpp: str
    size: int
    sums: str
    stored: tuple[str, ...]
    tensor_cores: bool = True
    since: int = 80


FORMATS = {
    format_.name: format_
    for format_ in (
        Format("f32", "F32", 4, "f32", ("float32",), tensor_cores=False),
        Format("f64", "F64", 8, "f64", ("float64",)),
        Format("f16", "F16", 2, "f32", ("float16", "uint16")),
        Format("bf16", "BF16", 2, "f32", ("bfloat16", "uint16")),
        Format("s8", "S8", 1, "s32", ("int8",)),
        Format("e4m3", "E4M3", 1, "f32", ("float8_e4m3fn", "uint8"), since=89),
        Format("e5m2", "E5M2", 1, "f32", ("float8_e5m2", "uint8"), since=89),
        Format("s32", "S32", 4, "s32", ("int32",), tensor_cores=False),
    )
}
OPERANDS = ("f32", "f64", "f16", "bf16", "s8", "e4m3", "e5m2")  # what A and B may be
_BITS = {"uint16": '"f16" or "bf16"', "uint8": '"e4m3" or "e5m2"'}


def named(dtype: Any) -> Format:
    """The format that `dtype=` asks for, by its name or by a type of NumPy's. Refused for another one."""
    name = dtype if isinstance(dtype, str) else ""
    if name in OPERANDS:
        return FORMATS[name]
    try:
        stored = np.dtype(dtype).name
    except TypeError:
        stored = str(dtype)
    for format_ in (FORMATS[name] for name in OPERANDS):
        if stored == format_.stored[0]:
            return format_
    raise Refused(f"dtype is {dtype!r}; A and B may be {', '.join(OPERANDS)}, such as dtype='bf16'.")


def of_array(what: str, array: Any, dtype: Format | None) -> Format:
    """The format of an operand: that of its array, or `dtype`, which the array must be able to hold."""
    stored = array.dtype.name
    if dtype is not None:
        if stored not in dtype.stored:
            held = " or ".join(dtype.stored)
            raise Refused(
                f"{what} has elements of type {stored}, and {dtype.name} is held by {held}. Convert it first."
            )
        return dtype
    if stored in _BITS:
        raise Refused(
            f"{what} has elements of type {stored}, bits of a format that NumPy lacks: say dtype={_BITS[stored]}."
        )
    for format_ in (FORMATS[name] for name in OPERANDS):
        if stored == format_.stored[0]:
            return format_
    raise Refused(f"{what} has elements of type {stored}; A and B may be {', '.join(OPERANDS)}. Convert it first.")


def of_result(what: str, array: Any, operand: Format) -> Format:
    """The format of C, or of a matrix beside it: float32, 16 bits, float64 or int32."""
    stored = array.dtype.name
    name = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int32": "s32"}.get(stored)
    if stored == "uint16" and operand.size == 2:
        name = operand.name
    if name is None:
        raise Refused(f"{what} has elements of type {stored}; it may have float32, float16, float64 or int32.")
    return FORMATS[name]
