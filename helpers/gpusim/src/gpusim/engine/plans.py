"""What launches of a kernel have in common, made ready for the compiled engine once.

Of what the C program is given, most follows from the kernel, the shape of the launch and the observers. A `Plan` holds
that, and the memory that the C program works in; a launch fills in its parameters and its arrays. What requests cost is
remembered there too, from one launch to the next (`helpers/gpusim/src/gpusim/native/engine/patterns.c`).
"""

from __future__ import annotations

import _thread
import ctypes
import os
import weakref
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpusim.checks.global_checks import MOST_BLOCKS, VARIABLES
from gpusim.counters.recorded import QUANTITIES
from gpusim.devices import WARP
from gpusim.engine.machine_layout import (
    ALLOCATION,
    GLOBAL_LINE,
    GLOBAL_WORD,
    IMAGE,
    LINE_BYTES,
    OTHERS,
    PATTERN,
    SHAPE,
    SPACES,
    TIMES,
    TRACE,
    WAITER,
    CLaunch,
    CResults,
    aligned,
    library,
    operations,
    sparse,
)
from gpusim.engine.memory import product
from gpusim.engine.textures import OBJECTS, Surface, Texture
from gpusim.symbols.memory_order import Strength

if TYPE_CHECKING:
    from gpusim.engine.compiled import Machine
    from gpusim.engine.run import Launch

INTERRUPTED = 99
NAME_LANES = ("shuffle", "vote", "reduce warp", "match", "lanes together")
FENCES = ("fence", "ordered load", "ordered store", "ordered atomic")
PLACES = 32  # patterns of requests that are remembered of an instruction, as in machine.h
MOST_WAITERS = 64
EVERY_LANE = 0xFFFFFFFF
CORES = os.cpu_count() or 1
SMALL = 64 * WARP  # threads of a launch that is not worth a second thread of the host
MOST_PLANS = 3  # of a kernel that are kept
PADDING = bytes(16)  # behind the constant banks, for reads that begin before their end


