"""Integer, logic and predicate instructions of SASS.

The rules (`frontends.rules`) were found by comparing compiled code with its PTX, and hold bit for bit against it.

Carries: `IADD3 R2, P0, R4, R6, RZ` sets P0 to the carry out of bit 31; `IADD3.X R3, R5, R7, RZ, P0, !PT` adds it.
A negated operand of an addition with carry is its complement plus one, as in any adder.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from helpers.compiler import sass
from helpers.simulator.arithmetic import comparisons, integer
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.rules import Compute, Reader, both_count, one_of_two
from helpers.simulator.frontends.sass.operands import (
    F4,
    I4,
    I8,
    U4,
    U8,
    Operands,
    at_least,
    chosen,
    exactly,
    halves,
    is_predicate,
    is_zero,
    leading_predicates,
    number,
)

COMPARE = {name.upper(): function for name, function in comparisons.INTEGER.items()}
COMBINE = {name.upper(): function for name, function in comparisons.COMBINE.items()}
# LOP3's table of values, as the common functions of (a, b, c).
LOGIC: dict[int, Callable] = {
    0x00: lambda a, b, c: a & ~a,
    0x03: lambda a, b, c: ~(a | b),
    0x0C: lambda a, b, c: ~a & b,
    0x0F: lambda a, b, c: ~a,
    0x30: lambda a, b, c: a & ~b,
    0x33: lambda a, b, c: ~b,
    0x3C: lambda a, b, c: a ^ b,
    0x3F: lambda a, b, c: ~(a & b),
    0x48: lambda a, b, c: b & (a ^ c),
    0x55: lambda a, b, c: ~c,
    0x5A: lambda a, b, c: a ^ c,
    0x66: lambda a, b, c: b ^ c,
    0x78: lambda a, b, c: a ^ (b & c),
    0x80: lambda a, b, c: a & b & c,
    0x88: lambda a, b, c: b & c,
    0x96: lambda a, b, c: a ^ b ^ c,
    0xA0: lambda a, b, c: a & c,
    0xAA: lambda a, b, c: c,
    0xC0: lambda a, b, c: a & b,
    0xCA: lambda a, b, c: (a & b) | (~a & c),
    0xCC: lambda a, b, c: b,
    0xE2: lambda a, b, c: (a & b) | (~b & c),
    0xEA: lambda a, b, c: (a & b) | c,
    0xEE: lambda a, b, c: b | c,
    0xF0: lambda a, b, c: a,
    0xF8: lambda a, b, c: a | (b & c),
    0xFA: lambda a, b, c: a | c,
    0xFC: lambda a, b, c: a | b,
    0xFE: lambda a, b, c: a | b | c,
}


def _is_false(operand: sass.Operand) -> bool:
    return is_predicate(operand) and operand.number is None and operand.negated


def _addition(s: sass.Statement) -> tuple[sass.Operand, list[sass.Register], tuple[sass.Operand, ...]]:
    """(d, carries out, [a, b, c, carries in]) of `d {, carry, carry}, a, b, c {, carry in, carry in}`."""
    destination, *rest = at_least(s, 4)
    carries, rest = leading_predicates(tuple(rest))
    if len(rest) < 3 or len(carries) > 2:
        raise Unknown(f"its form with {len(s.operands)} operands")
    return destination, carries, rest


def _carry_in(t: Operands, operands: Sequence[sass.Operand]) -> Reader | None:
    """The sum of the predicates at the end of an addition, as int32; None if all are !PT."""
    readers = [t.truth(operand) for operand in operands if not _is_false(operand)]
    if not readers:
        return None
    if len(readers) == 1:
        (first,) = readers
        return lambda registers: first(registers).astype(I4)
    return lambda registers: sum(reader(registers).astype(I4) for reader in readers)


def _sum(readers: list[Reader]) -> Reader:
    if not readers:
        return lambda registers: np.int32(0)
    if len(readers) == 1:
        return readers[0]
    if len(readers) == 2:
        a, b = readers
        return lambda registers: a(registers) + b(registers)
    if len(readers) == 3:
        a, b, c = readers
        return lambda registers: a(registers) + b(registers) + c(registers)
    return lambda registers: sum(reader(registers) for reader in readers)


# ---- addition


def add3(t: Operands, s: sass.Statement) -> Compute:
    """IADD3 d {, carry, carry}, a, b, c {, carry in, carry in}; UIADD3.64 the same of pairs of registers."""
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    if s.has("64"):
        if carries_in or any(carry.number is not None for carry in carries):
            raise Unknown("its form with carries")
        return t.split(destination, _sum([t.wide(source) for source in (a, b, c)]))
    sources, carry_in = (a, b, c), _carry_in(t, carries_in)
    wanted = [t.target(carry) for carry in carries]
    if not any(slot is not None for slot in wanted):
        readers = [t.read(source) for source in sources if not is_zero(source)]
        if carry_in is not None:
            readers.append(carry_in)
        return Compute((t.target(destination),), _sum(readers))
    slots = (t.target(destination), *(wanted + [None])[:2])
    some = [source for source in sources if not is_zero(source)]
    negated = [isinstance(source, sass.Register | sass.Constant) and source.negated for source in some]
    if len(some) == 2 and carry_in is None and not all(negated):
        first, second = some[::-1] if negated[0] else some
        return Compute(slots, _add_with_carry(t.read(first), t.read(second), any(negated)))
    return Compute(slots, _add_exactly(t, some, carry_in))


def _add_with_carry(a: Reader, b: Reader, subtracts: bool) -> Callable:
    """(sum, carry, no second carry) of two numbers; b is negated already where it `subtracts`."""

    def evaluate(registers):
        x, y = a(registers), b(registers)
        total = x + y
        # a + ~b + 1 carries if a >= b, that is if a - b does not wrap.
        carry = (total.view(U4) <= x.view(U4)) if subtracts else (total.view(U4) < x.view(U4))
        return total, carry, np.False_

    return evaluate


def _add_exactly(t: Operands, sources: list, carry_in: Reader | None) -> Callable:
    """(sum, carry, second carry) of up to three numbers in 64 bits, complements for negated ones."""
    readers, ones = [], 0
    for source in sources:
        if isinstance(source, sass.Register | sass.Constant) and source.negated:
            plain = t.read(replace(source, negated=False))
            readers.append(lambda registers, plain=plain: ~plain(registers))
            ones += 1
        else:
            readers.append(t.read(source))
    return _sum_exactly(readers, ones, carry_in)


def _sum_exactly(readers: list[Reader], ones: int, carry_in: Reader | None) -> Callable:
    """(sum, carry, second carry) of numbers, of `ones` and of what is carried in."""

    def evaluate(registers):
        total = np.int64(ones)
        for reader in readers:
            total = total + reader(registers).view(U4).astype(I8)
        if carry_in is not None:
            total = total + carry_in(registers)
        high = total >> np.int64(32)
        return total.astype(I4), high >= 1, high >= 2

    return evaluate


def add2(t: Operands, s: sass.Statement) -> Compute:
    """VIADD d, a, b; .16x2, .U8x4: of halves and of bytes; .S32.ISAT: the nearest number of 32 bits."""
    destination, first, second = exactly(s, 3)
    part = chosen(s, {"16x2": np.uint16, "U8x4": np.uint8}, None)
    if part is None and not s.has("ISAT"):
        return Compute((t.target(destination),), _sum([t.read(o) for o in (first, second) if not is_zero(o)]))
    subtracts = _is_negated(second)
    a, b = t.read(first), t.read(replace(second, negated=False) if subtracts else second)
    combine = np.subtract if subtracts else np.add
    if part is not None:
        return Compute((t.target(destination),), lambda r: _by_parts(combine, part, a(r), b(r)))
    limits = np.iinfo(np.int32)
    exact = lambda r: combine(a(r).astype(I8), b(r).astype(I8))  # noqa: E731
    return Compute((t.target(destination),), lambda r: np.clip(exact(r), limits.min, limits.max).astype(I4))


def add_pairs(t: Operands, s: sass.Statement) -> Compute:
    """IADD.64 d {, carry}, a, b {, carry in}: the sum of two pairs of registers."""
    destination, *rest = at_least(s, 3)
    carries, rest = leading_predicates(tuple(rest))
    if not s.has("64") or len(carries) > 1 or len(rest) not in (2, 3):
        raise Unknown("its form")
    sources, carry_in = rest[:2], _carry_in(t, rest[2:])
    carry = t.target(carries[0]) if carries else None
    if carry is None:
        readers = [t.wide(source) for source in sources]
        return t.split(destination, _sum(readers if carry_in is None else [*readers, carry_in]))
    subtracts = [_is_negated(source) for source in sources]
    if all(subtracts) or (any(subtracts) and carry_in is not None):
        raise Unknown("a carry of a sum less a number")
    # a + ~b + 1, as in any adder
    a, b = (t.wide(replace(o, negated=False, inverted=True) if _is_negated(o) else o, U8) for o in sources)

    def evaluate(registers):
        x = a(registers)
        total = x + b(registers)
        one = U8.type(any(subtracts)) if carry_in is None else carry_in(registers).astype(U8)
        after = total + one
        return *halves(after), (total < x) | (after < one)

    return Compute((*t.targets(destination, 2), carry), evaluate)


# ---- multiplication and addition


def multiply_add(t: Operands, s: sass.Statement) -> Compute:
    """IMAD: the low 32 bits of a · b + c; .WIDE all 64 of it; .HI the upper 32, with a 64-bit c.

    The forms .MOV, .IADD and .SHL say what the compiler uses it for: a or b is then zero, one or a power of two.
    """
    if s.has("WIDE"):
        return _multiply_add_wide(t, s)
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    slots = (t.target(destination),)
    if s.has("HI"):
        if carries and t.target(carries[0]) is not None:
            return Compute((*slots, t.target(carries[0])), _multiply_high_with_carry(t, s, a, b, c))
        return Compute(slots, _multiply_high(t, s, a, b, c))
    if any(t.target(carry) is not None for carry in carries):
        raise Unknown("a multiplication with a carry out")
    carry_in = _carry_in(t, carries_in)
    readers = []
    if not (is_zero(a) or is_zero(b)):
        readers.append(_product(t, a, b))
    if not is_zero(c):
        readers.append(t.read(c))
    if carry_in is not None:
        readers.append(carry_in)
    return Compute(slots, _sum(readers), copies=s.has("MOV"))


def _product(t: Operands, a: sass.Operand, b: sass.Operand) -> Reader:
    x = t.read(a)
    if isinstance(b, sass.Immediate) and number(b) == 1:
        return x
    y = t.read(b)
    return lambda registers: x(registers) * y(registers)


def _multiply_add_wide(t: Operands, s: sass.Statement) -> Compute:
    """IMAD.WIDE{.U32}{.X} d {, carry}, a, b, c {, carry in}: d and c are pairs."""
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    carry_in = _carry_in(t, carries_in)
    dtype = U4 if s.has("U32") else I4
    x, y = t.read(a, dtype), t.read(b, dtype)
    z = None if is_zero(c) else t.wide(c)
    has_product = not (is_zero(a) or is_zero(b))

    def product(registers):
        return x(registers).astype(I8) * y(registers).astype(I8)

    if carries and t.target(carries[0]) is not None:

        def evaluate(registers):
            before = np.int64(0) if z is None else z(registers)
            total = product(registers) + before
            carry = total.view(np.uint64) < before.view(np.uint64)
            if carry_in is not None:
                one = carry_in(registers).astype(I8)
                total = total + one
                carry = carry | ((total == 0) & (one == 1))
            return *halves(total), carry

        return Compute((*t.targets(destination, 2), t.target(carries[0])), evaluate)

    if z is None and carry_in is None:
        total = product
    elif carry_in is not None:
        before = z or (lambda registers: np.int64(0))
        total = lambda registers: product(registers) + before(registers) + carry_in(registers)  # noqa: E731
    elif has_product:
        total = lambda registers: product(registers) + z(registers)  # noqa: E731
    else:
        total = z
    return t.split(destination, total)


def _multiply_high(t: Operands, s: sass.Statement, a, b, c) -> Reader:
    """The upper 32 bits of a · b + c, where c is a pair of registers."""
    dtype = U4 if s.has("U32") else I4
    x, y = t.read(a, dtype), t.read(b, dtype)
    thirty_two = np.int64(32)
    if is_zero(c):
        return lambda r: ((x(r).astype(I8) * y(r).astype(I8)) >> thirty_two).astype(I4)
    z = t.wide(c)
    return lambda r: ((x(r).astype(I8) * y(r).astype(I8) + z(r)) >> thirty_two).astype(I4)


def _multiply_high_with_carry(t: Operands, s: sass.Statement, a, b, c) -> Callable:
    """The same and the carry out of bit 63."""
    if not s.has("U32"):
        raise Unknown("a signed multiplication with a carry out")
    x, y, z = t.read(a, U4), t.read(b, U4), t.wide(c)

    def evaluate(registers):
        before = z(registers)
        total = x(registers).astype(I8) * y(registers).astype(I8) + before
        carry = total.view(np.uint64) < before.view(np.uint64)
        return (total >> np.int64(32)).astype(I4), carry

    return evaluate


def dot_product(t: Operands, s: sass.Statement) -> Compute:
    """IDP.4A.S8.S8 d, a, b, c: the products of four bytes added to c; IDP.2A.{LO,HI}.S16.S8: of halves and bytes."""
    types = [part for part in s.opcode if part in ("S8", "U8", "S16", "U16")]
    if not types:
        raise Unknown("its form without types")
    signed = (types[0][0] == "S", types[-1][0] == "S")
    destination, *sources = exactly(s, 4)
    a, b, c = (t.read(source) for source in sources)
    if s.has("4A"):
        return Compute((t.target(destination),), lambda r: integer.dot4(a(r), b(r), c(r), signed))
    if not s.has("2A"):
        raise Unknown("other products of vectors")
    upper = chosen(s, {"LO": False, "HI": True})
    return Compute((t.target(destination),), lambda r: integer.dot2(a(r), b(r), c(r), signed, upper))


# ---- shift and add


def shift_add(t: Operands, s: sass.Statement) -> Compute:
    """LEA d {, carry}, a, b, shift: (a << shift) + b. LEA.HI takes the bits that a shift of (c : a) moves up.

    LEA.HI d {, carry}, a, b, c, shift {, carry in}; .SX32 stands for the sign of a in place of c.
    """
    destination, carries, rest = _addition(s)
    carry_slot = t.target(carries[0]) if carries else None
    if s.has("HI"):
        high, following = _shifted_up(t, s, rest)
        b = rest[1]
        carry_in = _carry_in(t, following)
        if carry_slot is None:
            readers = [high] + ([] if is_zero(b) else [t.read(b)]) + ([] if carry_in is None else [carry_in])
            return Compute((t.target(destination),), _sum(readers))
        if carry_in is not None and _is_negated(b):
            raise Unknown("a carry into and out of LEA.HI less a number")
        if carry_in is None:
            both = _add_with_carry(high, t.read(b), _is_negated(b))
        else:
            both = _sum_exactly([high, t.read(b)], 0, carry_in)
        return Compute((t.target(destination), carry_slot), lambda registers: both(registers)[:2])
    a, b, amount, *carries_in = rest
    shift = np.int32(number(amount) & 31)
    x, y = t.read(a), t.read(b)
    carry_in = _carry_in(t, carries_in)
    if carry_in is not None:
        if _is_negated(a) or _is_negated(b):
            raise Unknown("a carry into LEA of a negated number")
        with_carry = _sum_exactly([lambda registers: x(registers) << shift, y], 0, carry_in)
        slots = (t.target(destination), carry_slot)
        return Compute(slots, lambda registers: with_carry(registers)[:2])
    if carry_slot is None:
        if is_zero(b):
            return Compute((t.target(destination),), lambda registers: x(registers) << shift)
        return Compute((t.target(destination),), lambda registers: (x(registers) << shift) + y(registers))
    shifted = lambda registers: x(registers) << shift  # noqa: E731
    if _is_negated(a) and _is_negated(b):
        raise Unknown("a carry out of a sum of two negated numbers")
    # -a << shift is b less a << shift: the negated one comes second.
    both = _add_with_carry(y, shifted, True) if _is_negated(a) else _add_with_carry(shifted, y, _is_negated(b))
    return Compute((t.target(destination), carry_slot), lambda registers: both(registers)[:2])


def _is_negated(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register | sass.Constant) and operand.negated


def _shifted_up(t: Operands, s: sass.Statement, rest: tuple) -> tuple[Reader, list[sass.Operand]]:
    """What LEA.HI adds to b: the bits that a shift moves up; and the operands that follow."""
    if s.has("SX32"):
        (a, _, amount, *following), c = rest, None
    elif len(rest) < 4:
        raise Unknown(f"its form with {len(s.operands)} operands")
    else:
        a, _, c, amount, *following = rest
    shift = number(amount) & 31
    down, up = np.int32(32 - shift), np.int32(shift)
    x = t.read(a)
    if c is None:
        high = (lambda r: x(r) >> down) if shift else (lambda r: x(r) >> np.int32(31))
    elif shift == 0:
        high = t.read(c)
    else:
        below = t.read(a, U4)
        shifted = lambda r: (below(r) >> down.view(U4)).view(I4)  # noqa: E731
        if is_zero(c):
            high = shifted
        else:
            z = t.read(c)
            high = lambda r: (z(r) << up) | shifted(r)  # noqa: E731
    return high, following


def funnel_shift(t: Operands, s: sass.Statement) -> Compute:
    """SHF.{L,R}{.W}.{U32,S32,U64,S64}{.HI} d, a, shift, c: 32 bits of the shifted (c : a).

    .W takes the amount modulo the width of the type; otherwise it is limited to it.
    """
    destination, a, amount, c = exactly(s, 4)
    left, wraps, upper = s.has("L"), s.has("W"), s.has("HI")
    width = 64 if s.has("U64", "S64") else 32
    signed = s.has("S32", "S64") and not left
    slots = (t.target(destination),)
    if isinstance(amount, sass.Immediate):
        by = number(amount) & 0xFFFFFFFF
        by = by % width if wraps else min(by, width)
        simple = _simple_shift(t, left, signed, upper, a, by, c)
        if simple is not None:
            return Compute(slots, simple)
        count: Reader = lambda registers: np.int64(by)  # noqa: E731
    else:
        any_amount = t.read(amount, U4)
        last = np.uint32(width - 1)
        if wraps:
            count = lambda registers: (any_amount(registers) & last).astype(I8)  # noqa: E731
        else:
            count = lambda registers: np.minimum(any_amount(registers), np.uint32(width)).astype(I8)  # noqa: E731
    low, high = t.read(a, U4), t.read(c)

    def evaluate(registers):
        both = low(registers).astype(I8) | (high(registers).astype(I8) << np.int64(32))
        by = count(registers)
        if left:
            both = integer.shift_left(both.view(np.uint64), by.astype(np.uint32)).view(I8)
        elif signed:
            both = both >> np.minimum(by, np.int64(63))
        else:
            both = integer.shift_right(both.view(np.uint64), by.astype(np.uint32)).view(I8)
        return (both >> np.int64(32)).astype(I4) if upper else both.astype(I4)

    return Compute(slots, evaluate)


def _simple_shift(t: Operands, left: bool, signed: bool, upper: bool, a, by: int, c) -> Reader | None:
    """Shifts of one register by a constant below 32, in 32 bits; None for the others."""
    if not 0 < by < 32:
        return None
    if left and not upper:
        x, count = t.read(a), np.int32(by)
        return lambda registers: x(registers) << count
    if not left and upper:
        if signed:
            x, count = t.read(c), np.int32(by)
            return lambda registers: x(registers) >> count
        y, unsigned = t.read(c, U4), np.uint32(by)
        return lambda registers: (y(registers) >> unsigned).view(I4)
    up, down = np.int32(by if left else 32 - by), np.uint32(32 - by if left else by)
    if (left and upper) or (not left and not upper):
        high, low = t.read(c), t.read(a, U4)
        return lambda registers: (high(registers) << up) | (low(registers) >> down).view(I4)
    return None


# ---- comparison


def compare(t: Operands, s: sass.Statement) -> Compute:
    """ISETP.cmp{.U32}.bool{.EX} p, q, a, b, c {, lower}: p = (a cmp b) bool c, q = (not (a cmp b)) bool c.

    .EX compares the upper halves of 64-bit numbers: where they are equal the result for the lower halves counts.
    .U64 and .S64 compare pairs of registers.
    """
    first, second, a, b, c, *lower = at_least(s, 5, 6)
    comparison = chosen(s, {name: name for name in COMPARE})
    combine = chosen(s, COMBINE)
    if s.has("U64", "S64"):
        x, y = (t.wide(operand, U8 if s.has("U64") else I8) for operand in (a, b))
    else:
        x, y = (t.read(operand, U4 if s.has("U32") else I4) for operand in (a, b))
    function = COMPARE[comparison]
    if s.has("EX"):
        if not lower:
            raise Unknown("its form without the comparison of the lower halves")
        below = t.truth(lower[0])
        strict = {"GE": COMPARE["GT"], "LE": COMPARE["LT"]}.get(comparison, function)
        if comparison == "NE":
            test = lambda r: (x(r) != y(r)) | below(r)  # noqa: E731
        elif comparison == "EQ":
            test = lambda r: (x(r) == y(r)) & below(r)  # noqa: E731
        else:

            def test(registers):
                left, right = x(registers), y(registers)
                return strict(left, right) | ((left == right) & below(registers))
    else:
        test = lambda registers: function(x(registers), y(registers))  # noqa: E731
    compared = () if s.has("U64", "S64") else (a, b, *lower)
    return predicate_pair(t, first, second, test, combine, c, compared)


def predicate_pair(t: Operands, first, second, test: Reader, combine: Callable, c, compared: Sequence = ()) -> Compute:
    """p and q of a SETP: the test and its opposite, each combined with a third predicate.

    compared: what the test is of, registers of 32 bits and predicates; () if it is not known that it is nothing else.
    """
    other = t.predicate(c)
    if other is None and combine is not COMBINE["AND"]:
        other = t.truth(c)
    slots = (t.target(first), t.target(second))
    tested = t.slots_of(*compared)
    if slots[1] is None:
        if other is None:
            return Compute(slots[:1], test, chosen=(tested, ()))
        return Compute(
            slots[:1], lambda registers: combine(test(registers), other(registers)),
            chooses=both_count(combine, test, other), chosen=(tested, t.slots_of(c)),
        )  # fmt: skip

    def both(registers):
        yes = test(registers)
        no = np.logical_not(yes)
        if other is None:
            return yes, no
        rest = other(registers)
        return combine(yes, rest), combine(no, rest)

    return Compute(slots, both)


# ---- logic


def logic3(t: Operands, s: sass.Statement) -> Compute:
    """LOP3.LUT {p,} d, a, b, c, table, q: any function of three bits; p = (d != 0) or q (.PAND: and q)."""
    predicates, rest = leading_predicates(at_least(s, 5, 7))
    if len(predicates) > 1 or len(rest) not in (5, 6):
        raise Unknown(f"its form with {len(s.operands)} operands")
    first = predicates[0] if predicates else None
    destination, a, b, c, table, *last = rest
    x, y, z = t.read(a), t.read(b), t.read(c)
    lut = number(table) & 0xFF
    function = LOGIC.get(lut) or (lambda p, q, r: integer.lop3(p, q, r, lut))
    value = lambda registers: function(x(registers), y(registers), z(registers))  # noqa: E731
    if first is None:
        return Compute((t.target(destination),), value)
    combine = COMBINE["AND" if s.has("PAND") else "OR"]
    other = t.truth(last[0]) if last and not _is_false(last[0]) else None

    def both(registers):
        result = value(registers)
        some = result != 0
        return result, some if other is None else combine(some, other(registers))

    return Compute((t.target(destination), t.target(first)), both)


def predicate_logic3(t: Operands, s: sass.Statement) -> Compute:
    """PLOP3.LUT p, q, a, b, c, table of p, table of q; R2.SIGN is true for a negative register."""
    first, second, a, b, c, *rest = exactly(s, 7)
    sources = [_sign_or_truth(t, operand) for operand in (a, b, c)]
    tables = [number(operand) & 0xFF for operand in rest]
    slots = (t.target(first), t.target(second))

    def evaluate(registers):
        inputs = [source(registers) for source in sources]
        return tuple(
            _predicate_table(inputs, table) if slot is not None else None
            for slot, table in zip(slots, tables, strict=True)
        )

    return Compute(slots, evaluate)


def _sign_or_truth(t: Operands, operand: sass.Operand) -> Reader:
    if isinstance(operand, sass.Register) and operand.modifiers == ("SIGN",):
        value = t.read(replace(operand, modifiers=()))
        return lambda registers: value(registers) < 0
    return t.truth(operand)


def _predicate_table(inputs: list, table: int):
    """The value of a truth table: bit 4a + 2b + c of it."""
    result = np.False_
    for row in range(8):
        if table >> row & 1:
            term = np.True_
            for value, bit in zip(inputs, (4, 2, 1), strict=True):
                term = term & (value if row & bit else np.logical_not(value))
            result = result | term
    return result


def select(t: Operands, s: sass.Statement) -> Compute:
    """SEL, FSEL d, a, b, p: a where p, else b; SEL.64 of pairs of registers."""
    destination, a, b, condition = exactly(s, 4)
    if s.has("64"):
        first, second, p = t.wide(a), t.wide(b), t.truth(condition)
        return t.split(destination, lambda r: comparisons.select(p(r), first(r), second(r)))
    dtype = F4 if s.base in ("FSEL", "UFSEL") else I4
    x, y, p = t.read(a, dtype), t.read(b, dtype), t.truth(condition)
    evaluate = lambda r: comparisons.select(p(r), x(r), y(r))  # noqa: E731
    return Compute((t.target(destination),), evaluate, chooses=one_of_two(p), chosen=(t.slots_of(a), t.slots_of(b)))


def without_second_answers(operands: Sequence[sass.Operand]) -> Sequence[sass.Operand]:
    """Blackwell's VIMNMX names two predicates behind its destination; PT, PT where nobody wants them."""
    return (operands[0], *operands[3:]) if list(operands[1:3]) == [sass.Register("P", None)] * 2 else operands


