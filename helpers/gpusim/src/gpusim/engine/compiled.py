"""The compiled engine: one launch executed by the C program of `helpers/gpusim/src/gpusim/native/engine`, warp by warp.

It executes decoded instructions of either front end (`isa/decoded.py`) and counts what a recorder counts. What
it does not model (printf, the other observers) the engine in NumPy executes. So it does, too, when something goes wrong
in a kernel: the arrays get back what they held before, and the launch is executed again by the engine that knows what
to say of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from gpusim.checks.aggregated_atomics import votes_of
from gpusim.counters.recorded import Counts, Key, OnDemand
from gpusim.counters.trace import Traces
from gpusim.devices import WARP, unravel
from gpusim.engine.ir import Instruction, Kind, Program, bits, result_is_live, uncollected
from gpusim.engine.machine_layout import (
    INSTRUCTION,
    REGISTER_USE,
    REGISTERS,
    SPACES,
    CResults,
    library,
    operations,
    pack,
)
from gpusim.engine.memory import lane_name
from gpusim.engine.plans import Plan, Plans, Rows, Run
from gpusim.engine.run import Launch, Wave, too_many_steps
from gpusim.engine.textures import OBJECTS, Surface
from gpusim.errors import StepLimitExceeded, UnprovenAccess
from gpusim.isa.decoded import ELEMENTS, RETURNS_OLD, Decoded, Word
from gpusim.symbols.live_loads import uses_of

OUT_OF_BOUNDS, MISALIGNED, TOO_MANY_STEPS, BARRIERS_DIFFER, DEADLOCK = range(1, 6)
HAZARD = 8
OF_IMAGES = ("read texture", "load surface", "store surface")
LOADS_AND_STORES = ("load", "store", "load tile", "store tile")
WIDE_ATOMICS, NARROW_ATOMICS = (2, 3, 5), (8, 9, 10)  # types of 64 bits, and of 16
ANYWHERE = (-(1 << 31), (1 << 31) - 1)
OF_LANES, SELECTS, SHUFFLES = 1, 2, 3
STORES, TO_MEMORY = ("ST.", "STL"), 0xFFFF  # to where code for a debugger has its local arrays
MOST_NAMED = 3  # groups of threads that a message names
MOST_SPARE = 2**26  # bytes
_SPARE: list[np.ndarray] = []  # the memory of `kept` while no launch has it


@dataclass(slots=True)
class Machine:
    """A kernel as the C program executes it.

    `requests` are the instructions that access memory: (index, space by number, name of the operation, bytes of a
    lane). `sees_grid`: whether what other blocks do may decide what a block does. `granules` of shared and of global
    memory: the bytes of the smallest access, as a power of two. `rows_of` are the rows of registers by their slots in
    the program. `meets_anywhere`: threads of a warp are together again wherever they come to the same place; `stack`
    and `origin` are the rows of a thread's frame and of the call that led there, where functions are called so.
    `plans` are those of the last launches.
    """

    code: np.ndarray
    words: list[Word]
    jumps: np.ndarray
    rows: int
    requests: list[tuple[int, int, str, int]]
    sees_grid: bool
    uses_images: bool
    granules: tuple[int, int]
    rows_of: Mapping[int, tuple[int, ...]]
    meets_anywhere: bool = False
    stack: int = -1
    origin: int = -1
    plans: Plans = field(default_factory=Plans)
    _limits: dict[int, np.ndarray] = field(default_factory=dict)
    _uses: np.ndarray | None = None

    def limits(self, launch: Launch) -> np.ndarray:
        """By instruction the bytes [start, stop) of shared, local and constant memory that it may access: (n, 3, 2)."""
        found_limits = self._limits.get(launch.shared_bytes)
        if found_limits is None:
            whole = [(0, launch.shared_bytes), (0, launch.program.local_bytes), ANYWHERE]
            found_limits = np.tile(np.array(whole, np.int32), (len(self.code), 1, 1))
            for space, arrays in enumerate((launch.shared_names, launch.local_arrays, launch.constant_arrays)):
                for index in arrays.used:
                    found_limits[index, space] = arrays.limits(index)
            for index, end in self._ends_beyond(launch, found_limits[:, 0, 1]):
                found_limits[index, 0, 1] = end
            self._limits[launch.shared_bytes] = found_limits
        return found_limits

    def forget_limits(self) -> None:
        """Of some instructions it became known which arrays they do not access."""
        self._limits.clear()
        self.plans = Plans()

    def _ends_beyond(self, launch: Launch, ends: np.ndarray) -> Iterator[tuple[int, int]]:
        """(instruction, where it may end) of the wide loads that may end behind their array, where no other one is:
        what they load there is dead (`memory._is_widened`). Those that end in another array run in NumPy."""
        for index, space, op, width in self.requests:
            end = int(ends[index])
            if (space, op) != (1, "ld") or end % width == 0 or launch.program.cluster:
                continue
            beyond = range(end, min(-(-end // width) * width, launch.shared_bytes))
            if index in uses_of(launch.program).doubtful and not any(map(launch.shared_names.around, beyond)):
                yield index, -(-end // width) * width

    def uses(self, program: Program) -> np.ndarray:
        """By instruction what it does with registers; empty if no value is to be followed: no load from shared memory
        may go unused, and there is no shuffle."""
        if self._uses is None:
            loads = {index for index, space, op, _ in self.requests if (space, op) == (1, "ld")}
            doubtful = loads & uses_of(program).doubtful
            takes = (self.code["operation"] == operations()["shuffle"]).any()
            instructions = program.instructions if doubtful or takes else ()
            self._uses = np.zeros(len(instructions), REGISTER_USE)
            self._uses["reads"] = self._rows(instruction.reads for instruction in instructions)
            self._uses["writes"] = self._rows(instruction.writes for instruction in instructions)
            self._uses["may_go_unused"] = [instruction.index in doubtful for instruction in instructions]
            self._uses["copied"] = [self._copied(program, instruction) for instruction in instructions]
            self._uses["role"] = [self._role(instruction) for instruction in instructions]
        return self._uses

    def _role(self, instruction: Instruction) -> int:
        """`role` of a RegisterUse."""
        operation = self.code["operation"][instruction.index]
        named = operations()
        if operation == named["shuffle"]:
            return SHUFFLES
        if operation in (named["select"], named["select wide"]):
            return SELECTS
        return OF_LANES if instruction.kind is Kind.ALU and operation != named["pack predicates"] else 0

    def _rows(self, slots_of_each: Iterable[Sequence[int | None]]) -> np.ndarray:
        """Which of the first rows some slots have, as bits: (n, words)."""
        known = {slot: bits(row for row in rows if row < REGISTERS) for slot, rows in self.rows_of.items()}
        data = bytearray()
        for slots in slots_of_each:
            rows = 0
            for slot in slots:
                rows |= known.get(slot, 0)
            data += rows.to_bytes(REGISTERS // 8, "little")
        return np.frombuffer(data, "<u8").reshape(-1, REGISTERS // 64)

    def _copied(self, program: Program, instruction: Instruction) -> int:
        """`copied` of a RegisterUse."""
        if program.debug and instruction.opcode.startswith(STORES):
            return TO_MEMORY
        if not instruction.copies:
            return 0
        rows = [
            [row for slot in slots for row in self.rows_of.get(slot, ())]
            for slots in (instruction.reads, instruction.writes)
        ]
        if any(len(each) != 1 or each[0] >= REGISTERS for each in rows):
            return 0
        return 1 + rows[0][0] | rows[1][0] << 16


@uncollected
def assemble(
    program: Program,
    decoded: Sequence[Decoded],
    words: list[Word],
    rows_of: Mapping[int, tuple[int, ...]],
    nowhere: int,
    lists: Sequence[int] = (),
) -> Machine:
    """Decoded instructions as arrays.

    words: the constants.  rows_of: those of the program's registers by their slots.  nowhere: the first row behind the
    registers, which receives what is not kept.  lists: rows that are listed.
    """
    names = operations()
    jumps = list(lists)
    requests: list[tuple[int, int, str, int]] = []
    block_at = {block.start: block for block in program.blocks}
    packed: list[bytes] = []
    for index, instruction in enumerate(decoded):
        memory = -1
        if instruction.jumps:
            instruction.number[:2] = len(jumps), len(instruction.jumps)
            jumps += instruction.jumps
        if instruction.space >= 0:
            memory = len(requests)
            requests.append((index, instruction.space, instruction.op, _bytes_of_lane(instruction)))
        block, length = -1, 0
        if index in block_at:
            block, length = block_at[index].index, block_at[index].stop - index
        operation = names[instruction.operation] if instruction.operation else -1
        packed.append(
            pack(
                instruction,
                nowhere if instruction.d is None else instruction.d,
                operation,
                index,
                block,
                length,
                memory,
            )
        )
    code = np.frombuffer(bytearray().join(packed), INSTRUCTION)
    return Machine(
        code, words, np.array(jumps or [0], np.int32), nowhere + 4, requests,
        bool((code["strong"] & 2).any()), any(instruction.operation in OF_IMAGES for instruction in decoded),
        tuple(_granule(decoded, space) for space in (1, 0)),
        rows_of,
    )  # fmt: skip


def _bytes_of_lane(instruction: Decoded) -> int:
    """How many bytes a lane accesses."""
    what, number = instruction.operation.removeprefix("ordered "), instruction.number
    if what in LOADS_AND_STORES:
        return number[2] * (number[3] or 4)
    if what == "atomic":
        return _bytes_of_element(number[3]) * max(1, instruction.flags // ELEMENTS)
    return 16 if what in ("load matrix", "store matrix") else 4 * number[3] if what == "copy async" else 8


def _granule(decoded: Sequence[Decoded], space: int) -> int:
    """The bytes of the smallest access to a space, generic ones included, as a power of two; 4 bytes at most."""
    widths = [_narrow_width(instruction) for instruction in decoded if instruction.space in (space, 3)]
    return min((width.bit_length() - 1 for width in widths if width), default=2)


def _narrow_width(instruction: Decoded) -> int:
    """The bytes of each of the narrow values that are accessed, 0 if there are none."""
    what = instruction.operation.removeprefix("ordered ")
    if what == "atomic":
        return 2 if instruction.number[3] in NARROW_ATOMICS else 0
    return instruction.number[3] if what in LOADS_AND_STORES else 0


def _bytes_of_element(type_: int) -> int:
    """The bytes of what an atomic operation is done to."""
    return 8 if type_ in WIDE_ATOMICS else 2 if type_ in NARROW_ATOMICS else 4


def describe_atomics(machine: Machine, program: Program) -> None:
    """Tell the machine what is to be known of atomic operations beside what they do.

    Whether the old value is live, by which loads a compare-and-swap begins, what plain loads may look at, and
    on behalf of which others a thread makes one.
    """
    for index, _, op, _ in machine.requests:
        instruction = program.instructions[index]
        if op == "atom" and not result_is_live(program, instruction):
            machine.code["flags"][index] &= ~np.uint32(RETURNS_OLD)
        machine.code["is_observed"][index] = instruction.is_observed
        machine.code["is_strong"][index] |= instruction.begins_swap
    for index, vote in votes_of(program).items():
        machine.code["is_vote"][vote] = machine.code["for_voters"][index] = True


def guard_barriers(machine: Machine, program: Program, prepared) -> None:
    """Tell the machine where threads may not go past a barrier that others of their warp wait at."""
    for block in program.blocks:
        last = program.instructions[block.stop - 1]
        if last.kind is Kind.BARRIER and last.guard is not None:
            following = prepared.next[block.index]
            inside = following < prepared.end
            going_on = inside and not prepared.leads_to_barrier[following] and not prepared.only_exits[following]
            machine.code["number"][last.index, 0] = int(going_on)


def let_meet_anywhere(machine: Machine, program: Program, prepared) -> None:
    """Tell the machine that threads of a warp meet wherever they can, and where all barriers are behind them."""
    machine.meets_anywhere = True
    for block in program.blocks:
        is_beyond = not prepared.leads_to_barrier[block.index] and not prepared.only_exits[block.index]
        machine.code["is_beyond"][block.start] = is_beyond


@dataclass(slots=True)
class Result:
    """What a launch did: as in `RecordedLaunch`, and `Checker.counts` of a checked one.

    apart: blocks whose warps have passed a barrier at different places, and the threads by the indices of these places.
    """

    block_warps: np.ndarray
    block_lanes: np.ndarray
    guarded_lanes: Mapping[int, int]
    counts: Mapping[Key, Counts]
    traces: Traces
    checked: dict[str, int]
    apart: Sequence[tuple[tuple[int, int, int], Mapping[int, np.ndarray]]] = ()


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
    Raises StepLimitExceeded, and UnprovenAccess, with the arrays as they were.
    """
    machine = launch.prepared.machine if library() is not None else None
    if machine is None or launch.reverse_atomics or (launch.only_blocks is not None and not len(launch.only_blocks)):
        return None
    with kept(launch, written) as put_back:
        for closely in (False, True):
            plan = machine.plans.take(machine, launch, counting, traced, together, checking, closely)
            plan.execute(launch)
            try:
                first_faulty = _first_faulty(plan.runs)
                if first_faulty is None and not (checking and _meet(plan)):
                    return _gathered(launch, machine, plan)
                _refuse_endless(launch, first_faulty)
                _doubt(launch, first_faulty)
                is_clear = first_faulty is not None and first_faulty.c.fault != HAZARD
            except UnprovenAccess:
                put_back()
                raise
            finally:
                machine.plans.give_back(plan)
            put_back()
            if is_clear or plan.looks_closely:
                break
    return None


