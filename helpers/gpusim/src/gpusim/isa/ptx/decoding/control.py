"""What comes next: branches, calls, barriers, the end."""

from __future__ import annotations

import numpy as np

from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Register, Statement, Symbol
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.linking import STOPS, Call, called, return_register


def branch(t: Decoder, s: Statement) -> Decoded:
    """bra{.uni} label."""
    return Decoded(kind=form.BRANCHES, target=t.operands.function.labels[s.operands[0].name])


def branch_by_index(t: Decoder, s: Statement) -> Decoded:
    """brx.idx{.uni} index, table."""
    function, (index, table) = t.operands.function, s.operands
    i = Decoded(kind=form.JUMPS)
    i.jumps = tuple(function.labels[label] for label in function.branch_tables[table.name])
    t.read(i, 0, index, "s32")
    return i


def leave(t: Decoder, s: Statement) -> Decoded:
    """exit, and ret: the end of a kernel; of a function back behind the call that its return_register says."""
    text = t.operands.text
    function = text.owner(t.at) if text.calls and s.name == "ret" else ""
    if not function:
        return Decoded(kind=form.EXITS)
    i = Decoded(kind=form.RETURNS, jumps=tuple(call.index + 1 for call in text.returns_to(function)))
    t.read(i, 0, Register(return_register(function)), "b32")
    ways = []
    for call in text.returns_to(function):
        ways.append(len(t.lists))
        t.lists += [text.frames[call.caller], *_saved(t, call)]
    i.offset = len(t.lists)
    t.lists += ways
    return i


def _saved(t: Decoder, this: Call) -> list[int]:
    """How many registers a call saves; of each its row (or -1 less a predicate's number), its place and its bytes."""
    saved: list[tuple[int, int, int]] = []
    for name, offset in this.saved:
        slot = t.slot(Register(name))
        if slot in t.places.predicate_of:
            saved.append((-1 - t.places.predicate_of[slot], offset, 1))
            continue
        size = min(4, TYPE_BYTES[t.operands.types[slot]])
        saved += [(row, offset + 4 * k, size) for k, row in enumerate(t.places.rows_of[slot])]
    return [len(saved), *(number for register in saved for number in register)]


def call(t: Decoder, s: Statement) -> Decoded:
    """call (results), function, (arguments) {, prototype}; the function is named, or its address is in a register."""
    text, function = t.operands.text, called(s)
    is_pointer_to_none = not isinstance(function, Symbol) and t.at not in text.calls
    if is_pointer_to_none:
        i = Decoded("trap", flags=form.BY_POINTER)
        t.read(i, 0, function, "b64")
        return i
    if isinstance(function, Symbol) and function.name in STOPS:
        return Decoded("trap")
    if t.at not in text.calls:
        if function.name not in form.SYSTEM_FUNCTIONS:
            raise NotDecoded("and no text that the simulator has defines such a function")
        address = form.SYSTEM_FUNCTIONS[function.name]
        return Decoded("call system", offset=address, replayed="a function of the system")
    this = text.calls[t.at]
    size, call_of_kernel = text.frames[this.caller], this.index
    if not t.is_replay:
        call_of_kernel = next(block.index for block in t.program.blocks if block.start <= t.at < block.stop)
    deepest = max(text.frames[name] for name in this.callees)
    i = Decoded(kind=form.CALLS, offset=len(t.lists))
    t.lists += _saved(t, this)
    i.number = [size, len(t.lists), text.stack_bytes - size - deepest, -1 if this.caller else call_of_kernel]
    t.lists.append(len(this.callees))
    for name in this.callees:
        address = t.operands.function_addresses.get(name, 0)
        halves = (int(np.uint32(half).view(np.int32)) for half in (address & 0xFFFFFFFF, address >> 32))
        back, row = text.returns_to(name).index(this), t.rows(Register(return_register(name)))[0]
        t.lists += [*halves, text.starts[name], back, row]
    if not isinstance(function, Symbol):
        t.read(i, 0, function, "b64")
    return i


def barrier(t: Decoder, s: Statement) -> Decoded:
    """bar.{sync,arrive} number {, threads}; bar.red.{popc,and,or} d, number {, threads}, p; bar.warp.sync mask."""
    if "warp" in s.modifiers or s.type == "warp":
        i = Decoded(kind=form.WAITS_FOR_LANES)
        t.read(i, 3, s.operands[0], "u32")
        return i
    if "cluster" in s.opcode:
        return _barrier_of_cluster(s)
    operands = s.operands or (Immediate(0, 0),)
    i = Decoded(kind=form.WAITS, flags=int("arrive" in s.opcode))
    if "red" in s.opcode:
        destination, which, *threads, condition = operands
        name = next(part for part in s.opcode if part in ("popc", "and", "or"))
        i.operation, i.offset = "bring votes", ("popc", "and", "or").index(name)
        i.p_in[0] = t.predicate(condition)
        i.flags = 2
        if threads:
            i.replayed = "a reduction at a barrier of some threads"
        if name == "popc":
            t.writes(i, destination, 4)
        else:
            i.p_out[0] = t.kept(destination)
    else:
        which, *threads = operands
        if "arrive" not in s.opcode and "sync" not in s.opcode:
            raise NotDecoded("its form")
    for position, operand in enumerate((which, *threads)):
        if isinstance(operand, Immediate):
            i.number[1 + position] = operand.value
        else:
            t.read(i, position, operand, "u32")
    return i


def _barrier_of_cluster(s: Statement) -> Decoded:
    """barrier.cluster.arrive{.release,.relaxed}{.aligned}; barrier.cluster.wait{.acquire}{.aligned}."""
    words = (*s.opcode, s.type)
    if "arrive" in words:
        return Decoded(kind=form.ARRIVES)
    if "wait" in words:
        return Decoded(kind=form.WAITS_FOR_CLUSTER)
    raise NotDecoded("its form")


def sleep(t: Decoder, s: Statement) -> Decoded:
    """nanosleep.u32 t."""
    i = Decoded("sleep", kind=form.TAKES_TIME)
    t.read(i, 0, s.operands[0], "u32")
    return i


def trap(t: Decoder, s: Statement) -> Decoded:
    return Decoded("trap")


def nothing(t: Decoder, s: Statement) -> Decoded:
    return Decoded("nothing")
