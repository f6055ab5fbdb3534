"""How far a kernel's machine code stands between a load from shared memory and the first use of what it brings.

A warp does not wait for a load where it asks, but where it uses the value: what lies between is time that is hidden.
The source does not decide it, the compiler does.
"""

from __future__ import annotations

from gemm_kernels import Kernel, Launch, OwnKernel
from gpusim import compiler
from gpusim.compiler import listing, sass
from helpers import run
from helpers.pictures import CannotTell

WIDE = 4  # registers that a load of 128 bits fills


def load_to_use(kernel: Kernel | OwnKernel | Launch) -> tuple[int, ...]:
    """Instructions from each 128-bit load from shared memory to the first one that uses its value, in the code's order.

    A load whose value is used behind a jump back, or nowhere, is left out. CannotTell without nvdisasm.
    """
    compiled = run.compiled(kernel)
    try:
        code = listing.parse(compiled).statements
    except (compiler.NvdisasmMissing, compiler.DisassemblyError) as error:
        raise CannotTell(str(error)) from error
    distances = []
    for position, load in enumerate(code):
        if load.base == "LDS" and load.has("128"):
            first = load.operands[0].number
            filled = set(range(first, first + WIDE))
            later = (n for n, statement in enumerate(code[position + 1 :], 1) if filled & _read(statement))
            distances += [distance for distance in later][:1]
    return tuple(distances)


def _read(statement: sass.Statement) -> set[int | None]:
    """Numbers of the registers that an instruction reads: all operands, but for what it writes."""
    values = statement.operands if statement.base.startswith("ST") else statement.operands[1:]
    read = [part for part in values if isinstance(part, sass.Register)]
    read += [part for operand in statement.operands if isinstance(operand, sass.Address) for part in operand.registers]
    return {register.number for register in read if register.file == "R"}
