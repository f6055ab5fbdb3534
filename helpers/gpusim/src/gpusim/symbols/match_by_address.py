"""Which statement of the PTX a load or store of the machine code comes from, where a source line has several.

`sum += As[ty][k] * Bs[k][tx]` reads two arrays on one line, and machine code has numbers in place of their names. But
both levels compute the same addresses. So the address of each access is computed at both, for a sample of threads and
arguments drawn at random: two accesses whose addresses agree for all of the sample are the same, whichever way the
compiler went to compute them.

In a loop it is the address of the first round that is compared, and since ptxas unrolls loops, the machine's may be
that of a later round. Behind a loop it is the address for no rounds at all. What is loaded from global or shared memory
is a random number that depends on the address, so that both levels load the same from the same place. What cannot be
computed ahead otherwise is unknown: random numbers that the levels do not share. All these are different ones in each
row of the sample, so that what depends on them shows by its rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import is_
from types import SimpleNamespace
from typing import Generic, TypeVar

import numpy as np

from gpusim.compiler import CompiledKernel
from gpusim.devices import WARP
from gpusim.engine.clusters import ALONE
from gpusim.engine.ir import BasicBlock, Instruction, Kind, Program, uncollected
from gpusim.engine.run import merge
from gpusim.isa.ptx.program import addresses_alone

ROWS, THREADS = 3, 64  # of the sample: in all rows the same threads, but other unknown values
ENOUGH = THREADS // 4  # of which an address must be known to be compared
READ_AHEAD = (  # effects whose result is known before the launch, and loads
    "S2R", "S2UR", "CS2R", "R2UR", "mov", "LDG", "LDS", "LD.", "ld.",
)  # fmt: skip
MIXING, FAR = np.uint64(0x9E3779B97F4A7C15), np.uint64(1 << 48)
PARAMETERS = "c[0x0]["  # so are loads from there, which code for a debugger has with an index in a register
LOOPS_IN_A_ROW = 2  # how many may come one after the other, each going on where the last one ended
HALF, WORD = 2, 4  # bytes
ADDRESS_BITS = 0xFFFFFFFF  # of shared and of local memory
SIZES = (96, 5, 3)  # of blocks and of the grid; they stand for any
Array = TypeVar("Array")  # of shared memory, or of a thread's own


@dataclass(frozen=True)
class Reach:
    """What an access reaches: its addresses in the first round of its loops and in the second, (ROWS, THREADS)."""

    first: np.ndarray
    second: np.ndarray
    width: int


class Reached(Exception):
    """An access was carried out as far as its address."""

    def __init__(self, space: str, addresses, width: int) -> None:
        self.space = space
        # PTX computes in 64 bits, and an index below zero becomes 2³⁴ bytes less something; machine code has 32 bits.
        self.addresses = np.empty((ROWS, THREADS), np.int64)
        self.addresses[...] = addresses
        self.addresses &= ADDRESS_BITS
        self.width = width

    @property
    def is_known(self) -> bool:
        """Whether it depends on nothing that is not known ahead."""
        return bool((self.addresses == self.addresses[0]).all())


@dataclass(frozen=True)
class _Private:
    """In place of shared or of local memory: says what is reached by the access that is looked at."""

    space: str

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        if wave.looks_at or self.space == "local":
            raise Reached(self.space, addresses, dtype.itemsize * count)
        return _contents(np.bitwise_and(addresses, ADDRESS_BITS), dtype, count)

    def store(self, wave, addresses, mask, values) -> None:
        raise Reached(self.space, addresses, values[0].dtype.itemsize * len(values))

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        raise Reached(self.space, addresses, width)


class _Constants:
    """In place of the constants of machine code: says what is reached by the access that is looked at."""

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        if wave.looks_at == "const":
            raise Reached("const", addresses, width)


class _Global:
    """In place of global memory, where PTX has the constants, too."""

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        if wave.looks_at == "const":
            raise Reached("const", addresses, dtype.itemsize * count)
        return _contents(addresses, dtype, count)

    def store(self, wave, addresses, mask, values) -> None:
        """It is never read."""

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        raise Reached("global", np.full(wave.shape, -1), width)

    def find(self, address: int):
        return SimpleNamespace(bytes_=np.zeros(1 << 16, np.uint8))


class _Sample:
    """What instructions ask of a wave, for threads drawn at random. Both levels draw the same."""

    shape, threads, warps = (ROWS, THREADS), THREADS, THREADS // WARP
    mask = observers = groups = exited = clock = None

    def __init__(self, program: Program, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.program, self.looks_at = program, ""
        self.shared, self.local, self.global_memory = _Private("shared"), _Private("local"), _Global()
        self.launch = SimpleNamespace(
            block=SIZES, grid=SIZES, grid_barrier=0, parameters_at=None, constants_at=None,
            shared_bytes=program.shared_bytes, program=program, constant_arrays=_Constants(),
            cluster=ALONE, blocks_of_cluster=1, variables=(), global_memory=self.global_memory,
        )  # fmt: skip
        self.cluster_memory = self.shared
        most = program.max_threads or 1024
        self.special = {
            f"{name}.{axis}": rng.integers(0, high, (1, THREADS), np.int32)
            for name, high in (("tid", most), ("ctaid", 1 << 15))
            for axis in "xyz"
        }
        self.special |= {
            f"{name}.{axis}": np.int32(size)
            for name in ("ntid", "nctaid")
            for axis, size in zip("xyz", SIZES, strict=True)
        }
        self.special["cluster_ctarank"] = np.int32(0)
        self.special["laneid"] = rng.integers(0, 32, (1, THREADS), np.int32)
        self.special["warpid"] = rng.integers(0, 32, (1, THREADS), np.int32)
        end = max((parameter.offset + parameter.size for parameter in program.parameters), default=0)
        given = bytearray(end)
        for parameter in program.parameters:
            number = int(rng.integers(1, 2000))
            given[parameter.offset : parameter.offset + parameter.size] = number.to_bytes(8, "little")[
                : parameter.size
            ].ljust(parameter.size, b"\0")
        self.parameters = self.launch.parameters = bytes(given)
        self.constant_banks: dict[int, bytes] = {0: self.parameters}

    def special_value(self, name: str):
        """As Wave.special_value; KeyError for those that are not known ahead."""
        return self.special[name]

    def time(self, name: str, mask) -> np.ndarray:
        """What a clock shows is not known ahead: KeyError."""
        raise KeyError(name)

    @property
    def call_result(self) -> np.ndarray:
        """What a function gave back is not known ahead: KeyError."""
        raise KeyError("the result of a call")


class _Values(dict):
    """Registers by slot, as instructions read them; those that no instruction writes are not among them."""

    initial: Sequence[np.generic] = ()

    def __init__(self, *values) -> None:
        super().__init__(*values)
        self.addresses: dict[int, tuple] = {}

    def __missing__(self, slot: int):
        return self.initial[slot]


@dataclass
class _State:
    """The registers at a place of the program; those of `unknown` hold random numbers."""

    registers: _Values
    unknown: set[int]


class Reaches:
    """Computes the addresses of some accesses of a program to "shared", to "local" or to constant memory, "const":
    `places` by the index of the instruction."""

    def __init__(self, program: Program, accesses: Iterable[int], space: str = "shared", seed: int = 1) -> None:
        self.places: dict[int, Reach] = {}
        self._spaces = (space, "global")  # where an atomic operation on a generic address may be
        self._program, self._sample = program, _Sample(program, seed)
        self._accesses = frozenset(accesses)
        self._slots = sorted({slot for i in program.instructions for slot in i.writes if slot is not None})
        rng = np.random.default_rng(2)
        self._random = {slot: _random(rng, program.initial[slot].dtype) for slot in self._slots}
        self._computed: dict[int, tuple[list, tuple]] = {}  # by instruction what it read last, and wrote
        self._order, self._back, loops = _loops(program.blocks)
        self._ends: dict[int, list[int]] = {number: [] for number in self._order}  # by block, of loops that begin there
        for end, head in self._back:
            self._ends[head].append(end)
        self._forward: dict[int, list[int]] = {number: [] for number in self._order}
        for number in self._order:
            for successor in program.blocks[number].successors:
                if (number, successor) not in self._back:
                    self._forward[successor].append(number)
        self._exits = {
            (end, number) for number, ways in self._forward.items() for end in ways if loops[end] & ~loops[number]
        }
        self._skippable = self._put_first_who_skips()
        self._passed = self._last_asked_for({end for end, _ in self._back | self._exits})
        with np.errstate(all="ignore"):
            self._compute()

    def _put_first_who_skips(self) -> set[int]:
        """Blocks to which one way skips the others: it leaves a block that all of them have come through."""
        through: dict[int, int] = {}  # by block those that lie on every way to it, as bits
        skippable = set()
        for number in self._order:
            ways = self._forward[number]
            common = reduce(int.__and__, (through[way] for way in ways), -1) if ways else 0
            through[number] = common | 1 << number
            for way in ways:
                if len(ways) > 1 and common >> way & 1:
                    ways.remove(way)
                    ways.insert(0, way)
                    skippable.add(number)
                    break
        return skippable

    def _last_asked_for(self, kept: set[int]) -> dict[int, list[int]]:
        """By block those behind which no later one comes: their states are not needed any more, unless they are `kept`.

        A state holds its own values of hundreds of registers, and a large kernel has thousands of blocks.
        """
        last = {number: number for number in self._order}
        for number in self._order:
            last.update(dict.fromkeys(self._forward[number], number))
        passed: dict[int, list[int]] = {number: [] for number in self._order}
        for number, at in last.items():
            if number not in kept:
                passed[at].append(number)
        return passed

    def _compute(self) -> None:
        first: dict[int, Reached] = {}
        second: dict[int, Reached] = {}
        left: dict[int, _State] = {}
        once = self._sweep({}, left, first)
        for _ in range(LOOPS_IN_A_ROW if self._exits else 0):
            again = self._sweep(once, left)
            third = self._sweep(again, left)
            left = {end: self._without_rounds(once[end], again[end], third[end]) for end, _ in self._exits}
            once = self._sweep({}, left, first)
            if all(access.is_known for access in first.values()):
                break
        if self._back:
            self._sweep(once, left, second)
        for index, access in first.items():
            self.places[index] = Reach(access.addresses, second.get(index, access).addresses, access.width)

    def _sweep(
        self, before: Mapping[int, _State], left: Mapping[int, _State], reached: dict[int, Reached] | None = None
    ) -> dict[int, _State]:
        """Go through every basic block once: the states at the ends of loops, and where they are left. What accesses
        reach is put into `reached`.

        A loop begins with what is behind its end in `before`, or else with what comes from outside. A thread that
        leaves a loop at a block does so with the state of `left`."""
        ends: dict[int, _State] = {}
        for number in self._order:
            rounds = [before[end] for end in self._ends[number] if end in before]
            coming = [
                left[end] if (end, number) in self._exits and end in left else ends[end]
                for end in self._forward[number]
            ]
            state = self._merged(rounds or coming, not rounds and number in self._skippable)
            ends[number] = self._through(self._program.blocks[number], state, reached)
            for end in self._passed[number]:
                del ends[end]
        return ends

    def _without_rounds(self, once: _State, again: _State, third: _State) -> _State:
        """What a loop would leave behind if it had no round: one step before the first, where steps are equal.

        So many rounds has a loop at the least, whichever way ptxas unrolled it.
        """
        state = _State(self._values_of(once.registers), once.unknown | again.unknown | third.unknown)
        for slot in self._slots:
            a, b, c = (each.registers[slot] for each in (once, again, third))
            if slot in state.unknown:
                state.registers[slot] = self._random[slot]
            elif a is not b or b is not c:
                a, b, c = (_bits(value) for value in (a, b, c))
                if a.dtype.kind == "b":
                    self._forget(state, slot) if (a != b).any() else None
                elif (b - a == c - b).all():
                    state.registers[slot] = (a - (b - a)).view(once.registers[slot].dtype)
                else:
                    self._forget(state, slot)
        return state

    def _start(self) -> _State:
        state = _State(self._values_of({}), set(self._slots))
        self._sample.registers = state.registers
        if self._program.start is not None:
            self._program.start(self._sample)
        for slot in self._slots:
            state.registers[slot] = self._random[slot]
        return state

    def _values_of(self, registers: Mapping[int, np.ndarray]) -> _Values:
        values = _Values(registers)
        values.initial = self._program.initial
        return values

    def _merged(self, states: list[_State], skipped: bool = False) -> _State:
        """What is known where several ways meet: that in which they agree, thread by thread.

        Where the first way has `skipped` what the others do, such as the rounds that ptxas has taken out of a loop, it
        counts for what they have moved on.
        """
        if not states:
            return self._start()
        first, *others = states
        merged = _State(self._values_of(first.registers), set(first.unknown))
        for other in others:
            for slot in self._slots:
                a, b = merged.registers[slot], other.registers[slot]
                if a is b or slot in merged.unknown:
                    continue
                if slot in other.unknown:
                    self._forget(merged, slot)
                    continue
                same = _bits(a) == _bits(b)
                if same.all() or skipped and _goes_on(a, b):
                    continue
                if not same.any():
                    self._forget(merged, slot)
                else:
                    merged.registers[slot] = merge(same, a, self._random[slot])
        return merged

    def _forget(self, state: _State, slot: int | None) -> None:
        if slot is not None:
            state.registers[slot] = self._random[slot]
            state.unknown.add(slot)

    def _through(self, block: BasicBlock, state: _State, reached: dict | None) -> _State:
        for instruction in self._program.instructions[block.start : block.stop]:
            if reached is not None and instruction.index in self._accesses:
                self._reach(instruction, state, reached)
            values = self._values(instruction, state)
            for number, slot in enumerate(instruction.writes):
                if slot is None:
                    continue
                if values is None:
                    self._forget(state, slot)
                    continue
                value = values[number]
                if instruction.guard is not None:
                    guard, negated = state.registers[instruction.guard[0]], instruction.guard[1]
                    value = merge(np.logical_not(guard) if negated else guard, value, state.registers[slot])
                state.registers[slot] = value
                state.unknown.discard(slot)
        return state

    def _values(self, instruction: Instruction, state: _State) -> tuple | None:
        """What an instruction writes; None if that is not known ahead."""
        unknown, registers = state.unknown, state.registers
        if instruction.guard is not None and instruction.guard[0] in unknown:
            return None
        if not unknown.isdisjoint(instruction.reads):
            return None
        read = [registers[slot] for slot in instruction.reads]
        if (before := self._computed.get(instruction.index)) and all(map(is_, read, before[0])):
            return before[1]
        if instruction.kind is Kind.ALU and instruction.writes:
            values = instruction.evaluate(registers)
        elif instruction.kind is Kind.EFFECT and _is_read_ahead(instruction):
            try:
                values = instruction.execute(self._sample, registers, None)
            except (KeyError, Reached):
                return None
        else:
            return None
        values = values if isinstance(values, tuple) else (values,)
        self._computed[instruction.index] = read, values
        return values

    def _reach(self, instruction: Instruction, state: _State, reached: dict) -> None:
        self._sample.instruction, self._sample.looks_at = instruction, self._spaces[0]
        try:
            instruction.execute(self._sample, state.registers, None)
        except Reached as access:
            if access.space in self._spaces:
                reached[instruction.index] = access.with_traceback(None)  # its frames have hold of `reached`
        self._sample.looks_at = ""


@uncollected
def arrays_of(
    kernel: CompiledKernel, program: Program, undecided: Mapping[int, Mapping[int, Array | None]]
) -> dict[int, Array]:
    """By the index of an access of the machine code the array that it reaches, where that is found.

    `undecided` holds, by the same index, the PTX statements that it may come from, each with its array, None where that
    is not known. (What is asked for may be anything else that statements have: their `Strength`.)
    """
    statements = {index for candidates in undecided.values() for index in candidates}
    return reached_by(
        Reaches(program, undecided).places, Reaches(addresses_alone(kernel, statements), statements).places, undecided
    )


def reached_by(
    machine: Mapping[int, Reach], source: Mapping[int, Reach], undecided: Mapping[int, Mapping[int, Array | None]]
) -> dict[int, Array]:
    """As `arrays_of`, of places that are known: those of the machine code, and those of the PTX."""
    candidates: dict[int, _Candidates] = {}
    reached = {}
    for index, ours in undecided.items():
        if index not in machine:
            continue
        if id(ours) not in candidates:  # one for all accesses of a line
            candidates[id(ours)] = _Candidates(
                [(source[statement], array) for statement, array in ours.items() if statement in source]
            )
        if (array := candidates[id(ours)].array(machine[index])) is not None:
            reached[index] = array
    return reached


class _Candidates(Generic[Array]):
    """Accesses of the PTX, each with its array, by their addresses."""

    def __init__(self, accesses: list[tuple[Reach, Array | None]]) -> None:
        self._accesses = accesses
        self._at: dict[bytes, list[tuple[Reach, Array | None]]] = {}
        self._around: dict[bytes, list[tuple[Reach, Array | None]]] = {}  # by the words that they lie in
        for access, array in accesses:
            self._at.setdefault(access.first.tobytes(), []).append((access, array))
            if access.width == HALF:  # what is atomic for 16 bits works on a word in machine code
                word = Reach(access.first & -WORD, access.second & -WORD, WORD)
                self._around.setdefault(word.first.tobytes(), []).append((word, array))

    def array(self, access: Reach) -> Array | None:
        """The one array that an access reaches with all its bytes: ptxas may have joined several into a wide one."""
        byte, reached = 0, set()
        while byte < access.width:
            address = access.first + byte
            candidates = self._at.get(address.tobytes())
            if not candidates and access.width == WORD:
                candidates = self._around.get(address.tobytes())
            candidates = candidates or self._in_a_later_round(address)
            if not candidates:
                return None
            if len({array for _, array in candidates}) > 1:  # they meet in the first round: the second one may tell
                candidates = [
                    candidate for candidate in candidates if np.array_equal(candidate[0].second, access.second + byte)
                ] or candidates
            reached |= {array for _, array in candidates}
            byte += min(other.width for other, _ in candidates)
        return reached.pop() if len(reached) == 1 else None

    def _in_a_later_round(self, address: np.ndarray) -> list[tuple[Reach, Array | None]]:
        """Those that have this address in one of the next rounds of their loops: the first of all."""
        rounds = [(_rounds(address, other), other, array) for other, array in self._accesses]
        fewest = min((count for count, _, _ in rounds if count is not None), default=None)
        return [(other, array) for count, other, array in rounds if count is not None and count == fewest]


def _rounds(address: np.ndarray, access: Reach) -> int | None:
    """How many rounds of its loop after the first an access has this address; None if never."""
    known = (address == address[0]).all(axis=0) & (access.first == access.first[0]).all(axis=0)
    if known.sum() < ENOUGH:
        return None
    distance = (address - access.first)[0, known]
    if (distance != distance[0]).any():
        return None
    if distance[0] == 0:
        return 0
    step = (access.second - access.first)[:, known]
    if (step != step[0, 0]).any() or step[0, 0] == 0:
        return None
    rounds, rest = divmod(int(distance[0]), int(step[0, 0]))
    return rounds if rest == 0 and rounds >= 0 else None


def _is_read_ahead(effect: Instruction) -> bool:
    if effect.opcode.startswith("LDSM"):
        return False
    return effect.opcode.startswith(READ_AHEAD) or (effect.opcode.startswith("LDC") and PARAMETERS in effect.text)


def _contents(addresses, dtype: np.dtype, count: int) -> tuple[np.ndarray, ...]:
    """What memory holds there: bytes that depend on their addresses and on the row, but not on how they are loaded."""
    size = dtype.itemsize * count
    bytes_ = np.empty((ROWS, THREADS, size), np.uint64)
    np.add(np.asarray(addresses).astype(np.uint64)[..., None], _offsets(size), out=bytes_)
    bytes_ ^= bytes_ >> np.uint64(29)
    bytes_ *= MIXING
    values = np.ascontiguousarray((bytes_ >> np.uint64(56)).astype(np.uint8)).view(dtype)
    return tuple(values[..., part] for part in range(count))


@cache
def _offsets(size: int) -> np.ndarray:
    """By row, thread and byte of an access the way from its address to where its bytes lie."""
    return np.arange(ROWS, dtype=np.uint64)[:, None, None] * FAR + np.arange(size, dtype=np.uint64)


def _goes_on(a, b) -> bool:
    """Whether a number has become another one by a step that is the same for all threads."""
    if a.dtype.kind not in "iu" or b.dtype.itemsize != a.dtype.itemsize:
        return False
    step = _bits(b) - _bits(a)
    return bool((step == step.flat[0]).all())


def _random(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return rng.random((ROWS, THREADS)) < 0.5
    return rng.integers(0, 256, (ROWS, THREADS * dtype.itemsize), np.uint8).view(dtype)


def _bits(value) -> np.ndarray:
    value = np.asarray(value)
    return value if value.dtype.kind == "b" else value.view(f"u{value.dtype.itemsize}")


def _loops(blocks: list[BasicBlock]) -> tuple[list[int], set[tuple[int, int]], list[int]]:
    """(an order in which a block comes behind those that lead to it, edges back to the head of a loop, by block the
    loops that it is in, as bits)."""
    order: list[int] = []
    back: set[tuple[int, int]] = set()
    before: dict[int, list[int]] = {}
    open_, seen = {0}, {0}
    ways = [(0, iter(blocks[0].successors))]
    while ways:
        number, following = ways[-1]
        for successor in following:
            before.setdefault(successor, []).append(number)
            if successor in open_:
                back.add((number, successor))
            elif successor not in seen:
                seen.add(successor)
                open_.add(successor)
                ways.append((successor, iter(blocks[successor].successors)))
                break
        else:
            ways.pop()
            open_.discard(number)
            order.append(number)
    loops = [0] * len(blocks)
    for bit, (end, head) in enumerate(back):
        loop, todo = {head, end}, [end] if end != head else []
        while todo:
            new = {number for number in before.get(todo.pop(), ()) if number not in loop}
            loop |= new
            todo += new
        for number in loop:
            loops[number] |= 1 << bit
    return order[::-1], back, loops
