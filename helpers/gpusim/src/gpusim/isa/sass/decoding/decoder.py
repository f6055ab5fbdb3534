"""SASS statements → the common instructions that the C program executes (`native/engine`).

Each opcode's function in this package says which operation of the C program it is, where its operands are, and which
modifiers it has. That is all that there is of it: both ways of execution follow from it (`isa/computing.py`). What the
C program does not execute says so (`Decoded.replayed`); then NumPy executes the whole launch. A form that is not
modelled raises `NotDecoded`.

R0, R1, … are the first rows, the uniform registers those behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, NOWHERE, Decoded, NotDecoded, Word, Words
from gpusim.isa.sass import operands as operand_rules
from gpusim.isa.sass.operands import Code, float_immediate, is_nan, is_predicate, is_register, is_zero

CHANGEABLE = (sass.Register, sass.Constant)


class Decoder:
    """Decodes the statements of one kernel."""

    def __init__(self, arch: str, shared_base: int, code: Code) -> None:
        self.arch = arch
        self.shared_base = shared_base
        self.code = code
        self.words = Words()
        self.registers = self.uniform_registers = 0  # how many rows there are of each
        self.space = ""  # that the current opcode names
        self.statement: sass.Statement | None = None

    def begin(self, statement: sass.Statement, space: str) -> None:
        """What follows are the operands of `statement`, whose opcode accesses the state space `space`."""
        self.statement, self.space = statement, space

    # ---- rows
    def row(self, operand: sass.Register, count: int = 1) -> int | tuple[str, int]:
        """The row of the first of `count` registers. Uniform ones get theirs when all registers are known."""
        if operand.number is None:
            return -1
        if operand.file == "R":
            if operand.number + count > self.registers:
                self.registers = operand.number + count
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
        first = form.UNIFORM_PREDICATES if operand.file == "UP" else 0
        return first + (ALWAYS if operand.number is None else operand.number)

    # ---- sources
    def read(self, into: Decoded, position: int, operand: sass.Operand, kind: str = "i") -> None:
        """An operand as source `position`. kind: "i" integer, "f" float32, "w" and "d" the same in 64 bits, "h" a pair
        of 16-bit floats, "b" bits as they are."""
        count = into.width[position] = 2 if kind in "wd" else 1
        if is_register(operand):
            into.source[position] = self.row(operand, count)
        elif isinstance(operand, sass.Immediate):
            into.source[position] = self.words.row(*self._immediate(operand, kind))
        elif isinstance(operand, sass.Constant) and operand.register is None:
            words = tuple(Word(operand.bank, operand.offset + 4 * k) for k in range(count))
            into.source[position] = self.words.row(*words)
        else:
            raise NotDecoded("an operand that is neither a register nor a constant")
        if isinstance(operand, CHANGEABLE) and operand.is_changed:
            into.mode[position] = self._mode(operand, kind, [m for m in operand.modifiers if m != "64"])

    def read_all(self, into: Decoded, operands: Sequence[sass.Operand], count: int, kind: str = "i") -> None:
        """The operands as sources, one after the other; there must be `count`."""
        if len(operands) != count:
            raise NotDecoded(f"its form with {len(self.statement.operands)} operands")
        for position, operand in enumerate(operands):
            self.read(into, position, operand, kind)

    @staticmethod
    def _mode(operand, kind: str, modifiers: Sequence[str]) -> int:
        mode = 0
        if kind == "h":
            modifiers = [] if is_zero(operand) else modifiers
            parts = {"H0_H0": form.LOW_TWICE, "H1_H1": form.HIGH_TWICE, "H0_NH1": form.NEGATE_HIGH, "H1_H0": 0}
            parts |= {"H0": form.LOW_TWICE, "H1": form.HIGH_TWICE, "F32": form.OF_FLOAT}  # the last one Turing's
            for modifier in modifiers:
                if modifier not in parts:
                    raise NotDecoded(f"the halves {modifier}")
                mode |= parts[modifier]
            return mode | (form.HALF_ABSOLUTE if operand.absolute else 0) | (form.HALF_NEGATE if operand.negated else 0)
        if modifiers:
            raise NotDecoded(f"the operand's modifier {modifiers[0]}")
        is_float = kind in "fd"
        if operand.absolute:
            if not is_float:
                raise NotDecoded("the magnitude of an integer operand")
            mode |= form.FLOAT_ABSOLUTE
        if operand.negated:
            mode |= form.FLOAT_NEGATE if is_float else form.NEGATE
        if operand.inverted:
            mode |= form.INVERT
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
        at = self.statement.address + 4
        return int.from_bytes(self.code.binary[at : at + 4], "little")

    def writes(self, into: Decoded, operand: sass.Operand, count: int = 1) -> None:
        """The registers that are written; none for RZ."""
        if not isinstance(operand, sass.Register) or operand.file not in ("R", "UR"):
            raise NotDecoded("a destination that is no register")
        into.uniform = operand.file == "UR"
        if operand.number is not None:
            into.d, into.d_width = self.row(operand, count), count

    # ---- statements
    @property
    def nowhere(self) -> int:
        """The first row behind the registers."""
        return self.registers + self.uniform_registers

    def settle(self, decoded: Sequence[Decoded]) -> None:
        """Give uniform registers their rows, now that it is known how many registers there are."""
        for instruction in decoded:
            if instruction.d == NOWHERE or type(instruction.d) is tuple:
                instruction.d = self._settled(instruction.d)
            if tuple in map(type, instruction.source) or NOWHERE in instruction.source:
                instruction.source = [self._settled(row) for row in instruction.source]

    def _settled(self, row):
        return self.registers + row[1] if isinstance(row, tuple) else self.nowhere if row == NOWHERE else row


def number_of(operand: sass.Operand) -> int:
    return operand_rules.number(operand)


def is_false(operand: sass.Operand) -> bool:
    return is_predicate(operand) and operand.number is None and operand.negated
