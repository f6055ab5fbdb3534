"""The compiled engine: one launch executed by the C program of `helpers/native/engine`, warp by warp.

It executes decoded machine code (`frontends/sass/decode.py`) and counts what a recorder counts. What it does not model
(PTX, printf, the other observers) the engine in NumPy executes. So it does, too, when something goes wrong in a kernel:
the arrays get back what they held before, and the launch is executed again by the engine that knows what to say of it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from helpers import native
from helpers.devices import WARP, unravel
from helpers.simulator.engine.ir import Instruction, Kind, Program, bits, uncollected
from helpers.simulator.engine.memory import Allocation, lane_name, product
from helpers.simulator.engine.run import Launch, Wave, too_many_steps
from helpers.simulator.engine.textures import OBJECTS, Surface, Texture
from helpers.simulator.errors import StepLimitExceeded
from helpers.simulator.frontends.sass.decode import Decoded, Decoder, Word
from helpers.simulator.recording.recorded import QUANTITIES, Counts
from helpers.simulator.recording.trace import Traces
from helpers.simulator.sanitizer.global_checks import MEETING_PLACES, MOST_BLOCKS
from helpers.simulator.sanitizer.loaded_values import uses_of

SPACES = ("global", "shared", "local", "cluster")
OUT_OF_BOUNDS, MISALIGNED, TOO_MANY_STEPS, BARRIERS_DIFFER, DEADLOCK = range(1, 6)
INTERRUPTED = 99
OF_IMAGES = ("read texture", "load surface", "store surface")
NAME_LANES = ("shuffle", "vote", "reduce warp", "match", "lanes together")
NO_SPARE = (0,) * 6
STORES, TO_MEMORY = ("ST.", "STL"), 0xFFFF  # to where code for a debugger has its local arrays
PLACES = 32  # patterns of requests that are remembered of an instruction, as in machine.h
MOST_WAITERS = 64
MOST_NAMED = 3  # groups of threads that a message names
SMALL = 64 * WARP  # threads of a launch that is not worth a second thread of the host


def _struct(*fields: tuple) -> np.dtype:
    return np.dtype([field for field in fields], align=True)


INSTRUCTION = _struct(
    ("offset", "i8"), ("operation", "i4"), ("kind", "i4"), ("d", "i4"), ("source", "i4", 4), ("number", "i4", 4),
    ("flags", "u4"), ("target", "i4"), ("block", "i4"), ("length", "i4"), ("memory", "i4"), ("index", "i4"),
    ("mode", "u2", 4), ("width", "u1", 4), ("d_width", "u1"), ("guard", "u1"), ("p_out", "u1", 2), ("p_in", "u1", 3),
    ("uniform", "u1"), ("strong", "u1"), ("is_strong", "u1"), ("spare", "u1", 6),
)  # fmt: skip
ALLOCATION = _struct(
    ("base", "u8"), ("end", "u8"), ("write_base", "u8"), ("write_end", "u8"), ("bytes", "u8"), ("unwritten", "u8"),
    ("item", "u8"), ("writable", "i4"), ("watched", "i4"),
)  # fmt: skip
TRACE = _struct(
    ("block", "i8"), ("instruction", "i4"), ("warp", "i4"), ("space", "i4"), ("allocation", "i4"), ("active", "u4"),
    ("times", "u4"), ("address", "i8", WARP),
)  # fmt: skip
PATTERN = _struct(
    ("relative", "u4", WARP), ("active", "u4"), ("kind", "u4"), ("sums", "i8", len(QUANTITIES)), ("times", "i8"),
    ("slot", "i4"), ("lowest", "i4"), ("highest", "i4"), ("bits", "u4"), ("form", "i4"), ("leaders", "u4"),
)  # fmt: skip
WAITER = _struct(
    ("block", "i8"), ("address", "i8"), ("warp", "i4"), ("waits", "i4"), ("instruction", "i4"), ("space", "i4"),
    ("mask", "u4"), ("spare", "u4"),
)  # fmt: skip

GLOBAL_WORD = _struct(("writer", "u4"), ("reader", "u4"))
TIMES = _struct(("written", "u4"), ("read", "u4"))
LINE_BYTES = 128
GLOBAL_LINE = _struct(
    ("writer", "u4"), ("reader", "u4"), ("written", "u4"), ("read", "u4"), ("bytes_written", "u1"),
    ("bytes_read", "u1"), ("is_split", "u1"), ("spare", "u1"),
)  # fmt: skip
REGISTERS = 256
REGISTER_USE = _struct(
    ("reads", "u8", REGISTERS // 64), ("writes", "u8", REGISTERS // 64), ("may_go_unused", "u4"), ("copied", "u4"),
)  # fmt: skip
IMAGE = _struct(
    ("bytes", "u8"), ("pitch", "i8"), ("handle", "u4"), ("outside", "u4", 4), ("size", "i4", 3), ("dims", "i4"),
    ("channels", "i4"), ("channel_bytes", "i4"), ("is_signed", "i4"), ("is_float", "i4"), ("layered", "i4"),
    ("is_buffer", "i4"), ("is_surface", "i4"), ("mode", "i4", 3), ("linear", "i4"), ("normalized", "i4"),
    ("fractions", "i4"), ("spare", "i4"),
)  # fmt: skip


class CLaunch(ctypes.Structure):
    """`Launch` of machine.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("code", "constants", "allocations", "jumps", "banks", "limits",
                                               "block_ids", "traced", "uses", "images", "shared_arrays")),
        ("blocks", ctypes.c_int64), ("most_steps", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("instructions", "rows", "allocation_count", "basic_blocks",
                                              "memory_instructions")),
        ("grid", ctypes.c_int32 * 3), ("size", ctypes.c_int32 * 3),
        *((name, ctypes.c_int32) for name in ("threads", "shared_bytes", "shared_base", "local_bytes",
                                              "dynamic_shared_bytes", "counting", "checking", "together",
                                              "shared_granule",
                                              "global_granule", "cluster_blocks", "image_count", "fences",
                                              "shared_array_count", "copies_in_bulk", "partial_barriers",
                                              "phases_are_found")),
    ]  # fmt: skip


