"""What NumPy does for an instruction that touches memory, other lanes or the system, from its decoded form.

There is one function for each operation of the C program that does more than compute, whichever level it comes from.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.arithmetic.atomics import OPERATIONS, update
from gpusim.devices import WARP
from gpusim.engine import accesses, bulk, heap, matrices, printf, textures
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from gpusim.engine.observers import WarpBarrierReached
from gpusim.errors import UnsupportedInstruction
from gpusim.isa import decoded as form
from gpusim.isa.rules import NOTHING, Compute, Effect, Execute, Outcome, PhaseWait, Reader
from gpusim.isa.values import I4, I8, SIGN, U2, U4, U8, Values, halves, joined

SPACES = ("global", "shared", "local", "generic")
QUADRUPLE = np.dtype([("lower", "<u8"), ("upper", "<u8")])
# By the type of an atomic operation: what NumPy and PTX call it.
TYPES = (
    (U4, "u32"), (I4, "s32"), (U8, "u64"), (I8, "s64"), (np.dtype(np.float32), "f32"), (np.dtype(np.float64), "f64"),
    (U4, "f16x2"), (U4, "bf16x2"), (U2, "b16"), (np.dtype(np.float16), "f16"), (U2, "bf16"), (QUADRUPLE, "b128"),
)  # fmt: skip
NAMES = [name.lower() for name in form.ATOMICS]
ONE_ARRIVAL = np.uint64(1)


def _space(v: Values) -> str:
    """The state space of an access; what lies anywhere in a cluster is reached by generic addresses."""
    return "generic" if v.decoded.flags & form.ANYWHERE else SPACES[v.decoded.flags & form.SPACE]


def _address(v: Values) -> Reader:
    """The address of an access in its space."""
    address = v.address()
    if not v.decoded.flags & form.ANYWHERE:
        return address
    return lambda registers: address(registers) + np.int64(SHARED_WINDOW)


def _may_be_shared(v: Values) -> bool:
    return _space(v) in ("shared", "generic")


# ---- loads and stores


def _deferred(build: Callable[[Values], Execute], v: Values) -> Execute:
    """What is built when it is first executed: most launches never are, by NumPy."""
    built: list[Execute] = []

    def execute(wave, registers, mask):
        if not built:
            built.append(build(v))
        return built[0](wave, registers, mask)

    return execute


def _load(v: Values) -> Effect:
    slots = tuple(target.slot for target in v.targets)
    return Effect(
        slots,
        _deferred(_loading, v),
        loads_shared=_may_be_shared(v),
        strong=v.decoded.is_strong,
        block_scope=v.decoded.block_scope,
    )


def _loading(v: Values) -> Execute:
    decoded, targets = v.decoded, v.targets
    dtype, count = _elements(v, decoded.number[2], decoded.number[3])
    if decoded.flags & form.UNWATCHED:
        execute = _unwatched_load(SPACES[decoded.flags & form.SPACE], dtype, count, v.address())
    else:
        execute = accesses.load(_space(v), dtype, count, _address(v))
    if not targets or any(target.dtype is not dtype for target in targets):
        execute = _fitted(v, execute)
    return execute


def _elements(v: Values, count: int, width: int) -> tuple[np.dtype, int]:
    """(the type, how many) of what is loaded: `count` words, or values of so many bytes each."""
    if width or v.decoded.flags & form.EXTENDS:
        return np.dtype(f"{'i' if v.decoded.flags & form.SIGNED_VALUE else 'u'}{width or 4}"), count
    held = {target.dtype for target in v.targets}
    dtype = (
        held.pop()
        if len(held) == 1
        else I8
        if held and all(element_dtype.itemsize == 8 for element_dtype in held)
        else I4
    )
    return dtype, 4 * count // dtype.itemsize


def _fitted(v: Values, execute: Execute) -> Execute:
    """What is loaded, element by element, as the registers hold it."""
    targets, joins = v.targets, not v.decoded.flags & form.EXTENDS

    def fitted(wave, registers, mask):
        values = iter(execute(wave, registers, mask))
        results = []
        for target in targets:
            value = next(values)
            if joins and target.words == 2 and value.dtype is I4:
                value = joined(value, next(values))
            results.append(None if target.slot is None else target.fitted(value))
        return tuple(results)

    return fitted


def _unwatched_load(space: str, dtype: np.dtype, count: int, address: Reader) -> Execute:
    """Of what a function is given or gives back: in machine code that is in registers, and observers see no access."""
    return lambda wave, registers, mask: accesses.space_memory(wave, space).load(
        wave, address(registers), mask, dtype, count
    )


def _store(v: Values) -> Effect:
    return Effect((), _deferred(_storing, v), strong=v.decoded.is_strong, block_scope=v.decoded.block_scope)


def _storing(v: Values) -> Execute:
    values = v.values(2, v.decoded.number[3])
    if v.decoded.flags & form.UNWATCHED:
        return _unwatched_store(v.address(), values)
    makers = v.truth(v.decoded.p_in[0]) or (lambda registers: True) if v.decoded.flags & form.FOR_THE_WARP else None
    return accesses.store(_space(v), _address(v), values, makers)


def _unwatched_store(address: Reader, values: list[Reader]) -> Execute:
    def execute(wave, registers, mask):
        wave.local.store(wave, address(registers), mask, [value(registers) for value in values])

    return execute


def _load_constant(v: Values) -> Effect:
    decoded = v.decoded
    number, (dtype, count) = decoded.number[0], _elements(v, *decoded.number[2:])
    index = v.source(0, I4) if decoded.width[0] else (lambda registers: np.int32(0))
    offset = np.int64(decoded.offset)
    shift = np.int64(dtype.itemsize.bit_length() - 1)

    def execute(wave, registers, mask):
        bank = wave.constant_banks.get(number, b"")
        words = np.frombuffer(bank, dtype, len(bank) // dtype.itemsize)
        wave.launch.constant_arrays.check(
            wave, index(registers) + np.int32(offset), mask, dtype.itemsize * count, "read"
        )
        at = (index(registers).view(U4).astype(I8) + offset) >> shift
        at = np.clip(at if mask is None else np.where(mask, at, 0), 0, max(0, len(words) - count))
        return tuple(words.take(at + part) for part in range(count))

    return Effect(tuple(target.slot for target in v.targets), _fitted(v, execute))


# ---- atomic operations


def _atomic(v: Values) -> Effect:
    decoded = v.decoded
    name, (dtype, type_) = NAMES[decoded.number[2]], TYPES[decoded.number[3]]
    count, returns = max(1, decoded.flags >> form.ELEMENTS_BIT), bool(decoded.flags & form.RETURNS_OLD)
    if dtype is QUADRUPLE:
        values = [_quadruple(v, source) for source in (2, 3) if decoded.width[source]]
    else:
        values = [
            v.source(source, dtype, part)
            for source in (2, 3)
            if decoded.width[source]
            for part in range(count if source == 2 else 1)
        ]
    function = OPERATIONS[name] if dtype is QUADRUPLE else update(name, type_, bool(decoded.flags & form.FLUSHES))
    sets, swaps = bool(decoded.flags & form.SETS), name == "cas"
    execute = accesses.atomic(_space(v), function, dtype, _address(v), values, returns or sets, count)
    answer = v.kept(decoded.p_out[0])
    if sets:
        return _compare_and_set(v, execute, values[0], answer)
    slots, old = (tuple(target.slot for target in v.targets), _old_values(v, execute)) if returns else ((), execute)
    if answer is not None:
        limit = LOCAL_WINDOW if name in ("cas", "exch") else SHARED_WINDOW
        slots, old = (answer, *slots), _below(v, limit, old)
    return Effect(slots, old, swaps=swaps, strong=decoded.is_strong, block_scope=decoded.block_scope)


def _quadruple(v: Values, source: int) -> Reader:
    lower, upper = (v.source(source, U8, part) for part in (0, 1))

    def read(registers):
        parts = np.broadcast_arrays(lower(registers), upper(registers))
        whole = np.empty(parts[0].shape, QUADRUPLE)
        whole["lower"], whole["upper"] = parts
        return whole

    return read


def _old_values(v: Values, execute: Execute) -> Execute:
    """The old values, as the registers hold them."""
    targets = v.targets

    def old(wave, registers, mask):
        values = execute(wave, registers, mask)
        if values[0].dtype == QUADRUPLE:
            values = values[0]["lower"].copy(), values[0]["upper"].copy()
        if values[0].dtype.itemsize == 8 and targets[0].words == 1:
            values = [half for value in values for half in halves(value)]
        return tuple(
            None if target.slot is None else target.fitted(value.view(f"u{value.dtype.itemsize}"))
            for target, value in zip(targets, values, strict=True)
        )

    return old


def _compare_and_set(v: Values, execute: Execute, compare: Reader, answer: int | None) -> Effect:
    """Whether a value was equal and is set, in a predicate or as 1 in registers as wide as the values."""

    def was_equal(wave, registers, mask):
        equal = execute(wave, registers, mask)[0] == compare(registers)
        if answer is not None:
            return (equal,)
        return (equal.astype(I4), np.int32(0))[: len(targets)]

    targets = v.targets
    return Effect((answer,) if answer is not None else tuple(t.slot for t in targets), was_equal, swaps=True)


def _below(v: Values, limit: int, execute: Execute) -> Execute:
    """ATOM.E.ADD.F16x2 p, d, [address], value: p = whether the address is below a limit: in global memory, or for CAS
    and EXCH in shared memory, too.

    If not, nothing is done: the code that follows updates the own shared memory in a way of its own (behind CAS and
    EXCH there is none but for local memory, a load and a store). For that of another block of the cluster it has a load
    and a store, so that of blocks that update one place some are lost.
    """
    address, answers = v.address(), len(v.targets)

    def update_those(wave, registers, mask):
        inside = np.broadcast_to(address(registers) < limit, wave.shape)
        lanes = inside if mask is None else inside & mask
        old = execute(wave, registers, lanes) if lanes.any() else None
        return (inside, *(old or [np.zeros(wave.shape, I4)] * answers))

    return update_those


def _fence(v: Values) -> Effect:
    return Effect((), accesses.fence("block" if v.decoded.number[0] else "device"))


def _ordered(v: Values, effect: Effect) -> Effect:
    """An access with the fences that its memory order stands for. PTX ISA, 'Memory Consistency Model'."""
    order, execute = v.decoded.mode[0], effect.execute
    fence = accesses.fence("block" if order & form.FENCE_OF_BLOCK else "device")

    def ordered(wave, registers, mask):
        if order & form.FENCE_BEFORE:
            fence(wave, registers, mask)
        result = execute(wave, registers, mask)
        if order & form.FENCE_AFTER:
            fence(wave, registers, mask)
        return result

    return effect._replace(execute=ordered)


# ---- barriers in shared memory


def _begin_barrier(v: Values) -> Effect:
    threads = v.source(3)
    bits = lambda registers: mbarrier.initial(threads(registers))  # noqa: E731
    return Effect((), accesses.store(_space(v), _address(v), [bits]))


def _arrive(v: Values) -> Effect:
    """How many threads arrive and how many bytes are expected, or have come, by `form.ARRIVALS`."""
    decoded = v.decoded
    what, behind_copies = decoded.number[2], bool(decoded.flags & form.BEHIND_COPIES)
    of_ampere = what == form.AT_AMPERE  # whose phase plain loads look at
    once = lambda registers: ONE_ARRIVAL  # noqa: E731
    counts = [_amount(v)] if what in form.OF_AN_AMOUNT else [once]
    if not what:
        counts = [once, _amount(v)]
    if of_ampere:
        function, counts = lambda old, *_: mbarrier.arrive_at_ampere(old), [once] * behind_copies
    elif what in (form.ARRIVALS["A0TR"], form.ARRIVALS["A0T1"]):
        function = mbarrier.expect
    elif what in (form.ARRIVALS["A0TX"], form.COMPLETES_ONE):
        function = mbarrier.complete
    else:
        function = mbarrier.arrive_and_drop if decoded.flags & form.LEAVES_FOR_GOOD else mbarrier.arrive
    execute = accesses.arrive(_space(v), function, _address(v), counts)
    if behind_copies:
        return Effect((), _behind_copies(execute), is_observed=of_ampere)
    targets = v.targets

    def answered(wave, registers, mask):
        (old,) = execute(wave, registers, mask)
        if of_ampere:
            return halves(old)
        if targets and targets[0].words == 2:
            return (mbarrier.state_of(old).view(I8),)
        return (halves(old)[1],) if targets else ()  # the lower register of a pair keeps what it holds

    return Effect(tuple(target.slot for target in targets), answered, is_observed=of_ampere)


def _amount(v: Values) -> Reader:
    if not v.decoded.width[2]:
        return lambda registers: ONE_ARRIVAL
    value = v.source(2)
    return lambda registers: value(registers).astype(U8)


def _behind_copies(arrive: Execute) -> Execute:
    """The thread's asynchronous copies so far have come, and an mbarrier is changed by that."""
    waits = accesses.copy_group("wait_all", 0)

    def execute(wave, registers, mask):
        waits(wave, registers, mask)
        arrive(wave, registers, mask)

    return execute


