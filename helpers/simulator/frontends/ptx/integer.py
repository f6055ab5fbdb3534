"""Integer, logic and shift instructions of PTX. Reference: PTX ISA, 'Integer Arithmetic', 'Extended-Precision Integer
Arithmetic', 'Logic and Shift' and 'Integer SIMD' instructions.
"""

from collections.abc import Callable

import numpy as np

from helpers.compiler.ptx import Immediate, Statement
from helpers.simulator.arithmetic import integer
from helpers.simulator.arithmetic.operations import refuse_unknown
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.evaluation import applied
from helpers.simulator.frontends.ptx.operands import DTYPES, Operands, dtype_of
from helpers.simulator.frontends.rules import Compute, Outcome, Reader, both_count

Rule = Callable[[Operands, Statement], Outcome]
U32 = DTYPES["u32"]


def plain(function: Callable, result: str | None = None) -> Rule:
    """name.type d, a {, b, c} without modifiers; the result has the instruction's type, or `result`."""

    def rule(t: Operands, s: Statement) -> Outcome:
        refuse_unknown(s.modifiers, ())
        destination, *sources = s.operands
        return t.result(destination, applied(function, _read(t, sources, s.type)), dtype_of(result or s.type))

    return rule


def logic(function: Callable) -> Rule:
    """and, or, xor, not of bits. Signed, since registers are kept so: a view costs more than the operation."""

    def rule(t: Operands, s: Statement) -> Outcome:
        type_ = f"s{s.type[1:]}"
        refuse_unknown(s.modifiers, ())
        destination, *sources = s.operands
        return t.result(destination, applied(function, _read(t, sources, type_)), dtype_of(type_))

    return rule


def of_predicates(function: Callable) -> Rule:
    """and, or, xor, not, mov of predicates."""

    def rule(t: Operands, s: Statement) -> Outcome:
        destination, *sources = s.operands
        values = _read(t, sources, "pred")
        first, *second = (t.slots_of(source) for source in sources)
        chooses = both_count(function, *values) if second else None
        return Compute(
            (t.target(destination),), applied(function, values), chooses=chooses, chosen=(first, *(second or [()]))
        )

    return rule


def _read(t: Operands, sources, type_: str) -> list[Reader]:
    return [t.read(source, type_) for source in sources]


# ---- sums and products, with carries


def add(t: Operands, s: Statement) -> Outcome:
    """add{.sat} d, a, b; add{c}{.cc} d, a, b."""
    destination, *sources = s.operands
    if s.name == "addc" or "cc" in s.modifiers:
        refuse_unknown(s.modifiers, ("cc",))
        a, b = _read(t, sources, f"u{s.type[1:]}")
        return _sum_with_carry(t, s, destination, a, b)
    if "sat" in s.modifiers:
        return _saturated(t, s, lambda a, b: a + b)
    return plain(lambda a, b: a + b)(t, s)


def subtract(t: Operands, s: Statement) -> Outcome:
    """sub{.sat} d, a, b; sub{c}{.cc} d, a, b with a borrow."""
    if s.name == "subc" or "cc" in s.modifiers:
        return _difference_with_borrow(t, s)
    if "sat" in s.modifiers:
        return _saturated(t, s, lambda a, b: a - b)
    return plain(lambda a, b: a - b)(t, s)


def _saturated(t: Operands, s: Statement, function: Callable) -> Outcome:
    """.sat of .s32: limited to its range."""
    refuse_unknown(s.modifiers, ("sat",))
    if s.type != "s32":
        raise Unknown("the modifier .sat")
    destination, *sources = s.operands
    a, b = _read(t, sources, "s32")
    exact = lambda r: function(a(r).astype(np.int64), b(r).astype(np.int64))  # noqa: E731
    return t.result(destination, lambda r: integer.convert(exact(r), np.dtype(np.int32), True), DTYPES["s32"])


