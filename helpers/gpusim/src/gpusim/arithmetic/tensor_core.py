"""The matrix product of a warp, `mma.sync` and its HMMA, QMMA, IMMA, DMMA, BMMA: D = A · B + C for tiles over 32 lanes.

Where the elements are: PTX ISA, 'Matrix Fragments for mma.m16n8k16' and its neighbours. All follow one rule, with a
lane's group g = lane / 4, its place p = lane % 4 in the group, and c elements in a register: register r of A holds of
row g + 8 · (r % 2) the columns from 4c · (r / 2) + c · p; B is like one row of A for each of its columns; C has two
neighbours in row g, columns 2p and 2p + 1, and two in row g + 8.

How floating-point numbers are added: a tensor core takes some of the products at once (4, 8, 16 or 32), exact, together
with the number that they are added to. The largest exponent among them decides: each is cut, not rounded, a fixed
number of bits below float32's last one, and the sum of what is left is exact. The exponent of a product is the sum of
its factors' exponents, although the product may be twice as large; a subnormal number has the exponent of the smallest
normal one. The sum is cut to float32, or rounded once to float16 (to nearest even; then what becomes zero is +0). M.
Fasi, N. J. Higham, M. Mikaitis and S. Pranesh found that the terms are aligned and cut by experiments ('Numerical
behavior of NVIDIA tensor cores', PeerJ Computer Science 7:e330, 2021), F. A. Khattak and M. Mikaitis the widths on
Hopper ('Accurate models of NVIDIA tensor cores', 2025). That Blackwell, for data centres and RTX, adds as Hopper does
is what P. Xie, Y. Wang, F. Yang and M. Yang found on both ('MMA-Sim', arXiv 2511.10909, 2025), and that of numbers of 8
bits Ada keeps 13 bits, where they are cut and of their sum. What subnormal numbers and float16 sums do is from the
recording of an NVIDIA H200, all of whose results this reproduces: tests/gpusim/goldens/tensor_core.py.

float64 is a chain of fused multiply-adds in the order of k. Integers wrap around, or saturate once, at the end.

Of a sparse A (`mma.sp`, HMMA.SP, IMMA.SP) the fragments hold half of the elements, two of each chunk of four, or one
of two tf32, or two pairs of eight numbers of 4 bits; words of some lanes say which. The others are not multiplied at
all, and what is there is added as a product of half the depth would be: so an NVIDIA H100 does, all of whose results
this reproduces (tests/gpusim/goldens/sparse.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.arithmetic import float8, float16, float32, float64
from gpusim.errors import Unknown

GROUPS, PLACES = 8, 4  # lane = 4 · group + place
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8,
        "e5m2": 8}  # fmt: skip
EIGHTS = ("e4m3", "e5m2")  # of the floating-point formats those with 8 bits
FOURS = ("s4", "u4")
_MIXED = (("s8", "u8"), FOURS, EIGHTS)  # those that may be multiplied with each other
HAS_EIGHTS = ("sm_89", "sm_120", "sm_121")  # whose tensor cores multiply them; ptxas unpacks them for others
HAS_FOURS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89")  # the same of integers of 4 bits
_FLOATS = ("f16", "bf16", "tf32", *EIGHTS)
_SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}  # exponents
_FRACTION = 23  # bits of a float32's
_OF_ZERO = np.int16(-9000)  # an exponent that decides nothing, alone or with another one
_AT_ONCE = 64  # warps whose products are in the cache together


@dataclass(frozen=True, slots=True)
class Form:
    """A shape and its types, by PTX's names: C is (m, 8), A (m, k), B (k, 8).

    saturates: whether an integer that is too large becomes the largest one.
    sparse: whether A holds k / 2 elements of a row, and one word more of a lane says which.
    unpacked: whether numbers of 8 bits are multiplied as float16, as ptxas has it done by tensor cores that lack them:
        of each register one half, then the other, and C is added at last.
    """

    m: int
    k: int
    a: str
    b: str
    result: str
    saturates: bool = False
    sparse: bool = False
    unpacked: bool = False

    @property
    def depth(self) -> int:
        """How many products a sum has."""
        return self.k // 2 if self.sparse else self.k

    @property
    def a_registers(self) -> int:
        """32-bit registers of a lane that hold A."""
        return self.m * self.depth * BITS[self.a] // 1024

    @property
    def b_registers(self) -> int:
        """32-bit registers of a lane that hold B."""
        return 8 * self.k * BITS[self.b] // 1024

    @property
    def c_registers(self) -> int:
        """32-bit registers of a lane that hold C, and D."""
        return self.m * {"f64": 16, "f16": 4}.get(self.result, 8) // 32


# The shapes of each type, (m, k) as SASS writes them, by opcode.
_SHAPES = {
    "f16": {(16, 16), (16, 8)}, "bf16": {(16, 16), (16, 8)}, "tf32": {(16, 8), (16, 4)},
    "f64": {(8, 4), (16, 4), (16, 8), (16, 16)},
    "s8": {(8, 16), (16, 16), (16, 32)}, "s4": {(8, 32), (16, 32), (16, 64)},
    "b1": {(8, 128), (16, 128), (16, 256)}, "e4m3": {(16, 16), (16, 32)},
}  # fmt: skip
_SPARSE_DEPTHS = {"f16": (16, 32), "bf16": (16, 32), "tf32": (8, 16), "s8": (32, 64), "s4": (64, 128), "e4m3": (64,)}


def form(m: int, k: int, a: str, b: str, result: str, saturates: bool = False, sparse: bool = False) -> Form:
    """The form with these sizes and types. Raises Unknown if no tensor core that is modelled has it."""
    kind = next((pair[0] for pair in _MIXED if a in pair), a)
    same = a == b or any({a, b} == {*pair} for pair in _MIXED)
    results = {"f16": ("f32", "f16"), "e4m3": ("f32", "f16"), "f64": ("f64",), "bf16": ("f32",), "tf32": ("f32",)}
    results, shapes = results.get(kind, ("s32",)), _SHAPES.get(kind, set())
    if sparse:
        shapes = {(16, depth) for depth in _SPARSE_DEPTHS.get(kind, ())}
    if not same or result not in results or (m, k) not in shapes or saturates and kind not in ("s8", "s4"):
        raise Unknown(f"a product of {'sparse ' if sparse else ''}matrices m{m}n8k{k} {result} {a} {b}")
    return Form(m, k, a, b, result, saturates, sparse)


@dataclass(frozen=True, slots=True)
class Addition:
    """How a tensor core adds: `products` at once, cut `extra_bits` below the last bit of a float32, or above it."""

    products: int
    extra_bits: int

    @property
    def kept_bits(self) -> int:
        """Of the fraction of a sum that becomes a float32."""
        return min(_FRACTION, _FRACTION + self.extra_bits)


def terms_at_once(arch: str, form: Form) -> Addition:
    """The addition of an architecture: 16 bytes of A and of B in a step on Ampere and Ada, 32 from Hopper on.

    Unknown for one whose tensor cores were not looked at. Integers and float64 do not depend on it.
    """
    if form.a not in _FLOATS:
        return Addition(form.depth, 0)
    family = arch.rstrip("af")
    width, depth = (2, form.depth // 2) if form.unpacked else (BITS[form.a] // 8, form.depth)
    if form.sparse and family != "sm_90":
        raise Unknown(f"how the tensor cores of {arch} add products of sparse matrices; those of sm_90 are known")
    if form.a in EIGHTS and not form.unpacked and family not in HAS_EIGHTS:
        raise Unknown(f"a product of 8-bit numbers, which tensor cores of {arch} do not have")
    match family:
        case "sm_75":
            return Addition(4, 0)
        case "sm_80" | "sm_86" | "sm_87" | "sm_89":
            return Addition(min(depth, 16 // width), -10 if form.a in EIGHTS else 1)
        case "sm_90" | "sm_100" | "sm_103" | "sm_120" | "sm_121":
            return Addition(min(depth, 32 // width), 2)
    raise Unknown(f"how the tensor cores of {arch} add")


def multiply(
    form: Form, a: list, b: list, c: list, addition: Addition, places: Sequence = (), selector: int = 0
) -> list[np.ndarray]:
    """The registers of D as int32 or float32. `a`, `b`, `c` list registers as uint32 (…, 32), one value a lane.

    places: of a sparse A the one register that says which elements it holds, in the lanes that `selector` names.
    """
    shape = np.broadcast_shapes(*(np.shape(register) for register in (*a, *b, *c, *places)))
    given = [
        np.stack([np.broadcast_to(r, shape).reshape(-1, 32) for r in part]) for part in (a, b, c, places) if len(part)
    ]
    warps = given[0].shape[1]
    parts = [
        _multiply(form, *(registers[:, first : first + _AT_ONCE] for registers in given), addition, selector)
        for first in range(0, warps, _AT_ONCE)
    ]
    registers = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    dtype = np.float32 if form.result == "f32" else np.int32
    return [register.view(dtype).reshape(shape) for register in registers]


def _multiply(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray, *rest) -> np.ndarray:
    """D's registers from those of A, B, C and perhaps of the places in A, each (registers, warps, 32) of uint32."""
    *words, addition, selector = rest
    left = _factor(a, BITS[form.a], form.m // 8)
    right = _factor(b, BITS[form.b], 1)[:, None]
    if form.sparse:
        rows = places_in_row(form, words[0][0], selector)
        right = np.take_along_axis(right, rows[:, :, None], axis=0)
    total = _unfold_sum(c, form)
    if form.result == "f64":
        for k in range(form.k):
            total = _fma_keeping_nan(left[k][:, None], right[k], total)
        return _fold_sum(total, form)
    if form.result == "s32":
        x, y = _whole(left, form.a), _whole(right, form.b)
        product = "kmw,kmnw->mnw" if form.sparse else "kmw,kxnw->mnw"
        sums = np.einsum(product, x, y).astype(np.int64) + total.view(np.int32)
        limits = np.iinfo(np.int32)
        sums = np.clip(sums, limits.min, limits.max) if form.saturates else sums
        return _fold_sum(sums.astype(np.uint64).astype(np.uint32), form)
    if form.unpacked:
        return _fold_sum(_by_halves(form, left, right, total, addition), form)
    return _fold_sum(_floating(form, left, right, total, addition), form)


def _by_halves(form: Form, left: np.ndarray, right: np.ndarray, total: np.ndarray, addition: Addition) -> np.ndarray:
    """What `_floating` returns of numbers of 8 bits that are multiplied as float16."""
    as_halves = replace(form, k=form.k // 2, a="f16", b="f16")
    x, y = float8.as_halves(left, form.a), float8.as_halves(right, form.b)
    product = np.zeros_like(total)
    for half in (0, 1):
        some = np.arange(form.depth) // 2 % 2 == half
        product = _floating(as_halves, x[some], y[some], product, addition)
    if form.result == "f32":
        return float32.add(total.view(np.float32), product.view(np.float32)).view(np.uint32)
    return float16.half("add")(total.view(np.float16), product.view(np.float16)).view(np.uint16)


def places_in_row(form: Form, words: np.ndarray, selector: int) -> np.ndarray:
    """(depth, m, warps): where in its row of A each element is that the fragments of a sparse A hold.

    words: (warps, 32) of uint32. Four bits say it of a chunk of four elements, of two tf32 or of eight numbers of 4
    bits. If 16 of them say all of a row, a lane in four has them, those of row g below those of row g + 8; 32 are split
    between two lanes, and 64 between all four.
    """
    of_chunk = {4: 4, 32: 1}.get(BITS[form.a], 2)
    chunk, row = np.arange(form.depth // of_chunk)[:, None], np.arange(form.m)
    lower, group = row // 8, row % 8
    match 4 * len(chunk), BITS[form.a]:
        case 16, _:
            lane, shift = selector + 0 * chunk, 4 * chunk + 16 * lower
        case 32, 16 | 32:
            lane, shift = 2 * selector + chunk // 4, 4 * (chunk % 4) + 16 * lower
        case 32, _:
            lane, shift = 2 * selector + lower, 4 * chunk + 0 * lower
        case _:
            lane, shift = lower + 2 * (chunk // 8), 4 * (chunk % 8) + 0 * lower
    bits = words.T[4 * group + lane] >> shift[..., None].astype(np.uint32) & np.uint32(15)  # (chunk, m, warps)
    first, second = bits & np.uint32(3), bits >> np.uint32(2)
    match of_chunk:
        case 1:
            inside = [first // 2]
        case 2:
            inside = [first, second]
        case _:
            inside = [2 * first, 2 * first + 1, 2 * second, 2 * second + 1]
    wide = form.k // len(chunk)
    positions = np.stack(inside, axis=1).astype(np.int64) + (wide * chunk)[:, None, :, None]
    return positions.reshape(form.depth, form.m, -1)


# ---- registers and matrices, the warps last


def _factor(registers: np.ndarray, bits: int, rows: int) -> np.ndarray:
    """(k, 8 · rows, warps) elements as unsigned integers from (registers, warps, 32) words of uint32."""
    count, warps = registers.shape[0], registers.shape[1]
    if bits == 64:
        words = np.stack([registers[0::2], registers[1::2]], axis=-1).view(np.uint64)
    elif bits < 8:
        words = registers[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & np.uint32((1 << bits) - 1)
    else:
        words = np.ascontiguousarray(registers)[..., None].view(f"u{bits // 8}")
    count, parts = words.shape[0], words.shape[-1]
    words = words.reshape(count // rows, rows, warps, GROUPS, PLACES, parts)
    return words.transpose(0, 4, 5, 1, 3, 2).reshape(count // rows * PLACES * parts, rows * GROUPS, warps)


def _unfold_sum(registers: np.ndarray, form: Form) -> np.ndarray:
    """(m, 8, warps) elements of C as unsigned integers."""
    warps, rows = registers.shape[1], form.m // 8
    if form.result == "f64":
        words = np.stack([registers[0::2], registers[1::2]], axis=-1).view(np.uint64)[..., 0]
    elif form.result == "f16":
        words = np.ascontiguousarray(registers)[..., None].view(np.uint16).transpose(0, 3, 1, 2)
    else:
        words = registers
    words = words.reshape(rows, 2, warps, GROUPS, PLACES)
    return words.transpose(0, 3, 4, 1, 2).reshape(form.m, 8, warps)


def _fold_sum(matrix: np.ndarray, form: Form) -> np.ndarray:
    """(registers, warps, 32) of uint32 from (m, 8, warps) elements."""
    warps, rows = matrix.shape[2], form.m // 8
    words = matrix.reshape(rows, GROUPS, PLACES, 2, warps).transpose(0, 3, 4, 1, 2).reshape(rows, 2, warps, 32)
    if form.result == "f64":
        halves = np.ascontiguousarray(words).view(np.uint32).reshape(rows * 2, warps, 32, 2)
        return np.ascontiguousarray(halves.transpose(0, 3, 1, 2)).reshape(rows * 4, warps, 32)
    if form.result == "f16":
        return words[:, 0].astype(np.uint32) | (words[:, 1].astype(np.uint32) << np.uint32(16))
    return np.ascontiguousarray(words).reshape(rows * 2, warps, 32)


def _whole(elements: np.ndarray, type_: str) -> np.ndarray:
    """Integers as float64, in which their products and sums are exact and fast."""
    if type_ == "s4":
        elements = (elements.astype(np.int8) ^ 8) - 8
    return (elements.view(np.int8) if type_ == "s8" else elements).astype(np.float64)


def _fma_keeping_nan(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The bits of a · b + c. A NaN among them comes through, made quiet, b's before c's before a's; one that arises has
    its sign set."""
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.asarray(float64.fma(*(bits.view(np.float64) for bits in (a, b, c))))
    bits = np.where(np.isnan(result), np.uint64(0xFFF8_0000_0000_0000), result.view(np.uint64))
    for given in (a, c, b):
        nan = np.isnan(given.view(np.float64))
        if nan.any():
            bits = np.where(nan, given | np.uint64(0x0008_0000_0000_0000), bits)
    return bits


# ---- floating-point sums


def _floating(form: Form, left: np.ndarray, right: np.ndarray, total: np.ndarray, addition: Addition) -> np.ndarray:
    """The bits of left (k, m, w) · right (k, m or 1, 8, w) + total (m, 8, w), a few products at a time."""
    x, y = _parts(left, form.a), _parts(right, form.b)
    for first in range(0, form.depth, addition.products):
        some = slice(first, first + addition.products)
        total = _add(form, [p[some] for p in x], [p[some] for p in y], total, addition)
    return total


def _as_float32(bits: np.ndarray, type_: str) -> np.ndarray:
    """Elements of any of the formats as float32, which holds them all."""
    if type_ in EIGHTS:
        return float8.to_float32(bits, type_)
    if type_ == "f16":
        return bits.view(np.float16).astype(np.float32)
    if type_ == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return (bits & np.uint32(0xFFFFE000) if type_ == "tf32" else bits).view(np.float32)


def _parts(bits: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(significand in (-2, 2) as float32, exponent as int16, the number itself) of elements."""
    number = _as_float32(bits, type_)
    smallest = _SMALLEST[type_]
    fields = number.view(np.uint32)
    exponent = ((fields >> np.uint32(23)) & np.uint32(0xFF)).astype(np.int16) - np.int16(127)
    significand = ((fields & np.uint32(0x807FFFFF)) | np.uint32(0x3F800000)).view(np.float32)
    low = exponent < smallest  # subnormal in its format, or zero
    if np.count_nonzero(low):
        shifted = np.ldexp(number[low], 60) * np.float32(2.0 ** (-smallest - 60))
        significand[low] = shifted
        exponent[low] = np.where(shifted == 0, _OF_ZERO, smallest)
    return significand, exponent, number


def _add(form: Form, left: Sequence, right: Sequence, total: np.ndarray, addition: Addition) -> np.ndarray:
    """The bits of total (m, 8, w) after some more products: left (k, m, w) · right (k, m or 1, 8, w)."""
    (x, x_exponent, x_number), (y, y_exponent, y_number) = left, right
    c, c_exponent, c_number = _parts(total, form.result)
    exponents = x_exponent[:, :, None] + y_exponent
    largest = np.maximum(exponents.max(axis=0), c_exponent)
    np.maximum(largest, np.int16(-126), out=largest)
    # Of each term count the units in the place of the last bit that is kept.
    places = np.int16(_FRACTION + addition.extra_bits)
    with np.errstate(invalid="ignore", over="ignore"):
        terms = x[:, :, None] * y
        terms *= _power(exponents - largest + places)
        np.trunc(terms, out=terms)
        units = terms.sum(axis=0, dtype=np.float64)
        units += np.trunc(c * _power(c_exponent - largest + places))
        value = np.ldexp(units, largest.astype(np.int32) - np.int32(places))
        result = _cut(value, addition.kept_bits) if form.result == "f32" else _rounded(value)
    if not all(np.isfinite(numbers).all() for numbers in (x_number, y_number, c_number)):
        result = _with_specials(result, x_number, y_number, c_number)
    return result


def _power(exponents: np.ndarray) -> np.ndarray:
    """2 to these powers as float32; what is below its range is as good as zero here."""
    return ((np.maximum(exponents, np.int16(-126)) + np.int16(127)).astype(np.int32) << np.int32(23)).view(np.float32)


def _with_specials(result: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The result's bits where an infinity or NaN is among the terms."""
    with np.errstate(invalid="ignore", over="ignore"):
        x, y = x.astype(np.float64), y.astype(np.float64)
        plain = (x[:, :, None] * y).sum(axis=0) + c
        small = result.dtype == np.uint16
        special = plain.astype(np.float16).view(np.uint16) if small else plain.astype(np.float32).view(np.uint32)
    nan = result.dtype.type(0x7FFF if small else 0x7FFFFFFF)
    return np.where(np.isfinite(plain), result, np.where(np.isnan(plain), nan, special))


def _cut(values: np.ndarray, fraction: int) -> np.ndarray:
    """The bits of the nearest float32 toward zero of float64 numbers, with so many bits of its fraction; 2^128 and more
    is infinite."""
    kept = (values.view(np.uint64) >> np.uint64(52 - fraction) << np.uint64(52 - fraction)).view(np.float64)
    small = np.abs(values) < 2.0**-126
    if np.count_nonzero(small):
        kept = np.where(small, np.ldexp(np.trunc(np.ldexp(values, 126 + fraction)), -126 - fraction), kept)
    with np.errstate(over="ignore"):
        return kept.astype(np.float32).view(np.uint32)


def _rounded(values: np.ndarray) -> np.ndarray:
    """The bits of the nearest float16; a number that becomes zero becomes +0."""
    with np.errstate(over="ignore"):
        bits = values.astype(np.float16).view(np.uint16)
    return np.where((bits == 0x8000) & (values != 0), np.uint16(0), bits)
