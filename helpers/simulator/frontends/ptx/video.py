"""Video instructions of PTX: on halves or bytes of registers, as `__vabsdiffu4` and its family use them, or on one
number of each, which may be a part of a register.

Reference: PTX ISA, 'Video Instructions'. Each part is computed as an exact number, then limited (.sat) or cut to its
width. With .add the parts, none of them cut, are summed up.
"""

from collections.abc import Callable, Sequence

import numpy as np

from helpers.compiler.ptx import Minus, Register, Statement
from helpers.simulator.arithmetic.operations import refuse_unknown
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import DTYPES, Operands
from helpers.simulator.frontends.rules import Outcome, Reader

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
    """What is done with parts of a and b, whose numbers their selections say: those of b come after those of a."""
    destination, *sources = s.operands
    a, b, c = (t.read(source, "u32") for source in sources)
    chosen = [numbers(source, count, first) for source, first in zip(sources[:2], (0, count), strict=True)]
    kept = numbers(destination, count, 0) if selection(destination) else range(count)
    to, *origins = types
    bits = 32 // count
    low, high = _limits(to, bits)
    whole = np.uint32((1 << bits) - 1)

    def part(both: tuple, which: int, type_: str):
        return _part(both[which // count], which % count * bits, bits, type_)

    def evaluate(registers):
        both = a(registers), b(registers)
        total = c(registers)
        for number in kept:
            value = function(*(part(both, from_[number], type_) for from_, type_ in zip(chosen, origins, strict=True)))
            if "sat" in words:
                value = np.clip(value, low, high)
            if "add" in words:
                total = total + value.astype(np.uint32)
            else:
                place = np.uint32(number * bits)
                total = total & ~(whole << place) | (value.astype(np.uint32) & whole) << place
        return total

    return t.result(destination, evaluate, DTYPES["u32"])


def selection(operand) -> str:
    """The part of a register that an operand names, "" for the whole one."""
    return operand.part if isinstance(operand, Register) else ""


def numbers(operand, count: int, first: int) -> list[int]:
    """The numbers of the parts that an operand selects, the lowest first; those from `first` on if it says nothing."""
    if not selection(operand):
        return list(range(first, first + count))
    return [int(digit) for digit in reversed(selection(operand)[1:])]


def _limits(type_: str, bits: int) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_ == "s32" else (0, (1 << bits) - 1)


def _part(word, place: int, bits: int, type_: str):
    """The part of words that begins at bit `place`, as exact numbers."""
    part = (word >> np.uint32(place) & np.uint32((1 << bits) - 1)).astype(WHOLE)
    return np.where(part >> bits - 1 != 0, part - (1 << bits), part) if type_ == "s32" else part


# ---- one number of each register, or of a byte or a half of it

PARTS = {"": (0, 32), **{f"b{n}": (8 * n, 8) for n in range(4)}, **{f"h{n}": (16 * n, 16) for n in range(2)}}
SECOND = {"add": np.add, "min": np.minimum, "max": np.maximum}


def one(function: Callable) -> Callable[[Operands, Statement], Outcome]:
    """name.dtype.atype.btype{.sat}{.mode}{.op2} d{.part}, a{.part}, b{.part} {, c}: `function` of two numbers and the
    mode; the result takes the part of c that d names, or is put together with c by op2."""

    def rule(t: Operands, s: Statement) -> Outcome:
        _, to, *types = s.opcode[:4]
        words = s.opcode[4:]
        refuse_unknown((to, *types), ("s32", "u32"))
        refuse_unknown(words, ("sat", "clamp", "wrap", *SECOND))
        return _of_one(t, s, lambda a, b: function(a, b, *(word for word in words if word in ("clamp", "wrap"))),
                       (to, *types), words)  # fmt: skip

    return rule


def compare_one(t: Operands, s: Statement) -> Outcome:
    """vset.atype.btype.comparison{.op2} d{.part}, a{.part}, b{.part} {, c}."""
    _, *types, comparison = s.opcode[:4]
    refuse_unknown(types, ("s32", "u32"))
    refuse_unknown((comparison,), COMPARISONS)
    refuse_unknown(s.opcode[4:], SECOND)
    holds = lambda a, b: COMPARISONS[comparison](a, b).astype(WHOLE)  # noqa: E731
    return _of_one(t, s, holds, (types[0], *types), s.opcode[4:])


def shift(left: bool) -> Callable:
    """vshl and vshr: by at most 32 places (.clamp), or by the low five bits (.wrap)."""

    def function(a, places, mode: str):
        places = places & 31 if mode == "wrap" else np.minimum(places, 32)
        return a << places if left else a >> places

    return function


def _number_of(t: Operands, operand, type_: str) -> Reader:
    """A register or the part of it that is named, as an exact number."""
    if selection(operand) not in PARTS:
        raise Unknown(f"the part .{selection(operand)}")
    word, (place, bits) = t.read(operand, "u32"), PARTS[selection(operand)]
    return lambda registers: _part(word(registers), place, bits, type_)


def _of_one(t: Operands, s: Statement, function: Callable, types: tuple, words: tuple) -> Outcome:
    destination, a, b, *more = s.operands
    to, *origins = types
    x, y = (_number_of(t, operand, type_) for operand, type_ in zip((a, b), origins, strict=True))
    third = _number_of(t, more[0], to) if more else None
    second = next((SECOND[word] for word in words if word in SECOND), None)
    _refuse_detours(s, selection(destination), origins, words)
    place, bits = PARTS[selection(destination)]
    low, high = _limits(to, bits)
    mask = np.int64((1 << bits) - 1 << place)
    left = 0 if bits == 16 else place  # ptxas takes the upper half of the result for the upper half

    def evaluate(registers):
        value = function(x(registers), y(registers))
        if "sat" in words:
            value = np.clip(value, low, high)
        if second is not None:
            value = second(_seen_as(value, to), third(registers))
        elif third is not None:
            value = third(registers) & ~mask | value << left & mask
        return value.astype(np.uint32)

    return t.result(destination, evaluate, DTYPES["u32"])


def _refuse_detours(s: Statement, part: str, origins: Sequence[str], words: Sequence[str]) -> None:
    """Unknown for what ptxas puts together of steps that do not come to what the PTX ISA says."""
    exceptions = part or s.name in ("vshl", "vshr") or "add" in words or (s.name, len(set(origins))) == ("vabsdiff", 2)
    if "sat" in words and exceptions:
        raise Unknown(f"the limit of {s.name} in this form; without .sat it runs")
    if s.name not in ("vmin", "vmax", "vset") and {"min", "max"} & set(words):
        raise Unknown(f"{s.name} with .min or .max; in two instructions it runs")


def _seen_as(value, type_: str):
    """A result of 33 bits, which without a sign are a number that is not negative."""
    return value & (1 << 33) - 1 if type_ == "u32" else value


def multiply_add(t: Operands, s: Statement) -> Outcome:
    """vmad.dtype.atype.btype{.po}{.sat}{.shr7,.shr15} d, {-}a{.part}, {-}b{.part}, {-}c: a * b + c, with .po 1 more."""
    _, to, *types = s.opcode[:4]
    words = s.opcode[4:]
    refuse_unknown((to, *types), ("s32", "u32"))
    refuse_unknown(words, ("po", "sat", "shr7", "shr15"))
    if {"sat", "shr7", "shr15"} & set(words) and types != ["s32", "s32"]:
        raise Unknown("a limited or shifted product of numbers without signs; of signed ones it runs")
    destination, *sources = s.operands
    negated = [isinstance(operand, Minus) for operand in sources]
    plain = [operand.register if isinstance(operand, Minus) else operand for operand in sources]
    signed = "s32" in types or negated[0] != negated[1] or negated[2]
    kinds = (*types, "s32" if signed else "u32")
    a, b, c = (_number_of(t, operand, type_) for operand, type_ in zip(plain, kinds, strict=True))
    product_sign, sign = (-1 if negated[0] != negated[1] else 1), (-1 if negated[2] else 1)
    right = 7 if "shr7" in words else 15 if "shr15" in words else 0
    low, high = _limits("s32" if signed else "u32", 32)

    def evaluate(registers):
        # Python's integers have room for all of it.
        exact = a(registers).astype(object) * b(registers) * product_sign + c(registers).astype(object) * sign
        value = exact + ("po" in words) >> right
        if "sat" in words:
            value = np.minimum(np.maximum(value, low), high)
        return np.asarray(value & 0xFFFFFFFF).astype(np.uint32)[()]

    return t.result(destination, evaluate, DTYPES["u32"])
