"""Loads, stores, atomic operations and fences of PTX. Reference: PTX ISA, 'Data Movement and Conversion Instructions'
and 'Parallel Synchronization and Communication Instructions'.

What cache operators and eviction hints change, the time, is not modelled; volatile and the memory orders are for the
sanitizer, which reads them in the opcode.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Address, Immediate, Register, Statement, Symbol, Vector
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded, Word
from gpusim.isa.ptx.decoding.decoder import PARAMETERS, Decoder
from gpusim.isa.ptx.decoding.integer import whole_number
from gpusim.isa.ptx.linking import STACK
from gpusim.isa.ptx.operands import items_of

SPACES = {"global": "global", "const": "global", "shared": "shared", "local": "local", "param": "param"}
CLUSTER = "cluster"
SCOPES = {"cta": "block", "cluster": "device", "gl": "device", "gpu": "device", "sys": "system"}
STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))
GROUPS = ("commit_group", "wait_group", "wait_all")
NARROW = (1, 2)
FLOATS_ALONE = ("f32", "f64")  # of which atomic operations know no smaller and no larger one
ATOMIC_TYPES = {"u32": 0, "b32": 0, "s32": 1, "u64": 2, "b64": 2, "s64": 3, "f32": 4, "f64": 5, "f16x2": 6, "bf16x2": 7,
                "b16": 8, "f16": 9, "bf16": 10}  # fmt: skip


def space_of(s: Statement) -> str:
    """The state space that an instruction names, "generic" if it names none; the constants' is global memory here."""
    for part in s.modifiers:
        name, _, window = part.partition("::")
        if name in SPACES:
            return CLUSTER if window == "cluster" else SPACES[name]
    return "generic"


def is_strong(s: Statement) -> bool:
    """Whether an access is ordered among the threads of the grid, as those of volatile variables are too."""
    return not STRONG.isdisjoint(s.modifiers)


def scope_of(s: Statement) -> str:
    """The scope of a fence: the threads of the "block", of the "device" or of the "system"."""
    return next((SCOPES[part] for part in s.opcode[1:] if part in SCOPES), "block")


def takes_address(t: Decoder, i: Decoded, operand, first: int = 0) -> bool:
    """Source `first` as an address, with its offset; returns whether it has 64 bits."""
    if not isinstance(operand, Address) or operand.coordinates:
        raise NotDecoded(f"the address {operand}")
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


def access(t: Decoder, s: Statement, operation: str, op: str, address) -> Decoded:
    name = space_of(s)
    if name == CLUSTER:
        i = _in_cluster(t, operation, op, address)
        i.is_strong = is_strong(s)
        _order(s, i)
        return i
    if name not in form.SPACES:
        raise NotDecoded(f"the state space {name}")
    space = form.SPACES[name]
    i = Decoded(operation, flags=space, space=space, op=op)
    i.is_strong = is_strong(s)
    i.block_scope = "cta" in s.modifiers
    i.strong = form.SEES_GRID if i.is_strong else form.SEES_BLOCK if space in (form.SHARED, form.GENERIC) else 0
    i.flags |= form.WIDE_ADDRESS * takes_address(t, i, address)
    if not i.flags & form.WIDE_ADDRESS:
        if space in (form.GLOBAL, form.GENERIC):
            raise NotDecoded("a global address of 32 bits")
        i.number[:2] = [1, 1]
    _order(s, i)
    return i


def in_shared(t: Decoder, i: Decoded, address, first: int = 0) -> None:
    """Source `first` as an address in shared memory, of which 32 bits count."""
    takes_address(t, i, address, first)
    i.width[first] = min(i.width[first], 1)
    i.number[:2] = [1, 1]


def _in_cluster(t: Decoder, operation: str, op: str, address) -> Decoded:
    """An access to the shared memory of any block of the cluster."""
    i = Decoded(operation, flags=form.LOCAL | form.ANYWHERE, space=form.GENERIC, op=op, strong=form.SEES_GRID)
    in_shared(t, i, address)
    return i


def _order(s: Statement, i: Decoded) -> None:
    """The fences that a memory order stands for."""
    order = [part for part in s.modifiers if part in ("acquire", "release", "acq_rel")]
    if not order:
        return
    i.operation = f"ordered {i.operation}"
    i.mode[0] = form.FENCE_BEFORE * (order[0] != "acquire") | form.FENCE_AFTER * (order[0] != "release")
    i.mode[0] |= form.FENCE_OF_BLOCK * (scope_of(s) == "block")


def load(t: Decoder, s: Statement) -> Decoded:
    """ld.space.type d, [address]; ld.v2, ld.v4 {d, …}, [address]."""
    destination, address, *_ = s.operands
    items, size = items_of(destination), TYPE_BYTES[s.type]
    if space_of(s) == "param":
        return _load_parameter(t, s, items, address)
    i = access(t, s, "load", "ld", address)
    amount_of(i, len(items), size)
    t.loads(i, items, s.type)
    return i


