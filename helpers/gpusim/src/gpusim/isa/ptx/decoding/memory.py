"""Loads, stores and atomic operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Address, Immediate, Register, Statement, Symbol, Vector
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded, Word
from gpusim.isa.ptx import memory
from gpusim.isa.ptx.decoding.decoder import PARAMETERS, Decoder
from gpusim.isa.ptx.decoding.integer import whole_number
from gpusim.isa.ptx.linking import STACK
from gpusim.isa.ptx.operands import items_of

NARROW = (1, 2)
FLOATS_ALONE = ("f32", "f64")  # of which atomic operations know no smaller and no larger one
ATOMIC_TYPES = {"u32": 0, "b32": 0, "s32": 1, "u64": 2, "b64": 2, "s64": 3, "f32": 4, "f64": 5, "f16x2": 6, "bf16x2": 7,
                "b16": 8, "f16": 9, "bf16": 10}  # fmt: skip


def takes_address(t: Decoder, i: Decoded, operand, first: int = 0) -> bool:
    """Source `first` as an address, with its offset; returns whether it has 64 bits."""
    if not isinstance(operand, Address) or operand.coordinates:
        raise NotDecoded("an operand that is no address")
    i.offset = operand.offset
    base = operand.base
    if isinstance(base, Immediate):
        i.offset += base.value
        return True
    if isinstance(base, Symbol) and base.name in t.operands.text.places:
        i.source[first], i.width[first] = t.rows(Register(STACK))[0], 2
        i.offset += t.operands.text.places[base.name]
        return True
    if isinstance(base, Symbol) and base.name not in t.operands.global_variables:
        i.offset += t.operands.symbol_address(base.name)
        return True
    rows = t.value(base, "b64") if isinstance(base, Symbol) else t.rows(base)
    i.source[first], i.width[first] = rows[0], len(rows)
    return len(rows) == 2


def access(t: Decoder, s: Statement, operation: str, op: str, place) -> Decoded:
    name = memory.space_of(s)
    if name == memory.CLUSTER:
        i = _in_cluster(t, operation, op, place)
        i.is_strong = memory.is_strong(s)
        _order(s, i)
        return i
    if name not in form.SPACES:
        raise NotDecoded(f"the state space {name}")
    space = form.SPACES[name]
    i = Decoded(operation, flags=space, space=space, op=op)
    i.is_strong = memory.is_strong(s)
    i.strong = form.SEES_GRID if i.is_strong else form.SEES_BLOCK if space in (form.SHARED, form.GENERIC) else 0
    i.flags |= form.WIDE_ADDRESS * takes_address(t, i, place)
    if not i.flags & form.WIDE_ADDRESS:
        if space in (form.GLOBAL, form.GENERIC):
            raise NotDecoded("a global address of 32 bits")
        i.number[:2] = [1, 1]
    _order(s, i)
    return i


def in_shared(t: Decoder, i: Decoded, place, first: int = 0) -> None:
    """Source `first` as an address in shared memory, of which 32 bits count."""
    takes_address(t, i, place, first)
    i.width[first] = min(i.width[first], 1)
    i.number[:2] = [1, 1]


def _in_cluster(t: Decoder, operation: str, op: str, place) -> Decoded:
    """An access to the shared memory of any block of the cluster."""
    i = Decoded(operation, flags=form.LOCAL | form.ANYWHERE, space=form.GENERIC, op=op, strong=form.SEES_GRID)
    in_shared(t, i, place)
    return i


def _order(s: Statement, i: Decoded) -> None:
    """The fences that a memory order stands for."""
    order = [part for part in s.modifiers if part in ("acquire", "release", "acq_rel")]
    if not order:
        return
    i.operation = f"ordered {i.operation}"
    i.mode[0] = form.FENCE_BEFORE * (order[0] != "acquire") | form.FENCE_AFTER * (order[0] != "release")
    i.mode[0] |= form.FENCE_OF_BLOCK * (memory.scope_of(s) == "block")


def load(t: Decoder, s: Statement) -> Decoded:
    destination, place, *_ = s.operands
    items, size = items_of(destination), TYPE_BYTES[s.type]
    if memory.space_of(s) == "param":
        return _load_parameter(t, s, items, place)
    i = access(t, s, "load", "ld", place)
    amount_of(i, len(items), size)
    t.loads(i, items, s.type)
    return i


def amount_of(i: Decoded, count: int, size: int) -> None:
    """How many words, or bytes where an element has fewer than a word."""
    if size > 8:
        raise NotDecoded(f"elements of {size} bytes")
    i.number[2], i.number[3] = (count, size) if size in NARROW else (count * size // 4, 0)


def _load_parameter(t: Decoder, s: Statement, items: Sequence, place) -> Decoded:
    base = place.base
    if isinstance(base, Symbol) and base.name in t.operands.text.places:
        i = _passed(t, "load", place, len(items), TYPE_BYTES[s.type])
        t.loads(i, items, s.type)
        return i
    if not isinstance(base, Symbol) or base.name not in t.operands.parameters:
        raise NotDecoded("what is no parameter of the kernel")
    size = TYPE_BYTES[s.type]
    i = Decoded("load constant", offset=t.operands.parameters[base.name].offset + place.offset)
    i.number[0] = PARAMETERS
    amount_of(i, len(items), size)
    t.loads(i, items, s.type)
    if size in NARROW or i.d_width > 2 or i.offset % 4 or i.flags & form.EXTENDS:
        return i
    words = [Word(PARAMETERS, i.offset + 4 * k) for k in range(i.d_width)]
    one = Decoded("move two" if i.d_width == 2 else "move", d=i.d, d_width=i.d_width)
    for k, word in enumerate(words):
        one.source[k], one.width[k] = t.words.row(word), 1
    return one


def _passed(t: Decoder, operation: str, place, count: int, size: int) -> Decoded:
    """What a function is given or gives back, on the stack."""
    i = Decoded(operation, flags=form.LOCAL | form.WIDE_ADDRESS | form.UNWATCHED)
    takes_address(t, i, place)
    amount_of(i, count, size)
    return i


def store(t: Decoder, s: Statement) -> Decoded:
    place, source, *_ = s.operands
    items, size = items_of(source), TYPE_BYTES[s.type]
    if memory.space_of(s) == "param":
        if not isinstance(place.base, Symbol) or place.base.name not in t.operands.text.places:
            raise NotDecoded("what a function of the system is given")
        i = _passed(t, "store", place, len(items), size)
    else:
        i = access(t, s, "store", "st", place)
        amount_of(i, len(items), size)
    i.strong = 0
    rows = [row for item in items for row in t.value(item, s.type)]
    i.source[2], i.width[2] = t.listed(rows), 1
    return i


def atomic(t: Decoder, s: Statement) -> Decoded:
    returns = s.name == "atom"
    name = next((part.upper() for part in s.modifiers if part.upper() in form.ATOMICS), None)
    destination, (place, *sources) = (s.operands[0], s.operands[1:]) if returns else (None, s.operands)
    sources = sources[: 2 if name == "CAS" else 1]  # behind them is a cache policy
    if name is None or s.type not in ATOMIC_TYPES:
        raise NotDecoded("its form")
    i = access(t, s, "atomic", "atom" if returns else "red", place)
    i.strong = form.SEES_BLOCK if i.space == form.SHARED else form.SEES_GRID
    i.number[2], i.number[3] = form.ATOMICS[name], ATOMIC_TYPES[s.type]
    if s.type in FLOATS_ALONE and name not in ("ADD", "EXCH", "CAS"):
        raise NotDecoded("an atomic operation on floats other than a sum")
    if isinstance(sources[0], Vector):
        i.flags |= form.ELEMENTS * len(sources[0].items)
        i.source[2] = t.listed([t.value(item, s.type)[0] for item in sources[0].items])
        i.width[2] = 1
    else:
        for k, source in enumerate(sources):
            t.read(i, 2 + k, source, s.type)
    if returns:
        i.flags |= form.RETURNS_OLD
        t.writes_vector(i, items_of(destination), TYPE_BYTES[s.type])
    i.flags |= form.FLUSHES * (s.type == "f32" and name == "ADD" and i.space != form.SHARED)
    return i


def map_address(t: Decoder, s: Statement) -> Decoded:
    destination, source, block = s.operands
    return whole_number(t, "mapa", destination, [(source, s.type), (block, "u32")], s.type, s.type)


def rank_of_address(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    i = Decoded("rank of address")
    i.source[0], i.width[0] = t.value(source, s.type)[0], 1
    t.writes(i, destination, 4)
    return i


def fence(t: Decoder, s: Statement) -> Decoded:
    return Decoded("fence", strong=form.SEES_GRID, number=[int(memory.scope_of(s) == "block"), 0, 0, 0])
