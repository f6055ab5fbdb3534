"""PTX statements → the flat form that the compiled engine executes (`helpers/native/engine`).

Each opcode's function here says the same as its rule in NumPy (`opcodes`). A test executes every form by both and
compares the bits. A form that is not decoded raises `NotDecoded`; then the whole launch is executed by the rules in
NumPy. There are no convergence barriers in PTX: threads of a warp are together again wherever they come to the same
place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from helpers.compiler.ptx import (
    TYPE_BYTES,
    Address,
    Immediate,
    Minus,
    Not,
    Register,
    Special,
    Statement,
    Symbol,
    Vector,
)
from helpers.devices import WARP, limits_for, sms_for
from helpers.simulator.arithmetic import integer, tensor_core
from helpers.simulator.engine.ir import Instruction, Program
from helpers.simulator.engine.memory import product
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends import decoded as form
from helpers.simulator.frontends.decoded import ALWAYS, NEGATED, NEVER_KEPT, Decoded, NotDecoded, Word, Words
from helpers.simulator.frontends.ptx import comparison, conversion, matrix, memory, textures, video, wmma
from helpers.simulator.frontends.ptx.linking import ORIGIN, STACK, Call, called, return_register
from helpers.simulator.frontends.ptx.operands import CARRY, Operands, dtype_of, items_of
from helpers.simulator.frontends.ptx.rows import allocate

PARAMETERS, ADDRESSES = 0, 4  # constant banks: what a launch is given, and where the module's variables are
ROUNDING = {"rz": 1, "rm": 2, "rp": 3, "rna": 4}
WHOLE = {"rni": 0, "rzi": 1, "rmi": 2, "rpi": 3}
FLOATS = {"f16": 100, "f32": 101, "f64": 102, "bf16": 103, "tf32": 104}
EIGHTS = ("e4m3x2", "e5m2x2")
UNSIGNED = 1
FLUSHES, SATURATES, KEEPS_NAN, BRAIN, RELU = 1, 2, 4, 32, 64  # flags of floating-point operations
PAIRS_OF_INTEGERS = 256
LEFT, WRAPS, UPPER = 4, 8, 2
SIGN = {"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x80008000, "bf16x2": 0x80008000, "f32": 1 << 31, "f64": 1 << 63}
LOGIC = {"and": 0xC0, "or": 0xFC, "xor": 0x3C, "not": 0x0F}  # of a, b, c as the bits of 0xf0, 0xcc, 0xaa


class Decoder:
    """Decodes the statements of one kernel."""

    def __init__(self, operands: Operands, program: Program) -> None:
        self.operands = operands
        self.arch = operands.arch
        sizes = [0 if type_ == "pred" else TYPE_BYTES[type_] for type_ in operands.types]
        self.program = program
        self.at = 0  # the place of the current statement
        text = operands.text
        always = (STACK, ORIGIN, *map(return_register, text.starts)) if text.calls else ()
        self.places = allocate(program, sizes, [operands.slots[name] for name in always])
        self.words = Words()
        self.lists: list[int] = []
        self.addresses = address_places(program)

    @property
    def nowhere(self) -> int:
        """The row that receives what nobody wants."""
        return self.places.rows

    def decode(self, s: Statement, instruction: Instruction) -> Decoded:
        """One statement; of the instruction it counts where it goes."""
        function, self.at = OPCODES.get(s.name), instruction.index
        if function is None:
            raise NotDecoded(f"the opcode {s.name}")
        try:
            decoded = function(self, s)
        except (Unknown, ValueError) as error:
            raise NotDecoded(str(error)) from error
        decoded.target = max(instruction.target, 0)
        decoded.jumps = instruction.targets if decoded.kind in (form.JUMPS, form.RETURNS) else ()
        if s.guard is not None:
            decoded.guard = self.predicate(s.guard)
        return decoded

    # ---- places

    def slot(self, operand) -> int:
        """The slot of a register."""
        if not isinstance(operand, Register) or operand.part or operand.name not in self.operands.slots:
            raise NotDecoded(f"the operand {operand}")
        return self.operands.slots[operand.name]

    def bytes_of(self, operand) -> int:
        """The size of a register."""
        return TYPE_BYTES[self.operands.types[self.slot(operand)]]

    def rows(self, operand) -> tuple[int, ...]:
        """The rows of a register."""
        slot = self.slot(operand)
        if slot not in self.places.rows_of:
            raise NotDecoded(f"the operand {operand}")
        return self.places.rows_of[slot]

    def predicate(self, operand) -> int:
        """A predicate that is read."""
        if isinstance(operand, Immediate):
            return ALWAYS if operand.value else ALWAYS | NEGATED
        negated = isinstance(operand, Not)
        slot = self.slot(operand.register if negated else operand)
        if slot not in self.places.predicate_of:
            raise NotDecoded("an operand that is no predicate")
        return self.places.predicate_of[slot] | (NEGATED if negated else 0)

    def kept(self, operand) -> int:
        """A predicate that is written."""
        if isinstance(operand, Register) and operand.name == "_":
            return NEVER_KEPT
        slot = self.slot(operand)
        if slot not in self.places.predicate_of:
            raise NotDecoded("a destination that is no predicate")
        return self.places.predicate_of[slot]

    def listed(self, rows: Sequence[int]) -> int:
        """The first of several rows, or where they are listed if they do not follow one another."""
        step = 1 if rows[0] >= 0 else -1
        if all(row == rows[0] + step * k for k, row in enumerate(rows)):
            return rows[0]
        self.lists += rows
        return form.LISTS + len(self.lists) - len(rows)

    # ---- sources

    def value(self, operand, type_: str) -> tuple[int, ...]:
        """The rows of an operand read as `type_`: one, or two for 64 bits."""
        wide = TYPE_BYTES[type_] == 8
        if isinstance(operand, Register):
            rows = self.rows(operand)
            if TYPE_BYTES[type_] > self.bytes_of(operand):
                raise NotDecoded("a register that is narrower than what is read")
            return rows if wide else rows[:1]
        if isinstance(operand, Immediate):
            bits = int(self.operands.constant_bits(operand, dtype_of(type_)))
            return self.number(bits, wide)
        if not isinstance(operand, Symbol) or operand.name in self.operands.text.places:
            raise NotDecoded(f"the operand {operand}")
        if operand.name not in self.operands.global_variables:
            return self.number(self.operands.symbol_address(operand.name), wide)
        at = self.addresses.get(self.operands.slots.get(f"&{operand.name}"))
        if at is None or not wide:
            raise NotDecoded(f"the address of {operand.name}")
        return self._constant(Word(ADDRESSES, at), Word(ADDRESSES, at + 4))

    def number(self, bits: int, wide: bool = False) -> tuple[int, ...]:
        """The rows of a constant."""
        low = Word(-1, bits & 0xFFFFFFFF)
        return self._constant(low, Word(-1, bits >> 32 & 0xFFFFFFFF)) if wide else self._constant(low)

    def behind_addresses(self, offset: int) -> tuple[int, ...]:
        """The rows of what lies behind the addresses of the module's variables."""
        at = 8 * len(self.addresses) + offset
        return self._constant(Word(ADDRESSES, at), Word(ADDRESSES, at + 4))

    def _constant(self, *words: Word) -> tuple[int, ...]:
        first = self.words.row(*words)
        return tuple(first - k for k in range(len(words)))

    def read(self, into: Decoded, place: int, operand, type_: str) -> None:
        """An operand as source `place`."""
        rows = self.value(operand, type_)
        into.source[place], into.width[place] = rows[0], len(rows)

    def read_all(self, into: Decoded, operands: Sequence, type_: str) -> None:
        """Operands of one type, one after the other."""
        for place, operand in enumerate(operands):
            self.read(into, place, operand, type_)

    def zero(self, into: Decoded, place: int, wide: bool = False) -> None:
        """A source that is 0."""
        into.source[place], into.width[place] = -1, 1 + wide

    # ---- destinations

    def writes(self, into: Decoded, operand, bytes_: int) -> None:
        """The register that receives a result of so many bytes, as wide as itself. (One of 2 bytes has a row.)"""
        if isinstance(operand, Register) and operand.name == "_":
            into.d, into.d_width = self.nowhere, max(1, bytes_ // 4)
            return
        rows = self.rows(operand)
        if len(rows) != max(1, bytes_ // 4):
            raise NotDecoded("a register that is wider than its result")
        into.d, into.d_width = rows[0], len(rows)

    def writes_any(self, into: Decoded, operand) -> None:
        """The register that receives a result that the operation extends to 64 bits."""
        rows = (self.nowhere,) if operand == Register("_") else self.rows(operand)
        into.d, into.d_width = rows[0], len(rows)

    def loads(self, into: Decoded, items: Sequence, type_: str) -> None:
        """Registers that receive what is loaded; a single one may be wider."""
        size, into.flags = TYPE_BYTES[type_], into.flags | form.SIGNED_VALUE * (type_[0] == "s")
        if len(items) == 1 and size < 8 and items[0] != Register("_") and self.bytes_of(items[0]) == 8:
            into.flags |= form.EXTENDS
            size = 8
        self.writes_vector(into, items, size)

    def writes_vector(self, into: Decoded, items: Sequence, bytes_: int) -> None:
        """Several registers, each of which receives so many bytes."""
        rows: list[int] = []
        for item in items:
            if isinstance(item, Register) and item.name == "_":
                rows += [self.nowhere] * max(1, bytes_ // 4)
                continue
            own = self.rows(item)
            if len(own) != max(1, bytes_ // 4):
                raise NotDecoded("a register that is wider than its result")
            rows += own
        into.d, into.d_width = self.listed(rows), len(rows)


def address_places(program: Program) -> dict[int, int]:
    """By the slot of the address of a module's variable, where it lies in bank ADDRESSES."""
    slots = sorted(slot for _, slot in program.global_variables.values() if slot is not None)
    return {slot: 8 * number for number, slot in enumerate(slots)}


def banks_of(places: Mapping[int, int], launch) -> dict[int, bytes]:
    """The constant banks of a launch.

    Behind the addresses of variables are that of the parameters, if they have one, and that of a cooperative grid's
    barrier.
    """
    addresses = bytearray(8 * len(places))
    for slot, address in launch.variables:
        if slot in places:
            addresses[places[slot] : places[slot] + 8] = int(address).to_bytes(8, "little")
    for address in (launch.parameters_at, launch.grid_barrier):
        addresses += (address or 0).to_bytes(8, "little")
    return {PARAMETERS: bytes(launch.parameters), ADDRESSES: bytes(addresses)}


def _format(type_: str) -> int:
    """Bits of an integer type, less than 0 if it is signed."""
    if type_[0] not in "usb" or not type_[1:].isdecimal():
        raise NotDecoded(f"whole numbers of the type .{type_}")
    return -int(type_[1:]) if type_[0] == "s" else int(type_[1:])


def _bits(type_: str) -> int:
    return 8 * TYPE_BYTES[type_]


def _is_integer(type_: str) -> bool:
    return type_[0] in "usb" and type_[1:].isdecimal()


# ---- integers


def _whole(t: Decoder, name: str, destination, sources: Sequence[tuple], type_: str, result: str, choice: int = 0):
    """A function of typed.c: sources are (operand, type)."""
    i = Decoded("whole number", number=[form.WHOLE_NUMBERS[name], _format(type_), _format(result), choice])
    for place, (operand, own) in enumerate(sources):
        t.read(i, place, operand, own)
    t.writes_any(i, destination)
    return i


def _of_one_type(name: str, result: str | None = None) -> Callable:
    """A function of operands that have the instruction's type."""

    def decode(t: Decoder, s: Statement) -> Decoded:
        if s.modifiers:
            raise NotDecoded(f"the modifier .{s.modifiers[0]}")
        destination, *sources = s.operands
        return _whole(t, name, destination, [(one, s.type) for one in sources], s.type, result or s.type)

    return decode


def _is_plain(t: Decoder, s: Statement, bits: int) -> bool:
    """Whether it works on so many bits, and its destination has as many."""
    return _bits(s.type) == bits and 8 * t.bytes_of(s.operands[0]) == bits


def add(t: Decoder, s: Statement) -> Decoded:
    destination, a, b = s.operands
    if s.name in ("addc", "subc") or "cc" in s.modifiers:
        return _with_carry(t, s, s.name[:3])
    if s.modifiers == ("sat",):
        return _whole(t, s.name, destination, [(a, s.type), (b, s.type)], s.type, s.type, 1)
    if s.modifiers:
        raise NotDecoded(f"the modifier .{s.modifiers[0]}")
    if s.type in ("u16x2", "s16x2"):
        i = Decoded("add halves")
        t.read_all(i, (a, b), "b32")
        t.writes(i, destination, 4)
        return i
    wide = _bits(s.type) == 64
    if not wide and not _is_plain(t, s, 32):
        return _of_one_type(s.name)(t, s)
    i = Decoded("add wide" if wide else "add")
    t.read_all(i, (a, b), s.type)
    t.zero(i, 2, wide)
    i.mode[1] = form.NEGATE * (s.name == "sub")
    i.p_in = [ALWAYS | NEGATED] * 2 + [ALWAYS]
    t.writes(i, destination, 8 if wide else 4)
    return i


def _with_carry(t: Decoder, s: Statement, name: str) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("with carry", number=[form.CARRIES[name], _format(s.type), 0, 0])
    for place, operand in enumerate(sources):
        t.read(i, place, operand, s.type)
    carry = t.operands.slots.get(CARRY)
    takes = s.name in ("addc", "subc", "madc")
    none = ALWAYS if name == "sub" else ALWAYS | NEGATED
    i.p_in[0] = t.places.predicate_of[carry] if takes else none
    if "cc" in s.modifiers:
        i.p_out[0] = t.places.predicate_of[carry]
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def multiply(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    part = s.opcode[1]
    if s.name == "madc" or "cc" in s.modifiers:
        return _with_carry(t, s, f"mad.{part}")
    saturates = "sat" in s.modifiers
    if part not in ("lo", "hi", "wide") or len(s.modifiers) > 1 + saturates:
        raise NotDecoded("its form")
    result = f"{s.type[0]}{2 * _bits(s.type)}" if part == "wide" else s.type
    adds = len(sources) == 3
    types = [s.type, s.type, result]
    if _bits(s.type) == 32 and part == "wide":
        i = Decoded("multiply-add wide", flags=UNSIGNED * (s.type[0] != "s"))
    elif part == "lo" and _is_plain(t, s, 32):
        i = Decoded("multiply-add")
    else:
        pairs = list(zip(sources, types, strict=False))
        return _whole(t, f"mul.{part}", destination, pairs, s.type, result, int(saturates))
    t.read_all(i, sources[:2], s.type)
    if adds:
        t.read(i, 2, sources[2], result)
    else:
        t.zero(i, 2, part == "wide")
    t.writes(i, destination, TYPE_BYTES[result])
    return i


def multiply24(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    high = 16 * ("hi" in s.modifiers)
    return _whole(t, "mul24", destination, [(one, s.type) for one in sources], s.type, s.type, high)


def extreme(t: Decoder, s: Statement) -> Decoded:
    if s.modifiers:
        raise NotDecoded(f"the modifier .{s.modifiers[0]}")
    pairs = s.type in ("u16x2", "s16x2")
    destination, a, b = s.operands
    if not pairs and not _is_plain(t, s, 32) and not _is_plain(t, s, 64):
        return _of_one_type(s.name)(t, s)
    wide = not pairs and _bits(s.type) == 64
    i = Decoded("minimum maximum wide" if wide else "minimum maximum", flags=UNSIGNED * (s.type[0] != "s"))
    i.flags |= PAIRS_OF_INTEGERS * pairs
    t.read_all(i, (a, b), "b32" if pairs else s.type)
    i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    t.writes(i, destination, 8 if wide else 4)
    return i


def negate(t: Decoder, s: Statement) -> Decoded:
    return _of_one_type(s.name)(t, s)


def dot(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    four = s.name == "dp4a"
    types = s.opcode[1:] if four else s.opcode[2:]
    i = Decoded("dot4" if four else "dot2", number=[types[0] == "s32", types[1] == "s32", s.opcode[1] == "hi", 0])
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i


def logic(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    if s.type == "pred":
        return _logic_of_predicates(t, s)
    if not _is_plain(t, s, 32):
        return _of_one_type(s.name)(t, s)
    return _logic3(t, destination, [*sources, *[Immediate(0, 0)] * (3 - len(sources))], LOGIC[s.name])


def _logic3(t: Decoder, destination, sources: Sequence, table: int) -> Decoded:
    i = Decoded("logic3", number=[table & 0xFF, 0, 0, 0])
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i


def _logic_of_predicates(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("predicate logic3", number=[LOGIC.get(s.name, 0xF0), 0, 0, 0])
    i.p_out[0] = t.kept(destination)
    for place, operand in enumerate(sources):
        i.p_in[place] = t.predicate(operand)
    return i


def any_logic(t: Decoder, s: Statement) -> Decoded:
    destination, *sources, table = s.operands
    return _logic3(t, destination, sources, t.operands.constant(table))


def shift(t: Decoder, s: Statement) -> Decoded:
    destination, a, amount = s.operands
    left = s.name == "shl"
    if isinstance(amount, Immediate) and 0 < amount.bits < 32 and _is_plain(t, s, 32):
        signed = s.type[0] == "s"
        i = Decoded("shift left" if left else "shift right signed" if signed else "shift right")
        i.number[0] = amount.bits
        t.read(i, 0, a, s.type)
        t.writes(i, destination, 4)
        return i
    return _whole(t, s.name, destination, [(a, s.type), (amount, "u32")], s.type, s.type)


def funnel_shift(t: Decoder, s: Statement) -> Decoded:
    destination, low, high, amount = s.operands
    left = s.opcode[1] == "l"
    i = Decoded("funnel shift", flags=(LEFT | UPPER) * left | WRAPS * (s.opcode[2] == "wrap"), number=[32, 0, 0, 0])
    t.read_all(i, (low, amount, high), "u32")
    t.writes(i, destination, 4)
    return i


def extract(t: Decoder, s: Statement) -> Decoded:
    destination, a, position, length = s.operands
    return _whole(t, "bfe", destination, [(a, s.type), (position, "u32"), (length, "u32")], s.type, s.type)


def insert(t: Decoder, s: Statement) -> Decoded:
    destination, field, base, position, length = s.operands
    sources = [(field, s.type), (base, s.type), (position, "u32"), (length, "u32")]
    return _whole(t, "bfi", destination, sources, s.type, s.type)


def find(t: Decoder, s: Statement) -> Decoded:
    destination, a = s.operands
    return _whole(t, "bfind", destination, [(a, s.type)], s.type, "u32", int("shiftamt" in s.modifiers))


def bit_mask(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("bit mask" if s.name == "bmsk" else "sign extend", flags=WRAPS * ("wrap" in s.modifiers))
    i.flags |= UNSIGNED * (s.name == "szext" and s.type[0] == "u")
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i


def permute(t: Decoder, s: Statement) -> Decoded:
    destination, a, b, selector = s.operands
    i = Decoded("permute bytes")
    if s.type in integer.PERMUTATIONS:
        i.flags, i.number = 1, integer.selectors(s.type)
    t.read_all(i, (a, selector, b), "u32")
    t.writes(i, destination, 4)
    return i


def nth_set_bit(t: Decoder, s: Statement) -> Decoded:
    destination, mask, base, offset = s.operands
    return _whole(t, "fns", destination, [(mask, "u32"), (base, "u32"), (offset, "s32")], "b32", "u32")


# ---- comparisons and choices


def _comparison(t: Decoder, i: Decoded, s: Statement, types: int) -> None:
    """The comparison and how it is combined with a third predicate, which follows the operands."""
    modifiers = s.opcode[2:-types]
    combination = next((m for m in modifiers if m in ("and", "or", "xor")), None)
    name = comparison.UNSIGNED.get(s.opcode[1], s.opcode[1]).upper()
    if name not in form.COMPARE or any(m not in ("and", "or", "xor", "ftz") for m in modifiers):
        raise NotDecoded("its form")
    i.number[0], i.number[1] = form.COMPARE[name], form.COMBINE[combination.upper()] if combination else 0
    third = s.operands[3:]
    i.p_in[0] = t.predicate(third[0]) if third else ALWAYS


QUICK_COMPARISONS = {"f32": "float compare", "f64": "double compare"}


def _compared_format(s: Statement) -> int:
    """The format of what is compared; names of their own are those of comparisons of unsigned numbers."""
    if s.type in FLOATS:
        return FLOATS[s.type]
    return _bits(s.type) if s.opcode[1] in comparison.UNSIGNED else _format(s.type)


def set_predicate(t: Decoder, s: Statement) -> Decoded:
    destinations, a, b, *_ = s.operands
    items = items_of(destinations)
    type_ = s.type
    flags = FLUSHES * ("ftz" in s.modifiers)
    unsigned = type_[0] != "s" or s.opcode[1] in comparison.UNSIGNED
    if type_ in comparison.PAIRS:
        i = Decoded("half compare", flags=BRAIN * type_.startswith("bf16"))
    elif type_ in QUICK_COMPARISONS:
        i = Decoded(QUICK_COMPARISONS[type_], flags=flags)
    elif _is_integer(type_) and _bits(type_) > 16:
        i = Decoded("compare" if _bits(type_) == 32 else "compare wide", flags=UNSIGNED * unsigned)
    else:
        i = Decoded("compare typed", flags=flags)
        i.number[2] = _compared_format(s)
    t.read_all(i, (a, b), type_)
    _comparison(t, i, s, 1)
    i.p_out[: len(items)] = [t.kept(item) for item in items]
    return i


TRUE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def set_register(t: Decoder, s: Statement) -> Decoded:
    destination, a, b, *_ = s.operands
    to = s.opcode[-2]
    if s.type in comparison.PAIRS:
        if to not in ("u32", "s32", *comparison.PAIRS):
            raise NotDecoded(f"a comparison of {s.type} to {to}")
        i = Decoded("half compare to register", flags=BRAIN * s.type.startswith("bf16"))
        i.number[2] = comparison.ONES.get(to, 0xFFFF) & 0xFFFF
    else:
        i = Decoded("compare typed to register", flags=FLUSHES * ("ftz" in s.modifiers))
        i.number[2:] = [_compared_format(s), TRUE.get(to, -1)]
    t.read_all(i, (a, b), s.type)
    _comparison(t, i, s, 2)
    t.writes(i, destination, TYPE_BYTES[to])
    return i


def test_number(t: Decoder, s: Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("test number", number=[form.CLASSES[s.opcode[1]], 0, FLOATS[s.type], 0])
    t.read(i, 0, a, s.type)
    i.p_out[0] = t.kept(destination)
    return i


def select(t: Decoder, s: Statement) -> Decoded:
    destination, a, b, choice = s.operands
    wide = _bits(s.type) == 64
    i = Decoded("select wide" if wide else "select")
    t.read_all(i, (a, b), s.type)
    i.p_in[0] = t.predicate(choice)
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def select_by_sign(t: Decoder, s: Statement) -> Decoded:
    destination, a, b, c = s.operands
    type_ = s.opcode[-2]
    choice = 0 if s.type == "s32" else 1 + ("ftz" in s.modifiers)
    own = f"b{_bits(type_)}"
    return _whole(t, "slct", destination, [(a, own), (b, own), (c, s.type)], own, own, choice)


# ---- moves and conversions


def move(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    if isinstance(source, Special):
        return _move_special(t, destination, source.name.removeprefix("%"))
    if isinstance(destination, Vector):
        return _unpack(t, s.type, destination, source)
    if isinstance(source, Vector):
        return _pack(t, s.type, destination, source)
    if s.type == "pred":
        return _logic_of_predicates(t, s)
    if isinstance(source, Symbol) and source.name in t.operands.parameters:
        offset = t.operands.parameters[source.name].offset
        return _sum(t, destination, t.behind_addresses(0), t.number(offset, wide=True))
    if isinstance(source, Symbol) and source.name in t.operands.text.places:
        return _added(t, destination, Register(STACK), t.operands.text.places[source.name])
    return _moved(t, destination, t.value(source, s.type))


def _moved(t: Decoder, destination, rows: tuple[int, ...]) -> Decoded:
    i = Decoded("move two" if len(rows) == 2 else "move")
    for place, row in enumerate(rows):
        i.source[place], i.width[place] = row, 1
    t.writes(i, destination, 4 * len(rows))
    return i


# The place of a block in its cluster, and of the cluster: what is divided by the cluster's size, and whether the
# quotient is wanted, not the rest.
IN_CLUSTERS = {"cluster_ctaid": ("CTAID", 0), "clusterid": ("CTAID", 1), "nclusterid": ("NCTAID", 1)}


def _move_special(t: Decoder, destination, name: str) -> Decoded:
    prefix, _, axis = name.partition(".")
    cluster = t.program.cluster or (1, 1, 1)
    match prefix:
        case "is_explicit_cluster":
            i = Decoded("predicate logic3", number=[0xF0, 0, 0, 0])
            i.p_out[0], i.p_in[0] = t.kept(destination), ALWAYS if t.program.cluster else ALWAYS | NEGATED
            return i
        case "WARP_SZ":
            return _moved(t, destination, t.number(WARP))
        case "nwarpid":
            return _moved(t, destination, t.number(limits_for(t.arch).threads_per_sm // WARP))
        case "nsmid":
            return _moved(t, destination, t.number(sms_for(t.arch)))
        case "cluster_nctarank":
            return _moved(t, destination, t.number(product(cluster)))
        case "cluster_nctaid":
            return _moved(t, destination, t.number(cluster["xyz".index(axis)]))
        case "envreg1" | "envreg2":  # the upper and the lower half of an address
            return _moved(t, destination, t.behind_addresses(8)[prefix == "envreg1" :][:1])
    number = [0, 0, 0, 0]
    if prefix in IN_CLUSTERS:
        prefix, is_quotient = IN_CLUSTERS[prefix]
        number[1:3] = cluster["xyz".index(axis)], is_quotient
    elif prefix == "smid":
        number[1] = sms_for(t.arch)
    known = "CgaCtaId" if prefix == "cluster_ctarank" else prefix.upper() + f".{axis.upper()}" * bool(axis)
    if prefix.startswith("lanemask_"):
        known = f"{prefix.removeprefix('lanemask_').upper()}MASK"
    if known not in form.SPECIAL_REGISTERS:
        raise NotDecoded(f"the special register %{name}")
    number[0] = form.SPECIAL_REGISTERS[known]
    i = Decoded("special register", number=number)
    t.writes(i, destination, 4)
    return i


def _unpack(t: Decoder, type_: str, destination: Vector, source) -> Decoded:
    count = len(destination.items)
    bits = _bits(type_) // count
    i = Decoded("unpack parts", number=[bits, count, 0, 0])
    t.read(i, 0, source, f"b{_bits(type_)}")
    if bits == 32:
        rows = t.value(source, f"b{_bits(type_)}")
        i = Decoded("move two", source=[*rows, 0, 0], width=[1, 1, 0, 0])
    if bits > 32 or count < 2:
        raise NotDecoded("its form")
    t.writes_vector(i, destination.items, bits // 8)
    return i


def _pack(t: Decoder, type_: str, destination, source: Vector) -> Decoded:
    bits = _bits(type_) // len(source.items)
    if bits == 32:
        return _moved(t, destination, tuple(t.value(item, "b32")[0] for item in source.items))
    if bits not in (8, 16):
        raise NotDecoded("its form")
    i = Decoded("pack parts", number=[bits, 0, 0, 0])
    for place, item in enumerate(source.items):
        t.read(i, place, item, f"b{bits}")
    t.writes(i, destination, TYPE_BYTES[type_])
    return i


def _convert_and_pack(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("pack limited", number=[_format(s.opcode[3]), 0, 0, 0])
    t.read_all(i, sources, "b32")
    t.writes(i, destination, 4)
    return i


def convert(t: Decoder, s: Statement) -> Decoded:
    if s.opcode[1] == "pack":
        return _convert_and_pack(t, s)
    to, origin, modifiers = s.opcode[-2], s.opcode[-1], s.opcode[1:-2]
    destination, *sources = s.operands
    if to in EIGHTS or origin in EIGHTS:
        return _convert_eights(t, s)
    if to in ("f16x2", "bf16x2"):
        if origin != "f32" or len(sources) != 2 or any(m not in ("rn", "rz", "relu") for m in modifiers):
            raise NotDecoded("its form")
        i = Decoded("pack halves", flags=BRAIN * to.startswith("bf16") | RELU * ("relu" in modifiers))
        i.number[2] = ROUNDING.get(modifiers[0], 0)
        t.read_all(i, sources, "f32")
        t.writes(i, destination, 4)
        return i
    if len(sources) != 1:
        raise NotDecoded("its form")
    (a,) = sources
    if _is_integer(to) and _is_integer(origin):
        return _convert_integer(t, destination, a, to, origin, modifiers)
    flags = FLUSHES * ("ftz" in modifiers) | SATURATES * ("sat" in modifiers) | RELU * ("relu" in modifiers)
    rounding = next((ROUNDING[m] for m in modifiers if m in ROUNDING), 0)
    whole = next((WHOLE[m] for m in modifiers if m in WHOLE), None)
    formats = [FLOATS.get(type_) or _format(type_) for type_ in (to, origin)]
    if _is_integer(to):
        i = Decoded("float to integer", flags=flags, number=[*formats, 1 if whole is None else whole, 0])
    elif ("sat" in modifiers and to != "f32") or origin == "tf32":
        raise NotDecoded(f"a conversion from {origin} to {to}")
    elif _is_integer(origin):
        i = Decoded("integer to float", flags=flags, number=[*formats, rounding, 0])
    elif whole is not None:
        if to != origin:
            raise NotDecoded("its form")
        i = Decoded("round to whole", flags=flags, number=[formats[0], 0, whole, 0])
    else:
        i = Decoded("float to float", flags=flags, number=[*formats, rounding, 0])
    t.read(i, 0, a, origin)
    if _is_integer(to):
        t.writes_any(i, destination)
    else:
        t.writes(i, destination, TYPE_BYTES[to])
    return i


def _convert_eights(t: Decoder, s: Statement) -> Decoded:
    to, origin = s.opcode[-2:]
    destination, *sources = s.operands
    if origin in EIGHTS:
        if to != "f16x2" or "relu" in s.opcode:
            raise NotDecoded(f"a conversion from {origin} to {to}")
        i = Decoded("unpack eights", number=[int(origin == "e5m2x2"), 0, 0, 0])
        t.read(i, 0, sources[0], "b16")
        t.writes(i, destination, 4)
        return i
    if origin not in ("f32", "f16x2"):
        raise NotDecoded(f"a conversion from {origin} to {to}")
    i = Decoded("pack eights", number=[int(to == "e5m2x2"), FLOATS[origin.removesuffix("x2")], 0, 0])
    i.flags = RELU * ("relu" in s.opcode)
    t.read_all(i, sources, origin)
    t.writes(i, destination, 2)
    return i


def _convert_integer(t: Decoder, destination, a, to: str, origin: str, modifiers: Sequence[str]) -> Decoded:
    if modifiers not in ((), ("sat",)):
        raise NotDecoded(f"the modifier .{modifiers[0]}")
    bits = 8 * t.bytes_of(destination)
    if not modifiers and bits == _bits(to):
        if bits == 32 and _bits(origin) >= 32:
            return _moved(t, destination, t.value(a, origin)[:1])
        if bits == 64 and origin == "u32":
            return _moved(t, destination, (*t.value(a, origin), -1))
        if bits == 64 and origin == "s32":
            i = Decoded("multiply-add wide")
            t.read_all(i, (a, Immediate(1, 1)), "s32")
            t.zero(i, 2, wide=True)
            t.writes(i, destination, 8)
            return i
    return _whole(t, "cvt", destination, [(a, origin)], origin, to, len(modifiers))


def convert_address(t: Decoder, s: Statement) -> Decoded:
    space = next((part.split("::")[0] for part in s.modifiers if part != "to"), "generic")
    destination, source = s.operands
    window = conversion.WINDOWS.get(space, (0, 0))[0]
    if space not in (*conversion.WINDOWS, "const", "param"):
        raise NotDecoded(f"the state space .{space}")
    if not window:
        return _moved(t, destination, t.value(source, "b64"))
    return _added(t, destination, source, -window if "to" in s.modifiers else window)


def _added(t: Decoder, destination, source, number: int) -> Decoded:
    """An address and a constant."""
    return _sum(t, destination, t.value(source, "b64"), t.number(number, wide=True))


def _sum(t: Decoder, destination, a: Sequence[int], b: Sequence[int]) -> Decoded:
    """The sum of 64 bits that lie in these rows."""
    i = Decoded("add wide")
    i.source[:2], i.width[:2] = [a[0], b[0]], [2, 2]
    t.zero(i, 2, wide=True)
    i.p_in = [ALWAYS | NEGATED] * 2 + [ALWAYS]
    t.writes(i, destination, 8)
    return i


def is_in_space(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    first, stop = conversion.WINDOWS[s.opcode[1].partition("::")[0]]
    i = Decoded("whole number", number=[form.WHOLE_NUMBERS["isspacep"], 64, first >> 32, stop >> 32])
    t.read(i, 0, source, "b64")
    i.p_out[0] = t.kept(destination)
    return i


# ---- floating-point numbers


def arithmetic(t: Decoder, s: Statement) -> Decoded:
    """name{.rounding}{.ftz}{.sat}.type d, a {, b, c}"""
    if s.name in ("neg", "abs", "copysign"):
        return _sign(t, s)
    if s.type == "f32":
        return _float32(t, s)
    if s.type == "f64":
        return _float64(t, s)
    if s.type in SIGN:
        return _halves(t, s)
    if s.type == "f32x2":
        return _pair_of_floats(t, s)
    raise NotDecoded(f"{s.name} of {s.type} numbers")


def _sign(t: Decoder, s: Statement) -> Decoded:
    destination, a, *others = s.operands
    if s.type not in SIGN or (s.modifiers and s.type not in ("f32", "f16", "f16x2")):
        raise NotDecoded("its form")
    if s.modifiers and s.type == "f32":
        return _float_function(t, s, s.name)
    if s.modifiers:  # it is a sum with -0
        i = Decoded("half arithmetic", flags=FLUSHES, number=[form.HALF_FUNCTIONS["add"], 0, 0, 0])
        i.mode[0] = form.HALF_NEGATE if s.name == "neg" else form.HALF_ABSOLUTE
        t.read(i, 0, a, s.type)
        i.source[1], i.width[1] = t.number(SIGN["f16x2"])[0], 1
        t.writes(i, destination, TYPE_BYTES[s.type])
        return i
    sign = SIGN[s.type]
    if s.name == "copysign" and s.type == "f64":
        fields = [(others[0], "b64"), (a, "b64"), (Immediate(0, 0), "u32"), (Immediate(63, 63), "u32")]
        return _whole(t, "bfi", destination, fields, "b64", "b64")
    if s.name == "copysign":
        return _logic3(t, destination, (a, *others, Immediate(sign, sign)), 0xE4)
    bits = max(32, _bits(s.type))
    mask = sign if s.name == "neg" else sign ^ ((1 << _bits(s.type)) - 1)
    if bits == 64:
        name, own = "xor" if s.name == "neg" else "and", "b64"
        return _whole(t, name, destination, [(a, own), (Immediate(mask, mask), own)], own, own)
    i = Decoded("logic3", number=[LOGIC["xor" if s.name == "neg" else "and"], 0, 0, 0])
    t.read(i, 0, a, s.type)
    i.source[1:3], i.width[1:3] = [t.number(mask)[0], -1], [1, 1]
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


FUSED = {"fma": "float fused", "mad": "float fused", "mul": "float multiply", "add": "float add", "sub": "float add"}


def _float32(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    flags = FLUSHES * ("ftz" in s.modifiers) | SATURATES * ("sat" in s.modifiers)
    if s.name in ("min", "max"):
        if any(m not in ("ftz", "NaN") for m in s.modifiers) or len(sources) != 2:
            raise NotDecoded("its form")
        i = Decoded("float extreme", flags=flags | KEEPS_NAN * ("NaN" in s.modifiers))
        i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    elif s.name in FUSED:
        i = Decoded(FUSED[s.name], flags=flags, number=[rounding, 0, 0, 0])
        i.mode[1] = form.FLOAT_NEGATE * (s.name == "sub")
        if rounding or "sat" in s.modifiers:
            i.operation += " with modifiers"
    else:
        return _float_function(t, s, s.name)
    t.read_all(i, sources, "f32")
    t.writes(i, destination, 4)
    return i


def _float_function(t: Decoder, s: Statement, name: str) -> Decoded:
    destination, *sources = s.operands
    way = next((m for m in s.modifiers if m in ("approx", "full")), None)
    key = f"{name}.{way}" if way else name
    i = Decoded("float function", flags=FLUSHES * ("ftz" in s.modifiers) | SATURATES * ("sat" in s.modifiers))
    i.number[1] = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    if key == "rcp":
        key, sources = "div", [Immediate(1.0, 0x3F800000), *sources]
    if key not in form.FLOAT_FUNCTIONS:
        raise NotDecoded("its form")
    i.number[0] = form.FLOAT_FUNCTIONS[key]
    t.read_all(i, sources, "f32")
    t.writes(i, destination, 4)
    return i


DOUBLE = {
    "add": "double add",
    "sub": "double add",
    "mul": "double multiply",
    "fma": "double fused",
    "mad": "double fused",
}


def _float64(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    if s.name in DOUBLE:
        i = Decoded(DOUBLE[s.name], number=[rounding, 0, form.FLOAT_NEGATE * (s.name == "sub"), 0])
    else:
        name = ".".join((s.name, *(m for m in s.modifiers if m in ("approx", "ftz"))))
        if name == "rcp":
            name, sources = "div", [Immediate(1.0, 0x3FF0000000000000), *sources]
        if name not in form.DOUBLE_FUNCTIONS:
            raise NotDecoded("its form")
        i = Decoded("double function", number=[form.DOUBLE_FUNCTIONS[name], rounding, 0, 0])
    t.read_all(i, sources, "f64")
    t.writes(i, destination, 8)
    return i


def _halves(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    flags = BRAIN * s.type.startswith("bf16") | FLUSHES * ("ftz" in s.modifiers)
    if s.name in ("min", "max"):
        i = Decoded("half extreme", flags=flags | KEEPS_NAN * ("NaN" in s.modifiers))
        i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    elif s.name in form.HALF_FUNCTIONS:
        i = Decoded("half arithmetic", number=[form.HALF_FUNCTIONS[s.name], 0, 0, 0])
        i.flags = flags | RELU * ("relu" in s.modifiers) | SATURATES * ("sat" in s.modifiers)
        i.mode[1] = form.HALF_NEGATE * (s.name == "sub")
    else:
        raise NotDecoded(f"{s.name} of {s.type} numbers")
    t.read_all(i, sources, s.type)
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def _pair_of_floats(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    functions = {"add": 0, "sub": 1, "mul": 2, "fma": 3, "mad": 3}
    if s.name not in functions:
        raise NotDecoded(f"{s.name} of {s.type} numbers")
    i = Decoded("float pair", flags=FLUSHES * ("ftz" in s.modifiers), number=[rounding, 0, functions[s.name], 0])
    t.read_all(i, sources, "b64")
    t.writes(i, destination, 8)
    return i


def minimum_maximum(t: Decoder, s: Statement) -> Decoded:
    return extreme(t, s) if _is_integer(s.type) or s.type in ("u16x2", "s16x2") else arithmetic(t, s)


def by_kind(of_integers: Callable) -> Callable:
    """A function for integers, or the one of floating-point numbers."""
    return lambda t, s: of_integers(t, s) if s.type not in SIGN and s.type != "f32x2" else arithmetic(t, s)


# ---- parts of registers


def _whole_register(operand):
    """The register of which an operand names a part."""
    return Register(operand.name) if isinstance(operand, Register) else operand


def _video(t: Decoder, s: Statement, operation: str, types: Sequence[str], words: Sequence[str]) -> Decoded:
    """An instruction with results of the first of the types and operands of the others."""
    destination, *sources = s.operands
    i = Decoded(operation)
    signs = (form.VIDEO_SIGNED, form.VIDEO_A_SIGNED, form.VIDEO_B_SIGNED)
    i.flags = sum(flag for flag, type_ in zip(signs, types, strict=True) if type_ == "s32")
    i.flags |= form.VIDEO_LIMITED * ("sat" in words) | form.VIDEO_WRAPS * ("wrap" in words)
    t.read_all(i, [_whole_register(source) for source in sources], "u32")
    t.writes(i, _whole_register(destination), 4)
    return i


def _parts_of_statement(s: Statement, named: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(the function, the types of the result and of the operands, the other words); `named`: the name without v."""
    if named == "set":
        _, *types, name = s.opcode[:4]
        return name.upper(), ("u32", *types), s.opcode[4:]
    return named, s.opcode[1:4], s.opcode[4:]


def video_parts(t: Decoder, s: Statement) -> Decoded:
    count = int(s.name[-1])
    function, types, words = _parts_of_statement(s, s.name[1:-1])
    i = _video(t, s, "video parts", types, words)
    destination, a, b, _ = s.operands
    chosen = [video.numbers(operand, count, first) for operand, first in ((a, 0), (b, count))]
    kept = video.numbers(destination, count, 0)
    packed = sum(which << 12 * k + 3 * n for k, row in enumerate(chosen) for n, which in enumerate(row))
    packed |= sum(1 << 24 + number for number in kept)
    i.number = [form.VIDEO[function], packed, 32 // count, form.VIDEO_RESULTS["add" if "add" in words else "inserted"]]
    return i


def _places(operands: Sequence) -> int:
    """Where the parts of two operands lie, for the C program."""
    places = [video.PARTS[video.selection(operand)] for operand in operands]
    return sum((place | bits << 8) << 16 * k for k, (place, bits) in enumerate(places))


def video_one(t: Decoder, s: Statement) -> Decoded:
    function, types, words = _parts_of_statement(s, s.name[1:])
    if s.name == "vset":
        types = (types[1], *types[1:])
    i = _video(t, s, "video one", types, words)
    destination, a, b, *third = s.operands
    place, bits = video.PARTS[video.selection(destination)]
    second = next((word for word in words if word in video.SECOND), "inserted" if third else "")
    written = place | bits << 8 | (0 if bits == 16 else place) << 16
    i.number = [form.VIDEO[function], _places((a, b)), written, form.VIDEO_RESULTS[second]]
    return i


def video_multiply_add(t: Decoder, s: Statement) -> Decoded:
    types, words = s.opcode[2:4], s.opcode[4:]
    destination, *sources = s.operands
    negated = [isinstance(operand, Minus) for operand in sources]
    plain = tuple(operand.register if isinstance(operand, Minus) else operand for operand in sources)
    signed = "s32" in types or negated[0] != negated[1] or negated[2]
    own = replace(s, operands=(destination, *plain))
    i = _video(t, own, "video multiply-add", ("s32" if signed else "u32", *types), words)
    i.flags |= form.VIDEO_PRODUCT_NEGATED * (negated[0] != negated[1]) | form.VIDEO_C_NEGATED * negated[2]
    i.flags |= form.VIDEO_ONE_MORE * ("po" in words)
    i.number[1:3] = [_places(plain[:2]), 7 if "shr7" in words else 15 if "shr15" in words else 0]
    return i


# ---- memory

NARROW = (1, 2)
FLOATS_ALONE = ("f32", "f64")  # of which atomic operations know no smaller and no larger one
ATOMIC_TYPES = {"u32": 0, "b32": 0, "s32": 1, "u64": 2, "b64": 2, "s64": 3, "f32": 4, "f64": 5, "f16x2": 6, "bf16x2": 7,
                "b16": 8, "f16": 9, "bf16": 10}  # fmt: skip


def _address(t: Decoder, i: Decoded, operand, first: int = 0) -> bool:
    """Source `first` as an address, with its offset; returns whether it has 64 bits."""
    if not isinstance(operand, Address) or operand.coordinates:
        raise NotDecoded("an operand that is no address")
    i.offset = operand.offset
    base = operand.base
    if isinstance(base, Immediate):
        i.offset += base.value
        return True
    if isinstance(base, Symbol) and base.name in t.operands.text.places:
        i.source[first], i.width[first] = t.rows(Register(STACK))[0], 2
        i.offset += t.operands.text.places[base.name]
        return True
    if isinstance(base, Symbol) and base.name not in t.operands.global_variables:
        i.offset += t.operands.symbol_address(base.name)
        return True
    rows = t.value(base, "b64") if isinstance(base, Symbol) else t.rows(base)
    i.source[first], i.width[first] = rows[0], len(rows)
    return len(rows) == 2


def _memory(t: Decoder, s: Statement, operation: str, op: str, place) -> Decoded:
    name = memory.space_of(s)
    if name == memory.CLUSTER:
        i = _in_cluster(t, operation, op, place)
        i.is_strong = memory.is_strong(s)
        _order(s, i)
        return i
    if name not in form.SPACES:
        raise NotDecoded(f"the state space {name}")
    space = form.SPACES[name]
    i = Decoded(operation, flags=space, space=space, op=op)
    i.is_strong = memory.is_strong(s)
    i.strong = form.SEES_GRID if i.is_strong else form.SEES_BLOCK if space in (form.SHARED, form.GENERIC) else 0
    i.flags |= form.WIDE_ADDRESS * _address(t, i, place)
    if not i.flags & form.WIDE_ADDRESS:
        if space in (form.GLOBAL, form.GENERIC):
            raise NotDecoded("a global address of 32 bits")
        i.number[:2] = [1, 1]
    _order(s, i)
    return i


def _in_shared(t: Decoder, i: Decoded, place, first: int = 0) -> None:
    """Source `first` as an address in shared memory, of which 32 bits count."""
    _address(t, i, place, first)
    i.width[first] = min(i.width[first], 1)
    i.number[:2] = [1, 1]


def _in_cluster(t: Decoder, operation: str, op: str, place) -> Decoded:
    """An access to the shared memory of any block of the cluster."""
    i = Decoded(operation, flags=form.LOCAL | form.ANYWHERE, space=form.GENERIC, op=op, strong=form.SEES_GRID)
    _in_shared(t, i, place)
    return i


def _order(s: Statement, i: Decoded) -> None:
    """The fences that a memory order stands for."""
    order = [part for part in s.modifiers if part in ("acquire", "release", "acq_rel")]
    if not order:
        return
    i.operation = f"ordered {i.operation}"
    i.mode[0] = form.FENCE_BEFORE * (order[0] != "acquire") | form.FENCE_AFTER * (order[0] != "release")
    i.mode[0] |= form.FENCE_OF_BLOCK * (memory.scope_of(s) == "block")


def load(t: Decoder, s: Statement) -> Decoded:
    destination, place, *_ = s.operands
    items, size = items_of(destination), TYPE_BYTES[s.type]
    if memory.space_of(s) == "param":
        return _load_parameter(t, s, items, place)
    i = _memory(t, s, "load", "ld", place)
    _amount(i, len(items), size)
    t.loads(i, items, s.type)
    return i


def _amount(i: Decoded, count: int, size: int) -> None:
    """How many words, or bytes where an element has fewer than a word."""
    if size > 8:
        raise NotDecoded(f"elements of {size} bytes")
    i.number[2], i.number[3] = (count, size) if size in NARROW else (count * size // 4, 0)


def _load_parameter(t: Decoder, s: Statement, items: Sequence, place) -> Decoded:
    base = place.base
    if isinstance(base, Symbol) and base.name in t.operands.text.places:
        i = _passed(t, "load", place, len(items), TYPE_BYTES[s.type])
        t.loads(i, items, s.type)
        return i
    if not isinstance(base, Symbol) or base.name not in t.operands.parameters:
        raise NotDecoded("what is no parameter of the kernel")
    size = TYPE_BYTES[s.type]
    i = Decoded("load constant", offset=t.operands.parameters[base.name].offset + place.offset)
    i.number[0] = PARAMETERS
    _amount(i, len(items), size)
    t.loads(i, items, s.type)
    if size in NARROW or i.d_width > 2 or i.offset % 4 or i.flags & form.EXTENDS:
        return i
    words = [Word(PARAMETERS, i.offset + 4 * k) for k in range(i.d_width)]
    one = Decoded("move two" if i.d_width == 2 else "move", d=i.d, d_width=i.d_width)
    for k, word in enumerate(words):
        one.source[k], one.width[k] = t.words.row(word), 1
    return one


def _passed(t: Decoder, operation: str, place, count: int, size: int) -> Decoded:
    """What a function is given or gives back, on the stack."""
    i = Decoded(operation, flags=form.LOCAL | form.WIDE_ADDRESS | form.UNWATCHED)
    _address(t, i, place)
    _amount(i, count, size)
    return i


def store(t: Decoder, s: Statement) -> Decoded:
    place, source, *_ = s.operands
    items, size = items_of(source), TYPE_BYTES[s.type]
    if memory.space_of(s) == "param":
        if not isinstance(place.base, Symbol) or place.base.name not in t.operands.text.places:
            raise NotDecoded("what a function of the system is given")
        i = _passed(t, "store", place, len(items), size)
    else:
        i = _memory(t, s, "store", "st", place)
        _amount(i, len(items), size)
    i.strong = 0
    rows = [row for item in items for row in t.value(item, s.type)]
    i.source[2], i.width[2] = t.listed(rows), 1
    return i


def atomic(t: Decoder, s: Statement) -> Decoded:
    returns = s.name == "atom"
    name = next((part.upper() for part in s.modifiers if part.upper() in form.ATOMICS), None)
    destination, (place, *sources) = (s.operands[0], s.operands[1:]) if returns else (None, s.operands)
    sources = sources[: 2 if name == "CAS" else 1]  # behind them is a cache policy
    if name is None or s.type not in ATOMIC_TYPES:
        raise NotDecoded("its form")
    i = _memory(t, s, "atomic", "atom" if returns else "red", place)
    i.strong = form.SEES_BLOCK if i.space == form.SHARED else form.SEES_GRID
    i.number[2], i.number[3] = form.ATOMICS[name], ATOMIC_TYPES[s.type]
    if s.type in FLOATS_ALONE and name not in ("ADD", "EXCH", "CAS"):
        raise NotDecoded("an atomic operation on floats other than a sum")
    if isinstance(sources[0], Vector):
        i.flags |= form.ELEMENTS * len(sources[0].items)
        i.source[2] = t.listed([t.value(item, s.type)[0] for item in sources[0].items])
        i.width[2] = 1
    else:
        for k, source in enumerate(sources):
            t.read(i, 2 + k, source, s.type)
    if returns:
        i.flags |= form.ANSWERS
        t.writes_vector(i, items_of(destination), TYPE_BYTES[s.type])
    i.flags |= form.FLUSHES * (s.type == "f32" and name == "ADD" and i.space != form.SHARED)
    return i


def copy(t: Decoder, s: Statement) -> Decoded:
    if "bulk" in s.opcode:
        return _copy_bulk(t, s)
    if s.opcode[1:3] == ("async", "mbarrier"):
        i = _at_barrier(t, s, "arrive", s.operands[0])
        i.flags |= form.BEHIND_COPIES
        i.number[2] = form.ARRIVALS["A1T0" if "noinc" in s.opcode else "ART0"]
        t.zero(i, 2)  # of the other form: one more is expected, and comes when the copies have come
        return i
    if s.opcode[1] != "async" or s.opcode[2] not in ("ca", "cg", *memory.GROUPS):
        raise NotDecoded("a copy of another form")
    if s.opcode[2] == "commit_group":
        return Decoded("close copies")
    if s.opcode[2] in memory.GROUPS:
        pending = t.operands.constant(s.operands[0]) if s.operands else 0
        return Decoded("await copies", number=[pending, int(s.opcode[2] == "wait_all"), form.OF_THREADS, 0])
    to, origin, size, *rest = s.operands
    i = Decoded("copy async", space=form.GLOBAL, op="copy", number=[1, 1, 0, t.operands.constant(size) // 4])
    for operand in rest:
        if isinstance(operand, Immediate) and operand.value == t.operands.constant(size):
            continue
        if not t.operands.is_predicate(operand):
            if isinstance(operand, Immediate) or t.bytes_of(operand) == 4:  # a cache policy has 8 bytes
                (i.number[1],) = t.value(operand, "u32")
                i.flags |= form.SIZED
            continue
        i.p_in[0] = t.predicate(operand) ^ NEGATED
    if _address(t, i, to):
        i.width[0] = min(i.width[0], 1)
    i.number[2] = i.offset
    if not _address(t, i, origin, 2):
        raise NotDecoded("a global address of 32 bits")
    return i


def cache_policy(t: Decoder, s: Statement) -> Decoded:
    return _moved(t, s.operands[0], t.number(0, wide=True))


def _copy_bulk(t: Decoder, s: Statement) -> Decoded:
    if s.opcode[3] == "commit_group":
        return Decoded("close bulk")
    if s.opcode[3] == "wait_group":
        pending = t.operands.constant(s.operands[0]) if s.operands else 0
        return Decoded("await copies", number=[pending, 0, form.IN_BULK, 0])
    if s.opcode[3] == "prefetch":
        return nothing(t, s)
    i = Decoded("copy bulk", space=form.GLOBAL, flags=form.OF_PTX)
    combines = s.opcode[1] == "reduce"
    ends = s.opcode[4:6] if combines else s.opcode[3:5]
    to, origin, size, *more = s.operands
    if ends == ("global", "shared::cta"):
        i.number[0], rows = (form.BULK_COMBINES if combines else form.BULK_PUTS), _place_of_copy(t, to, 2)
        if combines:
            name = next((part.upper() for part in s.modifiers if part.upper() in form.ATOMICS), None)
            if name is None or s.type not in ATOMIC_TYPES or ATOMIC_TYPES[s.type] >= 4 and name != "ADD":
                raise NotDecoded("its form")
            i.number[2], i.number[3] = form.ATOMICS[name], ATOMIC_TYPES[s.type]
    elif ends[0] in ("shared::cluster", "shared::cta") and not combines and more:
        fetches = ends[1] == "global"
        i.number[0] = form.BULK_FETCHES if fetches else form.BULK_SENDS
        barrier, *ranks = more
        rows = _place_of_copy(t, to, 1) + _place_of_copy(t, barrier, 1)
        if "multicast::cluster" in s.opcode:
            i.flags |= form.MULTICAST
            t.read(i, 3, ranks[0], "u16")
    else:
        raise NotDecoded("its form")
    i.op = ("bulk_ld", "bulk_send", "bulk_st", "bulk_red")[i.number[0]]
    for place, found in enumerate((rows, _place_of_copy(t, origin, 2 if i.number[0] == form.BULK_FETCHES else 1))):
        i.source[place], i.width[place] = t.listed(found), 1
    t.read(i, 2, size, "u32")
    return i


def _place_of_copy(t: Decoder, operand, words: int) -> tuple[int, ...]:
    """The rows of an address that stands in a register as it is, as inline PTX has it."""
    if not isinstance(operand, Address) or operand.offset or not isinstance(operand.base, Register):
        raise NotDecoded("the place of a copy that is no register")
    rows = t.rows(operand.base)
    if len(rows) < words:
        raise NotDecoded("a global address of 32 bits")
    return rows[:words]


def _at_barrier(t: Decoder, s: Statement, operation: str, place) -> Decoded:
    """What is done at an mbarrier of the own block, or of any of the cluster."""
    name = memory.space_of(s)
    if name not in ("shared", memory.CLUSTER):
        raise NotDecoded("an mbarrier at a generic address")
    i = Decoded(operation, flags=form.SHARED, space=form.SHARED, op="atom", strong=form.SEES_BLOCK)
    if name == memory.CLUSTER:
        i.flags, i.space, i.strong = form.LOCAL | form.ANYWHERE, form.GENERIC, form.SEES_GRID
    i.flags |= form.AT_MBARRIER
    _in_shared(t, i, place)
    return i


def barrier_object(t: Decoder, s: Statement) -> Decoded:
    what = s.opcode[1]
    if what == "inval":
        return nothing(t, s)
    if what == "init":
        place, count = s.operands
        i = _at_barrier(t, s, "begin barrier", place)
        if i.space != form.SHARED:
            raise NotDecoded("an mbarrier of another block")
        i.op, i.flags, i.strong = "st", form.SHARED, 0
        i.number[2] = 2
        i.source[2], i.width[2] = t.nowhere, 1
        t.read(i, 3, count, "u32")
        return i
    if what in ("expect_tx", "complete_tx"):
        place, size = s.operands
        i = _at_barrier(t, s, "arrive", place)
        i.number[2] = form.ARRIVALS["A0TR" if what == "expect_tx" else "A0TX"]
        t.read(i, 2, size, "u32")
        return i
    if what in ("arrive", "arrive_drop"):
        destination, place, *amount = s.operands
        i = _at_barrier(t, s, "arrive", place)
        i.number[2] = 0 if "expect_tx" in s.opcode else form.ARRIVALS["ART0" if amount else "A1T0"]
        if amount:
            t.read(i, 2, amount[0], "u32")
        i.flags |= form.LEAVES_FOR_GOOD * (what == "arrive_drop")
        if i.space == form.SHARED and destination != Register("_"):  # of another block no state is answered
            t.writes(i, destination, 8)
        return i
    if what not in ("test_wait", "try_wait"):
        raise NotDecoded(f"mbarrier.{what}")
    destination, place, phase, *_ = s.operands
    i = _at_barrier(t, s, "phase ended", place)
    if "parity" in s.opcode:
        i.flags |= form.OF_PTX
        t.read(i, 2, phase, "u32")
    else:
        i.source[2], i.width[2] = t.value(phase, "b64")[1], 1
    i.p_out[0] = t.kept(destination)
    i.kind = form.WAITS_FOR_PHASE if what == "try_wait" else form.COMPUTES
    return i


def map_address(t: Decoder, s: Statement) -> Decoded:
    destination, source, block = s.operands
    return _whole(t, "mapa", destination, [(source, s.type), (block, "u32")], s.type, s.type)


def rank_of_address(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    i = Decoded("rank of address")
    i.source[0], i.width[0] = t.value(source, s.type)[0], 1
    t.writes(i, destination, 4)
    return i


def fence(t: Decoder, s: Statement) -> Decoded:
    return Decoded("fence", strong=form.SEES_GRID, number=[int(memory.scope_of(s) == "block"), 0, 0, 0])


# ---- lanes and matrices


def _named(t: Decoder, i: Decoded, mask: Sequence) -> Decoded:
    """The lanes that a function of the warp names: a constant is known by the launch, a register is looked at."""
    if mask and not isinstance(mask[0], Immediate):
        t.read(i, 3, mask[0], "u32")
    return i


def shuffle(t: Decoder, s: Statement) -> Decoded:
    destinations, value, lane, control, *mask = s.operands
    destination, inside = (*items_of(destinations), None)[:2]
    mode = next(part for part in s.modifiers if part in ("idx", "up", "down", "bfly"))
    i = Decoded("shuffle", number=[("idx", "up", "down", "bfly").index(mode), 0, 0, 0])
    t.read(i, 0, value, "b32")
    t.read(i, 1, lane, "u32")
    t.read(i, 2, control, "u32")
    t.writes(i, destination, 4)
    if inside is not None:
        i.p_out[0] = t.kept(inside)
    return _named(t, i, mask)


def vote(t: Decoder, s: Statement) -> Decoded:
    destination, condition, *mask = s.operands
    mode = next(part for part in s.modifiers if part in ("all", "any", "uni", "ballot"))
    i = Decoded("vote", number=[{"all": 0, "any": 1, "uni": 2}.get(mode, 0), 0, 0, 0])
    i.p_in[0] = t.predicate(condition)
    if mode == "ballot":
        t.writes(i, destination, 4)
    else:
        i.p_out[0] = t.kept(destination)
    return _named(t, i, mask)


def match(t: Decoder, s: Statement) -> Decoded:
    destinations, value, *mask = s.operands
    destination, equal = (*items_of(destinations), None)[:2]
    i = Decoded("match", flags=4 * (s.opcode[1] == "all"))
    t.read(i, 0, value, s.type)
    t.writes(i, destination, 4)
    if equal is not None:
        i.p_out[0] = t.kept(equal)
    return _named(t, i, mask)


def reduce(t: Decoder, s: Statement) -> Decoded:
    destination, value, *mask = s.operands
    names = ("add", "min", "max", "and", "or", "xor")
    if s.opcode[2] not in names or s.type not in ("u32", "s32", "b32"):
        raise NotDecoded("its form")
    i = Decoded("reduce warp", flags=int(s.type == "s32"), number=[names.index(s.opcode[2]), 0, 0, 0])
    t.read(i, 0, value, s.type)
    t.writes(i, destination, 4)
    return _named(t, i, mask)


def active_mask(t: Decoder, s: Statement) -> Decoded:
    i = Decoded("vote", number=[0, 0, 0, 0])
    t.writes(i, s.operands[0], 4)
    return i


def elect(t: Decoder, s: Statement) -> Decoded:
    destinations, *mask = s.operands
    number, answer = items_of(destinations)
    i = Decoded("elect")
    t.writes(i, number, 4)
    i.p_out[0] = t.kept(answer)
    return _named(t, i, mask)


def load_matrix(t: Decoder, s: Statement) -> Decoded:
    destination, place = s.operands
    items = items_of(destination)
    i = Decoded("load matrix", flags=form.SHARED, space=form.SHARED, op="ldsm", strong=form.SEES_BLOCK)
    if _address(t, i, place):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, matrix.count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    t.writes_vector(i, items, 4)
    return i


def multiply_matrices(t: Decoder, s: Statement) -> Decoded:
    return _multiply(t, s, *matrix.shape_and_types(s))


def _multiply(t: Decoder, s: Statement, m: int, k: int, types: Sequence[str]) -> Decoded:
    result, a, b, _ = types
    eights: tuple[str, ...] = ()
    if a in tensor_core.FOURS:  # unpacked or not, they are added to the same integers
        shape = tensor_core.form(m, k, a, b, result, "satfinite" in s.opcode)
    else:
        shape, _ = matrix.product_of(t.arch, m, k, types, s.opcode)
        eights = (a, b) if shape.a != a else ()
    i = form.product_of(t.arch, shape, eights, "xor" in s.opcode)
    destination, *factors = s.operands
    type_ = "b64" if a == "f64" else "b32"
    for place, operand in enumerate(factors):
        rows = [row for item in items_of(operand) for row in t.value(item, type_)]
        i.source[place], i.width[place] = t.listed(rows), 1
    t.writes_vector(i, items_of(destination), TYPE_BYTES[type_])
    return i


def store_matrix(t: Decoder, s: Statement) -> Decoded:
    place, source = s.operands
    items = items_of(source)
    i = Decoded("store matrix", flags=form.SHARED, space=form.SHARED, op="stsm")
    if _address(t, i, place):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, matrix.count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    i.source[2], i.width[2] = t.listed([t.value(item, "b32")[0] for item in items]), 1
    return i


def tile(t: Decoder, s: Statement) -> Decoded:
    """wmma.load, wmma.store and wmma.mma"""
    if s.opcode[1] == "mma":
        return _multiply_tiles(t, s)
    loads = s.opcode[1] == "load"
    first, second, *stride = s.operands
    vector, place = (first, second) if loads else (second, first)
    places, distance, bits = wmma.elements(s)
    i = _memory(t, s, "load tile" if loads else "store tile", "ld" if loads else "st", place)
    i.number[0], i.number[1] = len(t.lists), len(places) | len(places[0]) << 8 | bits << 16
    _amount(i, 1, 4 if bits < 8 else bits // 8)
    t.lists += [int(number) for register in places for one in register for lanes in one for number in lanes]
    t.read(i, 3, stride[0] if stride else Immediate(distance, distance), "u32")
    items, type_ = items_of(vector), "b64" if bits == 64 else "b32"
    if loads:
        t.writes_vector(i, items, TYPE_BYTES[type_])
    else:
        i.strong = 0
        i.source[2], i.width[2] = t.listed([row for item in items for row in t.value(item, type_)]), 1
    return i


TILES = ("f16", "bf16", "tf32", "f64", "s8", "u8")


def _multiply_tiles(t: Decoder, s: Statement) -> Decoded:
    types = wmma.types_of(s)
    if types[1] not in TILES:
        return _multiply(t, s, 8, wmma.tile_of(s).k, types)
    whole = wmma.product_of_tile(s)
    i = form.product_of(t.arch, whole.form)
    i.offset = whole.count * whole.steps
    destination, *factors = s.operands
    if whole.turned:
        factors[:2] = factors[1::-1]
    type_ = "b64" if whole.form.a == "f64" else "b32"
    held = [[t.value(item, type_) for item in items_of(operand)] for operand in factors]
    written = [t.rows(item) for item in items_of(destination)]
    if set(written) & {*held[0], *held[1]} or (written != held[2] and set(written) & set(held[2])):
        raise NotDecoded("a product that takes the place of its factors")
    taken: list[list[tuple[int, ...]]] = [[], [], []]
    into: list[tuple[int, ...]] = []
    for number, step in itertools.product(range(whole.count), range(whole.steps)):
        for operand in range(3):
            own = written if operand == 2 and step else held[operand]  # a second step adds to what the first one wrote
            taken[operand] += own[whole.registers(operand, number, step)]
        into += written[whole.registers(2, number, 0)]
    for place, one in enumerate(taken):
        i.source[place], i.width[place] = t.listed(list(itertools.chain.from_iterable(one))), 1
    rows = list(itertools.chain.from_iterable(into))
    i.d, i.d_width = t.listed(rows), len(rows)
    return i


def transpose_matrix(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    i = Decoded("transpose matrix")
    t.read(i, 0, source, "b32")
    t.writes(i, destination, 4)
    return i


# ---- textures and surfaces


def _image(t: Decoder, i: Decoded, place: Address, kinds: Sequence[str], layer_last: bool = False) -> None:
    """The coordinates of a place, of these types, as source 0, and the object as source 1."""
    coordinates = items_of(place.coordinates[0])
    rows = [t.value(one, kind)[0] for one, kind in zip(coordinates, kinds, strict=False)]
    if layer_last:
        rows = rows[1:] + rows[:1]
    i.source[0], i.width[0] = t.listed(rows), 1
    i.source[1], i.width[1] = t.value(place.base, "b64")[0], 1


def read_texture(t: Decoder, s: Statement) -> Decoded:
    destination, place, *_ = s.operands
    axes, layered = textures.geometry(s)
    items = items_of(destination)
    kind, what = "f32", form.SAMPLES
    if s.name == "tld4":
        what = form.GATHERS + textures.CHANNELS[s.opcode[1]]
    elif s.type == "s32":
        kind, what = "s32", form.FETCHES
    i = Decoded("read texture", flags=int(layered), number=[what, axes, (1 << len(items)) - 1, -1])
    _image(t, i, place, ["u32"] * layered + [kind] * axes)
    t.writes_vector(i, items, 4)
    return i


def _surface(t: Decoder, s: Statement, operation: str, place: Address, count: int) -> Decoded:
    axes, layered = textures.geometry(s)
    size = TYPE_BYTES[textures.channel_of(s)]
    outside = next(form.OUTSIDE[part] for part in s.opcode if part in form.OUTSIDE)
    i = Decoded(operation, number=[outside, axes + layered, size * count, size if size < 4 else 4])
    _image(t, i, place, ["s32"] * (axes + layered), layer_last=layered)
    return i


def load_surface(t: Decoder, s: Statement) -> Decoded:
    destination, place = s.operands
    items = items_of(destination)
    i = _surface(t, s, "load surface", place, len(items))
    t.writes_vector(i, items, TYPE_BYTES[textures.channel_of(s)])
    return i


def store_surface(t: Decoder, s: Statement) -> Decoded:
    place, value = s.operands
    items, type_ = items_of(value), textures.channel_of(s)
    i = _surface(t, s, "store surface", place, len(items))
    i.source[2], i.width[2] = t.listed([row for item in items for row in t.value(item, type_)]), 1
    return i


# ---- what comes next


def branch(t: Decoder, s: Statement) -> Decoded:
    return Decoded(kind=form.BRANCHES)


def branch_by_index(t: Decoder, s: Statement) -> Decoded:
    i = Decoded(kind=form.JUMPS)
    t.read(i, 0, s.operands[0], "s32")
    return i


def leave(t: Decoder, s: Statement) -> Decoded:
    text = t.operands.text
    function = text.owner(t.at) if text.calls and s.name == "ret" else ""
    if not function:
        return Decoded(kind=form.EXITS)
    i = Decoded(kind=form.RETURNS)
    t.read(i, 0, Register(return_register(function)), "b32")
    ways = []
    for one in text.returns_to(function):
        ways.append(len(t.lists))
        t.lists += [text.frames[one.caller], *_saved(t, one)]
    i.offset = len(t.lists)
    t.lists += ways
    return i


def _saved(t: Decoder, this: Call) -> list[int]:
    """How many registers a call saves; of each its row (or -1 less a predicate's number), its place and its bytes."""
    saved: list[tuple[int, int, int]] = []
    for name, place in this.saved:
        slot = t.slot(Register(name))
        if slot in t.places.predicate_of:
            saved.append((-1 - t.places.predicate_of[slot], place, 1))
            continue
        size = min(4, TYPE_BYTES[t.operands.types[slot]])
        saved += [(row, place + 4 * k, size) for k, row in enumerate(t.places.rows_of[slot])]
    return [len(saved), *(number for one in saved for number in one)]


def call(t: Decoder, s: Statement) -> Decoded:
    text, function = t.operands.text, called(s)
    if t.at not in text.calls:
        raise NotDecoded("a function of the system")
    this = text.calls[t.at]
    size, block = text.frames[this.caller], next(b for b in t.program.blocks if b.start <= t.at < b.stop)
    deepest = max(text.frames[name] for name in this.callees)
    i = Decoded(kind=form.CALLS, offset=len(t.lists))
    t.lists += _saved(t, this)
    i.number = [size, len(t.lists), text.stack_bytes - size - deepest, -1 if this.caller else block.index]
    t.lists.append(len(this.callees))
    for name in this.callees:
        address = t.operands.function_addresses.get(name, 0)
        halves = (int(np.uint32(half).view(np.int32)) for half in (address & 0xFFFFFFFF, address >> 32))
        back, row = text.returns_to(name).index(this), t.rows(Register(return_register(name)))[0]
        t.lists += [*halves, text.starts[name], back, row]
    if not isinstance(function, Symbol):
        t.read(i, 0, function, "b64")
    return i


def barrier(t: Decoder, s: Statement) -> Decoded:
    if "warp" in s.modifiers or s.type == "warp":
        i = Decoded(kind=form.WAITS_FOR_LANES)
        t.read(i, 3, s.operands[0], "u32")
        return i
    if "cluster" in s.opcode:
        return Decoded(kind=form.ARRIVES if "arrive" in (*s.opcode, s.type) else form.WAITS_FOR_CLUSTER)
    operands = s.operands or (Immediate(0, 0),)
    i = Decoded(kind=form.WAITS, flags=int("arrive" in s.opcode))
    if "red" in s.opcode:
        destination, which, *threads, condition = operands
        name = next(part for part in s.opcode if part in ("popc", "and", "or"))
        i.operation, i.offset = "bring votes", ("popc", "and", "or").index(name)
        i.p_in[0] = t.predicate(condition)
        i.flags = 2
        if threads:
            raise NotDecoded("a reduction at a barrier of some threads")
        if name == "popc":
            t.writes(i, destination, 4)
        else:
            i.p_out[0] = t.kept(destination)
    else:
        which, *threads = operands
    for place, operand in enumerate((which, *threads)):
        if isinstance(operand, Immediate):
            i.number[1 + place] = operand.value
        else:
            t.read(i, place, operand, "u32")
    return i


def trap(t: Decoder, s: Statement) -> Decoded:
    return Decoded("trap")


def nothing(t: Decoder, s: Statement) -> Decoded:
    return Decoded("nothing")


OPCODES: dict[str, Callable[[Decoder, Statement], Decoded]] = {
    "add": by_kind(add), "sub": by_kind(add), "addc": add, "subc": add, "mul": by_kind(multiply),
    "mad": by_kind(multiply), "madc": multiply, "mul24": multiply24, "mad24": multiply24, "fma": arithmetic,
    "div": by_kind(_of_one_type("div")), "rem": _of_one_type("rem"), "min": minimum_maximum, "max": minimum_maximum,
    "abs": by_kind(negate), "neg": by_kind(negate), "sad": _of_one_type("sad"), "dp4a": dot, "dp2a": dot,
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "copysign"), arithmetic),
    "and": logic, "or": logic, "xor": logic, "not": logic, "cnot": _of_one_type("cnot"), "lop3": any_logic,
    "shl": shift, "shr": shift, "shf": funnel_shift, "bfe": extract, "bfi": insert, "bfind": find, "bmsk": bit_mask,
    "szext": bit_mask, "popc": _of_one_type("popc", "u32"), "clz": _of_one_type("clz", "u32"),
    "brev": _of_one_type("brev"), "prmt": permute, "fns": nth_set_bit, "testp": test_number, "setp": set_predicate,
    "set": set_register, "selp": select, "slct": select_by_sign, "mov": move, "cvt": convert,
    "cvta": convert_address, "isspacep": is_in_space, "ld": load, "ldu": load, "st": store, "atom": atomic,
    "red": atomic, "cp": copy, "createpolicy": cache_policy,
    "mbarrier": barrier_object, "mapa": map_address, "getctarank": rank_of_address, "membar": fence, "fence": fence,
    "shfl": shuffle, "vote": vote, "match": match, "redux": reduce, "activemask": active_mask, "elect": elect,
    "ldmatrix": load_matrix, "stmatrix": store_matrix, "wmma": tile, "tex": read_texture, "tld4": read_texture,
    "suld": load_surface, "sust": store_surface, "mma": multiply_matrices, "movmatrix": transpose_matrix, "bra": branch,
    "brx": branch_by_index, "ret": leave, "exit": leave, "call": call, "bar": barrier, "barrier": barrier, "trap": trap,
    **{f"v{name}{count}": video_parts for name in ("add", "sub", "absdiff", "avrg", "min", "max", "set")
       for count in (2, 4)},
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), video_one),
    "vmad": video_multiply_add,
    **dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "griddepcontrol", "pmevent",
                     "setmaxnreg"), nothing),
}  # fmt: skip