def amount_of(i: Decoded, count: int, size: int) -> None:
    """How many words, or bytes where an element has fewer than a word."""
    if size > 8:
        raise NotDecoded(f"elements of {size} bytes")
    i.number[2], i.number[3] = (count, size) if size in NARROW else (count * size // 4, 0)


def _load_parameter(t: Decoder, s: Statement, items: Sequence, address) -> Decoded:
    base = address.base
    if isinstance(base, Symbol) and base.name in t.operands.text.places:
        i = _passed(t, "load", address, len(items), TYPE_BYTES[s.type])
        t.loads(i, items, s.type)
        return i
    if not isinstance(base, Symbol):
        return _from_address_of_parameter(t, s, items, address)
    if base.name not in t.operands.parameters:
        i = Decoded("load result", replayed="what a function of the system gives back")
        t.loads(i, items, s.type)
        return i
    size = TYPE_BYTES[s.type]
    i = Decoded("load constant", offset=t.operands.parameters[base.name].offset + address.offset)
    i.number[0] = PARAMETERS
    amount_of(i, len(items), size)
    t.loads(i, items, s.type)
    if t.is_replay or size in NARROW or i.d_width > 2 or i.offset % 4 or i.flags & form.EXTENDS:
        return i
    words = [Word(PARAMETERS, i.offset + 4 * k) for k in range(i.d_width)]
    copy = Decoded("move two" if i.d_width == 2 else "move", d=i.d, d_width=i.d_width)
    for k, word in enumerate(words):
        copy.source[k], copy.width[k] = t.words.row(word), 1
    return copy


def _from_address_of_parameter(t: Decoder, s: Statement, items: Sequence, address) -> Decoded:
    i = Decoded("load", flags=form.WIDE_ADDRESS | form.UNWATCHED, replayed="a parameter by its address")
    takes_address(t, i, address)
    amount_of(i, len(items), TYPE_BYTES[s.type])
    t.loads(i, items, s.type)
    return i


def _passed(t: Decoder, operation: str, address, count: int, size: int) -> Decoded:
    """What a function is given or gives back, on the stack."""
    i = Decoded(operation, flags=form.LOCAL | form.WIDE_ADDRESS | form.UNWATCHED)
    takes_address(t, i, address)
    amount_of(i, count, size)
    return i


def store(t: Decoder, s: Statement) -> Decoded:
    """st.space.type [address], a; st.v2, st.v4 [address], {a, …}."""
    address, source, *_ = s.operands
    items, size = items_of(source), TYPE_BYTES[s.type]
    if space_of(s) == "param":
        if not isinstance(address.base, Symbol):
            raise NotDecoded("a parameter at a computed address")
        if address.base.name not in t.operands.text.places:
            i = Decoded("pass argument", replayed="what a function of the system is given")
            i.number[0], i.offset, i.op = size, address.offset, address.base.name
            t.read(i, 2, items[0], s.type)
            return i
        i = _passed(t, "store", address, len(items), size)
    else:
        i = access(t, s, "store", "st", address)
        amount_of(i, len(items), size)
    i.strong = 0
    stores(t, i, [row for item in items for row in t.value(item, s.type)])
    return i


def stores(t: Decoder, i: Decoded, rows: Sequence[int]) -> None:
    """Source 2 as these rows, whose contents are stored."""
    i.source[2], i.width[2] = t.listed(rows), 1
    i.registers = (*i.width[:2], len(rows), i.width[3])


def atomic(t: Decoder, s: Statement) -> Decoded:
    """atom.order.scope.space.op.type d, [address], b {, c}; red … [address], b. PTX ISA, 'atom' and 'red'."""
    returns = s.name == "atom"
    name = next((part.upper() for part in s.modifiers if part.upper() in form.ATOMICS), None)
    destination, (address, *sources) = (s.operands[0], s.operands[1:]) if returns else (None, s.operands)
    sources = sources[: 2 if name == "CAS" else 1]  # behind them is a cache policy
    if name is None or s.type not in ATOMIC_TYPES:
        raise NotDecoded("its form")
    i = access(t, s, "atomic", "atom" if returns else "red", address)
    i.strong = form.SEES_BLOCK if i.space == form.SHARED else form.SEES_GRID
    i.number[2], i.number[3] = form.ATOMICS[name], ATOMIC_TYPES[s.type]
    if s.type in FLOATS_ALONE and name not in ("ADD", "EXCH", "CAS"):
        raise NotDecoded("an atomic operation on floats other than a sum")
    if isinstance(sources[0], Vector):
        i.flags |= form.ELEMENTS * len(sources[0].items)
        stores(t, i, [t.value(item, s.type)[0] for item in sources[0].items])
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
    """getctarank{.shared::cluster}.{u32,u64} d, a: the rank of the block that has an address."""
    destination, source = s.operands
    i = Decoded("rank of address")
    i.source[0], i.width[0] = t.value(source, s.type)[0], 1
    t.writes(i, destination, 4)
    return i


def fence(t: Decoder, s: Statement) -> Decoded:
    """membar.{cta,gl,sys}; fence.{sc,acq_rel}.{cta,cluster,gpu,sys}."""
    return Decoded("fence", strong=form.SEES_GRID, number=[int(scope_of(s) == "block"), 0, 0, 0])
