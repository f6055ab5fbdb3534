"""Instructions of PTX by which the lanes of a warp exchange values. Reference: PTX ISA, 'shfl.sync', 'vote.sync',
'match.sync', 'redux.sync', 'activemask' and 'elect.sync'.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import Statement
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.operands import items_of


def _named(t: Decoder, i: Decoded, mask: Sequence) -> Decoded:
    """The lanes that a function of the warp names."""
    if mask:
        t.read(i, 3, mask[0], "u32")
    return i


def _with_predicate(t: Decoder, i: Decoded, destinations, mask: Sequence) -> Decoded:
    """A result, with a predicate behind it or without one."""
    result, *predicate = items_of(destinations)
    t.writes(i, result, 4)
    if predicate:
        i.p_out[0] = t.kept(predicate[0])
    return _named(t, i, mask)


def shuffle(t: Decoder, s: Statement) -> Decoded:
    """shfl{.sync}.{up,down,bfly,idx}.b32 d{|p}, a, lane, clamp {, mask}."""
    destinations, value, lane, control, *mask = s.operands
    mode = next(part for part in s.modifiers if part in ("idx", "up", "down", "bfly"))
    i = Decoded("shuffle", number=[("idx", "up", "down", "bfly").index(mode), 0, 0, 0])
    t.read(i, 0, value, "b32")
    t.read(i, 1, lane, "u32")
    t.read(i, 2, control, "u32")
    return _with_predicate(t, i, destinations, mask)


def vote(t: Decoder, s: Statement) -> Decoded:
    destination, condition, *mask = s.operands
    mode = next(part for part in s.modifiers if part in ("all", "any", "uni", "ballot"))
    i = Decoded("vote", number=[{"all": 0, "any": 1, "uni": 2}.get(mode, 0), 0, 0, 0])
    i.p_in[0] = t.predicate(condition)
    if mode == "ballot":
        t.writes(i, destination, 4)
    else:
        i.p_out[0] = t.kept(destination)
    return _named(t, i, mask)


def match(t: Decoder, s: Statement) -> Decoded:
    destinations, value, *mask = s.operands
    i = Decoded("match", flags=4 * (s.opcode[1] == "all"))
    t.read(i, 0, value, s.type)
    return _with_predicate(t, i, destinations, mask)


def reduce(t: Decoder, s: Statement) -> Decoded:
    destination, value, *mask = s.operands
    names = ("add", "min", "max", "and", "or", "xor")
    if s.opcode[2] not in names or s.type not in ("u32", "s32", "b32"):
        raise NotDecoded(f"the reduction .{s.opcode[2]} of {s.type}")
    i = Decoded("reduce warp", flags=int(s.type == "s32"), number=[names.index(s.opcode[2]), 0, 0, 0])
    t.read(i, 0, value, s.type)
    t.writes(i, destination, 4)
    return _named(t, i, mask)


def active_mask(t: Decoder, s: Statement) -> Decoded:
    i = Decoded("vote", number=[0, 0, 0, 0])
    t.writes(i, s.operands[0], 4)
    return i


def elect(t: Decoder, s: Statement) -> Decoded:
    destinations, *mask = s.operands
    return _with_predicate(t, Decoded("elect"), destinations, mask)
