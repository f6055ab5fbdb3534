"""Branches, calls, barriers and convergence instructions of SASS."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpusim.compiler import sass
from gpusim.engine import clusters
from gpusim.engine.accesses import active_lanes, by_thread, by_warp
from gpusim.engine.named_barriers import counted
from gpusim.errors import Unknown
from gpusim.isa.rules import (
    NOTHING,
    Barrier,
    Branch,
    ClusterBarrier,
    Condition,
    Effect,
    Exit,
    Meeting,
    Reader,
    WarpBarrier,
    no_function,
)
from gpusim.isa.sass import system
from gpusim.isa.sass.operands import (
    Operands,
    at_least,
    chosen,
    exactly,
    is_predicate,
    is_register,
    leading_predicates,
    number,
)
from gpusim.isa.values import I4, U4


def _guarded(t: Operands, s: sass.Statement, more: Sequence[sass.Operand]) -> Condition | None:
    """The condition of a branch that may have a predicate operand beside its guard: both must be true."""
    if not more:
        return None
    if len(more) > 1:
        raise Unknown(f"its form with {len(more)} predicates")
    own = t.predicate(more[0])
    guard = t.predicate(s.guard) if s.guard is not None else None
    if own is None:
        return None
    if guard is None:
        return lambda wave, registers: own(registers)
    return lambda wave, registers: guard(registers) & own(registers)


def branch(t: Operands, s: sass.Statement) -> Branch:
    """BRA {p,} label; BRA.DIV {mask,} label goes there if lanes of the mask are missing, BRA.CONV if none is.

    Lanes whose guard is false count as missing, and go where the others go.

    BRA.U goes there if its condition is true for all threads that come here together; else none of them does. For
    BRA.U.ANY it is enough that it is true for one.
    """
    *operands, label = at_least(s, 1, 2)
    targets = (t.code.place(label),)
    if s.has("U"):
        own = _guarded(t, s, operands) or _guard(t, s)
        if own is None:
            return Branch(targets)
        if s.has("ANY"):
            return Branch(targets, condition=lambda wave, r: _one_says(wave, own(wave, r)))
        return Branch(targets, condition=lambda wave, r: _all_agree(wave, own(wave, r)))
    if s.has("ANY"):
        raise Unknown("the modifier .ANY without .U")
    if not s.has("DIV", "CONV"):
        return Branch(targets, condition=_guarded(t, s, operands))
    everybody = np.uint32(0xFFFFFFFF)
    named = t.read(operands[0], U4) if operands else (lambda registers: everybody)
    own = _guard(t, s) or (lambda wave, registers: np.True_)
    missing = lambda wave, r: _some_are_missing(wave, named(r), own(wave, r))  # noqa: E731
    if s.has("DIV"):
        return Branch(targets, condition=missing)
    return Branch(targets, condition=lambda wave, registers: np.logical_not(missing(wave, registers)))


def _guard(t: Operands, s: sass.Statement) -> Condition | None:
    guard = None if s.guard is None else t.predicate(s.guard)
    return None if guard is None else lambda wave, registers: guard(registers)


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
        one = np.take_along_axis(masks, here.argmax(axis=2)[..., None], axis=2)  # that of the first active lane
        missing = ((bit & one != 0) & alive & ~(here & own)).any(axis=2, keepdims=True)
        result |= here & missing
    return by_thread(wave, result) if result.any() else np.False_


def computed_branch(t: Operands, s: sass.Statement) -> Branch:
    """BRX R4 -0x100: to the next instruction's address plus a register plus an offset (a switch)."""
    register, *offset = at_least(s, 1, 2)
    targets = t.code.branch_targets.get(s.address)
    if not targets:
        raise Unknown("a branch without a list of its targets")
    base = s.address + sass.INSTRUCTION_BYTES + sum(number(operand) for operand in offset)
    return _go_to(t, register, base, tuple(t.code.addresses[target] for target in targets))


