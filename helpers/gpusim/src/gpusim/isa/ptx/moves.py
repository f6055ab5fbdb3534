"""mov and isspacep of PTX where they do more than compute. Reference: PTX ISA, 'Data Movement and Conversion
Instructions'.
"""

import numpy as np

from gpusim.compiler.ptx import Special, Statement, Symbol
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.run import CLOCKS, SPECIAL_REGISTERS, UPPER_CLOCKS
from gpusim.errors import Unknown
from gpusim.isa.ptx.computations import computes
from gpusim.isa.ptx.decoding import moves
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import Effect, Outcome

MOVED, IN_SPACE = computes(moves.move), computes(moves.is_in_space)


def move(t: Operands, s: Statement) -> Outcome:
    """mov.type d, a: a register, a constant, a special register, an address; packing and unpacking of vectors."""
    destination, source = s.operands
    if isinstance(source, Special) and source.name != "WARP_SZ":
        return _move_special(t, destination, source.name.removeprefix("%"))
    if isinstance(source, Symbol) and source.name in t.parameters:
        if not t.has_constants_of_the_grid:
            raise Unknown(f"the address of {source.name}")
        offset = np.int64(t.parameters[source.name].offset)
        return Effect(
            (t.target(destination),), lambda wave, registers, mask: (np.int64(wave.launch.parameters_at) + offset,)
        )
    return MOVED(t, s)


def _move_special(t: Operands, destination, name: str) -> Outcome:
    if name not in SPECIAL_REGISTERS:
        raise Unknown(f"the special register %{name}")
    if name in CLOCKS or name in UPPER_CLOCKS:
        return Effect((t.target(destination),), lambda wave, registers, mask: (wave.time(name, mask),))
    return Effect((t.target(destination),), lambda wave, registers, mask: (wave.special_value(name),))


def is_in_space(t: Operands, s: Statement) -> Outcome:
    """isspacep.space p, a: whether a generic address lies in a state space."""
    space, _, window = s.opcode[1].partition("::")
    if space != "shared" or window == "cluster":
        return IN_SPACE(t, s)
    destination, source = s.operands
    a, (start, stop) = t.read(source, "s64"), moves.WINDOWS[space]

    def in_own_block(wave, registers, mask):
        address = a(registers)
        rank = address - start >> RANK_SHIFT  # plus one, 0 for the own block (`clusters`)
        own = (rank == 0) | (rank == wave.special["cluster_ctarank"] + 1)
        return ((address >= start) & (address < stop) & own,)

    return Effect((t.target(destination),), in_own_block)
