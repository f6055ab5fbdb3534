"""The matrix product of a warp, HMMA and `mma.sync`: D = A · B + C for small tiles spread over 32 lanes.

Where the elements are: PTX ISA, 'Matrix Fragments for mma.m16n8k8' and 'mma.m16n8k16'.

How they are added: a tensor core takes some of the products at once (4, 8 or 16), exact, together with the number that
they are added to. All are aligned to the largest exponent among them and cut, not rounded, to 24 bits and a few more;
the sum is cut to float32. M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh found this by experiments ('Numerical
behavior of NVIDIA tensor cores', PeerJ Computer Science 7:e330, 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.simulator.arithmetic import float32
from helpers.simulator.errors import Unknown

LANE = np.arange(32)
ROW, PAIR = LANE // 4, LANE % 4
N = 8


@dataclass(frozen=True, slots=True)
class Form:
    """A shape and its types: C is (16, 8), A (16, k), B (k, 8)."""

    k: int
    type_: str  # "F16", "BF16" or "TF32"
    result: str  # "F32" or "F16"

    @property
    def a_registers(self) -> int:
        return 16 * self.k * (4 if self.type_ == "TF32" else 2) // 128

    @property
    def b_registers(self) -> int:
        return self.a_registers // 2

    @property
    def c_registers(self) -> int:
        return 4 if self.result == "F32" else 2


def form(words: Sequence[str]) -> Form:
    """The form that the words of an opcode name: ("16816", "F32", "BF16"). Unknown if it is not modelled."""
    shape, result, *modifiers = (*words, "", "")
    k = {"16816": 16, "1688": 8, "1684": 4}.get(shape)
    type_ = next((part for part in modifiers if part in ("BF16", "TF32")), "F16")
    known = result in ("F16", "F32") and set(modifiers) <= {"F32", "F16", "BF16", "TF32", ""}
    if k is None or not known or (k == 4) and type_ != "TF32" or (k == 16) and type_ == "TF32":
        raise Unknown(f"a product of matrices {'.'.join(words)}")
    return Form(k, type_, result)


@dataclass(frozen=True, slots=True)
class Addition:
    """How a tensor core adds: `products` at once, cut `extra_bits` below the last bit of a float32."""

    products: int
    extra_bits: int


def terms_at_once(arch: str, form: Form) -> Addition:
    """The addition of an architecture: 16 bytes of A and of B in a step on Ampere and Ada, 32 on Hopper.

    Unknown for one whose tensor cores nobody has looked at.
    """
    width = 4 if form.type_ == "TF32" else 2
    match arch.removesuffix("a"):
        case "sm_75":
            return Addition(4, 0)
        case "sm_80" | "sm_86" | "sm_87" | "sm_89":
            return Addition(min(form.k, 16 // width), 1)
        case "sm_90":
            return Addition(min(form.k, 32 // width), 2)
    raise Unknown(f"how the tensor cores of {arch} add")


def multiply(form: Form, a: list, b: list, c: list, addition: Addition) -> list[np.ndarray]:
    """The registers of D. Each of `a`, `b`, `c` lists registers as uint32 (…, 32), one value a lane."""
    left, right = _a_matrix(form, a), _b_matrix(form, b)
    total = _c_matrix(form, c)
    for first in range(0, form.k, addition.products):
        some = slice(first, first + addition.products)
        total = _add(left[..., :, some], right[..., some, :], total, addition.extra_bits)
    return _c_registers(form, total)


def _decode(form: Form, register) -> np.ndarray:
    """The elements of a register as float64, shape (…, 32, elements)."""
    if form.type_ == "TF32":
        bits = np.asarray(register) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(np.float64)[..., None]
    halves = np.ascontiguousarray(register)[..., None].view(np.uint16)
    if form.type_ == "BF16":
        return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return halves.view(np.float16).astype(np.float64)


def _a_matrix(form: Form, registers: list) -> np.ndarray:
    """(…, 16, k): registers cycle through rows (g, g + 8) first, then through the halves of k."""
    shape = np.shape(registers[0])[:-1]
    matrix = np.empty((*shape, 16, form.k))
    for number, register in enumerate(registers):
        elements = _decode(form, register)
        count = elements.shape[-1]
        for part in range(count):
            column = PAIR * count + part + number // 2 * 4 * count
            matrix[..., ROW + 8 * (number % 2), column] = elements[..., part]
    return matrix


def _b_matrix(form: Form, registers: list) -> np.ndarray:
    """(…, k, 8): a lane's column is its group, its rows as the columns of A."""
    shape = np.shape(registers[0])[:-1]
    matrix = np.empty((*shape, form.k, N))
    for number, register in enumerate(registers):
        elements = _decode(form, register)
        count = elements.shape[-1]
        for part in range(count):
            matrix[..., PAIR * count + part + number * 4 * count, ROW] = elements[..., part]
    return matrix


