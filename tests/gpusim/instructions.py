"""Single instructions of PTX as functions of arrays: what the C program computes, without a kernel around it."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from gpusim.compiler import ptx
from gpusim.engine.ir import Registers
from gpusim.isa.ptx.linking import Linked
from gpusim.isa.ptx.opcodes import OPCODES
from gpusim.isa.ptx.operands import Operands

DECLARATIONS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .pred %p<6>;
    .reg .b16 %h<6>;
    .reg .b32 %r<6>;
    .reg .b64 %d<6>;
    .reg .f32 %f<6>;
    .reg .f64 %g<6>;
"""
FILES = {np.dtype(np.float32): "f", np.dtype(np.float64): "g", np.dtype(bool): "p"}
FILES_BY_BYTES = {1: "r", 2: "h", 4: "r", 8: "d"}  # of others: a register that has room


def parsed(*texts: str) -> tuple[Operands, tuple[ptx.Statement, ...]]:
    """Statements, with what their operands are.

    Registers are %p, %h (16 bits), %r, %d (64 bits), %f and %g (float64).
    """
    module = ptx.parse(DECLARATIONS + "".join(f"    {text};\n" for text in texts) + "}\n")
    kernel = SimpleNamespace(
        arch="sm_90a", cubin=b"", lowered_name="k", source="", parameters=(), debug=False, cluster=None
    )
    return Operands(kernel, module, Linked(module.functions["k"])), module.functions["k"].statements


def computed(opcode: str, result: type, *operands) -> np.ndarray:
    """What an instruction makes of operands whose shapes broadcast: "fma.rn.f32", np.float32, a, b, c."""
    arrays = np.broadcast_arrays(*operands)
    files = [_file(np.dtype(result)), *(_file(array.dtype) for array in arrays)]
    outcome, given, initial = _instruction(opcode, tuple(files))
    registers = Registers(initial)
    for slot, array in zip(given, arrays, strict=True):
        wide = array.astype(np.int32) if array.dtype.itemsize == 1 and array.dtype != bool else array
        registers[slot] = np.ascontiguousarray(wide).reshape(-1).view(initial[slot].dtype)
    value = outcome.evaluate(registers)
    narrow = value.view(np.int32).astype(result) if np.dtype(result).itemsize == 1 else value.view(result)
    return narrow.reshape(arrays[0].shape)[()]


def _file(dtype: np.dtype) -> str:
    return FILES.get(dtype) or FILES_BY_BYTES[dtype.itemsize]


@cache
def _instruction(opcode: str, files: tuple[str, ...]):
    names = [f"%{file}{number}" for number, file in enumerate(files)]
    operands, (statement,) = parsed(f"{opcode} {', '.join(names)}")
    outcome = OPCODES[statement.name].outcome(operands, statement)
    return outcome, [operands.slots[name] for name in names[1:]], operands.initial
