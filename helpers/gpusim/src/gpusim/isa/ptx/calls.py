"""Calls and returns of PTX: jumps in the text that `linking` makes. Reference: PTX ISA, 'call' and 'ret'.

NumPy has rules of its own for them: a call saves registers, which are whole here and rows of 32 bits in the C program.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.compiler.ptx import TYPE_BYTES, Register, Statement, Symbol
from gpusim.engine.run import merge
from gpusim.errors import OutOfBounds
from gpusim.isa.ptx import computations
from gpusim.isa.ptx.decoding import control
from gpusim.isa.ptx.linking import ORIGIN, RECURSION_BYTES, STACK, Call, called, return_register
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import Branch, Execute, Outcome, Reader, no_function


def call(t: Operands, s: Statement) -> Outcome:
    """call (results), function, (arguments) {, prototype}; the function is named, or its address is in a register."""
    if t.at not in t.text.calls:
        return computations.outcome(t, s, control.call)
    function = called(s)
    this = t.text.calls[t.at]
    select = None if isinstance(function, Symbol) else _by_address(t, function, this.callees)
    return Branch(tuple(t.text.starts[name] for name in this.callees), select, leave=_enter(t, this, function, select))


def _by_address(t: Operands, function: Register, callees: Sequence[str]) -> Reader:
    """The position in `callees` of the function at an address; that of another one where there is none."""
    address = _address(t, function)
    addresses = np.array([t.function_addresses[name] for name in callees], np.int64)
    order = np.argsort(addresses)

    def select(registers):
        rank = np.searchsorted(addresses[order], address(registers))
        return order[np.minimum(rank, len(order) - 1)]

    return select


def _address(t: Operands, function: Register) -> Reader:
    """That of the function which a register points to."""
    slot = t.target(function)
    t.read_now.add(slot)
    return lambda registers: registers[slot].view(np.int64)


def _enter(t: Operands, this: Call, function, select: Reader | None) -> Execute:
    """What a call does before it goes: it saves registers, moves the stack, and says where to come back to."""
    stack, saved = t.target(Register(STACK)), _saved(t, this)
    t.read_now |= {stack, *(slot for slot, _, _ in saved)}
    size, deepest = np.int64(t.text.frames[this.caller]), max(t.text.frames[name] for name in this.callees)
    address = None if select is None else _address(t, function)
    origin, index = None if this.caller else t.target(Register(ORIGIN)), np.int32(this.index)
    back = [
        (t.target(Register(return_register(name))), np.int32(t.text.returns_to(name).index(this)))
        for name in this.callees
    ]
    places = [] if address is None else [np.int64(t.function_addresses[name]) for name in this.callees]

    def execute(wave, registers, mask):
        base = registers[stack]
        _check_stack(wave, base + size + deepest, t.text.stack_bytes, mask)
        for slot, offset, dtype in saved:
            wave.local.store(wave, base + offset, mask, [registers[slot].view(dtype)])
        registers[stack] = _put(mask, base + size, base)
        if origin is not None:
            registers[origin] = _put(mask, index, registers[origin])
        if address is None:
            ((slot, number),) = back
            registers[slot] = _put(mask, number, registers[slot])
            return
        where = np.broadcast_to(address(registers), wave.shape)
        others = np.ones(wave.shape, bool) if mask is None else mask.copy()
        for (slot, number), entry in zip(back, places, strict=True):
            lanes = others & (where == entry)
            registers[slot] = _put(lanes, number, registers[slot])
            others &= ~lanes
        if others.any():
            no_function(wave, where, others)

    return execute


def leave(t: Operands, s: Statement) -> Outcome:
    """ret: the end of a kernel; of a function back behind the call that its return_register says, with the caller's
    registers and frame."""
    function = t.text.owner(t.at)
    if not function:
        return computations.outcome(t, s, control.leave)
    calls = t.text.returns_to(function)
    stack, point = t.target(Register(STACK)), t.target(Register(return_register(function)))
    t.read_now |= {stack, point}
    ways = [(np.int64(t.text.frames[call.caller]), _saved(t, call)) for call in calls]

    def execute(wave, registers, mask):
        number = registers[point]
        for position, (size, saved) in enumerate(ways):
            lanes = mask
            if number.ndim == 0:
                if number != position:
                    continue
            else:
                lanes = np.broadcast_to(number == position, wave.shape)
                lanes = lanes if mask is None else lanes & mask
                if not lanes.any():
                    continue
            base = registers[stack] - size
            registers[stack] = _put(lanes, base, registers[stack])
            for slot, offset, dtype in saved:
                (value,) = wave.local.load(wave, base + offset, lanes, dtype, 1)
                value = value.astype(bool) if t.types[slot] == "pred" else value
                registers[slot] = _put(lanes, value, registers[slot])

    return Branch(tuple(call.index + 1 for call in calls), lambda registers: registers[point], leave=execute)


def _saved(t: Operands, this: Call) -> list[tuple[int, np.int64, np.dtype]]:
    """(slot, place in the frame, type) of what a call saves."""
    registers = [(t.target(Register(name)), offset) for name, offset in this.saved]
    return [(slot, np.int64(offset), np.dtype(f"i{TYPE_BYTES[t.types[slot]]}")) for slot, offset in registers]


def _put(mask, new, old):
    return new if mask is None else merge(mask, new, old)


def _check_stack(wave, end, bytes_: int, mask) -> None:
    """OutOfBounds for a thread whose next frame would not fit on its stack."""
    too_deep = np.broadcast_to(end > bytes_, wave.shape)
    too_deep = too_deep if mask is None else too_deep & mask
    if too_deep.any():
        block, thread = (int(i) for i in np.argwhere(too_deep)[0])
        what = f"calls functions that call themselves, deeper than its stack of {RECURSION_BYTES} bytes of local memory"
        wave.fail(OutOfBounds, what, wave.local.advice_below.partition(". ")[2], block, thread)
