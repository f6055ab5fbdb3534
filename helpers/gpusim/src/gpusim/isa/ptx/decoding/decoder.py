"""PTX statements → the common instructions that the C program executes (`native/engine`).

Each opcode's function in this package is all that there is of it: both ways of execution follow from it
(`isa/computing.py`). What the C program does not execute says so (`Decoded.replayed`); then NumPy executes the whole
launch. A form that is not modelled raises `NotDecoded`. There are no convergence barriers in PTX: threads of a warp are
together again wherever they come to the same place.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Not, Register, Symbol
from gpusim.engine.ir import Program
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, Decoded, NotDecoded, Word, Words
from gpusim.isa.ptx.linking import ORIGIN, STACK, return_register
from gpusim.isa.ptx.operands import Operands, dtype_of, undeclared
from gpusim.isa.ptx.rows import Places, allocate

PARAMETERS, ADDRESSES = 0, 4  # constant banks: what a launch is given, and where the module's variables are
ROUNDING = {"rz": 1, "rm": 2, "rp": 3, "rna": 4}
FLOATS = {"f16": 100, "f32": 101, "f64": 102, "bf16": 103, "tf32": 104}
UNSIGNED = 1
FLUSHES, SATURATES, KEEPS_NAN, BRAIN, RELU = 1, 2, 4, 32, 64  # flags of floating-point operations


class Decoder:
    """Decodes the statements of one kernel."""

    def __init__(
        self,
        operands: Operands,
        places: Places,
        addresses: Mapping[int, int],
        program: Program | None = None,
        results: int = 0,
    ) -> None:
        """places: those of registers.  addresses: by the slot of a variable's address its place in bank ADDRESSES.
        program: of statements that do more than compute.  results: how far behind the row of a register the one lies
        in which a result is made, 0 where it is the same."""
        self.operands = operands
        self.arch = operands.arch
        self.program = program
        self.at = 0  # the place of the current statement
        self.places = places
        self.words = Words()
        self.lists: list[int] = []
        self.addresses = addresses
        self.results = results

    @staticmethod
    def of(operands: Operands, program: Program) -> Decoder:
        """That of a whole program, whose registers share rows. NotDecoded if it needs too many predicates."""
        sizes = [0 if type_ == "pred" else TYPE_BYTES[type_] for type_ in operands.types]
        text = operands.text
        always = (STACK, ORIGIN, *map(return_register, text.starts)) if text.calls else ()
        places = allocate(program, sizes, [operands.slots[name] for name in always])
        return Decoder(operands, places, address_places(program), program)

    @property
    def nowhere(self) -> int:
        """The row that receives what is not kept."""
        return self.places.rows

    @property
    def is_replay(self) -> bool:
        """Whether it decodes for NumPy, where each register has rows of its own and parameters have none."""
        return self.program is None

    # ---- places

    def slot(self, operand) -> int:
        """The slot of a register."""
        if not isinstance(operand, Register) or operand.part or operand.name not in self.operands.slots:
            is_whole = isinstance(operand, Register) and not operand.part
            raise NotDecoded(undeclared(operand.name) if is_whole else f"the operand {operand}")
        return self.operands.slots[operand.name]

    def bytes_of(self, operand) -> int:
        """The size of a register."""
        return TYPE_BYTES[self.operands.types[self.slot(operand)]]

    def rows(self, operand) -> tuple[int, ...]:
        """The rows of a register."""
        try:
            return self.places.rows_of[self.slot(operand)]
        except KeyError:
            raise NotDecoded(f"the operand {operand}") from None

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
        at = self.addresses.get(self.operands.address_slot(operand.name))
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

    def read(self, into: Decoded, position: int, operand, type_: str) -> None:
        """An operand as source `position`."""
        rows = self.value(operand, type_)
        into.source[position], into.width[position] = rows[0], len(rows)

    def read_all(self, into: Decoded, operands: Sequence, type_: str) -> None:
        """Operands of one type, one after the other."""
        for position, operand in enumerate(operands):
            self.read(into, position, operand, type_)

    def zero(self, into: Decoded, position: int, wide: bool = False) -> None:
        """A source that is 0."""
        into.source[position], into.width[position] = -1, 1 + wide

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


def refuse_unknown(modifiers: Iterable[str], known: Container[str]) -> None:
    """Raise NotDecoded for the first modifier that is not among the known ones."""
    for modifier in modifiers:
        if modifier not in known:
            raise NotDecoded(f"the modifier .{modifier}")


def format_of(type_: str) -> int:
    """Bits of an integer type, less than 0 if it is signed."""
    if type_[0] not in "usb" or not type_[1:].isdecimal():
        raise NotDecoded(f"whole numbers of the type .{type_}")
    return -int(type_[1:]) if type_[0] == "s" else int(type_[1:])


def bits_of(type_: str) -> int:
    return 8 * TYPE_BYTES[type_]


def is_integer(type_: str) -> bool:
    return type_[0] in "usb" and type_[1:].isdecimal()