class CResults(ctypes.Structure):
    """`Results` of machine.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("block_warps", "block_lanes", "guarded", "requests")),
        ("accesses", ctypes.c_int64 * len(SPACES)), ("barriers", ctypes.c_int64), ("copies", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("patterns", "lines", "watched", "times", "told", "heard", "left",
                                               "traces")),
        ("trace_count", ctypes.c_int64),
        ("trace_room", ctypes.c_int64), ("fault_block", ctypes.c_int64), ("fault_address", ctypes.c_int64),
        ("changes", ctypes.c_int64), ("waiters", ctypes.c_void_p), ("seen_changes", ctypes.c_int64),
        ("quiet", ctypes.c_int64),
        ("now", ctypes.c_uint32), ("fenced", ctypes.c_uint32), ("waiter_count", ctypes.c_int32),
        ("waiter_room", ctypes.c_int32), ("fault", ctypes.c_int32), ("fault_instruction", ctypes.c_int32),
        ("fault_thread", ctypes.c_int32), ("spare", ctypes.c_int32),
    ]  # fmt: skip


@cache
def library() -> ctypes.CDLL | None:
    """The C program, None where it cannot be used."""
    try:
        found = native.load("engine")
    except native.NoLibrary:
        return None
    found.operation_name.restype = ctypes.c_char_p
    found.accesses_of.restype = ctypes.c_int64
    sizes = (INSTRUCTION.itemsize, ctypes.sizeof(CLaunch), ctypes.sizeof(CResults), ALLOCATION.itemsize, TRACE.itemsize,
             PATTERN.itemsize, WAITER.itemsize, GLOBAL_WORD.itemsize, REGISTER_USE.itemsize,
             TIMES.itemsize, IMAGE.itemsize, GLOBAL_LINE.itemsize)  # fmt: skip
    assert sizes == tuple(found.size_of(which) for which in range(len(sizes))), "machine.h and compiled.py differ"
    return found


@cache
def operations() -> dict[str, int]:
    """The numbers of the operations by name."""
    names: dict[str, int] = {}
    while (name := library().operation_name(len(names))) is not None:
        names[name.decode()] = len(names)
    return names


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros at an address that is a multiple of 128 bytes, as registers of warps want it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size].view(dtype).reshape(shape)


def sparse(count: int, dtype: np.dtype) -> np.ndarray:
    """Zeros of which most may never be looked at. (NumPy asks for huge pages: each touch would clear 2 MiB.)"""
    return np.frombuffer(mmap.mmap(-1, count * dtype.itemsize), dtype)


@dataclass(slots=True)
class Machine:
    """A kernel's machine code as the C program executes it.

    `requests` are the instructions that access memory: (index, space by number, name of the operation). `sees_grid`:
    whether what other blocks do may decide what a block does. `granules` of shared and of global memory: the bytes of
    the smallest access, as a power of two. `row_of` are the rows of registers by their slots in the program.
    """

    code: np.ndarray
    words: list[Word]
    jumps: np.ndarray
    rows: int
    requests: list[tuple[int, int, str]]
    sees_grid: bool
    uses_banks: bool
    uses_images: bool
    granules: tuple[int, int]
    row_of: Mapping[int, int]
    _limits: dict[int, np.ndarray] = field(default_factory=dict)
    _uses: np.ndarray | None = None

    def limits(self, launch: Launch) -> np.ndarray:
        """By instruction the bytes [start, stop) of shared memory that it may access, int32 (instructions, 2)."""
        found = self._limits.get(launch.shared_bytes)
        if found is None:
            names = launch.shared_names
            found = np.array(
                [names.limits(index) or (0, launch.shared_bytes) for index in range(len(self.code))], np.int32
            )  # fmt: skip
            self._limits[launch.shared_bytes] = found
        return found

    def uses(self, program: Program) -> np.ndarray:
        """By instruction what it does with registers; empty if no load from shared memory may go unused."""
        if self._uses is None:
            loads = {index for index, space, op in self.requests if (space, op) == (1, "ld")}
            doubtful = loads & uses_of(program).doubtful
            self._uses = np.zeros(len(self.code) if doubtful else 0, REGISTER_USE)
            for row, instruction in zip(self._uses, program.instructions, strict=bool(doubtful)):
                for name, slots in (("reads", instruction.reads), ("writes", instruction.writes)):
                    registers = bits({self.row_of[slot] for slot in slots if slot in self.row_of})
                    row[name] = np.frombuffer(registers.to_bytes(REGISTERS // 8, "little"), "<u8")
                row["may_go_unused"] = instruction.index in doubtful
                row["copied"] = self._copied(program, instruction)
        return self._uses

    def _copied(self, program: Program, instruction: Instruction) -> int:
        """`copied` of a RegisterUse."""
        if program.debug and instruction.opcode.startswith(STORES):
            return TO_MEMORY
        rows = [[self.row_of.get(slot) for slot in slots] for slots in (instruction.reads, instruction.writes)]
        if not instruction.copies or any(len(each) != 1 or each[0] is None for each in rows):
            return 0
        return 1 + rows[0][0] | rows[1][0] << 16


@uncollected
def assemble(program: Program, decoded: Sequence[Decoded], decoder: Decoder, slots: Mapping[str, int]) -> Machine:
    """Decoded instructions as arrays. slots: of the program's registers by their names."""
    names = operations()
    nowhere = decoder.registers + decoder.uniform_registers
    jumps: list[int] = []
    requests: list[tuple[int, int, str]] = []
    block_at = {block.start: block for block in program.blocks}
    rows: list[tuple] = []
    resolve = decoder.resolve
    for index, one in enumerate(decoded):
        number, memory = one.number, -1
        if one.jumps:
            number = [len(jumps), len(one.jumps), *number[2:]]
            jumps += one.jumps
        if one.space >= 0:
            memory = len(requests)
            requests.append((index, one.space, one.op))
        block = block_at.get(index)
        source = tuple(resolve(row) if width else -1 for row, width in zip(one.source, one.width, strict=True))
        rows.append((
            one.offset, names[one.operation] if one.operation else -1, one.kind,
            nowhere if one.d is None or one.d == "nowhere" else resolve(one.d), source, tuple(number), one.flags,
            one.target, *((block.index, block.stop - block.start) if block else (-1, 0)), memory, index,
            tuple(one.mode), tuple(one.width), one.d_width, one.guard, tuple(one.p_out), tuple(one.p_in), one.uniform,
            one.strong, one.is_strong, NO_SPARE,
        ))  # fmt: skip
    code = np.array(rows, INSTRUCTION)
    return Machine(
        code, decoder.words, np.array(jumps or [0], np.int32), nowhere + 4, requests,
        bool((code["strong"] & 2).any()), any(one.operation == "load constant" for one in decoded),
        any(one.operation in OF_IMAGES for one in decoded),
        tuple(_granule(decoded, space) for space in (1, 0)),
        {slot: int(name[1:]) for name, slot in slots.items() if name[0] == "R" and name[1:].isdecimal()},
    )  # fmt: skip


