"""The form of a kernel that the engine executes, whichever front end (PTX or SASS) it came from.

Registers are numbered slots. A slot holds one value for all threads that run in lockstep: a NumPy scalar if the value
is the same for all of them, or an array of shape (1, T), (B, 1) or (B, T) for B blocks of T threads. The width of a
slot is fixed, its dtype is not: a reader of a slot views its bits as the type that the instruction wants.
"""

import gc
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from gpusim.compiler import Parameter
from gpusim.engine.block_order import meeting_order


def uncollected(function: Callable) -> Callable:
    """Run a function without Python's search for unreachable cycles.

    Preparing a kernel makes many thousand objects that stay; the search would look at all of them, again and again.
    """

    @wraps(function)
    def run(*arguments):
        was_on = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments)
        finally:
            if was_on:
                gc.enable()

    return run


class Registers(list):
    """The values of all register slots; `addresses` says by slot where a value lies in memory, for `lanewise`."""

    __slots__ = ("addresses",)

    def __init__(self, values) -> None:
        super().__init__(values)
        self.addresses: dict[int, tuple] = {}


COLLECTIVE, EXCLUSIVE = 1, 2  # what `barrier` of a WARP_BARRIER says: each mask makes a group, for a while or not


class Kind(Enum):
    """How the engine treats an instruction."""

    ALU = "alu"  # reads registers, writes registers: `evaluate(registers)`
    EFFECT = "effect"  # touches memory or other lanes: `execute(wave, registers, mask)`
    BRANCH = "branch"  # goes to `target`, or to `select(registers)`-th of `targets`
    BARRIER = "barrier"  # waits for all threads of the block
    CLUSTER_BARRIER = "cluster barrier"  # waits for those of the cluster that have not arrived yet
    WARP_BARRIER = "warp barrier"  # waits for the lanes of the warp named by `select(registers)`
    MEETING = "meeting"  # BSYNC: waits for the threads of the warp that agreed to meet at `barrier`
    PHASE_WAIT = "phase wait"  # waits, for a while, until the phase of an mbarrier has ended that `look` looks at
    EXIT = "exit"
    NOTHING = "nothing"  # left out of a program whose results are not needed


WAITS = (Kind.BARRIER, Kind.CLUSTER_BARRIER, Kind.WARP_BARRIER, Kind.MEETING, Kind.PHASE_WAIT)


@dataclass(slots=True)
class Instruction:
    """One instruction.

    `guard` is (slot of a predicate, negated); `writes` are the slots that receive what `evaluate` or `execute` returns
    (one value, or a tuple of as many values as there are slots; None if nothing is written). A branch is taken where
    `condition(wave, registers)` is true if it has one, else where its guard is. `called_from` holds the source lines
    from which the function of `line` was called, if it was inlined.
    """

    index: int
    text: str
    opcode: str
    line: int
    kind: Kind
    guard: tuple[int, bool] | None = None
    reads: tuple[int, ...] = ()
    writes: tuple[int | None, ...] = ()
    evaluate: Callable[[Registers], Any] | None = None
    execute: Callable[[Any, Registers, Any], Any] | None = None
    computation: Any = None  # lanewise.Computation, of one that the C program executes
    target: int = -1
    targets: tuple[int, ...] = ()
    select: Callable[[Registers], Any] | None = None
    condition: Callable[[Any, Registers], Any] | None = None
    called_from: tuple[int, ...] = ()
    barrier: int = -1
    uniform: frozenset[int] = frozenset()  # the slots among `writes` of registers that the lanes of a warp share
    # Metadata for observers: it copies one register, or its answer depends on registers that
    # are `chosen` (see `isa.rules.Compute`); it is a load that may come from shared memory, a compare-and-swap,
    # the load with which one begins, a strong operation of the memory model; plain loads may look at what it changes;
    # its scope is the block.
    copies: bool = False
    chooses: Callable[[Registers], tuple[Any, Any]] | None = None
    chosen: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    loads_shared: bool = False
    swaps: bool = False
    begins_swap: bool = False
    strong: bool = False
    is_observed: bool = False
    block_scope: bool = False
    look: Any = None  # of a wait for a phase: accesses.PhaseLook


@dataclass(slots=True)
class BasicBlock:
    """Instructions [start, stop) that are always executed together.

    `keep` are the registers among those it writes that a write under a mask must leave alone in other threads: those
    threads wait at a block where they are live.
    """

    index: int
    start: int
    stop: int
    successors: tuple[int, ...] = ()
    keep: frozenset[int] = frozenset()
    live: int = 0


