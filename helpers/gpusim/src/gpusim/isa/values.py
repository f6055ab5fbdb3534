"""How NumPy reads the sources of a decoded instruction, and gives its results to registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gpusim.engine.lanewise import DROPPED, Computation, Part
from gpusim.isa.decoded import (
    FLOAT_ABSOLUTE,
    FLOAT_NEGATE,
    INVERT,
    LOCAL,
    NEGATE,
    NEGATED,
    SIGNED_TERM,
    SPACE,
    WIDE_ADDRESS,
)
from gpusim.isa.rules import Reader

U2, I4, U4 = np.dtype(np.uint16), np.dtype(np.int32), np.dtype(np.uint32)
I8, U8 = np.dtype(np.int64), np.dtype(np.uint64)
SIGN = 31
Parts = Sequence[Part | int]


def joined(low, high):
    """The int64 of its lower and upper 32 bits."""
    if low.ndim == 0 and high.ndim == 0:
        return np.int64((int(high.view(I4)) << 32) | int(low.view(U4)))
    if low.shape == high.shape:
        value = np.empty((*low.shape, 2), I4)
        value[..., 0] = low.view(I4)
        value[..., 1] = high.view(I4)
        return value.view(I8)[..., 0]
    return low.view(U4).astype(I8) | (high.view(I4).astype(I8) << np.int64(32))


def halves(value):
    """(lower, upper) 32 bits of an int64 or float64, as int32 views of the same memory where it is an array."""
    if value.ndim == 0:
        bits = int(value.view(U8))
        return np.uint32(bits & 0xFFFFFFFF).view(I4), np.uint32(bits >> 32).view(I4)
    parts = np.ascontiguousarray(value).view(I4).reshape(*value.shape, 2)
    return parts[..., 0], parts[..., 1]


def seen_as(value, dtype: np.dtype):
    """The same bits as another type of the same size."""
    return value if value.dtype is dtype else value.view(dtype)


class Target(NamedTuple):
    """A register that receives a result.

    Attributes:
        slot: The register's, None for a result that is not kept.
        dtype: Of its values.
        words: How many rows of the decoded form it has: 2 for 64 bits, else 1.
    """

    slot: int | None
    dtype: np.dtype
    words: int

    def fitted(self, value):
        """A value as the register holds it: the same bits, or a narrower one extended by its own sign."""
        size = self.dtype.itemsize
        return seen_as(value if value.dtype.itemsize == size else value.astype(f"{value.dtype.kind}{size}"), self.dtype)


class Values:
    """The sources and results of one decoded instruction.

    operands: those of the level that it belongs to, which know the slots of what has no name there.
    """

    def __init__(self, computation: Computation, operands) -> None:
        self.computation, self.decoded, self.operands = computation, computation.decoded, operands

    # ---- sources

    def word(self, part: Part | int, dtype: np.dtype = U4) -> Reader:
        """How to get 32 bits; of a shorter register these are its own, and zeros."""
        if not isinstance(part, Part):
            constant = np.uint32(part & 0xFFFFFFFF).view(dtype)
            return lambda registers: constant
        slot, size = part.slot, self.computation.initial[part.slot].dtype.itemsize
        if size == 4:
            return lambda registers: seen_as(registers[slot], dtype)
        if size == 2:
            return lambda registers: registers[slot].view(U2).astype(U4).view(dtype)
        half = part.offset // 4
        return lambda registers: seen_as(halves(registers[slot])[half], dtype)

    def pair(self, parts: Parts, dtype: np.dtype = I8) -> Reader:
        """How to get the 64 bits of two parts."""
        low, high = parts
        if not isinstance(low, Part) and not isinstance(high, Part):
            constant = np.array((high & 0xFFFFFFFF) << 32 | low & 0xFFFFFFFF, U8).view(dtype)[()]
            return lambda registers: constant
        if isinstance(low, Part) and self.computation.initial[low.slot].dtype.itemsize == 8:
            slot = low.slot
            return lambda registers: seen_as(registers[slot], dtype)
        if not isinstance(low, Part) or not isinstance(high, Part):
            first, second = self.word(low), self.word(high)
            return lambda registers: seen_as(joined(first(registers), second(registers)), dtype)
        return self._of_two_registers(low.slot, high.slot, dtype)

    def _of_two_registers(self, low_slot: int, high_slot: int, dtype: np.dtype) -> Reader:
        both = low_slot, high_slot

        def read(registers):  # the 64 bits are remembered as long as the registers hold these very arrays
            low, high = registers[low_slot], registers[high_slot]
            known = registers.addresses.get(both)
            if known is not None and known[0] is low and known[1] is high:
                value = known[2]
            else:
                value = joined(low, high)
                registers.addresses[both] = (low, high, value)
            return seen_as(value, dtype)

        return read

    def source(self, source: int, dtype: np.dtype = U4, part: int = 0) -> Reader:
        """How to get a source, or the `part`-th value of that type of which it consists, with its signs carried out."""
        parts = self.computation.sources[source]
        if dtype.itemsize == 8:
            reader = self.pair(parts[2 * part : 2 * part + 2], dtype)
        elif dtype.itemsize == 4:
            reader = self.word(parts[part], dtype)
        else:
            word, bits = self.word(parts[part]), np.dtype(f"u{dtype.itemsize}")
            reader = lambda registers: word(registers).astype(bits).view(dtype)  # noqa: E731
        for mode, function in _SIGNS.items():
            if self.decoded.mode[source] & mode:
                reader = _then(function, reader)
        return reader

    def values(self, source: int, width: int = 0) -> list[Reader]:
        """How to get each of the registers of a source. width: the bytes of each that count, 0 for all.

        Where all of them have 64 bits the values have, too.
        """
        parts = self.computation.sources[source]
        if width:
            dtype = np.dtype(f"u{width}")
            return [self.source(source, dtype, k) for k in range(len(parts))]
        sizes = [self.computation.initial[part.slot].dtype.itemsize for part in parts if isinstance(part, Part)]
        are_wide = len(parts) % 2 == 0 and any(size == 8 for size in sizes) and all(
            isinstance(low, Part) is isinstance(high, Part) for low, high in zip(parts[::2], parts[1::2], strict=True)
        ) and all(size == 8 for size in sizes)  # fmt: skip
        dtype = I8 if are_wide else I4
        return [self.source(source, dtype, k) for k in range(len(parts) // (2 if are_wide else 1))]

    def truth(self, which: int) -> Reader | None:
        """How to get a predicate as bool; None for one that is always true."""
        slot, negated = self.computation.predicates.get(which & ~NEGATED), bool(which & NEGATED)
        if slot is None:
            return (lambda registers: np.False_) if negated else None
        if negated:
            return lambda registers: np.logical_not(registers[slot])
        return lambda registers: registers[slot]

    # ---- addresses

    def address(self, first: int = 0, offset: int | None = None, is_wide: bool | None = None) -> Reader:
        """The byte address in its space that sources `first` and the next one are the terms of, int64.

        offset: that of the decoded form if it is None.  is_wide: whether it has 64 bits; as the flags say if it is
        None.
        """
        decoded = self.decoded
        offset = decoded.offset if offset is None else offset
        is_wide = bool(decoded.flags & WIDE_ADDRESS) if is_wide is None else is_wide
        terms = [
            self._term(source, is_wide, decoded.number[source - first])
            for source in (first, first + 1)
            if decoded.width[source]
        ]
        if not is_wide and decoded.flags & SPACE != LOCAL and self.operands.own_rank is not None:
            rank = self.operands.own_rank
            terms.append(lambda registers: -registers[rank])
        if not terms:
            constant = np.int64(offset)
            return lambda registers: constant
        if offset:
            constant = (I8 if is_wide else I4).type(offset)
            terms.append(lambda registers: constant)
        total = _sum(terms)
        return total if is_wide else (lambda registers: total(registers).astype(I8))

    def _term(self, source: int, is_wide: bool, scale: int) -> Reader:
        if is_wide and self.decoded.width[source] == 2:
            return self.pair(self.computation.sources[source])
        (part,) = self.computation.sources[source]
        if is_wide:
            narrow = self.word(part, I4 if self.decoded.flags & SIGNED_TERM << source else U4)
            return lambda registers: narrow(registers).astype(I8)
        value, factor = self.word(part, I4), np.int32(scale)
        return value if scale == 1 else (lambda registers: value(registers) * factor)

    # ---- results

    @property
    def targets(self) -> list[Target]:
        """The registers that receive the results, in their order."""
        targets: list[Target] = []
        for part in self.computation.targets:
            if part.slot == DROPPED:
                targets.append(Target(None, I4, 1))
            elif not part.offset:
                dtype = self.computation.initial[part.slot].dtype
                targets.append(Target(part.slot, dtype, max(1, dtype.itemsize // 4)))
        return targets

    def kept(self, which: int) -> int | None:
        """The slot of a predicate that is written, None if it is not kept."""
        return self.computation.predicates.get(which)


_SIGNS: dict[int, Callable] = {
    NEGATE: np.negative,
    INVERT: np.invert,
    FLOAT_ABSOLUTE: np.abs,
    FLOAT_NEGATE: np.negative,
}


def _then(function: Callable, reader: Reader) -> Reader:
    return lambda registers: function(reader(registers))


def _sum(terms: Sequence[Reader]) -> Reader:
    """The sum of one to four numbers."""
    if len(terms) == 1:
        return terms[0]
    *before, last = terms
    first = _sum(before)
    return lambda registers: first(registers) + last(registers)