def _phase_ended(v: Values) -> Effect | PhaseWait:
    """Whether the phase of a parity has ended: bit 0 of a number, or bit 31 of the upper word of a state."""
    decoded, state = v.decoded, v.source(2)
    shift, unit = np.uint32(0 if decoded.flags & form.OF_PTX else SIGN), np.uint32(1)
    phase = lambda registers: state(registers) >> shift & unit  # noqa: E731
    slot = v.kept(decoded.p_out[0])
    if decoded.kind == form.WAITS_FOR_PHASE:
        return PhaseWait(slot, accesses.PhaseLook(_space(v), _address(v), phase))
    return Effect((slot,), accesses.phase_ended(_space(v), _address(v), phase))


# ---- asynchronous copies


def _copy_async(v: Values) -> Effect:
    """From global to shared memory, zeros where a predicate is false. FILLS: only the first bytes are read, the address
    is that of the source plus the number of bytes that are not. SIZED: how many are is a source of its own."""
    decoded = v.decoded
    to, origin = v.address(0, decoded.number[2], is_wide=False), v.address(2, is_wide=True)
    read, size = v.truth(decoded.p_in[0]), 4 * decoded.number[3]
    skip = None if read is None else (lambda registers: np.logical_not(read(registers)))
    given = v.source(1) if decoded.flags & form.SIZED else None
    if not decoded.flags & form.FILLS:
        return Effect((), accesses.copy_async(size, to, origin, given, skip))
    last, whole = np.int64(size - 1), np.int64(size)
    start = lambda registers: origin(registers) & ~last  # noqa: E731
    left = lambda registers: whole - (origin(registers) & last)  # noqa: E731
    return Effect((), accesses.copy_async(size, to, start, left, skip))