@dataclass
class Program:
    """A kernel ready to run.

    `initial` holds one NumPy scalar per register slot. `global_variables` maps the name of a module variable to its
    declaration and the slot that receives its address (None if it is not used). `shared_bytes` is static shared memory;
    dynamic shared memory starts at `dynamic_shared_offset`. Of `local_bytes` the first `stack_reserve` are beyond what
    the compiler states: for functions that call themselves. `debug`: it is code for a debugger (-G); such code
    `may_be_reserved`, that is go to shared memory that the system keeps for itself, below `shared_base`, which is the
    address that the code gives to the first byte of shared memory; `cluster` is what `__cluster_dims__` asks for;
    `start(wave)`, if there is one, prepares the registers of a wave; `banks(launch)` are the constant banks of machine
    code, by number; `constant_bytes` is how long bank 3 is, if there may be pointers into it.
    """

    name: str
    level: str
    arch: str
    instructions: list[Instruction]
    initial: list[np.generic]
    parameters: tuple[Parameter, ...]
    shared_bytes: int = 0
    dynamic_shared_offset: int = 0
    local_bytes: int = 0
    stack_reserve: int = 0
    debug: bool = False
    may_be_reserved: bool = False
    registers_per_thread: int = 0
    max_threads: int | None = None
    source_lines: tuple[str, ...] = ()
    global_variables: dict[str, tuple[Any, int | None]] = field(default_factory=dict)
    blocks: list[BasicBlock] = field(default_factory=list)
    shared_base: int = 0
    cluster: tuple[int, int, int] | None = None
    start: Callable[[Any], None] | None = None
    registers: Mapping[str, int] = field(default_factory=dict)  # of PTX: their slots
    banks: Callable[[Any], dict[int, bytes]] | None = None
    constant_bytes: int = 0
    order: Callable[[Any], Any] | None = None  # whose turn it is among diverged threads, the smallest; else the block's
    uses: Any = None  # of loaded values, found when they are asked for: see loaded_values
    decode: Callable[[Any], Any] | None = None  # makes what the compiled engine executes, of a Prepared

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """Those that occur."""
        return frozenset(instruction.opcode for instruction in self.instructions)

    @cached_property
    def has_partial_barriers(self) -> bool:
        """Whether there are barriers that a part of a block may wait at."""
        return any(i.kind is Kind.BARRIER and i.select is not None for i in self.instructions)

    @cached_property
    def finds_phases(self) -> bool:
        """Whether it asks mbarriers whether a phase has ended. (Machine code of Ampere looks by plain loads.)"""
        return any("PHASECHK" in opcode or "_wait" in opcode for opcode in self.opcodes if at_mbarrier(opcode))

    @property
    def orders_some_warps(self) -> bool:
        """Whether there are barriers that order some warps of a block, and others not."""
        return self.has_partial_barriers or self.finds_phases


def at_mbarrier(opcode: str) -> bool:
    """Whether an instruction works on a barrier in shared memory."""
    return opcode.startswith(("mbarrier.", "cp.async.mbarrier.", "SYNCS.", "ARRIVES.", "ATOMS.ARRIVE"))


def is_used(program: Program, index: int, slot: int) -> bool:
    """Whether what instruction `index` writes into a register may be read before the register is written anew."""
    inside = next(block for block in program.blocks if block.start <= index < block.stop)
    ways, known = [(index + 1, inside)], set()
    while ways:
        first, block = ways.pop()
        for instruction in program.instructions[first : block.stop]:
            guarded = instruction.guard is not None
            if slot in instruction.reads or (guarded and instruction.guard[0] == slot):
                return True
            if slot in instruction.writes and not guarded:
                break
        else:
            following = [number for number in block.successors if number not in known]
            known.update(following)
            ways += [(program.blocks[number].start, program.blocks[number]) for number in following]
    return False


def is_dead_exchange(program: Program, instruction: Instruction) -> bool:
    """Whether an atomic operation only puts a value there: it exchanges, and its result is dead."""
    return "exch" in instruction.opcode.lower().split(".") and not result_is_live(program, instruction)


def result_is_live(program: Program, instruction: Instruction) -> bool:
    """Whether what an instruction writes into registers is live."""
    return any(slot is not None and is_used(program, instruction.index, slot) for slot in instruction.writes)


