"""SASS statements that compute, decoded, with the slots of their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpusim.compiler import sass
from gpusim.engine.lanewise import CONSTANTS, Computation, Part
from gpusim.errors import Unknown
from gpusim.isa.computing import computed, exchanged
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, UNIFORM_PREDICATES, Decoded, NotDecoded
from gpusim.isa.rules import Compute, Effect
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import I4, Operands

UNIFORM = 1 << 10  # the row of UR0


Decode = Callable[[Decoder, sass.Statement], Decoded]


def computes(decode: Decode) -> Callable[[Operands, sass.Statement], Compute]:
    """The rule of an opcode that `decode` decodes, and that each thread executes for itself."""
    return lambda t, s: computed(computation(t, s, decode))


def exchanges(decode: Decode) -> Callable[[Operands, sass.Statement], Effect]:
    """The same of one that the lanes of a warp execute together."""
    return lambda t, s: exchanged(computation(t, s, decode))


def computation(t: Operands, s: sass.Statement, decode: Decode) -> Computation:
    """A statement decoded, with the slots of its registers."""
    decoder = Decoder(t.arch, t.shared_base, t.code)
    decoder.statement = s
    try:
        decoded = decode(decoder, s)
    except NotDecoded as reason:
        raise Unknown(str(reason)) from None
    except ValueError:  # from unpacking
        raise Unknown(f"its form with {len(s.operands)} operands") from None
    one = _with_slots(t, decoder, decoded)
    t.read_now.update(one.reads)
    return one


def _with_slots(t: Operands, decoder: Decoder, decoded: Decoded) -> Computation:
    targets = () if decoded.d is None else tuple(_source(t, decoder, decoded.d, decoded.d_width))
    sources = tuple(
        tuple(_source(t, decoder, row, width and (decoded.registers or decoded.width)[place]))
        for place, (row, width) in enumerate(zip(decoded.source, decoded.width, strict=True))
    )
    numbers = {which & ~NEGATED for which in decoded.p_in} | {which for which in decoded.p_out if which != NEVER_KEPT}
    if decoded.operation in ("pack predicates", "unpack predicates"):
        wanted, _, first, _ = decoded.number
        numbers |= {first + bit for bit in range(7) if wanted >> bit & 1}
    numbers -= {ALWAYS, UNIFORM_PREDICATES + ALWAYS}
    predicates = {number: t.slot(_predicate(number)) for number in sorted(numbers)}
    return Computation(decoded, sources, targets, predicates, t.initial)


def _source(t: Operands, decoder: Decoder, row: int | tuple[str, int], count: int) -> Iterator[Part | int]:
    """The parts of `count` registers, or constants, from a row on."""
    for distance in range(count):
        if isinstance(row, tuple):
            number = row[1] + distance
            yield Part(UNIFORM + number, t.slot(f"UR{number}"))
        elif row >= 0:
            yield Part(row + distance, t.slot(f"R{row + distance}"))
        else:
            word = decoder.words.all[distance - 1 - row]
            if word.bank < 0:
                yield word.value
            else:
                at = CONSTANTS + (word.bank << 16) + word.value // I4.itemsize
                yield Part(at, t.constant(word.bank, word.value, I4))


def _predicate(number: int) -> str:
    return f"P{number}" if number < UNIFORM_PREDICATES else f"UP{number - UNIFORM_PREDICATES}"