class Like(NamedTuple):
    """What launches with the same plan have in common.

    `blocks` are the bytes of `Launch.only_blocks`, None for all; the launch is executed by so many `cores` of the host.
    `times`: it is kept when global memory was accessed, so that barriers count there.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    blocks: bytes | None
    arrays: int
    counting: bool
    traced: frozenset[int] | None
    together: int
    checking: bool
    cores: int
    times: bool


class Plans:
    """Those of one kernel. A plan serves one launch at a time: it is taken, and given back after it."""

    def __init__(self) -> None:
        self._free: dict[Like, Plan] = {}

    def take(
        self,
        machine: Machine,
        launch: Launch,
        counting: bool,
        traced: frozenset[int] | None,
        together: int,
        checking: bool,
        closely: bool = False,
    ) -> Plan:
        """A plan for such a launch. For the arguments see `compiled.execute`.

        closely: whether to look for hazards more slowly, as something seems to be wrong.
        """
        chosen = launch.only_blocks
        blocks = product(launch.grid) if chosen is None else len(chosen)
        alone = closely or machine.sees_grid or blocks * launch.threads <= SMALL
        blocks_meet = machine.sees_grid or launch.blocks_of_cluster > 1
        like = Like(
            launch.grid, launch.block, launch.shared_bytes, None if chosen is None else chosen.tobytes(),
            len(launch.global_memory.allocations), counting, traced, together, checking,
            1 if alone else min(CORES, blocks // launch.blocks_of_cluster), checking and (closely or blocks_meet),
        )  # fmt: skip
        plan = self._free.pop(like, None)
        return Plan(machine, launch, like) if plan is None else plan

    def give_back(self, plan: Plan) -> None:
        """The launch is over, and what it did has been read."""
        for run in plan.runs:
            run.clear()
        self._free[plan.like] = plan
        for old in list(self._free)[:-MOST_PLANS]:
            self._free.pop(old, None)


class Plan:
    """How the C program executes launches that are `like` this one."""

    def __init__(self, machine: Machine, launch: Launch, like: Like) -> None:
        self.like = like
        program = launch.program
        banks = program.banks(launch)
        starts = dict(zip(banks, np.cumsum([0, *map(len, banks.values())]).tolist(), strict=False))
        code = machine.code.copy()
        for index in np.flatnonzero(code["operation"] == operations()["load constant"]):
            bank = int(code["number"][index, 0])
            code["number"][index, :2] = (starts[bank], len(banks[bank])) if bank in banks else (0, 0)
        for index, lanes in launch.named_lanes.items() if like.checking else ():
            if code["operation"][index] in {operations()[name] for name in NAME_LANES}:
                code["number"][index, 3] = np.uint32(~lanes & EVERY_LANE).view(np.int32)
        for index, strength in launch.shared_names.strengths.items():
            is_strong = strength in (Strength.VOLATILE, Strength.STRONG)
            code["is_strong"][index] = is_strong or program.instructions[index].begins_swap
        ids = np.ascontiguousarray(launch.block_ids, np.int64)
        wanted = None
        if like.traced is None or like.traced:
            traced = like.traced
            wanted = np.ones(len(ids), np.uint8) if traced is None else np.isin(ids, list(traced)).astype(np.uint8)
        shared_arrays = np.array(
            [(array.offset, array.offset + array.bytes) for array in launch.shared_names.arrays if array.bytes]
            or [(0, 0)],
            np.int32,
        )
        uses = machine.uses(program) if like.checking else ()
        size = launch.blocks_of_cluster
        shared_bytes = max(launch.shared_bytes, int(machine.limits(launch)[:, 0, 1].max()))
        self.c = CLaunch(
            blocks=len(ids), instructions=len(code), rows=machine.rows, allocation_count=like.arrays,
            basic_blocks=len(program.blocks), memory_instructions=len(machine.requests), threads=launch.threads,
            shared_bytes=shared_bytes, shared_base=program.shared_base,
            local_bytes=-(-program.local_bytes // 16) * 16 if program.local_bytes else 0, counting=like.counting,
            dynamic_shared_bytes=launch.shared_bytes - program.dynamic_shared_offset, cluster_blocks=size,
            together=like.together if machine.sees_grid else 1, checking=like.checking,
            shared_granule=machine.granules[0], global_granule=machine.granules[1],
            fences=any((code["operation"] == operations()[name]).any() for name in FENCES),
            copies_in_bulk=bool((code["operation"] == operations()["copy bulk"]).any()),
            partial_barriers=program.orders_some_warps, phases_are_found=program.finds_phases,
            meets_anywhere=machine.meets_anywhere, stack=machine.stack, origin=machine.origin,
            shared_array_count=len(shared_arrays),
        )  # fmt: skip
        self.c.grid[:], self.c.size[:] = launch.grid, launch.block
        self._words = _Words(machine.words)
        self._banks = np.frombuffer(bytearray(b"".join((*banks.values(), PADDING))), np.uint8)
        self._constants = aligned((len(machine.words), WARP), np.uint32)
        self._table = np.zeros(max(1, like.arrays), ALLOCATION)
        self._arrays = {
            "code": code, "constants": self._constants, "allocations": self._table, "jumps": machine.jumps,
            "banks": self._banks,
            "limits": machine.limits(launch), "block_ids": ids, "shared_arrays": shared_arrays, "traced": wanted,
            "uses": uses if len(uses) else None,
        }  # fmt: skip
        for name, array in self._arrays.items():
            setattr(self.c, name, None if array is None else array.ctypes.data)
        self._uses_images = machine.uses_images
        units, cores = len(ids) // size, like.cores
        self._shares = [(units * k // cores * size, units * (k + 1) // cores * size) for k in range(cores)]
        lanes = product(launch.grid) * -(-launch.threads // WARP) * WARP
        self._meeting = lanes if like.times else 0
        self.runs = [Run(machine, len(program.blocks), like.arrays + len(SPACES) - 1) for _ in range(cores)]

    @property
    def looks_closely(self) -> bool:
        """Whether nothing more can be found out about hazards."""
        return not self.like.checking or (self.like.times and self.like.cores == 1)

    def execute(self, launch: Launch) -> None:
        """Execute a launch; `runs` hold what each thread of the host found."""
        banks = launch.program.banks(launch)
        self._constants[...] = self._words.of(banks)[:, None]
        self._banks[: -len(PADDING)] = np.frombuffer(b"".join(banks.values()), np.uint8)
        if self._uses_images:
            images = _images()
            self.c.images, self.c.image_count = images.ctypes.data, len(images)
        self.c.most_steps = launch.max_instructions
        allocations = launch.global_memory.allocations
        for row, allocation in enumerate(allocations):
            first, stop = allocation.may_be_written
            unwritten = allocation.watch.unwritten if self.like.checking and allocation.watch is not None else None
            self._table[row] = (
                allocation.base, allocation.end, allocation.base + first, allocation.base + stop, allocation.host,
                0 if unwritten is None else unwritten.ctypes.data, max(1, allocation.dtype.itemsize),
                allocation.writable, 0,
            )  # fmt: skip
        if self.like.checking:
            lines = [
                allocation.bytes_.size // LINE_BYTES + 1
                if allocation.watch is not None and allocation.watch.written
                else 0
                for allocation in allocations
            ]
            for run in self.runs:
                run.watch(lines, LINE_BYTES >> self.c.global_granule, self._meeting, product(launch.grid))
        _on_threads(self.c, self.runs, self._shares)


class _Words:
    """The constants of the code: numbers that it names, and words of the constant banks."""

    def __init__(self, words: Sequence) -> None:
        self._values = np.array([word.value & 0xFFFFFFFF if word.bank < 0 else 0 for word in words], np.uint32)
        self._of_bank = {
            bank: np.array([number for number, word in enumerate(words) if word.bank == bank])
            for bank in {word.bank for word in words if word.bank >= 0}
        }
        offsets = {bank: [words[number].value for number in numbers] for bank, numbers in self._of_bank.items()}
        self._ends = {bank: max(of_bank) + 4 for bank, of_bank in offsets.items()}
        self._places = {bank: np.array(of_bank)[:, None] + np.arange(4) for bank, of_bank in offsets.items()}

    def of(self, banks: Mapping[int, bytes]) -> np.ndarray:
        """Their values, uint32; 0 beyond the end of a bank."""
        values = self._values.copy()
        for bank, numbers in self._of_bank.items():
            data = np.frombuffer(banks.get(bank, b"").ljust(self._ends[bank], b"\0"), np.uint8)
            values[numbers] = data[self._places[bank]].view("<u4")[:, 0]
        return values


class Run:
    """The arrays of one thread of the host, which the C program fills.

    blocks: basic blocks of the program.  slots: where requests may go.
    """

    def __init__(self, machine: Machine, blocks: int, slots: int) -> None:
        counted = len(machine.requests) + 1
        shapes = ((blocks,), (blocks,), (len(machine.code),), (counted, slots, len(QUANTITIES)))
        ends = np.cumsum([0, *map(product, shapes)]).tolist()
        self._parts = [(slice(*span), shape) for span, shape in zip(pairwise(ends), shapes, strict=True)]
        self.sums = np.zeros(ends[-1], np.int64)
        self._patterns, self._counted = aligned((counted * PLACES,), PATTERN), np.zeros(counted, np.uint32)
        self.waiters = np.zeros(MOST_WAITERS, WAITER)
        blank = CResults(waiter_room=MOST_WAITERS)
        names = ("patterns", "counted", "waiters", "block_warps", "block_lanes", "guarded", "requests")
        arrays = (self._patterns, self._counted, self.waiters, *self.parts(self.sums))
        for name, array in zip(names, arrays, strict=True):
            setattr(blank, name, array.ctypes.data)
        self._none = np.zeros(slots, np.uint64)
        blank.lines = blank.watched = blank.times = blank.others = self._none.ctypes.data
        self._blank = bytes(blank)
        self._free, self._byref = library().free_execution, ctypes.byref  # ctypes is gone when Python ends
        self._begin(None)

    def __del__(self) -> None:
        self._free(self._byref(self.c))

    def clear(self) -> None:
        """Ready for the next launch."""
        if self.c.traces:
            self.traces()  # they were not asked for
        self.sums.fill(0)
        self._begin(self.c.execution)

    def _begin(self, execution: int | None) -> None:
        self.lines: list[np.ndarray | None] = []
        self.words: list[np.ndarray | None] = []
        self._watched: tuple[np.ndarray, ...] = ()
        self.c = CResults.from_buffer_copy(self._blank)
        self.c.execution = execution

    def parts(self, sums: np.ndarray) -> list[np.ndarray]:
        """Of `sums`, or of those of several runs: by basic block warps and threads, by instruction the threads with a
        true guard, and by request (instruction, slot, quantity)."""
        return [sums[part].reshape(shape) for part, shape in self._parts]

    def watch(self, lines: Sequence[int], words_of_line: int, meeting: int, blocks: int) -> None:
        """Look for hazards. lines: of each array that races are looked for in.  meeting: the lanes of a launch whose
        blocks may wait for each other, else 0.  blocks: of its grid."""
        self.lines = [sparse(count, GLOBAL_LINE) if count else None for count in lines]
        self.words = [sparse(count * words_of_line, GLOBAL_WORD) if count else None for count in lines]
        times, others = (
            [sparse(count * words_of_line, kind) if count and meeting else None for count in lines]
            for kind in (TIMES, OTHERS)
        )
        tables = [
            np.array([0 if array is None else array.ctypes.data for array in each] or [0], np.uint64)
            for each in (self.lines, self.words, times, others)
        ]
        self.c.lines, self.c.watched, self.c.times, self.c.others = (table.ctypes.data for table in tables)
        released = np.zeros(meeting, np.uint32)
        self.c.released_by_threads = released.ctypes.data if meeting else None
        self._watched = (*tables, *(array for array in (*times, *others) if array is not None), released)
        if meeting and blocks <= MOST_BLOCKS:
            # Zeros take no memory before they are touched: few warps acquire anything.
            rows_of = dict.fromkeys(("acquired", "releasable", "clocks_of_shared_variables"), blocks)
            rows_of |= dict.fromkeys(("acquired_by_warps", "releasable_by_warps"), meeting // WARP)
            rows_of["clocks_of_variables"] = VARIABLES
            clocks = [np.zeros((rows, blocks + 1), np.uint32) for rows in rows_of.values()]
            for name, clock in zip(rows_of, clocks, strict=True):
                setattr(self.c, name, clock.ctypes.data)
            self._watched += (*clocks,)

    def traces(self) -> Rows:
        """The requests of traced blocks; they are the caller's then."""
        rows = Rows(self.c)
        self.c.traces = self.c.shapes = None
        return rows