LOADS = ("LDS", "LDG", "LD.", "LDL", "ld.")
FROM_THE_STACK, TO_THE_STACK = ("LDL", "ld.local"), ("STL", "st.local")
GENERIC_LOADS, GENERIC_STORES = ("LD.", "ld."), ("ST.", "st.")  # by which code for a debugger reaches the stack, too
_ON_THE_STACK = re.compile(r"\[(?:R1|%SPL?)(?:\+(\w+))?\]")
_COMPARED = re.compile(r"\],\s*(\w+)")  # the register with what a compare-and-swap compares
_WRITTEN = re.compile(r"\s(U?R\d+),.*?(?:\b(U?R\d+)(?:\.\w+)?)?$")  # the first register, and the last


def mark_cas_loads(program: Program, own: Container[int] | None = None) -> None:
    """Say of the loads with which a compare-and-swap begins that they are some.

    `old = *x; do old = atomicCAS(x, was = old, f(was)); while (old != was);` is right whatever it finds at first, as
    the comparison finds out. So is `if (*x == 0) atomicCAS(x, 0, 1);`. A load is none of these if, before the next
    barrier, neither is its value given to a swap, nor does it decide whether there is one. Where values go through
    addresses of the stack that are not constant, or back to the caller of a function, more loads are taken for such
    ones than there are.

    `own` are those compare-and-swaps that the source has, None for all. The others the compiler made of an atomic
    operation which the machine does not have. Of such a loop only the load of what is compared is one: what goes into
    the operation must not race.
    """
    instructions = program.instructions
    swaps = [instruction for instruction in instructions if instruction.swaps]
    if not swaps:
        return
    own = {swap.index for swap in swaps if own is None or swap.index in own}
    seeds = _loads_of_loops(program, [swap for swap in swaps if swap.index not in own])
    for instruction in instructions:
        instruction.begins_swap = instruction.index in seeds
    if not own:
        return
    stack = _StackWords(program)
    # By basic block, at its beginning: what a swap needs, registers and words of the stack, and a bit below them,
    # whether there is a swap.
    needed = [0] * len(program.blocks)
    seeds = set()
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks):
            returns = not block.successors and instructions[block.stop - 1].kind is not Kind.EXIT
            now = -1 if returns else 0
            for successor in block.successors:
                now |= needed[successor]
            for instruction in reversed(instructions[block.start : block.stop]):
                if instruction.kind is Kind.BARRIER:
                    now = 0
                writes = bits(slot for slot in instruction.writes if slot is not None) << 1
                gives, guard = now & writes, () if instruction.guard is None else instruction.guard[:1]
                if not guard:
                    now &= ~writes
                if instruction.index in own:
                    now |= 1
                if gives and instruction.opcode.startswith(LOADS):
                    seeds.add(instruction.index)
                    now |= stack.read_by(instruction)
                elif (
                    gives
                    or instruction.index in own
                    or now & stack.written_by(instruction)
                    or (instruction.kind is Kind.BRANCH and now & 1)
                ):
                    now |= bits((*instruction.reads, *guard)) << 1
            changed |= now != needed[block.index]
            needed[block.index] = now
    for index in seeds:
        instructions[index].begins_swap = True


def _loads_of_loops(program: Program, swaps: Iterable[Instruction]) -> set[int]:
    """The loads of what these compare-and-swaps compare: from there a register is followed back, through copies."""
    before: dict[int, list[int]] = {block.index: [] for block in program.blocks}
    for block in program.blocks:
        for successor in block.successors:
            before[successor].append(block.index)
    loads = set()
    for swap in swaps:
        compared = _COMPARED.search(swap.text)
        inside = next(block for block in program.blocks if block.start <= swap.index < block.stop)
        ways = [(swap.index, inside, compared[1])] if compared else []
        known = set()
        while ways:
            stop, block, name = ways.pop()
            for instruction in reversed(program.instructions[block.start : stop]):
                written = _WRITTEN.search(instruction.text)
                if written is None or written[1] != name:
                    continue
                if instruction.opcode.startswith(LOADS):
                    loads.add(instruction.index)
                elif instruction.copies and written[2]:
                    ways.append((instruction.index, block, written[2]))
                if instruction.guard is None:
                    break
            else:
                following = {(number, name) for number in before[block.index]} - known
                known |= following
                ways += [(program.blocks[number].stop, program.blocks[number], name) for number, _ in following]
    return loads


