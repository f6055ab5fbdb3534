"""Leaving out what does not matter: of a program, and of a loop in it, what leads to addresses, guards and branches.

Backward over the flow of control: a value matters where a later instruction that matters reads it. Guards are compared
by their predicate alone, so what is written and read under two predicates that always agree counts as kept: more may
seem to matter than does, never less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpusim.compiler import sass
from gpusim.engine.ir import BasicBlock, Instruction, Kind, Program, Registers
from gpusim.engine.memory import GlobalMemory, SharedMemory
from gpusim.engine.run import Prepared, Wave

_LANES = frozenset(("SHFL", "VOTE", "VOTEU", "REDUX", "MATCH", "HMMA", "MOVM"))  # no arithmetic, and no memory either
_LOADS = frozenset(("LDG", "LD", "LDL", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS"))
_PLAIN_LOADS = frozenset(("LDG", "LD", "LDS"))
_INTO_SHARED = frozenset(("STS", "LDGSTS"))
_STORES = frozenset(("STG", "STS", "STL", "ST", "RED", "REDG"))
_PRODUCTS = frozenset(("FFMA", "FMUL", "FADD", "HMMA"))
_NONE: frozenset[int] = frozenset()

# Registers that matter, each with the guards under which it is read, None for always: what is written under the same
# guard is enough.
_Live = dict[int, frozenset[tuple[int, bool] | None]]
_CarriedOut = Callable[[Instruction, _Live], bool]


class Unknown:
    """What stands for values that were not computed: zeros, or random bits.

    A trace that is the same with both does not depend on them.  guessed: whether there were any.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self.begin(bits=False)

    def begin(self, bits: bool) -> None:
        """Execute once more, with zeros or with random bits."""
        self.guessed = False
        self._random = np.random.default_rng(0) if bits else None
        self._results: dict[int, tuple[np.ndarray, ...]] = {}

    def like(self, value: np.ndarray) -> np.ndarray:
        """As many such values."""
        self.guessed = True
        if self._random is None:
            return np.zeros_like(value)
        if value.dtype == bool:
            return np.ones_like(value)
        return np.frombuffer(self._random.bytes(value.nbytes), value.dtype).reshape(value.shape)

    def result(self, instruction: Instruction) -> np.ndarray | tuple[np.ndarray, ...]:
        """Of an instruction, the same each time, and in every thread another one."""
        if instruction.index not in self._results:
            row = np.zeros((1, self._threads), np.float32)
            self._results[instruction.index] = tuple(self.like(row) for _ in instruction.writes)
        values = self._results[instruction.index]
        return values if len(values) > 1 else values[0]


