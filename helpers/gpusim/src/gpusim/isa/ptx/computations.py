"""PTX statements that compute, decoded, with the slots of their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Statement
from gpusim.engine.lanewise import CONSTANTS, DROPPED, FREE_PREDICATES, Computation, Part
from gpusim.errors import Unknown
from gpusim.isa.computing import computed
from gpusim.isa.decoded import LISTS, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import ADDRESSES, Decoder
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.ptx.rows import Places
from gpusim.isa.rules import Compute

NOWHERE = CONSTANTS - 2  # the first of the rows that receive what is not kept


def computes(decode: Callable[[Decoder, Statement], Decoded]) -> Callable[[Operands, Statement], Compute]:
    """The rule of an opcode that `decode` decodes."""

    def rule(t: Operands, s: Statement) -> Compute:
        numbers = _Numbers(t.types)
        decoder = Decoder(t, Places(_Rows(t.types), numbers, NOWHERE), _Addresses())
        try:
            decoded = decode(decoder, s)
        except NotDecoded as reason:
            raise Unknown(str(reason)) from None
        sources = tuple(
            tuple(_parts(t, decoder, row, width)) for row, width in zip(decoded.source, decoded.width, strict=True)
        )
        targets = () if decoded.d is None else tuple(_parts(t, decoder, decoded.d, decoded.d_width))
        one = Computation(
            decoded, sources, targets, {number: slot for slot, number in numbers.known.items()}, t.initial
        )
        t.read_now.update(one.reads)
        return computed(one)

    return rule


class _Rows(Mapping):
    """By slot the rows of a register: two for each."""

    def __init__(self, types: Sequence[str]) -> None:
        self._types = types

    def __getitem__(self, slot: int) -> tuple[int, ...]:
        type_ = self._types[slot]
        if type_ == "pred":
            raise KeyError(slot)
        return (2 * slot, 2 * slot + 1) if TYPE_BYTES[type_] == 8 else (2 * slot,)

    def __iter__(self) -> Iterator[int]:
        return (slot for slot, type_ in enumerate(self._types) if type_ != "pred")

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Numbers(Mapping):
    """By slot the number of a predicate: those that a statement names get the first ones."""

    def __init__(self, types: Sequence[str]) -> None:
        self._types = types
        self.known: dict[int, int] = {}

    def __getitem__(self, slot: int) -> int:
        if self._types[slot] != "pred":
            raise KeyError(slot)
        return self.known.setdefault(slot, FREE_PREDICATES + len(self.known))

    def __iter__(self) -> Iterator[int]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


class _Addresses:
    """By the slot of a variable's address, where it lies in bank ADDRESSES."""

    @staticmethod
    def get(slot: int | None) -> int | None:
        """None for no slot."""
        return None if slot is None else 8 * slot


def _parts(t: Operands, decoder: Decoder, row: int, count: int) -> Iterator[Part | int]:
    """The parts of registers, or the constants, in `count` rows from one on."""
    for distance in range(count):
        if row < 0:
            word = decoder.words.all[distance - 1 - row]
            if word.bank < 0:
                yield word.value
            elif word.bank == ADDRESSES:
                yield Part(CONSTANTS + word.value, word.value // 8, word.value % 8)
            else:
                raise Unknown("a parameter as an operand")
            continue
        one = decoder.lists[row - LISTS + distance] if row >= LISTS else row + distance
        if one >= NOWHERE:
            yield Part(one, DROPPED)
        else:
            yield Part(one, one // 2, 4 * (one % 2))
