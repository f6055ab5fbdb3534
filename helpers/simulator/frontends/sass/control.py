"""Branches, calls, barriers and convergence instructions of SASS.

Each function takes the operands' translator, a statement and the engine's instruction, which it completes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from helpers.compiler import sass
from helpers.simulator.engine.accesses import active_lanes, by_thread, by_warp
from helpers.simulator.engine.ir import Instruction, Kind
from helpers.simulator.frontends.sass.operands import I4, U4, Operands, Reader


@dataclass(frozen=True, slots=True)
class Code:
    """Where things are in a kernel's code: labels, and the statements that calls return to."""

    labels: Mapping[str, int]
    addresses: Mapping[int, int]  # address of a statement → its index
    return_points: tuple[int, ...]
    collective_ends: Mapping[int, int]  # index of an ENDCOLLECTIVE → where the threads go on
    functions: tuple[int, ...]  # the statements that functions begin with
    branch_targets: Mapping[int, tuple[int, ...]]  # address of a computed branch → addresses


def _guarded(t: Operands, s: sass.Statement, instruction: Instruction, more: Reader | None) -> None:
    """The condition of a branch that has a predicate operand beside its guard: both must be true."""
    if more is None:
        return
    guard = t.predicate(s.guard) if s.guard is not None else None
    if guard is None:
        instruction.condition = lambda wave, registers: more(registers)
    else:
        instruction.condition = lambda wave, registers: guard(registers) & more(registers)


