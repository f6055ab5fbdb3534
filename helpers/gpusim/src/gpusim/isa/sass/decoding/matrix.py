"""Matrices: loads, products and transposition by a warp."""

from __future__ import annotations

from dataclasses import replace

from gpusim.arithmetic import tensor_core
from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.decoding.memory import access, stores, takes_address
from gpusim.isa.sass.operands import chosen, exactly, is_register


def is_transposed(s: sass.Statement) -> bool:
    """Whether matrices are moved with their rows for columns."""
    if not s.has("M88", "MT88"):
        raise NotDecoded("the matrix shape")
    return s.has("MT88")


def count_of(s: sass.Statement) -> int:
    """How many matrices of 8 × 8 are moved."""
    return chosen(s, {"1": 1, "2": 2, "4": 4}, 1)


def load_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    """LDSM.16.M88.{1,2,4}, .MT88 (transposed) d, [address]."""
    destination, address = exactly(s, 2)
    i = _moved(t, s, "load matrix", "ldsm", address)
    t.writes(i, destination, i.number[2])
    return i


def store_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    """STSM.16.M88.{1,2,4}, .MT88 (transposed) [address], value."""
    address, value = exactly(s, 2)
    i = _moved(t, s, "store matrix", "stsm", address)
    i.strong = 0
    stores(t, i, value, i.number[2])
    return i


def _moved(t: Decoder, s: sass.Statement, operation: str, op: str, address: sass.Operand) -> Decoded:
    i = access(t, s, operation, op)
    i.offset = takes_address(t, i, address, t.space)
    i.flags |= form.TRANSPOSED * is_transposed(s)
    i.number[2] = count_of(s)
    return i


def multiply_matrices(t: Decoder, s: sass.Statement) -> Decoded:
    """HMMA, QMMA, IMMA, DMMA and BMMA d, a, b, c: d = a · b + c by a warp. See `tensor_core`.

    HMMA.SP and IMMA.SP have a register more, of the places of A's elements, and say which lanes bring it.
    """
    shape = form_of(s)
    if len(s.operands) != (6 if shape.sparse else 4):
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    destination, *factors = s.operands[: 5 if shape.sparse else 4]
    i = form.product_of(t.arch, shape, s.has("XOR"), selector_of(s) if shape.sparse else 0)
    counts = (shape.a_registers, shape.b_registers, shape.c_registers, *[1] * shape.sparse)
    orders = ("ROW", "COL", "", "")
    factors = [plain(operand, order) for operand, order in zip(factors, orders, strict=False)]
    for position, (operand, count) in enumerate(zip(factors, counts, strict=True)):
        if not is_register(operand) or operand.negated or operand.modifiers:
            raise NotDecoded("a matrix that is no plain register")
        i.source[position], i.width[position] = t.row(operand, count), 1
    t.writes(i, destination, shape.c_registers)
    i.registers = counts
    return i


def transpose_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    """MOVM.16.MT88 d, a; MOVM.U4TO8.M832 d, a.

    The second one makes two registers of numbers of 8 bits of one with 4. No instruction of PTX is it: ptxas makes
    products of bits with it for Blackwell, by the same for both factors, so that any order of k would do there.
    """
    destination, a = s.operands
    if s.has("U4TO8"):
        if not s.has("M832"):
            raise NotDecoded("the matrix shape")
        i = Decoded("widen matrix")
        t.writes(i, destination, 2)
        t.read(i, 0, a)
        return i
    if not is_transposed(s):
        raise NotDecoded("a matrix that is moved as it is")
    i = Decoded("transpose matrix")
    t.writes(i, destination)
    t.read(i, 0, a)
    return i


def selector_of(s: sass.Statement) -> int:
    """Which lanes of four bring the places of a sparse A's elements."""
    if not isinstance(s.operands[5], sass.Immediate):
        raise NotDecoded("a selector that is no number")
    return s.operands[5].integer & 3


def plain(operand: sass.Operand, order: str) -> sass.Operand:
    """A factor without the order of its elements, which QMMA, IMMA and BMMA name; they have but one."""
    if isinstance(operand, sass.Register) and operand.modifiers == (order,):
        return replace(operand, modifiers=())
    return operand


# (m, k) by the word for the shape, which is m, n and k with nothing or an x between them.
_SHAPES = {
    "16816": (16, 16), "1688": (16, 8), "1684": (16, 4), "8816": (8, 16), "16832": (16, 32), "88128": (8, 128),
    "168128": (16, 128), "168256": (16, 256), "8832": (8, 32), "16864": (16, 64),
    "884": (8, 4), "8x8x4": (8, 4), "16x8x4": (16, 4), "16x8x8": (16, 8), "16x8x16": (16, 16),
}  # fmt: skip


def form_of(s: sass.Statement) -> tensor_core.Form:
    """The form that the words of an opcode name: HMMA.16816.F32.BF16, IMMA.16832.U8.S8.SAT, DMMA.8x8x4."""
    m, k = chosen(s, _SHAPES)
    words = [word for word in s.opcode[1:] if word not in _SHAPES and word != "SP"]
    match s.base:
        case "DMMA":
            a = b = result = "f64"
        case "BMMA":
            a = b = "b1"
            result = "s32"
        case "IMMA":
            a, b = (*(word.lower() for word in words), "", "")[:2]
            result = "s32"
        case "QMMA":
            result, a, b = (*(word.lower() for word in words), "", "", "")[:3]
        case _:
            result, a, *_ = (*(word.lower() for word in words), "f16", "f16")
            b = a
    return tensor_core.form(m, k, a, b, result, saturates=s.has("SAT"), sparse=s.has("SP"))