@dataclass(frozen=True)
class Slices:
    """Parts of a program.

    results: without arithmetic that leads to no address, no guard and no branch, and without the values of loads that
    lead to none.  only_global: the same without what is done with shared memory, as far as that leads to none.
    needed: by basic block, the registers that lead to one of them from there on.  shared: whether what is loaded from
    shared memory may lead to one.
    """

    program: Program
    results: Program
    only_global: Program
    needed: tuple[tuple[int, ...], ...]
    shared: bool
    _stored: Mapping[int, frozenset[int]]

    @staticmethod
    def of(program: Program, unknown: Unknown | None = None) -> Slices:
        """What is stored matters only if something that is loaded does: global memory stays as it is anyway.

        unknown: what stands for the results of floating-point products and sums; None: they are computed.
        """
        stored = _stored(program.instructions)
        if unknown is not None:
            made = [
                _made_up(instruction, unknown) if _name(instruction) in _PRODUCTS else instruction
                for instruction in program.instructions
            ]
            program = replace(program, instructions=made)
        needed = _Needed(program, stored)
        if any(
            _name(instruction) == "LDL" and _matters(instruction, live) for instruction, live in needed.behind()
        ):  # a spilled address
            stored = {index: slots for index, slots in stored.items() if _name(program.instructions[index]) != "STL"}
            needed = _Needed(program, stored)
        shared = any(instruction.loads_shared and _matters(instruction, live) for instruction, live in needed.behind())
        if shared:
            needed = _Needed(program, {})
        before = tuple(tuple(sorted(live)) for live in needed.before_block)
        results = needed.alone()
        only_global = list(results.instructions)
        for instruction, live in needed.behind():
            unread = _name(instruction) in _PLAIN_LOADS and not _matters(instruction, live)
            if unread or (_name(instruction) in _INTO_SHARED and not shared):
                results.instructions[instruction.index] = replace(
                    instruction, writes=(), execute=_addresses_of(instruction)
                )
                local = _name(instruction) in ("LDS", "STS")
                only_global[instruction.index] = (
                    _nothing(instruction) if local else results.instructions[instruction.index]
                )
        return Slices(program, results, replace(program, instructions=only_global), before, shared, stored)

    def around(self, path: Sequence[int]) -> Around | None:
        """What matters in a loop through these basic blocks; None if its addresses or branches depend on what it loads,
        or if it stores to local memory."""
        code = [instruction for block in _period(path) for instruction in self._code(block)]
        needed = _in_loop(code, _carried_out, self._stored)
        behind = _behind(code, dict(needed), _carried_out, self._stored)
        if any(
            _name(instruction) == "STL" or (_name(instruction) in _LOADS and _matters(instruction, live))
            for instruction, live in behind
        ):
            return None
        return Around(frozenset(needed), _loaded(code), self._branches(code))

    def _code(self, block: int) -> list[Instruction]:
        at = self.program.blocks[block]
        return self.program.instructions[at.start : at.stop]

    def _branches(self, code: Sequence[Instruction]) -> Prepared:
        """What leads to branches of the loop, and nothing else."""
        needed = _in_loop(code, _leads_to_branch, {})
        changed = list(self._control.instructions)
        for instruction, live in _behind(code, needed, _leads_to_branch, {}):
            if _leads_to_branch(instruction, live):
                changed[instruction.index] = instruction
        return Prepared(replace(self._control, instructions=changed))

    @cached_property
    def _control(self) -> Program:
        """The branches and barriers alone."""
        alone = [
            _nothing(instruction) if instruction.kind in (Kind.ALU, Kind.EFFECT) else instruction
            for instruction in self.program.instructions
        ]
        return replace(self.program, instructions=alone)


class _Addresses:
    """A memory of which nothing but the addresses matters."""

    def __init__(self, memory: GlobalMemory | SharedMemory) -> None:
        self._memory = memory

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int) -> tuple:
        """Nothing but the check that it is allowed; of a byte or a short, no value to convert."""
        self._memory.check(wave, addresses, mask, dtype.itemsize * count, "read")
        return (np.zeros(1, dtype),) if dtype.itemsize < 4 else ()

    def store(self, wave, addresses, mask, values) -> None:
        """The same."""
        self._memory.check(wave, addresses, mask, np.dtype(values[0].dtype).itemsize * len(values), "wrote")


def _addresses_of(instruction: Instruction) -> Callable[[Wave, Registers, np.ndarray | None], None]:
    """What a load or a store does, without its values; a copy still reads what it copies."""
    execute, copies = instruction.execute, _name(instruction) == "LDGSTS"

    def run(wave, registers, mask) -> None:
        shared, global_memory = wave.shared, wave.global_memory
        wave.shared = _Addresses(shared)
        wave.global_memory = global_memory if copies else _Addresses(global_memory)
        try:
            execute(wave, registers, mask)
        finally:
            wave.shared, wave.global_memory = shared, global_memory

    return run


def _made_up(instruction: Instruction, unknown: Unknown) -> Instruction:
    return replace(
        instruction,
        kind=Kind.ALU,
        reads=(),
        evaluate=lambda registers: unknown.result(instruction),
        execute=None,
        computation=None,
    )


