"""Instructions of SASS that exchange values between the lanes of a warp."""

from gpusim.compiler import sass
from gpusim.engine import accesses
from gpusim.isa.computing import exchanged
from gpusim.isa.rules import Effect
from gpusim.isa.sass.computations import computation
from gpusim.isa.sass.decoding import lanes
from gpusim.isa.sass.operands import U4, Operands, chosen, exactly


def shuffle(t: Operands, s: sass.Statement) -> Effect:
    """SHFL.{IDX,UP,DOWN,BFLY} p, d, a, lane, clamp."""
    inside, destination, value, lane, control = exactly(s, 5)
    mode = chosen(s, {"IDX": "idx", "UP": "up", "DOWN": "down", "BFLY": "bfly"})
    slots = (t.target(destination), t.target(inside))
    return Effect(slots, accesses.shuffle(mode, t.bits(value), t.read(lane, U4), t.read(control, U4)))


def to_uniform(t: Operands, s: sass.Statement) -> Effect:
    """R2UR {p,} d, a: what the active lanes of a warp agree on becomes a register of the warp.

    Where they differ it is the first one's (.BROADCAST), and p is true in those that have another value; .OR keeps what
    was true. So a loop goes through the values, such as handles of textures, one after the other.
    """
    one = computation(t, s, lanes.to_uniform)
    if one.predicates_written:
        return exchanged(one)
    value = t.bits(s.operands[-1])

    def execute(wave, registers, mask):
        found = value(registers)
        return (found,) if found.ndim == 0 else one.exchange(wave, registers, mask)

    return Effect(one.writes, execute)
