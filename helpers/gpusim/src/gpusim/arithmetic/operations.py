"""Floating-point operations by PTX's names: ("fma", ("rn", "ftz"), "f32") → the function that computes it.

Machine code asks under the same names. The functions of float32 are those of `float32`, of float64 NumPy's and those of
`float64`, of the 16-bit formats those of `float16`, approximate ones those of `special_functions`. Reference: PTX ISA,
'Floating Point Instructions' and 'Half Precision Floating Point Instructions'.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from gpusim.arithmetic import float16, float32, float64, special_functions
from gpusim.errors import Unknown

ROUNDINGS = ("rn", "rz", "rm", "rp")
ROUNDED = {"add": float32.add, "sub": float32.sub, "mul": float32.mul, "fma": float32.fma, "mad": float32.fma,
           "div": float32.div, "rcp": float32.rcp, "sqrt": float32.sqrt}  # fmt: skip
APPROXIMATE = {f"{name}.approx": function for name, function in special_functions.APPROXIMATE.items()} | {
    "div.full": special_functions.divide_in_full_range
}
EXTREMES = {
    "min": float32.fmin, "max": float32.fmax, "min.NaN": float32.fmin_nan, "max.NaN": float32.fmax_nan,
}  # fmt: skip
ROUNDED64 = {"add": float64.add, "sub": lambda a, b, rounding: float64.add(a, -b, rounding), "mul": float64.mul,
             "fma": float64.fma, "mad": float64.fma, "div": float64.div, "sqrt": float64.sqrt,
             "rcp": lambda a, rounding: float64.div(1.0, a, rounding)}  # fmt: skip
FLOAT64 = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "fma": float64.fma, "mad": float64.fma, "min": float64.fmin, "max": float64.fmax,
    "rcp": lambda a: 1.0 / a, "sqrt": np.sqrt,
}  # fmt: skip
HAND_ON_NAN = ("add", "sub", "mul", "fma", "mad")  # of float64: what is one instruction of machine code
APPROXIMATE64 = {"rcp": float64.rcp_approx_ftz, "rsqrt": float64.rsqrt_approx_ftz}
SIGN_BIT = {2: np.uint16(1 << 15), 4: np.uint32(1 << 31), 8: np.uint64(1 << 63)}
SIGN_BITS_OF_PAIR = np.uint32(0x80008000)
FTZ_OF_HALVES = {"f16": np.float16(-0.0), "f16x2": SIGN_BITS_OF_PAIR}  # -0 of the types that have it
# By type, the modifiers that the functions here take into account.
MODIFIERS = {
    "f32": {*ROUNDINGS, "ftz", "sat", "approx", "full", "NaN"},
    "f32x2": {*ROUNDINGS, "ftz"},
    "f64": {*ROUNDINGS, "approx", "ftz"},
    "f16": {"rn", "ftz", "sat", "relu", "approx"},
    "bf16": {"rn", "ftz", "relu", "approx"},
    "f16x2": {"rn", "ftz", "sat", "relu", "approx"},
    "bf16x2": {"rn", "ftz", "relu", "approx"},
}


def operation(name: str, modifiers: Sequence[str], type_: str) -> Callable:
    """The function of a floating-point instruction, of arrays of its type whose shapes broadcast.

    Arrays of bf16 hold bits as uint16, those of f16x2 and bf16x2 as uint32, those of f32x2 as uint64.
    Raises Unknown for a name, a type or a modifier that is not modelled.
    """
    return _operation(name, tuple(modifiers), type_)


@cache
def _operation(name: str, modifiers: tuple[str, ...], type_: str) -> Callable:
    refuse_unknown(modifiers, MODIFIERS.get(type_, ()))
    if name in ("neg", "abs"):
        function = sign_function(name, type_)
        if "ftz" not in modifiers:
            return function
        return float32.ftz(function) if type_ == "f32" else _flushing_sum(function, type_)
    if name == "copysign":
        return copy_sign
    if type_ == "f32":
        return _float32(name, modifiers)
    if type_ == "f32x2":
        return _of_both(_float32(name, modifiers))
    if type_ == "f64":
        return _float64(name, modifiers)
    if type_ == "f16":
        return float16.half(name, modifiers)
    if type_ == "bf16":
        return float16.brain(name, modifiers)
    if type_ in ("f16x2", "bf16x2"):
        return float16.pair(name, modifiers, type_)
    raise Unknown(f"{name} of {type_} numbers")


def _of_both(single: Callable) -> Callable:
    """The function of pairs of float32, as the bits of both in uint64, that does the same with each part."""

    def pair(*operands):
        low = single(*(o.astype(np.uint32).view(np.float32) for o in operands))
        high = single(*((o >> np.uint64(32)).astype(np.uint32).view(np.float32) for o in operands))
        bits = [np.asarray(part).view(np.uint32).astype(np.uint64) for part in (low, high)]
        return bits[0] | bits[1] << np.uint64(32)

    return pair


def refuse_unknown(modifiers: Sequence[str], known) -> None:
    """Raise Unknown for the first modifier that is not among the known ones."""
    for modifier in modifiers:
        if modifier not in known:
            raise Unknown(f"the modifier .{modifier}")


def _flushing_sum(sign: Callable, type_: str) -> Callable:
    """neg.ftz or abs.ftz of float16: what ptxas makes of it is the sum with -0."""
    if type_ not in FTZ_OF_HALVES:
        raise Unknown(f"the modifier .ftz of {type_}")
    add, zero = _operation("add", ("ftz",), type_), FTZ_OF_HALVES[type_]
    return lambda a: add(sign(a), zero)


def sign_function(name: str, type_: str) -> Callable:
    """neg or abs: the sign bit flipped or cleared, of NaN too."""
    if type_ in ("f16x2", "bf16x2"):
        return (lambda a: a ^ SIGN_BITS_OF_PAIR) if name == "neg" else (lambda a: a & ~SIGN_BITS_OF_PAIR)
    return _negate if name == "neg" else _absolute


def _negate(a):
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) ^ SIGN_BIT[a.dtype.itemsize]).view(a.dtype)


def _absolute(a):
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) & ~SIGN_BIT[a.dtype.itemsize]).view(a.dtype)


def copy_sign(sign, magnitude):
    """copysign d, a, b: the magnitude of b with the sign of a. PTX names the sign first, NumPy the magnitude."""
    return np.copysign(magnitude, sign)


def _float32(name: str, modifiers: tuple[str, ...]) -> Callable:
    if name in ("min", "max"):
        function = EXTREMES[f"{name}.NaN" if "NaN" in modifiers else name]
    elif (key := f"{name}.{modifiers[0]}" if modifiers else name) in APPROXIMATE:
        function = APPROXIMATE[key]
    else:
        function = _found(ROUNDED, name, "f32")
        rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
        if rounding != "rn":
            rounded = function
            function = lambda *operands: rounded(*operands, rounding=rounding)  # noqa: E731
    if "ftz" in modifiers:
        special = {float32.fma: float32.fma_ftz, float32.div: float32.div_ftz}
        function = special.get(function) or float32.ftz(function)
    if "sat" in modifiers:
        unlimited = function
        return lambda *operands: float32.saturate(unlimited(*operands))
    return function


def _float64(name: str, modifiers: tuple[str, ...]) -> Callable:
    if "approx" in modifiers or "ftz" in modifiers:
        if modifiers == ("approx", "ftz"):
            return _found(APPROXIMATE64, name, "approx.ftz.f64")
        if (name, modifiers) == ("rsqrt", ("approx",)):
            return float64.rsqrt_approx
        raise Unknown(f"{'.'.join((name, *modifiers))}.f64")
    rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
    if rounding == "rn":
        function = _found(FLOAT64, name, "f64")
    else:
        rounded = _found(ROUNDED64, name, f"{rounding}.f64")
        function = lambda *operands: rounded(*operands, rounding=rounding)  # noqa: E731
    if name not in HAND_ON_NAN:
        return function
    return lambda *operands: float64.hand_on_nan(function(*operands), operands)


def _found(functions: dict[str, Callable], name: str, type_: str) -> Callable:
    if name not in functions:
        raise Unknown(f"{name}.{type_}")
    return functions[name]
