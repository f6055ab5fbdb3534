"""Integer, logic and predicate instructions of SASS.

Each function takes the operands' translator and a statement and returns (slots written, evaluate): what an engine's ALU
instruction needs. The rules were found by comparing compiled code with its PTX, and hold bit for bit against it.

Carries: `IADD3 R2, P0, R4, R6, RZ` sets P0 to the carry out of bit 31; `IADD3.X R3, R5, R7, RZ, P0, !PT` adds it.
A negated operand of an addition with carry is its complement plus one, as in any adder.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from helpers.compiler import sass
from helpers.simulator.arithmetic import integer
from helpers.simulator.frontends.sass.operands import I4, I8, U4, Operands, Reader, halves

Result = tuple[tuple[int | None, ...], Callable]
COMPARE: dict[str, Callable] = {
    "LT": lambda a, b: a < b, "EQ": lambda a, b: a == b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
    "NE": lambda a, b: a != b, "GE": lambda a, b: a >= b,
}  # fmt: skip
COMBINE: dict[str, Callable] = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b,
}  # fmt: skip
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


def _is_zero(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register) and operand.number is None and not operand.inverted


def _is_false(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register) and operand.number is None and operand.negated


def _is_predicate(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register) and operand.file.endswith("P")


def _leading_predicates(operands: tuple) -> tuple[list, tuple]:
    """(the predicates that stand before the sources, the rest)."""
    count = 0
    while count < len(operands) and _is_predicate(operands[count]):
        count += 1
    return list(operands[:count]), operands[count:]


def _carry_in(t: Operands, operands: tuple) -> Reader | None:
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


def add3(t: Operands, s: sass.Statement) -> Result:
    """IADD3 d {, carry, carry}, a, b, c {, carry in, carry in}."""
    destination, *rest = s.operands
    carries, rest = _leading_predicates(tuple(rest))
    sources, carry_in = rest[:3], _carry_in(t, rest[3:])
    wanted = [t.target(carry) for carry in carries]
    if not any(slot is not None for slot in wanted):
        readers = [t.read(source) for source in sources if not _is_zero(source)]
        if carry_in is not None:
            readers.append(carry_in)
        return (t.target(destination),), _sum(readers)
    slots = (t.target(destination), *(wanted + [None])[:2])
    some = [source for source in sources if not _is_zero(source)]
    negated = [isinstance(source, sass.Register | sass.Constant) and source.negated for source in some]
    if len(some) == 2 and carry_in is None and not all(negated):
        first, second = some[::-1] if negated[0] else some
        return slots, _add_with_carry(t.read(first), t.read(second), any(negated))
    return slots, _add_exactly(t, some, carry_in)


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
            plain = t._plain(source, I4, 0)
            readers.append(lambda registers, plain=plain: ~plain(registers))
            ones += 1
        else:
            readers.append(t.read(source))

    def evaluate(registers):
        total = np.int64(ones)
        for reader in readers:
            total = total + reader(registers).view(U4).astype(I8)
        if carry_in is not None:
            total = total + carry_in(registers)
        high = total >> np.int64(32)
        return total.astype(I4), high >= 1, high >= 2

    return evaluate


def add2(t: Operands, s: sass.Statement) -> Result:
    """VIADD d, a, b."""
    destination, *sources = s.operands
    return (t.target(destination),), _sum([t.read(source) for source in sources if not _is_zero(source)])


# ---- multiplication and addition


def multiply_add(t: Operands, s: sass.Statement) -> Result:
    """IMAD: the low 32 bits of a · b + c; .WIDE all 64 of it; .HI the upper 32, with a 64-bit c.

    The forms .MOV, .IADD and .SHL say what the compiler uses it for: a or b is then zero, one or a power of two.
    """
    if s.has("WIDE"):
        return _multiply_add_wide(t, s)
    destination, *rest = s.operands
    carries, rest = _leading_predicates(tuple(rest))
    a, b, c = rest[:3]
    slots = (t.target(destination),)
    if s.has("HI"):
        if carries and t.target(carries[0]) is not None:
            return (*slots, t.target(carries[0])), _multiply_high_with_carry(t, s, a, b, c)
        return slots, _multiply_high(t, s, a, b, c)
    if any(t.target(carry) is not None for carry in carries):
        raise ValueError("a multiplication with a carry out")
    carry_in = _carry_in(t, rest[3:])
    readers = []
    if not (_is_zero(a) or _is_zero(b)):
        readers.append(_product(t, a, b))
    if not _is_zero(c):
        readers.append(t.read(c))
    if carry_in is not None:
        readers.append(carry_in)
    return slots, _sum(readers)


def _product(t: Operands, a: sass.Operand, b: sass.Operand) -> Reader:
    x = t.read(a)
    if isinstance(b, sass.Immediate) and b.integer == 1:
        return x
    y = t.read(b)
    return lambda registers: x(registers) * y(registers)


def _multiply_add_wide(t: Operands, s: sass.Statement) -> Result:
    """IMAD.WIDE{.U32}{.X} d {, carry}, a, b, c {, carry in}: d and c are pairs."""
    destination, *rest = s.operands
    carries, rest = _leading_predicates(tuple(rest))
    a, b, c = rest[:3]
    carry_in = _carry_in(t, rest[3:])
    dtype = U4 if s.has("U32") else I4
    x, y = t.read(a, dtype), t.read(b, dtype)
    z = None if _is_zero(c) else t.wide(c)
    has_product = not (_is_zero(a) or _is_zero(b))

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

        return (*t.targets(destination, 2), t.target(carries[0])), evaluate

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
    if _is_zero(c):
        return lambda r: ((x(r).astype(I8) * y(r).astype(I8)) >> thirty_two).astype(I4)
    z = t.wide(c)
    return lambda r: ((x(r).astype(I8) * y(r).astype(I8) + z(r)) >> thirty_two).astype(I4)


def _multiply_high_with_carry(t: Operands, s: sass.Statement, a, b, c) -> Callable:
    """The same and the carry out of bit 63."""
    if not s.has("U32"):
        raise ValueError("a signed multiplication with a carry out")
    x, y, z = t.read(a, U4), t.read(b, U4), t.wide(c)

    def evaluate(registers):
        before = z(registers)
        total = x(registers).astype(I8) * y(registers).astype(I8) + before
        carry = total.view(np.uint64) < before.view(np.uint64)
        return (total >> np.int64(32)).astype(I4), carry

    return evaluate


def dot_product(t: Operands, s: sass.Statement) -> Result:
    """IDP.4A.S8.S8 d, a, b, c: the products of four bytes added to c."""
    if not s.has("4A"):
        raise ValueError("dot products of 16-bit numbers")
    signs = [part for part in s.opcode if part in ("S8", "U8")]
    dtypes = [np.dtype(np.int8 if sign == "S8" else np.uint8) for sign in (signs * 2)[:2]]
    destination, *sources = s.operands
    a, b, c = (t.read(source) for source in sources)

    def evaluate(registers):
        total = c(registers)
        for shift in (0, 8, 16, 24):
            left = (a(registers) >> np.int32(shift)).astype(np.uint8).view(dtypes[0]).astype(I4)
            right = (b(registers) >> np.int32(shift)).astype(np.uint8).view(dtypes[1]).astype(I4)
            total = total + left * right
        return total

    return (t.target(destination),), evaluate


# ---- shift and add


def shift_add(t: Operands, s: sass.Statement) -> Result:
    """LEA d {, carry}, a, b, shift: (a << shift) + b. LEA.HI takes the bits that a shift of (c : a) moves up.

    LEA.HI d {, carry}, a, b, c, shift {, carry in}; .SX32 stands for the sign of a in place of c.
    """
    destination, *rest = s.operands
    carries, rest = _leading_predicates(tuple(rest))
    carry_slot = t.target(carries[0]) if carries else None
    if s.has("HI"):
        high, following = _shifted_up(t, s, rest)
        b = rest[1]
        carry_in = _carry_in(t, following)
        if carry_slot is None:
            readers = [high] + ([] if _is_zero(b) else [t.read(b)]) + ([] if carry_in is None else [carry_in])
            return (t.target(destination),), _sum(readers)
        if carry_in is not None:
            raise ValueError("a carry into and out of LEA.HI")
        both = _add_with_carry(high, t.read(b), _is_negated(b))
        return (t.target(destination), carry_slot), lambda registers: both(registers)[:2]
    a, b, amount = rest[:3]
    shift = np.int32(amount.integer & 31)
    x, y = t.read(a), t.read(b)
    carry_in = _carry_in(t, rest[3:])
    if carry_in is not None:
        raise ValueError("a carry into LEA")
    if carry_slot is None:
        if _is_zero(b):
            return (t.target(destination),), lambda registers: x(registers) << shift
        return (t.target(destination),), lambda registers: (x(registers) << shift) + y(registers)
    shifted = lambda registers: x(registers) << shift  # noqa: E731
    if _is_negated(a) and _is_negated(b):
        raise ValueError("a carry out of a sum of two negated numbers")
    # -a << shift is b less a << shift: the negated one comes second.
    both = _add_with_carry(y, shifted, True) if _is_negated(a) else _add_with_carry(shifted, y, _is_negated(b))
    return (t.target(destination), carry_slot), lambda registers: both(registers)[:2]


def _is_negated(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register | sass.Constant) and operand.negated


def _shifted_up(t: Operands, s: sass.Statement, rest: tuple) -> tuple[Reader, tuple]:
    """What LEA.HI adds to b: the bits that a shift moves up; and the operands that follow."""
    if s.has("SX32"):
        (a, _, amount), following, c = rest[:3], rest[3:], None
    else:
        (a, _, c, amount), following = rest[:4], rest[4:]
    shift = amount.integer & 31
    down, up = np.int32(32 - shift), np.int32(shift)
    x = t.read(a)
    if c is None:
        high = (lambda r: x(r) >> down) if shift else (lambda r: x(r) >> np.int32(31))
    elif shift == 0:
        high = t.read(c)
    else:
        below = t.read(a, U4)
        shifted = lambda r: (below(r) >> down.view(U4)).view(I4)  # noqa: E731
        if _is_zero(c):
            high = shifted
        else:
            z = t.read(c)
            high = lambda r: (z(r) << up) | shifted(r)  # noqa: E731
    return high, following


def funnel_shift(t: Operands, s: sass.Statement) -> Result:
    """SHF.{L,R}{.W}.{U32,S32,U64,S64}{.HI} d, a, shift, c: 32 bits of the shifted (c : a).

    .W takes the amount modulo the width of the type; otherwise it is limited to it.
    """
    destination, a, amount, c = s.operands
    left, wraps, upper = s.has("L"), s.has("W"), s.has("HI")
    width = 64 if s.has("U64", "S64") else 32
    signed = s.has("S32", "S64") and not left
    slots = (t.target(destination),)
    if isinstance(amount, sass.Immediate):
        by = amount.integer & 0xFFFFFFFF
        by = by % width if wraps else min(by, width)
        simple = _simple_shift(t, left, signed, upper, a, by, c)
        if simple is not None:
            return slots, simple
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

    return slots, evaluate


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


def compare(t: Operands, s: sass.Statement) -> Result:
    """ISETP.cmp{.U32}.bool{.EX} p, q, a, b, c {, lower}: p = (a cmp b) bool c, q = (not (a cmp b)) bool c.

    .EX compares the upper halves of 64-bit numbers: where they are equal the result for the lower halves counts.
    """
    first, second, a, b, c, *lower = s.operands
    comparison = next(part for part in s.opcode if part in COMPARE)
    combine = COMBINE[next(part for part in s.opcode if part in COMBINE)]
    dtype = U4 if s.has("U32") else I4
    x, y = t.read(a, dtype), t.read(b, dtype)
    function = COMPARE[comparison]
    if s.has("EX"):
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
    return predicate_pair(t, first, second, test, combine, c)


def predicate_pair(t: Operands, first, second, test: Reader, combine: Callable, c) -> Result:
    """p and q of a SETP: the test and its opposite, each combined with a third predicate."""
    other = t.predicate(c)
    if other is None and combine is not COMBINE["AND"]:
        other = t.truth(c)
    slots = (t.target(first), t.target(second))
    if slots[1] is None:
        if other is None:
            return slots[:1], test
        return slots[:1], lambda registers: combine(test(registers), other(registers))

    def both(registers):
        yes = test(registers)
        no = np.logical_not(yes)
        if other is None:
            return yes, no
        rest = other(registers)
        return combine(yes, rest), combine(no, rest)

    return slots, both


# ---- logic


def logic3(t: Operands, s: sass.Statement) -> Result:
    """LOP3.LUT {p,} d, a, b, c, table, q: any function of three bits; p = (d != 0) or q (.PAND: and q)."""
    operands = list(s.operands)
    first = operands.pop(0) if _is_predicate(operands[0]) else None
    destination, a, b, c, table, *last = operands
    x, y, z = t.read(a), t.read(b), t.read(c)
    lut = table.integer & 0xFF
    function = LOGIC.get(lut) or (lambda p, q, r: integer.lop3(p, q, r, lut))
    value = lambda registers: function(x(registers), y(registers), z(registers))  # noqa: E731
    if first is None:
        return (t.target(destination),), value
    combine = COMBINE["AND" if s.has("PAND") else "OR"]
    other = t.truth(last[0]) if last and not _is_false(last[0]) else None

    def both(registers):
        result = value(registers)
        some = result != 0
        return result, some if other is None else combine(some, other(registers))

    return (t.target(destination), t.target(first)), both


def predicate_logic3(t: Operands, s: sass.Statement) -> Result:
    """PLOP3.LUT p, q, a, b, c, table of p, table of q."""
    first, second, *rest = s.operands
    sources = [t.truth(operand) for operand in rest[:3]]
    tables = [operand.integer & 0xFF for operand in rest[3:5]]
    slots = (t.target(first), t.target(second))

    def evaluate(registers):
        inputs = [source(registers) for source in sources]
        return tuple(
            _predicate_table(inputs, table) if slot is not None else None
            for slot, table in zip(slots, tables, strict=True)
        )

    return slots, evaluate


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


def select(t: Operands, s: sass.Statement) -> Result:
    """SEL, FSEL d, a, b, p: a where p, else b."""
    destination, a, b, condition = s.operands
    dtype = np.dtype(np.float32) if s.base == "FSEL" else I4
    x, y, p = t.read(a, dtype), t.read(b, dtype), t.truth(condition)

    def evaluate(registers):
        choice = p(registers)
        if choice.ndim == 0:
            return x(registers) if choice else y(registers)
        return np.where(choice, x(registers), y(registers))

    return (t.target(destination),), evaluate


def minimum_maximum(t: Operands, s: sass.Statement) -> Result:
    """IMNMX, VIMNMX{.U32} d, a, b, p: the smaller where p, else the larger; VIMNMX3 of three.

    VIADDMNMX d, a, b, c, p: of a + b and c.
    """
    destination, *sources, condition = s.operands
    if s.has("S16x2", "U16x2"):
        return _minimum_maximum_of_halves(t, s)
    dtype = U4 if s.has("U32") else I4
    p = t.truth(condition)
    first, *others = (t.read(source, dtype) for source in sources)
    if s.base == "VIADDMNMX":
        a, b = (t.read(source) for source in sources[:2])
        first, others = (lambda registers: (a(registers) + b(registers)).view(dtype)), others[1:]

    def choose(registers, pick):
        value = first(registers)
        for other in others:
            value = pick(value, other(registers))
        return value

    def evaluate(registers):
        smaller = p(registers)
        if smaller.ndim == 0:
            return choose(registers, np.minimum if smaller else np.maximum)
        return np.where(smaller, choose(registers, np.minimum), choose(registers, np.maximum))

    return (t.target(destination),), evaluate


def _minimum_maximum_of_halves(t: Operands, s: sass.Statement) -> Result:
    """VIMNMX.{S16x2,U16x2} d, a, b, p: of the lower and of the upper halves."""
    destination, a, b, condition = s.operands
    dtype = np.dtype(np.uint16 if s.has("U16x2") else np.int16)
    x, y, p = t.read(a), t.read(b), t.truth(condition)

    def evaluate(registers):
        result = np.int32(0)
        for shift in (np.int32(0), np.int32(16)):
            left, right = ((value(registers) >> shift).astype(dtype) for value in (x, y))
            chosen = np.where(p(registers), np.minimum(left, right), np.maximum(left, right))
            result = result | (chosen.astype(np.uint16).astype(I4) << shift)
        return result

    return (t.target(destination),), evaluate


def saturate(t: Operands, s: sass.Statement) -> Result:
    """I2I.{S8,U8,S16,U16}.{S32,U32}.SAT d, a: the nearest number of the narrower type."""
    destination, a = s.operands
    to, origin = s.opcode[1:3]
    if not s.has("SAT") or origin not in ("S32", "U32"):
        raise ValueError("a conversion between integers")
    limits = np.iinfo({"S8": np.int8, "U8": np.uint8, "S16": np.int16, "U16": np.uint16}[to])
    x = t.read(a, U4 if origin == "U32" else I4)
    return (t.target(destination),), lambda r: np.clip(x(r).astype(I8), limits.min, limits.max).astype(I4)


# ---- bits


def move(t: Operands, s: sass.Statement) -> Result:
    """MOV, UMOV d, a."""
    destination, source = s.operands[:2]
    return (t.target(destination),), t.bits(source)


def absolute(t: Operands, s: sass.Statement) -> Result:
    """IABS d, a."""
    a = t.read(s.operands[1])
    return (t.target(s.operands[0]),), lambda registers: np.abs(a(registers))


def population_count(t: Operands, s: sass.Statement) -> Result:
    """POPC d, a: the number of one bits."""
    a = t.read(s.operands[-1], U4)
    return (t.target(s.operands[0]),), lambda registers: integer.population_count(a(registers)).view(I4)


def find_leading_one(t: Operands, s: sass.Statement) -> Result:
    """FLO{.U32}{.SH} d, a: the highest bit that differs from the sign, or the shift that brings it up; -1 if none."""
    operands = [operand for operand in s.operands if not _is_predicate(operand)]
    a, shift = t.read(operands[1], U4 if s.has("U32") else I4), s.has("SH")
    return (t.target(operands[0]),), lambda registers: integer.find_leading(a(registers), shift).view(I4)


def reverse_bits(t: Operands, s: sass.Statement) -> Result:
    """BREV d, a."""
    a = t.read(s.operands[1], U4)
    return (t.target(s.operands[0]),), lambda registers: integer.reverse_bits(a(registers)).view(I4)


def permute_bytes(t: Operands, s: sass.Statement) -> Result:
    """PRMT d, a, selector, c: four of the eight bytes of (c : a)."""
    if len(s.opcode) > 1:
        raise ValueError("the modes of PRMT")
    destination, a, selector, c = s.operands
    x, y, z = t.read(a, U4), t.read(c, U4), t.read(selector, U4)
    return (t.target(destination),), lambda r: integer.permute_bytes(x(r), y(r), z(r)).view(I4)


def sign_extend(t: Operands, s: sass.Statement) -> Result:
    """SGXT{.W}{.U32} d, a, width: the low bits of a, extended by their sign (.U32: by zeros)."""
    destination, a, width = s.operands
    x, bits, signed = t.read(a), t.read(width, U4), not s.has("U32")

    def evaluate(registers):
        count = bits(registers)
        count = count & np.uint32(31) if s.has("W") else np.minimum(count, np.uint32(32))
        unused = np.minimum(np.uint32(32) - count, np.uint32(31)).view(I4)
        value = x(registers) << unused
        value = value >> unused if signed else (value.view(U4) >> unused.view(U4)).view(I4)
        return np.where(count == 0, np.int32(0), value)

    return (t.target(destination),), evaluate


def bit_mask(t: Operands, s: sass.Statement) -> Result:
    """BMSK{.W} d, position, width: `width` ones from bit `position` on."""
    destination, position, width = s.operands
    first, count = t.read(position, U4), t.read(width, U4)

    def evaluate(registers):
        at, bits = first(registers), count(registers)
        if s.has("W"):
            at, bits = at & np.uint32(31), bits & np.uint32(31)
        ones = integer.shift_left(np.uint32(1), bits) - np.uint32(1)
        return integer.shift_left(np.asarray(ones), at)[()].view(I4)

    return (t.target(destination),), evaluate


def absolute_difference(t: Operands, s: sass.Statement) -> Result:
    """VABSDIFF{.U32} d, a, b, c: |a - b| + c."""
    destination, a, b, c = s.operands
    dtype = U4 if s.has("U32") else I4
    x, y, z = t.read(a, dtype), t.read(b, dtype), t.read(c)

    def evaluate(registers):
        left, right = x(registers), y(registers)
        return np.where(left < right, right - left, left - right).view(I4) + z(registers)

    return (t.target(destination),), evaluate


def pack_predicates(t: Operands, s: sass.Statement) -> Result:
    """P2R{.B1} d, PR, a, mask: the predicates of the mask as bits of d (of its byte 1), the others from a."""
    destination, _, a, mask = s.operands
    wanted, shift = mask.integer & 0x7F, _byte_shift(s)
    base, keep = t.read(replace(a, modifiers=())), np.int32(~(wanted << shift))
    chosen = [(number, t.truth(sass.Register("P", number))) for number in range(7) if wanted >> number & 1]

    def evaluate(registers):
        value = base(registers) & keep
        for number, predicate in chosen:
            value = value | (predicate(registers).astype(I4) << np.int32(number + shift))
        return value

    return (t.target(destination),), evaluate


def unpack_predicates(t: Operands, s: sass.Statement) -> Result:
    """R2P PR, a, mask: the predicates of the mask from bits of a."""
    _, a, mask = s.operands
    wanted, shift = mask.integer & 0x7F, _byte_shift(s)
    value = t.read(replace(a, modifiers=()))
    numbers = [number for number in range(7) if wanted >> number & 1]
    slots = tuple(t.target(sass.Register("P", number)) for number in numbers)
    bits = [np.int32(1 << (number + shift)) for number in numbers]

    def evaluate(registers):
        word = value(registers)
        values = tuple((word & bit) != 0 for bit in bits)
        return values if len(values) > 1 else values[0]

    return slots, evaluate


def _byte_shift(s: sass.Statement) -> int:
    """8 for .B1: which byte of the register is meant; it stands at the opcode or at an operand."""
    modifiers = [*s.opcode, *(m for o in s.operands if isinstance(o, sass.Register) for m in o.modifiers)]
    return 8 * next((int(m[1]) for m in modifiers if m in ("B0", "B1", "B2", "B3")), 0)


def load_constant(t: Operands, s: sass.Statement) -> Result:
    """LDC, ULDC{.64} d, c[bank][offset] with a constant offset."""
    destination, source = s.operands
    if s.has("64"):
        return t.targets(destination, 2), _two(t.bits(source), t.bits(source, 1))
    if s.has("U8", "S8", "U16", "S16"):
        raise ValueError("narrow constants")
    return (t.target(destination),), t.bits(source)


def _two(low: Reader, high: Reader) -> Callable:
    return lambda registers: (low(registers), high(registers))


def zeros(t: Operands, s: sass.Statement) -> Result:
    """CS2R{.32} d, SRZ: zero, to a pair of registers."""
    if s.operands[1] != sass.Special("SRZ"):
        raise ValueError("a clock")
    if s.has("32"):
        return (t.target(s.operands[0]),), lambda registers: np.int32(0)
    return t.targets(s.operands[0], 2), lambda registers: (np.int32(0), np.int32(0))
