"""Copies from memory to memory, alone or in bulk, and the barrier objects that count them."""

from __future__ import annotations

from gpusim.compiler.ptx import Address, Immediate, Register, Statement, Symbol
from gpusim.isa import decoded as form
from gpusim.isa.decoded import NEGATED, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.control import nothing
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.decoding.memory import ATOMIC_TYPES, CLUSTER, GROUPS, in_shared, space_of, takes_address
from gpusim.isa.ptx.decoding.moves import moved


def copy(t: Decoder, s: Statement) -> Decoded:
    """cp.async.{ca,cg}.shared.global [to], [from], size {, source size | ignore predicate}; its groups, and
    cp.async.mbarrier.arrive{.noinc}; copies in bulk. PTX ISA, 'cp.async', 'cp.async.bulk', 'cp.reduce.async.bulk'.

    What is said about caches changes no value: `.L2::cache_hint` and its policy, and prefetching.
    """
    if "bulk" in s.opcode and "tensor" not in s.opcode:
        return _copy_bulk(t, s)
    if s.opcode[1:3] == ("async", "mbarrier"):
        i = _at_barrier(t, s, "arrive", s.operands[0])
        i.flags |= form.BEHIND_COPIES
        i.number[2] = form.ARRIVALS["A1T0" if "noinc" in s.opcode else "ART0"]
        t.zero(i, 2)  # of the other form: one more is expected, and comes when the copies have come
        return i
    if s.opcode[1] != "async" or s.opcode[2] not in ("ca", "cg", *GROUPS):
        raise NotDecoded(f"{'.'.join(s.opcode[:5])}, a copy of another form")
    if s.opcode[2] == "commit_group":
        return Decoded("close copies")
    if s.opcode[2] in GROUPS:
        pending = t.operands.constant(s.operands[0]) if s.operands else 0
        return Decoded("await copies", number=[pending, int(s.opcode[2] == "wait_all"), form.OF_THREADS, 0])
    to, origin, size, *rest = s.operands
    i = Decoded("copy async", space=form.GLOBAL, op="copy", number=[1, 1, 0, t.operands.constant(size) // 4])
    for operand in rest:
        if isinstance(operand, Immediate) and operand.value == t.operands.constant(size):
            continue
        if not t.operands.is_predicate(operand):
            if isinstance(operand, Immediate) or t.bytes_of(operand) == 4:  # a cache policy has 8 bytes
                (i.source[1],) = t.value(operand, "u32")
                i.flags |= form.SIZED
            continue
        i.p_in[0] = t.predicate(operand) ^ NEGATED
    if takes_address(t, i, to):
        i.width[0] = min(i.width[0], 1)
    i.number[2] = i.offset
    if not takes_address(t, i, origin, 2):
        raise NotDecoded("a global address of 32 bits")
    i.registers = (i.width[0], int(i.flags & form.SIZED > 0), i.width[2], 0)
    return i


def cache_policy(t: Decoder, s: Statement) -> Decoded:
    return moved(t, s.operands[0], t.number(0, wide=True))


def _copy_bulk(t: Decoder, s: Statement) -> Decoded:
    if s.opcode[3] == "commit_group":
        return Decoded("close bulk")
    if s.opcode[3] == "wait_group":
        pending = t.operands.constant(s.operands[0]) if s.operands else 0
        return Decoded("await copies", number=[pending, 0, form.IN_BULK, int("read" in s.opcode)])
    if s.opcode[3] == "prefetch":
        return nothing(t, s)
    i = Decoded("copy bulk", space=form.GLOBAL, flags=form.OF_PTX)
    combines = s.opcode[1] == "reduce"
    ends = s.opcode[4:6] if combines else s.opcode[3:5]
    to, origin, size, *more = s.operands
    if ends == ("global", "shared::cta"):
        i.number[0], rows = (form.BULK_COMBINES if combines else form.BULK_PUTS), _place_of_copy(t, to, 2)
        if combines:
            name = next((part.upper() for part in s.modifiers if part.upper() in form.ATOMICS), None)
            if name is None or s.type not in ATOMIC_TYPES:
                raise NotDecoded("the operation")
            if ATOMIC_TYPES[s.type] >= form.TYPES["F32"] and name != "ADD":
                i.replayed = "an operation on floats other than a sum"
            i.number[2], i.number[3] = form.ATOMICS[name], ATOMIC_TYPES[s.type]
    elif ends[0] in ("shared::cluster", "shared::cta") and not combines and more:
        fetches = ends[1] == "global"
        i.number[0] = form.BULK_FETCHES if fetches else form.BULK_SENDS
        barrier, *ranks = more
        rows = _place_of_copy(t, to, 1) + _place_of_copy(t, barrier, 1)
        if "multicast::cluster" in s.opcode:
            i.flags |= form.MULTICAST
            t.read(i, 3, ranks[0], "u16")
    else:
        raise NotDecoded(f"{'.'.join(s.opcode)}, a copy in bulk of another form")
    i.op = ("bulk_ld", "bulk_send", "bulk_st", "bulk_red")[i.number[0]]
    source = _place_of_copy(t, origin, 2 if i.number[0] == form.BULK_FETCHES else 1)
    for position, where in enumerate((rows, source)):
        i.source[position], i.width[position] = t.listed(where), 1
    t.read(i, 2, size, "u32")
    i.registers = (len(rows), len(source), 1, i.width[3])
    return i


def _place_of_copy(t: Decoder, operand, words: int) -> tuple[int, ...]:
    """The rows of an address: that of a variable, or one that stands in a register as it is, as inline PTX has it."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Register | Symbol):
        raise NotDecoded(f"the address {operand}")
    is_there = isinstance(operand.base, Register) or operand.base.name in t.operands.global_variables
    if operand.offset and is_there:
        raise NotDecoded("a copy whose address is a sum")
    if is_there:
        rows = t.value(operand.base, "b64") if isinstance(operand.base, Symbol) else t.rows(operand.base)
    else:
        rows = t.number(t.operands.symbol_address(operand.base.name) + operand.offset, wide=True)
    if len(rows) < words:
        raise NotDecoded("a global address of 32 bits")
    return rows[:words]


def _at_barrier(t: Decoder, s: Statement, operation: str, address) -> Decoded:
    """What is done at an mbarrier of the own block, or of any of the cluster."""
    name = space_of(s)
    i = Decoded(operation, flags=form.SHARED, space=form.SHARED, op="atom", strong=form.SEES_BLOCK)
    if name == CLUSTER:
        i.flags, i.space, i.strong = form.LOCAL | form.ANYWHERE, form.GENERIC, form.SEES_GRID
    i.flags |= form.AT_MBARRIER
    if name == "generic":
        i.flags, i.replayed = form.GENERIC | form.WIDE_ADDRESS, "an mbarrier at a generic address"
        takes_address(t, i, address)
    else:
        in_shared(t, i, address)
    return i


def barrier_object(t: Decoder, s: Statement) -> Decoded:
    """mbarrier.{init,inval,arrive,arrive_drop,expect_tx,complete_tx,test_wait,try_wait,pending_count}. PTX ISA,
    'mbarrier'.

    The bits of an object and of a state are those of Hopper (`arithmetic.mbarrier`).
    """
    what = s.opcode[1]
    if what == "inval":
        return nothing(t, s)
    if what == "init":
        address, count = s.operands
        i = _at_barrier(t, s, "begin barrier", address)
        if i.space != form.SHARED:
            i.replayed = "an mbarrier of another block"
        i.op, i.strong, i.flags = "st", 0, i.flags & ~form.AT_MBARRIER
        i.number[2] = 2
        i.source[2], i.width[2] = t.nowhere, 1
        t.read(i, 3, count, "u32")
        return i
    if what in ("expect_tx", "complete_tx"):
        address, size = s.operands
        i = _at_barrier(t, s, "arrive", address)
        i.number[2] = form.ARRIVALS["A0TR" if what == "expect_tx" else "A0TX"]
        t.read(i, 2, size, "u32")
        return i
    if what in ("arrive", "arrive_drop"):
        destination, address, *amount = s.operands
        i = _at_barrier(t, s, "arrive", address)
        i.number[2] = 0 if "expect_tx" in s.opcode else form.ARRIVALS["ART0" if amount else "A1T0"]
        if amount:
            t.read(i, 2, amount[0], "u32")
        i.flags |= form.LEAVES_FOR_GOOD * (what == "arrive_drop")
        if i.space == form.SHARED and destination != Register("_"):  # of another block no state is answered
            t.writes(i, destination, 8)
        return i
    if what == "pending_count":
        return _pending(t, s)
    if what not in ("test_wait", "try_wait"):
        raise NotDecoded(f"mbarrier.{what}")
    destination, address, phase, *_ = s.operands
    i = _at_barrier(t, s, "phase ended", address)
    if "parity" in s.opcode:
        i.flags |= form.OF_PTX
        t.read(i, 2, phase, "u32")
    else:
        i.source[2], i.width[2] = t.value(phase, "b64")[1], 1
    i.p_out[0] = t.kept(destination)
    i.kind = form.WAITS_FOR_PHASE if what == "try_wait" else form.COMPUTES
    return i


def _pending(t: Decoder, s: Statement) -> Decoded:
    """How many threads had still to come when a state was taken."""
    destination, state = s.operands
    i = Decoded("pending count", replayed="mbarrier.pending_count")
    t.read(i, 0, state, "b64")
    t.writes(i, destination, 4)
    return i
