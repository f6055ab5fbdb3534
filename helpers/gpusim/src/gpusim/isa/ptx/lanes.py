"""Instructions of PTX by which the lanes of a warp exchange values. Reference: PTX ISA, 'shfl.sync', 'vote.sync',
'match.sync', 'redux.sync', 'activemask' and 'elect.sync'.
"""

from gpusim.compiler.ptx import Statement
from gpusim.engine import accesses
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands, dtype_of, items_of
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


def vote(t: Operands, s: Statement) -> Outcome:
    """vote{.sync}.{all,any,uni}.pred p, q {, mask}; vote{.sync}.ballot.b32 d, q {, mask}."""
    destination, condition, *mask = s.operands
    mode = next(part for part in s.modifiers if part in ("all", "any", "uni", "ballot"))
    return Effect((t.target(destination),), _naming(t, mask, accesses.vote(mode, t.read(condition, "pred"))))


def match(t: Operands, s: Statement) -> Outcome:
    """match.any.sync.type d, a, mask; match.all.sync.type d{|p}, a, mask."""
    destinations, value, *mask = s.operands
    destination, equal = (*items_of(destinations), None)[:2]
    slots = (t.target(destination), None if equal is None else t.target(equal))
    return Effect(slots, _naming(t, mask, accesses.match(s.opcode[1], t.read(value, s.type))))


def active_mask(t: Operands, s: Statement) -> Outcome:
    """activemask.b32 d."""
    return Effect((t.target(s.operands[0]),), accesses.active_mask())


def elect(t: Operands, s: Statement) -> Outcome:
    """elect.sync d|p, mask: p is true for the lowest lane that is there, whose number is d."""
    destinations, mask = s.operands
    number, answer = items_of(destinations)
    return Effect((t.target(answer), t.target(number)), _naming(t, [mask], accesses.elect))


def reduce(t: Operands, s: Statement) -> Outcome:
    """redux.sync.op.type d, a, mask."""
    destination, value, *mask = s.operands
    name = s.opcode[2]
    if name not in accesses.REDUCTIONS or s.type not in ("u32", "s32", "b32"):
        raise Unknown(f"the reduction .{name} of {s.type}")
    execute = accesses.reduce_warp(name, dtype_of(s.type), t.read(value, s.type))
    return Effect((t.target(destination),), _naming(t, mask, execute))


def _naming(t: Operands, mask: list, execute: Execute) -> Execute:
    """Who takes part is who is there with the same mask; whether it names the right lanes, the sanitizer looks at."""
    if not mask:
        return execute
    named = t.read(mask[0], "u32")
    return accesses.naming_lanes(named, accesses.by_mask(named, execute))
