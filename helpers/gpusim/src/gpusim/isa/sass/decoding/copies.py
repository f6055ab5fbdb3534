"""Copies from memory to memory, alone or in bulk, and the barrier objects that count them."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded
from gpusim.isa.sass import bulk
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.decoding.memory import access, takes_address
from gpusim.isa.sass.memory import words_of
from gpusim.isa.sass.operands import chosen, is_register


def copy_async(t: Decoder, s: sass.Statement) -> Decoded:
    to, origin, *condition = s.operands
    i = Decoded("copy async", space=form.GLOBAL, op="copy")
    offset = takes_address(t, i, to, "shared", 0)
    i.offset = takes_address(t, i, origin, "global", 2)
    if len(condition) > 1:
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    i.p_in[0] = t.predicate(condition[0]) if condition else ALWAYS
    i.number[2], i.number[3] = offset, words_of(s)
    i.flags |= form.FILLS * s.has("ZFILL")
    return i


def barrier_object(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("CCTL"):
        return Decoded("nothing")
    destination, place, value = s.operands
    if s.has("EXCH"):
        i = access(t, s, "store", "st")
        i.strong, i.offset, i.number[2] = 0, takes_address(t, i, place, t.space), 2
        if not is_register(value):
            raise NotDecoded("a barrier whose bits are in no register")
        i.source[2], i.width[2] = t.row(value, 2), 1
        i.flags |= form.FOR_THE_WARP
        return i
    i = access(t, s, "phase ended" if s.has("PHASECHK") else "arrive", "atom")
    i.flags |= form.AT_MBARRIER
    t.read(i, 2, value)
    if s.has("PHASECHK"):
        i.offset = takes_address(t, i, place, t.space)
        i.p_out[0] = t.kept(destination)
        i.kind = form.WAITS_FOR_PHASE if s.has("TRYWAIT") else form.COMPUTES
        return i
    if s.has("RED"):  # in any block of the cluster
        i.flags = form.LOCAL | form.ANYWHERE | form.AT_MBARRIER
    i.offset = takes_address(t, i, place, "local" if s.has("RED") else t.space)
    i.flags |= form.LEAVES_FOR_GOOD * s.has("OPTOUT")
    i.number[2] = chosen(s, form.ARRIVALS, 0)
    if destination.number is not None:
        t.writes(i, destination.next(1))
    return i


def copies_arrive(t: Decoder, s: sass.Statement) -> Decoded:
    (place,) = s.operands
    i = access(t, s, "arrive", "atom")
    i.offset = takes_address(t, i, place, t.space)
    i.flags |= form.BEHIND_COPIES | form.AT_MBARRIER
    if not s.has("ARVCNT", "TRANSCNT"):
        raise NotDecoded("an mbarrier of Ampere")
    i.number[2] = form.ARRIVALS["A1T0"] if s.has("ARVCNT") else form.COMPLETES_ONE
    return i


def copy_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    to, origin, size, *_ = s.operands
    what = {"SG": form.BULK_FETCHES, "SS": form.BULK_SENDS, "GS": form.BULK_PUTS}.get("".join(s.opcode[1:3]))
    if what is None:
        raise NotDecoded("its form")
    i = Decoded("copy bulk", space=form.GLOBAL, flags=form.MULTICAST * s.has("MULTICAST"))
    i.number[0] = form.BULK_COMBINES if s.base == "UBLKRED" else what
    i.op = ("bulk_ld", "bulk_send", "bulk_st", "bulk_red")[i.number[0]]
    if s.base == "UBLKRED":
        i.number[2], i.number[3] = chosen(s, form.ATOMICS), chosen(s, form.TYPES | form.HALVES, 0)
        if i.number[3] >= form.TYPES["F32"] and i.number[2] != form.ATOMICS["ADD"]:
            raise NotDecoded("an operation on floats other than a sum")
    for place, (operand, count) in enumerate(((to, 2), (origin, 2 if what == form.BULK_FETCHES else 1))):
        register = bulk.in_one_register(operand)
        i.source[place], i.width[place] = t.row(register, count), 1
    t.read(i, 2, size)
    return i


def close_copies(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("close copies")


def close_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    return Decoded("close bulk")


def await_copies(t: Decoder, s: sass.Statement) -> Decoded:
    if not s.has("LE") or s.operands[:1] != (sass.Name("SB0"),):
        return Decoded("nothing")
    pending = number_of(s.operands[1]) if len(s.operands) > 1 else 0
    return Decoded("await copies", number=[pending, 0, 0, 0])
