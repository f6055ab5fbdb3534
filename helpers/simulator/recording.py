"""What a launch did, recorded: instruction counts, requests, sectors, tags, wavefronts, and the addresses themselves.

Counting looks at every request of every block. Patterns repeat, so that most of the work is finding out that a block
does what another one did: its addresses relative to its first one, and that one's place in a 128-byte line.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from helpers.simulator import counters, counting
from helpers.simulator.checks import Report, combined
from helpers.simulator.errors import SimulatorError
from helpers.simulator.ir import Program
from helpers.simulator.observers import Observer

WARP = 32
MATRIX_LOADS = ("LDSM", "ldmatrix")  # counted apart from other loads
COPIES = ("LDGSTS", "cp.async")  # asynchronous copies: global loads and, of their own kind, shared stores
COPY = "copy"
REQUEST = np.dtype(
    [
        ("step", np.int64),
        ("line", np.int32),
        ("instruction", np.int32),
        ("space", "U6"),
        ("op", "U4"),
        ("array", "U32"),
        ("width", np.int32),
        ("address", np.int64, WARP),
        ("offset", np.int64, WARP),
        ("active", np.bool_, WARP),
        ("sectors", np.int32),
        ("tags", np.int32),
        ("wavefronts", np.int32),
    ]
)


@dataclass(slots=True)
class Counts:
    """Sums over requests. `lanes` counts active threads; `useful_bytes` the distinct bytes that each request asks for.

    Sectors and tags (distinct 128-byte lines) are global and local memory's, wavefronts are shared memory's;
    `ideal_wavefronts` is the smallest number for the width and the active lanes. `uncertain` counts requests whose
    wavefronts the hardware may count otherwise (`counting.is_certain`).
    """

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    tags: int = 0
    useful_bytes: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    uncertain: int = 0

    def add(self, other: "Counts", times: int = 1) -> None:
        """Add `times` × other."""
        self.requests += times * other.requests
        self.lanes += times * other.lanes
        self.sectors += times * other.sectors
        self.tags += times * other.tags
        self.useful_bytes += times * other.useful_bytes
        self.wavefronts += times * other.wavefronts
        self.ideal_wavefronts += times * other.ideal_wavefronts


@dataclass(frozen=True, slots=True)
class LineCounts:
    """One source line of a kernel: how many warp instructions it became and what its accesses cost."""

    line: int
    text: str
    instructions: int
    accesses: dict[tuple[str, str], Counts]

    def total(self, quantity: str, space: str | None = None, op: str | None = None) -> int:
        """The sum of a quantity of `Counts` over the line's accesses, of one space ("global") or op ("ld") if given."""
        return sum(
            getattr(counts, quantity)
            for (where, what), counts in self.accesses.items()
            if space in (None, where) and op in (None, what)
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """One instruction's accesses by one traced block."""

    step: int
    block: tuple[int, int, int]
    instruction: int
    space: str
    op: str
    array: str
    base: int
    width: int
    addresses: np.ndarray
    active: np.ndarray | None


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The geometry and the resources of one recorded launch."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    registers: int
    executed_blocks: int


class LaunchRecorder(Observer):
    """Collects one launch; the engine calls it for every basic block and every access."""

    def __init__(self, program: Program, facts: LaunchFacts, traced: frozenset[int] | None) -> None:
        self.program = program
        self.facts = facts
        self.traced = traced
        self.block_warps = np.zeros(len(program.blocks), np.int64)
        self.block_lanes = np.zeros(len(program.blocks), np.int64)
        self.guarded_lanes: dict[int, int] = {}  # instruction with a guard → threads whose guard was true
        self.counts: dict[tuple[int, str, str, str], Counts] = {}
        self.traces: list[Trace] = []
        self._step = 0
        self._traced_rows: list[tuple[int, tuple[int, int, int]]] = []
        self._mask: np.ndarray | None = None
        self._mask_counts = (0, 0)

    # ---- called by the engine
    def begin_wave(self, wave) -> None:
        """A new group of blocks starts."""
        self._mask = None
        self._traced_rows = [
            (row, wave.block_index(row))
            for row, block in enumerate(wave.block_ids.tolist())
            if self.traced is None or block in self.traced
        ]

    def executed(self, wave, block: int) -> None:
        """A basic block is executed by the wave's active threads."""
        if wave.mask is None:
            warps, lanes = wave.shape[0] * wave.warps, wave.shape[0] * wave.threads
        else:
            if wave.mask is not self._mask:
                self._mask, self._mask_counts = wave.mask, (wave.warps_of(wave.mask), int(wave.mask.sum()))
            warps, lanes = self._mask_counts
        self.block_warps[block] += warps
        self.block_lanes[block] += lanes

    def guarded(self, wave, instruction, some: bool, mask) -> None:
        """A guarded instruction: only the threads whose guard is true execute it."""
        if some:
            lanes = wave.shape[0] * wave.threads if mask is None else int(np.broadcast_to(mask, wave.shape).sum())
            self.guarded_lanes[instruction.index] = self.guarded_lanes.get(instruction.index, 0) + lanes

    def copy_async(self, wave, size: int, to, origin, mask, read) -> None:
        """An asynchronous copy: a global load of `size` bytes a lane, and a write to shared memory of its own kind:
        Nsight Compute does not count it among the shared stores."""
        if read is None or read.any():
            self.access(wave, "global", "ld", size, origin, read, asynchronous=True)
        self.access(wave, "shared", COPY, size, to, mask)

    def access(
        self, wave, space: str, op: str, width: int, addresses, mask, values: tuple = (), asynchronous: bool = False
    ) -> None:
        """One memory instruction of the active threads: byte addresses in their space. asynchronous: it is cp.async."""
        self._step += 1
        index = wave.instruction.index
        if op == "ld" and wave.instruction.opcode.startswith(MATRIX_LOADS):
            op = "ldsm"
        array, base = "", 0
        if space == "global":
            first = addresses if mask is None else _first_active(addresses, mask)
            allocation = wave.global_memory.find(int(np.ravel(first)[0]))
            array, base = allocation.name, allocation.base
        elif space == "local":
            # Interleaved by words, so that a warp's same word lies in one 128-byte line.
            lane = np.arange(wave.threads, dtype=np.int64)[None, :]
            addresses = (addresses >> 2) * (4 * wave.warps * WARP) + lane * 4 + (addresses & 3)
        counts = self.counts.get((index, space, op, array))
        if counts is None:
            counts = self.counts[index, space, op, array] = Counts()
        kind = (space, COPY if asynchronous else op, min(width, 4) if space == "local" else width)
        self._count(wave, counts, kind, np.asarray(addresses), mask)
        for word in range(1, width // 4 if space == "local" else 0):
            further = Counts()
            self._count(wave, further, kind, addresses + word * (4 * wave.warps * WARP), mask)
            further.requests = further.lanes = 0
            counts.add(further)
        for row, block in self._traced_rows:
            self.traces.append(
                Trace(
                    self._step, block, index, space, op, array, base, width,
                    _row(addresses, row, wave.threads), None if mask is None else _row(mask, row, wave.threads),
                )
            )  # fmt: skip

    # ---- counting
    def _count(self, wave, counts: Counts, kind: tuple[str, str, int], addresses, mask) -> None:
        """`kind` is the access's space, op and width."""
        blocks, threads = wave.shape
        if addresses.shape[:1] in ((), (1,)) and (mask is None or mask.shape[:1] in ((), (1,))):
            row = np.broadcast_to(addresses, (1, threads))[0]
            active = None if mask is None else np.broadcast_to(mask, (1, threads))[0]
            counts.add(_pattern(kind, row, active), blocks)
            return
        full = addresses if addresses.shape == wave.shape else np.broadcast_to(addresses, wave.shape)
        relative = full - full[:, :1]
        if not (relative == relative[0]).all():
            lanes = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
            counts.add(_count_requests(kind, full, lanes))
            return
        place = (full[:, 0] & 127).tolist()
        if mask is None:
            kinds = {offset: (place.count(offset), None) for offset in set(place)}
        else:
            lanes = np.broadcast_to(mask, wave.shape)
            masks = [row.tobytes() for row in np.packbits(lanes, axis=1)]
            alike: dict[tuple, list[int]] = {}
            for row, key in enumerate(zip(place, masks, strict=True)):
                alike.setdefault(key, []).append(row)
            kinds = {key: (len(rows), lanes[rows[0]]) for key, rows in alike.items()}
        for key, (times, active) in kinds.items():
            offset = key if mask is None else key[0]
            counts.add(_pattern(kind, relative[0] + offset, active), times)


def _pattern(kind: tuple[str, str, int], row: np.ndarray, active: np.ndarray | None) -> Counts:
    """The counts of one block's addresses (T,), which depend only on their place relative to a 128-byte line."""
    if active is not None:
        row = np.where(active, row, row[active.argmax()])  # where the others point does not matter
    row = row - (int(row.min()) & ~127)
    return _pattern_counts(kind, row.tobytes(), None if active is None else active.tobytes())


@lru_cache(maxsize=2048)
def _pattern_counts(kind: tuple[str, str, int], row: bytes, active: bytes | None) -> Counts:
    """The same from the bytes of the arrays; loops and launches repeat themselves. The result is shared: read only."""
    addresses = np.frombuffer(row, np.int64)
    lanes = np.ones(len(addresses), bool) if active is None else np.frombuffer(active, bool)
    return _count_requests(kind, addresses[None, :], lanes[None, :])


def _row(values, row: int, threads: int) -> np.ndarray:
    values = np.asarray(values)
    return np.broadcast_to(
        values[row if values.ndim == 2 and values.shape[0] > 1 else 0] if values.ndim == 2 else values, threads
    ).copy()


def _first_active(addresses, mask):
    shape = np.broadcast_shapes(np.shape(addresses), np.shape(mask))
    position = np.unravel_index(int(np.argmax(np.broadcast_to(mask, shape))), shape)
    return np.broadcast_to(addresses, shape)[position]


def _as_warps(values: np.ndarray) -> np.ndarray:
    """(B, T) → (B · warps, 32), the last warp filled up with zeros."""
    padding = -values.shape[1] % WARP
    if padding:
        values = np.pad(values, ((0, 0), (0, padding)))
    return values.reshape(-1, WARP)


def _count_requests(kind: tuple[str, str, int], addresses: np.ndarray, lanes: np.ndarray) -> Counts:
    """The counts of blocks × threads addresses, warp by warp."""
    space, op, width = kind
    addresses, lanes = _as_warps(addresses), _as_warps(lanes)
    some = lanes.any(axis=1)
    addresses, lanes = addresses[some], lanes[some]
    counts = Counts(requests=len(lanes), lanes=int(lanes.sum()))
    if space == "shared":
        counts.wavefronts = int(counting.wavefronts(addresses, lanes, width, stores=op != "ld").sum())
        counts.uncertain = 0 if op != "ld" else len(lanes) - int(counting.is_certain(addresses, lanes, width).sum())
        counts.ideal_wavefronts = int(counting.ideal_wavefronts(lanes, width).sum())
    else:
        counts.sectors = int(counting.sectors(addresses, lanes, width).sum())
        counts.tags = int(counting.tags(addresses, lanes, width, op == COPY).sum())
        counts.useful_bytes = int(counting.useful_bytes(addresses, lanes, width).sum())
    return counts


@dataclass(slots=True)
class Recording:
    """Everything that was launched inside `simulator.record(…)`.

    `level` says what was executed: "ptx" counts the compiler's intermediate language, "sass" what the hardware runs.
    """

    level: str
    launches: list[LaunchRecorder] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    @property
    def checks(self) -> Report:
        """What the sanitizer looked at and found in the launches, as one report; str() says it in words."""
        if not self.reports:
            raise SimulatorError("The sanitizer was off, or nothing was launched, inside `with simulator.record(...)`.")
        return combined(self.reports)

    def _launches(self) -> list[LaunchRecorder]:
        if not self.launches:
            raise SimulatorError("Nothing was recorded: no kernel was launched inside `with simulator.record(...)`.")
        return self.launches

    def total(self, quantity: str, space: str | None = None, op: str | None = None, array: str | None = None) -> int:
        """The sum of a quantity of `Counts` ("requests", "sectors", "tags", "wavefronts", …) over all accesses, or over
        those of a space ("global"), an op ("ld", "st", "atom", "red", "copy") and an array (a parameter's name)."""
        return sum(
            getattr(counts, quantity)
            for launch in self._launches()
            for (_, where, what, name), counts in launch.counts.items()
            if space in (None, where) and op in (None, what) and array in (None, name)
        )

    def instructions(self, opcode: str | None = None, threads: bool = False) -> int:
        """Warp (or thread) instructions executed, all or those whose opcode starts with `opcode`."""
        total = 0
        for launch in self._launches():
            executed = launch.block_lanes if threads else launch.block_warps
            for block in launch.program.blocks:
                instructions = launch.program.instructions[block.start : block.stop]
                matching = sum(opcode is None or i.opcode.startswith(opcode) for i in instructions)
                total += matching * int(executed[block.index])
        return total

    @property
    def counters(self) -> dict[str, int]:
        """The launches' counters under Nsight Compute's names, summed; `launch__…` are the last launch's.

        At SASS level they are the hardware's own (`helpers.simulator.counters`); at PTX level a few of them, counted on
        what the compiler's first half made.
        """
        launches = self._launches()
        if self.level == "sass":
            return counters.of_sass(launches)
        last = launches[-1].facts
        found = {"smsp__inst_executed.sum": self.instructions()}
        found["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = self.instructions("fma.rn", threads=True)
        for op in ("ld", "st"):
            for quantity in ("requests", "sectors"):
                found[f"l1tex__t_{quantity}_pipe_lsu_mem_global_op_{op}.sum"] = self.total(quantity, "global", op)
            found[f"smsp__sass_inst_executed_op_shared_{op}.sum"] = self.total("requests", "shared", op)
            name = f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
            found[name] = self.total("wavefronts", "shared", op)
        found["launch__registers_per_thread"] = last.registers
        found["launch__block_size"] = int(np.prod(last.block))
        found["launch__grid_size"] = int(np.prod(last.grid))
        return found

    def by_line(self) -> list[LineCounts]:
        """The source lines that became instructions, in order, with their counts."""
        instructions: dict[int, int] = {}
        accesses: dict[int, dict[tuple[str, str], Counts]] = {}
        text: dict[int, str] = {}
        for launch in self._launches():
            program = launch.program
            for block in program.blocks:
                for instruction in program.instructions[block.start : block.stop]:
                    line = instruction.line
                    instructions[line] = instructions.get(line, 0) + int(launch.block_warps[block.index])
                    if 1 <= line <= len(program.source_lines):
                        text[line] = program.source_lines[line - 1]
            for (index, space, op, _), counts in launch.counts.items():
                kinds = accesses.setdefault(program.instructions[index].line, {})
                kinds.setdefault((space, op), Counts()).add(counts)
        return [
            LineCounts(line, text.get(line, ""), instructions[line], accesses.get(line, {}))
            for line in sorted(instructions)
        ]

    def requests(
        self,
        space: str | None = None,
        op: str | None = None,
        block: Iterable[int] = (0, 0, 0),
        warp: int | None = 0,
        line: int | None = None,
        array: str | None = None,
        launch: int = -1,
    ) -> np.ndarray:
        """The warp-level requests of one block in the order in which they were made, dtype `REQUEST`.

        Fields: `address` (32,) byte addresses in their space, `offset` (32,) bytes from the start of `array`, `active`
        (32,), `width` bytes a lane, `sectors`, `tags`, `wavefronts` (0 where they do not apply), `line`, `op`, `step`.

        Args: `warp` None means all warps; `space`, `op`, `line` and `array` select. The block must have been traced:
        SimulatorError says so otherwise.
        """
        recorder = self._launches()[launch]
        wanted = (*block, 0, 0)[:3] if not isinstance(block, int) else (block, 0, 0)
        grid = recorder.facts.grid
        number = wanted[0] + grid[0] * (wanted[1] + grid[1] * wanted[2])
        if recorder.traced is not None and number not in recorder.traced:
            raise SimulatorError(
                f"The addresses of block {wanted} were not kept. Name it when recording: "
                f"simulator.record(blocks=[{wanted}])."
            )
        rows = []
        for trace in recorder.traces:
            source_line = recorder.program.instructions[trace.instruction].line
            if (
                trace.block != wanted
                or space not in (None, trace.space)
                or op not in (None, trace.op)
                or line not in (None, source_line)
                or array not in (None, trace.array)
            ):
                continue
            addresses = _as_warps(trace.addresses[None, :])
            active = np.ones(len(trace.addresses), bool) if trace.active is None else trace.active
            lanes = _as_warps(active[None, :])
            chosen = range(len(addresses)) if warp is None else [warp]
            for number in chosen:
                if number >= len(addresses) or not lanes[number].any():
                    continue
                one, on = addresses[number : number + 1], lanes[number : number + 1]
                copied = recorder.program.instructions[trace.instruction].opcode.startswith(COPIES)
                shared = trace.space == "shared"
                rows.append(
                    (
                        trace.step, source_line, trace.instruction, trace.space, trace.op, trace.array, trace.width,
                        one[0], one[0] - trace.base, on[0],
                        0 if shared else int(counting.sectors(one, on, trace.width)[0]),
                        0 if shared else int(counting.tags(one, on, trace.width, copied)[0]),
                        int(counting.wavefronts(one, on, trace.width, trace.op != "ld")[0]) if shared else 0,
                    )
                )  # fmt: skip
        return np.array(rows, REQUEST)