class Rows:
    """Requests that the C program kept, and their shapes. Its memory is freed when they are not needed any more."""

    def __init__(self, c: CResults) -> None:
        self._requests, self._count = c.traces, c.trace_count
        self._shapes, self._shape_count = c.shapes, c.shape_count
        for address in (self._requests, self._shapes):
            if address:  # at the end of a process, too, while ctypes is still there
                weakref.finalize(self, library().free_rows, ctypes.c_void_p(address))

    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """The requests, dtype TRACE, and the shapes."""
        return _copied(self._requests, self._count, TRACE), _copied(self._shapes, self._shape_count, SHAPE)


def _copied(address: int | None, count: int, dtype: np.dtype) -> np.ndarray:
    return np.frombuffer(bytearray(ctypes.string_at(address, count * dtype.itemsize)) if address else b"", dtype)


def _images() -> np.ndarray:
    """The textures and surfaces that live."""
    living = OBJECTS.living()
    rows = np.zeros(len(living), IMAGE)
    for row, (handle, image_object) in zip(rows, living.items(), strict=True):
        image = image_object.image
        row["bytes"], row["pitch"], row["handle"] = image.bytes_.ctypes.data, image.pitch, handle
        row["size"], row["dims"], row["channels"] = image.size, image.dims, image.channels
        row["channel_bytes"], row["is_signed"] = image.dtype.itemsize, image.dtype.kind == "i"
        row["is_float"], row["layered"], row["is_buffer"] = image.dtype.kind == "f", image.layered, image.is_buffer
        row["is_surface"] = isinstance(image_object, Surface)
        if isinstance(image_object, Texture):
            row["mode"], row["linear"], row["normalized"] = (
                image_object.modes,
                image_object.linear,
                image_object.normalized,
            )
            row["fractions"], row["outside"] = image_object.fractions, image_object.outside_words
    return rows


