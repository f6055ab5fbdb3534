"""Operands of SASS instructions → functions of the registers, and results → register slots.

A register is 32 bits: a slot holds int32 or float32, whatever was written last, and is viewed as what the reader wants.
64-bit values are pairs of registers, R4 with R5. RZ reads as 0 and PT as true; what is written to them is lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from gpusim.compiler import sass
from gpusim.errors import Unknown
from gpusim.isa.rules import Reader
from gpusim.isa.values import I4, I8, U8, joined

INFINITIES = {"+INF": np.inf, "INF": np.inf, "-INF": -np.inf}
T = TypeVar("T")
_NEEDED = object()


# ---- the form of a statement


def exactly(s: sass.Statement, count: int) -> tuple[sass.Operand, ...]:
    """The operands of a statement that must have `count` of them."""
    return at_least(s, count, count)


def at_least(s: sass.Statement, count: int, most: int = 99) -> tuple[sass.Operand, ...]:
    """The operands of a statement that must have `count` of them, and may have more."""
    if not count <= len(s.operands) <= most:
        raise Unknown(f"its form with {len(s.operands)} operands")
    return s.operands


def chosen(s: sass.Statement, names: Mapping[str, T], default: T = _NEEDED) -> T:
    """What the first modifier that is one of `names` stands for, or the default."""
    for part in s.opcode[1:]:
        if part in names:
            return names[part]
    if default is _NEEDED:
        raise Unknown(f"its form without one of {', '.join(names)}")
    return default


def number(operand: sass.Operand) -> int:
    """The value of an operand that must be an integer constant."""
    if not isinstance(operand, sass.Immediate) or _is_float(operand.text):
        raise Unknown("an operand that is no integer where one is expected")
    return operand.integer


def address_operand(operand: sass.Operand) -> sass.Address:
    """An operand that must be an address."""
    if not isinstance(operand, sass.Address):
        raise Unknown("an operand that is no address where one is expected")
    return operand


def is_register(operand: sass.Operand) -> bool:
    """Whether an operand is a register of 32 bits, RZ among them."""
    return isinstance(operand, sass.Register) and operand.file in ("R", "UR")


def is_predicate(operand: sass.Operand) -> bool:
    """Whether an operand is a predicate, PT among them."""
    return isinstance(operand, sass.Register) and operand.file.endswith("P")


def is_zero(operand: sass.Operand) -> bool:
    """Whether an operand is RZ."""
    return is_register(operand) and operand.number is None and not operand.inverted


def leading_predicates(operands: tuple[sass.Operand, ...]) -> tuple[list[sass.Register], tuple[sass.Operand, ...]]:
    """(the predicates that stand before the sources, the rest)."""
    count = 0
    while count < len(operands) and is_predicate(operands[count]):
        count += 1
    return list(operands[:count]), operands[count:]


# ---- registers and constants


@dataclass(frozen=True, slots=True)
class Code:
    """Where things are in a kernel's code, as indices of statements unless they are called addresses.

    `binary` is the machine code itself. `clusters`: blocks have ranks, and addresses in shared memory hold them.
    `debug`: it is code for a debugger. `syncs_warps`: the PTX has instructions at which the lanes of a warp meet.
    """

    labels: Mapping[str, int] = field(default_factory=dict)
    addresses: Mapping[int, int] = field(default_factory=dict)  # address of a statement → its index
    return_points: tuple[int, ...] = ()  # what follows calls
    # Address of a WARPSYNC.COLLECTIVE → where the first copy of what follows begins; address of an ENDCOLLECTIVE →
    # where to go on, and where lanes of the other copies do.
    collective_copies: Mapping[int, int] = field(default_factory=dict)
    collective_ends: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    functions: tuple[int, ...] = ()  # where functions begin, other than the kernel
    branch_targets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # addresses, of computed branches
    reductions: Mapping[int, sass.Statement] = field(default_factory=dict)  # address of a B2R → the BAR.RED before it
    binary: bytes = b""
    clusters: bool = False
    debug: bool = False
    syncs_warps: bool = True

    def place(self, operand: sass.Operand) -> int:
        """The statement that an operand names, which must be a label of the code."""
        if not isinstance(operand, sass.Label) or operand.name not in self.labels:
            raise Unknown("a place that is not in the code of the kernel")
        return self.labels[operand.name]


NO_CODE = Code()


class Operands:
    """The registers and constants that one kernel uses, as slots.

    `constants` maps (bank, offset, dtype) to the slot that a launch fills with that word; `read_now` collects the slots
    that the instruction reads which is being translated, and `space` is the state space that its opcode names.
    `shared_base` is the address that the architecture gives to a block's first byte of shared memory.
    """

    def __init__(self, arch: str, shared_base: int = 0, code: Code = NO_CODE) -> None:
        self.arch = arch
        self.code = code
        self.shared_base = shared_base
        self.space = ""
        self.slots: dict[str, int] = {}
        self.uniform_slots: set[int] = set()  # of registers that the lanes of a warp share
        self.initial: list = []
        self.decoder = None  # of what the C program executes, and what it has made, by address
        self.decoded: dict = {}
        self.parts: dict = {}  # of `computations`, by row
        self.constants: dict[tuple[int, int, np.dtype], int] = {}
        self.read_now: set[int] = set()
        self._readers: dict[tuple[sass.Register, np.dtype, int], tuple[Reader, int | None]] = {}  # each with its slot
        self._pairs: dict[tuple[int, int], int] = {}
        self._address = 0
        # Where the own block's shared memory begins, if addresses hold ranks.
        self.own_rank = self.slot("the own rank", np.int32(0)) if code.clusters else None

    def begin(self, statement: sass.Statement, space: str) -> None:
        """The operands that follow are those of `statement`, whose opcode accesses the state space `space`."""
        self.read_now = set()
        self.space = space
        self._address = statement.address

    # ---- slots
    def slot(self, name: str, initial=np.int32(0)) -> int:  # noqa: B008 (a NumPy scalar cannot change)
        """The slot of a register by name; made when first asked for."""
        if name not in self.slots:
            self.slots[name] = len(self.initial)
            if name.startswith("U"):
                self.uniform_slots.add(self.slots[name])
            self.initial.append(np.bool_(False) if name.lstrip("U").startswith("P") else initial)
        return self.slots[name]

    def target(self, operand: sass.Operand, distance: int = 0) -> int | None:
        """The slot that a destination writes; None for RZ, PT and so on. `distance` 1 is the next register."""
        if not isinstance(operand, sass.Register):
            raise Unknown("a destination that is no register")
        if operand.number is None:
            return None
        return self.slot(operand.next(distance).name if distance else operand.name)

    def targets(self, operand: sass.Operand, count: int) -> tuple[int | None, ...]:
        """The slots of `count` consecutive registers."""
        return tuple(self.target(operand, distance) for distance in range(count))

    def slots_of(self, *operands: sass.Operand) -> tuple[int, ...]:
        """The slots of registers of 32 bits and of predicates among operands that are read."""
        targets = (self.target(operand) for operand in operands if isinstance(operand, sass.Register))
        return tuple(slot for slot in targets if slot is not None)

    def guard(self, register: sass.Register | None) -> tuple[int, bool] | None:
        """The engine's (slot, negated) of a guard; None if it is always true."""
        if register is None or (register.number is None and not register.negated):
            return None
        if register.number is None:
            return self.slot("always true", np.bool_(True)), True
        return self.slot(register.name), register.negated

    # ---- reading 32 bits
    def read(self, operand: sass.Operand, dtype: np.dtype = I4, distance: int = 0) -> Reader:
        """How to get an operand as int32, uint32 or float32, with its sign modifiers carried out."""
        key = operand, dtype, distance  # thousands of operands are few different registers
        known = self._readers.get(key)
        if known is None:
            if isinstance(operand, sass.Immediate):
                constant = self._immediate(operand, dtype)
                return lambda registers: constant
            reader = self._reader(operand, dtype, distance)
            if not is_register(operand):
                return reader
            slot = None if operand.number is None else self.slot(operand.next(distance).name)
            known = self._readers[key] = reader, slot
        reader, slot = known
        if slot is not None:
            self.read_now.add(slot)
        return reader

    def _reader(self, operand: sass.Operand, dtype: np.dtype, distance: int) -> Reader:
        _refuse_modifiers(operand)
        reader = self._plain(operand, dtype, distance)
        if operand.absolute:
            reader = _then(np.abs, reader)
        if operand.negated:
            reader = _then(np.negative, reader)
        if operand.inverted:
            reader = _then(np.invert, reader)
        return reader

    def bits(self, operand: sass.Operand, distance: int = 0) -> Reader:
        """An operand with whatever dtype it has: for moves and stores."""
        if is_register(operand) and not (operand.negated or operand.absolute or operand.inverted):
            if operand.number is None:
                return lambda registers: np.int32(0)
            slot = self._use(operand.next(distance).name)
            return lambda registers: registers[slot]
        return self.read(operand, I4, distance)

    def _plain(self, operand: sass.Operand, dtype: np.dtype, distance: int) -> Reader:
        if isinstance(operand, sass.Constant) and operand.register is None:
            slot = self.constant(operand.bank, operand.offset + 4 * distance, dtype)
            return lambda registers: registers[slot]
        if not is_register(operand):
            raise Unknown("an operand that is neither a register nor a constant")
        if operand.number is None:
            zero = dtype.type(0)
            return lambda registers: zero
        slot = self._use(operand.next(distance).name)

        def read(registers):
            value = registers[slot]
            return value if value.dtype is dtype else value.view(dtype)

        return read

    def _use(self, name: str) -> int:
        slot = self.slot(name)
        self.read_now.add(slot)
        return slot

    def constant(self, bank: int, offset: int, dtype: np.dtype) -> int:
        """The slot of a word of a constant bank."""
        key = (bank, offset, dtype)
        if key not in self.constants:
            self.constants[key] = self.slot(f"c[{bank:#x}][{offset:#x}] as {dtype}", dtype.type(0))
        return self.constants[key]

    def _immediate(self, operand: sass.Immediate, dtype: np.dtype):
        if is_nan(operand.text):  # the text does not say which of the many
            return np.uint32(self.raw_immediate()).view(dtype)
        if dtype.kind == "f":
            return -float_immediate(operand.text) if operand.negated else float_immediate(operand.text)
        value = operand.integer if not _is_float(operand.text) else int(float_immediate(operand.text).view(np.int32))
        value = -value if operand.negated else ~value if operand.inverted else value
        return np.array(value & 0xFFFFFFFF, np.uint32).view(dtype)[()]

    # ---- reading predicates
    def predicate(self, operand: sass.Operand) -> Reader | None:
        """How to get a predicate as bool; None for PT, which is always true."""
        if not is_predicate(operand):
            raise Unknown("an operand that is no predicate where one is expected")
        if operand.number is None:
            return (lambda registers: np.False_) if operand.negated else None
        slot = self._use(operand.name)
        if operand.negated:
            return lambda registers: np.logical_not(registers[slot])
        return lambda registers: registers[slot]

    def truth(self, operand: sass.Operand) -> Reader:
        """As `predicate`, with a function for PT too."""
        return self.predicate(operand) or (lambda registers: np.True_)

    # ---- reading 64 bits
    def wide(self, operand: sass.Operand, dtype: np.dtype = I8) -> Reader:
        """How to get a pair of registers, or a 64-bit constant, as int64, uint64 or float64.

        Of an immediate float64 the machine code holds the upper 32 bits.
        """
        if isinstance(operand, sass.Immediate):
            if dtype.kind == "f":
                float_ = np.array(self.raw_immediate() << 32, np.uint64).view(np.float64)[()]
                float_ = -float_ if operand.negated else float_
                return lambda registers: float_
            value = -number(operand) if operand.negated else number(operand)
            constant = np.array(value & 0xFFFFFFFFFFFFFFFF, U8).view(dtype)[()]
            return lambda registers: constant
        _refuse_modifiers(operand)
        if isinstance(operand, sass.Constant) and operand.register is None:
            slot = self.constant(operand.bank, operand.offset, dtype)
            reader = lambda registers: registers[slot]  # noqa: E731
        elif is_register(operand) and operand.number is None:
            zero = dtype.type(0)
            reader = lambda registers: zero  # noqa: E731
        elif is_register(operand):
            reader = self._pair(operand, dtype)
        else:
            raise Unknown("an operand that has no 64 bits")
        if operand.absolute:
            reader = _then(np.abs, reader)
        if operand.negated:
            reader = _then(np.negative, reader)
        if operand.inverted:
            reader = _then(np.invert, reader)
        return reader

    def pair_slot(self, low: int, high: int) -> int:
        """The slot that remembers the 64-bit value of two registers, as (low, high, value).

        It is valid while the two slots hold these very arrays, which nobody changes in place.
        """
        if (low, high) not in self._pairs:
            self._pairs[low, high] = len(self.initial)
            self.initial.append((None, None, None))
        return self._pairs[low, high]

    def _pair(self, operand: sass.Register, dtype: np.dtype) -> Reader:
        low_slot, high_slot = self._use(operand.name), self._use(operand.next(1).name)
        memory = self.pair_slot(low_slot, high_slot)

        def read(registers):
            low, high = registers[low_slot], registers[high_slot]
            known = registers[memory]
            if known[0] is low and known[1] is high:
                value = known[2]
            else:
                value = joined(low, high)
                registers[memory] = (low, high, value)
            return value if value.dtype is dtype else value.view(dtype)

        return read

    # ---- the machine code itself
    def raw_immediate(self) -> int:
        """The 32 bits of the immediate operand, as they stand in bits 32 to 63 of the instruction's 128."""
        return int.from_bytes(self.code.binary[self._address + 4 : self._address + 8], "little")


def _refuse_modifiers(operand: sass.Operand) -> None:
    """Unknown for a part of a register or a scale that the caller has not taken off: it would be passed over."""
    if isinstance(operand, sass.Register | sass.Constant) and set(operand.modifiers) - {"64"}:
        raise Unknown(f"the operand's modifier {operand.modifiers[0]}")


def _then(function: Callable, reader: Reader) -> Reader:
    return lambda registers: function(reader(registers))


def _is_float(text: str) -> bool:
    return not text.lstrip("+-").startswith("0x") and not text.lstrip("+-").isdigit()


def is_nan(text: str) -> bool:
    """Whether an immediate is printed as `+QNAN` or the like: any of 2^24 - 2 patterns, such as 0x7ff00000."""
    return text.endswith("NAN")


def float_immediate(text: str) -> np.float32:
    """The float32 that nvdisasm prints as `0.5` or `+INF`. A NaN's text is not enough: see `is_nan`."""
    if text in INFINITIES:
        return np.float32(INFINITIES[text])
    if text.lstrip("-").startswith("0x"):
        return np.uint32(int(text, 0) & 0xFFFFFFFF).view(np.float32)
    return np.float32(text)
