"""The engine: all threads of many blocks in lockstep, one NumPy operation an instruction.

A launch is cut into *waves* of blocks, about 16 000 threads each (more falls out of the CPU's cache, fewer is mostly
Python overhead). In a wave a register is a scalar, a row (1, T) of values that depend only on the thread, a column
(B, 1) that depend only on the block, or a full (B, T) array; NumPy's broadcasting keeps values in the smallest form.

Threads that disagree on a branch are followed one group after the other, for whole basic blocks, with masks;
`schedule` says in which order.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np

from gpusim.devices import WARP, UnknownDevice, for_arch, limits_for, sms_for, unravel
from gpusim.engine import clusters
from gpusim.engine.circles import Circles
from gpusim.engine.clock import Clock
from gpusim.engine.convergence import ANYWHERE, WARPSYNC, Convergence
from gpusim.engine.heap import Heap
from gpusim.engine.ir import (
    COLLECTIVE,
    EXCLUSIVE,
    BasicBlock,
    Instruction,
    Kind,
    Program,
    Registers,
    uncollected,
)
from gpusim.engine.memory import RESERVED_AT, GlobalMemory, LocalMemory, SharedMemory, lane_name, product
from gpusim.engine.named_barriers import NamedBarriers
from gpusim.engine.observers import (
    BarrierPassed,
    Chosen,
    Executed,
    Guarded,
    LanesMissed,
    Observers,
    WarpBarrierReached,
    WarpsApart,
    WaveBegins,
    WaveEnds,
)
from gpusim.engine.phases import PhaseWaits
from gpusim.engine.printf import Output
from gpusim.engine.runs import gather, run_steps
from gpusim.engine.schedule import DONE, Turns, by_warps
from gpusim.errors import BY_ALL_THREADS, BarrierError, KernelError, StepLimitExceeded, coordinates
from gpusim.symbols.constant_arrays import NO_CONSTANTS, ConstantArrays
from gpusim.symbols.local_arrays import NO_ARRAYS, LocalArrays
from gpusim.symbols.shared_arrays import NO_NAMES, SharedNames
from gpusim.symbols.source_lines import line_of_access, proven_calls

LANES_PER_WAVE = 16384
MEETS_OTHERS = ("ATOM", "RED", "MEMBAR", "SYNCS", "NANOSLEEP", "YIELD")
FENCES = ("MEMBAR", "ERRBAR", "CGAERRBAR")
EXCHANGES = ("SHFL", "VOTE.", "MATCH", "REDUX")
OF_WHOLE_WARPS = ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "LDSM", "STSM", "MOVM")  # they have no mask
LOOKS_AFTER, LONGEST_CIRCLE = 512, 64  # basic blocks
CLOCKS = {
    name: np.dtype(type_)
    for name, type_ in (("clock", "i4"), ("clock64", "i8"), ("globaltimer", "i8"), ("globaltimer_lo", "i4"))
}
UPPER_CLOCKS = frozenset(("clock_hi", "globaltimer_hi"))
RESERVED = "reserved_smem_offset_1"
SPECIAL_REGISTERS = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + [f"{name}.{axis}" for name in ("cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid") for axis in "xyz"]
    + ["cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"]
    + ["laneid", "warpid", "nwarpid", "smid", "nsmid", "dynamic_smem_size", "envreg1", "envreg2", RESERVED]
    + [f"lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")]
    + [*CLOCKS, *UPPER_CLOCKS]
)
Step = Callable[["Wave", Registers], None]


class Wave:
    """The state of some blocks of a launch that run in lockstep: registers, masks, program counters, memories.

    `mask` holds the active threads, bool (B, T), or None while all threads are active. `block_ids` are linear.
    """

    def __init__(self, launch: "Launch", first: int, count: int) -> None:
        program = launch.program
        self.launch = launch
        self.program = program
        self.block_ids = launch.block_ids[first : first + count]
        self.threads = launch.threads
        self.warps = -(-launch.threads // WARP)
        self.shape = (count, launch.threads)
        self.registers = Registers(program.initial)
        self.mask: np.ndarray | None = None
        self.pcs: np.ndarray | None = None  # block index per thread, None while all living threads are together
        self.exited: np.ndarray | None = None
        self.waiting: np.ndarray | None = None
        self.named: NamedBarriers | None = None  # from the first barrier on that is none of __syncthreads()
        self.turns: Turns | None = None  # while threads are at different places
        self.groups: Convergence | None = None  # at SASS level, while a warp is diverged
        self.instruction: Instruction | None = None  # the memory instruction being executed
        self.looked, self.seen = 0, None  # see _goes_in_circles
        self.clock = Clock(self.shape) if launch.prepared.reads_clocks else None
        self.global_memory = launch.global_memory
        self.shared = SharedMemory(count, launch.shared_bytes)
        self.phases: PhaseWaits | None = None  # from the first wait for a phase of an mbarrier on
        self.cluster: clusters.ClusterBarrier | None = None  # from the first arrival at the barrier of a cluster on
        self.cluster_memory = clusters.ClusterMemory(self.shared, launch.blocks_of_cluster)
        self.local = (
            LocalMemory(self.shape, program.local_bytes, program.stack_reserve) if program.local_bytes else None
        )
        self.special = self._special_registers()
        self.observers = launch.observers
        self.follower = None  # an observer that may want to see single instructions: sanitizer.undefined_values
        self.parameters = launch.parameters
        self.call_parameters: dict = {}  # the arguments of a call of the system that is being made
        self.call_result: np.ndarray | np.generic = np.int32(0)  # and what the last one gave back
        self.constant_banks: dict[int, bytes] = {0: launch.parameters}
        for slot, address in launch.variables:
            self.registers[slot] = np.int64(address)
        if program.start is not None:
            program.start(self)

    def _special_registers(self) -> dict[str, np.ndarray | np.generic]:
        """threadIdx, blockIdx, … in the smallest shape that holds them."""
        block_dim, grid_dim = self.launch.block, self.launch.grid
        thread = np.arange(self.threads, dtype=np.int32)[None, :]
        block = self.block_ids[:, None]
        registers: dict = {"laneid": thread & 31, "warpid": thread >> 5}
        stride = 1
        for axis, size in zip("xyz", block_dim, strict=True):
            registers[f"ntid.{axis}"] = np.int32(size)
            registers[f"tid.{axis}"] = np.int32(0) if size == 1 else (thread // stride) % np.int32(size)
            stride *= size
        stride = 1
        for axis, size in zip("xyz", grid_dim, strict=True):
            registers[f"nctaid.{axis}"] = np.int32(size)
            registers[f"ctaid.{axis}"] = np.int32(0) if size == 1 else ((block // stride) % size).astype(np.int32)
            stride *= size
        for axis, size, blocks in zip("xyz", self.launch.cluster, grid_dim, strict=True):
            position = registers[f"ctaid.{axis}"]
            registers[f"cluster_nctaid.{axis}"], registers[f"nclusterid.{axis}"] = (
                np.int32(size),
                np.int32(blocks // size),
            )
            registers[f"cluster_ctaid.{axis}"], registers[f"clusterid.{axis}"] = position % size, position // size
        rank = clusters.ranks(grid_dim, self.launch.cluster, self.block_ids)[1]
        registers["cluster_ctarank"] = rank.astype(np.int32)[:, None] if rank.any() else np.int32(0)
        registers["cluster_nctarank"] = np.int32(self.launch.blocks_of_cluster)
        registers["is_explicit_cluster"] = np.bool_(self.program.cluster is not None)
        return registers

    def special_value(self, name: str):
        """The value of one of SPECIAL_REGISTERS.

        A block is on the SM that a GPU would give it to first, as long as all blocks fit there at once.
        """
        value = self.special.get(name)
        if value is None:
            lane = self.special["laneid"].astype(np.uint32)
            bit = np.uint32(1)
            value = self.special[name] = {
                "lanemask_eq": lambda: bit << lane,
                "lanemask_lt": lambda: (bit << lane) - bit,
                "lanemask_le": lambda: (bit << lane) | ((bit << lane) - bit),
                "lanemask_gt": lambda: ~((bit << lane) | ((bit << lane) - bit)),
                "lanemask_ge": lambda: ~((bit << lane) - bit),
                "nwarpid": lambda: np.int32(limits_for(self.program.arch).threads_per_sm // WARP),
                # Of machine code, which takes their second byte: the numbers of a warp, and of all that an SM holds.
                "virtid": lambda: self.special_value("warpid") << np.int32(8),
                "virtcfg": lambda: self.special_value("nwarpid") << np.int32(8),
                "smid": lambda: (self.block_ids[:, None] % sms_for(self.program.arch)).astype(np.int32),
                "nsmid": lambda: np.int32(sms_for(self.program.arch)),
                "envreg1": lambda: np.int32((self.launch.grid_barrier or 0) >> 32),
                "envreg2": lambda: np.uint32((self.launch.grid_barrier or 0) & 0xFFFFFFFF).view(np.int32),
                RESERVED: lambda: np.int32(RESERVED_AT),
                "dynamic_smem_size": lambda: np.int32(self.launch.shared_bytes - self.program.dynamic_shared_offset),
            }[name]()
        return value

    def time(self, name: str, mask: np.ndarray | None) -> np.ndarray:
        """By thread, what one of CLOCKS or UPPER_CLOCKS shows to those of `mask`."""
        index, of_all = self.instruction.index, name.startswith("globaltimer")
        if name in UPPER_CLOCKS:
            return (self.clock.shows(index, of_all) >> 32).astype(np.int32)
        return self.clock.read(self, index, mask, of_all).astype(CLOCKS[name])

    def leave(self) -> None:
        """It is over. Observers may have kept it: without them, and the launch that has them, no circle of references
        keeps all memory of the launch until Python's collector comes by."""
        self.observers = self.follower = self.launch = None

    # ---- where things are, for messages
    def block_index(self, block: int) -> tuple[int, int, int]:
        """(x, y, z) of the wave's `block`-th block."""
        return unravel(int(self.block_ids[block]), self.launch.grid)

    def thread_index(self, thread: int) -> tuple[int, int, int]:
        """(x, y, z) of a linear thread number."""
        return unravel(thread, self.launch.block)

    def where(self, address: int) -> str:
        """An address in words: which element of which array."""
        allocation = self.global_memory.find(address)
        if allocation is None or address >= allocation.end:
            return f"byte {address}"
        return f"byte {address - allocation.base} of {allocation.name}, {allocation.element(address)}"

    def fail(
        self, error: type[KernelError], what: str, advice: str, block: int, thread: int, *, array: str = ""
    ) -> None:
        """Raise `error` for the current instruction with its source line, block and thread. array: what it accesses,
        "" where that is not known."""
        lines = (self.instruction.line, *self.instruction.called_from) if self.instruction else (0,)
        if len(lines) == 1:
            lines = (line_of_access(self.program.source_lines, lines[0], array),)
        where_block, where_thread = self.block_index(block), self.thread_index(thread)
        thread_name = lane_name(where_block, where_thread)
        raise error(
            f"{self.program.name}: {thread_name} {what}.\n{self.launch.quote(*lines)}{advice}".rstrip("\n"),
            kernel=self.program.name,
            line=lines[0],
            lines=lines,
            block=where_block,
            thread=where_thread,
        )

    def diverge(self, pc: int = 0) -> None:
        """Give every thread a program counter of its own: `pc`, or any number if those that run soon get another."""
        if self.pcs is None:
            self.pcs = np.full(self.shape, pc, np.int32)
            if self.exited is not None:
                self.pcs[self.exited] = DONE
            self.waiting = np.zeros(self.shape, bool)
            self.turns = Turns(self.program.level == "ptx", self.launch.prepared.sees_others)
            if self.program.level == "sass":
                self.groups = Convergence(self.shape, self.exited)

    def alive(self) -> np.ndarray:
        """The threads that have not exited, bool (blocks, threads)."""
        return np.ones(self.shape, bool) if self.exited is None else ~self.exited

    def uniform_mask(self, mask: np.ndarray | None, here: np.ndarray | None) -> np.ndarray | None:
        """Where a register that a warp shares is written: for all its lanes, unless the warp has diverged groups here,
        which on a GPU would come one after the other. here: `mask`, and the other groups whose turn it is."""
        if mask is None or self.groups is None:
            return None if mask is None else by_warps(mask, self.shape)
        whole = self.groups.whole_warps(mask)
        return whole if mask is here else whole & (mask | ~here)

    # ---- counting of warps
    def warps_of(self, mask: np.ndarray | None) -> np.ndarray | int:
        """Number of warps with an active thread, or of groups of threads in them where warps have diverged."""
        if mask is None:
            return self.shape[0] * self.warps
        if self.groups is not None:
            return self.groups.count(mask)
        if mask.shape != self.shape:
            mask = np.broadcast_to(mask, self.shape)
        padding = self.warps * WARP - self.threads
        if padding:
            mask = np.pad(mask, ((0, 0), (0, padding)))
        return int(mask.reshape(-1, WARP).any(axis=1).sum())


