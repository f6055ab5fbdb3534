"""SIMD video instructions of PTX: halves or bytes of registers, as `__vabsdiffu4` and its family use them.

Reference: PTX ISA, 'Video Instructions'. Each part is computed as an exact number, then limited (.sat) or cut to its
width. With .add the parts, none of them cut, are summed up.
"""

from collections.abc import Callable

import numpy as np

from helpers.compiler.ptx import Register, Statement
from helpers.simulator.arithmetic.operations import refuse_unknown
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import DTYPES, Operands
from helpers.simulator.frontends.rules import Outcome

WHOLE = np.dtype(np.int64)  # holds every result of parts exactly
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def parts(count: int, function: Callable) -> Callable[[Operands, Statement], Outcome]:
    """name.dtype.atype.btype{.sat}{.add} d, a, b, c: `function` of each of `count` parts."""

    def rule(t: Operands, s: Statement) -> Outcome:
        _, to, *types, last = (*s.opcode[:4], s.opcode[4:])
        refuse_unknown((to, *types), ("s32", "u32"))
        refuse_unknown(last, ("sat", "add"))
        return _each_part(t, s, count, function, (to, *types), last)

    return rule


def compare_parts(count: int) -> Callable[[Operands, Statement], Outcome]:
    """vset{2,4}.atype.btype.comparison{.add} d, a, b, c: 1 in each part for which the comparison holds, or 0."""

    def rule(t: Operands, s: Statement) -> Outcome:
        _, *types, comparison = s.opcode[:4]
        refuse_unknown(types, ("s32", "u32"))
        refuse_unknown((comparison,), COMPARISONS)
        refuse_unknown(s.opcode[4:], ("add",))
        holds = lambda a, b: COMPARISONS[comparison](a, b).astype(WHOLE)  # noqa: E731
        return _each_part(t, s, count, holds, ("u32", *types), s.opcode[4:])

    return rule


def average(a, b):
    """(a + b) / 2, a half rounded away from zero."""
    total = a + b
    return total + (total >= 0) >> 1


def _each_part(t: Operands, s: Statement, count: int, function: Callable, types: tuple, words: tuple) -> Outcome:
    destination, *sources = s.operands
    for operand in s.operands:
        if isinstance(operand, Register) and "." in operand.name:
            raise Unknown(f"a choice of parts, {operand.name}")
    a, b, c = (t.read(source, "u32") for source in sources)
    to, *origins = types
    bits = 32 // count
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to == "s32" else (0, (1 << bits) - 1)
    whole = np.uint32((1 << bits) - 1)

    def evaluate(registers):
        x, y = a(registers), b(registers)
        total = c(registers) if "add" in words else np.uint32(0)
        for place in range(0, 32, bits):
            value = function(*(_part(word, place, bits, type_) for word, type_ in zip((x, y), origins, strict=True)))
            if "sat" in words:
                value = np.clip(value, low, high)
            if "add" in words:
                total = total + value.astype(np.uint32)
            else:
                total = total | (value.astype(np.uint32) & whole) << np.uint32(place)
        return total

    return t.result(destination, evaluate, DTYPES["u32"])


def _part(word, place: int, bits: int, type_: str):
    """The part of words that begins at bit `place`, as exact numbers."""
    part = (word >> np.uint32(place) & np.uint32((1 << bits) - 1)).astype(WHOLE)
    return np.where(part >> bits - 1 != 0, part - (1 << bits), part) if type_ == "s32" else part