def _granule(decoded: Sequence[Decoded], space: int) -> int:
    """The bytes of the smallest access to a space, generic ones included, as a power of two; 4 bytes at most."""
    narrow = [one.number[3] for one in decoded if one.operation in ("load", "store") and one.space in (space, 3)]
    return min((width.bit_length() - 1 for width in narrow if width), default=2)


def guard_barriers(machine: Machine, program: Program, prepared) -> None:
    """Tell the machine where threads may not go past a barrier that others of their warp wait at."""
    for block in program.blocks:
        last = program.instructions[block.stop - 1]
        if last.kind is Kind.BARRIER and last.guard is not None:
            following = prepared.next[block.index]
            inside = following < prepared.end
            going_on = inside and not prepared.leads_to_barrier[following] and not prepared.only_exits[following]
            machine.code["number"][last.index, 0] = int(going_on)


@dataclass(slots=True)
class Result:
    """What a launch did: as in `RecordedLaunch`, and how many threads' accesses there were by space."""

    block_warps: np.ndarray
    block_lanes: np.ndarray
    guarded_lanes: dict[int, int]
    counts: dict[tuple[int, str, str, str], Counts]
    traces: Traces
    accesses: dict[str, int]
    barriers: int
    copies: int


class Run:
    """The arrays of one thread of the host, which the C program fills.

    slots: where requests may go.  watched: the lines of each array that races are looked for in.  meeting: the lanes of
    a launch whose blocks may wait for each other, if it is checked, else 0.  blocks: of its grid.
    """

    def __init__(
        self, machine: Machine, program: Program, slots: int, watched: Sequence[int], meeting: int, blocks: int
    ) -> None:
        self.block_warps = np.zeros(len(program.blocks), np.int64)
        self.block_lanes = np.zeros(len(program.blocks), np.int64)
        self.guarded = np.zeros(len(machine.code), np.int64)
        self.requests = np.zeros((len(machine.requests) + 1, slots, len(QUANTITIES)), np.int64)
        self.patterns = np.zeros((len(machine.requests) + 1) * PLACES, PATTERN)
        self.waiters = np.zeros(MOST_WAITERS, WAITER)
        of_line = LINE_BYTES >> machine.granules[1]
        self.lines = [sparse(count, GLOBAL_LINE) if count else None for count in watched]
        self.words = [sparse(count * of_line, GLOBAL_WORD) if count else None for count in watched]
        self.times = [sparse(count * of_line, TIMES) if count and meeting else None for count in watched]
        self.lines_of, self.watched, self.times_of = (
            np.array([0 if one is None else one.ctypes.data for one in each] or [0], np.uint64)
            for each in (self.lines, self.words, self.times)
        )
        self.told = np.zeros(meeting, np.uint32)
        self.c = CResults(waiter_room=MOST_WAITERS)
        for name in ("block_warps", "block_lanes", "guarded", "requests", "patterns", "waiters", "watched"):
            setattr(self.c, name, getattr(self, name).ctypes.data)
        self.c.lines, self.c.times = self.lines_of.ctypes.data, self.times_of.ctypes.data
        self.c.told = self.told.ctypes.data if meeting else None
        if meeting and blocks <= MOST_BLOCKS:
            self.heard, self.left = (np.zeros((rows, blocks + 1), np.uint32) for rows in (blocks, MEETING_PLACES))
            self.c.heard, self.c.left = self.heard.ctypes.data, self.left.ctypes.data

    def traces(self) -> np.ndarray:
        """The requests of traced blocks; they are the caller's then."""
        if not self.c.trace_count:
            return np.zeros(0, TRACE)
        size = self.c.trace_count * TRACE.itemsize
        rows = np.frombuffer(ctypes.string_at(self.c.traces, size), TRACE)
        library().free_traces(ctypes.byref(self.c))
        return rows