def combine(mask, guard) -> tuple[bool, np.ndarray | None]:
    """(does any thread take part, the threads that do) for a guard value under a mask."""
    if guard.ndim == 0:
        return bool(guard), mask
    both = guard if mask is None else guard & mask
    if not both.any():
        return False, both
    if mask is None and both.all():
        return True, None
    return True, both


def merge(mask, new, old):
    """`new` where the mask is set, else `old`; the bits of `old` are taken as the type of `new`."""
    if old.dtype != new.dtype:
        old = old.view(new.dtype)
    return np.where(mask, new, old)


def put(registers: Registers, slot: int, mask, new) -> None:
    """Write `new` to a register where the mask is set."""
    registers[slot] = merge(mask, new, registers[slot])


def _guard_reader(guard: tuple[int, bool]) -> Callable[[Registers], np.ndarray]:
    slot, negated = guard
    if negated:
        return lambda registers: np.logical_not(registers[slot])
    return lambda registers: registers[slot]


def _alu_steps(instruction: Instruction, keep: frozenset[int]) -> tuple[Step, Step]:
    """The two forms of an arithmetic instruction: for all threads together, and for some under a mask."""
    evaluate, writes = instruction.evaluate, instruction.writes
    single = len(writes) == 1 and instruction.guard is None and not instruction.uniform
    if single:
        target = writes[0]

        def plain(wave, registers):
            registers[target] = evaluate(registers)

        def masked(wave, registers):
            put(registers, target, wave.mask, evaluate(registers))

        return plain, (masked if target in keep else plain)

    guard = _guard_reader(instruction.guard) if instruction.guard else None
    uniform = bool(instruction.uniform)

    def write(wave, registers, values, mask, always):
        mask = wave.uniform_mask(mask, mask) if uniform else mask
        values = values if len(writes) != 1 else (values,)
        for slot, value in zip(writes, values, strict=True):
            if slot is not None:
                if mask is None or not (always or slot in keep):
                    registers[slot] = value
                else:
                    put(registers, slot, mask, value)

    def plain_many(wave, registers):
        if guard is None:
            write(wave, registers, evaluate(registers), None, False)
            return
        some, mask = combine(None, guard(registers))
        if wave.observers is not None:
            living = wave.mask if mask is None or wave.mask is None else mask & wave.mask
            wave.observers.tell(Guarded(wave, instruction, some, mask if living is None else living))
        if some:
            write(wave, registers, evaluate(registers), mask, True)

    def masked_many(wave, registers):
        if guard is None:
            write(wave, registers, evaluate(registers), wave.mask, False)
            return
        some, mask = combine(wave.mask, guard(registers))
        if wave.observers is not None:
            wave.observers.tell(Guarded(wave, instruction, some, mask))
        if some:
            write(wave, registers, evaluate(registers), mask, True)

    return plain_many, masked_many