def minimum_maximum(t: Operands, s: sass.Statement) -> Compute:
    """IMNMX, VIMNMX{.U32} d, a, b, p: the smaller where p, else the larger; VIMNMX3 of three.

    VIADDMNMX d, a, b, c, p: of a + b and c. {.S16x2,.U16x2,.U8x4}: of the parts of a register. .RELU: at least 0.
    IMNMX.{S64,U64} PT, PT, d, a, b, p, !PT: of pairs of registers.
    """
    if s.has("U64", "S64"):
        destination, a, b, condition = of_pairs(s)
        x, y, p = *(t.wide(operand, U8 if s.has("U64") else I8) for operand in (a, b)), t.truth(condition)
        return t.split(destination, lambda r: np.where(p(r), np.minimum(x(r), y(r)), np.maximum(x(r), y(r))))
    destination, *sources, condition = without_second_answers(at_least(s, 4, 6))
    if len(sources) != (3 if s.base in ("VIMNMX3", "VIADDMNMX") else 2):
        raise Unknown(f"its form with {len(s.operands)} operands")
    part = chosen(s, {"S16x2": np.int16, "U16x2": np.uint16, "U8x4": np.uint8}, None)
    dtype = U4 if s.has("U32") else I4
    p = t.truth(condition)
    values = [t.read(source, I4 if part else dtype) for source in sources]

    def apply(function, a, b):
        return _by_parts(function, part, a, b) if part else function(a, b)

    def choose(registers, pick):
        value, *others = (read(registers) for read in values)
        if s.base == "VIADDMNMX":
            value, others = apply(np.add, value, others[0]), others[1:]
        for other in others:
            value = apply(pick, value, other)
        return apply(np.maximum, value, value.dtype.type(0)) if s.has("RELU") else value

    def evaluate(registers):
        smaller = p(registers)
        if smaller.ndim == 0:
            return choose(registers, np.minimum if smaller else np.maximum)
        return np.where(smaller, choose(registers, np.minimum), choose(registers, np.maximum))

    return Compute((t.target(destination),), evaluate)


