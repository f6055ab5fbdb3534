"""Values that are not defined, followed through registers until they are used.

A variable that is read before it is set is one. The compiler may keep it in a register that nothing was written to
(`never_set`), or make NaN of what is computed from it (`has_folded`); both show in the PTX, where they are looked for:
in machine code ptxas leaves registers unset that do not matter. Of whole numbers, and of elements behind the end of an
array that is kept in registers, the compiler may leave nothing at all.

A shuffle takes an undefined value from a lane that does not take part: one that the block does not have, that has
ended, that the mask does not name, or that is elsewhere. A right program may do so, as the upper lanes in the last
steps of a reduction: nothing is wrong before the value is stored, is an address, or decides a branch, or something that
was computed from it is or does. A value that a selection or a guard leaves aside is not used. A branch that it decides
is a selection, too, if all that is done in it is to write registers: of these it is then not defined what they hold.

`UndefinedValues` keeps for each register by thread which undefined value what it holds was computed from (0: none), and
the same of the words of local memory. It follows single instructions, which is slow, and only while there are such
values.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.compiler import ptx
from gpusim.compiler.ptx import Register, Vector
from gpusim.devices import WARP
from gpusim.engine.accesses import active_lanes, by_thread, by_warp, gone
from gpusim.engine.ir import Instruction, Kind, Program, uncollected
from gpusim.engine.observers import Access, LanesTaken
from gpusim.isa.ptx.flow import READ_ONLY, following, registers_of

WARP_WIDE = ("VOTE", "REDUX", "CREDUX", "MATCH", "R2UR", "vote", "redux", "match")
MATRICES = ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "MOVM", "mma", "wmma.mma", "movmatrix")
WITHOUT_EFFECT = ("BSSY", "BREAK", "BMOV", "YIELD", "NOP", "LD", "ld", "SHFL", "shfl", "S2R", "CS2R", "R2UR")
STORES, ADDRESS, DECIDES = "stores {}", "uses {} as an address", "decides by {}"
PACKS = ("prmt", "bfi")
LEAVES = ("bra", "brx", "ret", "exit", "trap")
WORD = 4  # bytes of local memory
FOLDED = ("0f7FC00000", "0d7FF8000000000000")
MAY_BE_NAN = re.compile(r"nan|inf|0x7f|huge_val|sqrt|log|pow|acos|asin|fmod|__int_as_float|/\s*0", re.IGNORECASE)


@uncollected
def never_set(function: ptx.Function) -> frozenset[str]:
    """The registers of a function that may be read before they are written: those that are live where it begins.

    Not those that are only packed with others into one register: there the compiler puts any for parts that do not
    count, such as two of the four bytes that `dp2a` takes.
    """
    statements = function.statements
    ends = {index for index, statement in enumerate(statements) if statement.name in LEAVES}
    starts = sorted({0, *(index + 1 for index in ends), *function.labels.values()} & set(range(len(statements))))
    stops = [*starts[1:], len(statements)]
    number_of = {start: number for number, start in enumerate(starts)}
    reads, writes = [], []
    names_of: dict[int, list[str]] = {}  # by the identity of an operand: all registers of one name are one
    for start, stop in zip(starts, stops, strict=True):
        read: set[str] = set()
        written: set[str] = set()
        for statement in statements[start:stop]:
            result, *sources = operands = statement.operands or (None,)
            counts = statement.name in ("bar", "barrier") and "red" in statement.opcode  # and leaves a result
            if (statement.name in READ_ONLY and not counts) or not isinstance(result, Register | Vector):
                result, sources = None, operands
            for operand in (*sources, statement.guard):
                if operand is not None:
                    names = names_of.get(id(operand))
                    if names is None:
                        names = names_of[id(operand)] = registers_of(operand)
                    for name in names:  # a generator takes longer to make than this
                        if name not in written:
                            read.add(name)
            if result is not None and statement.guard is None:
                written.update(registers_of(result))
        reads.append(read)
        writes.append(written)
    ways = [[number_of[way] for way in following(function, stop - 1)] for stop in stops]
    live = [set(read) for read in reads]
    changed = True
    while changed:
        changed = False
        for block in reversed(range(len(starts))):
            more = set().union(*(live[way] for way in ways[block])) - writes[block] - live[block]
            live[block] |= more
            changed |= bool(more)
    names = {name for name in (live[0] if live else ()) if name in function.registers}
    return frozenset(names and names & _computed_with(statements))


def _computed_with(statements: Sequence[ptx.Statement]) -> set[str]:
    """The registers that statements read which do more than to pack some into one."""
    return {
        name
        for statement in statements
        if statement.name not in PACKS and not (statement.name == "mov" and isinstance(statement.operands[-1], Vector))
        for operand in (
            *(statement.operands if statement.name in READ_ONLY else statement.operands[1:]),
            statement.guard,
        )
        if operand is not None
        for name in registers_of(operand)
    }


def has_folded(text: str, source: str) -> bool:
    """Whether PTX has constants that the compiler put in place of what is computed from a variable that is never set:
    a NaN, in code whose source does not speak of any, or of what may give one."""
    return any(constant in text for constant in FOLDED) and MAY_BE_NAN.search(source) is None


class Absence(IntEnum):
    """Why a lane does not take part in a shuffle."""

    NO_THREAD = 0  # the block does not have it
    ENDED = 1
    ELSEWHERE = 2  # on another way, or not named by the mask
    NOT_NAMED = 3  # by the mask, which is an operand at PTX level


@dataclass
class FromLanes:
    """A shuffle that takes from lanes that do not take part: by thread which one, -1 for none, and what is the matter
    with it."""

    instruction: int
    lanes: np.ndarray
    absence: np.ndarray


@dataclass
class NeverSet:
    """A register of PTX that is read before it is written; `instruction` is the first that computes with it, or -1."""

    instruction: int = -1


@dataclass(frozen=True)
class Use:
    """A thread, by its row of the wave, uses an undefined value; `how` says what for."""

    origin: FromLanes | NeverSet
    instruction: int
    how: str
    row: int
    thread: int

    @property
    def taken(self) -> tuple[int, int, Absence]:
        """(a thread that took the value, the thread's if it did it itself; from which lane; why that is absent)."""
        lanes = self.origin.lanes[self.row]
        takers = np.flatnonzero(lanes >= 0)
        if not takers.size:
            return self.thread, 0, Absence.ELSEWHERE
        near = takers[takers // WARP == self.thread // WARP]
        taker = self.thread if lanes[self.thread] >= 0 else int((near if near.size else takers)[0])
        return taker, int(lanes[taker]), Absence(int(self.origin.absence[self.row, taker]))


class UndefinedValues:
    """Follows the undefined values of a wave; `report(wave, use)` is called for those that are used.

    Args: `unset`: the registers that are never set before they are read. `folded`: the instructions of which a constant
    stands for what was never set.
    """

    def __init__(
        self,
        program: Program,
        report: Callable[[Any, Use], None],
        unset: Collection[int] = (),
        folded: Collection[int] = (),
    ) -> None:
        self._program = program
        self._report = report
        self._unset, self._folded = unset, folded

    def begin(self, wave) -> None:
        """A new wave: only what is never set is undefined."""
        self._wave = wave
        self._origins: list[FromLanes | NeverSet] = []
        # By register the origins of what it holds, int32 (blocks, threads): 1 + 2 times the number of the origin, and
        # one more if it was computed from that.
        self._slots: dict[int, np.ndarray] = {}
        self._local: np.ndarray | None = None  # the same by word of local memory, in front
        self._at_joins: list[tuple[int, np.ndarray, frozenset[int]]] = []  # (basic block, by thread, registers)
        self._instruction = -1
        for slot in self._unset:
            self._slots[slot] = np.full(wave.shape, self._code(NeverSet()), np.int32)
        self._of_constants = {index: self._code(NeverSet(index)) for index in self._folded}

    def _code(self, origin: FromLanes | NeverSet) -> int:
        self._origins.append(origin)
        return 2 * len(self._origins) - 1

    def _origin_of(self, code: int) -> FromLanes | NeverSet:
        return self._origins[(code - 1) // 2]

    @property
    def follows(self) -> bool:
        """Whether there are undefined values."""
        return bool(self._slots or self._at_joins or self._local is not None or self._folded)

    # ---- what the engine says while it executes instruction by instruction
    def executed(self, block: int, mask: np.ndarray | None) -> None:
        """The threads of `mask` come to a basic block."""
        if not self._at_joins:
            return
        active = self._active(mask)
        kept = []
        for join, codes, slots in self._at_joins:
            here = active & (codes != 0) if join == block else None
            if here is not None and here.any():
                for slot in slots:
                    self._put(slot, here, codes)
                codes = np.where(here, 0, codes)
            if codes.any():
                kept.append((join, codes, slots))
        self._at_joins = kept

    def before(self, instruction: Instruction) -> None:
        """An instruction is about to be executed."""
        wave = self._wave
        self._instruction = instruction.index
        self._before = {slot: self._slots[slot] for slot in instruction.reads if slot in self._slots}
        writes = [slot for slot in instruction.writes if slot is not None]
        guard = None if instruction.guard is None else self._slots.get(instruction.guard[0])
        is_folded = instruction.index in self._folded
        if not (self._before or is_folded or guard is not None or any(slot in self._slots for slot in writes)):
            return
        active = self._active(wave.mask)
        taking_part = active
        if instruction.guard is not None:
            truth = np.broadcast_to(wave.registers[instruction.guard[0]], wave.shape)
            taking_part = active & (~truth if instruction.guard[1] else truth)
        codes = self._computed(instruction, self._codes(instruction, taking_part))
        if is_folded:
            codes = _either(codes, self._of_constant(instruction))
        for slot in writes:
            self._put(slot, taking_part, codes, slot in instruction.uniform)
        if guard is not None and (decided := np.where(active, guard, 0)).any():
            for slot in writes:
                self._put(slot, decided != 0, decided)
            if not writes:
                self._use(instruction.index, decided, DECIDES)

    def _computed(self, instruction: Instruction, codes: np.ndarray | int) -> np.ndarray | int:
        """The codes of what an instruction computes from values with these codes."""
        if instruction.copies or not np.any(codes):
            return codes
        for code in np.unique(codes[codes & 1 != 0]).tolist():
            origin = self._origin_of(code)
            if isinstance(origin, NeverSet) and origin.instruction < 0:
                origin.instruction = instruction.index
        return codes + (codes & 1)

    def _of_constant(self, instruction: Instruction) -> np.ndarray:
        """By thread the code of a constant that stands for what was never set, where the result depends on it."""
        counts: Any = np.True_
        if instruction.chooses is not None:
            sides = zip(instruction.chosen, instruction.chooses(self._wave.registers), strict=True)
            counts = next((does_count for slots, does_count in sides if not slots), np.True_)
        return np.where(np.broadcast_to(counts, self._wave.shape), self._of_constants[instruction.index] + 1, 0)

    def _codes(self, instruction: Instruction, taking_part: np.ndarray) -> np.ndarray | int:
        """By thread what a result comes from. (Loads and shuffles say it while they are executed.)"""
        if not self._before:
            return 0
        if instruction.kind is Kind.EFFECT:
            if not instruction.opcode.startswith((*WARP_WIDE, *MATRICES)):
                return 0
            return self._of_warp(np.where(taking_part, self._any_of(self._before), 0))
        if instruction.chooses is None:
            return self._any_of(self._before)
        groups = [[slot for slot in slots if slot in self._before] for slots in instruction.chosen]
        counts = instruction.chooses(self._wave.registers)
        all_of = [self._any_of(group) for group in groups]
        both = (all_of[0] != 0) & (all_of[1] != 0)  # each may be what makes the other one not matter
        result = self._any_of([slot for slot in self._before if slot not in (*groups[0], *groups[1])])
        for codes, does_count in zip(all_of, counts, strict=True):
            result = _either(result, np.where(does_count | both, codes, 0))
        return result

    def lanes_taken(self, event: LanesTaken) -> None:
        """Threads take by a shuffle what other lanes hold."""
        wave, instruction = event.wave, event.wave.instruction
        taken = self._any_of(self._before) if self._instruction == instruction.index else np.int32(0)
        absent = by_thread(wave, event.absent)
        if not absent.any() and not taken.any():
            return
        codes = np.take_along_axis(by_warp(wave, taken), event.lanes, axis=2)
        codes = np.where(absent, self._from_lanes(event, absent), by_thread(wave, codes))
        self._put(instruction.writes[0], self._active(event.mask), codes)

    def _from_lanes(self, event: LanesTaken, absent: np.ndarray) -> int:
        """The code of what these threads take from absent lanes."""
        wave, index = event.wave, event.wave.instruction.index
        lanes = by_thread(wave, event.lanes)
        taken_from = np.arange(wave.threads) // WARP * WARP + lanes
        ended = np.take_along_axis(gone(wave), np.minimum(taken_from, wave.threads - 1), axis=1)
        elsewhere = Absence.NOT_NAMED if wave.launch.prepared.program.level == "ptx" else Absence.ELSEWHERE
        absence = np.where(ended, np.int8(Absence.ENDED), np.int8(elsewhere))
        absence[taken_from >= wave.threads] = Absence.NO_THREAD
        for number, origin in enumerate(self._origins):
            if isinstance(origin, FromLanes) and origin.instruction == index:
                origin.absence = np.where(origin.lanes < 0, absence, origin.absence)
                origin.lanes = np.where(absent & (origin.lanes < 0), lanes, origin.lanes)
                return 2 * number + 1
        return self._code(FromLanes(index, np.where(absent, lanes, -1), absence))

    def access(self, event: Access) -> None:
        """Threads access memory."""
        instruction = event.wave.instruction
        known = self._instruction == instruction.index
        codes = np.where(self._active(event.mask), self._any_of(self._before) if known else 0, 0)
        is_load, is_local = event.op.startswith("ld"), event.space == "local"
        if is_local and event.op == "st":
            self._store_locally(event, codes)
        elif codes.any() and not self._fills_a_vector(event, codes):
            self._use(instruction.index, codes, ADDRESS if is_load else STORES)
        if is_local and is_load and self._local is not None:
            slots = [slot for slot in instruction.writes if slot is not None]
            each = max(1, event.width // max(1, len(slots)))
            for number, slot in enumerate(slots):
                self._put(slot, self._active(event.mask), self._loaded_locally(event, number * each, each))

    def _fills_a_vector(self, event: Access, codes: np.ndarray) -> bool:
        """Whether a store of a vector leaves some of its elements as they were never set: the w of a float4, say."""
        if event.op != "st" or len(self._before) >= event.width // WORD:
            return False
        origins = [self._origin_of(code) for code in np.unique(codes[codes != 0]).tolist()]
        return not (codes & 1 == 0)[codes != 0].any() and all(isinstance(origin, NeverSet) for origin in origins)

    def address(self, wave, mask: np.ndarray | None) -> None:
        """Threads copy what they name by addresses."""
        if self._instruction == wave.instruction.index:
            codes = np.where(self._active(mask), self._any_of(self._before), 0)
            if codes.any():
                self._use(wave.instruction.index, codes, ADDRESS)

    def decides(self, last: Instruction) -> None:
        """A basic block ends: where threads go on may depend on undefined values."""
        if last.kind in (Kind.ALU, Kind.EFFECT, Kind.NOTHING):
            return
        slots = [*last.reads, *(last.guard or ())[:1]]
        codes = self._any_of([slot for slot in slots if slot in self._slots])
        active = self._active(self._wave.mask)
        codes = np.where(active, codes, 0)
        for slot in last.writes:
            if slot in self._slots:
                self._put(slot, active, 0)
        if not codes.any() or (last.kind is Kind.BRANCH and self._only_selects(last, codes)):
            return
        self._use(last.index, codes, DECIDES)

    def _only_selects(self, last: Instruction, codes: np.ndarray) -> bool:
        """Whether what a branch leads to does nothing but write registers before its ways meet; these are noted."""
        inside, join = self._regions.of(last.index)
        if join is None:
            return False
        slots: set[int] = set()
        for block in inside:
            for instruction in self._program.instructions[block.start : block.stop]:
                if instruction.kind is Kind.EFFECT and not instruction.opcode.startswith(WITHOUT_EFFECT):
                    return False
                if instruction.kind not in (Kind.ALU, Kind.EFFECT, Kind.BRANCH, Kind.MEETING, Kind.NOTHING):
                    return False
                slots.update(slot for slot in instruction.writes if slot is not None)
        self._at_joins.append((join, codes, frozenset(slots)))
        return True

    @cached_property
    def _regions(self) -> "Regions":
        return Regions(self._program)

    # ---- codes
    def _active(self, mask: np.ndarray | None) -> np.ndarray:
        return self._wave.alive() if mask is None else np.broadcast_to(mask, self._wave.shape)

    def _any_of(self, slots: Iterable[int]) -> np.ndarray:
        """By thread one of the origins of what some registers hold."""
        result = np.int32(0)
        for slot in slots:
            result = _either(result, self._before[slot] if slot in self._before else self._slots[slot])
        return result

    def _of_warp(self, codes: np.ndarray) -> np.ndarray:
        """By thread one of the origins in its warp."""
        rows = by_warp(self._wave, codes)
        return by_thread(self._wave, np.broadcast_to(rows.max(axis=2, keepdims=True), rows.shape))

    def _put(self, slot: int, where: np.ndarray, codes: np.ndarray | int, is_uniform: bool = False) -> None:
        """A register is written by some threads, or by all of their warps."""
        old = self._slots.get(slot)
        if old is None and not np.any(codes):
            return
        if is_uniform:
            codes = self._of_warp(np.where(where, codes, 0))
            where = by_thread(self._wave, _in_all(active_lanes(self._wave, where)))
        new = np.where(where, codes, np.int32(0) if old is None else old).astype(np.int32)
        if new.any():
            self._slots[slot] = new
        else:
            self._slots.pop(slot, None)

    # ---- local memory
    def _words(self, event: Access, first: int, width: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The (words, rows, threads) of an access of `width` bytes from byte `first` on."""
        rows, threads = np.nonzero(self._active(event.mask))
        addresses = np.broadcast_to(event.addresses, self._wave.shape)[rows, threads] + first
        for word in range(-(-width // WORD)):
            yield addresses // WORD + word, rows, threads

    def _store_locally(self, event: Access, codes: np.ndarray) -> None:
        if self._local is None:
            if not codes.any():
                return
            size = -(-event.wave.local.size // WORD)
            self._local = np.zeros((size, *self._wave.shape), np.int32)
        for word in self._words(event, 0, event.width):
            self._local[word] = codes[word[1:]]

    def _loaded_locally(self, event: Access, first: int, width: int) -> np.ndarray:
        codes = np.zeros(self._wave.shape, np.int32)
        for word in self._words(event, first, width):
            codes[word[1:]] = np.maximum(codes[word[1:]], self._local[word])
        return codes

    # ---- findings
    def _use(self, instruction: int, codes: np.ndarray, how: str) -> None:
        for code in np.unique(codes[codes != 0]).tolist():
            row, thread = (int(i) for i in np.argwhere(codes == code)[0])
            self._report(self._wave, Use(self._origin_of(code), instruction, how, row, thread))


def _either(preferred: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.where(preferred != 0, preferred, other)


def _in_all(lanes: np.ndarray) -> np.ndarray:
    """(blocks, warps, 32): all lanes of the warps of which some are set."""
    return np.broadcast_to(lanes.any(axis=2, keepdims=True), lanes.shape)


class Regions:
    """Of a program, where the ways that begin at a branch meet again."""

    def __init__(self, program: Program) -> None:
        self._blocks = program.blocks
        self._at = {block.stop - 1: block.index for block in program.blocks}
        every = (1 << len(program.blocks)) - 1
        self._behind = [every] * len(program.blocks)  # as bits: the blocks that lie on all ways from here, it included
        changed = True
        while changed:
            changed = False
            for block in reversed(program.blocks):
                common = every if block.successors else 0
                for successor in block.successors:
                    common &= self._behind[successor]
                common |= 1 << block.index
                changed |= common != self._behind[block.index]
                self._behind[block.index] = common

    def of(self, branch: int) -> tuple[list, int | None]:
        """(the basic blocks between a branch and the first one that all its ways lead to, that one's number if any)."""
        start = self._at[branch]
        common = self._behind[start] & ~(1 << start)
        # Of those that all ways lead to, the first has all the others behind it.
        behind_all = (n for n in range(len(self._blocks)) if common >> n & 1 and self._behind[n] & common == common)
        join = next(behind_all, None)
        if join is None:
            return [], None
        inside, ways = set(), list(self._blocks[start].successors)
        while ways:
            way = ways.pop()
            if way != join and way not in inside:
                inside.add(way)
                ways += self._blocks[way].successors
        return [self._blocks[number] for number in sorted(inside)], join