def _telling(instruction: Instruction, step: Step) -> Step:
    """The step of an instruction that chooses; observers may ask before it what each thread takes."""

    def tell_and_choose(wave, registers):
        if wave.observers is not None:
            wave.observers.tell(Chosen(wave, instruction, registers))
        step(wave, registers)

    return tell_and_choose


def _effect_steps(instruction: Instruction) -> tuple[Step, Step]:
    """Memory and cross-lane instructions get the mask themselves."""
    execute, writes, uniform = instruction.execute, instruction.writes, instruction.uniform
    guard = _guard_reader(instruction.guard) if instruction.guard else None

    def step(wave, registers, merging):
        mask = wave.mask
        if guard is not None:
            some, mask = combine(mask, guard(registers))
            if wave.observers is not None:
                wave.observers.tell(Guarded(wave, instruction, some, mask))
            if not some:
                return
        wave.instruction = instruction
        # Groups of a diverged warp make their requests one after the other.
        layers = [mask] if wave.groups is None or mask is None else wave.groups.layers(mask)
        for layer in layers:
            values = execute(wave, registers, layer)
            if not writes:
                continue
            values = values if len(writes) > 1 or isinstance(values, tuple) else (values,)
            keep_old = layer is not None and (merging or guard is not None or len(layers) > 1)
            for slot, value in zip(writes, values, strict=True):
                if slot is not None:
                    if keep_old:
                        put(registers, slot, wave.uniform_mask(layer, mask) if slot in uniform else layer, value)
                    else:
                        registers[slot] = value

    return (lambda wave, registers: step(wave, registers, False)), (lambda wave, registers: step(wave, registers, True))


def _followed(instruction: Instruction, step: Step) -> Step:
    """The step of an instruction that a follower sees before it is executed."""

    def show_and_execute(wave, registers):
        wave.follower.before(instruction)
        step(wave, registers)

    return show_and_execute


def _sees_others(instruction: Instruction) -> bool:
    """Whether an instruction may see what other threads do: a load from shared memory, a strong access, a fence."""
    return instruction.loads_shared or instruction.strong or instruction.opcode.startswith(MEETS_OTHERS)


def _steps_of(instruction: Instruction, keep: frozenset[int]) -> list[tuple[Step, Step]]:
    """The two forms of an instruction, none of one that only says where its basic block goes on."""
    if instruction.kind is Kind.EFFECT:
        return [_effect_steps(instruction)]
    if instruction.kind is not Kind.ALU:
        return []
    plain, masked = _alu_steps(instruction, keep)
    if instruction.chooses is not None:
        plain, masked = _telling(instruction, plain), _telling(instruction, masked)
    return [(plain, masked)]


