"""Functions that the system provides to machine code: printf, assert and malloc."""

import numpy as np

from gpusim.compiler import sass
from gpusim.engine import heap, printf
from gpusim.errors import UnsupportedInstruction
from gpusim.isa.rules import Effect
from gpusim.isa.sass.operands import Operands, at_least
from gpusim.isa.values import halves

FUNCTIONS = {
    "vprintf": printf.vprintf, "__assertfail": printf.assert_fail, "malloc": heap.malloc, "free": heap.free,
    "__trap": printf.trap, "__brkpt": printf.trap,
}  # fmt: skip
FUNCTION_ADDRESSES = {name: (1 << 62) + 16 * number for number, name in enumerate(FUNCTIONS, 1)}


def call(t: Operands, s: sass.Statement) -> Effect:
    """CALL.ABS.NOINC R8: a function that the system provides, such as printf, at a 64-bit address; or by its name.

    Arguments are in R4:R5, R6:R7 and so on; the return address is that of the next instruction.
    """
    function = at_least(s, 1)[-1]
    named = np.int64(FUNCTION_ADDRESSES[function.name]) if isinstance(function, sass.Label) else None
    target = t.wide(function) if named is None else lambda registers: named
    arguments = [t.wide(sass.Register("R", number)) for number in (4, 6)]
    by_address = {address: FUNCTIONS[name] for name, address in FUNCTION_ADDRESSES.items()}

    def execute(wave, registers, mask):
        where = np.broadcast_to(target(registers), wave.shape)
        where = int(where.reshape(-1)[0] if mask is None else where[mask][0])
        if where not in by_address:
            raise UnsupportedInstruction(f"{wave.program.name} calls a function through a pointer (`{s.text}`).")
        wave.call_parameters = {number: argument(registers) for number, argument in enumerate(arguments)}
        address = by_address[where](wave, registers, mask)
        return (np.int32(0), np.int32(0)) if address is None else halves(address)

    return Effect((t.slot("R4"), t.slot("R5")), execute)