def _sum_with_carry(t: Operands, s: Statement, destination, a: Reader, b: Reader) -> Outcome:
    """a + b of unsigned numbers, plus the carry where the name ends in c; .cc keeps the carry out."""
    carry_in = t.read_carry() if s.name.endswith("c") else None

    def evaluate(registers):
        x = a(registers)
        total = x + b(registers)
        if carry_in is None:
            return total, total < x
        one = carry_in(registers)
        total = total + one.astype(total.dtype)
        return total, np.where(one, total <= x, total < x)  # 5 + 0xffffffff + 1 wraps to 5

    return _carrying(t, s, destination, evaluate)


def _difference_with_borrow(t: Operands, s: Statement) -> Outcome:
    """a - b, less the borrow of subc.

    PTX ISA calls CC.CF a borrow here. What ptxas makes of it is the carry of a + ~b + 1, the opposite, and an addc
    after a sub.cc sees that: the compiler's division of 128-bit numbers counts on it.
    """
    refuse_unknown(s.modifiers, ("cc",))
    destination, *sources = s.operands
    a, b = _read(t, sources, f"u{s.type[1:]}")
    carry_in = t.read_carry() if s.name == "subc" else None

    def evaluate(registers):
        x, y = a(registers), b(registers)
        if carry_in is None:
            return x - y, x >= y
        one = np.logical_not(carry_in(registers))
        return x - y - one.astype(x.dtype), np.where(one, x > y, x >= y)

    return _carrying(t, s, destination, evaluate)


def _carrying(t: Operands, s: Statement, destination, evaluate: Reader) -> Outcome:
    """The value, and the carry if the instruction has .cc."""
    slot = t.target(destination)
    if "cc" in s.modifiers:
        return Compute((slot, t.carry()), evaluate)
    return Compute((slot,), lambda registers: evaluate(registers)[0])


def multiply(t: Operands, s: Statement) -> Outcome:
    """mul.{lo,hi,wide} d, a, b."""
    part, type_ = _part(s, ())
    destination, *sources = s.operands
    return t.result(destination, applied(PRODUCTS[part], _read(t, sources, s.type)), dtype_of(type_))


def multiply_add(t: Operands, s: Statement) -> Outcome:
    """mad.{lo,hi,wide} d, a, b, c; mad.hi.sat.s32, whose sum stays in its range; mad{c}.{lo,hi}{.cc} d, a, b, c, whose
    sum is that of add{c}{.cc}."""
    part, type_ = _part(s, ("cc", "sat"))
    product = PRODUCTS[part]
    destination, *sources = s.operands
    a, b = _read(t, sources[:2], s.type)
    if s.name == "madc" or "cc" in s.modifiers:
        unsigned = f"u{s.type[1:]}"
        of_bits = lambda r: product(a(r), b(r)).view(dtype_of(unsigned))  # noqa: E731
        return _sum_with_carry(t, s, destination, of_bits, t.read(sources[2], unsigned))
    c = t.read(sources[2], type_)
    if "sat" in s.modifiers:
        if part != "hi" or s.type != "s32":
            raise Unknown("the modifier .sat")
        wide, least, most = np.int64, np.int64(-(2**31)), np.int64(2**31 - 1)
        total = lambda r: product(a(r), b(r)).astype(wide) + c(r).astype(wide)  # noqa: E731
        return t.result(destination, lambda r: np.clip(total(r), least, most).astype(np.int32), dtype_of(type_))
    if part == "lo":
        return t.result(destination, lambda r: a(r) * b(r) + c(r), dtype_of(type_))
    return t.result(destination, lambda r: product(a(r), b(r)) + c(r), dtype_of(type_))


PRODUCTS = {"lo": lambda a, b: a * b, "hi": integer.multiply_high, "wide": integer.multiply_wide}


def _part(s: Statement, others: tuple[str, ...]) -> tuple[str, str]:
    """Which part of the product, and the type of the result."""
    part = s.opcode[1]
    if part not in PRODUCTS:
        raise Unknown(f"the modifier .{part}")
    refuse_unknown(s.modifiers[1:], others)
    return part, f"{s.type[0]}{2 * int(s.type[1:])}" if part == "wide" else s.type


