"""Comparison and selection in PTX. Reference: PTX ISA, 'Comparison and Selection Instructions'."""

from collections.abc import Callable

import numpy as np

from helpers.compiler.ptx import Statement
from helpers.simulator.arithmetic import comparisons, float32
from helpers.simulator.arithmetic.operations import refuse_unknown
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import Operands, dtype_of, items_of
from helpers.simulator.frontends.rules import Compute, Outcome, Reader, both_count, one_of_two

UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}  # names of their own, for bits and unsigned numbers
FLOATS = ("f16", "f32", "f64", "bf16")
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
ONES = {"f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C003C00, "bf16x2": 0x3F803F80}  # 1.0 as bits


def set_predicate(t: Operands, s: Statement) -> Outcome:
    """setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: q is the opposite of p.

    Of pairs, p is for the low halves and q for the high ones.
    """
    destinations, a, b, *third = s.operands
    slots = tuple(t.target(item) for item in items_of(destinations))
    combine = _combination(s, bool(third))
    c = t.read(third[0], "pred") if third else None
    if s.type in PAIRS:
        tests = [_test(t, s, a, b, half) for half in (0, 1)]
        if c is None:
            return Compute(slots, lambda r: tuple(test(r) for test in tests))
        return Compute(slots, lambda r: tuple(combine(test(r), c(r)) for test in tests))
    test = _test(t, s, a, b)
    compared = t.slots_of(a, b)
    if len(slots) == 1 and c is None:
        return Compute(slots, test, chosen=(compared, ()))
    if len(slots) == 1:
        return Compute(
            slots, lambda r: combine(test(r), c(r)), chooses=both_count(combine, test, c),
            chosen=(compared, t.slots_of(*third)),
        )  # fmt: skip

    def both(registers):
        true = test(registers)
        if c is None:
            return true, np.logical_not(true)
        other = c(registers)
        return combine(true, other), combine(np.logical_not(true), other)

    return Compute(slots, both)


def set_register(t: Operands, s: Statement) -> Outcome:
    """set.cmp{.bool}{.ftz}.dtype.stype d, a, b{, {!}c}: all ones, or 1.0 of a floating dtype, for true."""
    destination, a, b, *third = s.operands
    combine = _combination(s, bool(third), types=2)
    c = t.read(third[0], "pred") if third else None
    to = s.opcode[-2]
    if s.type in PAIRS:
        tests = [_test(t, s, a, b, half) for half in (0, 1)]
        bits = ONES.get(to, 0xFFFFFFFF)
        masks = (np.uint32(bits & 0xFFFF), np.uint32(bits & 0xFFFF0000))

        def halves(registers):
            found = [test(registers) if c is None else combine(test(registers), c(registers)) for test in tests]
            low, high = (np.where(true, mask, np.uint32(0)) for true, mask in zip(found, masks, strict=True))
            return low | high

        return t.result(destination, halves, dtype_of("u32"))
    test, result = _test(t, s, a, b), dtype_of(to)
    if to == "bf16":
        yes = result.type(ONES[to])
    else:
        yes = result.type(1.0) if result.kind == "f" else np.array(-1).astype(result)[()]
    chosen = test if c is None else (lambda r: combine(test(r), c(r)))
    return t.result(destination, lambda r: np.where(chosen(r), yes, result.type(0)), result)


def _combination(s: Statement, is_combined: bool, types: int = 1) -> Callable | None:
    """How a third predicate is combined with the comparison; modifiers beside it and .ftz are unknown."""
    modifiers = s.opcode[2:-types]
    refuse_unknown(modifiers, (*comparisons.COMBINE, "ftz"))
    name = next((modifier for modifier in modifiers if modifier in comparisons.COMBINE), None)
    if is_combined != (name is not None):
        raise Unknown("a comparison with four operands" if is_combined else f"the modifier .{name}")
    return comparisons.COMBINE[name] if name else None


def _test(t: Operands, s: Statement, a, b, half: int | None = None) -> Reader:
    """a cmp b as bool; of pairs, for one half."""
    name, type_ = s.opcode[1], PAIRS.get(s.type, s.type)
    if type_ in FLOATS:
        table = comparisons.FLOAT
    else:
        table = comparisons.INTEGER
        if name in UNSIGNED:
            name, type_ = UNSIGNED[name], f"u{type_[1:]}"
    if name not in table:
        raise Unknown(f"the comparison .{name} of {s.type}")
    function = table[name]
    x, y = (_number(t, operand, type_, half) for operand in (a, b))
    if "ftz" in s.modifiers and type_ == "f32":
        return lambda r: function(float32.flush(x(r)), float32.flush(y(r)))
    if "ftz" in s.modifiers:
        raise Unknown(f"the modifier .ftz of {s.type}")
    return lambda r: function(x(r), y(r))


def _number(t: Operands, operand, type_: str, half: int | None) -> Reader:
    """An operand as a number to compare; `half` of a pair."""
    if half is None:
        value = t.read(operand, type_)
        return (lambda r: float32.from_bfloat16(value(r))) if type_ == "bf16" else value
    both, shift = t.read(operand, "u32"), np.uint32(16 * half)
    if type_ == "bf16":
        return lambda r: float32.from_bfloat16((both(r) >> shift).astype(np.uint16))
    return lambda r: (both(r) >> shift).astype(np.uint16).view(np.float16)


def select(t: Operands, s: Statement) -> Outcome:
    """selp.type d, a, b, p: a where p, else b."""
    destination, a, b, choice = s.operands
    x, y, p = t.read(a, s.type), t.read(b, s.type), t.read(choice, "pred")
    result = t.result(destination, lambda r: comparisons.select(p(r), x(r), y(r)), dtype_of(s.type))
    return result._replace(chooses=one_of_two(p), chosen=(t.slots_of(a), t.slots_of(b)))


def select_sign(t: Operands, s: Statement) -> Outcome:
    """slct{.ftz}.dtype.ctype d, a, b, c: a where c >= 0, else b. Only a subnormal c would show .ftz: -2^-130 is -0."""
    refuse_unknown(s.opcode[1:-2], ("ftz",) if s.type == "f32" else ())
    destination, a, b, c = s.operands
    type_ = s.opcode[-2]
    x, y, z = t.read(a, type_), t.read(b, type_), t.read(c, s.type)
    number = (lambda r: float32.flush(z(r))) if "ftz" in s.modifiers else z
    return t.result(destination, lambda r: np.where(number(r) >= 0, x(r), y(r)), dtype_of(type_))