def call(t: Operands, s: sass.Statement) -> Branch | Effect:
    """CALL.REL.NOINC label, CALL.ABS.NOINC label: a jump; the return address is in registers. CALL.REL.NOINC R6
    `(kernel) calls through a pointer: the function at the kernel's address plus a register. CALL.ABS.NOINC R8: a
    function of the system, as is CALL.ABS.NOINC `(vprintf) in code for a debugger."""
    names = [operand.name for operand in s.operands if isinstance(operand, sass.Label)]
    if s.has("ABS") and not names and t.code.debug:  # its pointers hold addresses that a linker fills in
        raise Unknown("a call through a pointer in code for a debugger")
    if s.has("ABS") and (not names or names[0] in system.FUNCTIONS):
        return system.call(t, s)
    *register, function = at_least(s, 1, 2)
    place = t.code.place(function)
    if register:
        return _call_through(t, register[0], sass.INSTRUCTION_BYTES * place)
    return Branch((place,))


def _call_through(t: Operands, pointer: sass.Operand, base: int) -> Branch | Effect:
    """A call of the function at an address plus that of the kernel, `base`; where there is none the thread fails."""
    if not is_register(pointer):
        raise Unknown("a jump that no register says")
    value = t.wide(pointer)
    places = [address for address, index in t.code.addresses.items() if index in t.code.functions]

    def check(wave, registers, mask):
        where = np.broadcast_to(value(registers), wave.shape)
        wrong = ~np.isin(where + np.int64(base), places)
        if mask is not None:
            wrong = wrong & mask
        if wrong.any():
            no_function(wave, where, wrong)

    if not places:
        return Effect((), check)
    return replace(_go_to(t, pointer, base, t.code.functions), leave=check)


def returns(t: Operands, s: sass.Statement) -> Branch:
    """RET.REL.NODEC R6 `(kernel): to the kernel's address plus a register; RET.ABS.NODEC R6 0x0."""
    register, function = exactly(s, 2)
    base = number(function) if s.has("ABS") else sass.INSTRUCTION_BYTES * t.code.place(function)
    return _go_to(t, register, base, t.code.return_points)


