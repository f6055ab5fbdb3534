"""What the blocks that one SM holds at first do: recorded by the functional simulator, kept by sm.c.

Only those blocks are executed, as machine code, with what does not matter left out: nothing is stored to global memory,
and arithmetic whose result leads to no address and no branch is not carried out (`slicing`). How many SMs ask
for the same sectors is found by beginning the blocks of the whole first wave (`Sharing`).
"""

from __future__ import annotations

import ctypes
import hashlib
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np

from gpusim import Captured, SimulatorError
from gpusim.compiler import CompiledKernel
from gpusim.counters.recorder import local_addresses
from gpusim.devices import SECTOR_BYTES, Device
from gpusim.engine import compiled as engine
from gpusim.engine.ir import Program
from gpusim.engine.memory import Untouched, product
from gpusim.engine.observers import Access, AsyncCopy, Executed, Handlers, Observer, Observers, WaveBegins
from gpusim.engine.printf import Output
from gpusim.engine.run import LANES_PER_WAVE, Prepared
from gpusim.errors import StepLimitExceeded
from gpusim.occupancy import Occupancy, occupancy
from gpusim.symbols import pointers
from gpusim.timing import binding as native
from gpusim.timing.ahead import Ahead
from gpusim.timing.machine_code import instructions
from gpusim.timing.slicing import Slices, Unknown

MOST_INSTRUCTIONS = 1 << 26  # of a thread: big problems have long loops
DOUBTFUL = 1 << 13  # basic blocks since a loop was last executed in part, after which it is asked whether all ends
MOST_AFTER = 1 << 14  # basic blocks and accesses after the first value that is unknown: four times what workloads need
MOST_SHARERS = 1 << 18  # threads that are begun to see which sectors are shared
ROUNDS = 3  # how often such a block executes each basic block at most
SAMPLES = 4  # other SMs' blocks that are looked at if not all warps do the same
MOST_WORK = 1 << 21  # warp instructions of them all, after which no further ones are
GOLDEN = (5**0.5 - 1) / 2  # whose multiples are spread evenly
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
    in_part: tuple[tuple[float, ...], ...]
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

    def __post_init__(self) -> None:
        weakref.finalize(self, native.library().trace_free, self.handle)


_NOT_MODELLED = ("UBLK", "SYNCS")  # copies in bulk, and barriers in shared memory