def _c_matrix(form: Form, registers: list) -> np.ndarray:
    """(…, 16, 8) as float64."""
    shape = np.shape(registers[0])[:-1]
    matrix = np.empty((*shape, 16, N))
    for number, register in enumerate(registers):
        if form.result == "F32":
            values = np.asarray(register).view(np.float32).astype(np.float64)
            matrix[..., ROW + 8 * (number // 2), 2 * PAIR + number % 2] = values
        else:
            halves = np.ascontiguousarray(register)[..., None].view(np.float16).astype(np.float64)
            for part in range(2):
                matrix[..., ROW + 8 * number, 2 * PAIR + part] = halves[..., part]
    return matrix


def _c_registers(form: Form, matrix: np.ndarray) -> list[np.ndarray]:
    if form.result == "F32":
        return [
            matrix[..., ROW + 8 * (number // 2), 2 * PAIR + number % 2].astype(np.float32) for number in range(4)
        ]  # fmt: skip
    registers = []
    for number in range(2):
        halves = [matrix[..., ROW + 8 * number, 2 * PAIR + part].astype(np.float16).view(np.uint16) for part in (0, 1)]
        registers.append((halves[0].astype(np.uint32) | (halves[1].astype(np.uint32) << np.uint32(16))).view(np.int32))
    return registers


def _add(left: np.ndarray, right: np.ndarray, total: np.ndarray, extra_bits: int) -> np.ndarray:
    """total (…, 16, 8) + left (…, 16, k) · right (…, k, 8), cut as the tensor core does."""
    products = left[..., :, :, None] * right[..., None, :, :]  # exact in float64: (…, 16, k, 8)
    terms = np.concatenate([products, total[..., :, None, :]], axis=-2)
    plain = terms.sum(axis=-2)
    # The exponent of a product is the sum of its factors' exponents: the product itself may be up to twice as large.
    exponents = (_exponent(left)[..., :, :, None] + _exponent(right)[..., None, :, :]).astype(np.int64)
    exponents = np.concatenate([exponents, _exponent(total)[..., :, None, :]], axis=-2)
    exponents = np.where(terms == 0, -10_000, exponents)
    largest = exponents.max(axis=-2, keepdims=True)
    unit = np.ldexp(1.0, np.maximum(largest, -126) - 23 - extra_bits)
    whole = np.trunc(terms / unit)
    exact = whole.sum(axis=-2) * unit[..., 0, :]
    result = _cut(exact)
    return np.where(np.isfinite(plain), result, np.where(np.isnan(plain), np.float64(float32.NAN), plain))


def _exponent(values: np.ndarray) -> np.ndarray:
    """floor(log2(|x|)); anything for 0."""
    return np.frexp(values)[1].astype(np.int64) - 1


def _cut(values: np.ndarray) -> np.ndarray:
    """The nearest float32 toward zero, as float64; too large values become infinite."""
    nearest = values.astype(np.float32)
    toward_zero = np.nextafter(nearest, np.float32(0))
    cut = np.where(np.abs(nearest.astype(np.float64)) > np.abs(values), toward_zero, nearest)
    cut = np.where(np.isinf(nearest), nearest, cut)
    return cut.astype(np.float64)