def _on_threads(c: CLaunch, runs: Sequence[Run], shares: Sequence[tuple[int, int]]) -> None:
    """Run the first share here and each other one on a thread of its own.

    The C program comes back every few hundredths of a second, so that the main thread handles an interrupt.
    (`threading.Thread` would wait until a thread has begun, which takes as long as a small launch.)
    """
    run_blocks = library().run_blocks

    def work(run: Run, first: int, stop: int) -> None:
        arguments = ctypes.byref(c), ctypes.byref(run.c), ctypes.c_int64(first), ctypes.c_int64(stop)
        while run_blocks(*arguments):
            pass

    def work_elsewhere(run: Run, share: tuple[int, int], done: _thread.LockType) -> None:
        try:
            work(run, *share)
        finally:
            done.release()

    ends = []
    try:
        for run, share in zip(runs[1:], shares[1:], strict=True):
            done = _thread.allocate_lock()
            done.acquire()
            _thread.start_new_thread(work_elsewhere, (run, share, done))
            ends.append(done)
        work(runs[0], *shares[0])
        for done in ends:
            done.acquire()
    except BaseException:
        for run in runs:
            run.c.fault = INTERRUPTED
        work(runs[0], *shares[0])  # it gives its memory back
        for done in ends:
            done.acquire()
        raise