def never_ends(launch: Launch, written: frozenset[str] | None, together: int) -> StepLimitExceeded | None:
    """The error for a launch that does not come to an end, found without looking for anything else; its arrays stay."""
    machine = launch.prepared.machine if library() is not None else None
    if machine is None:
        return None
    with kept(launch, written) as put_back:
        plan = machine.plans.take(machine, launch, False, frozenset(), together, False)
        plan.execute(launch)
        put_back()
    try:
        _refuse_endless(launch, _first_faulty(plan.runs))
    except StepLimitExceeded as error:
        return error
    finally:
        machine.plans.give_back(plan)
    return None


@contextmanager
def kept(launch: Launch, written: frozenset[str] | None) -> Iterator[Callable[[], None]]:
    """Keep what the arrays hold that a launch may change; the function that this gives puts it back.

    The copies lie where those of the last launch were: the system clears the pages of new memory, which takes longer
    than the copies do.

    written: the parameters that the kernel may write through, None for any. One that is no array is a struct, whose
    pointers may lead into any array.
    """
    if written is not None and not written <= set().union(
        *(allocation.names for allocation in launch.global_memory.allocations)
    ):
        written = None
    arrays = [
        allocation.bytes_
        for allocation in launch.global_memory.allocations
        if allocation.writable and (written is None or not written.isdisjoint(allocation.names))
    ]
    arrays += [surface.image.bytes_ for surface in OBJECTS.living().values() if isinstance(surface, Surface)]
    watches = (allocation.watch for allocation in launch.global_memory.allocations if allocation.watch is not None)
    arrays += [watch.unwritten for watch in watches if watch.unwritten is not None]
    ends = np.cumsum([array.nbytes for array in arrays], dtype=np.int64).tolist()
    try:
        memory = _SPARE.pop()
    except IndexError:
        memory = np.empty(0, np.uint8)
    if memory.size < sum(ends[-1:]):
        memory = np.empty(ends[-1], np.uint8)
    copies = [memory[end - array.nbytes : end].view(array.dtype) for array, end in zip(arrays, ends, strict=True)]
    for array, copy in zip(arrays, copies, strict=True):
        copy[...] = array

    def put_back() -> None:
        for array, copy in zip(arrays, copies, strict=True):
            array[...] = copy

    yield put_back
    if not _SPARE and memory.size <= MOST_SPARE:
        _SPARE.append(memory)


