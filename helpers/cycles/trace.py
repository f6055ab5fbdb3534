"""What the blocks that one SM holds at first do: recorded by the functional simulator, kept by sm.c.

Only those blocks are executed, as machine code, with what does not matter left out: nothing is stored to global memory,
and arithmetic whose result leads to no address and no branch is not carried out (`without_results`). How many SMs ask
for the same sectors is found by beginning the blocks of the whole first wave (`Sharing`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from helpers.compiler import CompiledKernel, sass
from helpers.cycles import binding as native
from helpers.cycles.ahead import Ahead
from helpers.cycles.machine_code import instructions
from helpers.devices import SECTOR_BYTES, Device
from helpers.occupancy import Occupancy, occupancy
from helpers.simulator import Captured, SimulatorError
from helpers.simulator.engine.ir import BasicBlock, Instruction, Kind, Program
from helpers.simulator.engine.memory import product
from helpers.simulator.engine.observers import Access, AsyncCopy, Executed, Handlers, Observer, Observers, WaveBegins
from helpers.simulator.engine.printf import Output
from helpers.simulator.engine.run import LANES_PER_WAVE, Prepared
from helpers.simulator.recording.recorder import local_addresses
from helpers.simulator.recording.sampling import Untouched

MOST_INSTRUCTIONS = 1 << 26  # of a thread: big problems have long loops
MOST_SHARERS = 1 << 18  # threads that are begun to see which sectors are shared
ROUNDS = 3  # how often such a block executes each basic block at most
LOCAL = 1 << 50  # local memory's place among the addresses of global memory
SHARED_LD, SHARED_ST, SHARED_AT, GLOBAL = range(4)  # `enum Kind` of sm.c


@dataclass(frozen=True, eq=False)
class Trace:
    """A launch, ready to be timed.

    blocks: that were traced, the first that an SM holds.  sharing: by array of global memory, how many SMs ask for the
    same sector.  in_part: by array, which share of the sectors that are written is written in part, and which of all is
    so and alone in its line.  arrays: their names and addresses [start, stop).  warp_instructions: of all traced warps.
    """

    compiled: CompiledKernel
    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    occupancy: Occupancy
    shared_bytes: int
    handle: int
    blocks: int
    arrays: tuple[tuple[str, int, int], ...]
    sharing: tuple[float, ...]
    in_part: tuple[tuple[float, float], ...]
    warp_instructions: int
    longest_loop: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return product(self.block)

    @cached_property
    def instructions(self) -> ctypes.Array:
        """The machine code as sm.c takes it."""
        return instructions(self.compiled, self.program)

    @cached_property
    def basic_blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """First instruction, and the one behind the last, of each basic block."""
        return tuple(
            np.array([getattr(block, end) for block in self.program.blocks], np.int32) for end in ("start", "stop")
        )

    def __del__(self) -> None:
        native.library().trace_free(self.handle)


def trace(launch: Captured, device: Device) -> Trace:
    """Execute the blocks of a launch that one SM of `device` holds at first. Raises what the kernel raises."""
    run, compiled = launch.run, launch.compiled
    program = run.program
    shared_bytes = compiled.shared_bytes + launch.shared_mem
    fits = occupancy(device, run.threads, max(compiled.registers, 16), shared_bytes)
    all_blocks = product(run.grid)
    without, branches, needed = _without_results(program)
    sliced = Prepared(without)
    light = replace(
        run, prepared=sliced, global_memory=Untouched(run.global_memory), output=Output(0), observers=None,
        max_instructions=MOST_INSTRUCTIONS,
    )  # fmt: skip
    on_one = max(1, min(fits.blocks, -(-all_blocks // device.sms)))
    numbers = np.arange(on_one, dtype=np.int64) * device.sms % all_blocks
    lib = native.library()

    def executed(needed: list[tuple[int, ...]] | None) -> int:
        handle = lib.trace_new(on_one, run.threads)
        ahead = None if needed is None else Ahead(branches, needed, partial(_repeated, handle))
        try:
            replace(light, observers=Observers(_Tracer(handle, ahead)), only_blocks=numbers).run()
        except BaseException:
            lib.trace_free(handle)
            raise
        return handle

    try:
        handle = executed(needed)
    except SimulatorError:  # the kernel's own, or a loop was not what it seemed to be after some iterations
        handle = executed(None)
    lib.trace_finish(handle)
    arrays = tuple((one.name, one.base, one.end) for one in run.global_memory.allocations)
    lengths = np.array([block.stop - block.start for block in program.blocks], np.int32)
    facts = np.zeros(4, np.int64)
    lib.trace_facts(handle, _at(lengths, ctypes.c_int32), _at(facts, ctypes.c_int64))
    return Trace(
        compiled, program, run.grid, run.block, fits, shared_bytes, handle, on_one, arrays,
        *_sharing(light, fits.blocks, all_blocks, device.sms, arrays), int(facts[0]), int(facts[3]),
    )  # fmt: skip


def _repeated(handle: int, entries: int, times: int) -> bool:
    return bool(native.library().trace_repeat(handle, entries, times))


def _at(array: np.ndarray, kind: type) -> ctypes._Pointer:
    return array.ctypes.data_as(ctypes.POINTER(kind))


class _Tracer(Observer):
    """Hands what the blocks do to sm.c."""

    def __init__(self, handle: int, ahead: Ahead | None) -> None:
        self._handle, self._ahead = handle, ahead
        self._library = native.library()

    def handlers(self) -> Handlers:
        return {Executed: self.executed, Access: self.access, AsyncCopy: self.copy}

    def executed(self, event: Executed) -> None:
        """The basic block, and the warps that execute it."""
        if self._ahead is not None:
            self._ahead.visit(event.wave, event.block)
        _, mask = _whole(event.wave, event.wave.mask)
        self._library.trace_executed(self._handle, event.block, mask)

    def access(self, event: Access) -> None:
        """The addresses of a memory instruction."""
        kind, width, addresses = GLOBAL, event.width, event.addresses
        if event.space == "shared":
            kind = {"ld": SHARED_LD, "ldsm": SHARED_LD, "st": SHARED_ST}.get(event.op, SHARED_AT)
        elif event.space == "local":
            addresses, width = local_addresses(event.wave, addresses) + LOCAL, 4
        lanes, at = _whole(event.wave, addresses, np.int64)
        _, mask = keep = _whole(event.wave, event.mask)
        self._library.trace_access(self._handle, event.wave.instruction.index, kind, width, at, mask)
        del lanes, keep  # which held the arrays until here

    def copy(self, event: AsyncCopy) -> None:
        """Both sides of an asynchronous copy."""
        arrays = [_whole(event.wave, part, np.int64) for part in (event.to, event.origin)]
        masks = [_whole(event.wave, part) for part in (event.mask, event.read)]
        pointers = (pair[1] for pair in (*arrays, *masks))
        self._library.trace_copy(self._handle, event.wave.instruction.index, event.size, *pointers)


def _whole(wave, values, dtype: type = np.bool_) -> tuple[np.ndarray | None, int | None]:
    """An array for all threads of a wave and the address of its first element; None stays None."""
    if values is None:
        return None, None
    whole = np.ascontiguousarray(np.broadcast_to(values, wave.shape), dtype)
    return whole, whole.ctypes.data


# ---- who shares what


class _Enough(Exception):
    """The blocks of a wave were begun."""


class _Sharing(Observer):
    """Begins blocks, and notes which SM asks for which sectors."""

    def __init__(self, handle: int, sms: int) -> None:
        self._handle, self._sms, self._library = handle, sms, native.library()

    def handlers(self) -> Handlers:
        return {WaveBegins: self.begin, Executed: self.executed, Access: self.access, AsyncCopy: self.copy}

    def begin(self, event: WaveBegins) -> None:
        """Find out where the blocks of the wave run."""
        self._on = np.ascontiguousarray(event.wave.block_ids % self._sms, np.int32)
        self._visits: dict[int, int] = {}

    def executed(self, event: Executed) -> None:
        """Stop when the loops were gone through often enough."""
        self._visits[event.block] = self._visits.get(event.block, 0) + 1
        if self._visits[event.block] > ROUNDS:
            raise _Enough

    def access(self, event: Access) -> None:
        """Note the sectors."""
        if event.space == "global" and not (event.mask is not None and not np.any(event.mask)):
            addresses, at = _whole(event.wave, event.addresses, np.int64)
            kept, mask = _whole(event.wave, event.mask)
            blocks, threads = event.wave.shape
            stored = event.width if event.op == "st" else 0
            self._library.sectors_add(self._handle, at, mask, blocks, threads, self._on.ctypes.data, stored)
            del addresses, kept

    def copy(self, event: AsyncCopy) -> None:
        """What a copy reads."""
        if (reads := event.reads()) is not None:
            self.access(replace(reads, mask=event.mask if reads.mask is None else reads.mask))


def _sharing(
    light, resident: int, blocks: int, sms: int, arrays
) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
    """By array: by how many SMs of the first wave a sector is asked for, on average; and `Trace.in_part`."""
    lib = native.library()
    handle = lib.sectors_new()
    first = min(blocks, sms * resident, max(sms, MOST_SHARERS // light.threads))
    per_wave = max(1, LANES_PER_WAVE // light.threads)
    watched = replace(light, observers=Observers(_Sharing(handle, sms)))
    for start in range(0, first, per_wave):
        with suppress(_Enough):
            replace(watched, only_blocks=np.arange(start, min(start + per_wave, first), dtype=np.int64)).run()
    result, in_part = [], []
    for _, low, high in arrays:
        found, written = np.zeros(2, np.int64), np.zeros(3, np.int64)
        lib.sectors_written(handle, low, high, _at(written, ctypes.c_int64))
        in_part.append((float(written[1] / max(written[0], 1)), float(written[2] / max(written[0], 1))))
        lib.sectors_shared(handle, low, high, _at(found, ctypes.c_int64))
        # An array that is reached only at the end, as by the sums of all blocks: shared by all if it is that small.
        result.append(float(found[1] / found[0]) if found[0] else min(sms, max(1.0, sms * SECTOR_BYTES / (high - low))))
    lib.sectors_free(handle)
    return tuple(result), tuple(in_part)


# ---- leaving out what does not matter

_LANES = frozenset(("SHFL", "VOTE", "VOTEU", "REDUX", "MATCH", "HMMA", "MOVM"))  # no arithmetic, and no memory either
_LOADS = frozenset(("LDG", "LD", "LDL", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS"))
_STORES = frozenset(("STG", "STS", "STL", "ST", "RED", "REDG"))


def _without_results(program: Program) -> tuple[Program, Program, list[tuple[int, ...]] | None]:
    """The program without arithmetic that leads to no address, no guard and no branch; without anything that leads to
    no branch; and by basic block the registers that lead to one of the first from there on, None if one of them may
    come from memory.

    Backward over the flow of control: a value matters where a later instruction that matters reads it. What is stored
    matters only if something that is loaded does: global memory stays as it is anyway.
    """
    needed = _Needed(program, _stored(program.instructions))
    if any(one.loads_shared and _matters(one, live) for one, live in needed.behind()):
        needed = _Needed(program, {})
    loaded = any(one.opcode.split(".")[0] in _LOADS and _matters(one, live) for one, live in needed.behind())
    registers = None if loaded or program.local_bytes else [tuple(sorted(live)) for live in needed.before_block]
    return needed.alone(), _Needed(program, {}, _leads_to_branch).alone(), registers


# Registers that matter, each with the guards under which it is read, None for always: what is written under the same
# guard is enough.
_Live = dict[int, frozenset[tuple[int, bool] | None]]


def _matters(one: Instruction, live: _Live) -> bool:
    return any(slot in live for slot in one.writes)


def _carried_out(one: Instruction, live: _Live) -> bool:
    """Whether an instruction has to be executed if `live` are the registers that matter behind it."""
    pure = one.kind is Kind.ALU or (one.kind is Kind.EFFECT and one.opcode.split(".")[0] in _LANES)
    return not pure or not one.writes or _matters(one, live)


def _leads_to_branch(one: Instruction, live: _Live) -> bool:
    """The same if only branches matter, and no address."""
    return one.kind not in (Kind.ALU, Kind.EFFECT) or _matters(one, live)


class _Needed:
    """Which registers matter where.

    stored: by the index of a store, registers that it reads and that do not matter for it.  carried_out: whether an
    instruction matters, by the registers that do behind it.  before_block: by basic block, the registers that matter at
    its begin.
    """

    def __init__(
        self,
        program: Program,
        stored: dict[int, frozenset[int]],
        carried_out: Callable[[Instruction, _Live], bool] = _carried_out,
    ) -> None:
        self._program, self._stored, self._carried_out = program, stored, carried_out
        self._guards = {one.guard[0] for one in program.instructions if one.guard is not None}
        self.before_block: list[_Live] = [{} for _ in program.blocks]
        changed = True
        while changed:
            changed = False
            for block in reversed(program.blocks):
                live = self._after(block)
                for one in reversed(program.instructions[block.start : block.stop]):
                    self._step_back(one, live)
                if live != self.before_block[block.index]:
                    self.before_block[block.index] = live
                    changed = True

    def alone(self) -> Program:
        """The program with nothing but what matters."""
        changed = list(self._program.instructions)
        for one, live in self.behind():
            if not self._carried_out(one, live):
                changed[one.index] = replace(one, kind=Kind.NOTHING, fma=None, reads=())
        return replace(self._program, instructions=changed)

    def behind(self) -> Iterator[tuple[Instruction, _Live]]:
        """Every instruction with the registers that matter behind it, which hold until the next one is asked for."""
        for block in self._program.blocks:
            live = self._after(block)
            for one in reversed(self._program.instructions[block.start : block.stop]):
                yield one, live
                self._step_back(one, live)

    def _after(self, block: BasicBlock) -> _Live:
        live: _Live = {}
        for after in block.successors:
            for slot, guards in self.before_block[after].items():
                live[slot] = live.get(slot, frozenset()) | guards
        return live

    def _step_back(self, one: Instruction, live: _Live) -> None:
        """Make of the registers that matter behind an instruction those that matter before it."""
        if not self._carried_out(one, live):
            return
        for slot in one.writes:
            guards = live.pop(slot, frozenset())
            if one.guard is not None:  # where the guard is false, the register keeps what it holds
                otherwise = (one.guard[0], not one.guard[1])
                if rest := frozenset(otherwise if g is None else g for g in guards if g != one.guard):
                    live[slot] = rest
        if not self._guards.isdisjoint(one.writes):  # what is read under a guard that is written here is always read
            for slot, guards in live.items():
                if any(guard is not None and guard[0] in one.writes for guard in guards):
                    live[slot] = frozenset(None if g is not None and g[0] in one.writes else g for g in guards)
        for slot in one.reads:
            if slot not in self._stored.get(one.index, ()):
                live[slot] = live.get(slot, frozenset()) | {one.guard}
        if one.guard is not None:
            live[one.guard[0]] = live.get(one.guard[0], frozenset()) | {None}


def _stored(code: list[Instruction]) -> dict[int, frozenset[int]]:
    """By the index of a store, the registers whose values it stores and that are no part of its address."""
    slots: dict[str, int] = {}
    for one in code:
        register = next(iter(_operands(one)), None)
        if isinstance(register, sass.Register) and register.number is not None:
            wide = one.opcode.startswith("LD") or any(part in one.opcode for part in ("WIDE", "64"))
            for distance, slot in enumerate(one.writes if wide else one.writes[:1]):
                if slot is not None:
                    slots[register.next(distance).name] = slot
    result = {}
    for one in code:
        if one.opcode.split(".")[0] in _STORES:
            registers = (r for place in _operands(one) if isinstance(place, sass.Address) for r in place.registers)
            pairs = {
                register.next(part).name for register in registers for part in range(1 + ("64" in register.modifiers))
            }
            result[one.index] = frozenset(one.reads) - {slots[name] for name in pairs if name in slots}
    return result


def _operands(one: Instruction) -> tuple[sass.Operand, ...]:
    text = one.text.split(" ", 1)[1] if one.text.startswith("@") and " " in one.text else one.text
    return tuple(map(sass.parse_operand, sass.split_operands(text.partition(" ")[2])))
