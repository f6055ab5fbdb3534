"""Conversions with a floating-point type on at least one side: PTX's cvt, and F2F, F2I, I2F and FRND of machine code.

Reference: PTX ISA, 'Data Movement and Conversion Instructions: cvt'.
"""

from collections.abc import Callable, Sequence

import numpy as np

from gpusim.arithmetic import float32, float64
from gpusim.arithmetic.operations import ROUNDINGS, refuse_unknown
from gpusim.errors import Unknown

WHOLE = tuple(float32.TO_WHOLE)  # the roundings to a whole number
RELU = (("f16", "f32"), ("bf16", "f32"))  # from and to what negative numbers may become zero
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def conversion(to: str, origin: str, modifiers: Sequence[str] = ()) -> Callable:
    """The function from arrays of the type `origin` to arrays of the type `to` (PTX's names), of any shape.

    Modifiers are a rounding, ftz, sat and relu. bf16 is bits as uint16.
    Raises Unknown for a pair of types or a modifier that is not modelled.
    """
    modifiers = tuple(modifiers)
    # A float is always limited to the range of an integer, with or without .sat.
    own = ("sat",) if to == "f32" or to in INTEGERS else ("relu",) if (to, origin) in RELU else ()
    refuse_unknown(modifiers, (*ROUNDINGS, *WHOLE, "ftz", *own))
    function = _plain(to, origin, modifiers)
    if "relu" in modifiers:
        signed = function
        function = lambda a: signed(np.where(a <= 0, np.float32(0), a)[()])  # noqa: E731
    if "ftz" in modifiers and origin == "f32":
        keeping = function
        function = lambda a: keeping(float32.flush(a))  # noqa: E731
    if "ftz" in modifiers and to == "f32":
        unflushed = function
        function = lambda a: float32.flush(unflushed(a))  # noqa: E731
    if "sat" in modifiers and to == "f32":
        unlimited = function
        return lambda a: float32.saturate(unlimited(a))
    return function


def _plain(to: str, origin: str, modifiers: tuple[str, ...]) -> Callable:
    """The conversion without .ftz and .sat."""
    rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
    whole = next((m for m in modifiers if m in WHOLE), None)
    functions: dict[tuple[str, str], Callable] = {
        ("f32", "f32"): lambda a: a,
        ("f64", "f64"): lambda a: a,
        ("f16", "f16"): lambda a: a,
        ("f64", "f32"): lambda a: float64.quieted(a.astype(np.float64)),
        ("f32", "f64"): lambda a: _with_nan_of(a, float32.from_float64(a, rounding)),
        ("f16", "f32"): lambda a: float32.to_float16(a, rounding),
        ("f32", "f16"): float32.from_float16,
        ("f64", "f16"): lambda a: float64.quieted(a.astype(np.float64)),
        ("f16", "f64"): lambda a: _with_nan_of(a, float32.to_float16(a, rounding)),
        ("bf16", "f32"): lambda a: float32.to_bfloat16(a, rounding),
        ("bf16", "f64"): lambda a: _with_nan_of(a, float32.to_bfloat16(float32.to_odd_float32(a), rounding)),
        ("f32", "bf16"): lambda a: (a.astype(np.uint32) << np.uint32(16)).view(np.float32),  # a NaN stays what it is
    }
    from_integer: dict[str, Callable] = {
        "f32": lambda a: float32.from_integer(a, rounding),
        "f64": lambda a: _float64_from_integer(a, rounding),
        # Every integer that float64 cannot hold is far beyond the range of float16.
        "f16": lambda a: float32.to_float16(a.astype(np.float64), rounding),
        "bf16": lambda a: float32.to_bfloat16(float32.to_odd_float32(_odd_float64_from_integer(a)), rounding),
    }
    if to in INTEGERS and origin == "bf16":
        whole_of_float = _plain(to, "f32", modifiers)
        return lambda a: whole_of_float(float32.from_bfloat16(a))
    if whole is not None and to == origin == "bf16":
        return lambda a: float32.to_bfloat16(float32.to_whole(float32.from_bfloat16(a), whole))
    if to in INTEGERS and origin in ("f16", "f32", "f64"):
        dtype = np.dtype(f"{'i' if to[0] == 's' else 'u'}{int(to[1:]) // 8}").type
        return lambda a: float32.to_integer(a, dtype, whole or "rzi")
    if origin in INTEGERS and to in from_integer:
        return from_integer[to]
    if whole is not None and to == origin and to in from_integer:
        if to == "f16":
            return lambda a: float32.canonical_half(float32.TO_WHOLE[whole](a))
        return (lambda a: float32.to_whole(a, whole)) if to == "f32" else float32.TO_WHOLE[whole]
    if whole is None and (to, origin) in functions:
        return functions[to, origin]
    raise Unknown(f"a conversion from {origin} to {to}" + (f" with .{whole}" if whole else ""))


def _with_nan_of(a, narrow):
    """`narrow`, and where the float64 `a` is NaN its sign and as much of its payload as there is room for, quiet."""
    is_nan = np.isnan(a)
    if not np.any(is_nan):
        return narrow
    dtype = np.asarray(narrow).dtype
    bits, fraction = 8 * dtype.itemsize, {"float32": 23, "float16": 10, "uint16": 7}[dtype.name]
    wide = np.asarray(float64.quiet(a)).view(np.uint64)
    payload = wide >> np.uint64(52 - fraction) & np.uint64((1 << bits - 1) - 1)
    sign = wide >> np.uint64(63) << np.uint64(bits - 1)
    return np.where(is_nan, (sign | payload).astype(f"u{dtype.itemsize}").view(dtype), narrow)[()]


def _odd_float64_from_integer(a):
    """The float64 of an integer, with an odd last bit where it is not exact (`float32.to_odd`)."""
    if a.dtype.itemsize < 8:
        return a.astype(np.float64)
    total, error = _float64_and_rest(a)
    return float32.to_odd(total, error)


def _float64_and_rest(a):
    """An integer of 64 bits as a float64 and what that lacks.

    The two halves of 32 bits are exact, and so is what their sum lacks.
    """
    high, low = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32, a.astype(np.uint32).astype(np.float64)
    total = high + low
    return total, low - (total - high)  # exact, because |high| >= low or high is 0


def _float64_from_integer(a, rounding: str):
    """The float64 of an integer of up to 64 bits: 2^53 + 1 is 2^53 rounded down and 2^53 + 2 rounded up."""
    if rounding == "rn" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    total, error = _float64_and_rest(a)
    toward = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[rounding]
    beyond = {"rm": error < 0, "rp": error > 0, "rz": np.where(total > 0, error < 0, error > 0)}[rounding]
    return np.where(beyond, np.nextafter(total, toward), total)[()]
