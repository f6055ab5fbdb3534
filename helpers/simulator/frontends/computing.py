"""What the engine in NumPy and the sanitizer want to know of an instruction that computes, from its decoded form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helpers.simulator.engine.lanewise import CONSTANTS, Computation, Part
from helpers.simulator.frontends.decoded import ALWAYS, COMBINE, NEGATED, NEVER_KEPT
from helpers.simulator.frontends.rules import Compute, Reader, both_count, one_of_two

COMPARE_WORDS = ("compare", "compare extended", "float compare")  # of 32 bits: what they compare may be undefined
COMPARISONS = (*COMPARE_WORDS, "compare wide", "double compare")
COMBINED = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)  # by COMBINE


def computed(one: Computation) -> Compute:
    """What a rule answers for an instruction that is decoded."""
    outcome = Compute(one.writes, one.evaluate, computation=one, copies=one.copies)
    decoded = one.decoded
    if decoded.operation == "select":
        chosen = tuple(_slots(source) for source in one.sources[:2])
        return outcome._replace(chooses=one_of_two(_truth(one, decoded.p_in[0])), chosen=chosen)
    if decoded.operation in COMPARISONS and decoded.p_out[0] != NEVER_KEPT and decoded.p_out[1] == NEVER_KEPT:
        return _with_both_sides(outcome, one)
    return outcome


def _with_both_sides(outcome: Compute, one: Computation) -> Compute:
    """Of a comparison whose answer is combined with another predicate: which of the two may decide alone."""
    decoded, tested = one.decoded, ()
    if decoded.operation in COMPARE_WORDS:
        below = [one.predicates[decoded.p_in[1] & ~NEGATED]] if decoded.p_in[1] & ~NEGATED in one.predicates else []
        tested = (*_slots(one.sources[0]), *_slots(one.sources[1]), *below)
    combine = decoded.number[1]
    if decoded.p_in[0] == ALWAYS and combine == COMBINE["AND"]:
        return outcome._replace(chosen=(tested, ()))
    alone = replace(
        decoded, p_in=[ALWAYS, *decoded.p_in[1:]], number=[decoded.number[0], COMBINE["AND"], *decoded.number[2:]]
    )
    chooses = both_count(COMBINED[combine], replace(one, decoded=alone).evaluate, _truth(one, decoded.p_in[0]))
    other = one.predicates.get(decoded.p_in[0] & ~NEGATED)
    return outcome._replace(chooses=chooses, chosen=(tested, () if other is None else (other,)))


def _slots(source: Sequence[Part | int]) -> tuple[int, ...]:
    """The registers of a source; its constants are none."""
    return tuple(part.slot for part in source if isinstance(part, Part) and part.row < CONSTANTS)


def _truth(one: Computation, which: int) -> Reader:
    """How to get a predicate as bool."""
    slot, negated = one.predicates.get(which & ~NEGATED), bool(which & NEGATED)
    if slot is None:
        return lambda registers: np.bool_(not negated)
    if negated:
        return lambda registers: np.logical_not(registers[slot])
    return lambda registers: registers[slot]