def of_pairs(s: sass.Statement) -> tuple[sass.Operand, ...]:
    """(d, a, b, p) of IMNMX.U64; nobody wants the predicates before its destination and behind them."""
    first, second, *operands, last = exactly(s, 7)
    if [first, second] != [sass.Register("P", None)] * 2 or not _is_false(last):
        raise Unknown("its form with predicates")
    return tuple(operands)


def _by_parts(function: Callable, dtype: type, a, b):
    """A function of 8- or 16-bit integers, of each part of two registers."""
    result = np.int32(0)
    size = np.dtype(dtype).itemsize
    for shift in map(np.int32, range(0, 32, 8 * size)):
        part = function((a >> shift).astype(dtype), (b >> shift).astype(dtype))
        result = result | (part.astype(f"u{size}").astype(I4) << shift)
    return result


def saturate(t: Operands, s: sass.Statement) -> Compute:
    """I2I.{S8,U8,S16,U16}.{S32,U32}.SAT d, a: the nearest number of the narrower type."""
    destination, a = exactly(s, 2)
    to, origin = (*s.opcode, "", "")[1:3]
    narrow = {"S8": np.int8, "U8": np.uint8, "S16": np.int16, "U16": np.uint16}.get(to)
    if narrow is None or not s.has("SAT") or origin not in ("S32", "U32"):
        raise Unknown("a conversion between integers")
    limits = np.iinfo(narrow)
    x = t.read(a, U4 if origin == "U32" else I4)
    return Compute((t.target(destination),), lambda r: np.clip(x(r).astype(I8), limits.min, limits.max).astype(I4))