def execute(
    launch: Launch,
    counting: bool,
    traced: frozenset[int] | None,
    written: frozenset[str] | None,
    together: int,
    checking: bool,
) -> Result | None:
    """Execute a launch. None if this engine cannot, or something went wrong: then the arrays are as they were.

    counting: whether requests are counted.  traced: the blocks whose addresses are kept, None for all.  written: the
    parameters that the kernel may write through, None for any.  together: blocks that the device holds at once.
    checking: whether None is to be answered where there may be something for the sanitizer, which watches the arrays.
    Raises StepLimitExceeded.
    """
    machine = launch.prepared.machine if library() is not None else None
    if machine is None or not len(launch.block_ids):
        return None
    kept = [(one, one.bytes_.copy()) for one in launch.global_memory.allocations if _may_be_written(one, written)]
    if machine.uses_images:
        surfaces = (one for one in OBJECTS.living().values() if isinstance(one, Surface))
        kept += [(one.image, one.image.bytes_.copy()) for one in surfaces]
    watches = [one.watch for one in launch.global_memory.allocations if checking and one.watch is not None]
    unwritten = [(one, one.unwritten.copy()) for one in watches if one.unwritten is not None]
    c, runs = _run(launch, machine, counting, traced, together, checking)
    first_faulty = _first_faulty(runs)
    if first_faulty is not None or (checking and _meet(c, runs)):
        _refuse_endless(launch, first_faulty)
        for one, before in kept:
            one.bytes_[...] = before
        for one, before in unwritten:
            one.unwritten[...] = before
        return None
    return _gathered(launch, machine, runs)


