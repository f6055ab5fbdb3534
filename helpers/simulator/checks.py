"""The sanitizer: what is wrong with a launch although it ran to its end, in sentences.

It watches every access and reports reads of memory that nobody wrote, races in shared and in global memory, and
asynchronous copies that are used before they are waited for, or never waited for. (Accesses outside the arrays,
misaligned ones and barriers that not all threads reach stop a launch at once, whether the sanitizer is on or off.)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from helpers.simulator.arrays import DeviceArray, forget_written_by_host
from helpers.simulator.errors import AsyncCopyError, HazardError, RaceError, UninitializedRead, coordinates
from helpers.simulator.global_checks import Clock, GlobalHazard, GlobalWatch
from helpers.simulator.ir import Program
from helpers.simulator.memory import Allocation, GlobalMemory, lane_name, product
from helpers.simulator.observers import Observer
from helpers.simulator.shared_arrays import SharedNames
from helpers.simulator.shared_checks import Patterns, SharedChecks
from helpers.simulator.shared_epoch import Hazard

SHARED_RACE, GLOBAL_RACE = "race in shared memory", "race in global memory"
UNWRITTEN_SHARED, UNWRITTEN_GLOBAL = "unwritten shared memory", "unwritten global memory"
ASYNC_COPY = "asynchronous copy"
ERRORS: dict[str, type[HazardError]] = {
    SHARED_RACE: RaceError, GLOBAL_RACE: RaceError, UNWRITTEN_SHARED: UninitializedRead,
    UNWRITTEN_GLOBAL: UninitializedRead, ASYNC_COPY: AsyncCopyError,
}  # fmt: skip
MOST_FINDINGS = 20  # different ones; more of the same are counted
MOST_IN_A_MESSAGE = 3
MOST_WATCHED_BYTES = 128 << 20  # of an array that is watched for races: the watch takes up to eight times as much
WARP = 32
Index = tuple[int, int, int]


@dataclass(frozen=True)
class Finding:
    """One hazard: a pair of source lines, or one line, where it was first found.

    `lines` holds the source lines concerned, the earlier access's first, each followed by the lines that its function
    was called from; `block` and `thread` belong to the later access, `other_block` and `other_thread` to the earlier
    one of a pair. `index` is the element of `array` (row and column for two dimensions). `count` tells how often it was
    found.
    """

    kind: str
    lines: tuple[int, ...]
    block: Index
    thread: Index
    array: str
    index: tuple[int, ...]
    message: str
    other_block: Index | None = None
    other_thread: Index | None = None
    count: int = 1

    @property
    def line(self) -> int:
        """The first source line."""
        return self.lines[0] if self.lines else 0


@dataclass(frozen=True)
class Report:
    """What the sanitizer looked at in one launch, or in several, and what it found."""

    kernel: str
    findings: tuple[Finding, ...] = ()
    shared_accesses: int = 0  # by threads: a warp's instruction counts up to 32
    global_accesses: int = 0
    local_accesses: int = 0
    barriers: int = 0  # passed by blocks
    copies: int = 0  # by threads
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        """'0 hazards in 131,072 shared accesses …', and every finding's sentences."""
        looked_at = [
            f"{count:,} {name}{'' if count == 1 else 'es' if name.endswith('s') else 's'}"
            for count, name in (
                (self.shared_accesses, "shared access"), (self.global_accesses, "global access"),
                (self.local_accesses, "local access"), (self.barriers, "barrier"), (self.copies, "asynchronous copy"),
            )
            if count or name in ("shared access", "global access")
        ]  # fmt: skip
        looked_at = [text.replace("copys", "copies") for text in looked_at]
        number = len(self.findings)
        what = f"{number} hazard{'' if number == 1 else 's'}"
        first = f"{self.kernel}: {what} in {', '.join(looked_at[:-1])} and {looked_at[-1]}."
        return "\n\n".join([first, *(finding.message for finding in self.findings), *self.notes])

    def __add__(self, other: "Report") -> "Report":
        names = dict.fromkeys((*self.kernel.split(", "), *other.kernel.split(", ")))
        return Report(
            ", ".join(name for name in names if name),
            self.findings + other.findings,
            self.shared_accesses + other.shared_accesses,
            self.global_accesses + other.global_accesses,
            self.local_accesses + other.local_accesses,
            self.barriers + other.barriers,
            self.copies + other.copies,
            self.notes + other.notes,
        )