def saturate_and_pack(t: Operands, s: sass.Statement) -> Compute:
    """I2IP.to.S32.SAT d, high, low, above: cvt.pack of PTX."""
    destination, high, low, above = exactly(s, 4)
    to, origin = (*s.opcode, "", "")[1:3]
    if to[1:] not in ("2", "4", "8", "16") or origin != "S32" or not s.has("SAT"):
        raise Unknown("a conversion between integers")
    bits, is_signed = int(to[1:]), to[0] == "S"
    a, b, c = t.read(high), t.read(low), t.read(without_room(above, bits), U4)
    evaluate = lambda r: integer.packed(a(r), b(r), c(r), bits, is_signed).view(I4)  # noqa: E731
    return Compute((t.target(destination),), evaluate)


def without_room(above: sass.Operand, bits: int) -> sass.Operand:
    """I2IP's third operand, which may say how many bits of it there is room for."""
    if isinstance(above, sass.Register) and above.modifiers == (str(32 - 2 * bits),):
        return replace(above, modifiers=())
    return above


# ---- bits


def move(t: Operands, s: sass.Statement) -> Compute:
    """MOV, UMOV d, a; .64: a pair of registers."""
    destination, source, *_ = at_least(s, 2, 3)  # the third says which bytes: all
    if s.has("64"):
        return t.split(destination, t.wide(source))
    return Compute((t.target(destination),), t.bits(source), copies=True)


