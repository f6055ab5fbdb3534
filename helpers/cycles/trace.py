"""What the blocks that one SM holds at first do: recorded by the functional simulator, kept by sm.c.

Only those blocks are executed, as machine code, with what does not matter left out: nothing is stored to global memory,
and arithmetic whose result leads to no address and no branch is not carried out (`without_results`). How many SMs ask
for the same sectors is found by beginning the blocks of the whole first wave (`Sharing`).
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from helpers.compiler import CompiledKernel, sass
from helpers.cycles import binding as native
from helpers.cycles.machine_code import instructions
from helpers.devices import SECTOR_BYTES, Device
from helpers.occupancy import Occupancy, occupancy
from helpers.simulator import Captured
from helpers.simulator.engine.ir import Instruction, Kind, Program
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
    same sector.  arrays: their names and addresses [start, stop).  warp_instructions: of all traced warps.
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
    sliced = Prepared(_without_results(program))
    light = replace(
        run, prepared=sliced, global_memory=Untouched(run.global_memory), output=Output(0), observers=None,
        max_instructions=MOST_INSTRUCTIONS,
    )  # fmt: skip
    on_one = max(1, min(fits.blocks, -(-all_blocks // device.sms)))
    numbers = np.arange(on_one, dtype=np.int64) * device.sms % all_blocks
    lib = native.library()
    handle = lib.trace_new(on_one, run.threads)
    replace(light, observers=Observers(_Tracer(handle)), only_blocks=numbers).run()
    lib.trace_finish(handle)
    arrays = tuple((one.name, one.base, one.end) for one in run.global_memory.allocations)
    lengths = np.array([block.stop - block.start for block in program.blocks], np.int32)
    facts = np.zeros(4, np.int64)
    lib.trace_facts(handle, _at(lengths, ctypes.c_int32), _at(facts, ctypes.c_int64))
    return Trace(
        compiled, program, run.grid, run.block, fits, shared_bytes, handle, on_one, arrays,
        _sharing(light, fits.blocks, all_blocks, device.sms, arrays), int(facts[0]), int(facts[3]),
    )  # fmt: skip


def _at(array: np.ndarray, kind: type) -> ctypes._Pointer:
    return array.ctypes.data_as(ctypes.POINTER(kind))


class _Tracer(Observer):
    """Hands what the blocks do to sm.c."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._library = native.library()

    def handlers(self) -> Handlers:
        return {Executed: self.executed, Access: self.access, AsyncCopy: self.copy}

    def executed(self, event: Executed) -> None:
        """The basic block, and the warps that execute it."""
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
            self._library.sectors_add(self._handle, at, mask, blocks, threads, self._on.ctypes.data)
            del addresses, kept

    def copy(self, event: AsyncCopy) -> None:
        """What a copy reads."""
        if (reads := event.reads()) is not None:
            self.access(replace(reads, mask=event.mask if reads.mask is None else reads.mask))


def _sharing(light, resident: int, blocks: int, sms: int, arrays) -> tuple[float, ...]:
    """By array: by how many SMs of the first wave a sector is asked for, on average."""
    lib = native.library()
    handle = lib.sectors_new()
    first = min(blocks, sms * resident, max(sms, MOST_SHARERS // light.threads))
    per_wave = max(1, LANES_PER_WAVE // light.threads)
    watched = replace(light, observers=Observers(_Sharing(handle, sms)))
    for start in range(0, first, per_wave):
        with suppress(_Enough):
            replace(watched, only_blocks=np.arange(start, min(start + per_wave, first), dtype=np.int64)).run()
    result = []
    for _, low, high in arrays:
        found = np.zeros(2, np.int64)
        lib.sectors_shared(handle, low, high, _at(found, ctypes.c_int64))
        # An array that is reached only at the end, as by the sums of all blocks: shared by all if it is that small.
        result.append(float(found[1] / found[0]) if found[0] else min(sms, max(1.0, sms * SECTOR_BYTES / (high - low))))
    lib.sectors_free(handle)
    return tuple(result)


# ---- leaving out what does not matter

_LANES = frozenset(("SHFL", "VOTE", "VOTEU", "REDUX", "MATCH", "HMMA", "MOVM"))  # no arithmetic, and no memory either
_STORES = frozenset(("STG", "STS", "STL", "ST", "RED", "REDG"))


def _without_results(program: Program) -> Program:
    """The program without arithmetic that leads to no address, no guard and no branch.

    Backward over the flow of control: a value matters where a later instruction that matters reads it. What is stored
    matters only if something that is loaded does: global memory stays as it is anyway.
    """
    code = program.instructions
    stored = _stored(code)
    live_out = _needed(program, stored)
    loads = [(block, one) for block in program.blocks for one in code[block.start : block.stop] if one.loads_shared]
    if any(_matters(one, live) for block, one in loads for live in _within(program, block, live_out, stored, one)):
        stored = {}
        live_out = _needed(program, stored)
    changed = list(code)
    for block in program.blocks:
        live = live_out[block.index]
        for index in range(block.stop - 1, block.start - 1, -1):
            one = code[index]
            if not _carried_out(one, live):
                changed[index] = replace(one, kind=Kind.NOTHING, fma=None, reads=())
            live = _before(one, live, stored)
    return replace(program, instructions=changed)


# Registers that matter, each with the guard under which it is read: what is written under the same guard is enough.
_Live = frozenset[tuple[int, tuple[int, bool] | None]]


def _matters(one: Instruction, live: _Live) -> bool:
    written = set(one.writes)
    return any(slot in written for slot, _ in live)


def _carried_out(one: Instruction, live: _Live) -> bool:
    """Whether an instruction has to be executed if `live` are the registers that matter behind it."""
    pure = one.kind is Kind.ALU or (one.kind is Kind.EFFECT and one.opcode.split(".")[0] in _LANES)
    return not pure or not one.writes or _matters(one, live)


def _before(one: Instruction, live: _Live, stored: dict[int, frozenset[int]]) -> _Live:
    """The registers that matter before an instruction."""
    if not _carried_out(one, live):
        return live
    written, guard = set(one.writes), one.guard
    kept = {
        (slot, None if under is not None and under[0] in written else under)
        for slot, under in live
        if slot not in written or (guard is not None and under != guard)
    }
    kept.update((slot, guard) for slot in one.reads if slot not in stored.get(one.index, ()))
    if guard is not None:
        kept.add((guard[0], None))
    return frozenset(kept)


def _within(program: Program, block, live_out, stored, wanted: Instruction):
    """The registers that matter behind an instruction of a block."""
    live = live_out[block.index]
    for index in range(block.stop - 1, wanted.index, -1):
        live = _before(program.instructions[index], live, stored)
    yield live


def _needed(program: Program, stored: dict[int, frozenset[int]]) -> list[_Live]:
    """By basic block, the registers that matter at its end."""
    live_in: list[_Live] = [frozenset() for _ in program.blocks]
    live_out = list(live_in)
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks):
            live = live_out[block.index] = frozenset().union(*(live_in[after] for after in block.successors))
            for index in range(block.stop - 1, block.start - 1, -1):
                live = _before(program.instructions[index], live, stored)
            if live != live_in[block.index]:
                live_in[block.index] = live
                changed = True
    return live_out


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