def branch(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BRA {p,} label; BRA.DIV {mask,} label goes there if lanes of the mask are missing, BRA.CONV if none is.

    BRA.U says that all threads that come here go the same way, which changes nothing.
    """
    instruction.kind = Kind.BRANCH
    *operands, label = s.operands
    instruction.target = code.labels[label.name]
    everybody = np.uint32(0xFFFFFFFF)
    if s.has("DIV"):
        named = t.read(operands[0], U4) if operands else (lambda registers: everybody)
        instruction.condition = lambda wave, registers: _some_are_missing(wave, named(registers))
    elif s.has("CONV"):
        named = t.read(operands[0], U4) if operands else (lambda registers: everybody)
        instruction.condition = lambda wave, registers: np.logical_not(_some_are_missing(wave, named(registers)))
    else:
        predicates = [o for o in operands if isinstance(o, sass.Register) and o.file.endswith("P")]
        _guarded(t, s, instruction, t.predicate(predicates[0]) if predicates else None)


def _some_are_missing(wave, named):
    """Whether a lane that a mask names is in the warp, alive, and not in this group of threads."""
    alive = active_lanes(wave, None if wave.exited is None else ~wave.exited)
    bit, masks = np.uint32(1) << np.arange(32, dtype=np.uint32), by_warp(wave, named)
    result = np.zeros(alive.shape, bool)
    for layer in [wave.mask] if wave.groups is None else wave.groups.layers(wave.mask):
        here = active_lanes(wave, layer)
        one = np.take_along_axis(masks, here.argmax(axis=2)[..., None], axis=2)  # all active lanes have the same mask
        missing = ((bit & one != 0) & alive & ~here).any(axis=2, keepdims=True)
        result |= here & missing
    return by_thread(wave, result) if result.any() else np.False_


def computed_branch(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BRX R4 -0x100: to the next instruction's address plus a register plus an offset (a switch)."""
    targets = code.branch_targets.get(s.address)
    if not targets:
        raise ValueError("a branch without a list of its targets")
    register, offset = s.operands[0], s.operands[1].integer if len(s.operands) > 1 else 0
    base = s.address + sass.INSTRUCTION_BYTES + offset
    _go_to(t, instruction, register, base, tuple(code.addresses[target] for target in targets), code)


def call(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """CALL.REL.NOINC label: a jump; the return address is in registers. CALL.REL.NOINC R6 `(kernel) calls through a
    pointer: the function at the kernel's address plus a register."""
    if isinstance(s.operands[0], sass.Register):
        register, function = s.operands
        _go_to(t, instruction, register, sass.INSTRUCTION_BYTES * code.labels[function.name], code.functions, code)
        return
    instruction.kind = Kind.BRANCH
    instruction.target = code.labels[s.operands[-1].name]


def returns(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """RET.REL.NODEC R6 `(kernel): to the kernel's address plus a register."""
    register, function = s.operands
    base = sass.INSTRUCTION_BYTES * code.labels[function.name]
    _go_to(t, instruction, register, base, code.return_points, code)


def _go_to(t: Operands, instruction: Instruction, register, base: int, targets: tuple[int, ...], code: Code) -> None:
    if not targets:
        raise ValueError("a return from a function that nobody calls")
    instruction.kind = Kind.BRANCH
    instruction.targets = targets
    position_of = {place: number for number, place in enumerate(targets)}
    table = np.zeros(len(code.addresses) + 1, np.int32)
    for address, index in code.addresses.items():
        table[address // sass.INSTRUCTION_BYTES] = position_of.get(index, 0)
    value = t.read(sass.Register(register.file, register.number))
    start = np.int32(base)

    def select(registers):
        return table[np.clip((value(registers) + start) >> np.int32(4), 0, len(table) - 1)]

    instruction.select = select


def leave(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """EXIT {p}."""
    instruction.kind = Kind.EXIT
    predicates = [o for o in s.operands if isinstance(o, sass.Register) and o.file.endswith("P")]
    _guarded(t, s, instruction, t.predicate(predicates[0]) if predicates else None)


def barrier(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BAR.SYNC.DEFER_BLOCKING 0x0: `__syncthreads()`."""
    if not s.has("SYNC") or len(s.operands) != 1 or s.operands[0] != sass.Immediate("0x0"):
        raise ValueError("named barriers and reductions")
    instruction.kind = Kind.BARRIER


def warp_barrier(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """WARPSYNC mask, WARPSYNC.ALL: `__syncwarp()`.

    WARPSYNC.COLLECTIVE mask, label: the lanes are one group up to ENDCOLLECTIVE, then what they were before.
    """
    instruction.kind = Kind.WARP_BARRIER
    if s.has("EXCLUSIVE"):
        raise ValueError("the exclusive form")
    instruction.barrier = 1 if s.has("COLLECTIVE") else -1
    everybody = np.int32(-1)
    instruction.select = (lambda registers: everybody) if s.has("ALL") else t.read(s.operands[0], I4)


def end_collective(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """ENDCOLLECTIVE: the threads go on at the label of WARPSYNC.COLLECTIVE, in the groups that they were in."""
    instruction.kind = Kind.BRANCH
    instruction.target = code.collective_ends[instruction.index]

    def part(wave, registers):
        if wave.groups is not None:
            wave.groups.part(np.True_ if wave.mask is None else wave.mask)
        return np.True_

    instruction.condition = part


def begin_meeting(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BSSY B0, label: the active threads agree to meet at BSYNC B0."""
    number = _barrier_number(s)

    def execute(wave, registers, mask):
        if wave.groups is not None:
            wave.groups.enter(number, np.True_ if mask is None else mask)

    _effect(instruction, execute)


def meet(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BSYNC B0."""
    instruction.kind = Kind.MEETING
    instruction.barrier = _barrier_number(s)


def leave_meeting(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BREAK {p,} B0: the active threads will not come to BSYNC B0."""
    number = _barrier_number(s)
    predicates = [o for o in s.operands if isinstance(o, sass.Register) and o.file.endswith("P")]
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
        wave.groups.leave(number, leaving)

    _effect(instruction, execute)


def move_meeting(t: Operands, s: sass.Statement, instruction: Instruction, code: Code) -> None:
    """BMOV.32{.CLEAR} R, B0 keeps who meets at B0 in a register; BMOV.32 B0, R brings it back."""
    destination, source = s.operands[:2]
    if not isinstance(destination, sass.Register) or not isinstance(source, sass.Register | sass.Immediate):
        raise ValueError("the registers of BMOV")
    if destination.file == "B":
        number, tokens = destination.number, t.read(source)

        def restore(wave, registers, mask):
            if wave.groups is not None:
                wave.groups.write(number, tokens(registers), np.True_ if mask is None else mask)

        _effect(instruction, restore)
        return
    number = source.number
    instruction.writes = (t.target(destination),)

    def save(wave, registers, mask):
        return (np.int32(0) if wave.groups is None else wave.groups.read(number),)

    _effect(instruction, save)


def _barrier_number(s: sass.Statement) -> int:
    return next(o.number for o in s.operands if isinstance(o, sass.Register) and o.file == "B")


def _effect(instruction: Instruction, execute: Callable) -> None:
    instruction.kind = Kind.EFFECT
    instruction.execute = execute
