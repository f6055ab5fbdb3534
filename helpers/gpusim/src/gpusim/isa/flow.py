"""What NumPy does for an instruction that says what comes next, from its decoded form: branches, barriers, the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.engine import clusters
from gpusim.engine.accesses import active_lanes, by_thread, by_warp
from gpusim.engine.named_barriers import counted
from gpusim.isa import calls, decoded as form
from gpusim.isa.decoded import BY_POINTER
from gpusim.isa.rules import (
    Barrier,
    Branch,
    ClusterBarrier,
    Condition,
    Effect,
    Execute,
    Exit,
    Meeting,
    Outcome,
    Reader,
    WarpBarrier,
    no_function,
)
from gpusim.isa.values import I4, I8, Values

DIV, CONV, OF_ALL, OF_ANY = 1, 2, 4, 8  # flags of a branch
ARRIVES_ONLY, LEAVES_RESULT = 1, 2  # of a barrier
COLLECTIVE, EXCLUSIVE = 1, 2  # of a barrier of a warp
NUMBERS, THREADS = np.int32(15), np.int32(0xFFF)
VOTES, YES, VOTERS = "votes at a barrier", "true votes at a named barrier", "voters at a named barrier"
COUNT, ALL = 0, 1  # what is made of votes; or whether there is one
ALL_LANES = np.uint32(0xFFFFFFFF)


# ---- branches


def _condition(v: Values) -> Condition | None:
    """That of an instruction which has a predicate operand beside its guard: both must be true. None without one."""
    own, guard = v.truth(v.decoded.p_in[0]), v.truth(v.decoded.guard)
    if own is None:
        return None
    if guard is None:
        return lambda wave, registers: own(registers)
    return lambda wave, registers: guard(registers) & own(registers)


def _guard(v: Values) -> Condition | None:
    guard = v.truth(v.decoded.guard)
    return None if guard is None else lambda wave, registers: guard(registers)


def _branch(v: Values) -> Branch:
    """DIV: it is taken if lanes of a mask are missing, CONV: if none is. Lanes whose guard is false count as missing,
    and go where the others go.

    OF_ALL: it is taken if its condition is true for all threads that come here together; else none of them takes it.
    OF_ANY: if it is true for one.
    """
    decoded = v.decoded
    targets, flags = (decoded.target,), decoded.flags
    if flags & (OF_ALL | OF_ANY):
        own = _condition(v) or _guard(v)
        if own is None:
            return Branch(targets)
        agree = _one_says if flags & OF_ANY else _all_agree
        return Branch(targets, condition=lambda wave, registers: agree(wave, own(wave, registers)))
    if not flags & (DIV | CONV):
        return Branch(targets, condition=_condition(v))
    named = v.source(0) if decoded.width[0] else (lambda registers: ALL_LANES)
    present = _guard(v) or (lambda wave, registers: np.True_)
    missing = lambda wave, r: _some_are_missing(wave, named(r), present(wave, r))  # noqa: E731
    if flags & DIV:
        return Branch(targets, condition=missing)
    return Branch(targets, condition=lambda wave, registers: np.logical_not(missing(wave, registers)))


def _all_agree(wave, value):
    """Whether a condition is true for all threads of the group of a warp that runs."""
    result = np.zeros(active_lanes(wave, None).shape, bool)
    for layer in [wave.mask] if wave.groups is None else wave.groups.layers(wave.mask):
        here = active_lanes(wave, layer)
        result |= here & ~(here & ~by_warp(wave, value)).any(axis=2, keepdims=True)
    return by_thread(wave, result) if result.any() else np.False_


def _one_says(wave, value):
    """Whether a condition is true for a thread of the group of a warp that runs."""
    result = np.zeros(active_lanes(wave, None).shape, bool)
    for layer in [wave.mask] if wave.groups is None else wave.groups.layers(wave.mask):
        here = active_lanes(wave, layer)
        result |= here & (here & by_warp(wave, value)).any(axis=2, keepdims=True)
    return by_thread(wave, result) if result.any() else np.False_


def _some_are_missing(wave, named, own):
    """Whether a lane that a mask names is in the warp, alive, and not one of this group of threads for which `own` is
    true."""
    alive = active_lanes(wave, None if wave.exited is None else ~wave.exited)
    bit, masks, own = np.uint32(1) << np.arange(32, dtype=np.uint32), by_warp(wave, named), by_warp(wave, own)
    result = np.zeros(alive.shape, bool)
    for layer in [wave.mask] if wave.groups is None else wave.groups.layers(wave.mask):
        here = active_lanes(wave, layer)
        mask = np.take_along_axis(masks, here.argmax(axis=2)[..., None], axis=2)  # that of the first active lane
        missing = ((bit & mask != 0) & alive & ~(here & own)).any(axis=2, keepdims=True)
        result |= here & missing
    return by_thread(wave, result) if result.any() else np.False_


def _jump(v: Values) -> Branch:
    """To the place that a table has at a register plus number[2], shifted by number[3]."""
    decoded = v.decoded
    places, by_pointer = decoded.jumps, bool(decoded.flags & BY_POINTER)
    elsewhere = places[-1] if by_pointer else None  # what is gone to where there is no function: threads fail before
    targets = tuple(target for target in dict.fromkeys(places) if target != elsewhere)
    position = {target: number for number, target in enumerate(targets)}
    table = np.array([position.get(target, 0) for target in places], np.int32)
    value, base, shift = v.source(0, I4), np.int32(decoded.number[2]), np.int32(decoded.number[3])
    select = lambda r: table[np.clip((value(r) + base) >> shift, 0, len(table) - 1)]  # noqa: E731
    if not by_pointer:
        return Branch(targets, select)
    functions = [entry << decoded.number[3] for entry, target in enumerate(places) if target != elsewhere]
    return Branch(targets, select, leave=_check_function(v.source(1, I8), np.int64(base), functions))


def _check_function(pointer: Reader, base: np.int64, functions: list[int]) -> Execute:
    """Threads fail whose pointer plus `base` is the place of none of these functions."""

    def check(wave, registers, mask):
        where = np.broadcast_to(pointer(registers), wave.shape)
        wrong = ~np.isin(where + base, functions)
        wrong = wrong if mask is None else wrong & mask
        if wrong.any():
            no_function(wave, where, wrong)

    return check


# ---- barriers


def _barrier(v: Values) -> Barrier:
    decoded = v.decoded
    votes = decoded.operation == "bring votes"
    leaves_result = votes and bool(decoded.flags & LEAVES_RESULT)
    is_plain = not any(decoded.width[:2]) and not any(decoded.number[1:3])
    named = None if is_plain and not leaves_result and not decoded.flags & ARRIVES_ONLY else _named(v)
    if not votes:
        return Barrier(named=named, waits=not decoded.flags & ARRIVES_ONLY)
    vote, slot = v.truth(decoded.p_in[0]) or (lambda registers: np.True_), v.operands.hidden(VOTES, np.False_)

    def arrive(wave, registers, mask):
        mine = vote(registers)
        registers[slot] = mine if mask is None else np.where(mask, mine, registers[slot])

    if named is None:
        return Barrier(arrive)
    if leaves_result:
        return _barrier_with_result(v, arrive, named, slot)
    slots = v.operands.hidden(YES, np.int32(0)), v.operands.hidden(VOTERS, np.int32(0))

    def keep(registers, going, *counts):
        for kept, count in zip(slots, counts, strict=True):
            registers[kept] = np.where(going, count, registers[kept])

    return Barrier(arrive, named, passed=counted(slot, keep))


def _named(v: Values) -> Reader:
    """(number, threads) of a barrier. Where both are in a register it is one, with the threads from bit 16 on."""
    width, number = v.decoded.width, v.decoded.number
    number_of, threads_of = (v.source(k, I4) if width[k] else _constant(number[1 + k]) for k in (0, 1))
    if not (width[0] and width[1] and number[3]):
        return lambda registers: (number_of(registers), threads_of(registers))
    shift = np.int32(number[3])
    return lambda registers: (number_of(registers) & NUMBERS, threads_of(registers) >> shift & THREADS)


def _constant(number: int) -> Reader:
    value = np.int32(number)
    return lambda registers: value


def _barrier_with_result(v: Values, arrive: Execute, named: Reader, votes: int) -> Barrier:
    """A barrier that leaves the threads the number of true votes, or whether all are, or one is."""
    what, answer = v.decoded.offset, v.kept(v.decoded.p_out[0])
    slot = answer if what != COUNT else next((target.slot for target in v.targets), None)

    def keep(registers, going, yes, voters):
        value = yes if what == COUNT else yes == voters if what == ALL else yes > 0
        if slot is not None:
            registers[slot] = np.where(going, value, registers[slot])

    return Barrier(arrive, named, passed=counted(votes, keep), writes=() if slot is None else (slot,))


def _barrier_result(v: Values) -> Effect:
    """For how many threads of the block the vote that they brought to the barrier before was true, for all, for any."""
    what, answer, operands = v.decoded.offset, v.kept(v.decoded.p_out[0]), v.operands
    slots = (answer,) if answer is not None else tuple(target.slot for target in v.targets)
    votes = operands.hidden(VOTES, np.False_)
    if v.decoded.number[0]:  # at a barrier with a number
        yes_of, all_of = operands.hidden(YES, np.int32(0)), operands.hidden(VOTERS, np.int32(0))

        def execute_named(wave, registers, mask):
            yes = registers[yes_of]
            return (yes if what == COUNT else yes == registers[all_of] if what == ALL else yes > 0,)

        return Effect(slots, execute_named)

    def execute(wave, registers, mask):
        alive = np.ones(wave.shape, bool) if wave.exited is None else ~wave.exited
        yes = (registers[votes] & alive).sum(axis=1, keepdims=True, dtype=np.int32)
        if what == COUNT:
            return (yes,)
        return (yes == alive.sum(axis=1, keepdims=True) if what == ALL else yes > 0,)

    return Effect(slots, execute)


def _warp_barrier(v: Values) -> WarpBarrier:
    """COLLECTIVE: the lanes that it names are one group up to ENDCOLLECTIVE, then what they were. They may come from
    different branches, in each of which the compiler has put a copy of what they execute together: then they execute
    one of the copies (CUDA guide, 'Independent Thread Scheduling'). EXCLUSIVE: they are one group up to the next BSYNC.
    """
    decoded = v.decoded
    source = next((candidate for candidate in (0, 3) if decoded.width[candidate]), None)
    lanes = v.source(source, I4) if source is not None else _constant(-1)
    copy = decoded.target if decoded.flags & COLLECTIVE else None
    return WarpBarrier(lanes, copy, bool(decoded.flags & EXCLUSIVE))


# ---- meetings: convergence barriers


def _enter_meeting(v: Values) -> Effect:
    barrier = v.decoded.number[0]

    def execute(wave, registers, mask):
        if wave.groups is not None:
            wave.groups.enter(barrier, np.True_ if mask is None else mask)

    return Effect((), execute)


def _leave_meeting(v: Values) -> Effect:
    barrier, condition = v.decoded.number[0], v.truth(v.decoded.p_in[0])

    def execute(wave, registers, mask):
        leaving = np.broadcast_to(True if mask is None else mask, wave.shape)
        if condition is not None:
            leaving = leaving & condition(registers)
        if not leaving.any():
            return
        if wave.groups is None:
            # Some leave while all still run together: from now on it matters which are in the meeting.
            living = np.ones(wave.shape, bool) if wave.exited is None else ~wave.exited
            if (leaving == living).all():
                return
            wave.diverge()
            wave.mask = living
        wave.groups.leave(barrier, leaving)

    return Effect((), execute)


def _restore_meeting(v: Values) -> Effect:
    barrier, tokens = v.decoded.number[0], v.source(0, I4)

    def restore(wave, registers, mask):
        if wave.groups is not None:
            wave.groups.write(barrier, tokens(registers), np.True_ if mask is None else mask)

    return Effect((), restore)


def _save_meeting(v: Values) -> Effect:
    barrier, clears, targets = v.decoded.number[0], v.decoded.flags, v.targets

    def save(wave, registers, mask):
        if wave.groups is None:
            return (np.int32(0),)
        tokens = wave.groups.read(barrier)
        if clears:
            wave.groups.clear(barrier, np.True_ if mask is None else mask)
        return (tokens,)

    return Effect(tuple(target.slot for target in targets), save)


def _trap_of_pointer(v: Values) -> Effect:
    """A call through a pointer where there is no function to call."""
    return Effect((), _check_function(v.source(0, I8), np.int64(0), []))


_BY_KIND: dict[int, Callable[[Values], Outcome]] = {
    form.BRANCHES: _branch, form.JUMPS: _jump, form.EXITS: lambda v: Exit(_condition(v)), form.WAITS: _barrier,
    form.MEETS: lambda v: Meeting(v.decoded.number[0]), form.WAITS_FOR_LANES: _warp_barrier,
    form.PARTS: lambda v: Branch(v.decoded.jumps), form.LEAVES: _leave_meeting,
    form.ARRIVES: lambda v: Effect((), lambda wave, registers, mask: clusters.arrive(wave, mask)),
    form.WAITS_FOR_CLUSTER: lambda v: ClusterBarrier(), form.CALLS: calls.call_of, form.RETURNS: calls.return_of,
}  # fmt: skip
_BY_OPERATION = {
    "barrier result": _barrier_result, "enter meeting": _enter_meeting, "restore meeting": _restore_meeting,
    "save meeting": _save_meeting,
}  # fmt: skip


OPERATIONS_OF_FLOW = frozenset(_BY_OPERATION)


def flow_of(v: Values) -> Outcome | None:
    """What NumPy does for an instruction that says what comes next; None for another one."""
    decoded = v.decoded
    if decoded.operation == "trap" and decoded.flags & BY_POINTER:
        return _trap_of_pointer(v)
    function = _BY_KIND.get(decoded.kind) or _BY_OPERATION.get(decoded.operation)
    return None if function is None else function(v)