def multiply24(t: Operands, s: Statement) -> Outcome:
    """mul24.{lo,hi} d, a, b and mad24.{lo,hi} d, a, b, c: bits 0 to 31, or 16 to 47, of a product of 24-bit numbers."""
    refuse_unknown(s.modifiers, ("lo", "hi"))
    destination, *sources = s.operands
    a, b, *c = _read(t, sources, s.type)
    wide, top, down = (dtype_of(f"{s.type[0]}64").type, dtype_of(s.type).type(8), 16 if "hi" in s.modifiers else 0)

    def evaluate(registers):
        x, y = ((value(registers) << top >> top).astype(wide) for value in (a, b))
        product = (x * y >> wide(down)).astype(dtype_of(s.type))
        return product + c[0](registers) if c else product

    return t.result(destination, evaluate, dtype_of(s.type))


def dot4(t: Operands, s: Statement) -> Outcome:
    """dp4a.atype.btype d, a, b, c: the products of four bytes, added to c."""
    destination, *sources = s.operands
    signs = (s.opcode[1] == "s32", s.opcode[2] == "s32")
    return t.result(destination, applied(lambda a, b, c: integer.dot4(a, b, c, signs), _read(t, sources, "u32")), U32)


def dot2(t: Operands, s: Statement) -> Outcome:
    """dp2a.{lo,hi}.atype.btype d, a, b, c: the 16-bit halves of a by the lower or upper two bytes of b, added to c."""
    destination, *sources = s.operands
    a, b, c = _read(t, sources, "u32")
    signed = (s.opcode[2] == "s32", s.opcode[3] == "s32")
    upper = s.opcode[1] == "hi"
    return t.result(destination, lambda r: integer.dot2(a(r), b(r), c(r), signed, upper), U32)


def at_least_zero(function: Callable) -> Rule:
    """min, max of .s32 and .s16x2 with .relu, which stands before the type or behind it."""

    def rule(t: Operands, s: Statement) -> Outcome:
        type_, *others = [word for word in s.opcode[1:] if word != "relu"]
        if others or type_ not in ("s32", "s16x2"):
            raise Unknown(f"{'.'.join(s.opcode)}")
        if type_ == "s16x2":
            return _of_halves(t, s, lambda *values: np.maximum(function(*values), np.int16(0)), np.int16)
        destination, *sources = s.operands
        a, b = _read(t, sources, "s32")
        return t.result(destination, lambda r: np.maximum(function(a(r), b(r)), np.int32(0)), np.dtype(np.int32))

    return rule


def pairs(function: Callable) -> Rule:
    """add, min, max of two 16-bit integers in a register, .u16x2 and .s16x2."""

    def rule(t: Operands, s: Statement) -> Outcome:
        refuse_unknown(s.modifiers, ())
        return _of_halves(t, s, function, np.int16 if s.type == "s16x2" else np.uint16)

    return rule


def _of_halves(t: Operands, s: Statement, function: Callable, narrow: type) -> Outcome:
    """A function of integers of 16 bits, of both halves of registers."""
    destination, *sources = s.operands
    readers = _read(t, sources, "u32")

    def evaluate(registers):
        values = [reader(registers) for reader in readers]
        low, high = (
            function(*((value >> np.uint32(shift)).astype(np.uint16).view(narrow) for value in values))
            .view(np.uint16)
            .astype(U32)
            for shift in (0, 16)
        )
        return low | (high << np.uint32(16))

    return t.result(destination, evaluate, U32)


# ---- shifts and fields


def shift(t: Operands, s: Statement) -> Outcome:
    """shl, shr d, a, amount: an amount of the width or more shifts everything out."""
    refuse_unknown(s.modifiers, ())
    destination, source, amount = s.operands
    left, dtype = s.name == "shl", dtype_of(s.type)
    a = t.read(source, s.type)
    if not isinstance(amount, Immediate):
        function = integer.shift_left if left else integer.shift_right
        return t.result(destination, applied(function, [a, t.read(amount, "u32")]), dtype)
    bits = 8 * dtype.itemsize
    by = dtype.type(min(t.constant(amount) & 0xFFFFFFFF, bits if left or dtype.kind == "u" else bits - 1))
    return t.result(destination, (lambda r: a(r) << by) if left else (lambda r: a(r) >> by), dtype)


