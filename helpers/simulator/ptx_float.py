"""Which function computes a floating-point PTX instruction: names and modifiers → `float32`, or NumPy's other floats.

Float64 and float16 follow NumPy (round to nearest even); float16 results are computed in float32 or float64 and rounded
once. The approximate instructions are those of `float32`, which says how near to the hardware they are.
"""

from collections.abc import Callable

import numpy as np

from helpers.simulator import float32

ROUNDINGS = ("rn", "rz", "rm", "rp")
ROUNDED = {"add": float32.add, "sub": float32.sub, "mul": float32.mul, "fma": float32.fma, "mad": float32.fma,
           "div": float32.div, "rcp": float32.rcp, "sqrt": float32.sqrt}  # fmt: skip
APPROXIMATE = {
    "div.approx": float32.div_approx, "div.full": float32.div_full, "rcp.approx": float32.rcp_approx,
    "sqrt.approx": float32.sqrt_approx, "rsqrt.approx": float32.rsqrt_approx, "ex2.approx": float32.ex2_approx,
    "lg2.approx": float32.lg2_approx, "sin.approx": float32.sin_approx, "cos.approx": float32.cos_approx,
    "tanh.approx": float32.tanh_approx,
}  # fmt: skip
SIGN_BIT = {2: np.uint16(1 << 15), 4: np.uint32(1 << 31), 8: np.uint64(1 << 63)}


def flushed(a):
    """`float32.flush`, with one cheap reduction for the usual case that there is nothing to flush."""
    if np.minimum.reduce(np.abs(a), axis=None) >= float32.SMALLEST_NORMAL:
        return a
    return float32.flush(a)


def fma_ftz(a, b, c):
    """fma.rn.ftz.f32: subnormal operands and results become zero."""
    return flushed(float32.fma(flushed(a), flushed(b), flushed(c)))


def fma_of_normals(a, b, c):
    """fma.rn.ftz.f32 of operands without subnormal numbers."""
    return flushed(float32.fma(a, b, c))


def negate(a):
    """The sign bit flipped, of NaN too."""
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) ^ SIGN_BIT[a.dtype.itemsize]).view(a.dtype)


def absolute(a):
    """The sign bit cleared, of NaN too."""
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) & ~SIGN_BIT[a.dtype.itemsize]).view(a.dtype)


def copy_sign(sign, magnitude):
    """copysign d, a, b: the magnitude of b with the sign of a."""
    return np.copysign(magnitude, sign)


def operation(opcode: tuple[str, ...]) -> Callable:
    """The function of a floating-point instruction; KeyError if it is not known."""
    name, type_, modifiers = opcode[0], opcode[-1], opcode[1:-1]
    if name == "neg":
        return negate
    if name == "abs":
        return absolute
    if name == "copysign":
        return copy_sign
    if type_ == "f32":
        return _float32(name, modifiers)
    if type_ == "f64":
        return _float64(name, modifiers)
    if type_ == "f16":
        return _float16(name, modifiers)
    if type_ in ("f16x2", "bf16x2", "bf16"):
        return _packed(name, modifiers, type_)
    raise KeyError(name)


def _float32(name: str, modifiers: tuple[str, ...]) -> Callable:
    if name in ("min", "max"):
        propagate = "NaN" in modifiers
        function = {("min", False): float32.fmin, ("max", False): float32.fmax,
                    ("min", True): float32.fmin_nan, ("max", True): float32.fmax_nan}[name, propagate]  # fmt: skip
    elif (key := f"{name}.{modifiers[0]}" if modifiers else name) in APPROXIMATE:
        function = APPROXIMATE[key]
    else:
        function = ROUNDED[name]
        rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
        if rounding != "rn":
            rounded = function
            function = lambda *operands: rounded(*operands, rounding=rounding)  # noqa: E731
    if "ftz" in modifiers:
        function = fma_ftz if function is float32.fma else float32.ftz(function)
    if "sat" in modifiers:
        unlimited = function
        return lambda *operands: float32.saturate(unlimited(*operands))
    return function


def _float64(name: str, modifiers: tuple[str, ...]) -> Callable:
    if any(m in ("rz", "rm", "rp") for m in modifiers):
        raise KeyError("float64 rounding modes")
    return {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fma": float32.fma64, "mad": float32.fma64,
        "rcp": lambda a: 1.0 / a, "sqrt": np.sqrt, "rsqrt": lambda a: 1.0 / np.sqrt(a), "min": np.fmin, "max": np.fmax,
    }[name]  # fmt: skip


