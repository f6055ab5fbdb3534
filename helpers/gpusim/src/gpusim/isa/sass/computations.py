"""SASS statements that compute, decoded, with the slots of their registers."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.compiler import sass
from gpusim.engine.lanewise import CONSTANTS, Computation, Part
from gpusim.errors import Unknown
from gpusim.isa.computing import computed, exchanged
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, UNIFORM_PREDICATES, Decoded, NotDecoded
from gpusim.isa.rules import Compute, Effect
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import I4, Operands

UNIFORM = 1 << 10  # the row of UR0
ALWAYS_TRUE = frozenset((ALWAYS, UNIFORM_PREDICATES + ALWAYS))


Decode = Callable[[Decoder, sass.Statement], Decoded]


def computes(decode: Decode) -> Callable[[Operands, sass.Statement], Compute]:
    """The rule of an opcode that `decode` decodes, and that each thread executes for itself."""
    return lambda t, s: computed(computation(t, s, decode))


def exchanges(decode: Decode) -> Callable[[Operands, sass.Statement], Effect]:
    """The same of one that the lanes of a warp execute together."""
    return lambda t, s: exchanged(computation(t, s, decode))


def computation(t: Operands, s: sass.Statement, decode: Decode) -> Computation:
    """A statement decoded, with the slots of its registers."""
    if t.decoder is None:
        t.decoder = Decoder(t.arch, t.shared_base, t.code)
    decoder = t.decoder
    decoder.statement = s
    try:
        decoded = decode(decoder, s)
    except NotDecoded as reason:
        raise Unknown(str(reason)) from None
    except ValueError:  # from unpacking
        raise Unknown(f"its form with {len(s.operands)} operands") from None
    t.decoded[s.address] = decoded
    one = _with_slots(t, decoder, decoded)
    t.read_now.update(one.reads)
    return one


def _with_slots(t: Operands, decoder: Decoder, decoded: Decoded) -> Computation:
    targets = () if decoded.d is None else _parts(t, decoder, decoded.d, decoded.d_width)
    counts = decoded.registers or decoded.width
    sources = tuple([
        _parts(t, decoder, row, counts[place]) if width else ()
        for place, (row, width) in enumerate(zip(decoded.source, decoded.width, strict=True))
    ])  # fmt: skip
    return Computation(decoded, sources, targets, _predicates(t, decoded), t.initial)


def _parts(t: Operands, decoder: Decoder, row: int | tuple[str, int], count: int) -> tuple[Part | int, ...]:
    """The parts of `count` registers, or the constants, from a row on."""
    if isinstance(row, tuple):
        return tuple([_register(t, UNIFORM + row[1] + distance) for distance in range(count)])
    if row >= 0:
        return tuple([_register(t, one) for one in range(row, row + count)])
    words = decoder.words.all[-1 - row : count - 1 - row]
    return tuple([
        word.value
        if word.bank < 0
        else Part(CONSTANTS + (word.bank << 16) + word.value // I4.itemsize, t.constant(word.bank, word.value, I4))
        for word in words
    ])  # fmt: skip


def _register(t: Operands, row: int) -> Part:
    """A register of a thread, or from UNIFORM on of a warp; thousands of operands are few different ones."""
    part = t.parts.get(row)
    if part is None:
        name = f"R{row}" if row < UNIFORM else f"UR{row - UNIFORM}"
        part = t.parts[row] = Part(row, t.slot(name))
    return part


def _predicates(t: Operands, decoded: Decoded) -> dict[int, int]:
    """The slots of the predicates by their numbers."""
    numbers = {which & ~NEGATED for which in decoded.p_in} | {which for which in decoded.p_out if which != NEVER_KEPT}
    if decoded.operation in ("pack predicates", "unpack predicates"):
        wanted, _, first, _ = decoded.number
        numbers |= {first + bit for bit in range(7) if wanted >> bit & 1}
    numbers -= ALWAYS_TRUE
    return {number: t.slot(_predicate(number)) for number in sorted(numbers)} if numbers else {}


def _predicate(number: int) -> str:
    return f"P{number}" if number < UNIFORM_PREDICATES else f"UP{number - UNIFORM_PREDICATES}"
