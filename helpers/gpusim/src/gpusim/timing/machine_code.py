"""A kernel's machine code as the SM model needs it: units, control bits, registers that are read.

Since compute capability 7.0 an instruction is 128 bits, and the compiler schedules: bits 105 to 125 say how many cycles
must pass before the warp's next instruction, which of six scoreboards it sets and which ones it waits for. nvdisasm
does not print them; they were worked out by others (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking", 2018, section 2) and hold on every later architecture of the course.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterator
from functools import lru_cache

from gpusim.compiler import CompiledKernel, cubin
from gpusim.compiler.sass import INSTRUCTION_BYTES
from gpusim.engine.ir import Program
from gpusim.timing.binding import Instruction

# The order is that of `enum Unit` in sm.c.
UNITS = (
    "control", "fma", "heavy", "alu", "fp64", "xu", "uniform", "tensor", "special", "constant", "shared_load",
    "shared_store", "shared_atomic", "shuffle", "redux", "global_load", "global_store", "global_atomic", "copy",
    "copy_group", "copy_wait", "barrier",
)  # fmt: skip
NUMBER = {name: number for number, name in enumerate(UNITS)}
# Which unit executes an opcode. Those that begin with U go to the uniform datapath; what is not here, to the ALU.
_OPCODES = {
    "fma": "FFMA FMUL FADD HFMA2 HADD2 HMUL2",
    "heavy": "IMAD IDP",
    "fp64": "DADD DMUL DFMA DSETP",
    "xu": "MUFU FCHK I2F F2I F2F FRND POPC FLO BREV",
    "tensor": "HMMA IMMA DMMA",
    "special": "S2R S2UR B2R",
    "constant": "LDC",
    "shared_load": "LDS LDSM",
    "shared_store": "STS",
    "shared_atomic": "ATOMS",
    "shuffle": "SHFL",
    "redux": "REDUX MATCH",
    "global_load": "LDG LD LDL",
    "global_store": "STG ST STL",
    "global_atomic": "ATOMG ATOM RED REDG",
    "copy": "LDGSTS",
    "copy_group": "LDGDEPBAR",
    "copy_wait": "DEPBAR",
    "barrier": "BAR",
    "control": "NOP BSSY BSYNC WARPSYNC BMOV CCTL YIELD BREAK BRA BRX CALL RET EXIT MEMBAR ERRBAR CGAERRBAR",
}
_UNIT_OF = {opcode: unit for unit, opcodes in _OPCODES.items() for opcode in opcodes.split()}
_READS_REGISTERS = {NUMBER[unit] for unit in ("fma", "heavy", "alu", "fp64", "xu")}  # through the two banks

_GUARD = re.compile(r"^@!?U?P(\d|T)\s+")
_REGISTER = re.compile(r"(?<![A-Z])R(\d+)(\.reuse)?")
_PENDING = re.compile(r"SB\d+,\s*(0x[0-9a-f]+|\d+)")


def instructions(compiled: CompiledKernel, program: Program) -> ctypes.Array:
    """The instructions of a program at SASS level, an array of `native.Instruction`."""
    code = cubin.read(compiled.cubin).code(compiled.lowered_name)
    result = (Instruction * len(program.instructions))()
    held: frozenset[tuple[int, int]] = frozenset()
    for instruction, row, control in zip(program.instructions, result, _controls(code), strict=False):
        form = _form(instruction.text)
        row.unit, row.bytes, row.pending = form.unit, form.bytes, form.pending
        row.past_l1, row.reads_constant, row.interval = form.past_l1, form.reads_constant, form.interval
        row.of_floats = form.of_floats
        row.stall, row.write_scoreboard, row.read_scoreboard, row.wait = control
        if form.unit in _READS_REGISTERS:
            fresh = {register for position, register in form.sources if (position, register) not in held}
            row.reads_even = sum(register % 2 == 0 for register in fresh)
            row.reads_odd = len(fresh) - row.reads_even
            held = form.kept
        else:
            held = frozenset()
    return result


def _controls(code: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(stall count, scoreboard set by the result, by the reading of operands, mask of those waited for) of each."""
    for (high,) in struct.iter_unpack(f"<{INSTRUCTION_BYTES - 8}xQ", code):
        bits = high >> 41
        yield bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63


class _Form:
    """What the text of an instruction tells."""

    def __init__(self, text: str) -> None:
        body = _GUARD.sub("", text)
        opcode, _, operands = body.partition(" ")
        base, *modifiers = opcode.split(".")
        unit = _UNIT_OF.get(base)
        if unit is None:
            unit = "uniform" if base.startswith("U") or base == "R2UR" else "alu"
        if base == "BAR" and "ARV" in modifiers:
            unit = "control"
        self.unit = NUMBER[unit]
        self.bytes = 16 if "128" in modifiers else 8 if "64" in modifiers else 4
        if base == "LDSM":
            self.bytes = 4 * int(modifiers[-1]) if modifiers[-1].isdigit() else 4
        match = _PENDING.search(operands)
        self.pending = int(match[1], 0) if match and base == "DEPBAR" and "LE" in modifiers else -1
        far = "STRONG" in modifiers and "SM" not in modifiers  # L1 is what an SM's own threads agree on
        self.past_l1 = int(far or "BYPASS" in modifiers)
        self.of_floats = int(any(part.startswith("F") and part[1:2].isdigit() for part in modifiers))
        self.reads_constant = int("c[0x0][" in operands and "c[0x0][0x28]" not in operands)  # 0x28: the stack's top
        # A tensor instruction of half the depth takes half the time; a TF32 one as long as one of twice the depth.
        self.interval = {"1688": 1 if "TF32" not in modifiers else 2, "16816": 2}.get(
            modifiers[0] if modifiers else "", 1
        )
        sources = operands.split(",")[1:]
        registers = [(position, match) for position, part in enumerate(sources) for match in _REGISTER.finditer(part)]
        self.sources = tuple((position, int(match[1])) for position, match in registers)
        self.kept = frozenset((position, int(match[1])) for position, match in registers if match[2])


@lru_cache(maxsize=1 << 16)
def _form(text: str) -> _Form:
    return _Form(text)