def _period(path: Sequence[int]) -> Sequence[int]:
    """The shortest path that is gone through again and again."""
    lengths = (length for length in range(1, len(path)) if len(path) % length == 0)
    return next((path[:n] for n in lengths if path[:n] * (len(path) // n) == path), path)


@dataclass(frozen=True)
class Around:
    """A loop.  needed: the registers that lead to its own addresses and branches, where it begins.  loaded: those that
    hold at its end what it loaded, or made of it.  branches: what leads to its branches, ready to run."""

    needed: frozenset[int]
    loaded: frozenset[int]
    branches: Prepared


def _in_loop(code: Sequence[Instruction], carried_out: _CarriedOut, stored: Mapping[int, frozenset[int]]) -> _Live:
    """The registers that matter where a loop begins, for the loop itself."""
    live: _Live = {}
    while True:
        before = dict(live)
        for _ in _behind(code, live, carried_out, stored):
            pass
        if live == before:
            return live


def _behind(
    code: Sequence[Instruction], live: _Live, carried_out: _CarriedOut, stored: Mapping[int, frozenset[int]]
) -> Iterator[tuple[Instruction, _Live]]:
    """The instructions from the last to the first, each with the registers that matter behind it; `live` becomes those
    that matter before the first."""
    guards = _guards(code)
    for instruction in reversed(code):
        yield instruction, live
        if carried_out(instruction, live):
            _step_back(instruction, live, stored.get(instruction.index, _NONE), guards)


def _loaded(code: Sequence[Instruction]) -> frozenset[int]:
    """Registers that hold what was loaded in a loop, or was made of it, wherever it ends."""
    loaded: set[int] = set()
    before = None
    while loaded != before:
        before = set(loaded)
        for instruction in code:
            sources = {*instruction.reads, *(instruction.guard or ())[:1]}
            if _name(instruction) in _LOADS or not loaded.isdisjoint(sources):
                loaded.update(slot for slot in instruction.writes if slot is not None)
            elif instruction.guard is None:
                loaded.difference_update(instruction.writes)
    return frozenset(loaded)


def _name(instruction: Instruction) -> str:
    return instruction.opcode.split(".")[0]


def _nothing(instruction: Instruction) -> Instruction:
    return replace(instruction, kind=Kind.NOTHING, computation=None, reads=())


def _matters(instruction: Instruction, live: _Live) -> bool:
    return any(slot in live for slot in instruction.writes)


def _carried_out(instruction: Instruction, live: _Live) -> bool:
    """Whether an instruction has to be executed if `live` are the registers that matter behind it."""
    pure = instruction.kind is Kind.ALU or (instruction.kind is Kind.EFFECT and _name(instruction) in _LANES)
    return not pure or not instruction.writes or _matters(instruction, live)


def _leads_to_branch(instruction: Instruction, live: _Live) -> bool:
    """The same if only branches matter, and no address."""
    return instruction.kind not in (Kind.ALU, Kind.EFFECT) or _matters(instruction, live)


class _Needed:
    """Which registers matter where.

    stored: by the index of a store, registers that it reads and that do not matter for it.  carried_out: whether an
    instruction matters, by the registers that do behind it.  before_block: by basic block, the registers that matter at
    its begin.
    """

    def __init__(
        self,
        program: Program,
        stored: Mapping[int, frozenset[int]],
        carried_out: _CarriedOut = _carried_out,
    ) -> None:
        self._program, self._stored, self._carried_out = program, stored, carried_out
        self._guards = _guards(program.instructions)
        self.before_block: list[_Live] = [{} for _ in program.blocks]
        changed = True
        while changed:
            changed = False
            for block in reversed(program.blocks):
                live = self._after(block)
                for instruction in reversed(program.instructions[block.start : block.stop]):
                    self._step_back(instruction, live)
                if live != self.before_block[block.index]:
                    self.before_block[block.index] = live
                    changed = True

    def alone(self) -> Program:
        """The program with nothing but what matters."""
        changed = list(self._program.instructions)
        for instruction, live in self.behind():
            if not self._carried_out(instruction, live):
                changed[instruction.index] = _nothing(instruction)
        return replace(self._program, instructions=changed)

    def behind(self) -> Iterator[tuple[Instruction, _Live]]:
        """Every instruction with the registers that matter behind it, which hold until the next one is asked for."""
        for block in self._program.blocks:
            live = self._after(block)
            for instruction in reversed(self._program.instructions[block.start : block.stop]):
                yield instruction, live
                self._step_back(instruction, live)

    def _after(self, block: BasicBlock) -> _Live:
        live: _Live = {}
        for after in block.successors:
            for slot, guards in self.before_block[after].items():
                live[slot] = live.get(slot, frozenset()) | guards
        return live

    def _step_back(self, instruction: Instruction, live: _Live) -> None:
        if self._carried_out(instruction, live):
            _step_back(instruction, live, self._stored.get(instruction.index, _NONE), self._guards)


def _guards(code: Sequence[Instruction]) -> frozenset[int]:
    """The predicates under which instructions are carried out."""
    return frozenset(instruction.guard[0] for instruction in code if instruction.guard is not None)


def _step_back(instruction: Instruction, live: _Live, stored: frozenset[int], guards: frozenset[int]) -> None:
    """Make of the registers that matter behind an instruction that is carried out those that matter before it.

    stored: registers that it reads and that do not matter for it.  guards: predicates that are some guard.
    """
    for slot in instruction.writes:
        under = live.pop(slot, frozenset())
        if instruction.guard is not None:  # where the guard is false, the register keeps what it holds
            otherwise = (instruction.guard[0], not instruction.guard[1])
            if rest := frozenset(otherwise if g is None else g for g in under if g != instruction.guard):
                live[slot] = rest
    if not guards.isdisjoint(instruction.writes):  # what is read under a guard that is written here is always read
        for slot, under in live.items():
            if any(guard is not None and guard[0] in instruction.writes for guard in under):
                live[slot] = frozenset(None if g is not None and g[0] in instruction.writes else g for g in under)
    for slot in instruction.reads:
        if slot not in stored:
            live[slot] = live.get(slot, frozenset()) | {instruction.guard}
    if instruction.guard is not None:
        live[instruction.guard[0]] = live.get(instruction.guard[0], frozenset()) | {None}


def _stored(code: Sequence[Instruction]) -> dict[int, frozenset[int]]:
    """By the index of a store, the registers whose values it stores and that are no part of its address."""
    slots: dict[str, int] = {}
    for instruction in code:
        register = next(iter(_operands(instruction)), None)
        if isinstance(register, sass.Register) and register.number is not None:
            wide = instruction.opcode.startswith("LD") or any(part in instruction.opcode for part in ("WIDE", "64"))
            for distance, slot in enumerate(instruction.writes if wide else instruction.writes[:1]):
                if slot is not None:
                    slots[register.next(distance).name] = slot
    result = {}
    for instruction in code:
        if _name(instruction) in _STORES:
            registers = (
                r for operand in _operands(instruction) if isinstance(operand, sass.Address) for r in operand.registers
            )
            pairs = {
                register.next(part).name for register in registers for part in range(1 + ("64" in register.modifiers))
            }
            result[instruction.index] = frozenset(instruction.reads) - {slots[name] for name in pairs if name in slots}
    return result


def _operands(instruction: Instruction) -> tuple[sass.Operand, ...]:
    text = (
        instruction.text.split(" ", 1)[1]
        if instruction.text.startswith("@") and " " in instruction.text
        else instruction.text
    )
    return tuple(map(sass.parse_operand, sass.split_operands(text.partition(" ")[2])))