@contextmanager
def unchanged(launch: Launch, written: frozenset[str] | None) -> Iterator[None]:
    """What is executed inside the `with` leaves no trace in arrays. For `written` see `kept`."""
    with kept(launch, written) as put_back:
        try:
            yield
        finally:
            put_back()


def _first_faulty(runs: list[Run]) -> Run | None:
    return next((run for run in runs if run.c.fault), None)


def _refuse_endless(launch: Launch, run: Run | None) -> None:
    """Raise StepLimitExceeded if that is what is wrong with a run."""
    if run is not None and run.c.fault == TOO_MANY_STEPS:
        block = int(np.flatnonzero(launch.block_ids == run.c.fault_block)[0])
        at = next(block for block in launch.program.blocks if block.start == run.c.fault_instruction)
        too_many_steps(Wave(launch, block, 1), at, 0, run.c.fault_thread)
    if run is not None and run.c.fault == DEADLOCK:
        _name_who_waits(launch, run.waiters[: run.c.waiter_count])


def _doubt(launch: Launch, run: Run | None) -> None:
    """Raise UnprovenAccess if a run went outside an array that the instruction may not belong to.

    (Of a wide load that goes unused in part the engine in NumPy finds out whether it went there: `memory._is_widened`.)
    """
    if run is not None and run.c.fault == OUT_OF_BOUNDS:
        index = int(run.c.fault_instruction)
        if index in launch.shared_names.unproven and index not in uses_of(launch.program).doubtful:
            raise UnprovenAccess(index, int(run.c.fault_block))


