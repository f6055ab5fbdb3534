"""The sanitizer: what is wrong with a launch although it ran to its end, in sentences.

It watches every access and reports reads of unwritten memory (of shared memory, if the value is live), races in shared
and in global memory, and asynchronous copies that are used before they are waited for, or never waited for.
(Accesses outside the arrays, misaligned ones and barriers that a part of a warp reaches stop a launch at once, whether
the sanitizer is on or off. That whole warps come to one barrier at different places is a warning: a GPU counts them.)
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from gpusim.checks.aggregated_atomics import Aggregated
from gpusim.checks.bulk_checks import BulkWatch
from gpusim.checks.cluster_checks import ClusterChecks
from gpusim.checks.findings import Finding, Findings, Index, LocalHazard
from gpusim.checks.global_checks import Clock, GlobalWatch
from gpusim.checks.hazard_messages import Messages
from gpusim.checks.shared_checks import Patterns, SharedChecks
from gpusim.checks.undefined_values import UndefinedValues
from gpusim.checks.uninvolved_warps import UninvolvedWarps
from gpusim.checks.warp_masks import MissedLanes
from gpusim.cupy.arrays import DeviceArray, forget_written_by_host
from gpusim.devices import WARP
from gpusim.engine.bulk import UNIT as BULK_UNIT
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.ir import Program, at_mbarrier
from gpusim.engine.memory import Allocation, GlobalMemory, LocalMemory, SharedMemory, out_of_bounds, product
from gpusim.engine.observers import (
    Access,
    Arrived,
    AsyncCopy,
    BarrierPassed,
    BulkCopy,
    BulkGroup,
    Chosen,
    ClusterBarrierPassed,
    CopyGroup,
    Executed,
    Fence,
    Guarded,
    Handlers,
    LanesMissed,
    LanesNamed,
    LanesTaken,
    NamedBarrierReached,
    Observer,
    PhaseEnded,
    PhaseFound,
    WarpBarrierReached,
    WarpsApart,
    WaveBegins,
    WaveEnds,
)
from gpusim.engine.schedule import first_of_warps
from gpusim.errors import (
    ASYNC_COPY,
    BARRIERS,
    GLOBAL_RACE,
    NEVER_SET,
    SHARED_RACE,
    UNWRITTEN_GLOBAL,
    UNWRITTEN_LOCAL,
    UNWRITTEN_SHARED,
    WARP_MASK,
    AsyncCopyError,
    HazardError,
    OutOfBounds,
    RaceError,
    UninitializedRead,
    WarpMaskError,
)
from gpusim.symbols.live_loads import uses_of
from gpusim.symbols.shared_arrays import SharedNames

WARNINGS = frozenset((BARRIERS,))  # of what a GPU does as it is done here
ERRORS: dict[str, type[HazardError]] = {
    SHARED_RACE: RaceError, GLOBAL_RACE: RaceError, UNWRITTEN_SHARED: UninitializedRead,
    UNWRITTEN_GLOBAL: UninitializedRead, ASYNC_COPY: AsyncCopyError,
    UNWRITTEN_LOCAL: UninitializedRead, WARP_MASK: WarpMaskError, NEVER_SET: UninitializedRead,
}  # fmt: skip
MOST_IN_A_MESSAGE = 3
# A register of 16 bits is spilled so, to a word that is refilled as a whole; elements of arrays are stored by STL.U16.
SPILLS_HALF, REFILLED_BYTES = "STL.S16", 4
ENOUGH = 1024  # basic blocks that are still executed after the first finding, where findings are raised
MOST_WATCHED_BYTES = 128 << 20  # of an array that is watched for races: the watch takes up to eight times as much


class FoundEnough(Exception):
    """Something was found long ago, and the rest of a launch that will raise an error need not be executed."""


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
        examined = [
            f"{count:,} {name}{'' if count == 1 else 'es' if name.endswith('s') else 's'}"
            for count, name in (
                (self.shared_accesses, "shared access"), (self.global_accesses, "global access"),
                (self.local_accesses, "local access"), (self.barriers, "barrier"), (self.copies, "asynchronous copy"),
            )
            if count or name in ("shared access", "global access")
        ]  # fmt: skip
        examined = [text.replace("copys", "copies") for text in examined]
        number = len(self.findings)
        what = f"{number} hazard{'' if number == 1 else 's'}"
        first = f"{self.kernel}: {what} in {', '.join(examined[:-1])} and {examined[-1]}."
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


def error_for(report: Report) -> HazardError:
    """The exception that stands for a report with findings that are no WARNINGS; its type is that of the first."""
    first = next(finding for finding in report.findings if finding.kind not in WARNINGS)
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
    that the kernel may write through (None: any); `names` of its shared memory; `patterns` learnt in earlier launches;
    `named_lanes`, by instruction the constant mask of a function of the warp; `unset` and `folded`: see
    UndefinedValues. Unless it `goes_on`, FoundEnough is
    raised some time after the first finding: threads that wait for each other may go round their loops for seconds.
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
        named_lanes: Mapping[int, int] | None = None,
        goes_on: bool = True,
        unset: Collection[int] = (),
        folded: Collection[int] = (),
    ) -> None:
        self._goes_on, self._since = goes_on, 0
        self._named = _by_block(program, named_lanes or {})
        self.program = program
        self.threads = product(block)
        self.findings = Findings(program, grid, block, names)
        self.memory = memory
        self.written = written
        self.notes: list[str] = []
        self.counts = {"shared": 0, "global": 0, "local": 0, "barriers": 0, "copies": 0}
        self.shared = SharedChecks(self.findings.shared_hazard, names, patterns, uses_of(program))
        self.clock = Clock(product(grid), self.threads)
        self._aggregated = Aggregated(program)
        self._mask: np.ndarray | None = None
        self._lanes = 0
        self._missed = MissedLanes(self.findings.not_come)
        self._undefined = UndefinedValues(program, self.findings.undefined_value, unset, folded)
        copies_in_bulk = any(map(_copies_in_bulk, program.opcodes))
        self._bulk = BulkWatch(self.findings.shared_hazard) if copies_in_bulk else None
        report = self.findings.shared_hazard
        self._uninvolved = UninvolvedWarps(report, self.clock.tick) if program.orders_some_warps else None
        clusters = product(program.cluster or ()) > 1
        if clusters and any(map(_arrives_elsewhere, program.opcodes)):
            clusters = False
            self.notes.append(
                f"{program.name} has barriers in shared memory at which other blocks of the cluster arrive: what these "
                "do to each other was not checked."
            )
        self._clusters = ClusterChecks(self.findings.cluster_hazard, self.shared.is_written) if clusters else None
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
                report = self.findings.global_hazard
                allocation.watch = GlobalWatch(allocation, unwritten, written, self.clock, report, self._uninvolved)

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
            self.program.name, tuple(self.findings.by_key.values()), counts["shared"], counts["global"],
            counts["local"], counts["barriers"], counts["copies"], tuple(notes),
        )  # fmt: skip

    # ---- what the engine reports
    def handlers(self) -> Handlers:
        return {
            WaveBegins: self.begin, WaveEnds: self.end, Executed: self.executed, Guarded: self.guarded,
            Chosen: self.chosen, BarrierPassed: self.barrier, WarpBarrierReached: self.warp_barrier, Fence: self.fence,
            NamedBarrierReached: self.named_barrier,
            LanesNamed: self.lanes_named, LanesMissed: self.lanes_missed, LanesTaken: self.lanes_taken,
            ClusterBarrierPassed: self.cluster_barrier,
            Access: self.access, AsyncCopy: self.copy_async, CopyGroup: self.copy_group, BulkCopy: self.copy_in_bulk,
            WarpsApart: self.warps_apart, BulkGroup: self.bulk_group, Arrived: self.arrived,
            PhaseEnded: self.phase_ended, PhaseFound: self.phase_found,
        }  # fmt: skip

    def begin(self, event: WaveBegins) -> None:
        self._mask = None
        self._missed.begin()
        self._undefined.begin(event.wave)
        event.wave.follower = self._undefined
        self._aggregated.begin()
        if self._uninvolved is not None:
            self._uninvolved.begin(event.wave)
        self.shared.begin(event.wave)
        if self._bulk is not None:
            self._bulk.begin(event.wave)
        if self._clusters is not None:
            self._clusters.begin(event.wave)
        self.clock.begin(event.wave)

    def end(self, event: WaveEnds) -> None:
        self._missed.end(event.wave)
        if self._clusters is not None:
            self._clusters.end(event.wave)
        self.shared.end(event.wave)

    def executed(self, event: Executed) -> None:
        if not self._goes_on and any(finding.kind not in WARNINGS for finding in self.findings.by_key.values()):
            self._since += 1
            if self._since > ENOUGH:
                self.notes.append(f"{self.program.name} was not executed to its end.")
                raise FoundEnough
        self.shared.executed(event.block, event.wave.mask)
        self._missed.executed(event.wave, event.block, event.wave.mask)
        self._undefined.executed(event.block, event.wave.mask)
        self._aggregated.executed(event.wave, event.block, event.wave.mask)
        for instruction, named in self._named.get(event.block, ()):
            self._named_by(event.wave, event.wave.mask, np.uint32(named), instruction)

    def guarded(self, event: Guarded) -> None:
        self.shared.guarded(event.instruction.index, event.some, event.mask)

    def chosen(self, event: Chosen) -> None:
        self.shared.chosen(event.instruction, event.registers)

    def barrier(self, event: BarrierPassed) -> None:
        wave, blocks = event.wave, event.blocks
        self.counts["barriers"] += wave.shape[0] if blocks is None else int(blocks.sum())
        self.shared.barrier(wave, blocks)
        self.clock.barrier(blocks)
        if self._bulk is not None and not event.is_phase:
            self._bulk.meet(blocks, event.threads)
        if self._uninvolved is None or (event.is_phase and self.program.finds_phases):
            return
        if event.threads is None:
            self._uninvolved.barrier(blocks)
        else:
            self._uninvolved.passed(event.number, event.threads)
            self._uninvolved.forget(event.number, blocks)

    def warps_apart(self, event: WarpsApart) -> None:
        """Warps pass one barrier at different places."""
        self.findings.warps_apart(event.wave.block_index(event.block), event.threads)

    def cluster_barrier(self, event: ClusterBarrierPassed) -> None:
        """Clusters have arrived as a whole: for a block it is a barrier, and what they did before is known to all."""
        threads = event.blocks[:, None] & event.wave.alive()
        self.clock.fence(event.wave, threads)
        self.barrier(BarrierPassed(event.wave, event.blocks))
        cluster = event.wave.block_ids[:, None] // event.wave.launch.blocks_of_cluster
        for _ in range(2):  # all have released before one acquires
            self.clock.atomic(event.wave, threads, "atom", cluster * 4, 4)
        self.clock.barrier(event.blocks)
        if self._clusters is not None:
            self._clusters.barrier(event)

    def named_barrier(self, event: NamedBarrierReached) -> None:
        """Threads come to a barrier of a part of the block."""
        if self._uninvolved is not None:
            self._uninvolved.reached(event.number, event.threads)

    def warp_barrier(self, event: WarpBarrierReached) -> None:
        self.shared.warp_barrier(event.mask)
        if self._bulk is not None:
            self._bulk.meet_in_warps(event.mask)
        if event.named is not None:
            named = np.asarray(event.named).view(np.uint32)
            self._named_by(event.wave, event.mask, named, event.instruction)
            if self.program.level == "ptx":
                self._missed.called(event.wave, event.instruction, event.mask, named)
        self.clock.warp_barrier(event.wave, event.mask)

    def _named_by(self, wave, mask: np.ndarray | None, named: np.ndarray, instruction: int) -> None:
        """The threads of `mask` come to an instruction that names lanes by these bits: they must be among them."""
        if np.all(named == np.uint32(0xFFFFFFFF)):
            return
        lanes = np.arange(wave.threads, dtype=np.uint32)[None, :] % np.uint32(WARP)
        outside = (named >> lanes & np.uint32(1) == 0) & (wave.alive() if mask is None else mask)
        if outside.any():
            row, thread = (int(i) for i in np.argwhere(np.broadcast_to(outside, wave.shape))[0])
            bits = int(np.broadcast_to(named, wave.shape)[row, thread])
            write = partial(self.findings.messages.not_named, mask=bits)
            self.findings.warp_mask(wave, instruction, row, thread, write)

    def take_from(self, at_ptx: "Checker", votes_are_whole: bool) -> None:
        """Of what a watch at PTX level found, what shows there alone: variables that are never set, and masks that do
        not name the calling lanes, or those that they read from. Such a mask may be one of a vote, which is whole
        unless lanes vote in different branches."""
        shown, findings = {NEVER_SET}, at_ptx.findings.by_key
        if votes_are_whole:
            shown |= {Messages.not_named, Messages.unnamed_lane}
        self.findings.by_key |= {key: finding for key, finding in findings.items() if not shown.isdisjoint(key)}

    def lanes_named(self, event: LanesNamed) -> None:
        """At PTX level threads call a function of their warp."""
        named, instruction = np.asarray(event.named).view(np.uint32), event.wave.instruction.index
        self._named_by(event.wave, event.mask, named, instruction)
        self._missed.called(event.wave, instruction, event.mask, named)

    def lanes_taken(self, event: LanesTaken) -> None:
        """Threads take values of other lanes by a shuffle."""
        self._missed.taken(event.wave, event.wave.instruction.index, event.mask, event.lanes)
        self._undefined.lanes_taken(event)

    def lanes_missed(self, event: LanesMissed) -> None:
        """Threads have ended that others wait for."""
        row, thread = (int(i) for i in np.argwhere(event.waiting)[0])
        warp = slice(thread // WARP * WARP, (thread // WARP + 1) * WARP)
        absent = int(np.flatnonzero(event.absent[row, warp])[0]) + warp.start
        waits_at = self.program.blocks[int(event.wave.pcs[row, thread])].start - 1
        self.findings.not_come(event.wave, waits_at, row, thread, absent)

    def fence(self, event: Fence) -> None:
        everyone = self._aggregated.all_of(event.wave, event.mask)
        self.clock.fence(event.wave, everyone, event.scope)
        self.shared.fence(everyone)

    def access(self, event: Access) -> None:
        if event.made_for is not None:
            event = replace(event, mask=first_of_warps(event.made_for, event.wave.shape))
        wave, mask = event.wave, event.mask
        self.counts["shared" if event.space == "cluster" else event.space] += self._active(wave, mask)
        if self._undefined.follows:
            self._undefined.access(event)
        if self._clusters is not None and event.space in ("shared", "cluster"):
            self._clusters.access(event)
        if event.space == "cluster":
            self._from_outside(event)
        elif event.space == "shared":
            mask = self._inside(event, wave.shared)
            strong = self.shared.access(wave, event.op, event.width, event.addresses, mask, event.values)
            if self._bulk is not None:
                self._bulk.access(wave, event.op, event.addresses, mask)
            if self._uninvolved is not None and not strong:
                self._uninvolved.access(wave, event.op, event.width, event.addresses, mask)
            if strong:
                self._post(wave, mask)
                everyone = self._aggregated.all_of(wave, mask)
                self.clock.atomic_in_block(wave, everyone, event.op)
                if everyone is not mask:
                    self.shared.meet(everyone, event.op)
        elif event.space == "local":
            self._local(event)
        elif event.space == "global":
            if event.op in ("atom", "red") or wave.instruction.strong:
                self._post(wave, mask)
            if event.op in ("atom", "red"):
                self._atomic(event)
            elif wave.instruction.strong:
                self._exchange(event, mask)

    def _post(self, wave, mask) -> None:
        """The threads of `mask` make a strong access, unless it is at an mbarrier."""
        if self._uninvolved is not None and self.clock.fenced and not at_mbarrier(wave.instruction.opcode):
            self._uninvolved.post(np.broadcast_to(True if mask is None else mask, wave.shape))

    def _from_outside(self, event: Access) -> None:
        """An access to the shared memory of another block of the cluster."""
        if event.op not in ("st", "atom", "red"):
            return
        wave = event.wave
        lanes = np.broadcast_to(True if event.mask is None else event.mask, wave.shape)
        addresses = np.broadcast_to(event.addresses, wave.shape)[lanes]
        size = wave.launch.blocks_of_cluster
        rows = np.nonzero(lanes)[0] // size * size + (addresses >> RANK_SHIFT)
        self.shared.write_from_outside(rows, addresses & (1 << RANK_SHIFT) - 1, event.width)

    def _inside(self, event: Access, memory: SharedMemory | LocalMemory) -> np.ndarray | None:
        """The lanes of an access but those of a wide load that reads beyond its array. Of what these load, the
        registers that lie beyond must not be used; nothing more is asked of them."""
        wave, index = event.wave, event.wave.instruction.index
        if event.op != "ld" or event.width <= 4 or index not in self.shared.doubtful:
            return event.mask
        start, stop = memory.limits(wave)
        active = np.broadcast_to(True if event.mask is None else event.mask, wave.shape)
        addresses = np.broadcast_to(event.addresses, wave.shape)
        beyond = active & ((addresses < start) | (addresses + event.width > stop))
        if not beyond.any():
            return event.mask
        registers = event.width // 4
        for part in range(registers):
            first = addresses + 4 * part
            wrong = beyond & ((first < start) | (first >= stop))
            if wrong.any():
                row, thread = (int(i) for i in np.argwhere(wrong)[0])
                try:
                    out_of_bounds(wave, memory, "read", 4, int(first[row, thread]), row, thread)
                except OutOfBounds as error:
                    what = (error.with_traceback(None), 1)  # without this frame, which holds the launch
                    self.shared.once_used(what, index, wrong, Fraction(part, registers))
        return active & ~beyond

    def _local(self, event: Access) -> None:
        wave, local = event.wave, event.wave.local
        if event.op != "ld":
            width = REFILLED_BYTES if wave.instruction.opcode.startswith(SPILLS_HALF) else event.width
            local.note_written(event.addresses, event.mask, width)
            self.shared.stored_locally(wave.instruction.index)
            return
        mask = self._inside(event, local)
        if not local.never_written(event.addresses, mask, event.width).any():
            return
        registers = max(1, event.width // 4)
        each = event.width // registers
        for part in range(registers):  # each register of a wide load's may be used or not
            missing = local.never_written(event.addresses + part * each, mask, each)
            if missing.any():
                row, thread = (int(i) for i in np.argwhere(missing)[0])
                byte = int(np.broadcast_to(event.addresses, wave.shape)[row, thread]) + part * each
                hazard = LocalHazard(wave.instruction.index, row, thread, byte)
                self.shared.once_used((hazard, 1), wave.instruction.index, missing, Fraction(part, registers))

    def copy_async(self, event: AsyncCopy) -> None:
        if self._undefined.follows:
            self._undefined.address(event.wave, event.mask)
        active = self._active(event.wave, event.mask)
        self.counts["copies"] += active
        self.counts["shared"] += active
        self.counts["global"] += self._active(event.wave, event.read)
        self.shared.copy(event.wave, event.size, event.to, event.mask)
        if self._uninvolved is not None:
            self._uninvolved.access(event.wave, "st", event.size, event.to, event.mask)

    def copy_in_bulk(self, event: BulkCopy) -> None:
        """A copy in bulk between shared and global memory, or to another block."""
        wave = event.wave
        self.counts["copies"] += 1
        if event.allocation is not None:
            op = {"fetch": "ld", "put": "st", "reduce": "red"}[event.kind]
            if event.allocation.watch is not None and event.size:
                destination = event.shared
                there = wave.shared.contents[destination.row, destination.byte : destination.byte + event.size]
                written = there.copy() if event.kind == "put" else ()
                event.allocation.watch.copy_in_bulk(wave, op, event.thread, event.first, event.size, written)
        if event.kind in ("put", "reduce"):
            self._bulk.put(event)
            return
        self._bulk.fetch(event)
        if self._uninvolved is not None:  # testing a phase acquires
            (row, thread), barrier = event.thread, event.barrier
            is_far = row != barrier.row
            self._uninvolved.arrive(barrier.row, barrier.byte, np.full(1 - is_far, thread), is_far, 0)
        places = np.arange(event.shared.byte, event.shared.byte + event.size, BULK_UNIT)
        self.shared.write_from_outside(np.full(len(places), event.shared.row), places, BULK_UNIT)

    def bulk_group(self, event: BulkGroup) -> None:
        """Copies to global memory are grouped or waited for."""
        if self._bulk is not None:
            self._bulk.group(event)

    def arrived(self, event: Arrived) -> None:
        """Threads arrive at mbarriers."""
        for row, byte, threads, is_far, ended in self._at_barriers(event):
            if self._bulk is not None:
                self._bulk.arrive(row, byte, threads, ended)
            if self._uninvolved is not None:
                self._uninvolved.arrive(row, byte, threads, is_far, ended)

    def phase_ended(self, event: PhaseEnded) -> None:
        """A phase ends when bytes have come."""
        no_threads = np.zeros(0, int)
        if self._bulk is not None:
            self._bulk.arrive(event.barrier.row, event.barrier.byte, no_threads, 1)
        if self._uninvolved is not None:
            self._uninvolved.arrive(event.barrier.row, event.barrier.byte, no_threads, False, 1)

    def phase_found(self, event: PhaseFound) -> None:
        """Threads find that a phase has ended."""
        for row, byte, threads, *_ in self._at_barriers(event):
            if self._bulk is not None:
                self._bulk.found_ended(row, byte, threads)
            if self._uninvolved is not None:
                self._uninvolved.found_ended(row, byte, threads)

    def _at_barriers(self, event: Arrived | PhaseFound) -> Iterator[tuple[int, int, np.ndarray, bool, int]]:
        """(block, byte, the threads of that block that arrive, whether others do, how many phases end), by
        mbarrier."""
        if self._bulk is None and self._uninvolved is None:
            return
        wave = event.wave
        lanes = np.broadcast_to(True if event.mask is None else event.mask, wave.shape)
        ended = np.broadcast_to(getattr(event, "ended", False), wave.shape)[lanes]
        rows, threads = np.nonzero(lanes)
        addresses = np.broadcast_to(event.addresses, wave.shape)[lanes]
        own, size = rows, wave.launch.blocks_of_cluster
        if event.space == "cluster":
            rows, addresses = rows // size * size + (addresses >> RANK_SHIFT), addresses & (1 << RANK_SHIFT) - 1
        for key in np.unique(rows << RANK_SHIFT | addresses).tolist():
            row, byte = key >> RANK_SHIFT, key & (1 << RANK_SHIFT) - 1
            there = (rows == row) & (addresses == byte)
            is_far = bool((there & (own != row)).any())
            yield row, byte, threads[there & (own == row)], is_far, int(ended[there].sum())

    def copy_group(self, event: CopyGroup) -> None:
        self.shared.group(event.what, event.pending, event.mask)

    def _active(self, wave, mask) -> int:
        """Number of active threads."""
        if mask is None:
            return wave.shape[0] * wave.shape[1]
        if mask is not self._mask:
            self._mask = mask
            self._lanes = int(np.count_nonzero(mask)) * (wave.shape[0] * wave.shape[1] // mask.size)
        return self._lanes

    def _atomic(self, event: Access) -> None:
        wave, addresses, mask = event.wave, event.addresses, event.mask
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        places = np.broadcast_to(addresses, wave.shape)
        for allocation, there in self.memory.by_allocation(wave, places, lanes, event.width, "updated"):
            if allocation.watch is not None:
                allocation.watch.access(wave, event.op, places - allocation.base, there, event.width)
        self._exchange(event, self._aggregated.all_of(wave, mask))

    def _exchange(self, event: Access, everyone) -> None:
        """A strong access to global memory, for `everyone`: release and acquire."""
        if event.wave.instruction.block_scope:
            self.clock.atomic_in_block(event.wave, everyone, event.op)
        else:
            self.clock.atomic(event.wave, event.mask, event.op, event.addresses, event.width, everyone)
        self.shared.meet(everyone, event.op)


def _copies_in_bulk(opcode: str) -> bool:
    parts = opcode.split(".")
    return parts[0] in ("UBLKCP", "UBLKRED") or (parts[0] == "cp" and "bulk" in parts)


def _arrives_elsewhere(opcode: str) -> bool:
    """Whether an instruction may arrive at an mbarrier of another block of the cluster."""
    parts = opcode.split(".")
    return (parts[0] == "SYNCS" and "RED" in parts) or (parts[0] == "mbarrier" and "shared::cluster" in parts)


def _by_block(program: Program, named: Mapping[int, int]) -> dict[int, list[tuple[int, int]]]:
    """By basic block its (instruction, mask)."""
    by_block: dict[int, list[tuple[int, int]]] = {}
    for block in program.blocks if named else ():
        if inside := [(index, named[index]) for index in range(block.start, block.stop) if index in named]:
            by_block[block.index] = inside
    return by_block