def absolute(t: Operands, s: sass.Statement) -> Compute:
    """IABS d, a."""
    destination, operand = exactly(s, 2)
    a = t.read(operand)
    return Compute((t.target(destination),), lambda registers: np.abs(a(registers)))


def population_count(t: Operands, s: sass.Statement) -> Compute:
    """POPC d, a: the number of one bits."""
    destination, operand = exactly(s, 2)
    a = t.read(operand, U4)
    return Compute((t.target(destination),), lambda registers: integer.population_count(a(registers)).view(I4))


def find_leading_one(t: Operands, s: sass.Statement) -> Compute:
    """FLO{.U32}{.SH} d, a: the highest bit that differs from the sign, or the shift that brings it up; -1 if none."""
    destination, *between, operand = at_least(s, 2, 3)
    if between and not (is_predicate(between[0]) and between[0].number is None):
        raise Unknown("a predicate that says whether there is a bit")
    a, shift = t.read(operand, U4 if s.has("U32") else I4), s.has("SH")
    return Compute((t.target(destination),), lambda registers: integer.find_leading(a(registers), shift).view(I4))


def reverse_bits(t: Operands, s: sass.Statement) -> Compute:
    """BREV d, a."""
    destination, operand = exactly(s, 2)
    a = t.read(operand, U4)
    return Compute((t.target(destination),), lambda registers: integer.reverse_bits(a(registers)).view(I4))