def _name_who_waits(launch: Launch, waiters: np.ndarray) -> None:
    """Raise StepLimitExceeded if threads go round loops that no thread can end any more.

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


def _meet(plan: Plan) -> bool:
    """Whether two threads of the host executed blocks that touch one word, and one of them writes it."""
    runs = plan.runs
    for slot, lines in enumerate(zip(*(run.lines for run in runs), strict=True)):
        if len(lines) == 1 or lines[0] is None:
            continue
        doubtful = np.flatnonzero(_several_and_one_writes(lines, [notes["is_split"] != 0 for notes in lines]))
        if not len(doubtful):
            continue
        for run in runs:
            library().split_lines(ctypes.byref(plan.c), ctypes.byref(run.c), slot, *_c(doubtful, len(doubtful)))
        words = [run.words[slot].reshape(len(lines[0]), -1)[doubtful] for run in runs]
        if _several_and_one_writes(words, [False] * len(words)).any():
            return True
    return False


def _several_and_one_writes(notes: Sequence[np.ndarray], unknown: Sequence[np.ndarray | bool]) -> np.ndarray:
    """Where more than one of the threads of the host has notes, and one of them writes, as far as that is known."""
    writes = [(note["writer"] != 0) | split for note, split in zip(notes, unknown, strict=True)]
    touched = [written | (note["reader"] != 0) for written, note in zip(writes, notes, strict=True)]
    return (sum(flags.astype(np.uint8) for flags in touched) > 1) & np.logical_or.reduce(writes)


def _gathered(launch: Launch, machine: Machine, plan: Plan) -> Result:
    """What the threads of the host found. What only a reader needs is put together when it is read."""
    engine, runs = library(), plan.runs
    sums = runs[0].sums.copy()
    for run in runs[1:]:
        sums += run.sums
    block_warps, block_lanes, guarded, requests = runs[0].parts(sums)
    traces = [run.traces() for run in runs]
    return Result(
        block_warps, block_lanes, OnDemand(lambda: _by_place(guarded)),
        OnDemand(lambda: _requests(engine, launch, machine).counts(requests)),
        Traces(lambda: _requests(engine, launch, machine).accesses(traces)),
        _checked(runs) if plan.like.checking else {}, [_apart(launch, run.c) for run in runs if run.c.apart],
    )  # fmt: skip


def _apart(launch: Launch, results: CResults) -> tuple[tuple[int, int, int], dict[int, np.ndarray]]:
    """The first block whose warps passed a barrier at different places, and its threads by where they did."""
    at = np.repeat(np.array(results.apart_at), WARP)[: launch.threads]
    threads = {instruction - 1: np.flatnonzero(at == instruction) for instruction in np.unique(at[at > 0]).tolist()}
    return unravel(results.apart_block, launch.grid), threads


def _by_place(numbers: np.ndarray) -> dict[int, int]:
    """Those that are not zero."""
    places = np.flatnonzero(numbers)
    return dict(zip(places.tolist(), numbers[places].tolist(), strict=True))


def _checked(runs: Sequence[Run]) -> dict[str, int]:
    """How much was looked at: accesses of threads by space, barriers, asynchronous copies."""
    accesses = dict(zip(SPACES, map(sum, zip(*(run.c.accesses for run in runs), strict=True)), strict=True))
    accesses["shared"] += accesses.pop("cluster")
    return accesses | {name: sum(getattr(run.c, name) for run in runs) for name in ("barriers", "copies")}


def _requests(engine: ctypes.CDLL, launch: Launch, machine: Machine) -> _Requests:
    """Those of a launch that was executed by this library."""
    arrays = [(allocation.name, allocation.base) for allocation in launch.global_memory.allocations]
    return _Requests(engine, launch.program, launch.grid, launch.threads, machine.requests, arrays)


@dataclass(frozen=True, slots=True)
class _Requests:
    """What is to be known of a launch to read its requests. `instructions` are `Machine.requests`, `arrays` the names
    and the bases of those in global memory."""

    engine: ctypes.CDLL
    program: Program
    grid: tuple[int, int, int]
    threads: int
    instructions: list[tuple[int, int, str]]
    arrays: list[tuple[str, int]]

    def counts(self, sums: np.ndarray) -> dict[Key, Counts]:
        """By (instruction, space, op, array) what requests cost. sums: by request, slot and quantity."""
        names = [*(name for name, _ in self.arrays), "", "", ""]
        counts: dict[Key, Counts] = {}
        for row, slot in np.argwhere(sums[:-1, :, 0]).tolist():
            index, _, op, _ = self.instructions[row]
            space = SPACES[max(0, slot - len(self.arrays) + 1)]
            if op == "copy":
                op = "ld" if space == "global" else "copy"
            own = Counts(*sums[row, slot].tolist())
            known = counts.setdefault((index, space, op, names[slot]), own)
            if known is not own:
                known.add(own)
        return counts

    def accesses(self, traces: Sequence[Rows]) -> tuple[list[tuple], np.ndarray, np.ndarray]:
        """The requests of warps put together to those of blocks: warps in step, the slowest warp first.

        traces: of each thread of the host. The answer is what `Traces` holds.
        """
        warps = -(-self.threads // WARP)
        of_runs, shapes_of_runs = zip(*(trace.copies() for trace in traces), strict=True)
        before = np.cumsum([0, *map(len, shapes_of_runs[:-1])])  # shapes of the runs before
        rows, shapes = np.concatenate(of_runs), np.concatenate(shapes_of_runs)
        rows["shape"] += np.repeat(before, list(map(len, of_runs)))
        numbers, first_rows, block = np.unique(rows["block"], return_index=True, return_inverse=True)
        order = np.argsort(first_rows)  # of the blocks, as they were executed
        block = np.argsort(order)[block]
        access = np.empty(len(rows), np.int64)
        count = self.engine.accesses_of(*_c(rows, len(rows), block, len(numbers), warps, access))
        if count < 0:
            raise MemoryError("There is no memory left to put the traced requests together.")
        addresses, active = np.zeros((count, self.threads), np.int64), np.zeros((count, self.threads), bool)
        self.engine.gather_accesses(*_c(rows, len(rows), shapes, self.threads, access, addresses, active))
        lead = np.empty(count, np.int64)  # by access one of its rows
        lead[access] = np.arange(len(rows))
        ops = {index: op for index, _, op, _ in self.instructions}
        widths = {index: width for index, _, _, width in self.instructions}
        kinds: dict[tuple[int, int, int, int], tuple] = {}

        def kind(number: int, index: int, space: int, allocation: int) -> tuple:
            """What the accesses of an instruction have in common."""
            op, array, base = ops[index], "", 0
            if space == 0:
                op = "ld" if op == "copy" else op
                array, base = self.arrays[allocation]
            return unravel(number, self.grid), index, SPACES[space], op, array, base, widths[index]

        columns = (rows[name][lead].tolist() for name in ("block", "instruction", "space", "allocation"))
        described = [kinds.get(key) or kinds.setdefault(key, kind(*key)) for key in zip(*columns, strict=True)]
        return described, addresses, active


def _c(*values: np.ndarray | int) -> Iterator[ctypes.c_void_p | ctypes.c_int64]:
    """Arguments of a function of the C program."""
    return (
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int64(value)
        for value in values
    )