def combined(reports: Iterable[Report]) -> Report:
    """One report for several launches."""
    return sum(reports, Report(""))


def error_for(report: Report) -> HazardError:
    """The exception that stands for a report with findings; its type is that of the first."""
    first = report.findings[0]
    texts = [finding.message for finding in report.findings[:MOST_IN_A_MESSAGE]]
    if len(report.findings) > MOST_IN_A_MESSAGE:
        texts.append(f"… and {len(report.findings) - MOST_IN_A_MESSAGE} more: see error.report.findings.")
    return ERRORS[first.kind](
        "\n\n".join(texts),
        report=report,
        kernel=report.kernel,
        line=first.line,
        lines=tuple(dict.fromkeys(line for finding in report.findings for line in finding.lines)),
        block=first.block,
        thread=first.thread,
    )


class Checker(Observer):
    """Watches one launch; `finish()` gives the report.

    Args: the launch's `program` and `memory`; the geometry `grid` and `block`; `written`, the parameters and variables
    that the kernel may write through (None: any); `names` of its shared memory; `patterns` learnt in earlier launches.
    """

    def __init__(
        self,
        program: Program,
        grid: Index,
        block: Index,
        memory: GlobalMemory,
        written: frozenset[str] | None,
        names: SharedNames,
        patterns: Patterns | None = None,
    ) -> None:
        self.program = program
        self.grid = grid
        self.block = block
        self.threads = product(block)
        self.memory = memory
        self.written = written
        self.names = names
        self.found: dict[tuple, Finding] = {}
        self.notes: list[str] = []
        self.counts = {"shared": 0, "global": 0, "local": 0, "barriers": 0, "copies": 0}
        self.shared = SharedChecks(self._shared_hazard, patterns)
        self.clock = Clock(product(grid))
        self._mask: np.ndarray | None = None
        self._lanes = 0
        self._watch(memory.allocations)

    def _watch(self, allocations: Iterable[Allocation]) -> None:
        for allocation in allocations:
            owner = allocation.owner
            unwritten = None
            if isinstance(owner, DeviceArray):
                forget_written_by_host(owner)
                unwritten = owner.unwritten
            written = self.written is None or not self.written.isdisjoint(allocation.names)
            if written and allocation.bytes_.size > MOST_WATCHED_BYTES:
                written = False
                self.notes.append(f"{allocation.name} is so large that races in it were not looked for.")
            if written or unwritten is not None:
                allocation.watch = GlobalWatch(allocation, unwritten, written, self.clock, self._global_hazard)

    def finish(self) -> Report:
        """What was found."""
        for allocation in self.memory.allocations:
            owner = allocation.owner
            if isinstance(owner, DeviceArray) and owner.unwritten is not None and not owner.unwritten.any():
                owner.unwritten = None
        notes = list(self.notes)
        if self.shared.cut:
            notes.append(
                f"{self.program.name} went so long without a barrier that races were looked for in "
                f"{self.shared.cut + 1} pieces."
            )
        counts = self.counts
        return Report(
            self.program.name, tuple(self.found.values()), counts["shared"], counts["global"], counts["local"],
            counts["barriers"], counts["copies"], tuple(notes),
        )  # fmt: skip

    # ---- the engine's reports
    def begin_wave(self, wave) -> None:
        self._mask = None
        self.shared.begin(wave)
        self.clock.begin(wave)

    def end_wave(self, wave) -> None:
        self.shared.end(wave)

    def barrier(self, wave, blocks) -> None:
        self.counts["barriers"] += wave.shape[0] if blocks is None else int(blocks.sum())
        self.shared.barrier(wave, blocks)
        self.clock.barrier(blocks)

    def warp_barrier(self, wave, mask) -> None:
        self.shared.warp_barrier(mask)
        self.clock.warp_barrier(wave, mask)

    def fence(self, wave, scope: str, mask) -> None:
        if scope != "block":
            self.clock.fence(wave, mask)

    def access(self, wave, space: str, op: str, width: int, addresses, mask, values: tuple = ()) -> None:
        self.counts[space] += self._active(wave, mask)
        if space == "shared":
            self.shared.access(wave, op, width, addresses, mask, values)
        elif space == "global":
            if op in ("atom", "red"):
                self._atomic(wave, op, width, addresses, mask)
            elif self.clock.is_strong(wave.instruction):
                self.clock.atomic(wave, mask)

    def copy_async(self, wave, size: int, to, origin, mask, read) -> None:
        active = self._active(wave, mask)
        self.counts["copies"] += active
        self.counts["shared"] += active
        self.counts["global"] += self._active(wave, read)
        self.shared.copy(wave, size, to, mask)

    def copy_group(self, wave, what: str, pending: int, mask) -> None:
        self.shared.group(what, pending, mask)

    def _active(self, wave, mask) -> int:
        """Number of active threads."""
        if mask is None:
            return wave.shape[0] * wave.shape[1]
        if mask is not self._mask:
            self._mask = mask
            self._lanes = int(np.count_nonzero(mask)) * (wave.shape[0] * wave.shape[1] // mask.size)
        return self._lanes

    def _atomic(self, wave, op: str, width: int, addresses, mask) -> None:
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        first = int(np.broadcast_to(addresses, wave.shape)[lanes].min())
        allocation = self.memory.find(first)
        if allocation.watch is not None:
            allocation.watch.access(wave, op, addresses - allocation.base, mask, width)
        self.clock.atomic(wave, mask)

    # ---- findings
    def _keep(self, key: tuple, count: int, make: Callable[[], Finding]) -> None:
        """Make a finding of the first hazard of a kind and a pair of lines, and count the others."""
        known = self.found.get(key)
        if known is not None:
            self.found[key] = replace(known, count=known.count + count)
        elif len(self.found) < MOST_FINDINGS:
            self.found[key] = replace(make(), count=count)

    def _lines(self, instruction: int) -> tuple[int, ...]:
        """The source line of an instruction and the lines that its function was called from."""
        found = self.program.instructions[instruction]
        return (found.line, *found.called_from)

    def _quote(self, instruction: int, *who: str) -> str:
        """The source line with what somebody does there; below it the lines that it was called from."""
        lines = self.program.source_lines
        texts = []
        for position, line in enumerate(self._lines(instruction)):
            if 1 <= line <= len(lines):
                start = "  called from line" if position else "line"
                texts.append(f"  {start} {line}: {lines[line - 1].strip()}\n")
        return "".join([*texts[:1], *(f"    {one}\n" for one in who), *texts[1:]])

    def _quote_both(self, first: int, second: int, one: str, other: str) -> str:
        """Two source lines with what happens there; one line if they are the same."""
        if self._lines(first) == self._lines(second):
            return self._quote(first, one, other)
        return self._quote(first, one) + self._quote(second, other)

    def _block(self, number: int) -> Index:
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def _thread(self, number: int) -> Index:
        x, y, _ = self.block
        return number % x, number // x % y, number // (x * y)

    def _shared_hazard(self, wave, hazard: Hazard, times: int) -> None:
        """A hazard of shared memory becomes a finding."""
        second = hazard.second
        name, index, place = self.names.place(second.instruction, hazard.byte)
        lines = self._lines(second.instruction)
        if hazard.first is not None:
            lines = tuple(dict.fromkeys((*self._lines(hazard.first.instruction), *lines)))
        kind = {
            "race": SHARED_RACE, "unwritten": UNWRITTEN_SHARED, "pending": ASYNC_COPY, "left over": ASYNC_COPY,
        }[hazard.kind]  # fmt: skip

        def make() -> Finding:
            block = wave.block_index(second.row)
            thread = self._thread(second.thread)
            other = None if hazard.first is None else self._thread(hazard.first.thread)
            write = {
                "race": self._shared_race, "unwritten": self._shared_unwritten,
                "pending": self._copy_too_early, "left over": self._copy_left_over,
            }[hazard.kind]  # fmt: skip
            message = write(hazard, place, block)
            return Finding(kind, lines, block, thread, name, index, message, None if other is None else block, other)

        self._keep((kind, hazard.kind, name, *lines), hazard.words * times, make)

    def _does(self, side, place: str) -> str:
        verb = {"updates": "updates (atomically)", "copies": "copies into"}.get(side.what, side.what)
        return f"thread {coordinates(self._thread(side.thread))} {verb} {place}"

    def _shared_race(self, hazard: Hazard, place: str, block: Index) -> str:
        first, second = hazard.first, hazard.second
        follows = self._may_follow(first.instruction, second.instruction)
        if not follows and self._lines(second.instruction)[-1] < self._lines(first.instruction)[-1]:
            # Threads were in different branches: tell it in the order of the source.
            first, second = second, first
        one, two = self._lines(first.instruction)[-1], self._lines(second.instruction)[-1]
        where = f"line {one}" if one == two else f"lines {one} and {two}"
        text = f"{self.program.name}: race in shared memory, {where}, in block {coordinates(block)}.\n"
        sides = (self._does(first, place), self._does(second, place))
        text += self._quote_both(first.instruction, second.instruction, *sides)
        both_write = first.what != "reads" and second.what != "reads"
        same_warp = first.thread // WARP == second.thread // WARP
        barrier = "__syncwarp() or __syncthreads()" if same_warp else "__syncthreads()"
        if both_write and first.instruction == second.instruction:
            return text + (
                "Both write different values in one statement, and which of them stays is not defined. "
                "Let one thread write, or combine the values with an atomic function such as atomicAdd."
            )
        if first.what == "copies" and second.what != "copies":
            return text + (
                "Other threads see what a thread has copied only after it has waited for the copy and a barrier "
                f"follows. Put cp.async.wait_group and then __syncthreads() between line {one} and line {two}."
            )
        order = "No barrier lies between them, so that on a GPU either may come first"
        if same_warp:
            order += " (the lanes of a warp need not run in step)"
        text += order + ". "
        if one == two:
            if first.what == "reads" and self._one_statement(first.instruction, second.instruction):
                return text + (
                    "If several threads update one element, use an atomic function such as atomicAdd; "
                    f"else put {barrier} between the read and the write."
                )
            return text + f"Put {barrier} between the two accesses."
        if one < two:
            outside = "" if follows else ", outside of any branch that only some threads take"
            return text + f"Put {barrier} between line {one} and line {two}{outside}."
        return text + f"Put {barrier} after line {one}, before line {two} is reached again."

    def _may_follow(self, first: int, second: int) -> bool:
        """Whether one thread may execute the instruction `second` after `first`."""
        blocks = self.program.blocks
        start, goal = (next(b for b in blocks if b.start <= i < b.stop) for i in (first, second))
        known: set[int] = set()
        following = list(start.successors)
        while following:
            block = following.pop()
            if block not in known:
                known.add(block)
                following += blocks[block].successors
        return goal.index in known or (start is goal and first < second)

    def _one_statement(self, first: int, second: int) -> bool:
        """Whether two instructions are close together, such as the load and the store of `x[i] += 1`."""
        return 0 < second - first < 8

    def _shared_unwritten(self, hazard: Hazard, place: str, block: Index) -> str:
        who = lane_name(block, self._thread(hazard.second.thread))
        return (
            f"{self.program.name}: {who} {hazard.second.what} {place}, which no thread has written.\n"
            + self._quote(hazard.second.instruction)
            + "Shared memory holds anything at first. Store to every element that is read later, zeros too where a "
            "tile reaches beyond the matrix."
        )

    def _copy_too_early(self, hazard: Hazard, place: str, block: Index) -> str:
        first, second = hazard.first, hazard.second
        return (
            f"{self.program.name}: {place} is used while an asynchronous copy into it is under way, in block "
            f"{coordinates(block)}.\n"
            + self._quote_both(
                first.instruction, second.instruction, self._does(first, place), self._does(second, place)
            )
            + "Nothing has waited for the copy between the two. Commit it (cp.async.commit_group), wait until no more "
            "groups are pending than came after it (cp.async.wait_group), then __syncthreads() if other threads use it."
        )

    def _copy_left_over(self, hazard: Hazard, place: str, block: Index) -> str:
        who = lane_name(block, self._thread(hazard.second.thread))
        return (
            f"{self.program.name}: {who} ends with an asynchronous copy under way that nothing has waited for.\n"
            + self._quote(hazard.second.instruction, self._does(hazard.second, place))
            + "It may land when this shared memory belongs to another block. Wait for all copies before the end: "
            "cp.async.wait_all."
        )

    def _global_hazard(self, wave, allocation: Allocation, hazard: GlobalHazard, count: int) -> None:
        """A hazard of global memory becomes a finding."""
        second, first = hazard.second, hazard.first
        lines = self._lines(second.instruction)
        if first is not None:
            lines = tuple(dict.fromkeys((*self._lines(first.instruction), *lines)))
        kind = GLOBAL_RACE if hazard.kind == "race" else UNWRITTEN_GLOBAL

        def make() -> Finding:
            block, thread = (self._block(second.thread // self.threads), self._thread(second.thread % self.threads))
            element = hazard.byte // allocation.dtype.itemsize
            size = product(allocation.shape)
            inside = element < size and len(allocation.shape) > 1
            index = tuple(int(i) for i in np.unravel_index(element, allocation.shape)) if inside else (element,)
            place = f"{allocation.name}[{', '.join(map(str, index))}]"
            if first is None:
                message = self._global_unwritten(hazard, allocation, place, block, thread)
                return Finding(kind, lines, block, thread, allocation.name, index, message)
            other_block = self._block(first.thread // self.threads)
            other_thread = self._thread(first.thread % self.threads)
            message = self._global_race(hazard, place, (other_block, other_thread), (block, thread))
            return Finding(kind, lines, block, thread, allocation.name, index, message, other_block, other_thread)

        self._keep((kind, allocation.name, *lines), count, make)

    def _global_unwritten(self, hazard: GlobalHazard, allocation: Allocation, place: str, block, thread) -> str:
        return (
            f"{self.program.name}: {lane_name(block, thread)} {hazard.second.what} {place}, which nobody has written.\n"
            + self._quote(hazard.second.instruction)
            + f"{allocation.name} was made by empty(), which leaves its elements undefined. Make it with zeros() or "
            "full(), or write every element before it is read."
        )

    def _global_race(self, hazard: GlobalHazard, place: str, earlier, later) -> str:
        first, second = hazard.first, hazard.second
        one, two = self._lines(first.instruction)[-1], self._lines(second.instruction)[-1]
        where = f"line {one}" if one == two else f"lines {one} and {two}"
        between = earlier[0] != later[0]
        place_of_race = "between blocks" if between else f"inside block {coordinates(later[0])}"
        verbs = {"updates": "updates (atomically)"}
        sides = [
            f"{lane_name(*who)} {verbs.get(side.what, side.what)} {place}"
            for who, side in ((earlier, first), (later, second))
        ]
        text = f"{self.program.name}: race in global memory, {where}, {place_of_race}.\n"
        text += self._quote_both(first.instruction, second.instruction, *sides)
        if first.instruction == second.instruction:
            return text + (
                "Both write different values, and which of them stays is not defined. Let one thread write each "
                "element, or combine the values with an atomic function such as atomicAdd."
            )
        if between:
            text += "Blocks run in any order and do not wait for each other. "
        else:
            text += "No barrier lies between them, so that on a GPU either may come first. "
        if one == two:
            return text + (
                "If several threads add to one element, use atomicAdd; else let each element be written by one thread, "
                "from values that no other thread changes in this launch."
            )
        if not between:
            return text + f"Put __syncthreads() between line {min(one, two)} and line {max(one, two)}."
        return text + (
            "Write to another array than the one that is read, or do the second step in a second launch; if a counter "
            "tells who is last, put __threadfence() between the data and the counter's atomicAdd."
        )