def never_ends(launch: Launch, written: frozenset[str] | None, together: int) -> StepLimitExceeded | None:
    """The error for a launch that does not come to an end, found without looking for anything else; its arrays stay."""
    machine = launch.prepared.machine if library() is not None else None
    if machine is None:
        return None
    kept = [(one, one.bytes_.copy()) for one in launch.global_memory.allocations if _may_be_written(one, written)]
    _, runs = _run(launch, machine, False, frozenset(), together, False)
    for one, before in kept:
        one.bytes_[...] = before
    try:
        _refuse_endless(launch, _first_faulty(runs))
    except StepLimitExceeded as error:
        return error
    return None


def _first_faulty(runs: list[Run]) -> Run | None:
    return next((run for run in runs if run.c.fault), None)


def _refuse_endless(launch: Launch, run: Run | None) -> None:
    """Raise StepLimitExceeded if that is what is wrong with a run."""
    if run is not None and run.c.fault == TOO_MANY_STEPS:
        block = int(np.flatnonzero(launch.block_ids == run.c.fault_block)[0])
        at = next(one for one in launch.program.blocks if one.start == run.c.fault_instruction)
        too_many_steps(Wave(launch, block, 1), at, 0, run.c.fault_thread)
    if run is not None and run.c.fault == DEADLOCK:
        _name_who_waits(launch, run.waiters[: run.c.waiter_count])


def _name_who_waits(launch: Launch, waiters: np.ndarray) -> None:
    """Raise StepLimitExceeded if threads go round loops that nobody can end any more.

    (If all wait at barriers, the engine in NumPy says so.)
    """
    looping = [waiter for waiter in waiters if not waiter["waits"] and waiter["instruction"] >= 0]
    if not looping:
        return
    instructions, texts, lines = launch.program.instructions, [], []
    for waiter in looping[:MOST_NAMED]:
        line = instructions[waiter["instruction"]].line
        lines.append(line)
        block = unravel(int(waiter["block"]), launch.grid)
        lanes = [lane for lane in range(WARP) if int(waiter["mask"]) >> lane & 1]
        thread = unravel(int(waiter["warp"]) * WARP + lanes[0], launch.block)
        more = f" and {len(lanes) - 1} more of its warp" if len(lanes) > 1 else ""
        texts.append(f"{lane_name(block, thread)}{more} at line {line}, for {_what(launch, waiter)} to change")
    rest = len(waiters) - len(texts)
    others = f"; {rest} more groups of threads wait, too" if rest else ""
    lines = sorted(set(lines))
    first = looping[0]
    raise StepLimitExceeded(
        f"{launch.program.name}: threads wait for ever: {'; '.join(texts)}{others}. Nothing in memory changes any "
        "more, and who could change it has ended, or waits itself.\n"
        + "".join(launch.quote(line) for line in lines)
        + "Is there a path on which the lock is not given back, or the flag not set? Blocks can wait only for blocks "
        "that run at the same time.",
        kernel=launch.program.name,
        line=lines[0],
        lines=tuple(lines),
        block=unravel(int(first["block"]), launch.grid),
        thread=unravel(
            int(first["warp"]) * WARP + (int(first["mask"]) & -int(first["mask"])).bit_length() - 1, launch.block
        ),
    )


