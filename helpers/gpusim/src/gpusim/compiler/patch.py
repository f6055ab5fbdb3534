"""Machine code with some of its bits changed: experiments that say what an instruction costs, and no way to compile.

An instruction is 128 bits since compute capability 7.0. The fields that are changed here are those of FFMA and LDS, and
the reuse flags, which all instructions have in one place. NVIDIA does not document them; they were worked out by others
(Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 2), and the tests hold
them against what nvdisasm prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpusim.compiler import cubin
from gpusim.compiler.build import CompiledKernel
from gpusim.compiler.forms import split
from gpusim.compiler.sass import INSTRUCTION_BYTES

NO_REGISTER = 255  # RZ: reads as 0, and a result in it is dropped
FFMA, LDS = 0x223, 0x984  # opcodes: of FFMA with three registers, of a load from shared memory


@dataclass(frozen=True)
class Field:
    """Some bits of an instruction.  first: the lowest, counted from 0.  bits: how many."""

    first: int
    bits: int

    def of(self, instruction: int) -> int:
        """The field's value."""
        return instruction >> self.first & (1 << self.bits) - 1

    def set(self, instruction: int, value: int) -> int:
        """The instruction with another value in the field."""
        return instruction & ~(((1 << self.bits) - 1) << self.first) | value << self.first


OPCODE = Field(0, 12)
RESULT, A, B, C = Field(16, 8), Field(24, 8), Field(32, 8), Field(64, 8)  # registers; C: the summand of an FFMA
WIDTH = Field(73, 3)  # of a load
WIDTH_128 = 6
STALL, NO_YIELD = (
    Field(105, 4),
    Field(109, 1),
)  # cycles to the warp's next instruction; whether it may be the next at all
REUSE = Field(122, 4)  # which operands stay at hand, a the lowest bit
REUSE_A, REUSE_B = 1, 2

Change = Callable[[int], int]


@dataclass(frozen=True)
class Fma:
    """sum += a * b with the numbers of three registers, even ones in one bank, odd ones in the other.

    keep: operands that stay at hand for the next instruction, REUSE_A or REUSE_B or both.
    """

    a: int
    b: int
    sum: int
    keep: int = 0

    @property
    def text(self) -> str:
        """As nvdisasm prints it."""
        kept_a, kept_b = (".reuse" if self.keep & bit else "" for bit in (REUSE_A, REUSE_B))
        return f"FFMA R{self.sum}, R{self.a}{kept_a}, R{self.b}{kept_b}, R{self.sum}"


def instructions(kernel: CompiledKernel) -> Iterator[int]:
    """The instructions of a kernel, and of the functions that it calls."""
    return split(cubin.read(kernel.cubin).code(kernel.lowered_name))


def changed(kernel: CompiledKernel, change: Change) -> bytes:
    """The CUBIN of a kernel, each of its instructions changed."""
    return rewritten(kernel, [change(instruction) for instruction in instructions(kernel)])


def rewritten(kernel: CompiledKernel, code: list[int]) -> bytes:
    """The CUBIN of a kernel with other instructions, as many as it has. ValueError for another number of them."""
    old = cubin.read(kernel.cubin).code(kernel.lowered_name)
    new = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in code)
    if len(new) != len(old) or kernel.cubin.count(old) != 1:
        raise ValueError(f"{kernel.entry} has {len(old)} bytes of machine code in one place; {len(new)} were given.")
    return kernel.cubin.replace(old, new)


def without_reuse(instruction: int) -> int:
    """No operand stays at hand: each is read from its bank every time. The results are the same."""
    return REUSE.set(instruction, 0)


def without_b(instruction: int) -> int:
    """An FFMA reads 0 in place of its second factor, from no bank. The results are wrong: this is for its time."""
    if OPCODE.of(instruction) != FFMA:
        return instruction
    return B.set(REUSE.set(instruction, REUSE.of(instruction) & ~REUSE_B), NO_REGISTER)


def without_fragments(instruction: int) -> int:
    """A 128-bit load from shared memory drops what it loads. The results are wrong: this is for its time."""
    if OPCODE.of(instruction) != LDS or WIDTH.of(instruction) != WIDTH_128:
        return instruction
    return RESULT.set(instruction, NO_REGISTER)