def _wide_function(name: str) -> Callable:
    """An operation on two or three 16-bit numbers carried out in float64, where it is exact but for one rounding."""
    return {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "fma": lambda a, b, c: a * b + c,
        "min": np.fmin, "max": np.fmax, "ex2": np.exp2, "tanh": np.tanh,
    }[name]  # fmt: skip


def _float16(name: str, modifiers: tuple[str, ...]) -> Callable:
    function = _wide_function(name)
    if name in ("min", "max"):
        return function

    def rounded(*operands):
        return function(*(np.asarray(o).astype(np.float64) for o in operands)).astype(np.float16)[()]

    if "sat" in modifiers:
        return lambda *operands: np.clip(rounded(*operands), np.float16(0), np.float16(1))
    if "relu" in modifiers:
        return lambda *operands: np.fmax(rounded(*operands), np.float16(0))
    return rounded


def _bfloat16(name: str, modifiers: tuple[str, ...]) -> Callable:
    function = _wide_function(name)

    def rounded(*operands):
        wide = function(*(float32.from_bfloat16(o).astype(np.float64) for o in operands))
        return float32.to_bfloat16(_to_odd_float32(wide))

    return rounded


def _to_odd_float32(wide):
    """Float64 → float32 such that rounding once more to 8 bits is right: an inexact result gets an odd last bit."""
    narrow = np.asarray(wide).astype(np.float32)
    toward_zero = np.where(np.abs(narrow) > np.abs(wide), np.nextafter(narrow, np.float32(0)), narrow)
    inexact = (toward_zero.astype(np.float64) != wide) & np.isfinite(wide)
    return (toward_zero.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)[()]


def _packed(name: str, modifiers: tuple[str, ...], type_: str) -> Callable:
    """Two 16-bit numbers in one register, or one bfloat16 held as bits."""
    if type_ == "bf16":
        return _bfloat16(name, modifiers)
    if type_ == "f16x2":
        half = _float16(name, modifiers)
        single = lambda *bits: half(*(b.view(np.float16) for b in bits)).view(np.uint16)  # noqa: E731
    else:
        single = _bfloat16(name, modifiers)

    def both(*operands):
        low = single(*(np.asarray(o & np.uint32(0xFFFF)).astype(np.uint16) for o in operands))
        high = single(*(np.asarray(o >> np.uint32(16)).astype(np.uint16) for o in operands))
        return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))

    return both


def conversion(opcode: tuple[str, ...]) -> Callable:
    """The function of a cvt with a floating-point type on at least one side; KeyError if it is not known."""
    to, origin, modifiers = opcode[-2], opcode[-1], opcode[1:-2]
    rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
    whole = next((m for m in modifiers if m in ("rni", "rzi", "rmi", "rpi")), None)
    if to[0] in "us":
        dtype = np.dtype(f"{'i' if to[0] == 's' else 'u'}{int(to[1:]) // 8}").type
        function: Callable = lambda a: float32.to_integer(a, dtype, whole or "rzi")  # noqa: E731
    elif origin[0] in "us":
        function = {
            "f32": lambda a: float32.from_integer(a, rounding),
            "f64": lambda a: a.astype(np.float64),
            "f16": lambda a: a.astype(np.float64).astype(np.float16),
        }[to]
    elif whole is not None:
        function = {
            "f32": lambda a: float32.to_whole(a, whole),
            "f64": float32_integral(whole),
            "f16": float32_integral(whole),
        }[to]
    else:
        function = {
            ("f32", "f32"): lambda a: a,
            ("f64", "f64"): lambda a: a,
            ("f64", "f32"): lambda a: a.astype(np.float64),
            ("f32", "f64"): lambda a: float32.from_float64(a, rounding),
            ("f16", "f32"): lambda a: float32.to_float16(a, rounding),
            ("f32", "f16"): float32.from_float16,
            ("f64", "f16"): lambda a: a.astype(np.float64),
            ("f16", "f64"): lambda a: a.astype(np.float16),
            ("bf16", "f32"): lambda a: float32.to_bfloat16(a, rounding),
            ("f32", "bf16"): float32.from_bfloat16,
        }[to, origin]
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


def float32_integral(whole: str) -> Callable:
    """Rounding to a whole number that stays a float of its type."""
    return {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[whole]