class Prepared:
    """A program with its basic blocks turned into lists of Python closures.

    `plain` are for all threads together; `masked` for some, while others are at later blocks, or wait, and need of the
    registers only what is live there.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._reaches: dict[int, np.ndarray] = {}
        self._followed: dict[int, tuple[list[Step], list[Step]]] = {}
        self._machine = None
        self._decoding = Lock()  # a cell and an explorer's thread may launch the same kernel
        self.not_decoded = ""  # why the compiled engine cannot execute it
        self.last: list[Instruction] = []
        block_at = {block.start: block.index for block in program.blocks}
        self.end = len(program.blocks)
        self.targets: list[tuple[int, ...]] = []
        self.next: list[int] = []
        for block in program.blocks:
            last = program.instructions[block.stop - 1]
            self.last.append(last)
            targets = last.targets or ((last.target,) if last.target >= 0 else ())
            self.targets.append(tuple(block_at.get(target, self.end) for target in targets))
            self.next.append(block_at.get(block.stop, self.end))

    @property
    def machine(self):
        """The program as the compiled engine executes it; None if it cannot (`compiled`)."""
        with self._decoding:
            if self.program.decode is not None:
                self._machine = self.program.decode(self)
                self.program.decode = None  # and with it the statements, a third of a kernel's memory
        return self._machine

    @cached_property
    @uncollected
    def _both(self) -> tuple[list[list[Step]], list[list[Step]]]:
        both = [self._steps(block, block.keep) for block in self.program.blocks]
        return [plain for plain, _ in both], [masked for _, masked in both]

    @property
    def plain(self) -> list[list[Step]]:
        """By basic block what all threads together do."""
        return self._both[0]

    @property
    def masked(self) -> list[list[Step]]:
        """The same for some threads while the others are further on, or wait."""
        return self._both[1]

    @cached_property
    def apart(self) -> list[list[Step]]:
        """The same for some threads wherever the others are: nothing of theirs is overwritten."""
        every = frozenset(range(len(self.program.initial)))
        return [self._steps(block, every)[1] for block in self.program.blocks]

    def followed(self, pc: int) -> tuple[list[Step], list[Step]]:
        """The same of one block, for all threads together and for some of them, with the wave's follower looking on."""
        if pc not in self._followed:
            every = frozenset(range(len(self.program.initial)))
            block = self.program.blocks[pc]
            both = [
                (_followed(instruction, plain), _followed(instruction, masked))
                for instruction in self.program.instructions[block.start : block.stop]
                for plain, masked in _steps_of(instruction, every)
            ]
            self._followed[pc] = [plain for plain, _ in both], [masked for _, masked in both]
        return self._followed[pc]

    @cached_property
    def takes_from_lanes(self) -> list[bool]:
        """By basic block, whether there is a shuffle in it."""
        return [
            any(i.opcode.startswith(("SHFL", "shfl")) for i in self.program.instructions[block.start : block.stop])
            for block in self.program.blocks
        ]

    @cached_property
    def sees_others(self) -> list[bool]:
        """By basic block, whether what other threads do may be seen in it."""
        return [
            any(map(_sees_others, self.program.instructions[block.start : block.stop])) for block in self.program.blocks
        ]

    @cached_property
    def reads_clocks(self) -> bool:
        """Whether there is an instruction that may read one."""
        texts = (instruction.text.lower() for instruction in self.program.instructions)
        return any("clock" in text or "globaltimer" in text for text in texts)

    def _steps(self, block: BasicBlock, keep: frozenset[int]) -> tuple[list[Step], list[Step]]:
        """The two forms of a block: for all threads together, and for some, whose writes leave `keep` of the others."""
        plain, masked = [], []
        for instruction in gather(self.program.instructions[block.start : block.stop]):
            batched = isinstance(instruction, list)
            for both in [run_steps(instruction, keep, put)] if batched else _steps_of(instruction, keep):
                plain.append(both[0])
                masked.append(both[1])
        return plain, masked

    # ---- where barriers are, for messages
    @cached_property
    def leads_to_barrier(self) -> list[bool]:
        """By basic block: whether a barrier of the whole block may still come, in it or after it."""
        barriers = [block for block in range(self.end) if self.last[block].kind is Kind.BARRIER]
        return self._leading_to(barriers).tolist()

    @cached_property
    def only_exits(self) -> list[bool]:
        """By basic block: whether there is nothing in it but the end of the kernel, and before it the fence of code for
        a debugger."""
        before = FENCES if self.program.debug else ()
        return [
            all(i.kind is Kind.EXIT or i.opcode.startswith(before) for i in self.program.instructions[b.start : b.stop])
            for b in self.program.blocks
        ]

    def block_of(self, instruction: int) -> int:
        """The basic block of an instruction."""
        return next(b.index for b in self.program.blocks if b.start <= instruction < b.stop)

    def gathers_for_barrier(self, instruction: int) -> bool:
        """Whether it is the WARPSYNC that the compiler puts in front of a barrier of the block inside of a branch.

        That of a `_sync` function is in front of another WARPSYNC, or of what the function does.
        """
        following = self.next[self.block_of(instruction)]
        if following == self.end or not self.program.instructions[instruction].opcode.startswith("WARPSYNC"):
            return False
        block = self.program.blocks[following]
        between = self.program.instructions[block.start : block.stop - 1]
        return self.last[following].kind is Kind.BARRIER and not any(i.opcode.startswith(EXCHANGES) for i in between)

    def gathers_whole_warp(self, instruction: int) -> bool:
        """Whether it is the WARPSYNC that the compiler puts in front of an instruction for matrices."""
        following = self.next[self.block_of(instruction)]
        if following == self.end:
            return False
        block = self.program.blocks[following]
        opcodes = (i.opcode for i in self.program.instructions[block.start : block.stop])
        first = next((opcode for opcode in opcodes if opcode.startswith(EXCHANGES + OF_WHOLE_WARPS)), "")
        return first.startswith(OF_WHOLE_WARPS)

    def reaches(self, target: int) -> np.ndarray:
        """By basic block (and False for the end): whether `target` may be executed from there on."""
        if target not in self._reaches:
            self._reaches[target] = self._leading_to([target])
        return self._reaches[target]

    @cached_property
    def _before(self) -> list[list[int]]:
        """By basic block (and none for the end): those that it may follow at once."""
        before: list[list[int]] = [[] for _ in range(self.end + 1)]
        for block in self.program.blocks:
            for successor in block.successors:
                before[successor].append(block.index)
        return before

    def _leading_to(self, targets: list[int]) -> np.ndarray:
        """By basic block (and False for the end): whether it is one of these, or one may be executed after it."""
        leading = np.zeros(self.end + 1, bool)
        leading[targets] = True
        worklist = [*targets]
        while worklist:
            for block in self._before[worklist.pop()]:
                if not leading[block]:
                    leading[block] = True
                    worklist.append(block)
        return leading