def permute_bytes(t: Operands, s: sass.Statement) -> Compute:
    """PRMT{.F4E,.B4E,.RC8,.ECL,.ECR,.RC16} d, a, selector, c: four of the eight bytes of (c : a)."""
    destination, a, selector, c = exactly(s, 4)
    x, y, z = t.read(a, U4), t.read(c, U4), t.read(selector, U4)
    mode = chosen(s, {name.upper(): name for name in integer.PERMUTATIONS}, "")
    permute = integer.permute_bytes_by(mode) if mode else integer.permute_bytes
    return Compute((t.target(destination),), lambda r: permute(x(r), y(r), z(r)).view(I4))


def sign_extend(t: Operands, s: sass.Statement) -> Compute:
    """SGXT{.W}{.U32} d, a, width: the low bits of a, extended by their sign (.U32: by zeros)."""
    destination, a, width = exactly(s, 3)
    x, bits, signed = t.read(a), t.read(width, U4), not s.has("U32")

    def evaluate(registers):
        count = bits(registers)
        count = count & np.uint32(31) if s.has("W") else np.minimum(count, np.uint32(32))
        unused = np.minimum(np.uint32(32) - count, np.uint32(31)).view(I4)
        value = x(registers) << unused
        value = value >> unused if signed else (value.view(U4) >> unused.view(U4)).view(I4)
        return np.where(count == 0, np.int32(0), value)

    return Compute((t.target(destination),), evaluate)


