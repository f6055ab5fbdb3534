"""Loads, stores, atomic operations and fences.

`[R2.64+0x10]` is a 64-bit address, `[R5+UR4]` a 32-bit one of shared or local memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import NEVER_KEPT, NOWHERE, Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import address_operand, at_least, chosen, exactly, is_predicate, is_register

NARROW = {"U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True)}


def scale_of(register: sass.Register) -> int:
    """What a register of an address is multiplied by."""
    return next((int(m[1:]) for m in register.modifiers if m in ("X4", "X8", "X16")), 1)


def words_of(s: sass.Statement) -> int:
    """How many registers a memory instruction moves."""
    return 4 if s.has("128") else 2 if s.has("64") else 1


def takes_address(t: Decoder, i: Decoded, operand: sass.Operand, space: str, first: int = 0) -> int:
    """Sources `first` and the next as the terms of an address; returns its offset."""
    terms = [register for register in address_operand(operand).registers if register.number is not None]
    if len(terms) > 2:
        raise NotDecoded("an address of three registers")
    wide = space in ("global", "generic")
    for k, register in enumerate(terms):
        position = first + k
        narrow = not wide or "U32" in register.modifiers or "S32" in register.modifiers
        i.width[position] = 1 if narrow else 2
        i.source[position] = t.row(register, i.width[position])
        if wide and "S32" in register.modifiers:
            i.flags |= form.SIGNED_TERM << position
        if not wide:
            i.number[k] = scale_of(register)
    return operand.offset - (t.shared_base if space == "shared" else 0)


def access(t: Decoder, s: sass.Statement, operation: str, op: str) -> Decoded:
    space = form.SPACES[t.space]
    i = Decoded(operation, flags=space | form.WIDE_ADDRESS * (space in (form.GLOBAL, form.GENERIC)), space=space, op=op)
    i.is_strong = s.has("STRONG")
    i.block_scope = i.is_strong and s.has("SM", "CTA")
    # Others' writes may be waited for by volatile and strong loads, and in shared memory by any.
    i.strong = form.SEES_GRID if s.has("STRONG") else form.SEES_BLOCK if space in (form.SHARED, form.GENERIC) else 0
    return i


def load(t: Decoder, s: sass.Statement) -> Decoded:
    """LDG, LDS, LDL, LD{.U8, .64, .128, …} d, [address]."""
    destination, address = exactly(s, 2)
    i = access(t, s, "load", "ld")
    i.offset = takes_address(t, i, address, t.space)
    width, signed = chosen(s, NARROW, (0, False))
    i.flags |= form.SIGNED_VALUE * signed
    i.number[2], i.number[3] = 1 if width else words_of(s), width
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def store(t: Decoder, s: sass.Statement) -> Decoded:
    """STG, STS, STL, ST{.U8, .64, …} [address], value."""
    address, value = exactly(s, 2)
    i = access(t, s, "store", "st")
    i.strong = 0
    i.offset = takes_address(t, i, address, t.space)
    width, signed = chosen(s, NARROW, (0, False))
    i.flags |= form.SIGNED_VALUE * signed
    i.number[2], i.number[3] = 1 if width else words_of(s), width
    stores(t, i, value, i.number[2])
    return i


def stores(t: Decoder, i: Decoded, value: sass.Operand, count: int) -> None:
    """Source 2 as so many registers whose contents are stored."""
    if not is_register(value) or value.negated or value.absolute or value.inverted or value.modifiers:
        raise NotDecoded("a stored value that is no plain register")
    i.source[2], i.width[2] = t.row(value, count), 1
    i.registers = (i.width[0], i.width[1], count, 0)


def load_constant(t: Decoder, s: sass.Statement) -> Decoded:
    """LDC{.64,.U8,…} d, c[bank][R + offset]; ULDC{.64} d, c[bank][offset]."""
    destination, address = exactly(s, 2)
    if not isinstance(address, sass.Constant):
        raise NotDecoded("an operand that is no constant where one is expected")
    words = words_of(s)
    if address.register is None and not s.has(*NARROW, "128"):
        i = Decoded("move two" if words == 2 else "move")
        for k in range(words):
            i.source[k], i.width[k] = t.words.row(Word(address.bank, address.offset + 4 * k)), 1
        t.writes(i, destination, words)
        return i if i.d is not None else Decoded("nothing")
    i = Decoded("load constant", offset=address.offset)
    width, signed = chosen(s, NARROW, (0, False))
    i.flags = form.SIGNED_VALUE * signed
    i.number[0], i.number[2], i.number[3] = address.bank, 1 if width else words, width
    if address.register is not None and address.register.number is not None:
        t.read(i, 0, sass.Register(address.register.file, address.register.number))
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def atomic(t: Decoder, s: sass.Statement) -> Decoded:
    """ATOMG, ATOM {p,} d, [address], values; ATOMS d, [address], values; RED, REDG [address], value."""
    places = [position for position, operand in enumerate(s.operands) if isinstance(operand, sass.Address)]
    if len(places) != 1:
        raise NotDecoded(f"its form with {len(places)} addresses")
    before, values = s.operands[: places[0]], s.operands[places[0] + 1 :]
    destination = next((operand for operand in before if is_register(operand)), None)
    returns = destination is not None and destination.number is not None
    if s.has("ARRIVE"):
        return _arrive_at_ampere(t, s, destination, s.operands[places[0]])
    i = access(t, s, "atomic", "atom" if returns else "red")
    i.strong = form.SEES_BLOCK if t.space == "shared" else form.SEES_GRID
    i.offset = takes_address(t, i, s.operands[places[0]], t.space)
    i.number[3] = type_ = chosen(s, form.TYPES, 0)
    count = chosen(s, {"F32x2": 2, "F32x4": 4}, 1)
    words = 4 if type_ == form.TYPES["128"] else 2 if type_ in (2, 3, 5) else count
    if returns:
        i.flags |= form.RETURNS_OLD
        t.writes(i, destination, words)
    if s.has("POPC") and s.has("INC"):  # counts the lanes that name an address: each adds one
        i.number[2] = form.ATOMICS["ADD"]
        i.source[2], i.width[2] = t.words.row(Word(-1, 1)), 1
        return i
    if s.has("CAST"):
        _compares_and_sets(t, i, before, len(values))
    else:
        i.number[2] = chosen(s, form.ATOMICS)
        i.p_out[0] = next((t.kept(operand) for operand in before if is_predicate(operand)), NEVER_KEPT)
        if i.p_out[0] != NEVER_KEPT:
            i.replayed = "its answer in a predicate"
    swaps = i.number[2] == form.ATOMICS["CAS"]
    if swaps and len(values) == 1 and is_register(values[0]):  # one pair of registers after the other
        values = (values[0], values[0].next(words))
    if len(values) != (2 if swaps else 1):
        raise NotDecoded(f"its form with {len(values)} values")
    if type_ >= 4 and i.number[2] not in (form.ATOMICS["ADD"], form.ATOMICS["EXCH"]):
        i.replayed = "an atomic operation on floats other than a sum"
    i.flags |= form.FLUSHES * s.has("FTZ")
    if words == 4 or count > 1:
        return _on_vectors(t, i, values, words, count)
    for k, value in enumerate(values):
        t.read(i, 2 + k, value, ("d" if type_ == 5 else "w") if words == 2 else "f" if type_ == 4 else "i")
        if words == 2 and i.mode[2 + k]:
            raise NotDecoded("the sign of a value of 64 bits")
    return i


def _on_vectors(t: Decoder, i: Decoded, values: Sequence[sass.Operand], words: int, count: int) -> Decoded:
    """Each value is so many registers; `count` of them are numbers of their own, or all are one of 128 bits."""
    if count > 1:
        i.flags |= form.ELEMENTS * count
    else:
        i.replayed = "an atomic operation on 128 bits"
        if i.number[2] not in (form.ATOMICS["CAS"], form.ATOMICS["EXCH"]):
            raise NotDecoded("its form")
    for k, value in enumerate(values):
        if not is_register(value) or value.is_changed:
            raise NotDecoded("a value that is in no registers")
        i.source[2 + k], i.width[2 + k] = t.row(value, words), 1
    i.registers = (*i.width[:2], *(words * width for width in i.width[2:]))
    return i


def _compares_and_sets(t: Decoder, i: Decoded, before: Sequence[sass.Operand], values: int) -> None:
    """ATOMS.CAST.SPIN{.64} d, [address], compare, value: d = 1 if it was equal and is set, else 0.

    d is as wide as the values: a pair of registers for .64. It may be a predicate.
    """
    if len(before) == 2 and before[0] == sass.Register("P", None):  # of another block of the cluster
        before = before[1:]
    if len(before) != 1 or values != 2:
        raise NotDecoded(f"its form with {len(before) + 1 + values} operands")
    i.number[2], i.op = form.ATOMICS["CAS"], "atom"
    i.flags |= form.SETS
    if is_predicate(before[0]):
        i.p_out[0] = t.kept(before[0])


def _arrive_at_ampere(t: Decoder, s: sass.Statement, destination: sass.Operand, address: sass.Operand) -> Decoded:
    """ATOMS.ARRIVE.64 d, [address]: one thread arrives at an mbarrier of Ampere, whose phase plain loads look at."""
    i = access(t, s, "arrive", "atom")
    i.offset = takes_address(t, i, address, t.space)
    i.number[2], i.replayed = form.AT_AMPERE, "an mbarrier of Ampere"
    t.writes(i, destination, 2)
    return i


# The bytes of generic addresses that a space has, as their upper words: from the first up to before the last.
_WINDOWS = {"S": "shared", "D": "shared", "L": "local", "G": "global"}


def query_space(t: Decoder, s: sass.Statement) -> Decoded:
    """QSPC.E.{S,D,L,G} p, d, [address]: whether a generic address is one of the block's shared memory, of that of other
    blocks of its cluster, of local or of global memory."""
    *destinations, address = at_least(s, 2, 3)
    if any(not is_predicate(operand) and operand != sass.Register("R", None) for operand in destinations):
        raise NotDecoded("its answer in a register")
    i = Decoded("query space", flags=form.WIDE_ADDRESS, replayed="the space of an address")
    i.offset = takes_address(t, i, address, "generic")
    i.number[:2] = form.SPACES[chosen(s, _WINDOWS)], int(s.has("D"))
    for k, operand in enumerate(operand for operand in destinations if is_predicate(operand)):
        i.p_out[k] = t.kept(operand)
    return i


def fence(t: Decoder, s: sass.Statement) -> Decoded:
    """MEMBAR.{SC,ALL,VC}.{CTA,GPU,SYS}."""
    return Decoded("fence", strong=form.SEES_GRID, number=[int(s.has("CTA")), 0, 0, 0])
