"""Matrices: loads, products and transposition by a warp."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass import matrix
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.decoding.memory import access, takes_address
from gpusim.isa.sass.operands import is_register


def load_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    i = _moved(t, s, "load matrix", "ldsm", place)
    t.writes(i, destination, i.number[2])
    return i


def store_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    place, value = s.operands
    i = _moved(t, s, "store matrix", "stsm", place)
    i.strong = 0
    if not is_register(value) or value.modifiers:
        raise NotDecoded("a matrix that is no plain register")
    i.source[2], i.width[2] = t.row(value, i.number[2]), 1
    return i


def _moved(t: Decoder, s: sass.Statement, operation: str, op: str, place: sass.Operand) -> Decoded:
    i = access(t, s, operation, op)
    i.offset = takes_address(t, i, place, t.space)
    i.flags |= form.TRANSPOSED * matrix.is_transposed(s)
    i.number[2] = matrix.count_of(s)
    return i


def multiply_matrices(t: Decoder, s: sass.Statement) -> Decoded:
    """HMMA, QMMA, IMMA, DMMA and BMMA d, a, b, c: d = a · b + c by a warp. See `tensor_core`.

    HMMA.SP and IMMA.SP have a register more, of the places of A's elements, and say which lanes bring it.
    """
    shape = matrix.form_of(s)
    if len(s.operands) != (6 if shape.sparse else 4):
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    destination, *factors = s.operands[: 5 if shape.sparse else 4]
    i = form.product_of(t.arch, shape, s.has("XOR"), matrix.selector_of(s) if shape.sparse else 0)
    counts = (shape.a_registers, shape.b_registers, shape.c_registers, *[1] * shape.sparse)
    orders = ("ROW", "COL", "", "")
    factors = [matrix.plain(operand, order) for operand, order in zip(factors, orders, strict=False)]
    for place, (operand, count) in enumerate(zip(factors, counts, strict=True)):
        if not is_register(operand) or operand.negated or operand.modifiers:
            raise NotDecoded("a matrix that is no plain register")
        i.source[place], i.width[place] = t.row(operand, count), 1
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
    if not matrix.is_transposed(s):
        raise NotDecoded("a matrix that is moved as it is")
    i = Decoded("transpose matrix")
    t.writes(i, destination)
    t.read(i, 0, a)
    return i
