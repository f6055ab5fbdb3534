"""PTX statements, decoded, with the slots of their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpusim.compiler.ptx import Statement
from gpusim.engine.lanewise import CONSTANTS, DROPPED, FREE_PREDICATES, RESULTS, Computation, Part
from gpusim.errors import Unknown
from gpusim.isa.computing import outcome_of
from gpusim.isa.decoded import LISTS, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import ADDRESSES, Decoder
from gpusim.isa.ptx.operands import Operands, items_of
from gpusim.isa.ptx.rows import Places
from gpusim.isa.rules import Outcome

NOWHERE = CONSTANTS - 2  # the first of the rows that receive what is not kept


Decode = Callable[[Decoder, Statement], Decoded]


def outcome(t: Operands, s: Statement, decode: Decode) -> Outcome:
    """What a statement does whose opcode `decode` decodes."""
    return outcome_of(computation(t, s, decode), t)


def computation(t: Operands, s: Statement, decode: Decode) -> Computation:
    """A statement decoded, with the slots of its registers."""
    numbers = _Numbers(t.types)
    decoder = Decoder(t, Places(t.rows, numbers, NOWHERE), _Addresses(t), results=RESULTS)
    decoder.at = t.at
    try:
        decoded = decode(decoder, s)
    except NotDecoded as reason:
        raise Unknown(str(reason)) from None
    rows = zip(decoded.source, decoded.counts, strict=True)
    sources = tuple([_parts(t, decoder, row, count) if count else () for row, count in rows])
    targets = () if decoded.d is None else _parts(t, decoder, decoded.d, decoded.d_width)
    predicates = {number: slot for slot, number in numbers.known.items()}
    result = Computation(decoded, sources, targets, predicates, t.initial, decoder.lists)
    t.read_now.update(result.reads)
    if s.name == "wmma" and s.opcode[1] == "mma":  # all of its factors count, although half may repeat the others
        t.read_now.update(t.target(item) for operand in s.operands[1:] for item in items_of(operand))
    return result


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

    def __init__(self, t: Operands) -> None:
        self._operands = t

    def __len__(self) -> int:
        """The place behind them, where the addresses lie that a launch has beside."""
        return self._operands.addresses_of_launch[0]

    @staticmethod
    def get(slot: int | None) -> int | None:
        """None for no slot."""
        return None if slot is None else 8 * slot


def _parts(t: Operands, decoder: Decoder, first: int, count: int) -> tuple[Part | int, ...]:
    """The parts of registers, or the constants, in `count` rows from one on."""
    if not 0 <= first < NOWHERE:  # constants and lists are those of the statement
        return tuple(_parts_of(decoder, first, count))
    parts = t.parts.get((first, count))
    if parts is None:
        parts = t.parts[first, count] = tuple(_parts_of(decoder, first, count))
    return parts


def _parts_of(decoder: Decoder, first: int, count: int) -> Iterator[Part | int]:
    """The same, made anew."""
    for distance in range(count):
        if first >= LISTS:
            row = decoder.lists[first - LISTS + distance]
        else:
            row = first + distance if first >= 0 else first - distance
        if row >= NOWHERE:
            yield Part(row, DROPPED)
        elif row >= 0:
            yield Part(row, row % RESULTS // 2, 4 * (row % 2))
        else:
            word = decoder.words.all[-1 - row]
            if word.bank >= 0 and word.bank != ADDRESSES:
                raise Unknown("a parameter as an operand")
            yield word.value if word.bank < 0 else Part(CONSTANTS + word.value, word.value // 8, word.value % 8)