def trace(launch: Captured, device: Device) -> Trace:
    """Execute the blocks of a launch that one SM of `device` holds at first. Raises what the kernel raises, and
    SimulatorError for a kernel of clusters, whose blocks wait for others on other SMs, or of mbarriers."""
    run, compiled = launch.run, launch.compiled
    if run.blocks_of_cluster > 1:
        raise SimulatorError(
            f"The time of {run.program.name} cannot be predicted: its blocks work together in clusters, and what that "
            "costs is not modelled. Measure it on a GPU, or leave __cluster_dims__ away."
        )
    if any(instruction.opcode.startswith(_NOT_MODELLED) for instruction in run.program.instructions):
        raise SimulatorError(
            f"The time of {run.program.name} cannot be predicted: it copies in bulk or waits for mbarriers, and what "
            "that costs is not modelled. Measure it on a GPU."
        )
    program = run.program
    shared_bytes = compiled.shared_bytes + launch.shared_mem
    fits = occupancy(device, run.threads, max(compiled.registers, 16), shared_bytes)
    all_blocks = product(run.grid)
    unknown = Unknown(run.threads)
    slices = Slices.of(program, unknown)
    light = replace(
        run, prepared=Prepared(slices.results), global_memory=Untouched(run.global_memory),
        output=Output(0), observers=None, max_instructions=MOST_INSTRUCTIONS,
    )  # fmt: skip
    on_one = max(1, min(fits.blocks, -(-all_blocks // device.sms)))
    lib = native.library()

    @cache
    def endless(numbers: bytes) -> StepLimitExceeded | None:
        """The error if one of these blocks goes on for ever: the engine in C soon knows."""
        asked = replace(run, only_blocks=np.frombuffer(numbers, np.int64), max_instructions=MOST_INSTRUCTIONS)
        return engine.never_ends(asked, pointers.find(compiled).written, len(asked.only_blocks))

    def executed(run, slices: Slices | None, numbers: np.ndarray) -> tuple[int, bytes]:
        handle = lib.trace_new(len(numbers), run.threads)
        tracer = _Tracer(handle, slices, unknown, partial(endless, numbers.tobytes()))
        try:
            replace(run, observers=Observers(tracer), only_blocks=numbers).run()
        except BaseException:
            lib.trace_free(handle)
            raise
        return handle, tracer.digest

    def traced(numbers: np.ndarray) -> tuple[int, int, int]:
        """(its handle, how many warps do what no other does, warp instructions)."""
        nonlocal slices, light, in_short
        handle = None
        if in_short:
            handle = _in_short(unknown, partial(executed, light, slices, numbers), partial(endless, numbers.tobytes()))
        if handle is None:
            if in_short:
                in_short, slices = False, Slices.of(program)
                light = replace(light, prepared=Prepared(slices.results))
            handle, _ = executed(light, None, numbers)
        different = lib.trace_finish(handle)
        lib.trace_facts(handle, _at(lengths, ctypes.c_int32), _at(facts, ctypes.c_int64))
        return handle, different, int(facts[0])

    lengths = np.array([block.stop - block.start for block in program.blocks], np.int32)
    facts, in_short = np.zeros(4, np.int64), True
    handle = _typical(traced, on_one, fits.blocks, all_blocks, device.sms)
    lib.trace_facts(handle, _at(lengths, ctypes.c_int32), _at(facts, ctypes.c_int64))
    light = replace(light, prepared=Prepared(slices.only_global))
    arrays = tuple((allocation.name, allocation.base, allocation.end) for allocation in run.global_memory.allocations)
    return Trace(
        compiled, program, run.grid, run.block, fits, shared_bytes, handle, on_one, arrays,
        *_sharing(light, fits.blocks, all_blocks, device.sms, arrays), int(facts[0]), int(facts[3]),
    )  # fmt: skip


def _typical(
    traced: Callable[[np.ndarray], tuple[int, int, int]], on_one: int, resident: int, blocks: int, sms: int
) -> int:
    """The trace of the blocks that one SM holds at first; of others, if what blocks do depends on where they are.

    If all blocks of the grid are there at once, the last SM to end counts: of some, that with the most instructions. If
    others follow, the mean counts: of some blocks from all over the grid, those that come nearest to it.
    """
    handle, different, instructions = traced(np.arange(on_one, dtype=np.int64) * sms % blocks)
    if different == 1:
        few = np.unique((np.arange(1, SAMPLES) * GOLDEN % 1 * blocks).astype(np.int64))
        other, different, of_few = traced(few)
        native.library().trace_free(other)
        if different == 1 and 20 * abs(of_few * on_one - instructions * len(few)) < instructions * len(few):
            return handle
    at_once = blocks <= resident * sms
    if at_once:
        first = np.linspace(1, min(blocks, sms) - 1, SAMPLES).astype(int)
        others = [(np.arange(on_one) * sms + sm) % blocks for sm in first]
    else:
        places = (np.arange(SAMPLES * on_one) * GOLDEN % 1 * blocks).astype(np.int64)
        others = [places[k::SAMPLES] for k in range(SAMPLES)]
    candidates = [(handle, instructions)]
    for numbers in others:
        if sum(instructions for _, instructions in candidates) > MOST_WORK:
            break
        with suppress(SimulatorError):
            other, _, instructions = traced(numbers.astype(np.int64))
            candidates.append((other, instructions))
    work = np.array([instructions for _, instructions in candidates], float)
    best = int(np.argmax(work)) if at_once else int(np.argmin(np.abs(work - work[1:].mean()))) if len(work) > 1 else 0
    if work[best] < 1.05 * work[0] and (at_once or work[best] > work[0] / 1.05):
        best = 0  # as those that are side by side do, which share what L1 holds
    for number, (other, _) in enumerate(candidates):
        if number != best:
            native.library().trace_free(other)
    return candidates[best][0]


def _in_short(
    unknown: Unknown, executed: Callable[[], tuple[int, bytes]], endless: Callable[[], StepLimitExceeded | None]
) -> int | None:
    """A trace of which loops were executed in part, and no products; None if what is unknown because of that leads to
    an address or a branch, or a loop was not what it seemed to be after some iterations. endless: as for _Tracer."""
    unknown.begin(bits=False)
    try:
        handle, done = executed()
    except StepLimitExceeded as error:
        if error is endless():
            raise
        return None
    except SimulatorError:  # may be the kernel's own, too
        return None
    if not unknown.guessed:
        return handle
    unknown.begin(bits=True)
    with suppress(SimulatorError):
        other, done_then = executed()
        native.library().trace_free(other)
        if done_then == done:
            return handle
    native.library().trace_free(handle)
    return None


def _at(array: np.ndarray, kind: type) -> ctypes._Pointer:
    return array.ctypes.data_as(ctypes.POINTER(kind))


class _Tracer(Observer):
    """Hands what the blocks do to sm.c.

    slices: of the program, to execute loops in part; None: all of them are executed.  unknown: what stands for values
    that were not computed.  endless: the error to raise after DOUBTFUL basic blocks, None if all come to an end.
    """

    def __init__(
        self, handle: int, slices: Slices | None, unknown: Unknown, endless: Callable[[], StepLimitExceeded | None]
    ) -> None:
        self._handle, self._unknown, self._endless = handle, unknown, endless
        self._library = native.library()
        self._ahead = None if slices is None else Ahead(slices, self._repeat, unknown)
        self._done = hashlib.blake2b()
        self._after = self._in_whole = 0

    @property
    def digest(self) -> bytes:
        """Of everything that was done since a value was unknown."""
        return self._done.digest()

    def handlers(self) -> Handlers:
        return {Executed: self.executed, Access: self.access, AsyncCopy: self.copy}

    def executed(self, event: Executed) -> None:
        """The basic block, and the warps that execute it."""
        if self._ahead is not None:
            self._ahead.visit(event.wave, event.block)
        lanes, mask = _whole(event.wave, event.wave.mask)
        self._library.trace_executed(self._handle, event.block, mask)
        self._in_whole += 1
        if self._in_whole > DOUBTFUL and (error := self._endless()):
            raise error
        self._note(event.block, lanes)

    def access(self, event: Access) -> None:
        """The addresses of a memory instruction."""
        kind, width, addresses = GLOBAL, event.width, event.addresses
        if event.space == "shared":
            kind = {"ld": SHARED_LD, "ldsm": SHARED_LD, "st": SHARED_ST}.get(event.op, SHARED_AT)
            if event.wave.instruction.opcode.startswith("ATOMS.CAST"):
                kind = SHARED_ST  # of lanes that name one word, one changes it, and the others see that they failed
        elif event.space == "local":
            addresses, width = local_addresses(event.wave, addresses) + LOCAL, 4
        places, at = _whole(event.wave, addresses, np.int64)
        lanes, mask = _whole(event.wave, event.mask)
        number = event.wave.instruction.index
        self._library.trace_access(self._handle, number, kind, width, at, mask)
        self._note(number, places, lanes)

    def copy(self, event: AsyncCopy) -> None:
        """Both sides of an asynchronous copy."""
        arrays = [_whole(event.wave, part, np.int64) for part in (event.to, event.origin)]
        arrays += [_whole(event.wave, part) for part in (event.mask, event.read)]
        number = event.wave.instruction.index
        self._library.trace_copy(self._handle, number, event.size, *(pointer for _, pointer in arrays))
        self._note(number, *(part for part, _ in arrays))

    def _repeat(self, entries: int, times: int) -> bool:
        if times:
            self._in_whole = 0
        return bool(self._library.trace_repeat(self._handle, entries, times))

    def _note(self, number: int, *arrays: np.ndarray | None) -> None:
        if self._ahead is None or not self._unknown.guessed:
            return
        self._after += 1
        if self._after > MOST_AFTER:
            raise SimulatorError("A loop that depends on what another one added up does not end.")
        self._done.update(number.to_bytes(4, "little"))
        for array in arrays:
            self._done.update(b"-" if array is None else array.data)


def _whole(wave, values, dtype: type = np.bool_) -> tuple[np.ndarray | None, int | None]:
    """An array for all threads of a wave and the address of its first element; None stays None."""
    if values is None:
        return None, None
    whole = np.ascontiguousarray(np.broadcast_to(values, wave.shape), dtype)
    return whole, whole.ctypes.data


# ---- sharing of sectors among SMs


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
) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """By array: by how many SMs of the first wave a sector is asked for, on average; and `Trace.in_part`."""
    lib = native.library()
    handle = lib.sectors_new()
    first = min(blocks, sms * resident, max(sms, MOST_SHARERS // light.threads))
    per_wave = max(1, LANES_PER_WAVE // light.threads)
    watched = replace(light, observers=Observers(_Sharing(handle, sms)))
    for start in range(0, first, per_wave):
        with suppress(_Enough, SimulatorError):  # what the first blocks do not do wrong, an unknown value does
            replace(watched, only_blocks=np.arange(start, min(start + per_wave, first), dtype=np.int64)).run()
    result, in_part = [], []
    for _, low, high in arrays:
        sectors, written = np.zeros(2, np.int64), np.zeros(5, np.int64)
        lib.sectors_written(handle, low, high, _at(written, ctypes.c_int64))
        in_part.append(tuple(float(count / max(written[0], 1)) for count in written[1:]))
        lib.sectors_shared(handle, low, high, _at(sectors, ctypes.c_int64))
        # An array that is reached only at the end, as by the sums of all blocks: shared by all if it is that small.
        result.append(
            float(sectors[1] / sectors[0]) if sectors[0] else min(sms, max(1.0, sms * SECTOR_BYTES / (high - low)))
        )
    lib.sectors_free(handle)
    return tuple(result), tuple(in_part)