def _what(launch: Launch, waiter) -> str:
    """What a thread looks at, in words."""
    if waiter["space"] < 0:
        return f"byte {waiter['address']} of {SPACES[-waiter['space']]} memory"
    array = launch.global_memory.allocations[waiter["space"]]
    index = (int(waiter["address"]) - array.base) // array.dtype.itemsize
    return f"{array.name}[{index}]" if int(np.prod(array.shape)) > 1 and array.dtype != np.uint8 else array.name


def _meet(c: CLaunch, runs: list[Run]) -> bool:
    """Whether two threads of the host executed blocks that touch one word, and one of them writes it."""
    for slot, lines in enumerate(zip(*(run.lines for run in runs), strict=True)):
        if len(lines) == 1 or lines[0] is None:
            continue
        doubtful = np.flatnonzero(_several_and_one_writes(lines, [one["is_split"] != 0 for one in lines]))
        if not len(doubtful):
            continue
        for run in runs:
            library().split_lines(ctypes.byref(c), ctypes.byref(run.c), slot, *_c(doubtful, len(doubtful)))
        words = [run.words[slot].reshape(len(lines[0]), -1)[doubtful] for run in runs]
        if _several_and_one_writes(words, [False] * len(words)).any():
            return True
    return False


def _several_and_one_writes(notes: Sequence[np.ndarray], unknown: Sequence[np.ndarray | bool]) -> np.ndarray:
    """Where more than one of the threads of the host has notes, and one of them writes, as far as that is known."""
    writes = [(one["writer"] != 0) | split for one, split in zip(notes, unknown, strict=True)]
    touched = [one | (note["reader"] != 0) for one, note in zip(writes, notes, strict=True)]
    return (sum(one.astype(np.uint8) for one in touched) > 1) & np.logical_or.reduce(writes)


def _may_be_written(allocation: Allocation, written: frozenset[str] | None) -> bool:
    return allocation.writable and (written is None or not written.isdisjoint(allocation.names))