def _await_copies(v: Values) -> Effect:
    """Waits for all but the newest groups of copies, of threads or in bulk; by SASS for both."""
    pending, waits_for_all, of_what, only_reads = v.decoded.number
    waits = []
    if of_what != form.IN_BULK:
        waits.append(accesses.copy_group("wait_all" if waits_for_all else "wait_group", pending))
    if of_what != form.OF_THREADS:
        waits.append(bulk.group("wait_read" if only_reads else "wait", pending))

    def execute(wave, registers, mask):
        for wait in waits:
            wait(wave, registers, mask)

    return Effect((), execute)


def _copy_bulk(v: Values) -> Effect:
    """SASS copies by warp: of its size register the lower half counts units, the upper one has a bit for each block of
    the cluster that gets a copy. Of PTX each thread copies, and the size and these bits are operands of their own."""
    decoded = v.decoded
    what, _, operation, type_ = decoded.number
    is_ptx, copies_to_many = bool(decoded.flags & form.OF_PTX), bool(decoded.flags & form.MULTICAST)
    given, units, each, half = v.source(2), np.uint32(0xFFFF), np.uint32(bulk.UNIT), np.uint32(16)
    size = given if is_ptx else (lambda registers: (given(registers) & units) * each)
    ranks = None
    if copies_to_many:
        ranks = v.source(3) if is_ptx else (lambda registers: given(registers) >> half)
    if what in (form.BULK_PUTS, form.BULK_COMBINES):
        dtype, name = TYPES[type_]
        function = update(NAMES[operation], name) if what == form.BULK_COMBINES else None
        return Effect((), bulk.put(not is_ptx, v.source(0, I8), _near(v, 1), size, function, dtype))
    to, barrier = _near(v, 0), _near(v, 0, 1)
    if what == form.BULK_SENDS:
        return Effect((), bulk.send(not is_ptx, to, barrier, _near(v, 1), size))
    return Effect((), bulk.fetch(not is_ptx, to, barrier, v.source(1, I8), size, ranks))


