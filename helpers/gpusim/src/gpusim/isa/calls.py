"""What NumPy does for calls and returns of PTX, from their decoded form. Reference: PTX ISA, 'call' and 'ret'.

Functions lie in one text with the kernel (`ptx.linking`), so that both are jumps; a call saves the registers that are
live behind it in a frame on the thread's stack, and a return loads them. What is listed of them says `call` in warp.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpusim.compiler.ptx import Register
from gpusim.engine.lanewise import RESULTS
from gpusim.engine.run import merge
from gpusim.errors import OutOfBounds
from gpusim.isa.ptx.linking import ORIGIN, RECURSION_BYTES, STACK
from gpusim.isa.rules import Branch, Reader, no_function
from gpusim.isa.values import I4, I8, Values

SAVED_PARTS, FUNCTION_PARTS = 3, 5  # numbers that are listed of each


class _Saved(NamedTuple):
    """A register that a call saves, and at which byte of the caller's frame."""

    slot: int
    offset: np.int64
    dtype: np.dtype


class _Callee(NamedTuple):
    """A function that a call may reach; `back` receives the number of the call among those that it returns to."""

    address: int
    start: int
    number: np.int32
    back: int


def call_of(v: Values) -> Branch:
    """A call of the one function that is named, or of the one whose address source 0 holds."""
    size, at, room, _ = v.decoded.number
    callees = list(_callees(v, at))
    saved = _saved(v, v.decoded.offset)
    address = v.source(0, I8) if v.decoded.width[0] else None
    stack = v.operands.target(Register(STACK))
    is_of_kernel = v.decoded.number[3] >= 0
    origin, call = v.operands.target(Register(ORIGIN)) if is_of_kernel else None, np.int32(v.decoded.number[3])
    v.operands.read_now |= {stack, *(register.slot for register in saved)}

    def execute(wave, registers, mask):
        base = registers[stack]
        _check_stack(wave, base > room, mask)
        for slot, offset, dtype in saved:
            wave.local.store(wave, base + offset, mask, [registers[slot].view(dtype)])
        registers[stack] = _put(mask, base + np.int64(size), base)
        if origin is not None:
            registers[origin] = _put(mask, call, registers[origin])
        if address is None:
            (callee,) = callees
            registers[callee.back] = _put(mask, callee.number, registers[callee.back])
            return
        where = np.broadcast_to(address(registers), wave.shape)
        others = np.ones(wave.shape, bool) if mask is None else mask.copy()
        for callee in callees:
            lanes = others & (where == callee.address)
            registers[callee.back] = _put(lanes, callee.number, registers[callee.back])
            others &= ~lanes
        if others.any():
            no_function(wave, where, others)

    select = None if address is None else _by_address(address, callees)
    return Branch(tuple(callee.start for callee in callees), select, leave=execute)


def return_of(v: Values) -> Branch:
    """A return behind the call whose number source 0 holds, with the registers and the frame of its function."""
    stack, point = v.operands.target(Register(STACK)), v.source(0, I4)
    lists, ways = v.computation.lists, range(v.decoded.offset, v.decoded.offset + len(v.decoded.jumps))
    frames = [(np.int64(lists[lists[way]]), _saved(v, lists[way] + 1)) for way in ways]
    v.operands.read_now.add(stack)

    def execute(wave, registers, mask):
        number = point(registers)
        for position, (size, saved) in enumerate(frames):
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
                value = value.view(bool) if v.computation.initial[slot].dtype == bool else value
                registers[slot] = _put(lanes, value, registers[slot])

    return Branch(v.decoded.jumps, point, leave=execute)


def _by_address(address: Reader, callees: list[_Callee]) -> Reader:
    """The position in `callees` of the function at an address; that of another one where there is none."""
    addresses = np.array([callee.address for callee in callees], np.int64)
    order = np.argsort(addresses)

    def select(registers):
        rank = np.searchsorted(addresses[order], address(registers))
        return order[np.minimum(rank, len(order) - 1)]

    return select


def _callees(v: Values, at: int) -> Iterator[_Callee]:
    lists = v.computation.lists
    for first in range(at + 1, at + 1 + FUNCTION_PARTS * lists[at], FUNCTION_PARTS):
        low, high, start, number, row = lists[first : first + FUNCTION_PARTS]
        address = int(np.uint64((high & 0xFFFFFFFF) << 32 | low & 0xFFFFFFFF).view(np.int64))
        yield _Callee(address, start, np.int32(number), _slot(v, row))


def _saved(v: Values, at: int) -> list[_Saved]:
    """The registers listed from a number on. Of 64 bits both rows are, which are one register here."""
    lists, saved = v.computation.lists, {}
    for first in range(at + 1, at + 1 + SAVED_PARTS * lists[at], SAVED_PARTS):
        row, offset, _ = lists[first : first + SAVED_PARTS]
        slot = _slot(v, row)
        saved.setdefault(slot, _Saved(slot, np.int64(offset), np.dtype(f"i{v.computation.initial[slot].itemsize}")))
    return list(saved.values())


def _slot(v: Values, row: int) -> int:
    """That of the register of a row; of a predicate, of which -1 less its number is listed."""
    return v.computation.predicates[-1 - row] if row < 0 else row % RESULTS // 2


def _put(mask, new, old):
    return new if mask is None else merge(mask, new, old)


def _check_stack(wave, too_deep, mask) -> None:
    """OutOfBounds for a thread whose next frame would not fit on its stack."""
    too_deep = np.broadcast_to(too_deep, wave.shape)
    too_deep = too_deep if mask is None else too_deep & mask
    if too_deep.any():
        block, thread = (int(i) for i in np.argwhere(too_deep)[0])
        what = f"calls functions that call themselves, deeper than its stack of {RECURSION_BYTES} bytes of local memory"
        wave.fail(OutOfBounds, what, wave.local.advice_below, block, thread)