class _StackWords:
    """Bits for the words of a thread's stack, above those of the registers."""

    def __init__(self, program: Program) -> None:
        self._loads = FROM_THE_STACK + (GENERIC_LOADS if program.debug else ())
        self._stores = TO_THE_STACK + (GENERIC_STORES if program.debug else ())
        self._first = len(program.initial) + 1
        self._all = (1 << -(-program.local_bytes // 4)) - 1 << self._first

    def read_by(self, load: Instruction) -> int:
        """The words that a load may read."""
        return self._words(load) if load.opcode.startswith(self._loads) else 0

    def written_by(self, store: Instruction) -> int:
        """The words that a store may write."""
        return self._words(store) if store.opcode.startswith(self._stores) else 0

    def _words(self, access: Instruction) -> int:
        match = _ON_THE_STACK.search(access.text)
        if match is None:
            return self._all
        first, parts = int(match[1] or "0", 0) // 4, access.opcode.split(".")
        words = next((bits // 32 for bits in (64, 128) if any(part.endswith(str(bits)) for part in parts)), 1)
        words *= next((int(part[1]) for part in parts if part in ("v2", "v4")), 1)
        return ((1 << words) - 1 << first + self._first) & self._all or self._all


def basic_blocks(
    instructions: Sequence[Instruction],
    in_meeting_order: bool = False,
    returning: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
) -> list[BasicBlock]:
    """Cut the instructions into basic blocks and find the registers that are live at the end of each.

    Their order is that of the text, or one in which diverged threads meet again (`block_order`). For that it counts of
    calls and returns, by their index, what comes after them in the same function: `returning`.
    """
    ends = (*WAITS, Kind.BRANCH, Kind.EXIT)
    leaders = {0}
    for instruction in instructions:
        if instruction.kind in ends:
            leaders.add(instruction.index + 1)
            leaders.update(instruction.targets or ([instruction.target] if instruction.target >= 0 else ()))
    starts = sorted(leader for leader in leaders if leader < len(instructions))
    block_of = {start: number for number, start in enumerate(starts)}
    blocks = []
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(instructions)
        last = instructions[stop - 1]
        successors = []
        successors += [block_of[t] for t in (last.targets or (last.target,)) if t in block_of]
        unconditional = last.kind in (Kind.BRANCH, Kind.EXIT) and last.guard is None and last.condition is None
        if not unconditional and stop in block_of:
            successors.append(block_of[stop])
        blocks.append(BasicBlock(number, start, stop, tuple(successors)))
    if in_meeting_order:
        same = [
            tuple(block_of[index] for index in returning[block.stop - 1] if index in block_of)
            if block.stop - 1 in returning
            else block.successors
            for block in blocks
        ]
        order = meeting_order(same)
        number_of = {old: new for new, old in enumerate(order)}
        blocks = [
            BasicBlock(number_of[old], blocks[old].start, blocks[old].stop,
                       tuple(number_of[successor] for successor in blocks[old].successors))
            for old in order
        ]  # fmt: skip
    _liveness(blocks, instructions)
    return blocks


def _liveness(blocks: list[BasicBlock], instructions: Sequence[Instruction]) -> None:
    """Backward data flow: what is live at the end of a block is what is live at the start of one of its successors.

    Sets of registers are the bits of integers here: a large kernel has thousands of both.
    """
    used, defined = [], []
    for block in blocks:
        uses: set[int] = set()
        definitions: set[int] = set()
        for instruction in instructions[block.start : block.stop]:
            reads = set(instruction.reads)
            if instruction.guard is not None:
                # A guarded write keeps the old value where the guard is false, so it reads it.
                reads.add(instruction.guard[0])
                reads.update(w for w in instruction.writes if w is not None)
            uses |= reads - definitions
            definitions.update(w for w in instruction.writes if w is not None)
        used.append(bits(uses))
        defined.append(definitions)
    masks = [bits(definitions) for definitions in defined]
    live_in, live_out = list(used), [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            live = 0
            for successor in block.successors:
                live |= live_in[successor]
            live_out[block.index] = live
            now = used[block.index] | (live & ~masks[block.index])
            if now != live_in[block.index]:
                live_in[block.index] = now
                changed = True
    for block in blocks:
        block.live = live_in[block.index]
    # While a block is executed by some threads the others are at later blocks, or wait behind any barrier.
    kept = 0
    behind = {block.start: block.index for block in blocks}
    for block in blocks:
        if instructions[block.stop - 1].kind in WAITS and block.stop in behind:
            kept |= live_in[behind[block.stop]]
    for block in reversed(blocks):
        keep = kept | live_out[block.index]
        block.keep = frozenset(register for register in defined[block.index] if keep >> register & 1)
        kept |= live_in[block.index]


def bits(registers: Iterable[int]) -> int:
    """Some registers as the bits of an integer."""
    result = 0
    for register in registers:
        result |= 1 << register
    return result