def _run(
    launch: Launch, machine: Machine, counting: bool, traced: frozenset[int] | None, together: int, checking: bool
) -> tuple[CLaunch, list[Run]]:
    """(what was executed, what each thread of the host found)."""
    program, allocations = launch.program, launch.global_memory.allocations
    size = launch.blocks_of_cluster
    wave = Wave(launch, 0, 1)  # knows the constant banks
    banks = wave.constant_banks
    constants = aligned((len(machine.words), WARP), np.uint32)
    constants[...] = np.array([_word(banks, word) for word in machine.words], np.uint32)[:, None]
    code, blob = machine.code, b"".join(banks.values()) + bytes(16)
    if machine.uses_banks:
        code, starts, start = code.copy(), {}, 0
        for bank, data in banks.items():
            starts[bank] = start, len(data)
            start += len(data)
        for index in np.flatnonzero(code["operation"] == operations()["load constant"]):
            code["number"][index, :2] = starts.get(int(code["number"][index, 0]), (0, 0))
    if checking and launch.named_lanes:
        code = code.copy()
        for index, lanes in launch.named_lanes.items():
            if code["operation"][index] in {operations()[name] for name in NAME_LANES}:
                code["number"][index, 3] = np.uint32(lanes).view(np.int32)
    table = np.zeros(max(1, len(allocations)), ALLOCATION)
    for row, one in zip(table, allocations, strict=False):
        row["base"], row["end"], row["writable"] = one.base, one.end, one.writable
        row["write_base"], row["write_end"] = (one.base + place for place in one.may_be_written)
        row["bytes"], row["item"] = one.bytes_.ctypes.data, max(1, one.dtype.itemsize)
        if checking and one.watch is not None and one.watch.unwritten is not None:
            row["unwritten"] = one.watch.unwritten.ctypes.data
    ids = np.ascontiguousarray(launch.block_ids, np.int64)
    wanted = None
    if traced is None or traced:
        wanted = np.ones(len(ids), np.uint8) if traced is None else np.isin(ids, list(traced)).astype(np.uint8)
    limits = machine.limits(launch)
    c = CLaunch(
        blocks=len(ids), most_steps=launch.max_instructions, instructions=len(code), rows=machine.rows,
        allocation_count=len(allocations), basic_blocks=len(program.blocks), memory_instructions=len(machine.requests),
        threads=launch.threads, shared_bytes=launch.shared_bytes, shared_base=program.shared_base,
        local_bytes=-(-program.local_bytes // 16) * 16 if program.local_bytes else 0, counting=counting,
        dynamic_shared_bytes=launch.shared_bytes - program.dynamic_shared_offset,
        cluster_blocks=size,
        together=together if machine.sees_grid else 1, checking=checking, shared_granule=machine.granules[0],
        global_granule=machine.granules[1], fences=bool((code["operation"] == operations()["fence"]).any()),
        copies_in_bulk=bool((code["operation"] == operations()["copy bulk"]).any()),
        partial_barriers=program.orders_some_warps, phases_are_found=program.finds_phases,
    )  # fmt: skip
    c.grid[:], c.size[:] = launch.grid, launch.block
    blob = np.frombuffer(blob, np.uint8)
    arrays = {"code": code, "constants": constants, "allocations": table, "jumps": machine.jumps, "banks": blob,
              "limits": limits, "block_ids": ids}  # fmt: skip
    for name, array in arrays.items():
        setattr(c, name, array.ctypes.data)
    images = _images() if machine.uses_images else np.zeros(0, IMAGE)
    c.images, c.image_count = images.ctypes.data, len(images)
    shared_arrays = np.array(
        [(one.offset, one.offset + one.bytes) for one in launch.shared_names.arrays if one.bytes] or [(0, 0)], np.int32
    )
    c.shared_arrays, c.shared_array_count = shared_arrays.ctypes.data, len(shared_arrays)
    c.traced = None if wanted is None else wanted.ctypes.data
    uses = machine.uses(program) if checking else ()
    c.uses = uses.ctypes.data if len(uses) else None
    units = len(ids) // size
    cores = 1 if machine.sees_grid or len(ids) * launch.threads <= SMALL else min(os.cpu_count() or 1, units)
    watched = [
        one.bytes_.size // LINE_BYTES + 1 if checking and one.watch is not None and one.watch.written else 0
        for one in allocations
    ]
    blocks_meet = machine.sees_grid or launch.blocks_of_cluster > 1
    meeting = product(launch.grid) * -(-launch.threads // WARP) * WARP if checking and blocks_meet else 0
    slots, grid = len(allocations) + len(SPACES) - 1, product(launch.grid)
    runs = [Run(machine, program, slots, watched, meeting, grid) for _ in range(cores)]
    shares = _shares(units, cores)
    _on_threads(c, runs, [(first * size, stop * size) for first, stop in shares])
    return c, runs


def _images() -> np.ndarray:
    """The textures and surfaces that live."""
    living = OBJECTS.living()
    rows = np.zeros(len(living), IMAGE)
    for row, (handle, one) in zip(rows, living.items(), strict=True):
        image = one.image
        row["bytes"], row["pitch"], row["handle"] = image.bytes_.ctypes.data, image.pitch, handle
        row["size"], row["dims"], row["channels"] = image.size, image.dims, image.channels
        row["channel_bytes"], row["is_signed"] = image.dtype.itemsize, image.dtype.kind == "i"
        row["is_float"], row["layered"], row["is_buffer"] = image.dtype.kind == "f", image.layered, image.is_buffer
        row["is_surface"] = isinstance(one, Surface)
        if isinstance(one, Texture):
            row["mode"], row["linear"], row["normalized"] = one.modes, one.linear, one.normalized
            row["fractions"], row["outside"] = one.fractions, one.outside_words
    return rows


def _shares(blocks: int, parts: int) -> list[tuple[int, int]]:
    return [(blocks * part // parts, blocks * (part + 1) // parts) for part in range(parts)]


def _on_threads(c: CLaunch, runs: list[Run], shares: list[tuple[int, int]]) -> None:
    """Run each share on a thread of its own, so that the main thread still hears an interrupt."""

    def work(run: Run, first: int, stop: int) -> None:
        library().run_blocks(ctypes.byref(c), ctypes.byref(run.c), ctypes.c_int64(first), ctypes.c_int64(stop))

    threads = [threading.Thread(target=work, args=(run, *share)) for run, share in zip(runs, shares, strict=True)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        while any(thread.is_alive() for thread in threads):  # one that is only about to begin sets its fault to none
            for run in runs:
                run.c.fault = INTERRUPTED
            time.sleep(0.01)
        raise


def _word(banks: dict[int, bytes], word: Word) -> int:
    if word.bank < 0:
        return word.value & 0xFFFFFFFF
    return int.from_bytes(banks.get(word.bank, b"")[word.value : word.value + 4], "little")


def _gathered(launch: Launch, machine: Machine, runs: list[Run]) -> Result:
    first, *others = runs
    for run in others:
        for name in ("block_warps", "block_lanes", "guarded", "requests"):
            getattr(first, name)[...] += getattr(run, name)
    allocations = launch.global_memory.allocations
    names = [*(one.name for one in allocations), "", "", ""]
    counts: dict[tuple[int, str, str, str], Counts] = {}
    for row, slot in np.argwhere(first.requests[:-1, :, 0]).tolist():
        index, _, op = machine.requests[row]
        space = SPACES[max(0, slot - len(allocations) + 1)]
        if op == "copy":
            op = "ld" if space == "global" else "copy"
        key = (index, space, op, names[slot])
        values = first.requests[row, slot].tolist()
        if key in counts:
            counts[key].add(Counts(*values))
        else:
            counts[key] = Counts(*values)
    return Result(
        first.block_warps, first.block_lanes, {int(i): int(first.guarded[i]) for i in np.flatnonzero(first.guarded)},
        counts, _traces(launch, machine, np.concatenate([run.traces() for run in runs])),
        {space: sum(run.c.accesses[k] for run in runs) for k, space in enumerate(SPACES)},
        sum(run.c.barriers for run in runs), sum(run.c.copies for run in runs),
    )  # fmt: skip


def _traces(launch: Launch, machine: Machine, rows: np.ndarray) -> Traces:
    """The requests of warps put together to those of blocks: warps in step, whoever is further back first."""
    warps = -(-launch.threads // WARP)
    numbers, first_rows, block = np.unique(rows["block"], return_index=True, return_inverse=True)
    order = np.argsort(first_rows)  # of the blocks, as they were executed
    block = np.argsort(order)[block]
    access = np.empty(len(rows), np.int64)
    count = library().accesses_of(*_c(rows, len(rows), block, len(numbers), warps, access))
    if count < 0:
        raise MemoryError("There is no memory left to put the traced requests together.")
    addresses, active = np.zeros((count, launch.threads), np.int64), np.zeros((count, launch.threads), bool)
    library().gather_accesses(*_c(rows, len(rows), launch.threads, access, addresses, active))
    lead = np.empty(count, np.int64)  # by access one of its rows
    lead[access] = np.arange(len(rows))
    ops = {index: op for index, _, op in machine.requests}
    allocations = launch.global_memory.allocations
    kinds: dict[tuple[int, int, int, int], tuple] = {}

    def kind(number: int, index: int, space: int, allocation: int) -> tuple:
        """What the accesses of an instruction have in common."""
        op, array, base = ops[index], "", 0
        if space == 0:
            op = "ld" if op == "copy" else op
            array, base = allocations[allocation].name, allocations[allocation].base
        return unravel(number, launch.grid), index, SPACES[space], op, array, base, _width(launch.program, index)

    columns = (rows[name][lead].tolist() for name in ("block", "instruction", "space", "allocation"))
    described = [kinds.get(key) or kinds.setdefault(key, kind(*key)) for key in zip(*columns, strict=True)]
    return Traces(described, addresses, active)


def _c(*values: np.ndarray | int) -> Iterator[ctypes.c_void_p | ctypes.c_int64]:
    """Arguments of a function of the C program."""
    return (
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int64(value)
        for value in values
    )


def _width(program: Program, index: int) -> int:
    """Bytes per lane of a memory instruction."""
    parts = program.instructions[index].opcode.split(".")
    if parts[0] == "LDSM":
        return 16
    widths = {"128": 16, "64": 8, "U64": 8, "S64": 8, "F64": 8, "U8": 1, "S8": 1, "U16": 2, "S16": 2}
    return next((widths[part] for part in parts[1:] if part in widths), 4)
