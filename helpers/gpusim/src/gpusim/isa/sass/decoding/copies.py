"""Copies from memory to memory, alone or in bulk, and the barrier objects that count them."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.decoding.memory import access, stores, takes_address, words_of
from gpusim.isa.sass.operands import address_operand, at_least, chosen, exactly, is_register


def copy_async(t: Decoder, s: sass.Statement) -> Decoded:
    """LDGSTS.E{.BYPASS}{.64,.128}{.ZFILL} [shared], [global] {, p}: zeros are written where p is false.

    .ZFILL reads only the first bytes: the address is that of the source plus the number of bytes that are not read.
    """
    to, origin, *condition = at_least(s, 2, 3)
    i = Decoded("copy async", space=form.GLOBAL, op="copy")
    offset = takes_address(t, i, to, "shared", 0)
    i.offset = takes_address(t, i, origin, "global", 2)
    i.p_in[0] = t.predicate(condition[0]) if condition else ALWAYS
    i.number[2], i.number[3] = offset, words_of(s)
    i.flags |= form.FILLS * s.has("ZFILL")
    return i


def barrier_object(t: Decoder, s: sass.Statement) -> Decoded:
    """SYNCS, an mbarrier of Hopper. SYNCS.EXCH.64 URZ, [address], value makes one; at its end comes SYNCS.CCTL.IV, and
    .IVALL after the plain stores that make one on Blackwell: they change nothing here.

    SYNCS.ARRIVE.TRANS64{.RED}{.A1T0,.ART0,.A0TR,.A0TX,.A0T1}{.OPTOUT} d, [address], r: how many threads arrive, one,
    none or a register's, and may leave (.OPTOUT); and how many bytes are expected, or have come (X); without either
    word one thread arrives and a register's bytes are expected. .RED: at a barrier of any block of the cluster.
    SYNCS.PHASECHK.TRANS64{.TRYWAIT} p, [address], phase: whether the phase of a parity, bit 31, has ended.
    """
    if s.has("CCTL"):
        return Decoded("nothing")
    destination, address, value = exactly(s, 3)
    if not s.has("PHASECHK") and not is_register(destination):
        raise NotDecoded("a destination that is no register")
    if s.has("EXCH"):
        i = access(t, s, "store", "st")
        i.strong, i.offset, i.number[2] = 0, takes_address(t, i, address, t.space), 2
        if destination.number is not None:
            raise NotDecoded("the value that there was before")
        stores(t, i, value, 2)
        i.flags |= form.FOR_THE_WARP
        if s.address in t.code.makers:
            i.p_in[0] = t.predicate(t.code.makers[s.address])
        return i
    i = access(t, s, "phase ended" if s.has("PHASECHK") else "arrive", "atom")
    i.flags |= form.AT_MBARRIER
    t.read(i, 2, value)
    if s.has("PHASECHK"):
        i.offset = takes_address(t, i, address, t.space)
        i.p_out[0] = t.kept(destination)
        i.kind = form.WAITS_FOR_PHASE if s.has("TRYWAIT") else form.COMPUTES
        return i
    if s.has("RED"):  # in any block of the cluster
        i.flags = form.LOCAL | form.ANYWHERE | form.AT_MBARRIER
    i.offset = takes_address(t, i, address, "local" if s.has("RED") else t.space)
    i.flags |= form.LEAVES_FOR_GOOD * s.has("OPTOUT")
    i.number[2] = chosen(s, form.ARRIVALS, 0)
    if destination.number is not None:
        t.writes(i, destination.next(1))
    return i


def copies_arrive(t: Decoder, s: sass.Statement) -> Decoded:
    """ARRIVES.LDGSTSBAR.64.{ARVCNT,TRANSCNT} [address]: when the thread's copies so far have come, it arrives at an
    mbarrier, or one byte comes, which SYNCS.A0T1 made expected. With neither word it arrives at one of Ampere."""
    (address,) = exactly(s, 1)
    i = access(t, s, "arrive", "atom")
    i.offset = takes_address(t, i, address, t.space)
    i.flags |= form.BEHIND_COPIES | form.AT_MBARRIER
    if not s.has("ARVCNT", "TRANSCNT"):
        i.number[2], i.replayed = form.AT_AMPERE, "an mbarrier of Ampere"
        return i
    i.number[2] = form.ARRIVALS["A1T0"] if s.has("ARVCNT") else form.COMPLETES_ONE
    return i


def copy_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    """UBLKCP.S.G{.MULTICAST}, .S.S, .G.S [to], [from], size {, desc[UR]}; UBLKRED.G.S.ADD.F32.RN [to], [from], size.

    A warp asks for it, with registers that its lanes share. `UBLKCP.S.G [UR4], [UR8], UR6`: to the address in UR4, for
    the mbarrier at that in UR5, from the one in UR8 and UR9; the lower half of UR6 counts units of 16 bytes, the upper
    half has a bit for each block of the cluster that `.MULTICAST` copies to.
    """
    to, origin, size, *_ = at_least(s, 3, 4)
    what = {"SG": form.BULK_FETCHES, "SS": form.BULK_SENDS, "GS": form.BULK_PUTS}.get("".join(s.opcode[1:3]))
    if what is None or (s.base == "UBLKRED" and what != form.BULK_PUTS):
        raise NotDecoded("its form")
    i = Decoded("copy bulk", space=form.GLOBAL, flags=form.MULTICAST * s.has("MULTICAST"))
    i.number[0] = form.BULK_COMBINES if s.base == "UBLKRED" else what
    i.op = ("bulk_ld", "bulk_send", "bulk_st", "bulk_red")[i.number[0]]
    if s.base == "UBLKRED":
        i.number[2], i.number[3] = chosen(s, form.ATOMICS), chosen(s, form.TYPES | form.HALVES, 0)
        if i.number[3] >= form.TYPES["F32"] and i.number[2] != form.ATOMICS["ADD"]:
            i.replayed = "an operation on floats other than a sum"
    counts = 2, 2 if what == form.BULK_FETCHES else 1
    for position, (operand, count) in enumerate(zip((to, origin), counts, strict=True)):
        i.source[position], i.width[position] = t.row(_in_one_register(operand), count), 1
    t.read(i, 2, size)
    i.registers = (*counts, 1, 0)
    return i


def _in_one_register(operand: sass.Operand) -> sass.Register:
    """The register that holds an address, alone or as the first of a pair."""
    address = address_operand(operand)
    if len(address.registers) != 1 or address.offset or address.registers[0].number is None:
        raise NotDecoded("an address that is not in one register")
    return address.registers[0]


def close_copies(t: Decoder, s: sass.Statement) -> Decoded:
    """LDGDEPBAR: the copies since the last one are a group."""
    return Decoded("close copies")


def close_bulk(t: Decoder, s: sass.Statement) -> Decoded:
    """UTMACMDFLUSH: the copies in bulk since the last one are a group."""
    return Decoded("close bulk")


def await_copies(t: Decoder, s: sass.Statement) -> Decoded:
    """DEPBAR.LE SB0, n waits for all but the n newest groups of copies, of threads and in bulk; other forms wait for
    what has happened here."""
    if not s.has("LE") or s.operands[:1] != (sass.Name("SB0"),):
        return Decoded("nothing")
    pending = number_of(s.operands[1]) if len(s.operands) > 1 else 0
    return Decoded("await copies", number=[pending, 0, 0, 0])