def _near(v: Values, source: int, part: int = 0) -> Reader:
    """An address in shared memory."""
    value = v.source(source, U4, part)
    return lambda registers: value(registers).astype(I8)


# ---- lanes of a warp, and their matrices


def _shuffle(v: Values) -> Effect:
    decoded = v.decoded
    named = v.source(3) if decoded.width[3] else None
    mode = ("idx", "up", "down", "bfly")[decoded.number[0]]
    execute = accesses.shuffle(mode, v.source(0, I4), v.source(1), v.source(2), named)
    targets = v.targets or [None]
    slots = (targets[0] and targets[0].slot, v.kept(decoded.p_out[0]))

    def fitted(wave, registers, mask):
        value, inside = execute(wave, registers, mask)
        return value if slots[0] is None else targets[0].fitted(value), inside

    return Effect(slots, named_lanes(v, fitted))


def named_lanes(v: Values, execute: Execute) -> Execute:
    """What the lanes do that a mask names, the last source if there is one: those take part that are there with the
    same mask; whether it names the right lanes, the sanitizer looks at."""
    if not v.decoded.width[3]:
        return execute
    named = v.source(3)
    return accesses.naming_lanes(named, accesses.by_mask(named, execute))


def _load_matrix(v: Values) -> Effect:
    decoded = v.decoded
    execute = matrices.load(decoded.number[2], bool(decoded.flags & form.TRANSPOSED), v.address())
    return Effect(tuple(target.slot for target in v.targets), _fitted(v, execute), loads_shared=True)


