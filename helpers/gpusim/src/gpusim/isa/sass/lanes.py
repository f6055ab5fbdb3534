"""Instructions of SASS that exchange values between the lanes of a warp."""

import numpy as np

from gpusim.compiler import sass
from gpusim.engine import accesses
from gpusim.errors import Unknown
from gpusim.isa.rules import Effect
from gpusim.isa.sass.operands import (
    I4,
    U4,
    Operands,
    at_least,
    chosen,
    exactly,
    is_predicate,
    is_register,
)


def shuffle(t: Operands, s: sass.Statement) -> Effect:
    """SHFL.{IDX,UP,DOWN,BFLY} p, d, a, lane, clamp."""
    inside, destination, value, lane, control = exactly(s, 5)
    mode = chosen(s, {"IDX": "idx", "UP": "up", "DOWN": "down", "BFLY": "bfly"})
    slots = (t.target(destination), t.target(inside))
    return Effect(slots, accesses.shuffle(mode, t.bits(value), t.read(lane, U4), t.read(control, U4)))


def vote(t: Operands, s: sass.Statement) -> Effect:
    """VOTE.{ALL,ANY,EQ} {d,} p, q: p = all (any, all equal) of the active lanes' q; d = the ballot of q."""
    mode = chosen(s, {"ALL": "all", "ANY": "any", "EQ": "uni"})
    *results, condition = at_least(s, 2, 3)
    asked = t.truth(condition)
    ballot = next((operand for operand in results if is_register(operand)), None)
    answer = next((operand for operand in results if is_predicate(operand)), None)
    wanted = [(ballot, accesses.vote("ballot", asked)), (answer, accesses.vote(mode, asked))]
    wanted = [(t.target(operand), execute) for operand, execute in wanted if operand is not None]
    slots = tuple(slot for slot, _ in wanted)

    def execute(wave, registers, mask):
        return tuple(
            part(wave, registers, mask)[0] if slot is not None else None for slot, part in wanted
        )  # fmt: skip

    return Effect(slots, execute)


def reduce_warp(t: Operands, s: sass.Statement) -> Effect:
    """REDUX{.SUM,.MIN,.MAX,.OR,.XOR}{.S32} d, a: without a word it is AND. CREDUX.{MIN,MAX} are sm_100's."""
    destination, a = exactly(s, 2)
    names = {"SUM": "add", "MIN": "min", "MAX": "max", "AND": "and", "OR": "or", "XOR": "xor"}
    operation = chosen(s, names, "and")
    dtype = I4 if s.has("S32") else U4
    execute = accesses.reduce_warp(operation, dtype, t.read(a, dtype))
    return Effect((t.target(destination),), lambda wave, r, mask: (execute(wave, r, mask)[0].view(I4),))


def match(t: Operands, s: sass.Statement) -> Effect:
    """MATCH.ANY d, a: the lanes with the same value; MATCH.ALL p, d, a: all lanes if all are equal, and whether."""
    *results, a = at_least(s, 2, 3)
    value = t.wide(a) if s.has("U64") else t.read(a)
    destination = next((operand for operand in results if is_register(operand)), None)
    answer = next((operand for operand in results if is_predicate(operand)), None)
    if destination is None:
        raise Unknown("its form without a register")
    found = accesses.match("all" if s.has("ALL") else "any", value)

    def execute(wave, registers, mask):
        lanes, equal = found(wave, registers, mask)
        return lanes.view(I4), equal

    return Effect((t.target(destination), t.target(answer) if answer is not None else None), execute)


def elect(t: Operands, s: sass.Statement) -> Effect:
    """ELECT p, {d,} {q}: p is true for the lowest active lane of a warp, whose number is d (PTX ISA, 'elect.sync')."""
    answer, *others = at_least(s, 1, 3)
    number_slot = t.target(others[0]) if others and is_register(others[0]) else None
    if len(others) == 2 and t.predicate(others[1]) is not None:
        raise Unknown("its form with a condition")
    return Effect((t.target(answer), number_slot), accesses.elect)


def to_uniform(t: Operands, s: sass.Statement) -> Effect:
    """R2UR {p,} d, a: what the active lanes of a warp agree on becomes a register of the warp.

    Where they differ it is the first one's (.BROADCAST), and p is true in those that have another value; .OR keeps what
    was true.
    So a loop goes through the values, such as handles of textures, one after the other.
    """
    *uniformity, destination, source = at_least(s, 2, 3)
    if uniformity and not is_predicate(uniformity[0]):
        raise Unknown("its form with three registers")
    differs = t.target(uniformity[0]) if uniformity else None
    before = t.truth(uniformity[0]) if s.has("OR") and differs is not None else None
    value = t.bits(source)

    def execute(wave, registers, mask):
        found = value(registers)
        if differs is None and (mask is None or found.ndim == 0):
            return (found, None)
        lanes = accesses.by_warp(wave, found)
        first = accesses.active_lanes(wave, mask).argmax(axis=2)[..., None]
        one = accesses.by_thread(wave, np.broadcast_to(np.take_along_axis(lanes, first, axis=2), lanes.shape))
        if differs is None:
            return (one, None)
        return one, (found != one) | (before(registers) if before else np.False_)

    return Effect((t.target(destination), differs), execute)
