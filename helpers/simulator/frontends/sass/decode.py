"""SASS statements → the flat form that the compiled engine executes (`helpers/native/engine`).

Each opcode's function here says the same as its rule in NumPy (`opcodes`): which operation of the C program it is,
where its operands are, and which modifiers it has. A test executes every form by both and compares the bits. A form
that is not decoded raises `NotDecoded`; then the whole launch is executed by the rules in NumPy.

R0, R1, … are the first rows, the uniform registers those behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from helpers.compiler import sass
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.decoded import (
    ALWAYS,
    ANSWERS,
    ANYWHERE,
    ARRIVALS,
    ARRIVES,
    AT_MBARRIER,
    ATOMICS,
    BEHIND_COPIES,
    BRANCHES,
    BULK_COMBINES,
    BULK_FETCHES,
    BULK_PUTS,
    BULK_SENDS,
    COMBINE,
    COMPARE,
    COMPLETES_ONE,
    COMPUTES,
    EXITS,
    FETCHES,
    FILLS,
    FLOAT_ABSOLUTE,
    FLOAT_NEGATE,
    FLUSHES,
    FOR_THE_WARP,
    FOR_WARP,
    FORMATS,
    GATHERS,
    GENERIC,
    GLOBAL,
    HALF_ABSOLUTE,
    HALF_NEGATE,
    HALVES,
    HIGH_TWICE,
    INVERT,
    JUMPS,
    LEAVES,
    LEAVES_FOR_GOOD,
    LOCAL,
    LOW_TWICE,
    MEETS,
    MULTICAST,
    NEGATE,
    NEGATE_HIGH,
    NEGATED,
    NEVER_KEPT,
    NOWHERE,
    OUTSIDE,
    PARTS,
    ROUNDING,
    SAMPLES,
    SEES_BLOCK,
    SEES_GRID,
    SETS,
    SHARED,
    SIGNED_TERM,
    SIGNED_VALUE,
    SPACES,
    SPECIAL_REGISTERS,
    TRANSPOSED,
    TYPES,
    UNIFORM_PREDICATES,
    WAITS,
    WAITS_FOR_CLUSTER,
    WAITS_FOR_LANES,
    WAITS_FOR_PHASE,
    WHOLE,
    WIDE_ADDRESS,
    Decoded,
    NotDecoded,
    Word,
    Words,
    product_of,
)
from helpers.simulator.frontends.sass import bulk, control, integer, matrix, textures
from helpers.simulator.frontends.sass import operands as operand_rules
from helpers.simulator.frontends.sass.operands import Code, float_immediate, is_nan, is_predicate, is_register, is_zero


class Decoder:
    """Decodes the statements of one kernel."""

    def __init__(self, arch: str, shared_base: int, code: Code) -> None:
        self.arch = arch
        self.shared_base = shared_base
        self.code = code
        self.words = Words()
        self.registers = self.uniform_registers = 0  # how many rows there are of each
        self._space = ""
        self._statement: sass.Statement | None = None

    # ---- rows
    def row(self, operand: sass.Register, count: int = 1) -> int | tuple[str, int]:
        """The row of the first of `count` registers. Uniform ones get theirs when all registers are known."""
        if operand.number is None:
            return -1
        if operand.file == "R":
            self.registers = max(self.registers, operand.number + count)
            return operand.number
        if operand.file != "UR":
            raise NotDecoded(f"a register of file {operand.file}")
        self.uniform_registers = max(self.uniform_registers, operand.number + count)
        return ("UR", operand.number)

    def predicate(self, operand: sass.Operand) -> int:
        """A predicate that is read."""
        if not is_predicate(operand):
            raise NotDecoded("an operand that is no predicate")
        return self._which(operand) | (NEGATED if operand.negated else 0)

    def kept(self, operand: sass.Operand | None) -> int:
        """A predicate that is written; none for PT."""
        if operand is None:
            return NEVER_KEPT
        if not is_predicate(operand):
            raise NotDecoded("a destination that is no predicate")
        return NEVER_KEPT if operand.number is None else self._which(operand)

    @staticmethod
    def _which(operand: sass.Register) -> int:
        first = UNIFORM_PREDICATES if operand.file == "UP" else 0
        return first + (ALWAYS if operand.number is None else operand.number)

    # ---- sources
    def read(self, into: Decoded, place: int, operand: sass.Operand, kind: str = "i") -> None:
        """An operand as source `place`. kind: "i" integer, "f" float32, "w" and "d" the same in 64 bits, "h" a pair of
        16-bit floats, "b" bits as they are."""
        wide = kind in "wd"
        into.width[place] = 2 if wide else 1
        if isinstance(operand, sass.Immediate):
            into.source[place] = self.words.row(*self._immediate(operand, kind))
            return
        modifiers = [m for m in getattr(operand, "modifiers", ()) if m != "64"]
        into.mode[place] = self._mode(operand, kind, modifiers)
        if isinstance(operand, sass.Constant) and operand.register is None:
            words = tuple(Word(operand.bank, operand.offset + 4 * k) for k in range(2 if wide else 1))
            into.source[place] = self.words.row(*words)
        elif is_register(operand):
            into.source[place] = self.row(operand, 2 if wide else 1)
        else:
            raise NotDecoded("an operand that is neither a register nor a constant")

    @staticmethod
    def _mode(operand, kind: str, modifiers: Sequence[str]) -> int:
        mode = 0
        if kind == "h":
            modifiers = [] if is_zero(operand) else modifiers
            parts = {"H0_H0": LOW_TWICE, "H1_H1": HIGH_TWICE, "H0_NH1": NEGATE_HIGH, "H1_H0": 0}
            for modifier in modifiers:
                if modifier not in parts:
                    raise NotDecoded(f"the halves {modifier}")
                mode |= parts[modifier]
            return mode | (HALF_ABSOLUTE if operand.absolute else 0) | (HALF_NEGATE if operand.negated else 0)
        if modifiers:
            raise NotDecoded(f"the operand's modifier {modifiers[0]}")
        is_float = kind in "fd"
        if operand.absolute:
            if not is_float:
                raise NotDecoded("the magnitude of an integer operand")
            mode |= FLOAT_ABSOLUTE
        if operand.negated:
            mode |= FLOAT_NEGATE if is_float else NEGATE
        if operand.inverted:
            mode |= INVERT
        return mode

    def _immediate(self, operand: sass.Immediate, kind: str) -> tuple[Word, ...]:
        if kind == "d":
            high = self.raw_immediate() ^ (0x80000000 if operand.negated else 0)
            return Word(-1, 0), Word(-1, high)
        if kind == "w":
            value = -operand_rules.number(operand) if operand.negated else operand_rules.number(operand)
            return Word(-1, value & 0xFFFFFFFF), Word(-1, value >> 32 & 0xFFFFFFFF)
        if is_nan(operand.text):
            return (Word(-1, self.raw_immediate()),)
        if kind == "f":
            value = -float_immediate(operand.text) if operand.negated else float_immediate(operand.text)
            return (Word(-1, int(value.view(np.uint32))),)
        text = operand.text.lstrip("+-")
        is_integer = text.startswith("0x") or text.isdigit()
        value = operand.integer if is_integer else int(float_immediate(operand.text).view(np.int32))
        value = -value if operand.negated else ~value if operand.inverted else value
        return (Word(-1, value & 0xFFFFFFFF),)

    def raw_immediate(self) -> int:
        """As in Operands."""
        at = self._statement.address + 4
        return int.from_bytes(self.code.binary[at : at + 4], "little")

    def writes(self, into: Decoded, operand: sass.Operand, count: int = 1) -> None:
        """The registers that are written; none for RZ."""
        if not isinstance(operand, sass.Register) or operand.file not in ("R", "UR"):
            raise NotDecoded("a destination that is no register")
        into.uniform = operand.file == "UR"
        if operand.number is not None:
            into.d, into.d_width = self.row(operand, count), count

    # ---- statements
    def decode(self, s: sass.Statement, space: str) -> Decoded:
        """One statement. NotDecoded if it has no form here."""
        self._space, self._statement = space, s
        function = OPCODES.get(s.base)
        if function is None and s.base.startswith("U"):
            function = OPCODES.get(s.base[1:])
        if function is None:
            raise NotDecoded(f"the opcode {s.base}")
        known = MODIFIERS.get(s.base, MODIFIERS.get(s.base[1:], "")).split()
        for part in s.opcode[1:]:
            if known != ["any"] and part not in known:
                raise NotDecoded(f"the modifier .{part}")
        try:
            decoded = function(self, s)
        except (Unknown, ValueError) as error:  # operands that the rules do not know either, in another number
            raise NotDecoded(str(error)) from error
        if s.guard is not None and not (s.guard.number is None and not s.guard.negated):
            decoded.guard = self.predicate(s.guard)
        return decoded

    @property
    def space(self) -> str:
        """The state space that the opcode names."""
        return self._space

    @property
    def nowhere(self) -> int:
        """The first row behind the registers."""
        return self.registers + self.uniform_registers

    def settle(self, decoded: Sequence[Decoded]) -> None:
        """Give uniform registers their rows, now that it is known how many registers there are."""
        for one in decoded:
            one.d = self._settled(one.d)
            one.source = [self._settled(row) for row in one.source]

    def _settled(self, row):
        return self.registers + row[1] if isinstance(row, tuple) else self.nowhere if row == NOWHERE else row


def _number(operand: sass.Operand) -> int:
    return operand_rules.number(operand)


def _is_false(operand: sass.Operand) -> bool:
    return is_predicate(operand) and operand.number is None and operand.negated


def _plain(operand: sass.Operand) -> bool:
    return not getattr(operand, "negated", False)


def _negated(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register | sass.Constant) and operand.negated


def _addition(s: sass.Statement):
    destination, *rest = s.operands
    carries, rest = operand_rules.leading_predicates(tuple(rest))
    if len(rest) < 3 or len(carries) > 2:
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    return destination, carries, rest


def _carries(t: Decoder, i: Decoded, carries_in: Sequence[sass.Operand]) -> bool:
    """Read the carries at the end of an addition; whether there are any."""
    wanted = [operand for operand in carries_in if not _is_false(operand)]
    if len(wanted) > 2:
        raise NotDecoded("three carries")
    for place in (0, 1):
        i.p_in[place] = t.predicate(wanted[place]) if place < len(wanted) else ALWAYS | NEGATED
    return bool(wanted)


# ---- integers


def add3(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    if s.has("64"):
        if carries_in or any(carry.number is not None for carry in carries):
            raise NotDecoded("a carry of a sum of pairs")
        return _add_wide(t, destination, (a, b, c))
    i = Decoded("add3")
    t.writes(i, destination)
    i.p_out = [t.kept(carries[k]) if k < len(carries) else NEVER_KEPT for k in (0, 1)]
    carries_out = any(p != NEVER_KEPT for p in i.p_out)
    has_carry = _carries(t, i, carries_in)
    for place, operand in enumerate((a, b, c)):
        t.read(i, place, operand)
        if carries_out and _negated(operand) and not is_zero(operand):
            i.mode[place] = INVERT  # -x is ~x and one more, which carries as in any adder
            i.number[0] += 1
    if not carries_out and not has_carry:
        i.operation = "add"
    return i


def _add_wide(t: Decoder, destination, sources) -> Decoded:
    i = Decoded("add wide")
    t.writes(i, destination, 2)
    for place, operand in enumerate(sources):
        t.read(i, place, operand, "w")
    _carries(t, i, ())
    return i


def add_pairs(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *rest = s.operands
    carries, (a, b, *carries_in) = operand_rules.leading_predicates(tuple(rest))
    i = _add_wide(t, destination, (a, b))
    i.p_out[0] = t.kept(carries[0]) if carries else NEVER_KEPT
    has_carry = _carries(t, i, carries_in)
    if i.p_out[0] != NEVER_KEPT:
        for place in (0, 1):
            if i.mode[place] & NEGATE:  # a + ~b + 1, as in any adder
                i.mode[place] = INVERT
                i.number[0] += 1
        if i.number[0] + has_carry > 1:
            raise NotDecoded("a carry of a sum less a number")
    return i


def add2(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b = s.operands
    i = Decoded("add halves" if s.has("16x2") else "add")
    t.writes(i, destination)
    t.read(i, 0, a)
    t.read(i, 1, b)
    i.source[2], i.width[2] = -1, 1
    return i


def multiply_add(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    carry_out = t.kept(carries[0]) if carries else NEVER_KEPT
    i = Decoded(flags=1 if s.has("U32") else 0)
    i.p_out[0] = carry_out
    t.read(i, 0, a)
    t.read(i, 1, b)
    if s.has("WIDE", "HI"):
        high = s.has("HI")
        t.writes(i, destination, 1 if high else 2)
        t.read(i, 2, c, "w")
        carry_in = _carries(t, i, carries_in)
        if high:
            i.flags |= 2
        plain = carry_out == NEVER_KEPT and not carry_in and not high and not i.mode[2] and i.d_width
        i.operation = "multiply-add wide" if plain else "multiply-add wide with carry"
        return i
    t.writes(i, destination)
    t.read(i, 2, c)
    if carry_out != NEVER_KEPT:
        raise NotDecoded("a multiplication with a carry out")
    carry_in = _carries(t, i, carries_in)
    i.operation = "multiply-add with carry" if carry_in else "multiply-add"
    if not carry_in and (is_zero(a) or is_zero(b)):
        i.operation, i.source[0], i.mode[0] = "move", i.source[2], i.mode[2]
        i.width = [1, 0, 0, 0]
    return i


def dot_product(t: Decoder, s: sass.Statement) -> Decoded:
    types = [part for part in s.opcode if part in ("S8", "U8", "S16", "U16")]
    destination, *sources = s.operands
    i = Decoded("dot4" if s.has("4A") else "dot2")
    if not types or not s.has("4A", "2A") or len(sources) != 3:
        raise NotDecoded("a product of vectors")
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, operand)
    i.number[:3] = [types[0][0] == "S", types[-1][0] == "S", s.has("HI")]
    return i


def shift_add(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, rest = _addition(s)
    carry_out = t.kept(carries[0]) if carries else NEVER_KEPT
    if s.has("HI"):
        i = Decoded("shift-add high")
        if s.has("SX32"):
            (a, b, amount, *following), c = rest, None
            i.flags = 16
        else:
            a, b, c, amount, *following = rest
        t.read(i, 0, a)
        t.read(i, 1, b)
        if c is not None:
            t.read(i, 2, c)
        carry_in = _carries(t, i, following)
        if carry_out != NEVER_KEPT and carry_in and _negated(b):
            raise NotDecoded("a carry into and out of LEA.HI less a number")
        i.number[1] = int(_negated(b))
    else:
        a, b, amount, *carries_in = rest
        i = Decoded("shift-add" if carry_out == NEVER_KEPT else "shift-add with carry")
        if _carries(t, i, carries_in):
            if _negated(a) or _negated(b):
                raise NotDecoded("a carry into LEA of a negated number")
            i.operation = "shift-add with carry"
        t.read(i, 0, a)
        t.read(i, 1, b)
        i.number[1] = 2 if _negated(a) else int(_negated(b))
        if carry_out != NEVER_KEPT and _negated(a) and _negated(b):
            raise NotDecoded("a carry out of a sum of two negated numbers")
    i.number[0] = _number(amount) & 31
    i.p_out[0] = carry_out
    t.writes(i, destination)
    return i


def funnel_shift(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, amount, c = s.operands
    left, wraps, upper = s.has("L"), s.has("W"), s.has("HI")
    width = 64 if s.has("U64", "S64") else 32
    signed = s.has("S32", "S64") and not left
    i = Decoded("funnel shift", flags=4 * left | 8 * wraps | 16 * signed | 2 * upper)
    t.writes(i, destination)
    if isinstance(amount, sass.Immediate):
        by = _number(amount) & 0xFFFFFFFF
        by = by % width if wraps else min(by, width)
        one = None
        if 0 < by < 32 and left and not upper:
            one = "shift left", a
        elif 0 < by < 32 and not left and upper:
            one = "shift right signed" if signed else "shift right", c
        if one:
            i.operation, i.number[0] = one[0], by
            t.read(i, 0, one[1])
            return i
    t.read(i, 0, a)
    t.read(i, 1, amount)
    t.read(i, 2, c)
    i.number[0] = width
    return i


def _chosen(s: sass.Statement, names: dict):
    return operand_rules.chosen(s, names)


def compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c, *lower = s.operands
    extended, wide = s.has("EX"), s.has("U64", "S64")
    if extended and wide:
        raise NotDecoded("a comparison of more than 64 bits")
    operation = "compare extended" if extended else "compare wide" if wide else "compare"
    i = Decoded(operation, flags=int(s.has("U32", "U64")) | 32 * extended)
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    t.read(i, 0, a, "w" if wide else "i")
    t.read(i, 1, b, "w" if wide else "i")
    i.p_in[0] = t.predicate(c)
    if extended:
        i.p_in[1] = t.predicate(lower[0])
    i.number[0], i.number[1] = _chosen(s, COMPARE), _chosen(s, COMBINE)
    return i


def minimum_maximum(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("U64", "S64"):
        destination, a, b, condition = integer.of_pairs(s)
        i = Decoded("minimum maximum wide", flags=int(s.has("U64")))
        t.writes(i, destination, 2)
        t.read(i, 0, a, "w")
        t.read(i, 1, b, "w")
        i.p_in[0] = t.predicate(condition)
        return i
    destination, *sources, condition = integer.without_second_answers(s.operands)
    three = s.base.removeprefix("U") in ("VIMNMX3", "VIADDMNMX")
    if len(sources) != (3 if three else 2) or (s.has("S16x2", "U16x2") and s.base == "VIMNMX3"):
        raise NotDecoded("a minimum of other operands")
    flags = int(s.has("U32", "U16x2")) | 64 * (s.base == "VIMNMX3") | 128 * (s.base == "VIADDMNMX")
    i = Decoded("minimum maximum", flags=flags | 256 * s.has("S16x2", "U16x2"))
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, operand)
    i.p_in[0] = t.predicate(condition)
    return i


def _unary(operation: str, unsigned: str = "", high: str = "") -> Callable:
    def decode(t: Decoder, s: sass.Statement) -> Decoded:
        destination, *between, a = s.operands
        if between and not (is_predicate(between[0]) and between[0].number is None):
            raise NotDecoded("a second destination")
        i = Decoded(operation, flags=int(s.has(unsigned)) | 2 * s.has(high))
        t.writes(i, destination)
        t.read(i, 0, a)
        return i

    return decode


def absolute_difference(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("absolute difference", flags=int(s.has("U32")))
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, operand)
    return i


def saturate(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    to, origin = (*s.opcode, "", "")[1:3]
    limits = {"S8": (-128, 127), "U8": (0, 255), "S16": (-32768, 32767), "U16": (0, 65535)}.get(to)
    if limits is None or not s.has("SAT") or origin not in ("S32", "U32"):
        raise NotDecoded("a conversion between integers")
    i = Decoded("saturate", flags=int(origin == "U32"))
    i.number[:2] = limits
    t.writes(i, destination)
    t.read(i, 0, a)
    return i


def saturate_and_pack(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    to, bits = s.opcode[1], int(s.opcode[1][1:])
    i = Decoded("pack limited", number=[-bits if to[0] == "S" else bits, 0, 0, 0])
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, integer.without_room(operand, bits))
    return i


# ---- bits


def move(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source, *_ = s.operands
    if s.has("64"):
        return _move_wide(t, destination, source)
    i = Decoded("move")
    t.writes(i, destination)
    t.read(i, 0, source)
    return i


def _move_wide(t: Decoder, destination: sass.Operand, source: sass.Operand) -> Decoded:
    i = Decoded("move two")
    t.writes(i, destination, 2)
    t.read(i, 0, source, "w")
    if i.mode[0]:
        raise NotDecoded("a pair of registers that is changed as it is moved")
    low = i.source[0]
    if isinstance(low, tuple):
        i.source[1] = low[0], low[1] + 1
    else:
        i.source[1] = low + 1 if low >= 0 else low - 1
    i.width[:2] = [1, 1]
    return i


def logic3(t: Decoder, s: sass.Statement) -> Decoded:
    predicates, rest = operand_rules.leading_predicates(s.operands)
    destination, a, b, c, table, *last = rest
    i = Decoded("logic3", flags=512 * s.has("PAND"))
    t.writes(i, destination)
    for place, operand in enumerate((a, b, c)):
        t.read(i, place, operand)
    i.number[0] = _number(table) & 0xFF
    if predicates:
        if len(predicates) > 1:
            raise NotDecoded("two predicates")
        i.operation = "logic3 with predicate"
        i.p_out[0] = t.kept(predicates[0])
        # The rule leaves a false predicate out, also where .PAND would combine with it.
        use = last and not _is_false(last[0])
        i.p_in[0] = t.predicate(last[0]) if use else ALWAYS if s.has("PAND") else ALWAYS | NEGATED
    return i


def permute_bytes(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("permute bytes")
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, operand)
    return i


def sign_extend(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, width = s.operands
    i = Decoded("sign extend", flags=8 * s.has("W") | int(s.has("U32")))
    t.writes(i, destination)
    t.read(i, 0, a)
    t.read(i, 1, width)
    return i


def bit_mask(t: Decoder, s: sass.Statement) -> Decoded:
    destination, position, width = s.operands
    i = Decoded("bit mask", flags=8 * s.has("W"))
    t.writes(i, destination)
    t.read(i, 0, position)
    t.read(i, 1, width)
    return i


def select(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, condition = s.operands
    kind = "f" if s.base in ("FSEL", "UFSEL") else "w" if s.has("64") else "i"
    i = Decoded("select wide" if kind == "w" else "select")
    t.writes(i, destination, 2 if kind == "w" else 1)
    t.read(i, 0, a, kind)
    t.read(i, 1, b, kind)
    i.p_in[0] = t.predicate(condition)
    return i


def predicate_logic3(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c, *tables = s.operands
    i = Decoded("predicate logic3")
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    i.p_in = [t.predicate(operand) for operand in (a, b, c)]
    i.number[0], i.number[1] = (_number(table) & 0xFF for table in tables)
    return i


def _byte_shift(s: sass.Statement) -> int:
    modifiers = [*s.opcode, *(m for o in s.operands if isinstance(o, sass.Register) for m in o.modifiers)]
    return 8 * next((int(m[1]) for m in modifiers if m in ("B0", "B1", "B2", "B3")), 0)


def _whole(operand: sass.Operand) -> sass.Operand:
    return sass.Register(operand.file, operand.number) if isinstance(operand, sass.Register) else operand


def pack_predicates(t: Decoder, s: sass.Statement) -> Decoded:
    destination, _, a, mask = s.operands
    i = Decoded("pack predicates")
    t.writes(i, destination)
    t.read(i, 0, _whole(a))
    i.number[:3] = _which_predicates(s, mask)
    return i


def unpack_predicates(t: Decoder, s: sass.Statement) -> Decoded:
    _, a, *mask = s.operands
    i = Decoded("unpack predicates", uniform=s.base == "UR2UP")
    t.read(i, 0, _whole(a))
    i.number[:3] = _which_predicates(s, *mask)
    return i


def _which_predicates(s: sass.Statement, mask: sass.Operand | None = None) -> list[int]:
    return [
        0x7F if mask is None else _number(mask) & 0x7F,
        _byte_shift(s),
        UNIFORM_PREDICATES if s.base in ("UP2UR", "UR2UP") else 0,
    ]


# ---- floats

SCALES = {"M2": 1, "M4": 2, "M8": 3, "D2": -1, "D4": -2, "D8": -3}


def _rounding(s: sass.Statement) -> int:
    return operand_rules.chosen(s, ROUNDING, 0)


def float_arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    name = {"FADD": "float add", "FMUL": "float multiply", "FFMA": "float fused"}[s.base.removeprefix("U")]
    i = Decoded(name, flags=int(s.has("FTZ")) | 2 * s.has("SAT"))
    t.writes(i, destination)
    for place, operand in enumerate(sources):
        t.read(i, place, operand, "f")
    i.number[0], i.number[1] = _rounding(s), operand_rules.chosen(s, SCALES, 0)
    if i.number[0] or i.number[1] or s.has("SAT"):
        i.operation += " with modifiers"
    return i


def float_extreme(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, *third, condition = s.operands
    if len(third) != (s.base == "FMNMX3"):
        raise NotDecoded("a minimum of other operands")
    flags = int(s.has("FTZ")) | 4 * s.has("NAN") | 8 * s.has("XORSIGN") | 64 * len(third)
    i = Decoded("float extreme", flags=flags)
    t.writes(i, destination)
    for place, operand in enumerate((a, b, *third)):
        t.read(i, place, operand, "f")
    if s.has("XORSIGN"):
        for place, operand in ((2, a), (3, b)):
            t.read(i, place, operand, "f")
            i.mode[place] = 0
    i.p_in[0] = t.predicate(condition)
    return i


def float_compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c = s.operands
    i = Decoded("float compare", flags=int(s.has("FTZ")))
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    t.read(i, 0, a, "f")
    t.read(i, 1, b, "f")
    i.p_in[0] = t.predicate(c)
    i.number[0], i.number[1] = _chosen(s, COMPARE), _chosen(s, COMBINE)
    return i


def float_compare_to_register(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, c = s.operands
    i = Decoded("float compare to register", flags=int(s.has("FTZ")) | 16 * s.has("BF"))
    t.writes(i, destination)
    t.read(i, 0, a, "f")
    t.read(i, 1, b, "f")
    i.p_in[0] = t.predicate(c)
    i.number[0], i.number[1] = _chosen(s, COMPARE), _chosen(s, COMBINE)
    return i


def check_division(t: Decoder, s: sass.Statement) -> Decoded:
    first, a, b = s.operands
    i = Decoded("check division")
    i.p_out[0] = t.kept(first)
    t.read(i, 0, a, "f")
    t.read(i, 1, b, "f")
    return i


SPECIAL_FUNCTIONS = {
    name: number
    for number, name in enumerate(["RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"])
}


def special_function(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("special function")
    i.number[0] = _chosen(s, SPECIAL_FUNCTIONS)
    t.writes(i, destination)
    if i.number[0] >= SPECIAL_FUNCTIONS["RCP64H"] and isinstance(a, sass.Immediate):
        i.source[0], i.width[0] = t.words.row(Word(-1, t.raw_immediate())), 1
    else:
        t.read(i, 0, a, "f")
    return i


def double_arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded({"DADD": "double add", "DMUL": "double multiply", "DFMA": "double fused"}[s.base])
    t.writes(i, destination, 2)
    for place, operand in enumerate(sources):
        t.read(i, place, operand, "d")
    # Neither - nor | | changes a NaN, which is handed on as it stands in its register: the operation carries them out.
    i.number[0], i.number[1:], i.mode = _rounding(s), i.mode[:3], [0] * 4
    return i


def double_compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c = s.operands
    i = Decoded("double compare", flags=1024 * s.has("MIN") | 2048 * s.has("MAX"))
    i.p_out = [t.kept(first), t.kept(second)]
    t.read(i, 0, a, "d")
    t.read(i, 1, b, "d")
    i.p_in[0] = t.predicate(c)
    i.number[1] = _chosen(s, COMBINE)
    if s.has("MIN", "MAX"):
        if i.p_in[0] != ALWAYS:
            raise NotDecoded("a condition of DSETP.MIN")
    else:
        i.number[0] = _chosen(s, COMPARE)
    return i


# ---- conversions


def _converted(t: Decoder, i: Decoded, operand: sass.Operand, format_: str) -> None:
    """Source 0 in a format of integers or floats; number[3] is where it begins in its register."""
    if format_ in ("F64", "U64", "S64"):
        t.read(i, 0, operand, "d" if format_ == "F64" else "w")
    elif format_ == "F16":
        t.read(i, 0, operand, "h")
    elif format_ == "F32":
        t.read(i, 0, operand, "f")
    else:
        modifiers = operand.modifiers if isinstance(operand, sass.Register | sass.Constant) else ()
        part = next((m for m in modifiers if m[0] in "BH" and m[1:2].isdigit()), None)
        if part is not None:
            i.number[3] = int(part[1]) * (8 if part[0] == "B" else 16)
            if operand.negated or operand.inverted or operand.absolute or not isinstance(operand, sass.Register):
                raise NotDecoded("the sign of a part of a register")
            operand = _whole(operand)
        t.read(i, 0, operand)


def integer_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("integer to float")
    origin = next((part for part in s.opcode[:0:-1] if part in FORMATS and part[0] in "US"), "S32")
    to = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, origin)
    i.number[:3] = [FORMATS[to], FORMATS[origin], _rounding(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def float_to_integer(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("float to integer", flags=int(s.has("FTZ")))
    to = next((part for part in s.opcode[1:] if part in FORMATS and part[0] in "US"), "S32")
    origin = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, origin)
    i.number[:3] = [FORMATS[to], FORMATS[origin], operand_rules.chosen(s, WHOLE, 0)]
    t.writes(i, destination, 2 if to in ("U64", "S64") else 1)
    return i


def float_to_byte(t: Decoder, s: sass.Statement) -> Decoded:
    destination, above, a, rest = s.operands
    if not (is_zero(above) and is_zero(rest)):
        raise NotDecoded("several bytes in a register")
    i = Decoded("float to byte")
    i.number[0] = 8 if s.has("U8") else -8
    t.writes(i, destination)
    t.read(i, 0, a, "f")
    return i


def round_to_whole(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("round to whole", flags=int(s.has("FTZ")))
    format_ = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, format_)
    i.number[0], i.number[2] = FORMATS[format_], operand_rules.chosen(s, WHOLE, 0)
    t.writes(i, destination, 2 if format_ == "F64" else 1)
    return i


def float_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    types = [part for part in s.opcode[1:] if part in ("F16", "F32", "F64", "BF16")]
    if len(types) != 2 or types[1] == "BF16" or types[0] == "BF16" and types[1] != "F32":
        raise NotDecoded("a conversion between other types")
    to, origin = types
    i = Decoded("float to float", flags=int(s.has("FTZ")))
    _converted(t, i, a, origin)
    i.number[:3] = [FORMATS[to], FORMATS[origin], _rounding(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def pack_halves(t: Decoder, s: sass.Statement) -> Decoded:
    if not s.has("PACK_AB"):
        raise NotDecoded("other ways of packing")
    destination, high, low, *_ = s.operands
    i = Decoded("pack halves", flags=32 * s.has("BF16") | 64 * s.has("RELU"))
    i.number[2] = _rounding(s)
    t.writes(i, destination)
    t.read(i, 0, high, "f")
    t.read(i, 1, low, "f")
    return i


# ---- pairs of halves


def _halves(t: Decoder, i: Decoded, operands: Sequence[sass.Operand], count: int) -> None:
    """Read `count` sources; an immediate is printed as two numbers, and read from the code."""
    place = position = 0
    while position < len(operands):
        operand = operands[position]
        if place == count:
            raise NotDecoded(f"its form with {len(operands)} sources")
        if isinstance(operand, sass.Immediate):
            i.source[place], i.width[place] = t.words.row(Word(-1, t.raw_immediate())), 1
            position += 2
        else:
            t.read(i, place, operand, "h")
            position += 1
        place += 1
    if place != count or position != len(operands):
        raise NotDecoded(f"its form with {len(operands)} sources")


def half_arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands = s.operands
    i = Decoded("half arithmetic", flags=32 * s.has("BF16_V2") | 64 * s.has("RELU") | 2 * s.has("SAT"))
    _halves(t, i, operands, 3 if s.base == "HFMA2" else 2)
    t.writes(i, destination)
    if s.base == "HADD2" and s.has("F32"):
        i.flags = 128
    elif s.base == "HFMA2" and all(is_zero(operand) for operand in operands[:2]) and len(operands) == 4:
        i.flags = 256
    i.number[0] = {"HADD2": 0, "HMUL2": 1, "HFMA2": 2}[s.base]
    return i


def half_extreme(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands, condition = s.operands
    i = Decoded("half extreme", flags=32 * s.has("BF16_V2") | 4 * s.has("NAN"))
    _halves(t, i, operands, 2)
    i.p_in[0] = t.predicate(condition)
    t.writes(i, destination)
    return i


def half_compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, *operands, c = s.operands
    i = Decoded("half compare", flags=32 * s.has("BF16_V2"))
    _halves(t, i, operands, 2)
    i.p_out, i.p_in[0] = [t.kept(first), t.kept(second)], t.predicate(c)
    i.number[0], i.number[1] = _chosen(s, COMPARE), _chosen(s, COMBINE)
    return i


def half_compare_to_register(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands, c = s.operands
    i = Decoded("half compare to register", flags=32 * s.has("BF16_V2"))
    _halves(t, i, operands, 2)
    i.p_in[0] = t.predicate(c)
    one = 0xFFFF if not s.has("BF") else 0x3F80 if s.has("BF16_V2") else 0x3C00
    i.number[:3] = [_chosen(s, COMPARE), _chosen(s, COMBINE), one]
    t.writes(i, destination)
    return i


# ---- memory

NARROW = {"U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True)}


def _address(t: Decoder, i: Decoded, operand: sass.Operand, space: str, first: int = 0) -> int:
    """Sources `first` and the next as the terms of an address; returns its offset."""
    if not isinstance(operand, sass.Address):
        raise NotDecoded("an operand that is no address")
    terms = [register for register in operand.registers if register.number is not None]
    if len(terms) > 2:
        raise NotDecoded("an address of three registers")
    wide = space in ("global", "generic")
    for k, register in enumerate(terms):
        place = first + k
        scale = next((int(m[1:]) for m in register.modifiers if m in ("X4", "X8", "X16")), 1)
        narrow = not wide or "U32" in register.modifiers or "S32" in register.modifiers
        i.width[place] = 1 if narrow else 2
        i.source[place] = t.row(register, i.width[place])
        if wide and "S32" in register.modifiers:
            i.flags |= SIGNED_TERM << place
        if not wide:
            i.number[k] = scale
    return operand.offset - (t.shared_base if space == "shared" else 0)


def _place(s: sass.Statement) -> tuple[int, sass.Address]:
    places = [(position, operand) for position, operand in enumerate(s.operands) if isinstance(operand, sass.Address)]
    if len(places) != 1:
        raise NotDecoded(f"its form with {len(places)} addresses")
    return places[0]


def _words(s: sass.Statement) -> int:
    return 4 if s.has("128") else 2 if s.has("64") else 1


def _memory(t: Decoder, s: sass.Statement, operation: str, op: str) -> Decoded:
    space = SPACES[t.space]
    i = Decoded(operation, flags=space | WIDE_ADDRESS * (space in (GLOBAL, GENERIC)), space=space, op=op)
    i.is_strong = s.has("STRONG")
    # Others' writes may be waited for by volatile and strong loads, and in shared memory by any.
    i.strong = SEES_GRID if s.has("STRONG") else SEES_BLOCK if space in (SHARED, GENERIC) else 0
    return i


def load(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    i = _memory(t, s, "load", "ld")
    i.offset = _address(t, i, place, t.space)
    width, signed = operand_rules.chosen(s, NARROW, (0, False))
    i.flags |= SIGNED_VALUE * signed
    i.number[2], i.number[3] = 1 if width else _words(s), width
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def store(t: Decoder, s: sass.Statement) -> Decoded:
    place, value = s.operands
    i = _memory(t, s, "store", "st")
    i.strong = 0
    i.offset = _address(t, i, place, t.space)
    width, _ = operand_rules.chosen(s, NARROW, (0, False))
    i.number[2], i.number[3] = 1 if width else _words(s), width
    if not is_register(value) or value.negated or value.absolute or value.inverted or value.modifiers:
        raise NotDecoded("a stored value that is no plain register")
    i.source[2], i.width[2] = t.row(value, i.number[2]), 1
    return i


def load_constant(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    if not isinstance(place, sass.Constant):
        raise NotDecoded("an operand that is no constant")
    words = _words(s)
    if place.register is None and not s.has(*NARROW, "128"):
        i = Decoded("move two" if words == 2 else "move")
        for k in range(words):
            i.source[k], i.width[k] = t.words.row(Word(place.bank, place.offset + 4 * k)), 1
        t.writes(i, destination, words)
        if i.d is None:
            raise NotDecoded("a constant that is not kept")
        return i
    i = Decoded("load constant", offset=place.offset)
    width, signed = operand_rules.chosen(s, NARROW, (0, False))
    i.flags = SIGNED_VALUE * signed
    i.number[0], i.number[2], i.number[3] = place.bank, 1 if width else words, width
    if place.register is not None and place.register.number is not None:
        t.read(i, 0, sass.Register(place.register.file, place.register.number))
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def atomic(t: Decoder, s: sass.Statement) -> Decoded:
    position, place = _place(s)
    before, values = s.operands[:position], s.operands[position + 1 :]
    destination = next((operand for operand in before if is_register(operand)), None)
    returns = destination is not None and destination.number is not None
    i = _memory(t, s, "atomic", "atom" if returns else "red")
    i.strong = SEES_BLOCK if t.space == "shared" else SEES_GRID
    i.offset = _address(t, i, place, t.space)
    i.number[3] = type_ = operand_rules.chosen(s, TYPES, 0)
    wide = type_ in (2, 3, 5)
    if returns:
        i.flags |= ANSWERS
        t.writes(i, destination, 2 if wide else 1)
    if s.has("POPC") and s.has("INC"):
        i.number[2] = ATOMICS["ADD"]
        i.source[2], i.width[2] = t.words.row(Word(-1, 1)), 1
        return i
    if not s.has("CAST") and any(is_predicate(operand) and t.kept(operand) != NEVER_KEPT for operand in before):
        raise NotDecoded("its answer in a predicate")
    if s.has("CAST"):
        if len(before) == 2 and before[0] == sass.Register("P", None):  # of another block of the cluster
            before = before[1:]
        if len(before) != 1 or len(values) != 2:
            raise NotDecoded(f"its form with {len(s.operands)} operands")
        i.number[2] = ATOMICS["CAS"]
        i.flags |= SETS
        i.op = "atom"
        if is_predicate(before[0]):
            i.p_out[0] = t.kept(before[0])
    else:
        i.number[2] = _chosen(s, ATOMICS)
    if i.number[2] == ATOMICS["CAS"] and len(values) == 1 and is_register(values[0]):
        values = (values[0], values[0].next(2 if wide else 1))
    if len(values) != (2 if i.number[2] == ATOMICS["CAS"] else 1):
        raise NotDecoded(f"its form with {len(values)} values")
    if type_ >= 4 and i.number[2] not in (ATOMICS["ADD"], ATOMICS["EXCH"]):
        raise NotDecoded("an atomic operation on floats other than a sum")
    for k, value in enumerate(values):
        t.read(i, 2 + k, value, ("d" if type_ == 5 else "w") if wide else "f" if type_ == 4 else "i")
        if wide and i.mode[2 + k]:
            raise NotDecoded("the sign of a value of 64 bits")
    i.flags |= FLUSHES * s.has("FTZ")
    return i


def copy_async(t: Decoder, s: sass.Statement) -> Decoded:
    to, origin, *condition = s.operands
    i = Decoded("copy async", space=GLOBAL, op="copy")
    offset = _address(t, i, to, "shared", 0)
    i.offset = _address(t, i, origin, "global", 2)
    if len(condition) > 1:
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    i.p_in[0] = t.predicate(condition[0]) if condition else ALWAYS
    i.number[2], i.number[3] = offset, _words(s)
    i.flags |= FILLS * s.has("ZFILL")
    return i


def barrier_object(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("CCTL"):
        return Decoded("nothing")
    destination, place, value = s.operands
    if s.has("EXCH"):
        i = _memory(t, s, "store", "st")
        i.strong, i.offset, i.number[2] = 0, _address(t, i, place, t.space), 2
        if not is_register(value):
            raise NotDecoded("a barrier whose bits are in no register")
        i.source[2], i.width[2] = t.row(value, 2), 1
        i.flags |= FOR_THE_WARP
        return i
    i = _memory(t, s, "phase ended" if s.has("PHASECHK") else "arrive", "atom")
    i.flags |= AT_MBARRIER
    t.read(i, 2, value)
    if s.has("PHASECHK"):
        i.offset = _address(t, i, place, t.space)
        i.p_out[0] = t.kept(destination)
        i.kind = WAITS_FOR_PHASE if s.has("TRYWAIT") else COMPUTES
        return i
    if s.has("RED"):  # in any block of the cluster
        i.flags = LOCAL | ANYWHERE | AT_MBARRIER
    i.offset = _address(t, i, place, "local" if s.has("RED") else t.space)
    i.flags |= LEAVES_FOR_GOOD * s.has("OPTOUT")
    i.number[2] = operand_rules.chosen(s, ARRIVALS, 0)
    if destination.number is not None:
        t.writes(i, destination.next(1))
    return i


def copies_arrive(t: Decoder, s: sass.Statement) -> Decoded:
    (place,) = s.operands
    i = _memory(t, s, "arrive", "atom")
    i.offset = _address(t, i, place, t.space)
    i.flags |= BEHIND_COPIES | AT_MBARRIER
    if not s.has("ARVCNT", "TRANSCNT"):
        raise NotDecoded("an mbarrier of Ampere")
    i.number[2] = ARRIVALS["A1T0"] if s.has("ARVCNT") else COMPLETES_ONE
    return i


def copy_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    to, origin, size, *_ = s.operands
    what = {"SG": BULK_FETCHES, "SS": BULK_SENDS, "GS": BULK_PUTS}.get("".join(s.opcode[1:3]))
    if what is None:
        raise NotDecoded("its form")
    i = Decoded("copy bulk", space=GLOBAL, flags=MULTICAST * s.has("MULTICAST"))
    i.number[0] = BULK_COMBINES if s.base == "UBLKRED" else what
    i.op = ("bulk_ld", "bulk_send", "bulk_st", "bulk_red")[i.number[0]]
    if s.base == "UBLKRED":
        i.number[2], i.number[3] = operand_rules.chosen(s, ATOMICS), operand_rules.chosen(s, TYPES | HALVES, 0)
        if i.number[3] >= TYPES["F32"] and i.number[2] != ATOMICS["ADD"]:
            raise NotDecoded("an operation on floats other than a sum")
    for place, (operand, count) in enumerate(((to, 2), (origin, 2 if what == BULK_FETCHES else 1))):
        register = bulk.in_one_register(operand)
        i.source[place], i.width[place] = t.row(register, count), 1
    t.read(i, 2, size)
    return i


def load_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    if not s.has("M88", "MT88"):
        raise NotDecoded("the matrix shape")
    i = _memory(t, s, "load matrix", "ldsm")
    i.offset = _address(t, i, place, t.space)
    i.flags |= TRANSPOSED * s.has("MT88")
    i.number[2] = operand_rules.chosen(s, {"1": 1, "2": 2, "4": 4}, 1)
    t.writes(i, destination, i.number[2])
    return i


def nothing(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("nothing")


def trap(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("trap")


def lanes_together(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("lanes together")


def close_copies(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("close copies")


def close_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("close bulk")


def await_copies(t: Decoder, s: sass.Statement) -> Decoded:
    if not s.has("LE") or s.operands[:1] != (sass.Name("SB0"),):
        return Decoded("nothing")
    pending = _number(s.operands[1]) if len(s.operands) > 1 else 0
    return Decoded("await copies", number=[pending, 0, 0, 0])


def fence(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("fence", strong=SEES_GRID, number=[int(s.has("CTA")), 0, 0, 0])


# ---- matrices, lanes, the system


def multiply_matrices(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *factors = s.operands
    form = matrix.form_of(s)
    i = product_of(t.arch, form, differing=s.has("XOR"))
    counts = (form.a_registers, form.b_registers, form.c_registers)
    factors = [matrix.plain(operand, order) for operand, order in zip(factors, ("ROW", "COL", ""), strict=True)]
    for place, (operand, count) in enumerate(zip(factors, counts, strict=True)):
        if not is_register(operand) or operand.negated or operand.modifiers:
            raise NotDecoded("a matrix that is no plain register")
        i.source[place], i.width[place] = t.row(operand, count), 1
    t.writes(i, destination, form.c_registers)
    return i


# ---- textures and surfaces


def read_texture(t: Decoder, s: sass.Statement) -> Decoded:
    upper, lower, where, *rest = s.operands
    handle, offset, shape, *mask = rest[s.base in ("TEX", "TXD") :]
    axes, layered = textures.SHAPES.get(getattr(shape, "text", ""), (0, False))
    is_fetch = s.base == "TLD"
    if not axes or _number(offset) or not is_register(where) or (is_fetch and (axes > 1 or layered)):
        raise NotDecoded("a texture read in another way than by its coordinates")
    i = Decoded("read texture", flags=int(layered))
    what = FETCHES if is_fetch else SAMPLES
    if s.base == "TLD4":
        what = GATHERS + operand_rules.chosen(s, textures.CHANNELS)
    kept = _number(mask[0]) if mask else 0xF
    count = kept.bit_count()
    i.number[:] = [what, axes, kept, -1]
    i.source[0], i.width[0] = t.row(where, axes + layered), 1
    t.read(i, 1, handle)
    t.writes(i, lower, min(count, 2))
    if count > 2 and upper.number is not None:
        i.number[3] = t.row(upper, count - 2)
    return i


def _surface(t: Decoder, s: sass.Statement, operation: str, place: sass.Operand, handle: sass.Operand) -> Decoded:
    width, signed = operand_rules.chosen(s, NARROW, (0, False))
    if not isinstance(place, sass.Address) or len(place.registers) != 1 or place.offset or not s.has("BA"):
        raise NotDecoded("a surface that converts what it holds")
    i = Decoded(operation, flags=int(signed))
    axes = operand_rules.chosen(s, textures.SURFACES)
    i.number[:3] = [OUTSIDE[operand_rules.chosen(s, textures.OUTSIDE, "clamp")], axes, width or 4 * _words(s)]
    i.source[0], i.width[0] = t.row(place.registers[0], axes), 1
    t.read(i, 1, handle)
    return i


def load_surface(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place, handle, _ = s.operands
    i = _surface(t, s, "load surface", place, handle)
    t.writes(i, destination, max(1, i.number[2] // 4))
    return i


def store_surface(t: Decoder, s: sass.Statement) -> Decoded:
    place, value, handle, _ = s.operands
    i = _surface(t, s, "store surface", place, handle)
    i.source[2], i.width[2] = t.row(value, max(1, i.number[2] // 4)), 1
    return i


def transpose_matrix(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    if not s.has("MT88"):
        raise NotDecoded("the matrix shape")
    i = Decoded("transpose matrix")
    t.writes(i, destination)
    t.read(i, 0, a)
    return i


def shuffle(t: Decoder, s: sass.Statement) -> Decoded:
    inside, destination, value, lane, control = s.operands
    i = Decoded("shuffle")
    i.number[0] = _chosen(s, {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3})
    i.p_out[0] = t.kept(inside)
    t.writes(i, destination)
    for place, operand in enumerate((value, lane, control)):
        t.read(i, place, operand)
    return i


def vote(t: Decoder, s: sass.Statement) -> Decoded:
    *results, condition = s.operands
    i = Decoded("vote")
    i.number[0] = _chosen(s, {"ALL": 0, "ANY": 1, "EQ": 2})
    i.p_in[0] = t.predicate(condition)
    for operand in results:
        if is_register(operand):
            t.writes(i, operand)
        else:
            i.p_out[0] = t.kept(operand)
            i.uniform |= operand.file == "UP"
    return _for_warp(i)


def _for_warp(i: Decoded) -> Decoded:
    """It asks the active lanes, whoever gets the answer."""
    i.flags |= FOR_WARP * i.uniform
    i.uniform = False
    return i


def reduce_warp(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("reduce warp", flags=int(s.has("S32")))
    i.number[0] = operand_rules.chosen(s, {"SUM": 0, "MIN": 1, "MAX": 2, "AND": 3, "OR": 4, "XOR": 5}, 3)
    t.writes(i, destination)
    t.read(i, 0, a)
    return _for_warp(i)


def match(t: Decoder, s: sass.Statement) -> Decoded:
    *results, a = s.operands
    destination = next(operand for operand in results if is_register(operand))
    answer = next((operand for operand in results if is_predicate(operand)), None)
    i = Decoded("match", flags=4 * s.has("ALL"))
    t.writes(i, destination)
    i.p_out[0] = t.kept(answer)
    t.read(i, 0, a, "w" if s.has("U64") else "i")
    return i


def elect(t: Decoder, s: sass.Statement) -> Decoded:
    answer, *others = s.operands
    i = Decoded("elect")
    i.p_out[0] = t.kept(answer)
    if others and is_register(others[0]):
        t.writes(i, others[0])
    if len(others) == 2 and t.predicate(others[1]) != ALWAYS:
        raise NotDecoded("its form with a condition")
    return _for_warp(i)


def to_uniform(t: Decoder, s: sass.Statement) -> Decoded:
    *between, destination, source = s.operands
    if between and not is_predicate(between[0]):
        raise NotDecoded("its form with three registers")
    i = Decoded("to uniform")
    if between and between[0].number is not None:
        i.p_out[0], i.flags = t.kept(between[0]), 1 | 2 * s.has("OR")
    t.writes(i, destination)
    i.uniform = False  # what the active lanes say counts, and nobody else's
    t.read(i, 0, source)
    return i


SPECIAL = {f"SR_{name}": number for name, number in SPECIAL_REGISTERS.items()}


def special_register(t: Decoder, s: sass.Statement) -> Decoded:
    from helpers.simulator.frontends.sass.system import SPECIAL_CONSTANTS

    destination, source = s.operands
    name = source.name if isinstance(source, sass.Special) else ""
    if name in SPECIAL_CONSTANTS and not (name == "SR_CgaCtaId" and t.code.clusters):
        i = Decoded("move")
        i.source[0], i.width[0] = t.words.row(Word(-1, SPECIAL_CONSTANTS[name] & 0xFFFFFFFF)), 1
    elif name in SPECIAL:
        i = Decoded("special register")
        i.number[0] = SPECIAL[name]
    else:
        raise NotDecoded(f"the special register {name}")
    t.writes(i, destination)
    return i


def zeros(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source = s.operands
    if source not in (sass.Special("SRZ"), sass.Special("SR_CgaSize")):
        raise NotDecoded("a clock")
    i = Decoded("move" if s.has("32") else "move two")
    i.source[:2], i.width[:2] = [-1, -1], [1, 1]
    t.writes(i, destination, 1 if s.has("32") else 2)
    return i


def position(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *_ = s.operands
    i = Decoded("move two")
    i.source[:2] = [t.words.row(Word(-1, s.address)), -1]
    i.width[:2] = [1, 1]
    t.writes(i, destination, 2)
    return i


# ---- what comes next


def _condition(t: Decoder, i: Decoded, operands: Sequence[sass.Operand]) -> None:
    if len(operands) > 1:
        raise NotDecoded(f"its form with {len(operands)} predicates")
    i.p_in[0] = t.predicate(operands[0]) if operands else ALWAYS


def branch(t: Decoder, s: sass.Statement) -> Decoded:
    *operands, label = s.operands
    i = Decoded(kind=BRANCHES, target=t.code.place(label))
    if not s.has("DIV", "CONV"):
        _condition(t, i, operands)
        i.flags = 8 if s.has("ANY") else 4 * s.has("U")
        return i
    i.flags = 1 if s.has("DIV") else 2
    if operands:
        t.read(i, 0, operands[0])
    return i


def arrive_in_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=ARRIVES)


def wait_for_cluster(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=WAITS_FOR_CLUSTER)


def _go_to(t: Decoder, register: sass.Operand, base: int, targets: tuple[int, ...]) -> Decoded:
    if not targets or not is_register(register):
        raise NotDecoded("a jump without a list of its targets")
    known = set(targets)
    table = [targets[0]] * (len(t.code.addresses) + 1)
    for address, index in t.code.addresses.items():
        if index in known:
            table[address // sass.INSTRUCTION_BYTES] = index
    i = Decoded(kind=JUMPS, jumps=tuple(table))
    t.read(i, 0, sass.Register(register.file, register.number))
    i.number[2:] = [base, sass.INSTRUCTION_BYTES.bit_length() - 1]
    return i


def computed_branch(t: Decoder, s: sass.Statement) -> Decoded:
    register, *offset = s.operands
    targets = t.code.branch_targets.get(s.address)
    if not targets:
        raise NotDecoded("a branch without a list of its targets")
    base = s.address + sass.INSTRUCTION_BYTES + sum(_number(operand) for operand in offset)
    return _go_to(t, register, base, tuple(t.code.addresses[target] for target in targets))


def call(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("ABS") and not any(isinstance(operand, sass.Label) for operand in s.operands):
        raise NotDecoded("a function of the system")
    *register, function = s.operands
    place = t.code.place(function)
    if register:
        return _go_to(t, register[0], sass.INSTRUCTION_BYTES * place, t.code.functions)
    return Decoded(kind=BRANCHES, target=place)


def returns(t: Decoder, s: sass.Statement) -> Decoded:
    register, function = s.operands
    base = _number(function) if s.has("ABS") else sass.INSTRUCTION_BYTES * t.code.place(function)
    return _go_to(t, register, base, t.code.return_points)


def leave(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=EXITS)
    _condition(t, i, s.operands)
    return i


def barrier(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=WAITS, flags=int(s.has("ARV")))
    which, *threads = (operand for operand in s.operands if not is_predicate(operand))
    if s.has("RED"):
        if not control.is_syncthreads(s):
            raise NotDecoded("a reduction at a barrier with a number")
        i.operation = "bring votes"
        i.p_in[0] = t.predicate(s.operands[-1])
        return i
    for place, operand in enumerate((which, *threads)):
        if is_register(operand):
            t.read(i, place, operand)
        else:
            i.number[1 + place] = _number(operand)
    i.number[3] = 16 * (i.width[0] > 0)
    return i


def barrier_result(t: Decoder, s: sass.Statement) -> Decoded:
    reduction = t.code.reductions.get(s.address)
    if reduction is None or not s.has("RESULT"):
        raise NotDecoded("what is no reduction at a barrier")
    destination, *predicate = s.operands
    i = Decoded("barrier result")
    i.offset = operand_rules.chosen(reduction, {"POPC": 0, "AND": 1, "OR": 2})
    if predicate:
        i.p_out[0] = t.kept(predicate[0])
    else:
        t.writes(i, destination)
    return i


def warp_barrier(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded(kind=WAITS_FOR_LANES, flags=s.has("COLLECTIVE") | s.has("EXCLUSIVE") << 1)
    if not s.has("ALL"):
        t.read(i, 0, s.operands[0])
    return i


def end_collective(t: Decoder, s: sass.Statement) -> Decoded:
    end = t.code.collective_ends.get(s.address)
    if end is None:
        raise NotDecoded("an end without a beginning")
    return Decoded(kind=PARTS, target=end)


def _meeting(s: sass.Statement) -> int:
    for operand in s.operands:
        if isinstance(operand, sass.Register) and operand.file == "B" and operand.number is not None:
            return operand.number
    raise NotDecoded("its form without a convergence barrier")


def begin_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("enter meeting", number=[_meeting(s), 0, 0, 0])


def meet(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded(kind=MEETS, number=[_meeting(s), 0, 0, 0])


def leave_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    i = Decoded("leave meeting", kind=LEAVES, number=[_meeting(s), 0, 0, 0])
    predicates, _ = operand_rules.leading_predicates(s.operands)
    _condition(t, i, predicates)
    return i


def move_meeting(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source = s.operands
    if control.sets_up_meetings(s):
        return nothing(t, s)
    if isinstance(destination, sass.Register) and destination.file == "B" and destination.number is not None:
        i = Decoded("restore meeting", number=[destination.number, 0, 0, 0])
        t.read(i, 0, source)
        return i
    i = Decoded("save meeting", number=[_meeting(s), 0, 0, 0], flags=int(s.has("CLEAR")))
    t.writes(i, destination)
    return i


OPCODES: dict[str, Callable[[Decoder, sass.Statement], Decoded]] = {
    "IADD3": add3, "IADD": add_pairs, "VIADD": add2, "IMAD": multiply_add, "LEA": shift_add, "SHF": funnel_shift,
    "ISETP": compare, "IMNMX": minimum_maximum, "VIMNMX": minimum_maximum, "VIMNMX3": minimum_maximum,
    "VIADDMNMX": minimum_maximum, "IABS": _unary("absolute"), "VABSDIFF": absolute_difference, "IDP": dot_product,
    "I2I": saturate, "I2IP": saturate_and_pack, "MOV": move,
    "LOP3": logic3, "PRMT": permute_bytes, "POPC": _unary("population count"),
    "FLO": _unary("find leading one", "U32", "SH"), "BREV": _unary("reverse bits"), "SGXT": sign_extend,
    "BMSK": bit_mask, "SEL": select, "FSEL": select, "PLOP3": predicate_logic3, "P2R": pack_predicates,
    "UP2UR": pack_predicates, "R2P": unpack_predicates, "UR2UP": unpack_predicates, "FADD": float_arithmetic,
    "FMUL": float_arithmetic, "FFMA": float_arithmetic, "FMNMX": float_extreme, "FMNMX3": float_extreme,
    "FSETP": float_compare,
    "FSET": float_compare_to_register, "FCHK": check_division, "MUFU": special_function, "DADD": double_arithmetic,
    "DMUL": double_arithmetic, "DFMA": double_arithmetic, "DSETP": double_compare, "HADD2": half_arithmetic,
    "HMUL2": half_arithmetic, "HFMA2": half_arithmetic, "HMNMX2": half_extreme, "HSETP2": half_compare,
    "HSET2": half_compare_to_register, "I2F": integer_to_float, "I2FP": integer_to_float, "F2I": float_to_integer,
    "F2IP": float_to_byte, "F2F": float_to_float, "F2FP": pack_halves, "FRND": round_to_whole, "LDG": load,
    "LDS": load, "LDL": load, "LD": load, "LDC": load_constant, "STG": store, "STS": store, "STL": store, "ST": store,
    "ATOM": atomic, "ATOMG": atomic, "ATOMS": atomic, "RED": atomic, "REDG": atomic, "LDGSTS": copy_async,
    "SYNCS": barrier_object, "ARRIVES": copies_arrive, "UBLKCP": copy_bulk, "UBLKRED": copy_bulk, "UBLKPF": nothing,
    "UTMACMDFLUSH": close_bulk, "FENCE": nothing, "ELECT": elect, "LDGDEPBAR": close_copies,
    "DEPBAR": await_copies, "MEMBAR": fence, "ERRBAR": nothing, "CGAERRBAR": nothing,
    "CCTL": nothing,
    "CCTLL": nothing, "CCTLT": nothing, "LDSM": load_matrix, "MOVM": transpose_matrix, "HMMA": multiply_matrices,
    "QMMA": multiply_matrices, "IMMA": multiply_matrices, "DMMA": multiply_matrices, "BMMA": multiply_matrices,
    "TEX": read_texture, "TXD": read_texture, "TLD": read_texture, "TLD4": read_texture, "SULD": load_surface,
    "SUST": store_surface,
    "SHFL": shuffle, "VOTE": vote, "VOTEU": vote, "REDUX": reduce_warp, "CREDUX": reduce_warp, "MATCH": match,
    "R2UR": to_uniform, "S2R": special_register, "S2UR": special_register, "CS2R": zeros, "CS2UR": zeros,
    "LEPC": position, "NOP": lanes_together,
    "YIELD": nothing, "NANOSLEEP": nothing, "PMTRIG": nothing, "BRA": branch, "BRX": computed_branch,
    "BRXU": computed_branch, "CALL": call, "BPT": trap, "LDCU": load_constant,
    "RET": returns, "EXIT": leave, "BAR": barrier, "B2R": barrier_result, "WARPSYNC": warp_barrier,
    "UCGABAR_ARV": arrive_in_cluster, "UCGABAR_WAIT": wait_for_cluster,
    "ENDCOLLECTIVE": end_collective, "BSSY": begin_meeting, "BSYNC": meet, "BREAK": leave_meeting,
    "BMOV": move_meeting,
}  # fmt: skip

_MEETING = "RECONVERGENT RELIABLE"
_COMPARED = "LT LE EQ NE GE GT LTU LEU EQU NEU GEU GTU NUM NAN AND OR XOR"
_CACHES = "E SYS GPU CTA SM WEAK STRONG CONSTANT EF EL LU EU NA LTC64B LTC128B LTC256B"
_ACCESS = f"{_CACHES} U U8 S8 U16 S16 64 128"
_SURFACE = "D BA 1D 2D 3D 1D_ARRAY 2D_ARRAY U8 S8 U16 S16 64 128 TRAP IGN STRONG WEAK CTA SM GPU SYS"
_UPDATES = "ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC"
_ATOMIC = f"{_CACHES} {_UPDATES} 32 64 U32 S32 U64 S64 F32 F64 F16x2 BF16x2 FTZ RN"
_ROUNDED = "FTZ SAT RM RP RZ"
_INTEGERS = "U8 S8 U16 S16 U32 S32 U64 S64"
# The modifiers that the functions above carry out, or that change nothing here. With another one a form is not decoded.
MODIFIERS: dict[str, str] = {
    "IADD3": "X 64", "IADD": "64 X", "VIADD": "16x2", "IMAD": "MOV U32 HI WIDE IADD SHL X", "LEA": "HI SX32 X",
    "SHF": "L R W HI U32 S32 U64 S64", "ISETP": f"{_COMPARED} U32 EX U64 S64", "IMNMX": "U32 U64 S64",
    "VIMNMX": "U32 S32 S16x2 U16x2", "MOV": "64", "SEL": "64",
    "VIMNMX3": "U32", "VIADDMNMX": "U32 S16x2 U16x2", "VABSDIFF": "U32", "IDP": "4A 2A LO HI S8 U8 S16 U16",
    "I2I": f"SAT {_INTEGERS}", "I2IP": "U2 S2 U4 S4 U8 S8 U16 S16 S32 SAT",
    "LOP3": "LUT PAND", "FLO": "U32 SH", "SGXT": "W U32", "BMSK": "W", "PLOP3": "LUT",
    "P2R": "B0 B1 B2 B3", "R2P": "B0 B1 B2 B3", "FADD": _ROUNDED, "FMUL": f"{_ROUNDED} M2 M4 M8 D2 D4 D8",
    "FFMA": _ROUNDED, "FMNMX": "FTZ NAN XORSIGN", "FMNMX3": "FTZ NAN",
    "FSETP": f"FTZ {_COMPARED}", "FSET": f"BF FTZ {_COMPARED}",
    "MUFU": " ".join(SPECIAL_FUNCTIONS), "DADD": "RM RP RZ", "DMUL": "RM RP RZ", "DFMA": "RM RP RZ",
    "DSETP": f"MIN MAX {_COMPARED}", "HADD2": "F32 BF16_V2 RELU SAT", "HMUL2": "BF16_V2 RELU SAT",
    "HFMA2": "MMA BF16_V2 RELU SAT", "HMNMX2": "BF16_V2 NAN", "HSETP2": f"BF16_V2 {_COMPARED}",
    "HSET2": f"BF16_V2 BF {_COMPARED}", "I2F": f"F16 F32 F64 {_INTEGERS} RM RP RZ",
    "I2FP": f"F16 F32 F64 {_INTEGERS} RM RP RZ", "F2I": f"FTZ NTZ F16 F64 TRUNC FLOOR CEIL {_INTEGERS}",
    "F2IP": "U8 S8 F32 TRUNC NTZ", "F2F": "FTZ F16 BF16 F32 F64 RM RP RZ", "F2FP": "BF16 F16 F32 PACK_AB RELU RZ",
    "FRND": "FTZ F16 F64 TRUNC FLOOR CEIL", "LDG": _ACCESS, "LDS": _ACCESS, "LDL": _ACCESS, "LD": _ACCESS,
    "LDC": "64 128 U8 S8 U16 S16", "STG": _ACCESS, "STS": _ACCESS, "STL": _ACCESS, "ST": _ACCESS, "ATOM": _ATOMIC,
    "ATOMG": _ATOMIC, "ATOMS": _ATOMIC, "RED": _ATOMIC, "REDG": _ATOMIC, "LDGSTS": f"BYPASS ACCESS ZFILL {_ACCESS}",
    "SYNCS": "EXCH ARRIVE PHASECHK CCTL IV IVALL TRANS64 A1T0 ART0 A0TR A0TX A0T1 OPTOUT RED TRYWAIT 64",
    "ARRIVES": "LDGSTSBAR 64 ARVCNT TRANSCNT", "UBLKCP": "S G MULTICAST", "UBLKPF": "L2", "FENCE": "VIEW ASYNC S T G",
    "UBLKRED": "G S RN ADD MIN MAX INC DEC AND OR XOR F32 F64 F16 BF16 S32 U64 S64",
    "DEPBAR": "LE", "MEMBAR": "SC ALL VC CTA GPU SYS", "ERRBAR": "any", "CGAERRBAR": "any", "CCTL": "any",
    "CCTLL": "any", "CCTLT": "any", "LDSM": "16 M88 MT88 1 2 4", "MOVM": "16 MT88",
    "HMMA": "16816 1688 1684 F32 F16 BF16 TF32", "IMMA": "8816 16816 16832 8832 16864 S8 U8 S4 U4 SAT",
    "DMMA": "884 8x8x4 16x8x4 16x8x8 16x8x16", "BMMA": "88128 168128 168256 AND XOR POPC",
    "TEX": "LL LZ", "TLD": "LZ", "TLD4": "R G B A", "SULD": _SURFACE,
    "SUST": _SURFACE, "SHFL": "IDX UP DOWN BFLY",
    "VOTE": "ALL ANY EQ", "VOTEU": "ALL ANY EQ", "REDUX": "SUM MIN MAX AND OR XOR S32",
    "CREDUX": "MIN MAX S32", "MATCH": "ANY ALL U64",
    "R2UR": "OR BROADCAST", "CS2R": "32", "NOP": "any", "YIELD": "any", "NANOSLEEP": "any", "PMTRIG": "any",
    "BRA": "DIV CONV U ANY", "BPT": "TRAP", "LDCU": "64 128 U8 S8 U16 S16",
    "BSSY": _MEETING, "BSYNC": _MEETING, "BREAK": _MEETING,
    "CALL": "REL ABS NOINC", "RET": "REL ABS NODEC", "BAR": "SYNC ARV RED POPC AND OR DEFER_BLOCKING", "B2R": "RESULT",
    "WARPSYNC": "ALL COLLECTIVE EXCLUSIVE", "BMOV": "32 CLEAR",
}  # fmt: skip