@dataclass(frozen=True, eq=False)
class Launch:
    """One execution of a kernel: geometry, memory, arguments and observers.

    `shared_bytes` of a block, static and dynamic; `parameters`, the bytes of the parameter block; `variables` of the
    module, as (register slot, address). `only_blocks` holds the linear numbers of the blocks to execute, None for all.
    `reverse_atomics`: those that threads make at the same time come in the opposite order, that of the last thread of
    the last block first. `named_lanes`: by instruction the constant mask of a function of the warp. `grid_barrier` is
    the address of what the blocks of a cooperative launch meet at, None in others; `parameters_at` that of the
    parameters, and `constants_at` of a copy of constant bank 3, if wanted.
    """

    prepared: Prepared
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    global_memory: GlobalMemory
    parameters: bytes = b""
    variables: tuple[tuple[int, int], ...] = ()
    max_instructions: int = 1_000_000
    shared_names: SharedNames = NO_NAMES
    local_arrays: LocalArrays = NO_ARRAYS
    constant_arrays: ConstantArrays = NO_CONSTANTS
    named_lanes: Mapping[int, int] = field(default_factory=dict)
    grid_barrier: int | None = None
    parameters_at: int | None = None
    constants_at: int | None = None
    observers: Observers | None = None
    only_blocks: np.ndarray | None = None
    reverse_atomics: bool = False
    output: Output = field(default_factory=Output)

    @property
    def program(self) -> Program:
        """What is executed."""
        return self.prepared.program

    @cached_property
    def heap(self) -> Heap:
        """What `malloc` takes memory from."""
        return Heap(self.global_memory)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return product(self.block)

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The blocks of a cluster (x, y, z). Without `__cluster_dims__` each block is one of its own."""
        return self.program.cluster or clusters.ALONE

    @cached_property
    def blocks_of_cluster(self) -> int:
        """How many blocks a cluster has."""
        return product(self.cluster)

    @cached_property
    def block_ids(self) -> np.ndarray:
        """The linear numbers of the blocks that are executed, those of a cluster one after the other, by rank."""
        chosen = np.arange(product(self.grid), dtype=np.int64) if self.only_blocks is None else self.only_blocks
        return chosen if self.blocks_of_cluster == 1 else clusters.together(self.grid, self.cluster, chosen)

    def _blocks_per_wave(self) -> int:
        """Blocks that may wait for each other run together, up to what a device holds."""
        if self.grid_barrier is not None:
            return len(self.block_ids)
        size = self.blocks_of_cluster
        few = max(1, LANES_PER_WAVE // (self.threads * size)) * size
        if any((i.strong or i.opcode.startswith("atom")) and i.writes for i in self.program.instructions):
            with suppress(UnknownDevice):
                resident = limits_for(self.program.arch).threads_per_sm // self.threads
                return max(few, resident * for_arch(self.program.arch).sms // size * size)
        return few

    def quote(self, line: int, *called_from: int) -> str:
        """The source line of a message, on a line of its own, and those that its function was called from."""
        lines = self.program.source_lines
        texts = []
        for number in (line, *proven_calls(lines, called_from)):
            if 1 <= number <= len(lines):
                start = "  called from line" if texts else "line"
                texts.append(f"  {start} {number}: {lines[number - 1].strip()}\n")
        return "".join(texts)

    def run(self) -> None:
        """Execute all blocks, wave by wave."""
        per_wave = self._blocks_per_wave()
        with np.errstate(all="ignore"):
            for first in range(0, len(self.block_ids), per_wave):
                wave = Wave(self, first, min(per_wave, len(self.block_ids) - first))
                try:
                    if self.observers is not None:
                        self.observers.tell(WaveBegins(wave))
                    _run_wave(wave, self.prepared)
                    if self.observers is not None:
                        self.observers.tell(WaveEnds(wave))
                finally:
                    wave.leave()


def _run_wave(wave: Wave, prepared: Prepared) -> None:
    """Execute one wave to its end."""
    program, registers, observers = wave.program, wave.registers, wave.observers
    blocks: list[BasicBlock] = program.blocks
    budget, circles = wave.launch.max_instructions, Circles()
    pc = 0
    while pc != DONE and pc < prepared.end:
        block = blocks[pc]
        if wave.clock is not None:
            wave.clock.passes(wave.mask, block.start, block.stop)
        budget -= block.stop - block.start
        if budget < 0:
            _too_many_steps(wave, block)
        if circles.closes(wave, pc):
            _endless(wave, block)
        if observers is not None:
            observers.tell(Executed(wave, pc))
        for step in _steps(wave, prepared, pc):
            step(wave, registers)
        if wave.follower is not None and wave.follower.follows:
            wave.follower.decides(prepared.last[pc])
        pc = _after(wave, prepared, pc)


def _after(wave: Wave, prepared: Prepared, pc: int) -> int:
    """The basic block that is executed after this one, whose steps were taken."""
    last = prepared.last[pc]
    kind = last.kind
    if kind is Kind.BRANCH:
        return _branch(wave, prepared, last, pc)
    if kind is Kind.EXIT:
        return _exit(wave, prepared, last, pc)
    if kind is Kind.BARRIER or kind is Kind.WARP_BARRIER:
        return _barrier(wave, prepared, last, pc)
    if kind is Kind.MEETING:
        return _meeting(wave, prepared, last, pc)
    if kind is Kind.CLUSTER_BARRIER:
        return _cluster_barrier(wave, prepared, last, pc)
    if kind is Kind.PHASE_WAIT:
        return _phase_wait(wave, prepared, last, pc)
    if wave.pcs is None:
        return prepared.next[pc]
    wave.pcs[wave.mask] = prepared.next[pc]
    return _schedule(wave)


def times_along(wave: Wave, prepared: Prepared, path: Sequence[int], most: int) -> int:
    """How often from here on, `most` times at most, the wave executes these basic blocks one after the other, all
    threads together, and comes back to the first. The wave itself stays where it is, and observers are not notified.

    prepared: what is executed for it, such as the part of the program that leads to branches.
    """
    trial = copy(wave)
    trial.observers, trial.registers = None, copy(wave.registers)
    followed = list(zip(path, (*path[1:], path[0]), strict=True))
    for times in range(most):
        for pc, following in followed:
            for step in prepared.plain[pc]:
                step(trial, trial.registers)
            if _after(trial, prepared, pc) != following or trial.pcs is not None:
                return times
    return most


def _steps(wave: Wave, prepared: Prepared, pc: int) -> list[Step]:
    """The form of a basic block for the threads that go on now."""
    if wave.follower is not None and (wave.follower.follows or prepared.takes_from_lanes[pc]):
        return prepared.followed(pc)[wave.pcs is not None]
    if wave.pcs is None:
        return prepared.plain[pc]
    return prepared.masked[pc] if wave.turns.in_order else prepared.apart[pc]


def _condition(wave: Wave, last: Instruction):
    """The condition of a branch or exit as True, False or an array of the active threads that take it."""
    if last.guard is not None and wave.observers is not None:
        some, lanes = combine(wave.mask, _guard_reader(last.guard)(wave.registers))
        wave.observers.tell(Guarded(wave, last, some, lanes))
    if last.condition is not None:
        value = last.condition(wave, wave.registers)
    elif last.guard is None:
        return True
    else:
        value = _guard_reader(last.guard)(wave.registers)
    if value.ndim == 0:
        return bool(value)
    taken = value if wave.mask is None else value & wave.mask
    if not taken.any():
        return False
    if wave.mask is None:
        return True if taken.all() else np.broadcast_to(taken, wave.shape)
    return True if (taken == wave.mask).all() else taken


def _branch(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    targets, following = prepared.targets[pc], prepared.next[pc]
    taken: bool | np.ndarray = True
    if last.select is None or last.guard is not None:
        taken = _condition(wave, last)
    destination = np.int32(targets[0])
    if wave.groups is not None and last.opcode == "ENDCOLLECTIVE":
        destination = wave.groups.part(np.True_ if wave.mask is None else wave.mask, targets[0])
    if last.select is not None:
        destination = np.asarray(targets, np.int32)[last.select(wave.registers)]
    if last.execute is not None and taken is not False:
        wave.instruction = last
        last.execute(wave, wave.registers, wave.mask if taken is True else taken)
    if taken is False or (taken is True and destination.ndim == 0):
        only = int(destination) if taken else following
        if wave.pcs is None:
            return only
        wave.pcs[wave.mask] = only
        return _schedule(wave)
    wave.diverge(pc)
    active = np.broadcast_to(True, wave.shape) if wave.mask is None else wave.mask
    _go(wave, np.where(taken, destination, np.int32(following)), active)
    return _schedule(wave)


def _go(wave: Wave, destination: np.ndarray, active: np.ndarray) -> None:
    """The active threads go to different places."""
    np.copyto(wave.pcs, destination, where=active)
    if wave.groups is not None:
        wave.groups.split(active, destination)


def _meeting(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    """BSYNC: threads wait until all that agreed to meet there have come. Whole warps need not wait."""
    following = prepared.next[pc]
    if wave.pcs is None:
        return following
    wave.pcs[wave.mask] = following
    wave.groups.arrive(last.barrier, wave.mask)
    return _schedule(wave)


def _exit(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    leaving = _condition(wave, last)
    following = prepared.next[pc]
    if leaving is False:
        if wave.pcs is None:
            return following
        wave.pcs[wave.mask] = following
        return _schedule(wave)
    if leaving is True and wave.pcs is None:
        return int(DONE)
    wave.diverge(pc)
    active = np.broadcast_to(True, wave.shape) if wave.mask is None else wave.mask
    gone = active if leaving is True else leaving
    np.copyto(wave.pcs, np.where(gone, DONE, np.int32(following)), where=active)
    wave.exited = gone.copy() if wave.exited is None else wave.exited | gone
    if wave.groups is not None:
        if wave.observers is not None and not prepared.only_exits[pc]:
            _tell_missed(wave, prepared, pc, gone)
        wave.groups.exit(gone, active, wave.pcs)
    _release(wave, prepared)
    return _schedule(wave)


def _tell_missed(wave: Wave, prepared: Prepared, pc: int, gone: np.ndarray) -> None:
    """Tell observers if others wait for threads that end, and these have gone past: the others will come here, too."""
    waiting, absent = wave.groups.missed_by(gone)
    later = np.minimum(wave.pcs, prepared.end)
    for start in np.unique(later[waiting]).tolist():
        if start != prepared.end and (start == pc or prepared.reaches(pc)[start]):
            wave.observers.tell(LanesMissed(wave, waiting & (later == start), absent))
            return


def _schedule(wave: Wave) -> int:
    """Choose the threads that go on (`schedule`); join all threads again when the living ones are together."""
    if wave.phases is not None:
        wave.phases.release(wave)
    pcs, waiting = wave.pcs, wave.waiting
    groups = wave.groups
    runnable = np.where(waiting if groups is None else waiting | groups.blocked(), DONE, pcs)
    pc, mask = wave.turns.choose(runnable, None if wave.program.order is None else wave.program.order(wave))
    if groups is not None and not wave.turns.in_order:
        mask = groups.of_which_some_are(mask) & (runnable == pc)
    if _goes_in_circles(wave, pc, runnable, mask) and _let_go_on(wave, runnable, mask):
        return _schedule(wave)
    if pc == DONE:
        if wave.phases is not None and wave.phases.held.any():
            if not wave.phases.give_up(wave):
                wave.phases.refuse(wave)
            return _schedule(wave)
        if groups is not None and groups.part_from_circles():
            return _schedule(wave)
        if waiting.any() or (groups is not None and groups.waiting.any()):
            _unreached_barrier(wave)
        return pc
    if groups is None and waiting.any():
        _not_around_a_barrier(wave, wave.launch.prepared, pc, mask)
    living = pcs != DONE
    if (mask == living).all() and (groups is None or groups.whole()):
        wave.pcs = wave.waiting = wave.groups = wave.turns = None
        wave.mask = None if living.all() else mask
    else:
        wave.mask = mask
    return pc


def _goes_in_circles(wave: Wave, pc: int, runnable: np.ndarray, mask: np.ndarray) -> bool:
    """Whether the running threads come to the same place with the same registers again, while others are held up.

    It is looked for now and then, for as long as a short loop takes.
    """
    wave.looked += 1
    if wave.looked < LOOKS_AFTER:
        return False
    if wave.looked == LOOKS_AFTER:
        wave.seen = (pc, list(wave.registers)) if _held_up(wave, runnable, mask).any() else None
        return False
    same = wave.seen is not None and wave.seen[0] == pc
    same = same and all(a is b or np.array_equal(a, b) for a, b in zip(wave.seen[1], wave.registers, strict=True))
    if same:
        wave.looked = LOOKS_AFTER - LONGEST_CIRCLE  # the next waiting thread is in the same loop
    elif wave.looked == LOOKS_AFTER + LONGEST_CIRCLE:
        wave.looked = 0
    return same


def _held_up(wave: Wave, runnable: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The threads that cannot go on as long as those of `mask` do, bool: in machine code those that wait at a meeting;
    in PTX, where a warp's threads at the lowest place go first, those of the same warps that are further on."""
    if wave.groups is not None:
        return wave.groups.waiting != 0
    return by_warps(mask, wave.shape) & (runnable != DONE) & ~mask


