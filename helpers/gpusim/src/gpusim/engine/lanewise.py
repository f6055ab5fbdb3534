"""Instructions that compute, executed by the C program for the engine in NumPy: what each does is said there alone.

The C program executes a run of them, in order, for 32 threads at a time
(`helpers/gpusim/src/gpusim/native/engine/lanewise.c`). Values that are the same in all threads, or in all blocks, stay
so: the axes of a result are those of what it depends on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from gpusim import native
from gpusim.devices import WARP
from gpusim.engine.ir import Registers
from gpusim.engine.machine_layout import INSTRUCTION, CLaunch, aligned, operations, pack
from gpusim.isa.decoded import LISTS, NEGATED, Decoded

MOST_TOGETHER = 32  # instructions of a run, as in lanewise.c
ZEROS = 8  # constants that are 0, before all others
KEEPS_WHAT_WAS_TRUE = 2  # of R2UR, as in exchange.c
FREE_PREDICATES = 18  # behind those with a meaning of their own
PREDICATE, WORD = 0, 4  # bytes of a value in the C program
CONSTANTS = 1 << 23  # rows from here on are of words of constant banks
RESULTS = 1 << 22  # and those before of what a result holds while it is made: no values of before
DROPPED = -1  # the slot of a part of a result that is not kept
BY_THREAD, BY_BLOCK, FLAT = 1, 2, 4  # axes of values; FLAT: they have one alone
PORT = np.dtype([(name, "i4") for name in ("place", "bytes", "step", "by_thread", "by_block")])


class Part(NamedTuple):
    """32 bits of a register, or all of a shorter one.

    Attributes:
        row: Its number among all; that of the next 32 bits is one more.
        slot: The register's.
        offset: From which byte of its values on.
    """

    row: int
    slot: int
    offset: int = 0


@dataclass(eq=False)
class Computation:
    """An instruction that reads registers and writes registers. (Not frozen: that makes it three times as slow to make,
    and a kernel has thousands.)

    Attributes:
        decoded: What it does. Where its operands are say the others.
        sources: By source the parts of registers, or the constants of 32 bits, that it consists of.
        targets: The parts of registers that receive its result.
        predicates: The slots of the predicates by their numbers in `decoded`.
        initial: By slot a value of its type.
        lists: Numbers that the decoded form has by their place.
    """

    decoded: Decoded
    sources: tuple[tuple[Part | int, ...], ...]
    targets: tuple[Part, ...]
    predicates: Mapping[int, int]
    initial: Sequence[np.generic]
    lists: Sequence[int] = ()

    def parts(self) -> Iterator[Part]:
        """The parts of registers that it reads."""
        parts = (part for source in self.sources for part in source if isinstance(part, Part))
        return (part for part in parts if part.row < RESULTS or part.row >= CONSTANTS)

    @property
    def predicates_read(self) -> list[int]:
        """The slots of the predicates that it reads."""
        keeps = self.decoded.operation == "to uniform" and self.decoded.flags & KEEPS_WHAT_WAS_TRUE
        numbers = self.decoded.p_in + self.decoded.p_out if keeps else self.decoded.p_in
        return self._slots(numbers, "pack predicates")

    @property
    def predicates_written(self) -> list[int]:
        """The slots of the predicates that it writes."""
        return self._slots(self.decoded.p_out, "unpack predicates")

    def _slots(self, numbers: Sequence[int], of_many: str) -> list[int]:
        """Of the predicates that have one; those of an operation `of_many` are in a mask."""
        if not self.predicates:
            return []
        named = [self.predicates[which & ~NEGATED] for which in numbers if which & ~NEGATED in self.predicates]
        if self.decoded.operation == of_many:
            wanted, _, first, _ = self.decoded.number
            named += [self.predicates[first + bit] for bit in range(7) if wanted >> bit & 1]
        return named

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots of registers that it reads."""
        slots: dict[int, None] = {}
        for source in self.sources:
            for part in source:
                if type(part) is Part and part.row < RESULTS:
                    slots[part.slot] = None
        if self.predicates:
            slots.update(dict.fromkeys(self.predicates_read))
        return tuple(slots)

    @property
    def writes(self) -> tuple[int, ...]:
        """The slots that it writes."""
        slots = {part.slot: None for part in self.targets if part.slot != DROPPED}
        if self.predicates:
            slots.update(dict.fromkeys(self.predicates_written))
        return tuple(slots)

    @property
    def copies(self) -> bool:
        """Whether what it writes is what it reads, as it is."""
        decoded = self.decoded
        if decoded.operation not in ("move", "move two", "predicate logic3"):
            return False
        if len(self.reads) != 1 or len(self.writes) != 1:
            return False
        if decoded.operation == "predicate logic3":
            return decoded.number[:2] == [0xF0, 0]
        (read,), (written,) = self.reads, self.writes
        sources = [part.offset for source in self.sources for part in source if isinstance(part, Part)]
        return (
            not any(decoded.mode)
            and self.initial[read].dtype.itemsize == self.initial[written].dtype.itemsize
            and sources == [part.offset for part in self.targets if part.slot != DROPPED]
        )

    @cached_property
    def _alone(self) -> Run:
        return Run((self,))

    def exchange(self, wave, registers: Registers, mask: np.ndarray | None) -> tuple:
        """The same of what the lanes of a warp do together, those of `mask`; in others it may be anything."""
        return tuple(self._alone.exchanged(registers, wave.shape, mask))

    def evaluate(self, registers: Registers):
        """What it writes: the value, or a tuple of as many values as there are `writes`."""
        values = self._alone.values(registers)
        return values[0] if len(values) == 1 else tuple(values)