def _store_matrix(v: Values) -> Effect:
    return Effect((), matrices.store(bool(v.decoded.flags & form.TRANSPOSED), v.address(), v.values(2)))


class _Tile:
    """What wmma.load and wmma.store move: elements of a matrix whose rows or columns are a stride apart.

    Attributes:
        places: By register and element in it, how many rows and then how many elements it is from the first one, by
            lane.
    """

    def __init__(self, v: Values) -> None:
        at, sizes = v.decoded.number[:2]
        registers, elements, bits = sizes & 0xFF, sizes >> 8 & 0xFF, sizes >> 16
        count = registers * elements * 2 * WARP
        self.places = np.array(v.computation.lists[at : at + count]).reshape(registers, elements, 2, WARP)
        self.bits, self.width = bits, max(bits // 8, 1)
        self.stride, self.first = v.source(3), _address(v)
        self.dtype = I8 if bits == 64 else np.dtype(f"u{bits // 8}") if bits in (8, 16) else I4

    def at(self, wave, registers, register: np.ndarray):
        """The addresses of an element, by thread."""
        base = accesses.by_warp(wave, self.first(registers))
        step = accesses.by_warp(wave, np.asarray(self.stride(registers)).astype(I8))
        outer, inner = register
        return accesses.by_thread(wave, base + (outer * step + inner) * self.bits // 8)


def _load_tile(v: Values) -> Effect:
    tile, targets, space = _Tile(v), v.targets, _space(v)

    def execute(wave, registers, mask):
        held = []
        for register in tile.places:
            values = []
            for elements in register:
                at = tile.at(wave, registers, elements)
                values += accesses.load(space, tile.dtype, 1, lambda _, at=at: at)(wave, registers, mask)
            if tile.dtype.itemsize < 4:
                shifts = (np.uint32(8 * tile.width * part) for part in range(len(values)))
                words = [np.asarray(value).astype(U4) << shift for value, shift in zip(values, shifts, strict=True)]
                held.append(np.bitwise_or.reduce(words))
            else:
                held.append(np.asarray(values[0]))
        return tuple(
            None if target.slot is None else target.fitted(held[number % len(held)])
            for number, target in enumerate(targets)
        )

    return Effect(tuple(target.slot for target in targets), execute, loads_shared=_may_be_shared(v))


def _store_tile(v: Values) -> Effect:
    tile, values, space = _Tile(v), v.values(2), _space(v)

    def execute(wave, registers, mask):
        for value, register in zip(values, tile.places, strict=True):
            words = np.broadcast_to(value(registers), wave.shape)
            for part, elements in enumerate(register):
                item = words
                if tile.dtype.itemsize < 4:
                    item = (words.view(U4) >> np.uint32(8 * tile.width * part)).astype(tile.dtype)
                at = tile.at(wave, registers, elements)
                accesses.store(space, lambda _, at=at: at, [lambda _, item=item: item])(wave, registers, mask)

    return Effect((), execute)


# ---- textures and surfaces


def _read_texture(v: Values) -> Effect:
    what, axes, wanted, _ = v.decoded.number
    layered, handle = v.decoded.flags & 1, v.source(1)
    dtype = I4 if what == form.FETCHES else np.dtype(np.float32)
    places = [v.source(0, dtype, layered + axis) for axis in range(axes)]
    if what == form.SAMPLES:
        execute = textures.sample(handle, places, v.source(0) if layered else None)
    elif what == form.FETCHES:
        execute = textures.fetch(handle, places[0])
    else:
        execute = textures.gather(handle, places, what - form.GATHERS)
    channels, targets = [channel for channel in range(4) if wanted >> channel & 1], v.targets

    def chosen(wave, registers, mask):
        values = execute(wave, registers, mask)
        return tuple(
            None if target.slot is None else target.fitted(values[channel])
            for channel, target in zip(channels, targets, strict=True)
        )

    return Effect(tuple(target.slot for target in targets), chosen)


_OUTSIDE = {number: name for name, number in form.OUTSIDE.items()}


def _surface(v: Values) -> tuple[str, Reader, list[Reader]]:
    outside, axes, *_ = v.decoded.number
    return _OUTSIDE[outside], v.source(1), [v.source(0, I4, axis) for axis in range(axes)]


def _load_surface(v: Values) -> Effect:
    width, targets = v.decoded.number[2], v.targets
    size = min(4, v.decoded.number[3] or width)
    dtype = I8 if targets and targets[0].words == 2 else I4 if size == 4 else np.dtype(
        f"{'i' if v.decoded.flags & 1 else 'u'}{size}")  # fmt: skip
    execute = textures.load_surface(dtype, width // dtype.itemsize, *_surface(v))
    return Effect(tuple(target.slot for target in targets), _fitted(v, execute))


def _store_surface(v: Values) -> Effect:
    size = min(4, v.decoded.number[3] or v.decoded.number[2])
    return Effect((), textures.store_surface(*_surface(v), v.values(2, size if size < 4 else 0)))


# ---- the system

SPECIAL = {
    **{name: name.lower() for name in form.SPECIAL_REGISTERS},
    "CgaCtaId": "cluster_ctarank",
    **{f"{which}MASK": f"lanemask_{which.lower()}" for which in ("EQ", "LT", "LE", "GT", "GE")},
}
_SPECIAL_NAMES = [SPECIAL[name] for name in form.SPECIAL_REGISTERS]


def _special_register(v: Values) -> Effect:
    number, size, is_quotient, _ = v.decoded.number
    name, (target,) = _SPECIAL_NAMES[number], v.targets
    divides = size > 1 and name != "smid"

    def execute(wave, registers, mask):
        value = wave.special_value(name)
        if divides:
            value = value // np.int32(size) if is_quotient else value % np.int32(size)
        return (target.fitted(value),)

    return Effect((target.slot,), execute)


def _clock(v: Values) -> Effect:
    is_upper, of_all, *_ = v.decoded.number
    name, targets = "globaltimer" if of_all else "clock", v.targets
    upper, lower = f"{name}_hi", {"globaltimer": "globaltimer_lo", "clock": "clock"}[name]
    whole = "globaltimer" if of_all else "clock64"

    def execute(wave, registers, mask):
        if targets[0].words == 2:
            return (wave.time(whole, mask),)
        if len(targets) == 2:
            return wave.time(lower, mask).view(I4), wave.time(upper, mask).view(I4)
        return (targets[0].fitted(wave.time(upper if is_upper else lower, mask)),)

    return Effect(tuple(target.slot for target in targets), execute)


def _rank_of_address(v: Values) -> Effect:
    """The rank of the block that has an address: above its byte it holds the rank plus one, or 0 for the own block."""
    address = v.source(0)

    def execute(wave, registers, mask):
        field = (address(registers) >> np.uint32(RANK_SHIFT) & np.uint32(0xFF)).astype(I4)
        return (np.where(field == 0, wave.special["cluster_ctarank"], field - np.int32(1)).astype(I4),)

    return Effect(tuple(target.slot for target in v.targets), execute)


_FUNCTIONS = {
    "vprintf": printf.vprintf, "__assertfail": printf.assert_fail, "malloc": heap.malloc, "free": heap.free,
    "__trap": printf.trap, "__brkpt": printf.trap,
}  # fmt: skip
_BY_ADDRESS = {address: _FUNCTIONS[name] for name, address in form.SYSTEM_FUNCTIONS.items()}


def _call_system(v: Values) -> Effect:
    """A call of a function that the system provides. SASS: its address and its arguments are in registers, and so is
    what it gives back. PTX: what it is given was stored before, and what it gives back is loaded."""
    targets = v.targets
    if not targets:
        function = _BY_ADDRESS[v.decoded.offset]

        def execute_one(wave, registers, mask):
            result = function(wave, registers, mask)
            wave.call_result = np.int32(0) if result is None else result

        return Effect((), execute_one)
    target, arguments = v.source(0, I8), [v.source(source, I8) for source in (1, 2)]

    def execute(wave, registers, mask):
        where = np.broadcast_to(target(registers), wave.shape)
        where = int(where.reshape(-1)[0] if mask is None else where[mask][0])
        if where not in _BY_ADDRESS:
            raise UnsupportedInstruction(
                f"{wave.program.name} calls a function through a pointer (`{wave.instruction.text}`)."
            )
        wave.call_parameters = {number: argument(registers) for number, argument in enumerate(arguments)}
        address = _BY_ADDRESS[where](wave, registers, mask)
        return (np.int32(0), np.int32(0)) if address is None else halves(address)

    return Effect(tuple(target.slot for target in targets), execute)


def _load_result(v: Values) -> Effect:
    """What a function of the system has given back."""
    targets = v.targets
    return Effect(
        tuple(target.slot for target in targets),
        lambda wave, registers, mask: tuple(target.fitted(wave.call_result) for target in targets),
    )


def _pass_argument(v: Values) -> Effect:
    """What a function of the system is given, by its place among all that it is."""
    width = v.decoded.number[0]
    value, parameter = v.source(2, np.dtype(f"u{width}")), (v.decoded.op, v.decoded.offset)

    def keep(wave, registers, mask):
        wave.call_parameters[parameter] = value(registers)

    return Effect((), keep)


def _pending(v: Values) -> Compute:
    state, (target,) = v.source(0, U8), v.targets
    return Compute((target.slot,), lambda registers: target.fitted(mbarrier.pending(state(registers)).astype(I4)))


_WINDOWS = {
    form.GLOBAL: (0, SHARED_WINDOW), form.SHARED: (SHARED_WINDOW, LOCAL_WINDOW), form.LOCAL: (LOCAL_WINDOW, 1 << 62),
}  # fmt: skip


def _query_space(v: Values) -> Effect:
    """Whether a generic address lies in a state space; of shared memory in the own block's, or in another one's."""
    space, elsewhere, *_ = v.decoded.number
    address, (low, high) = v.address(), _WINDOWS[space]
    kept = [v.kept(which) for which in v.decoded.p_out]

    def execute(wave, registers, mask):
        value = address(registers)
        inside = (value >= low) & (value < high)
        if space == form.SHARED:
            rank, own = value - low >> RANK_SHIFT, wave.special["cluster_ctarank"]
            is_own = (rank == 0) | (rank == own + 1) if wave.program.level == "ptx" else rank == own
            inside &= ~is_own if elsewhere else is_own
        return tuple(None if slot is None else inside for slot in kept)

    return Effect(tuple(kept), execute)


def _lanes_together(wave, registers, mask) -> None:
    if wave.observers is not None:
        wave.observers.tell(WarpBarrierReached(wave, mask))


OF_ACCESSES: dict[str, Callable[[Values], Outcome]] = {
    "load": _load, "store": _store, "load constant": _load_constant, "atomic": _atomic, "fence": _fence,
    "begin barrier": _begin_barrier, "arrive": _arrive, "phase ended": _phase_ended, "copy async": _copy_async,
    "close copies": lambda v: Effect((), accesses.copy_group("commit_group", 0)), "await copies": _await_copies,
    "close bulk": lambda v: Effect((), bulk.group("commit")), "copy bulk": _copy_bulk, "shuffle": _shuffle,
    "load matrix": _load_matrix, "store matrix": _store_matrix, "load tile": _load_tile, "store tile": _store_tile,
    "read texture": _read_texture, "load surface": _load_surface, "store surface": _store_surface,
    "special register": _special_register, "clock": _clock, "rank of address": _rank_of_address,
    "query space": _query_space, "load result": _load_result, "pass argument": _pass_argument,
    "pending count": _pending, "call system": _call_system, "sleep": lambda v: Effect((), accesses.sleep(v.source(0))),
    "trap": lambda v: Effect((), printf.trap), "nothing": lambda v: NOTHING,
    "lanes together": lambda v: Effect((), _lanes_together),
}  # fmt: skip


_ORDERED = {f"ordered {name}": name for name in ("load", "store", "atomic")}
OPERATIONS_WITH_EFFECT = frozenset(OF_ACCESSES) | frozenset(_ORDERED)


def effect_of(v: Values) -> Outcome:
    """What NumPy does for an instruction that does more than compute."""
    operation = v.decoded.operation
    if operation in _ORDERED:
        return _ordered(v, OF_ACCESSES[_ORDERED[operation]](v))
    return OF_ACCESSES[operation](v)
