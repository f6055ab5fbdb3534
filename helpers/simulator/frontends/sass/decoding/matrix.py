"""Matrices: loads, products and transposition by a warp."""

from __future__ import annotations

from helpers.compiler import sass
from helpers.simulator.frontends import decoded as form
from helpers.simulator.frontends.decoded import Decoded, NotDecoded
from helpers.simulator.frontends.sass import matrix
from helpers.simulator.frontends.sass.decoding.decoder import Decoder
from helpers.simulator.frontends.sass.decoding.memory import access, takes_address
from helpers.simulator.frontends.sass.operands import chosen, is_register


def load_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    if not s.has("M88", "MT88"):
        raise NotDecoded("the matrix shape")
    i = access(t, s, "load matrix", "ldsm")
    i.offset = takes_address(t, i, place, t.space)
    i.flags |= form.TRANSPOSED * s.has("MT88")
    i.number[2] = chosen(s, {"1": 1, "2": 2, "4": 4}, 1)
    t.writes(i, destination, i.number[2])
    return i


def multiply_matrices(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *factors = s.operands
    shape = matrix.form_of(s)
    i = form.product_of(t.arch, shape, differing=s.has("XOR"))
    counts = (shape.a_registers, shape.b_registers, shape.c_registers)
    factors = [matrix.plain(operand, order) for operand, order in zip(factors, ("ROW", "COL", ""), strict=True)]
    for place, (operand, count) in enumerate(zip(factors, counts, strict=True)):
        if not is_register(operand) or operand.negated or operand.modifiers:
            raise NotDecoded("a matrix that is no plain register")
        i.source[place], i.width[place] = t.row(operand, count), 1
    t.writes(i, destination, shape.c_registers)
    return i


def transpose_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    if not s.has("MT88"):
        raise NotDecoded("the matrix shape")
    i = Decoded("transpose matrix")
    t.writes(i, destination)
    t.read(i, 0, a)
    return i
