"""Which function computes a floating-point PTX instruction: names and modifiers → `float32`, or NumPy's other floats.

Float64 and float16 follow NumPy (round to nearest even); float16 results are computed in float32 or float64 and rounded
once. The approximate instructions are those of `float32`, which says how near to the hardware they are.
"""

from collections.abc import Callable

import numpy as np

from helpers.simulator.arithmetic import float32

ROUNDINGS = ("rn", "rz", "rm", "rp")
WHOLE = ("rni", "rzi", "rmi", "rpi")
SATURATED = ("f32", "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")  # a float to an integer is always limited
ROUNDED = {"add": float32.add, "sub": float32.sub, "mul": float32.mul, "fma": float32.fma, "mad": float32.fma,
           "div": float32.div, "rcp": float32.rcp, "sqrt": float32.sqrt}  # fmt: skip
APPROXIMATE = {
    "div.approx": float32.div_approx, "div.full": float32.div_full, "rcp.approx": float32.rcp_approx,
    "sqrt.approx": float32.sqrt_approx, "rsqrt.approx": float32.rsqrt_approx, "ex2.approx": float32.ex2_approx,
    "lg2.approx": float32.lg2_approx, "sin.approx": float32.sin_approx, "cos.approx": float32.cos_approx,
    "tanh.approx": float32.tanh_approx,
}  # fmt: skip
SIGN_BIT = {2: np.uint16(1 << 15), 4: np.uint32(1 << 31), 8: np.uint64(1 << 63)}
SIGN_BITS_OF_PAIR = np.uint32(0x80008000)
TYPES = ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2")
# Modifiers that each function below takes into account; any other makes the instruction an unknown one.
MODIFIERS = {
    "f32": {*ROUNDINGS, "ftz", "sat", "approx", "full", "NaN"},
    "f64": {"rn"},
    "f16": {"rn", "sat", "relu"},
    "bf16": {"rn"},
    "f16x2": {"rn", "sat", "relu"},
    "bf16x2": {"rn"},
}


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
    if not MODIFIERS[type_].issuperset(modifiers):
        raise KeyError(opcode)
    if name in ("neg", "abs"):
        function = _sign_function(name, type_)
        return float32.ftz(function) if "ftz" in modifiers else function
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


def _sign_function(name: str, type_: str) -> Callable:
    if type_ in ("f16x2", "bf16x2"):
        return (lambda a: a ^ SIGN_BITS_OF_PAIR) if name == "neg" else (lambda a: a & ~SIGN_BITS_OF_PAIR)
    return negate if name == "neg" else absolute


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
    return {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
        "fma": float32.fma64, "mad": float32.fma64,
        "rcp": lambda a: 1.0 / a, "sqrt": np.sqrt, "rsqrt": lambda a: 1.0 / np.sqrt(a), "min": np.fmin, "max": np.fmax,
    }[name]  # fmt: skip


def _wide_function(name: str) -> Callable:
    """An operation on 16-bit numbers held as float32, as a float64 from which one rounding gives the right result."""
    one, zero = np.float32(1), np.float32(-0.0)
    return {
        "add": lambda a, b: float32.fma_to_odd(a, one, b), "sub": lambda a, b: float32.fma_to_odd(a, one, -b),
        "mul": lambda a, b: float32.fma_to_odd(a, b, zero), "fma": float32.fma_to_odd,
        "min": lambda a, b: float32.fmin(a, b).astype(np.float64),
        "max": lambda a, b: float32.fmax(a, b).astype(np.float64),
        "ex2": lambda a: np.exp2(a.astype(np.float64)), "tanh": lambda a: np.tanh(a.astype(np.float64)),
    }[name]  # fmt: skip


def _float16(name: str, modifiers: tuple[str, ...]) -> Callable:
    function = _wide_function(name)

    def rounded(*operands):
        return function(*(np.asarray(o).astype(np.float32) for o in operands)).astype(np.float16)[()]

    if "sat" in modifiers:
        # NaN and -0 become +0, as for float32.
        return lambda *operands: float32.saturate(rounded(*operands).astype(np.float32)).astype(np.float16)
    if "relu" in modifiers:
        return lambda *operands: np.fmax(rounded(*operands), np.float16(0))
    return rounded


def _bfloat16(name: str, modifiers: tuple[str, ...]) -> Callable:
    function = _wide_function(name)

    def rounded(*operands):
        wide = function(*(float32.from_bfloat16(o) for o in operands))
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
    if not {*ROUNDINGS, *WHOLE, "ftz", "sat"}.issuperset(modifiers) or ("sat" in modifiers and to not in SATURATED):
        raise KeyError(opcode)
    rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
    whole = next((m for m in modifiers if m in WHOLE), None)
    if to[0] in "us":
        dtype = np.dtype(f"{'i' if to[0] == 's' else 'u'}{int(to[1:]) // 8}").type
        function: Callable = lambda a: float32.to_integer(a, dtype, whole or "rzi")  # noqa: E731
    elif origin[0] in "us":
        function = {
            "f32": lambda a: float32.from_integer(a, rounding),
            "f64": lambda a: _float64_from_integer(a, rounding),
            # Every integer that float64 cannot hold is far beyond the range of float16.
            "f16": lambda a: float32.to_float16(a.astype(np.float64), rounding),
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
            ("f16", "f64"): lambda a: float32.to_float16(a, rounding),
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


def _float64_from_integer(a, rounding: str):
    """The float64 of an integer of up to 64 bits."""
    if rounding == "rn" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    high, low = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32, a.astype(np.uint32).astype(np.float64)
    total = high + low
    error = low - (total - high)  # exact, because |high| >= low or high is 0
    toward = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[rounding]
    beyond = {"rm": error < 0, "rp": error > 0, "rz": np.where(total > 0, error < 0, error > 0)}[rounding]
    return np.where(beyond, np.nextafter(total, toward), total)[()]


def float32_integral(whole: str) -> Callable:
    """Rounding to a whole number that stays a float of its type."""
    return {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[whole]