def bit_mask(t: Operands, s: sass.Statement) -> Compute:
    """BMSK{.W} d, position, width: `width` ones from bit `position` on."""
    destination, position, width = exactly(s, 3)
    first, count = t.read(position, U4), t.read(width, U4)

    def evaluate(registers):
        at, bits = first(registers), count(registers)
        if s.has("W"):
            at, bits = at & np.uint32(31), bits & np.uint32(31)
        ones = integer.shift_left(np.uint32(1), bits) - np.uint32(1)
        return integer.shift_left(np.asarray(ones), at)[()].view(I4)

    return Compute((t.target(destination),), evaluate)


def absolute_difference(t: Operands, s: sass.Statement) -> Compute:
    """VABSDIFF{.U32} d, a, b, c: |a - b| + c."""
    destination, a, b, c = exactly(s, 4)
    dtype = U4 if s.has("U32") else I4
    x, y, z = t.read(a, dtype), t.read(b, dtype), t.read(c)

    def evaluate(registers):
        left, right = x(registers), y(registers)
        return np.where(left < right, right - left, left - right).view(I4) + z(registers)

    return Compute((t.target(destination),), evaluate)


def absolute_differences(t: Operands, s: sass.Statement) -> Compute:
    """VABSDIFF4{.U8} d, a, b, c: |a - b| of each byte, whatever c is; with .ACC their sum, added to c."""
    destination, a, b, c = exactly(s, 4)
    x, y, z, signed = t.read(a, U4), t.read(b, U4), t.read(c, U4), not s.has("U8")
    if s.has("ACC"):
        sums = lambda r: integer.absolute_differences(x(r), y(r), z(r), signed).view(I4)  # noqa: E731
        return Compute((t.target(destination),), sums)
    return Compute(
        (t.target(destination),), lambda r: integer.absolute_difference_of_bytes(x(r), y(r), signed).view(I4)
    )


