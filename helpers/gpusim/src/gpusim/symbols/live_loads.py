"""Whether the value of a load is ever used: reading what was never written is wrong only then.

A pipeline may load one time more than it multiplies, so that its last round needs no branch; what comes then may be
anything. Most loads are used whichever way the program goes. Of the others (*doubtful* ones) a trace is kept of the
basic blocks that come after them, and a read of unwritten memory is followed until the value is used, or is in no
register any more. A copy into another register is no use, and neither is to be one of two values of which a thread
takes the other: `v = s[63 - t]; w = inside ? v : 0` loads first and asks afterwards. Nor is a comparison: its answer is
used where a thread decides by it, and not where another condition decides alone, as in `inside & (v < w)`. Of a wide
load each register is followed by itself: of four floats at the end of an array two may be used.

To store a value in shared memory again, as it was loaded in the same basic block (`u[0][t] = u[1][t]`), is no use: what
was never written is not written there either (`Epoch`), and a thread that reads it from there may use it.

In code for a debugger (-G) local variables are in memory, so that a store there is a copy, too. It is not followed.
The first bits of a word that are stored, a bit-field's, are put among the others, which was never written, and the one
byte of an object without members is taken out of a register and put into another one (`MASKS`).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gpusim.engine.ir import FROM_THE_STACK, Instruction, Program, Registers, bits, uncollected

MOST_TRACED = 20_000  # basic blocks between two barriers: beyond, values count as used

MASKS = ("LOP3", "PRMT", "and.b", "or.b")
_LOADS, _STORES = ("LDS", "ld.shared"), ("STS", "st.shared")
_LOADED = re.compile(r"(?:LDS|ld\.shared)\S* (%?\w+), \[")
_STORED = re.compile(r"(?:STS|st\.shared)\S* (\[[^\]]*\]), (%?\w+)$")
_BITS = re.compile(r"(?<![A-Za-z])[A-Za-z]?(8|16|32|64|128)$")
MAYBE_LOCAL = ("STL", "ST.", "st.local", *(f"st.{kind}" for kind in ("u", "s", "b", "f", "v2", "v4")))


class _Step(NamedTuple):
    """What an instruction does with registers, as bits; `source` is the register that it copies, or -1.

    `first` and `second` are what its answer depends on where it `chooses` so; without a choice it does on all of the
    first. `asked` is the predicate that decides whether it is carried out.
    """

    index: int
    reads: int
    writes: int
    guard: tuple[int, bool] | None
    source: int
    first: int
    second: int
    chooses: bool
    asked: int
    certain: bool  # whether what it reads is certainly used


def _copies(program: Program) -> dict[int, int]:
    """By the index of a store to shared memory the load from there, in its basic block, of the value that it stores."""
    copies = {}
    for block in program.blocks:
        loads: dict[str, Instruction] = {}  # by the name of a register the last load into it
        written: dict[int | None, int] = {}  # by slot the index of the instruction that wrote it last
        for instruction in program.instructions[block.start : block.stop]:
            if instruction.opcode.startswith(_STORES) and (stored := _STORED.search(instruction.text)):
                load = loads.get(stored[2]) if stored[2] not in stored[1] else None
                if (
                    load is not None
                    and _holds(load, written)
                    and load.guard == instruction.guard
                    and _width(load) == _width(instruction)
                ):
                    copies[instruction.index] = load.index
            for slot in instruction.writes:
                written[slot] = instruction.index
            if instruction.opcode.startswith(_LOADS) and (loaded := _LOADED.search(instruction.text)):
                loads[loaded[1]] = instruction
    return copies


def _holds(load: Instruction, written: dict[int | None, int]) -> bool:
    """Whether the registers of a load are as it left them, and its guard is as it was."""
    if load.guard is not None and written.get(load.guard[0], -1) > load.index:
        return False
    return all(written[slot] == load.index for slot in load.writes if slot is not None)


def _width(access: Instruction) -> int:
    """The bits of an access of one number."""
    sizes = (_BITS.search(part) for part in access.opcode.split("."))
    return next((int(size[1]) for size in sizes if size), 32)


def _step(instruction: Instruction, debug: bool, stored_again: int) -> _Step:
    writes = [slot for slot in instruction.writes if slot is not None]
    copies = instruction.copies and len(instruction.reads) == len(writes) == 1
    source = instruction.reads[0] if copies else -1
    reads = bits(instruction.reads) & ~stored_again
    first, second = map(bits, instruction.chosen)
    if debug and instruction.opcode.startswith(MASKS):
        first |= bits(instruction.reads)
    return _Step(
        instruction.index, reads, bits(writes), instruction.guard, source, first, second,
        instruction.chooses is not None, 0 if instruction.guard is None else 1 << instruction.guard[0],
        instruction.guard is None and not (debug and instruction.opcode.startswith(MAYBE_LOCAL)),
    )  # fmt: skip


def _handed_on(step: _Step) -> int:
    """The registers that an instruction reads only to write them elsewhere."""
    return 1 << step.source if step.source >= 0 else step.first | step.second


class Uses:
    """Of a program: `doubtful` are the indices of the loads from shared memory whose value may go unused, `copies` the
    stores there that store such a value again, each with its load."""

    def __init__(self, program: Program) -> None:
        self.doubtful: frozenset[int] = frozenset()
        self.copies: dict[int, int] = {}
        loads = {
            i.index
            for i in program.instructions
            if i.writes and (i.loads_shared or i.opcode.startswith(FROM_THE_STACK))
        }
        if not loads:
            return
        blocks = program.blocks
        self.debug = program.debug
        self.copies = _copies(program)
        again = {
            store: bits(slot for slot in program.instructions[load].writes if slot is not None)
            for store, load in self.copies.items()
        }
        self._steps = [
            [_step(i, program.debug, again.get(i.index, 0)) for i in program.instructions[block.start : block.stop]]
            for block in blocks
        ]
        certain = self._certain(program)
        doubtful, followed = set(), 0
        for steps, after in zip(self._steps, certain, strict=True):
            for step in reversed(steps):
                if step.index in loads and step.writes & ~after:
                    doubtful.add(step.index)
                    followed |= step.writes
                after = _before(step, after)
        self.doubtful = frozenset(doubtful)
        known = 0
        while known != followed:  # and what they are copied into
            known = followed
            for steps in self._steps:
                for step in steps:
                    if _handed_on(step) & followed:
                        followed |= step.writes
        for steps in self._steps:
            steps[:] = [step for step in steps if (step.reads | step.writes | step.asked) & followed]
        self.guarded = {step.index for steps in self._steps for step in steps if step.guard is not None}
        self.choosing = {step.index for steps in self._steps for step in steps if step.chooses}
        self.registers = {index: tuple(program.instructions[index].writes) for index in doubtful}
        self._block_of = {step.index: number for number, steps in enumerate(self._steps) for step in steps}

    def _certain(self, program: Program) -> list[int]:
        """By basic block, the registers that are used behind it on every way to the end, before they are written."""
        inside = [-1] * len(program.blocks)  # all registers, until a way is found on which one is not used
        after = [0] * len(program.blocks)
        before: list[list[int]] = [[] for _ in program.blocks]
        for block in program.blocks:
            for successor in block.successors:
                before[successor].append(block.index)
        changed = set(range(len(program.blocks)))  # what is behind these
        while changed:
            for block in reversed(program.blocks):
                if block.index not in changed:
                    continue
                changed.remove(block.index)
                ends = program.instructions[block.stop - 1].kind.name == "EXIT" or not block.successors
                certain = 0 if ends else -1
                for successor in block.successors:
                    certain &= inside[successor]
                after[block.index] = certain
                for step in reversed(self._steps[block.index]):
                    certain = _before(step, certain)
                if certain != inside[block.index]:
                    inside[block.index] = certain
                    changed.update(before[block.index])
        return after

    def steps(self, block: int) -> list[_Step]:
        """Those of a basic block that concern doubtful loads or what they are copied into."""
        return self._steps[block]

    def block_of(self, load: int) -> int:
        """The basic block of a doubtful load."""
        return self._block_of[load]


def _before(step: _Step, certain: int) -> int:
    """The registers that are certain to be used from this instruction on; `certain` are those behind it."""
    is_handed_on = certain & step.writes and not step.chooses
    if step.guard is None:
        certain &= ~step.writes
    if step.certain:
        certain |= step.reads if is_handed_on else step.reads & ~_handed_on(step)
    return certain | step.asked


@uncollected
def uses_of(program: Program) -> Uses:
    """The uses of a program, found once."""
    if program.uses is None:
        program.uses = Uses(program)
    return program.uses


@dataclass(slots=True)
class _Passage:
    """The threads of `mask` go through a basic block; `guards` are the threads whose guard was true, False if none, and
    `choices` those whose answer depends on the first and on the second ones of what an instruction chooses of, where
    `met` are the values of unwritten memory that came there: (threads, registers). `kept`: the stores to local memory
    that are no use.

    `mark` is the length of the log of accesses before it.
    """

    mark: int
    block: int
    mask: np.ndarray | None
    guards: dict[int, Any] = field(default_factory=dict)
    choices: dict[int, Any] = field(default_factory=dict)
    met: dict[int, list[tuple[np.ndarray, int]]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)


def _ways(step: _Step, passage: _Passage, active: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """(threads, the registers that they write elsewhere)."""
    if not step.chooses:
        yield active, _handed_on(step)
        return
    first, second = passage.choices.get(step.index, (np.False_, np.False_))
    for threads, taken in (
        (first & second, step.first | step.second), (first & ~second, step.first), (~first & second, step.second),
        (~(first | second), 0),
    ):  # fmt: skip
        if (active & threads).any():
            yield active & threads, taken


def _decide_each_other(step: _Step, passage: _Passage, active: np.ndarray, registers: int) -> bool:
    """Whether a value of unwritten memory would be the one that decides that another one does not matter."""
    met = passage.met.setdefault(step.index, [])
    met.append((active, registers))
    return any(
        (active & threads).any() and (registers & step.first and others & step.second
                                      or registers & step.second and others & step.first)
        for threads, others in met
    )  # fmt: skip


def _some(lanes: np.ndarray, mask: np.ndarray | None) -> bool:
    return bool(lanes.any() if mask is None else (lanes & mask).any())


@dataclass(slots=True)
class _Held:
    """A read of unwritten memory whose value has not been used yet: by lanes, the registers in which it lies.

    `seen` is the passage up to whose end it was followed; in the next one, it is loaded by the instruction `load`.
    """

    what: Any
    parts: list[tuple[np.ndarray, int]]
    seen: _Passage | None = None
    load: int = -1


class LoadedValues:
    """Follows the values of doubtful loads through a wave.

    `report(wave, hazard, times)` is called for those that are used; `what` is held of them, (hazard, times).
    """

    def __init__(self, uses: Uses, report: Callable[[Any, Any, int], None]) -> None:
        self.uses = uses
        self._report = report

    def begin(self, wave: Any) -> None:
        """A new wave: what the last one has not used by now is not used at all."""
        self._wave = wave
        self._trace: list[_Passage] = []
        self._held: list[_Held] = []
        self._lost = False

    def executed(self, mark: int, block: int, mask: np.ndarray | None) -> None:
        """The threads of `mask` are about to execute a basic block; `mark` is the length of the log of accesses."""
        if self._held:
            self._catch_up()
        if not self.uses.steps(block):
            return
        if len(self._trace) == MOST_TRACED:
            self.forget()
            self._lost = True
        self._trace.append(_Passage(mark, block, mask))

    def guarded(self, index: int, some: bool, mask: np.ndarray | None) -> None:
        """The threads of `mask` have a true guard at an instruction, or none unless `some`."""
        if index in self.uses.guarded:
            self._trace[-1].guards[index] = mask if some else False

    def chosen(self, instruction: Instruction, registers: Registers) -> None:
        """An instruction is about to answer what may not depend on all that it reads."""
        if instruction.index in self.uses.choosing:
            self._trace[-1].choices[instruction.index] = instruction.chooses(registers)

    def stored_locally(self, index: int) -> None:
        """An instruction stores to local memory."""
        if self.uses.debug and self._trace:
            self._trace[-1].kept.add(index)

    def end(self) -> None:
        """The wave has come to its end."""
        if self._held:
            self._catch_up()
        self._held = []

    def forget(self) -> None:
        """The log of accesses starts anew, maybe inside a basic block."""
        del self._trace[:-1]
        for passage in self._trace:
            passage.mark = 0
        self._lost = False

    def hold(self, what: Any, load: int, mark: int, lanes: np.ndarray, share: Fraction) -> None:
        """The `lanes`, bool (blocks, threads), read unwritten memory by a doubtful load, at this place in the log.

        share: where in what is loaded it lies: 1/2 is the third of four registers.
        """
        block = self.uses.block_of(load)
        held = self._loaded(what, load, lanes, share)
        passages = [n for n, passage in enumerate(self._trace) if passage.mark <= mark and passage.block == block]
        if self._lost or not passages:
            self._report(self._wave, *what)
            return
        held.seen = self._trace[-1]
        after = load
        for passage in self._trace[passages[-1] :]:
            if not self._goes_on(held, passage, after):
                return
            after = -1
        self._held.append(held)

    def hold_now(self, what: Any, load: int, lanes: np.ndarray, share: Fraction) -> None:
        """As `hold`, of a load that is being executed: what its basic block does with the value comes yet."""
        if self._lost:
            self._report(self._wave, *what)
        else:
            held = self._loaded(what, load, lanes, share)
            held.load = load
            self._held.append(held)

    def _loaded(self, what: Any, load: int, lanes: np.ndarray, share: Fraction) -> _Held:
        registers = self.uses.registers[load]
        slot = registers[int(share * len(registers))]
        return _Held(what, [] if slot is None else [(lanes, 1 << slot)])

    def _catch_up(self) -> None:
        """Follow the held values through the block that was executed last."""
        last = self._trace[-1]
        self._held = [held for held in self._held if held.seen is last or self._goes_on(held, last, held.load)]
        for held in self._held:
            held.seen, held.load = last, -1

    def _goes_on(self, held: _Held, passage: _Passage, after: int = -1) -> bool:
        """Follow a value through the instructions behind `after`; False if it was used, and reported, or is in no
        register any more."""
        for step in self.uses.steps(passage.block):
            guard = None if step.guard is None else passage.guards.get(step.index, False)
            if step.index <= after:
                continue
            if step.asked and any(_some(lanes, passage.mask) for lanes, kept in held.parts if kept & step.asked):
                self._report(self._wave, *held.what)
                return False
            if guard is False:
                continue
            parts = []
            for lanes, registers in held.parts:
                active = lanes
                if (step.reads | step.writes) & registers:
                    for mask in (passage.mask, guard):
                        active = active if mask is None else active & mask
                    if active.any():
                        if step.reads & registers & ~_handed_on(step) and step.index not in passage.kept:
                            self._report(self._wave, *held.what)
                            return False
                        if step.chooses and _decide_each_other(step, passage, active, registers):
                            self._report(self._wave, *held.what)
                            return False
                        rest = lanes & ~active
                        if rest.any():
                            parts.append((rest, registers))
                        for which, handed_on in _ways(step, passage, active):
                            kept = registers | step.writes if registers & handed_on else registers & ~step.writes
                            if kept:
                                parts.append((which, kept))
                        continue
                if registers:
                    parts.append((lanes, registers))
            held.parts = parts
        return bool(held.parts)