def _let_go_on(wave: Wave, runnable: np.ndarray, mask: np.ndarray) -> bool:
    """The threads of `mask` wait in a loop, maybe for others that they hold up: those go on. Whether there are any."""
    if wave.groups is not None:
        return wave.groups.part_from_loops(mask)
    others = _held_up(wave, runnable, mask)
    if others.any():
        wave.turns.favour(others)
    return bool(others.any())


def _barrier(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    """`__syncthreads()` waits for all threads of the block that have not exited (CUDA guide, 'Synchronization');
    `__syncwarp(mask)` for the named lanes of the warp."""
    following = prepared.next[pc]
    whole_block = last.kind is Kind.BARRIER
    if last.guard is not None:
        taken = _condition(wave, last)
        if taken is False:
            if wave.pcs is None:
                return following
            wave.pcs[wave.mask] = following
            return _schedule(wave)
        if taken is not True:
            _let_others_past(wave, pc, following, taken, whole_block)
    if last.execute is not None:
        last.execute(wave, wave.registers, wave.mask)
    if whole_block and last.select is not None:
        return _named_barrier(wave, prepared, last, pc)
    if not whole_block and wave.observers is not None:
        named = None if last.select is None else last.select(wave.registers)
        wave.observers.tell(WarpBarrierReached(wave, wave.mask, last.index, named))
    if not whole_block and last.barrier in (COLLECTIVE, EXCLUSIVE):  # different masks make different groups
        wave.diverge(pc)
    if wave.pcs is None:
        if whole_block and wave.observers is not None:
            wave.observers.tell(BarrierPassed(wave, None))
        return following
    active = wave.alive() if wave.mask is None else wave.mask
    wave.pcs[active] = following
    if not whole_block:
        if wave.groups is not None and last.select is not None:
            if last.barrier == COLLECTIVE:
                ends = prepared.targets[following]  # none where other blocks lie between, in code for a debugger
                wave.groups.gather(active, ends[0] if ends else ANYWHERE)
                wave.pcs[active] = prepared.targets[pc][0]
            wave.groups.arrive_at_warpsync(last.select(wave.registers), active, wave.pcs)
        return _schedule(wave)
    wave.waiting |= active
    _release(wave, prepared)
    return _schedule(wave)


def _named_barrier(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    """A barrier with a number, of all threads of the block or of some."""
    wave.diverge(pc)
    wave.named = wave.named or NamedBarriers(wave.shape)
    active = wave.alive() if wave.mask is None else wave.mask
    wave.pcs[active] = prepared.next[pc]
    if not last.barrier:
        wave.waiting |= active
    wave.named.arrive(wave, last, active, *last.select(wave.registers))
    return _schedule(wave)


def _cluster_barrier(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    """The second half of the barrier of a cluster: threads that have arrived wait for those that have not."""
    following = prepared.next[pc]
    taken = True if last.guard is None else _condition(wave, last)
    active = wave.alive() if wave.mask is None else np.broadcast_to(wave.mask, wave.shape)
    here = active if taken is True else active & taken
    wave.instruction = last
    wave.cluster = wave.cluster or clusters.ClusterBarrier(wave)
    held = wave.cluster.wait(wave, here)
    if wave.pcs is None and not held.any():
        return following
    wave.diverge(pc)
    wave.pcs[active] = following
    wave.waiting |= held
    return _schedule(wave)


def _phase_wait(wave: Wave, prepared: Prepared, last: Instruction, pc: int) -> int:
    """A wait for a phase of an mbarrier: threads that come before its end go on behind it."""
    following = prepared.next[pc]
    taken = True if last.guard is None else _condition(wave, last)
    active = wave.alive() if wave.mask is None else np.broadcast_to(wave.mask, wave.shape)
    here = active if taken is True else active & taken
    wave.phases = wave.phases or PhaseWaits(wave)
    held = wave.phases.come(wave, last, here) if here.any() else here
    if wave.pcs is None and not held.any():
        return following
    wave.diverge(pc)
    wave.pcs[active] = following
    wave.waiting |= held
    return _schedule(wave)


def _release(wave: Wave, prepared: Prepared) -> None:
    """The blocks whose living threads all wait at a barrier go on. It counts warps, as on a GPU: they may have come to
    different ones, but not the threads of one warp."""
    if wave.cluster is not None:
        wave.cluster.complete(wave)
    if wave.named is not None and wave.named.waiting.any():
        wave.named.release_whole(wave)
    waiting = _at_syncthreads(wave)
    done = (waiting | (wave.pcs == DONE)).all(axis=1) & waiting.any(axis=1)
    if not done.any():
        return
    lowest = np.where(waiting, wave.pcs, DONE).min(axis=1)
    highest = np.where(waiting, wave.pcs, -1).max(axis=1)
    for block in np.flatnonzero(done & (lowest != highest)).tolist():
        _come_to_different_barriers(wave, prepared, block)
    wave.waiting[done] = False
    if wave.observers is not None:
        wave.observers.tell(BarrierPassed(wave, done))


def _at_syncthreads(wave: Wave) -> np.ndarray:
    """The threads that wait at a barrier of the whole block without a number, bool (blocks, threads)."""
    waiting = wave.waiting if wave.named is None else wave.waiting & ~wave.named.waiting
    waiting = waiting if wave.phases is None else waiting & ~wave.phases.held
    return waiting if wave.cluster is None else waiting & ~wave.cluster.waiting


def _let_others_past(wave: Wave, pc: int, following: int, taken: np.ndarray, whole_block: bool) -> None:
    """The threads for which the guard of a barrier is false do not wait there; it is the turn of the others alone. A
    barrier of the whole block must not part a warp; lanes that a warp's barrier names and that never come are found
    when no thread can go on."""
    wave.diverge(pc)
    active = np.broadcast_to(True, wave.shape) if wave.mask is None else wave.mask
    prepared = wave.launch.prepared
    if whole_block and not prepared.leads_to_barrier[following] and not prepared.only_exits[following]:
        _not_apart(wave, prepared, active & ~taken, taken, following)
    _go(wave, np.where(taken, np.int32(pc), np.int32(following)), active)
    wave.mask = active & taken


def _threads(block: tuple[int, int, int], threads: np.ndarray) -> str:
    first = coordinates(unravel(int(threads[0]), block))
    return f"thread {first}" if len(threads) == 1 else f"{len(threads)} threads (the first is {first})"


def _come_to_different_barriers(wave: Wave, prepared: Prepared, block: int) -> None:
    """Threads of one block wait at different `__syncthreads()`: a BarrierError if those of one warp do."""
    waiting = np.flatnonzero(_at_syncthreads(wave)[block])
    at = wave.pcs[block, waiting]
    groups = {_barrier_before(prepared, number).index: waiting[at == number] for number in np.unique(at).tolist()}
    warps = [set((threads // WARP).tolist()) for threads in groups.values()]
    if sum(map(len, warps)) == len(set().union(*warps)):
        if wave.observers is not None:
            wave.observers.tell(WarpsApart(wave, block, groups))
        return
    where = wave.block_index(block)
    lines, text = apart_in_words(wave.program, wave.launch.block, groups)
    raise BarrierError(
        f"{wave.program.name}: the threads of block {coordinates(where)} {text}.\n"
        + "".join(wave.launch.quote(line) for line in lines)
        + BY_ALL_THREADS,
        kernel=wave.program.name,
        line=lines[0],
        lines=tuple(lines),
        block=where,
        thread=wave.thread_index(min(int(threads[0]) for threads in groups.values())),
    )


def apart_in_words(
    program: Program, block: tuple[int, int, int], groups: Mapping[int, np.ndarray]
) -> tuple[list[int], str]:
    """(the source lines, what the threads do) of threads of a block that wait at barriers with different indices."""
    line_of = {index: program.instructions[index].line for index in groups}
    by_line = [(line_of[index], groups[index]) for index in sorted(groups, key=line_of.get)]
    lines = list(dict.fromkeys(line for line, _ in by_line))
    if len(lines) == 1:
        groups_in_words = ", apart from ".join(_threads(block, threads) for _, threads in by_line)
        return lines, f"do not wait at line {lines[0]} together: {groups_in_words}"
    return lines, "wait at different barriers: " + "; ".join(
        f"{_threads(block, threads)} at line {line}" for line, threads in by_line
    )


def _barrier_before(prepared: Prepared, following: int) -> Instruction:
    """The barrier behind which a thread goes on at the basic block `following`."""
    return next(
        last
        for last, next_ in zip(prepared.last, prepared.next, strict=True)
        if next_ == following and last.kind is Kind.BARRIER
    )


def _not_around_a_barrier(wave: Wave, prepared: Prepared, pc: int, mask: np.ndarray) -> None:
    """Raise BarrierError if threads go on behind a barrier at which other threads of their warp still wait.

    Threads that have nothing left to do but to exit are not waited for: compute-sanitizer's synccheck lets them pass,
    and calls the others "divergent threads in warp".
    """
    if not prepared.leads_to_barrier[pc] and not prepared.only_exits[pc]:
        left_behind = _at_syncthreads(wave) & prepared.reaches(pc)[np.minimum(wave.pcs, prepared.end)]
        _not_apart(wave, prepared, mask, left_behind, wave.pcs)


def _not_apart(wave: Wave, prepared: Prepared, passing: np.ndarray, waiting: np.ndarray, behind) -> None:
    """Raise BarrierError if a warp has threads that go past a barrier and threads that wait there.

    `behind` is the basic block at which those that wait will go on.
    """
    padding = -wave.threads % WARP
    both = [
        np.pad(lanes, ((0, 0), (0, padding))).reshape(wave.shape[0], -1, WARP).any(axis=2)
        for lanes in (waiting, passing)
    ]
    if not (both[0] & both[1]).any():
        return
    block, warp = (int(i) for i in np.argwhere(both[0] & both[1])[0])
    lanes = slice(warp * WARP, (warp + 1) * WARP)
    here = np.flatnonzero(waiting[block, lanes]) + warp * WARP
    there = np.flatnonzero(passing[block, lanes]) + warp * WARP
    barrier = _barrier_before(prepared, int(np.broadcast_to(behind, wave.shape)[block, here[0]]))
    where = wave.block_index(block)
    raise BarrierError(
        f"{wave.program.name}: a barrier separates the threads of a warp of block {coordinates(where)}: "
        f"{_threads(wave.launch.block, here)} at line {barrier.line}; {_threads(wave.launch.block, there)} beyond it. "
        "On a GPU that is not defined, and may hang.\n" + wave.launch.quote(barrier.line) + BY_ALL_THREADS,
        kernel=wave.program.name,
        line=barrier.line,
        block=where,
        thread=wave.thread_index(int(here[0])),
    )


def _unreached_barrier(wave: Wave) -> None:
    """No thread can run and some wait: at barriers, or at meetings for threads that are at barriers."""
    stuck = wave.waiting if wave.groups is None else wave.waiting | wave.groups.blocked()
    prepared = wave.launch.prepared
    if wave.cluster is not None and wave.cluster.waiting.any():
        _cluster_never_comes(wave, prepared)
    block = int(np.flatnonzero(stuck.any(axis=1))[0])
    where = wave.block_index(block)
    waiting = np.flatnonzero(wave.waiting[block])
    others = np.flatnonzero(stuck[block] & ~wave.waiting[block])
    if not len(waiting) and (wave.groups.waiting == WARPSYNC).any():
        _lanes_never_come(wave, prepared)
    lines = sorted({_barrier_before(prepared, int(pc)).line for pc in wave.pcs[block, waiting]})
    text = f"{_threads(wave.launch.block, waiting)} at line {', '.join(map(str, lines))}" if len(waiting) else ""
    advice = BY_ALL_THREADS
    if wave.named is not None and (named := waiting[wave.named.waiting[block, waiting]]).size:
        text += f" for {wave.named.in_words(block, int(named[0]))}"
        advice = "A barrier with a number is passed when as many threads have come to it as it names, of whole warps."
    if len(others):
        text += f"{'; ' * bool(text)}{_threads(wave.launch.block, others)} elsewhere, for those to come along"
    raise BarrierError(
        f"{wave.program.name}: the threads of block {coordinates(where)} wait for ever: {text}.\n"
        + "".join(wave.launch.quote(line) for line in lines)
        + advice,
        kernel=wave.program.name,
        line=lines[0] if lines else 0,
        lines=tuple(lines),
        block=where,
        thread=wave.thread_index(int((*waiting, *others)[0])),
    )


def _cluster_never_comes(wave: Wave, prepared: Prepared) -> None:
    """Threads wait at the barrier of their cluster for others that wait elsewhere."""
    barrier = wave.cluster
    block, thread = (int(i) for i in np.argwhere(barrier.waiting)[0])
    first = block // barrier.size * barrier.size
    own = slice(first, first + barrier.size)
    absent = np.argwhere((wave.alive() & ~barrier.arrived)[own])
    following = int(wave.pcs[block, thread])
    wave.instruction = prepared.last[prepared.next.index(following)]
    other, lane = (int(i) for i in absent[0])
    thread_name = lane_name(wave.block_index(first + other), wave.thread_index(lane))
    more = f" and {len(absent) - 1} more threads have" if len(absent) > 1 else " has"
    wave.fail(
        BarrierError,
        f"waits for ever at the barrier of its cluster, where {thread_name}{more} not arrived",
        "cluster.sync() must be reached by all threads of all blocks of the cluster.",
        block,
        thread,
    )


def _lanes_never_come(wave: Wave, prepared: Prepared) -> None:
    """Lanes wait for others that their masks name, and that wait themselves where their branches end."""
    block, first = (int(i) for i in np.argwhere(wave.groups.threads(wave.groups.waiting == WARPSYNC))[0])
    lanes = slice(first // WARP * WARP, (first // WARP + 1) * WARP)
    named = int(wave.groups.threads(wave.groups.wanted)[block, first])
    following = int(wave.pcs[block, first])
    barrier = prepared.last[next(number for number, after in enumerate(prepared.next) if after == following)]
    elsewhere = np.flatnonzero(
        wave.groups.threads(wave.groups.waiting != WARPSYNC)[block, lanes] & wave.alive()[block, lanes]
    )
    absent = [int(lane) for lane in elsewhere if named >> int(lane) & 1]
    where = wave.block_index(block)
    # For Turing and Ampere the barrier may lie in a function that the compiler made, of no line: then it is the call's.
    begins = wave.program.blocks[prepared.block_of(barrier.index)].start
    line = barrier.line or next(
        (instruction.line for instruction in wave.program.instructions if instruction.target == begins), 0
    )
    quoted = wave.launch.quote(line)
    if prepared.gathers_for_barrier(barrier.index):
        names = f"at __syncthreads() for {_lanes_in_words(absent)} of its warp"
        advice = BY_ALL_THREADS
    elif prepared.gathers_whole_warp(barrier.index):
        names = f"for {_lanes_in_words(absent)} of its warp"
        advice = "The instruction is the whole warp's: all 32 lanes must come to it."
    else:
        names = f"for lanes of its warp: its mask {named:#010x} names {_lanes_in_words(absent)}"
        advice = "The mask of a _sync function must name the lanes that come there, and no others."
    raise BarrierError(
        f"{wave.program.name}: {lane_name(where, wave.thread_index(first))} waits for ever {names}, which went another "
        f"way and wait{'s' if len(absent) == 1 else ''} at its end.\n{quoted}{advice}",
        kernel=wave.program.name,
        line=line,
        block=where,
        thread=wave.thread_index(first),
    )


def _lanes_in_words(lanes: list[int]) -> str:
    if len(lanes) > 1 and lanes == list(range(lanes[0], lanes[-1] + 1)):
        return f"lanes {lanes[0]} to {lanes[-1]}"
    return f"lane{'s' if len(lanes) != 1 else ''} {', '.join(map(str, lanes))}"


def _too_many_steps(wave: Wave, block: BasicBlock) -> None:
    """An infinite loop, most likely."""
    running = wave.mask if wave.mask is not None else np.ones(wave.shape, bool)
    where, thread = (int(i) for i in np.argwhere(running)[0])
    too_many_steps(wave, block, where, thread)


def _endless(wave: Wave, block: BasicBlock) -> None:
    """A loop that changes nothing."""
    running = wave.alive() if wave.mask is None else wave.mask
    where, thread = (int(i) for i in np.argwhere(running)[0])
    _stop(
        wave, block, where, thread,
        "goes round a loop for ever: nothing changes any more, neither in registers nor in memory",
        "What is the loop to end by?",
    )  # fmt: skip


def too_many_steps(wave: Wave, block: BasicBlock, where: int, thread: int) -> None:
    """Raise StepLimitExceeded for a thread of the wave's block `where` that is at a basic block."""
    _stop(
        wave, block, where, thread, f"is still running after {wave.launch.max_instructions:,} instructions",
        "Does the loop end? If the work is really that long, use a smaller problem, or "
        "gpusim.record(max_instructions=…).",
    )  # fmt: skip


def _stop(wave: Wave, block: BasicBlock, where: int, thread: int, what: str, advice: str) -> None:
    lines = sorted({i.line for i in wave.program.instructions[block.start : block.stop] if i.line})
    line = lines[0] if lines else 0
    raise StepLimitExceeded(
        f"{wave.program.name}: {lane_name(wave.block_index(where), wave.thread_index(thread))} {what}.\n"
        f"{wave.launch.quote(line)}{advice}",
        kernel=wave.program.name,
        line=line,
        block=wave.block_index(where),
        thread=wave.thread_index(thread),
    )