def pack_predicates(t: Operands, s: sass.Statement) -> Compute:
    """P2R{.B1} d, PR, a, mask: the predicates of the mask as bits of d (of its byte 1), the others from a; UP2UR the
    uniform ones."""
    destination, _, a, mask = exactly(s, 4)
    wanted, shift = number(mask) & 0x7F, _byte_shift(s)
    base, keep = t.read(_whole(a)), np.int32(~(wanted << shift))
    predicates = [(bit, t.truth(sass.Register(_predicate_file(s), bit))) for bit in range(7) if wanted >> bit & 1]

    def evaluate(registers):
        value = base(registers) & keep
        for bit, predicate in predicates:
            value = value | (predicate(registers).astype(I4) << np.int32(bit + shift))
        return value

    return Compute((t.target(destination),), evaluate)


def unpack_predicates(t: Operands, s: sass.Statement) -> Compute:
    """R2P PR, a, mask: the predicates of the mask from bits of a, all of them without one; UR2UP the uniform ones."""
    _, a, *mask = at_least(s, 2, 3)
    wanted, shift = number(mask[0]) & 0x7F if mask else 0x7F, _byte_shift(s)
    value = t.read(_whole(a))
    wanted_bits = [bit for bit in range(7) if wanted >> bit & 1]
    slots = tuple(t.target(sass.Register(_predicate_file(s), bit)) for bit in wanted_bits)
    bits = [np.int32(1 << (bit + shift)) for bit in wanted_bits]

    def evaluate(registers):
        word = value(registers)
        values = tuple((word & bit) != 0 for bit in bits)
        return values if len(values) > 1 else values[0]

    return Compute(slots, evaluate)


def _predicate_file(s: sass.Statement) -> str:
    return "UP" if s.base in ("UP2UR", "UR2UP") else "P"


def _byte_shift(s: sass.Statement) -> int:
    """8 for .B1: which byte of the register is meant; it stands at the opcode or at an operand."""
    modifiers = [*s.opcode, *(m for o in s.operands if isinstance(o, sass.Register) for m in o.modifiers)]
    return 8 * next((int(m[1]) for m in modifiers if m in ("B0", "B1", "B2", "B3")), 0)


def _whole(operand: sass.Operand) -> sass.Operand:
    """The register of which an operand like `R5.B1` names a byte."""
    return replace(operand, modifiers=()) if isinstance(operand, sass.Register) else operand
