"""What the engine in NumPy and the sanitizer want to know of an instruction, from its decoded form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpusim.engine.lanewise import CONSTANTS, Computation, Part
from gpusim.isa.decoded import ALWAYS, COMBINE, COMPUTES, NEGATED, NEVER_KEPT
from gpusim.isa.effects import OPERATIONS_WITH_EFFECT, effect_of, named_lanes
from gpusim.isa.flow import OPERATIONS_OF_FLOW, flow_of
from gpusim.isa.rules import Compute, Effect, Execute, Outcome, Reader, both_count, one_of_two
from gpusim.isa.values import I4, Values

COMPARISONS = ("compare", "compare extended", "compare wide", "compare typed", "float compare", "double compare")
MOVES, SELECTIONS, LOGIC_OF_PREDICATES = ("move", "move two"), ("select", "select wide"), "predicate logic3"
CHOOSE = frozenset((*COMPARISONS, *SELECTIONS, LOGIC_OF_PREDICATES))  # whose answer may not depend on all they read
COMBINED = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)  # by COMBINE
LOGIC = {0xC0: COMBINED[0], 0xFC: COMBINED[1], 0x3C: COMBINED[2]}  # by the table of two predicates


# What the lanes of a warp make together of values that they bring.
EXCHANGES = frozenset((
    "vote", "match", "reduce warp", "elect", "to uniform", "transpose matrix", "widen matrix", "multiply matrices",
    "multiply integers", "multiply doubles",
))  # fmt: skip
NAME_LANES = frozenset(("vote", "match", "reduce warp", "elect"))  # by the last source, if there is one


DO_MORE = EXCHANGES | OPERATIONS_OF_FLOW | OPERATIONS_WITH_EFFECT


def outcome_of(computation: Computation, operands) -> Outcome:
    """What a rule answers for an instruction that is decoded. operands: those of its level."""
    decoded = computation.decoded
    if decoded.kind == COMPUTES and decoded.operation not in DO_MORE:
        return computed(computation)
    if decoded.operation in EXCHANGES:
        return _exchanged(computation, operands)
    values = Values(computation, operands)
    return flow_of(values) or effect_of(values)


def computed(computation: Computation) -> Compute:
    """The same of one that reads registers and writes registers."""
    decoded = computation.decoded
    operation = decoded.operation
    if operation not in CHOOSE:
        copies = operation in MOVES and computation.copies
        return Compute(computation.writes, computation.evaluate, computation=computation, copies=copies)
    outcome = Compute(computation.writes, computation.evaluate, computation=computation, copies=computation.copies)
    if operation in SELECTIONS:
        if not all(map(_is_single, computation.sources[:2])):
            return outcome
        chosen = tuple(_slots(source) for source in computation.sources[:2])
        return outcome._replace(chooses=one_of_two(_truth(computation, decoded.p_in[0])), chosen=chosen)
    if operation == LOGIC_OF_PREDICATES:
        is_plain = not computation.copies and not decoded.number[1] and decoded.p_out[1] == NEVER_KEPT
        return _of_predicates(outcome, computation) if is_plain else outcome
    if decoded.p_out[0] != NEVER_KEPT and decoded.p_out[1] == NEVER_KEPT:
        return _with_both_sides(outcome, computation)
    return outcome


def _exchanged(computation: Computation, operands) -> Effect:
    """The same of one that the lanes of a warp execute together."""
    if computation.decoded.operation == "to uniform" and not computation.predicates_written:
        return Effect(computation.writes, _same_already(computation, operands))
    if computation.decoded.operation not in NAME_LANES or not computation.decoded.width[3]:
        return Effect(computation.writes, computation.exchange)
    alone = replace(computation.decoded, width=[*computation.decoded.width[:3], 0])
    among_lanes = replace(computation, decoded=alone, sources=(*computation.sources[:3], ()))
    return Effect(computation.writes, named_lanes(Values(computation, operands), among_lanes.exchange))


def _same_already(computation: Computation, operands) -> Execute:
    """What the lanes agree on, where they may have one value in common as it is."""
    value = Values(computation, operands).source(0, I4)

    def execute(wave, registers, mask):
        operand = value(registers)
        return (operand,) if operand.ndim == 0 else computation.exchange(wave, registers, mask)

    return execute


def _with_both_sides(outcome: Compute, computation: Computation) -> Compute:
    """Of a comparison whose answer is combined with another predicate: which of the two may decide alone."""
    decoded, tested = computation.decoded, ()
    if all(map(_is_single, computation.sources[:2])):
        below = (
            [computation.predicates[decoded.p_in[1] & ~NEGATED]]
            if decoded.p_in[1] & ~NEGATED in computation.predicates
            else []
        )
        tested = tuple(dict.fromkeys((*_slots(computation.sources[0]), *_slots(computation.sources[1]), *below)))
    combine = decoded.number[1]
    if decoded.p_in[0] == ALWAYS and combine == COMBINE["AND"]:
        return outcome._replace(chosen=(tested, ()))
    alone = replace(
        decoded, p_in=[ALWAYS, *decoded.p_in[1:]], number=[decoded.number[0], COMBINE["AND"], *decoded.number[2:]]
    )
    chooses = both_count(
        COMBINED[combine], replace(computation, decoded=alone).evaluate, _truth(computation, decoded.p_in[0])
    )
    other = computation.predicates.get(decoded.p_in[0] & ~NEGATED)
    return outcome._replace(chooses=chooses, chosen=(tested, () if other is None else (other,)))


def _of_predicates(outcome: Compute, computation: Computation) -> Compute:
    """Of and, or, xor: either of the two predicates may decide alone."""
    decoded = computation.decoded
    slots = [computation.predicates.get(which & ~NEGATED) for which in decoded.p_in[:2]]
    first, second = (() if slot is None else (slot,) for slot in slots)
    if decoded.number[0] not in LOGIC:
        return outcome._replace(chosen=(first, ()))
    values = (_truth(computation, which) for which in decoded.p_in[:2])
    return outcome._replace(chooses=both_count(LOGIC[decoded.number[0]], *values), chosen=(first, second))


def _is_single(source: Sequence[Part | int]) -> bool:
    """Whether a source is one register at most, and not a pair of them."""
    return len({part.slot for part in source if isinstance(part, Part)}) <= 1


def _slots(source: Sequence[Part | int]) -> tuple[int, ...]:
    """The registers of a source; its constants are none."""
    return tuple(dict.fromkeys(part.slot for part in source if isinstance(part, Part) and part.row < CONSTANTS))


def _truth(computation: Computation, which: int) -> Reader:
    """How to get a predicate as bool."""
    slot, negated = computation.predicates.get(which & ~NEGATED), bool(which & NEGATED)
    if slot is None:
        return lambda registers: np.bool_(not negated)
    if negated:
        return lambda registers: np.logical_not(registers[slot])
    return lambda registers: registers[slot]