class _Plan(NamedTuple):
    """How a run is executed when its inputs have certain axes.

    Attributes:
        threads_of: An input that has as many threads as there are, -1 if none has.
        blocks_of: The same of blocks.
        ins: The ports of inputs.
        outs: The ports of outputs.
        groups: Outputs that lie in one array, one after the other: (axes, type, which).
        addresses: By port of an output its group, its place there, and from which byte on.
    """

    threads_of: int
    blocks_of: int
    ins: np.ndarray
    outs: np.ndarray
    groups: tuple[tuple[int, np.dtype, tuple[int, ...]], ...]
    addresses: tuple[tuple[int, int, int], ...]


class Run:
    """Computations that are executed one after the other, with nothing between them.

    Attributes:
        inputs: The slots that are read.
        outputs: The slots that are written.
    """

    def __init__(self, computations: Sequence[Computation]) -> None:
        self.inputs: list[int] = []
        self._initial = computations[0].initial
        self._depends: dict[int, int] = {}  # by slot that was written: the inputs that it depends on, as bits
        self._ins: dict[tuple[int, Part | int], None] = {}  # (row, its part), (number, slot of a predicate)
        self._outs: dict[tuple[int, Part | int], None] = {}
        self._words, self._lists = [0] * ZEROS, [0]
        parts = {part for computation in computations for part in (*computation.parts(), *computation.targets)}
        self._rows = {part.row: index for index, part in enumerate(sorted(parts))}
        self._numbers = _numbers(computations)
        packed = [self._packed(computation) for computation in computations]
        self.outputs = list(self._depends)
        self._code = np.frombuffer(bytearray().join(packed), INSTRUCTION)
        self._constants = aligned((len(self._words), WARP), np.uint32)
        self._constants[...] = np.array(self._words, np.uint32)[:, None]
        self._jumps = np.array(self._lists, np.int32)
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._launch = CLaunch(
            code=self._code.ctypes.data, constants=self._constants.ctypes.data, jumps=self._jumps.ctypes.data,
            instructions=len(packed),
        )  # fmt: skip

    # ---- what the C program is given

    def _packed(self, computation: Computation) -> bytes:
        """A computation as the C program reads it, with the rows and predicates of this run."""
        depends = 0
        for part in computation.parts():
            depends |= self._taken(part.slot, (self._rows[part.row], part))
        for slot in computation.predicates_read:
            depends |= self._taken(slot, (self._numbers[slot], slot))
        for part in computation.targets:
            if part.slot != DROPPED:
                self._depends[part.slot] = depends
                self._outs[self._rows[part.row], part] = None
        for slot in computation.predicates_written:
            self._depends[slot] = depends
            self._outs[self._numbers[slot], slot] = None
        decoded = copy(computation.decoded)
        decoded.d_width = len(computation.targets)
        decoded.source = [self._row_of(source) for source in computation.sources]
        decoded.p_in = [self._number(computation, which) for which in computation.decoded.p_in]
        decoded.p_out = [self._number(computation, which) for which in computation.decoded.p_out]
        d = self._row_of(computation.targets) if computation.targets else len(self._rows)
        return pack(decoded, d, operations()[decoded.operation])

    def _taken(self, slot: int, port: tuple[int, Part | int]) -> int:
        """The inputs that a register depends on, as bits; it is one itself if it was not written before."""
        if slot in self._depends:
            return self._depends[slot]
        if slot not in self.inputs:
            self.inputs.append(slot)
        self._ins[port] = None
        return 1 << self.inputs.index(slot)

    def _row_of(self, source: Sequence[Part | int]) -> int:
        """The row of a source, or where its rows are listed."""
        if not any(source):
            return -1
        rows = [self._rows[word.row] if isinstance(word, Part) else self._word(word) for word in source]
        step = 1 if isinstance(source[0], Part) else -1
        if all(row == rows[0] + step * k for k, row in enumerate(rows)):
            return rows[0]
        self._lists += rows
        return LISTS + len(self._lists) - len(rows)

    def _word(self, value: int) -> int:
        self._words.append(value & 0xFFFFFFFF)
        return -len(self._words)

    def _number(self, computation: Computation, which: int) -> int:
        slot = computation.predicates.get(which & ~NEGATED)
        return which if slot is None else self._numbers[slot] | which & NEGATED

    # ---- execution

    def values(self, registers: Registers) -> list:
        """What the outputs are for the values of the registers."""
        return [value for value, *_ in self._executed(registers)]

    def exchanged(self, registers: Registers, shape: tuple[int, int], mask: np.ndarray | None) -> list:
        """The same of what the lanes of a warp do together. shape: blocks and threads.  mask: those that take part."""
        active = np.broadcast_to(True if mask is None else mask, shape)
        return [value for value, *_ in self._executed(registers, active)]

    def execute(self, registers: Registers) -> None:
        """Write the outputs into the registers."""
        for slot, known in zip(self.outputs, self._executed(registers), strict=True):
            registers[slot] = known[0]
            registers.addresses[slot] = known

    def _executed(self, registers: Registers, active: np.ndarray | None = None) -> list[tuple]:
        """By output its value, the axes of it and where it lies in memory.

        active: by block and thread whether it takes part in what a warp does together.
        """
        addresses, inputs = registers.addresses, []
        for slot in self.inputs:
            value, known = registers[slot], addresses.get(slot)
            if known is None or known[0] is not value:
                known = addresses[slot] = _located(value)
            inputs.append(known)
        if active is not None:  # one input more, which all depend on
            same = active.strides[0] == 0 and active.strides[1] == 0 and not any(k[1] & BY_BLOCK for k in inputs)
            active = np.ascontiguousarray(active[:1] if same else active)
            inputs.append((active, BY_THREAD | BY_BLOCK * (len(active) > 1), 0, active))
        axes = tuple([known[1] for known in inputs])
        plan = self._plans.get(axes)
        if plan is None:
            plan = self._plans[axes] = self._planned(axes)
        threads = inputs[plan.threads_of][0].shape[-1] if plan.threads_of >= 0 else 1
        blocks = inputs[plan.blocks_of][0].shape[0] if plan.blocks_of >= 0 else 1
        make = np.empty if active is None else np.zeros
        arrays = [
            make((len(members), *_shape(axes_of, blocks, threads)), dtype) for axes_of, dtype, members in plan.groups
        ]
        firsts = [array.ctypes.data for array in arrays]
        sizes = [array.nbytes // len(array) for array in arrays]
        ins, outs = len(plan.ins), len(plan.outs)
        pointers = [inputs[which][2] + offset for which, offset in self._offsets]
        _compute()(
            ctypes.byref(self._launch), ctypes.c_void_p(plan.ins.ctypes.data), (ctypes.c_void_p * ins)(*pointers), ins,
            ctypes.c_void_p(plan.outs.ctypes.data), (ctypes.c_void_p * outs)(*[
                firsts[group] + start * sizes[group] + offset for group, start, offset in plan.addresses
            ]), outs, ctypes.c_int64(blocks), ctypes.c_int64(threads),
            None if active is None else ctypes.c_void_p(active.ctypes.data),
        )  # fmt: skip
        results: list = [None] * len(self.outputs)
        for (axes_of, _, members), array, first, size in zip(plan.groups, arrays, firsts, sizes, strict=True):
            for index, member in enumerate(members):
                results[member] = array[index], axes_of, first + index * size, array
        return results

    @cached_property
    def _offsets(self) -> list[tuple[int, int]]:
        """By port of an input which one it is, and from which byte of its values on."""
        index = {slot: number for number, slot in enumerate(self.inputs)}
        return [
            (index[part.slot], part.offset) if isinstance(part, Part) else (index[part], 0) for _, part in self._ins
        ]

    def _planned(self, axes: Sequence[int]) -> _Plan:
        of_slot = dict(zip(self.inputs, axes, strict=False))
        of_all = axes[len(self.inputs)] if len(axes) > len(self.inputs) else 0
        of_output = [of_all | self._axes(self._depends[slot], axes) for slot in self.outputs]
        of_slot_written = dict(zip(self.outputs, of_output, strict=True))
        kinds = [(of_output[k], self._initial[slot].dtype) for k, slot in enumerate(self.outputs)]
        groups = {kind: tuple(k for k, other in enumerate(kinds) if other == kind) for kind in kinds}
        where = {
            self.outputs[k]: (number, position)
            for number, members in enumerate(groups.values())
            for position, k in enumerate(members)
        }
        slots = [(part.slot, part.offset) if isinstance(part, Part) else (part, 0) for _, part in self._outs]
        return _Plan(
            next((k for k, each in enumerate(axes) if each & BY_THREAD), -1),
            next((k for k, each in enumerate(axes) if each & BY_BLOCK), -1),
            self._ports(self._ins, of_slot),
            self._ports(self._outs, of_slot_written),
            tuple((*kind, members) for kind, members in groups.items()),
            tuple((*where[slot], offset) for slot, offset in slots),
        )

    @staticmethod
    def _axes(depends: int, axes: Sequence[int]) -> int:
        together = 0
        for number, each in enumerate(axes):
            if depends >> number & 1:
                together |= each
        return together

    def _ports(self, ports: Mapping[tuple[int, Part | int], None], axes: Mapping[int, int]) -> np.ndarray:
        rows = []
        for start, part in ports:
            slot = part.slot if isinstance(part, Part) else part
            size = self._initial[slot].dtype.itemsize
            bytes_ = min(size, WORD) if isinstance(part, Part) else PREDICATE
            rows.append((start, bytes_, size, bool(axes[slot] & BY_THREAD), bool(axes[slot] & BY_BLOCK)))
        return np.array(rows, PORT)


def _numbers(computations: Sequence[Computation]) -> dict[int, int]:
    """By slot the number that a predicate has in a run: its own, unless that is another one's."""
    numbers: dict[int, int] = {}
    for computation in computations:
        for number, slot in computation.predicates.items():
            if slot not in numbers:
                taken = set(numbers.values())
                free = (k for k in range(FREE_PREDICATES, NEGATED) if k not in taken)
                numbers[slot] = next(free) if number in taken else number
    return numbers


def _located(value) -> tuple:
    """(the value, its axes, where it lies in memory, the array that keeps it there)."""
    array = np.ascontiguousarray(value)
    if value.ndim == 2:
        axes = BY_BLOCK * (value.shape[0] > 1) | BY_THREAD * (value.shape[1] > 1)
    else:
        axes = (BY_THREAD | FLAT) * value.ndim
    return value, axes, array.ctypes.data, array


def _shape(axes: int, blocks: int, threads: int) -> tuple[int, ...]:
    if axes & FLAT:
        return (threads,)
    return (blocks if axes & BY_BLOCK else 1, threads if axes & BY_THREAD else 1) if axes else ()


@cache
def _compute() -> Callable:
    """The function of the C program. NoLibrary where there is none."""
    return native.load("engine", optional=False).compute