def _go_to(t: Operands, register: sass.Operand, base: int, targets: tuple[int, ...]) -> Branch:
    if not targets:
        raise Unknown("a return from a function that nobody calls")
    if not is_register(register):
        raise Unknown("a jump that no register says")
    position_of = {place: position for position, place in enumerate(targets)}
    table = np.zeros(len(t.code.addresses) + 1, np.int32)
    for address, index in t.code.addresses.items():
        table[address // sass.INSTRUCTION_BYTES] = position_of.get(index, 0)
    value = t.read(sass.Register(register.file, register.number))
    start = np.int32(base)
    return Branch(targets, lambda r: table[np.clip((value(r) + start) >> np.int32(4), 0, len(table) - 1)])


def leave(t: Operands, s: sass.Statement) -> Exit:
    """EXIT {p}."""
    return Exit(_guarded(t, s, s.operands))


def arrive_in_cluster(t: Operands, s: sass.Statement) -> Effect:
    """UCGABAR_ARV: `barrier.cluster.arrive`."""
    return Effect((), lambda wave, registers, mask: clusters.arrive(wave, mask))


def wait_for_cluster(t: Operands, s: sass.Statement) -> ClusterBarrier:
    """UCGABAR_WAIT: `barrier.cluster.wait`."""
    return ClusterBarrier()


_REDUCTIONS = {"POPC": "count", "AND": "all", "OR": "any"}


def barrier(t: Operands, s: sass.Statement) -> Barrier:
    """BAR.SYNC.DEFER_BLOCKING 0x0: `__syncthreads()`. BAR.{SYNC,ARV} number {, threads}: a barrier of some threads.
    BAR.RED.{POPC,AND,OR} number, {threads,} p: see `barrier_result`."""
    which, *threads = at_least(s, 1, 3)
    named = None if is_syncthreads(s) else _named(t, which, [one for one in threads if not is_predicate(one)])
    if s.has("ARV"):
        return Barrier(named=named, waits=False)
    if s.has("SYNC"):
        return Barrier(named=named)
    chosen(s, _REDUCTIONS)
    vote, votes = t.truth(s.operands[-1]), t.slot(_VOTES, np.bool_(False))

    def arrive(wave, registers, mask):
        mine = vote(registers)
        registers[votes] = mine if mask is None else np.where(mask, mine, registers[votes])

    if named is None:
        return Barrier(arrive)
    slots = t.slot(_YES), t.slot(_VOTERS)

    def keep(registers, going, *counts):
        for slot, count in zip(slots, counts, strict=True):
            registers[slot] = np.where(going, count, registers[slot])

    return Barrier(arrive, named, passed=counted(votes, keep))


def is_syncthreads(s: sass.Statement) -> bool:
    """Whether a BAR is a barrier of all threads of the block, number 0."""
    threads = [one for one in s.operands[1:] if not is_predicate(one)]
    return s.operands[:1] == (sass.Immediate("0x0"),) and not threads


def _named(t: Operands, which: sass.Operand, threads: Sequence[sass.Operand]) -> Reader:
    """(number, threads) of a barrier. Where both are in a register it is one, with the threads from bit 16 on."""
    number_of = t.read(which)
    if not threads:
        return lambda registers: (number_of(registers), np.int32(0))
    threads_of, shift = t.read(threads[0]), np.int32(16 if is_register(which) and is_register(threads[0]) else 0)
    return lambda registers: (number_of(registers) & np.int32(15), threads_of(registers) >> shift & np.int32(0xFFF))


_VOTES, _YES, _VOTERS = "votes at a barrier", "true votes at a named barrier", "voters at a named barrier"


def barrier_result(t: Operands, s: sass.Statement) -> Effect:
    """B2R.RESULT d {, p} behind a BAR.RED: for how many threads of the block its predicate was true (d), for all, for
    any (p).

    What the threads brought to the barrier is kept in a register of its own.
    """
    reduction = t.code.reductions.get(s.address)
    if reduction is None or not s.has("RESULT"):
        raise Unknown("what is no reduction at a barrier")
    destination, *predicate = at_least(s, 1, 2)
    combine = chosen(reduction, _REDUCTIONS)
    if (combine == "count") == bool(predicate):
        raise Unknown(f"its form with {len(s.operands)} operands")
    slots, votes = (t.target(predicate[0] if predicate else destination),), t.slot(_VOTES, np.bool_(False))
    if not is_syncthreads(reduction):
        yes_of, all_of = t.slot(_YES), t.slot(_VOTERS)

        def execute_named(wave, registers, mask):
            yes = registers[yes_of]
            return (yes if combine == "count" else yes == registers[all_of] if combine == "all" else yes > 0,)

        return Effect(slots, execute_named)

    def execute(wave, registers, mask):
        alive = np.ones(wave.shape, bool) if wave.exited is None else ~wave.exited
        yes = (registers[votes] & alive).sum(axis=1, keepdims=True, dtype=np.int32)
        if combine == "count":
            return (yes,)
        return (yes == alive.sum(axis=1, keepdims=True) if combine == "all" else yes > 0,)

    return Effect(slots, execute)


def warp_barrier(t: Operands, s: sass.Statement) -> WarpBarrier:
    """WARPSYNC mask, WARPSYNC.ALL: `__syncwarp()`.

    WARPSYNC.COLLECTIVE mask, label: the lanes that it names are one group up to ENDCOLLECTIVE, then what they were.
    They may come from different branches, in each of which the compiler has put a copy of what they execute together:
    then they execute one of the copies (CUDA guide, 'Independent Thread Scheduling').
    WARPSYNC.EXCLUSIVE mask: they are one group up to the next BSYNC.
    """
    everybody = np.int32(-1)
    lanes = (lambda registers: everybody) if s.has("ALL") else t.read(at_least(s, 1, 2)[0], I4)
    copy = t.code.collective_copies.get(s.address) if s.has("COLLECTIVE") else None
    if s.has("COLLECTIVE") and copy is None:
        raise Unknown("a beginning without an end")
    return WarpBarrier(lanes, copy, s.has("EXCLUSIVE"))


def end_collective(t: Operands, s: sass.Statement) -> Branch:
    """ENDCOLLECTIVE: the threads go on at the label of their WARPSYNC.COLLECTIVE, in the groups that they were in."""
    ends = t.code.collective_ends.get(s.address)
    if ends is None:
        raise Unknown("an end without a beginning")
    return Branch(ends)


def begin_meeting(t: Operands, s: sass.Statement) -> Effect:
    """BSSY B0, label: the active threads agree to meet at BSYNC B0."""
    place = _barrier_number(s)

    def execute(wave, registers, mask):
        if wave.groups is not None:
            wave.groups.enter(place, np.True_ if mask is None else mask)

    return Effect((), execute)


def meet(t: Operands, s: sass.Statement) -> Meeting:
    """BSYNC B0."""
    return Meeting(_barrier_number(s))


def leave_meeting(t: Operands, s: sass.Statement) -> Effect:
    """BREAK {p,} B0: the active threads will not come to BSYNC B0."""
    place = _barrier_number(s)
    predicates, _ = leading_predicates(s.operands)
    condition = t.predicate(predicates[0]) if predicates else None

    def execute(wave, registers, mask):
        leaving = np.broadcast_to(True if mask is None else mask, wave.shape)
        if condition is not None:
            leaving = leaving & condition(registers)
        if not leaving.any():
            return
        if wave.groups is None:
            # Some leave while all still run together: from now on it matters who is in the meeting.
            living = np.ones(wave.shape, bool) if wave.exited is None else ~wave.exited
            if (leaving == living).all():
                return
            wave.diverge()
            wave.mask = living
        wave.groups.leave(place, leaving)

    return Effect((), execute)


def move_meeting(t: Operands, s: sass.Statement) -> Effect:
    """BMOV.32{.CLEAR} R, B0 keeps who meets at B0 in a register; BMOV.32 B0, R brings it back.

    Code of sm_87 begins with `BMOV.32 B0, 0xffffffff; BMOV.32.CLEAR B1, B0; …`, when nobody has a meeting: it stays so.
    """
    destination, source = exactly(s, 2)
    if sets_up_meetings(s):
        return NOTHING
    if isinstance(destination, sass.Register) and destination.file == "B" and destination.number is not None:
        place, tokens = destination.number, t.read(source)

        def restore(wave, registers, mask):
            if wave.groups is not None:
                wave.groups.write(place, tokens(registers), np.True_ if mask is None else mask)

        return Effect((), restore)
    place, clears = _barrier_number(s), s.has("CLEAR")

    def save(wave, registers, mask):
        if wave.groups is None:
            return (np.int32(0),)
        tokens = wave.groups.read(place)
        if clears:
            wave.groups.clear(place, np.True_ if mask is None else mask)
        return (tokens,)

    return Effect((t.target(destination),), save)


def sets_up_meetings(s: sass.Statement) -> bool:
    """Whether a BMOV is one of those that code of sm_87 begins with."""
    destination, source = s.operands
    is_meeting = [isinstance(operand, sass.Register) and operand.file == "B" for operand in (destination, source)]
    return is_meeting[0] and (is_meeting[1] or isinstance(source, sass.Immediate))


def _barrier_number(s: sass.Statement) -> int:
    for operand in s.operands:
        if isinstance(operand, sass.Register) and operand.file == "B" and operand.number is not None:
            return operand.number
    raise Unknown("its form without a convergence barrier")
