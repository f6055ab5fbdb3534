"""Operands of SASS instructions → functions of the registers, and results → register slots.

A register is 32 bits: a slot holds int32 or float32, whatever was written last, and is viewed as what the reader wants.
64-bit values are pairs of registers, R4 with R5. RZ reads as 0 and PT as true; what is written to them is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from gpusim.compiler import sass
from gpusim.errors import Unknown
from gpusim.isa.rules import Reader

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
    makers: Mapping[int, sass.Register] = field(default_factory=dict)  # address of a SYNCS.EXCH → see `program._makers`
    binary: bytes = b""
    clusters: bool = False
    debug: bool = False
    syncs_warps: bool = True

    def index_of(self, operand: sass.Operand) -> int:
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
        self.parts: dict = {}  # of `computations`, by row and count,
        self.predicates: dict = {}  # and by number, for each set of predicates that an instruction names
        self.constants: dict[tuple[int, int, np.dtype], int] = {}
        self.read_now: set[int] = set()
        self._readers: dict[tuple[sass.Register, np.dtype, int], tuple[Reader, int | None]] = {}  # each with its slot
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

    hidden = slot  # of a register that the machine code does not name

    def guard(self, register: sass.Register | None) -> tuple[int, bool] | None:
        """The engine's (slot, negated) of a guard; None if it is always true."""
        if register is None or (register.number is None and not register.negated):
            return None
        if register.number is None:
            return self.slot("always true", np.bool_(True)), True
        return self.slot(register.name), register.negated

    def constant(self, bank: int, offset: int, dtype: np.dtype) -> int:
        """The slot of a word of a constant bank."""
        key = (bank, offset, dtype)
        if key not in self.constants:
            self.constants[key] = self.slot(f"c[{bank:#x}][{offset:#x}] as {dtype}", dtype.type(0))
        return self.constants[key]


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
