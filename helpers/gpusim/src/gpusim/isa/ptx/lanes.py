"""Instructions of PTX by which the lanes of a warp exchange values. Reference: PTX ISA, 'shfl.sync', 'vote.sync',
'match.sync', 'redux.sync', 'activemask' and 'elect.sync'.
"""

from collections.abc import Callable

from gpusim.compiler.ptx import Statement
from gpusim.engine import accesses
from gpusim.isa.decoded import Decoded
from gpusim.isa.ptx.computations import Decode, computation
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.operands import Operands, items_of
from gpusim.isa.rules import Effect, Execute, Outcome


def shuffle(t: Operands, s: Statement) -> Outcome:
    """shfl{.sync}.{up,down,bfly,idx}.b32 d{|p}, a, lane, clamp {, mask}."""
    destinations, value, lane, control, *mask = s.operands
    destination, inside = (*items_of(destinations), None)[:2]
    slots = (t.target(destination), None if inside is None else t.target(inside))
    mode = next(part for part in s.modifiers if part in ("up", "down", "bfly", "idx"))
    named = t.read(mask[0], "u32") if mask else None
    execute = accesses.shuffle(mode, t.read(value, "b32"), t.read(lane, "u32"), t.read(control, "u32"), named)
    return Effect(slots, _naming(t, mask, execute))


def together(decode: Decode) -> Callable[[Operands, Statement], Outcome]:
    """The rule of what the lanes do that a mask names, the last operand if there is one."""

    def rule(t: Operands, s: Statement) -> Outcome:
        masks: list = []

        def without_mask(decoder: Decoder, statement: Statement) -> Decoded:
            decoded = decode(decoder, statement)
            if decoded.width[3]:
                masks.append(statement.operands[-1])
            decoded.width[3] = 0
            return decoded

        one = computation(t, s, without_mask)
        return Effect(one.writes, _naming(t, masks, one.exchange))

    return rule


def _naming(t: Operands, mask: list, execute: Execute) -> Execute:
    """Who takes part is who is there with the same mask; whether it names the right lanes, the sanitizer looks at."""
    if not mask:
        return execute
    named = t.read(mask[0], "u32")
    return accesses.naming_lanes(named, accesses.by_mask(named, execute))
