"""What the lanes of a warp exchange."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import chosen, exactly, is_predicate, is_register


def shuffle(t: Decoder, s: sass.Statement) -> Decoded:
    """SHFL.{IDX,UP,DOWN,BFLY} p, d, a, lane, clamp."""
    inside, destination, value, lane, control = exactly(s, 5)
    i = Decoded("shuffle")
    i.number[0] = chosen(s, {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3})
    i.p_out[0] = t.kept(inside)
    t.writes(i, destination)
    for position, operand in enumerate((value, lane, control)):
        t.read(i, position, operand)
    return i


def vote(t: Decoder, s: sass.Statement) -> Decoded:
    *results, condition = s.operands
    i = Decoded("vote")
    i.number[0] = chosen(s, {"ALL": 0, "ANY": 1, "EQ": 2})
    i.p_in[0] = t.predicate(condition)
    for operand in results:
        if is_register(operand):
            t.writes(i, operand)
        else:
            i.p_out[0] = t.kept(operand)
            i.uniform |= operand.file == "UP"
    return _for_warp(i)


def _for_warp(i: Decoded) -> Decoded:
    """It asks the active lanes, whichever gets the answer."""
    i.flags |= form.FOR_WARP * i.uniform
    i.uniform = False
    return i


def reduce_warp(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("reduce warp", flags=int(s.has("S32")))
    i.number[0] = chosen(s, {"SUM": 0, "MIN": 1, "MAX": 2, "AND": 3, "OR": 4, "XOR": 5}, 3)
    t.writes(i, destination)
    t.read(i, 0, a)
    return _for_warp(i)


def match(t: Decoder, s: sass.Statement) -> Decoded:
    *results, a = s.operands
    destination = next((operand for operand in results if is_register(operand)), None)
    if destination is None:
        raise NotDecoded("its form without a register")
    answer = next((operand for operand in results if is_predicate(operand)), None)
    i = Decoded("match", flags=4 * s.has("ALL"))
    t.writes(i, destination)
    i.p_out[0] = t.kept(answer)
    t.read(i, 0, a, "w" if s.has("U64") else "i")
    return i


def elect(t: Decoder, s: sass.Statement) -> Decoded:
    answer, *others = s.operands
    i = Decoded("elect")
    i.p_out[0] = t.kept(answer)
    if others and is_register(others[0]):
        t.writes(i, others[0])
    if len(others) == 2 and t.predicate(others[1]) != ALWAYS:
        raise NotDecoded("its form with a condition")
    return _for_warp(i)


def to_uniform(t: Decoder, s: sass.Statement) -> Decoded:
    """R2UR {p,} d, a: what the active lanes of a warp agree on becomes a register of the warp.

    Where they differ it is the first one's (.BROADCAST), and p is true in those that have another value; .OR keeps what
    was true. So a loop goes through the values, such as handles of textures, one after the other.
    """
    *between, destination, source = s.operands
    if between and not is_predicate(between[0]):
        raise NotDecoded("its form with three registers")
    i = Decoded("to uniform")
    if between and between[0].number is not None:
        i.p_out[0], i.flags = t.kept(between[0]), 1 | 2 * s.has("OR")
    t.writes(i, destination)
    i.uniform = False  # what the active lanes say counts, and no other lanes'
    t.read(i, 0, source)
    return i
