"""Loads, stores and atomic operations."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import NEVER_KEPT, NOWHERE, Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.memory import place_of, scale_of, words_of
from gpusim.isa.sass.operands import chosen, is_predicate, is_register

NARROW = {"U8": (1, False), "S8": (1, True), "U16": (2, False), "S16": (2, True)}


def takes_address(t: Decoder, i: Decoded, operand: sass.Operand, space: str, first: int = 0) -> int:
    """Sources `first` and the next as the terms of an address; returns its offset."""
    if not isinstance(operand, sass.Address):
        raise NotDecoded("an operand that is no address")
    terms = [register for register in operand.registers if register.number is not None]
    if len(terms) > 2:
        raise NotDecoded("an address of three registers")
    wide = space in ("global", "generic")
    for k, register in enumerate(terms):
        place = first + k
        narrow = not wide or "U32" in register.modifiers or "S32" in register.modifiers
        i.width[place] = 1 if narrow else 2
        i.source[place] = t.row(register, i.width[place])
        if wide and "S32" in register.modifiers:
            i.flags |= form.SIGNED_TERM << place
        if not wide:
            i.number[k] = scale_of(register)
    return operand.offset - (t.shared_base if space == "shared" else 0)


def access(t: Decoder, s: sass.Statement, operation: str, op: str) -> Decoded:
    space = form.SPACES[t.space]
    i = Decoded(operation, flags=space | form.WIDE_ADDRESS * (space in (form.GLOBAL, form.GENERIC)), space=space, op=op)
    i.is_strong = s.has("STRONG")
    # Others' writes may be waited for by volatile and strong loads, and in shared memory by any.
    i.strong = form.SEES_GRID if s.has("STRONG") else form.SEES_BLOCK if space in (form.SHARED, form.GENERIC) else 0
    return i


def load(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    i = access(t, s, "load", "ld")
    i.offset = takes_address(t, i, place, t.space)
    width, signed = chosen(s, NARROW, (0, False))
    i.flags |= form.SIGNED_VALUE * signed
    i.number[2], i.number[3] = 1 if width else words_of(s), width
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def store(t: Decoder, s: sass.Statement) -> Decoded:
    place, value = s.operands
    i = access(t, s, "store", "st")
    i.strong = 0
    i.offset = takes_address(t, i, place, t.space)
    width, _ = chosen(s, NARROW, (0, False))
    i.number[2], i.number[3] = 1 if width else words_of(s), width
    if not is_register(value) or value.negated or value.absolute or value.inverted or value.modifiers:
        raise NotDecoded("a stored value that is no plain register")
    i.source[2], i.width[2] = t.row(value, i.number[2]), 1
    return i


def load_constant(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place = s.operands
    if not isinstance(place, sass.Constant):
        raise NotDecoded("an operand that is no constant")
    words = words_of(s)
    if place.register is None and not s.has(*NARROW, "128"):
        i = Decoded("move two" if words == 2 else "move")
        for k in range(words):
            i.source[k], i.width[k] = t.words.row(Word(place.bank, place.offset + 4 * k)), 1
        t.writes(i, destination, words)
        if i.d is None:
            raise NotDecoded("a constant that is not kept")
        return i
    i = Decoded("load constant", offset=place.offset)
    width, signed = chosen(s, NARROW, (0, False))
    i.flags = form.SIGNED_VALUE * signed
    i.number[0], i.number[2], i.number[3] = place.bank, 1 if width else words, width
    if place.register is not None and place.register.number is not None:
        t.read(i, 0, sass.Register(place.register.file, place.register.number))
    t.writes(i, destination, i.number[2])
    if i.d is None:
        i.d = NOWHERE
    return i


def atomic(t: Decoder, s: sass.Statement) -> Decoded:
    position, place = place_of(s)
    before, values = s.operands[:position], s.operands[position + 1 :]
    destination = next((operand for operand in before if is_register(operand)), None)
    returns = destination is not None and destination.number is not None
    i = access(t, s, "atomic", "atom" if returns else "red")
    i.strong = form.SEES_BLOCK if t.space == "shared" else form.SEES_GRID
    i.offset = takes_address(t, i, place, t.space)
    i.number[3] = type_ = chosen(s, form.TYPES, 0)
    wide = type_ in (2, 3, 5)
    if returns:
        i.flags |= form.RETURNS_OLD
        t.writes(i, destination, 2 if wide else 1)
    if s.has("POPC") and s.has("INC"):
        i.number[2] = form.ATOMICS["ADD"]
        i.source[2], i.width[2] = t.words.row(Word(-1, 1)), 1
        return i
    if not s.has("CAST") and any(is_predicate(operand) and t.kept(operand) != NEVER_KEPT for operand in before):
        raise NotDecoded("its answer in a predicate")
    if s.has("CAST"):
        if len(before) == 2 and before[0] == sass.Register("P", None):  # of another block of the cluster
            before = before[1:]
        if len(before) != 1 or len(values) != 2:
            raise NotDecoded(f"its form with {len(s.operands)} operands")
        i.number[2] = form.ATOMICS["CAS"]
        i.flags |= form.SETS
        i.op = "atom"
        if is_predicate(before[0]):
            i.p_out[0] = t.kept(before[0])
    else:
        i.number[2] = chosen(s, form.ATOMICS)
    if i.number[2] == form.ATOMICS["CAS"] and len(values) == 1 and is_register(values[0]):
        values = (values[0], values[0].next(2 if wide else 1))
    if len(values) != (2 if i.number[2] == form.ATOMICS["CAS"] else 1):
        raise NotDecoded(f"its form with {len(values)} values")
    if type_ >= 4 and i.number[2] not in (form.ATOMICS["ADD"], form.ATOMICS["EXCH"]):
        raise NotDecoded("an atomic operation on floats other than a sum")
    for k, value in enumerate(values):
        t.read(i, 2 + k, value, ("d" if type_ == 5 else "w") if wide else "f" if type_ == 4 else "i")
        if wide and i.mode[2 + k]:
            raise NotDecoded("the sign of a value of 64 bits")
    i.flags |= form.FLUSHES * s.has("FTZ")
    return i


def fence(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("fence", strong=form.SEES_GRID, number=[int(s.has("CTA")), 0, 0, 0])
