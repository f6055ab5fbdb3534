"""SASS statements, decoded, with the slots of their registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpusim.compiler import sass
from gpusim.engine.lanewise import CONSTANTS, DROPPED, Computation, Part
from gpusim.errors import Unknown
from gpusim.isa.computing import outcome_of
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, NOWHERE, UNIFORM_PREDICATES, Decoded, NotDecoded
from gpusim.isa.rules import Outcome
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import Operands
from gpusim.isa.values import I4

UNIFORM = 1 << 10  # the row of UR0
OF_MANY = ("pack predicates", "unpack predicates")
ALWAYS_TRUE = frozenset((ALWAYS, UNIFORM_PREDICATES + ALWAYS))


Decode = Callable[[Decoder, sass.Statement], Decoded]


def outcome(t: Operands, s: sass.Statement, decode: Decode) -> Outcome:
    """What a statement does whose opcode `decode` decodes."""
    return outcome_of(computation(t, s, decode), t)


def computation(t: Operands, s: sass.Statement, decode: Decode) -> Computation:
    """A statement decoded, with the slots of its registers."""
    if t.decoder is None:
        t.decoder = Decoder(t.arch, t.shared_base, t.code)
    decoder = t.decoder
    decoder.begin(s, t.space)
    try:
        decoded = decode(decoder, s)
    except NotDecoded as reason:
        raise Unknown(str(reason)) from None
    except ValueError:  # from unpacking
        raise Unknown(f"its form with {len(s.operands)} operands") from None
    if s.guard is not None:
        decoded.guard = decoder.predicate(s.guard)
    t.decoded[s.address] = decoded
    targets = _targets(t, decoder, decoded)
    rows = zip(decoded.source, decoded.counts, strict=True)
    known = t.parts
    sources = tuple([known[row] if row in known else _parts(t, decoder, *row) for row in rows])
    result = Computation(decoded, sources, targets, _predicates(t, decoded), t.initial)
    t.read_now.update(result.reads)
    return result


def _targets(t: Operands, decoder: Decoder, decoded: Decoded) -> tuple[Part, ...]:
    """The parts that receive the result; of a texture's channels two, and the others in registers of their own."""
    kept = decoded.d not in (None, NOWHERE)
    targets = _parts(t, decoder, decoded.d, decoded.d_width) if kept else ()
    if decoded.operation != "read texture":
        return targets
    count, upper = decoded.number[2].bit_count(), decoded.number[3]
    lower = targets or (Part(0, DROPPED),) * min(count, 2)
    beyond = max(0, count - 2)
    return (*lower, *(_parts(t, decoder, upper, beyond) if upper >= 0 else (Part(0, DROPPED),) * beyond))


def _parts(t: Operands, decoder: Decoder, row: int | tuple[str, int], count: int) -> tuple[Part | int, ...]:
    """The parts of `count` registers, or the constants, from a row on: thousands of operands are few different ones."""
    parts = t.parts.get((row, count))
    if parts is None:
        parts = t.parts[row, count] = tuple(_parts_of(t, decoder, row, count))
    return parts


def _parts_of(t: Operands, decoder: Decoder, row: int | tuple[str, int], count: int) -> Iterator[Part | int]:
    """The same, made anew."""
    if isinstance(row, tuple):
        row = UNIFORM + row[1]
    if row >= 0:
        yield from (_register(t, row + distance) for distance in range(count))
        return
    for word in decoder.words.all[-1 - row : count - 1 - row]:
        if word.bank < 0:
            yield word.value
        else:
            number = CONSTANTS + (word.bank << 16) + word.value // I4.itemsize
            yield Part(number, t.constant(word.bank, word.value, I4))


def _register(t: Operands, row: int) -> Part:
    """A register of a thread, or from UNIFORM on of a warp."""
    return Part(row, t.slot(f"R{row}" if row < UNIFORM else f"UR{row - UNIFORM}"))


def _predicates(t: Operands, decoded: Decoded) -> Mapping[int, int]:
    """The slots of the predicates by their numbers."""
    mask = tuple(decoded.number) if decoded.operation in OF_MANY else ()
    key = (decoded.guard, *decoded.p_in, *decoded.p_out, *mask)
    known = t.predicates.get(key)
    if known is None:  # thousands of instructions have few different ones
        numbers = {which & ~NEGATED for which in (decoded.guard, *decoded.p_in)}
        numbers |= {which for which in decoded.p_out if which != NEVER_KEPT}
        if mask:
            wanted, _, first, _ = mask
            numbers |= {first + bit for bit in range(7) if wanted >> bit & 1}
        known = {number: t.slot(_predicate(number)) for number in sorted(numbers - ALWAYS_TRUE)}
        t.predicates[key] = known
    return known


def _predicate(number: int) -> str:
    return f"P{number}" if number < UNIFORM_PREDICATES else f"UP{number - UNIFORM_PREDICATES}"