def funnel_shift(t: Operands, s: Statement) -> Outcome:
    """shf.{l,r}.{wrap,clamp}.b32 d, low, high, amount."""
    function = integer.funnel_left if s.opcode[1] == "l" else integer.funnel_right
    wrap = s.opcode[2] == "wrap"
    destination, *sources = s.operands
    readers = _read(t, sources, "u32")
    return t.result(destination, applied(lambda low, high, amount: function(low, high, amount, wrap), readers), U32)


def extract(t: Operands, s: Statement) -> Outcome:
    """bfe.type d, a, position, length."""
    destination, a, position, length = s.operands
    readers = [t.read(a, s.type), t.read(position, "u32"), t.read(length, "u32")]
    return t.result(destination, applied(integer.extract_bits, readers), dtype_of(s.type))


def insert(t: Operands, s: Statement) -> Outcome:
    """bfi.type d, field, base, position, length."""
    destination, field, base, position, length = s.operands
    type_ = s.type.replace("b", "u")
    readers = [t.read(field, type_), t.read(base, type_), t.read(position, "u32"), t.read(length, "u32")]
    return t.result(destination, applied(integer.insert_bits, readers), dtype_of(s.type))


def bit_mask(t: Operands, s: Statement) -> Outcome:
    """bmsk.{clamp,wrap}.b32 d, position, width: `width` ones from a position on; both limited to 32, or modulo 32."""
    destination, *sources = s.operands
    position, width = _read(t, sources, "u32")
    limited = (lambda x: np.minimum(x, np.uint32(32))) if "clamp" in s.modifiers else (lambda x: x & np.uint32(31))
    one = np.uint32(1)

    def evaluate(registers):
        ones = integer.shift_left(one, limited(width(registers))) - one
        return integer.shift_left(ones, limited(position(registers)))

    return t.result(destination, evaluate, U32)


def extend(t: Operands, s: Statement) -> Outcome:
    """szext.{clamp,wrap}.{s32,u32} d, a, length: the low bits of a, extended by their sign or by zeros."""
    destination, a, length = s.operands
    value, count = t.read(a, s.type), t.read(length, "u32")
    wraps = "wrap" in s.modifiers

    def evaluate(registers):
        bits = count(registers) & np.uint32(31) if wraps else np.minimum(count(registers), np.uint32(32))
        return integer.extract_bits(value(registers), np.uint32(0), bits)

    return t.result(destination, evaluate, dtype_of(s.type))


def find(t: Operands, s: Statement) -> Outcome:
    """bfind{.shiftamt}.type d, a."""
    refuse_unknown(s.modifiers, ("shiftamt",))
    destination, a = s.operands
    amount = "shiftamt" in s.modifiers
    return t.result(destination, applied(lambda x: integer.find_leading(x, amount), [t.read(a, s.type)]), U32)


def permute(t: Operands, s: Statement) -> Outcome:
    """prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16} d, a, b, selector."""
    refuse_unknown(s.opcode[2:], integer.PERMUTATIONS)
    destination, *sources = s.operands
    permute = integer.permute_bytes_by(s.type) if s.type in integer.PERMUTATIONS else integer.permute_bytes
    return t.result(destination, applied(permute, _read(t, sources, "u32")), U32)


def nth_set_bit(t: Operands, s: Statement) -> Outcome:
    """fns.b32 d, mask, base, offset."""
    refuse_unknown(s.modifiers, ())
    destination, mask, base, offset = s.operands
    readers = [t.read(mask, "u32"), t.read(base, "u32"), t.read(offset, "s32")]
    return t.result(destination, applied(integer.nth_set_bit, readers), U32)


def any_logic(t: Operands, s: Statement) -> Outcome:
    """lop3.b32 d, a, b, c, table."""
    refuse_unknown(s.modifiers, ())
    destination, a, b, c, table = s.operands
    lut = t.constant(table)
    readers = _read(t, (a, b, c), "s32")
    return t.result(destination, applied(lambda x, y, z: integer.lop3(x, y, z, lut), readers), DTYPES["s32"])
