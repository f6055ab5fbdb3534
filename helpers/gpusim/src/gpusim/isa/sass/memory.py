"""Loads, stores, atomics, asynchronous copies and fences of SASS.

`[R2.64+0x10]` is a 64-bit address, `[R5+UR4]` a 32-bit one of shared or local memory.
"""

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.arithmetic.atomics import OPERATIONS, update
from gpusim.compiler import sass
from gpusim.engine import accesses, bulk
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from gpusim.errors import Unknown
from gpusim.isa.rules import NOTHING, Compute, Effect, Execute, PhaseWait, Reader
from gpusim.isa.sass.operands import (
    F4,
    F8,
    I4,
    I8,
    U4,
    U8,
    Operands,
    address_operand,
    at_least,
    chosen,
    exactly,
    halves,
    is_predicate,
    is_register,
    number,
)

NARROW = {"U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16}


# ---- addresses


def address_of(t: Operands, operand: sass.Address, space: str) -> Reader:
    """The byte address of an operand in its space, int64."""
    offset = operand.offset - (t.shared_base if space == "shared" else 0)
    is_wide = space in ("global", "generic")
    readers = [_term(t, register, is_wide) for register in operand.registers if register.number is not None]
    if not readers:
        constant = np.int64(offset)
        return lambda registers: constant
    dtype = I8 if is_wide else I4
    displacement = dtype.type(offset)
    first = readers[0]
    if len(readers) == 1:
        total = first if offset == 0 else (lambda registers: first(registers) + displacement)
    elif len(readers) == 2:
        second = readers[1]
        total = lambda registers: first(registers) + second(registers) + displacement  # noqa: E731
    else:
        raise Unknown("an address of three registers")
    if space == "shared" and t.code.clusters:
        return _without_rank(t, total)
    return total if is_wide else (lambda registers: total(registers).astype(I8))


OWN_RANK = "where the own block's shared memory begins"


def _without_rank(t: Operands, address: Reader) -> Reader:
    """An address in shared memory from the first byte of the thread's own block on."""
    rank = t.slot(OWN_RANK, np.int32(0))
    return lambda registers: (address(registers) - registers[rank]).astype(I8)


def _term(t: Operands, register: sass.Register, is_wide: bool) -> Reader:
    scale = scale_of(register)
    if not is_wide:
        value = t.read(sass.Register(register.file, register.number))
        factor = np.int32(scale)
        return value if scale == 1 else (lambda registers: value(registers) * factor)
    if "U32" in register.modifiers or "S32" in register.modifiers:
        narrow = t.read(sass.Register(register.file, register.number), U4 if "U32" in register.modifiers else I4)
        return lambda registers: narrow(registers).astype(I8)
    return t.wide(sass.Register(register.file, register.number))


def scale_of(register: sass.Register) -> int:
    """What a register of an address is multiplied by."""
    return next((int(m[1:]) for m in register.modifiers if m in ("X4", "X8", "X16")), 1)


def place_of(s: sass.Statement) -> tuple[int, sass.Address]:
    """(its position, the only address among the operands)."""
    places = [(position, operand) for position, operand in enumerate(s.operands) if isinstance(operand, sass.Address)]
    if len(places) != 1:
        raise Unknown(f"its form with {len(places)} addresses")
    return places[0]


def words_of(s: sass.Statement) -> int:
    """How many registers a memory instruction moves."""
    return 4 if s.has("128") else 2 if s.has("64") else 1


# ---- loads and stores


def load(t: Operands, s: sass.Statement) -> Effect:
    """LDG, LDS, LDL, LD{.U8, .64, .128, …} d, [address]."""
    destination, place = exactly(s, 2)
    address = address_of(t, address_operand(place), t.space)
    may_be_shared, strong = t.space in ("shared", "generic"), s.has("STRONG")
    narrow = chosen(s, NARROW, None)
    if narrow is not None:
        load_one = accesses.load(t.space, np.dtype(narrow), 1, address)
        execute = lambda wave, r, mask: (load_one(wave, r, mask)[0].astype(I4),)  # noqa: E731
        return Effect((t.target(destination),), execute, loads_shared=may_be_shared, strong=strong)
    count = words_of(s)
    execute = accesses.load(t.space, I4, count, address)
    return Effect(t.targets(destination, count), execute, loads_shared=may_be_shared, strong=strong)


def store(t: Operands, s: sass.Statement) -> Effect:
    """STG, STS, STL, ST{.U8, .64, …} [address], value."""
    place, value = exactly(s, 2)
    address = address_of(t, address_operand(place), t.space)
    narrow = chosen(s, NARROW, None)
    if narrow is not None:
        bits, dtype = t.read(value), np.dtype(narrow)
        values = [lambda registers: bits(registers).astype(dtype)]
    else:
        values = [t.bits(value, distance) for distance in range(words_of(s))]
        if len(values) > 1:
            values = [(lambda registers, v=v: _as_integer(v(registers))) for v in values]
    return Effect((), accesses.store(t.space, address, values), strong=s.has("STRONG"))


def _as_integer(value):
    return value if value.dtype is I4 else value.view(I4)


def load_constant(t: Operands, s: sass.Statement) -> Compute | Effect:
    """LDC{.64,.U8,…} d, c[bank][R + offset]; ULDC{.64} d, c[bank][offset]."""
    destination, place = exactly(s, 2)
    if not isinstance(place, sass.Constant):
        raise Unknown("an operand that is no constant where one is expected")
    if place.register is not None or s.has(*NARROW, "128"):
        return _load_from_bank(t, s, destination, place)
    if s.has("64"):
        low, high = t.bits(place), t.bits(place, 1)
        return Compute(t.targets(destination, 2), lambda registers: (low(registers), high(registers)))
    return Compute((t.target(destination),), t.bits(place))


def _load_from_bank(t: Operands, s: sass.Statement, destination, place: sass.Constant) -> Effect:
    index = (lambda registers: np.int32(0)) if place.register is None else t.read(place.register)
    offset = np.int64(place.offset)
    dtype = np.dtype(chosen(s, NARROW, np.int32))
    count = words_of(s)

    def execute(wave, registers, mask):
        bank = wave.constant_banks.get(place.bank, b"")
        words = np.frombuffer(bank, dtype, len(bank) // dtype.itemsize)
        places = index(registers) + np.int32(offset)
        wave.launch.constant_arrays.check(wave, places, mask, dtype.itemsize * count, "read")
        at = (index(registers).view(U4).astype(I8) + offset) >> (dtype.itemsize.bit_length() - 1)
        at = np.clip(at if mask is None else np.where(mask, at, 0), 0, max(0, len(words) - count))
        return tuple(words.take(at + part).astype(I4) for part in range(count))

    return Effect(t.targets(destination, count), execute)


# ---- atomics

ATOMIC_NAMES = {"ADD": "add", "MIN": "min", "MAX": "max", "INC": "inc", "DEC": "dec", "AND": "and", "OR": "or",
                "XOR": "xor", "EXCH": "exch", "CAS": "cas"}  # fmt: skip


def _atomic_type(s: sass.Statement) -> tuple[np.dtype, str]:
    """(the dtype of the values, PTX's name of their type where it is one of floats)."""
    floats = {
        "F64": (F8, "f64"),
        **dict.fromkeys(("F32", "F32x2", "F32x4"), (F4, "f32")),
        "F16x2": (U4, "f16x2"),
        "BF16x2": (U4, "bf16x2"),
    }
    integers = {"S64": (I8, ""), "U64": (U8, ""), "64": (U8, ""), "S32": (I4, "")}
    return chosen(s, floats | integers, (U4, ""))


def atomic(t: Operands, s: sass.Statement) -> Effect:
    """ATOMG, ATOM {p,} d, [address], values; ATOMS d, [address], values; RED, REDG [address], value."""
    position, place = place_of(s)
    space, address = t.space, address_of(t, place, t.space)
    before, values = s.operands[:position], s.operands[position + 1 :]
    destination = next((operand for operand in before if is_register(operand)), None)
    returns = destination is not None and destination.number is not None
    if s.has("POPC") and s.has("INC"):
        # Counts the lanes that name an address: each adds one.
        execute = accesses.atomic(space, OPERATIONS["add"], U4, address, [lambda registers: np.uint32(1)], returns)
        return Effect((t.target(destination),) if returns else (), execute)
    if s.has("ARRIVE"):
        return _arrive_at_ampere(t, destination, address)
    if s.has("CAST"):
        return _compare_and_set(t, s, address, values, before)
    operation = chosen(s, ATOMIC_NAMES)
    if s.has("128"):
        return _quadruple(t, s, operation, address, destination if returns else None, values)
    dtype, type_ = _atomic_type(s)
    count = chosen(s, {"F32x2": 2, "F32x4": 4}, 1)
    if count > 1 and len(values) == 1 and is_register(values[0]):
        values = tuple(values[0].next(part) for part in range(count))
    if operation == "cas" and len(values) == 1 and is_register(values[0]):
        # The two values of a 64-bit comparison are one pair of registers after the other.
        values = (values[0], values[0].next(dtype.itemsize // 4))
    if len(values) != (2 if operation == "cas" else count):
        raise Unknown(f"its form with {len(values)} values")
    if dtype.itemsize == 8:
        readers = [t.wide(value, dtype) for value in values]
    else:
        readers = [t.read(value, dtype) for value in values]
    function = update(operation, type_, flushes=s.has("FTZ"))
    execute = accesses.atomic(space, function, dtype, address, readers, returns, count)
    swaps, strong = operation == "cas", s.has("STRONG")
    answer = next((operand for operand in before if is_predicate(operand) and t.target(operand) is not None), None)
    if answer is not None:
        slots = t.targets(destination, dtype.itemsize // 4) if returns else ()
        limit = LOCAL_WINDOW if operation in ("cas", "exch") else SHARED_WINDOW
        execute = _below(limit, execute, address, len(slots))
        return Effect((t.target(answer), *slots), execute, swaps=swaps, strong=strong)
    if not returns:
        return Effect((), execute, swaps=swaps, strong=strong)
    if dtype.itemsize == 4:
        old = lambda wave, r, mask: tuple(value.view(I4) for value in execute(wave, r, mask))  # noqa: E731
        return Effect(t.targets(destination, count), old, swaps=swaps, strong=strong)
    pair = lambda wave, r, mask: halves(execute(wave, r, mask)[0])  # noqa: E731
    return Effect(t.targets(destination, 2), pair, swaps=swaps, strong=strong)


QUADRUPLE = np.dtype([("lower", "<u8"), ("upper", "<u8")])


def _quadruple(t: Operands, s: sass.Statement, operation: str, address: Reader, destination, values) -> Effect:
    """ATOMG.E.{CAS,EXCH}.128 PT, d, [address], values; ATOMS.{CAS,EXCH}.128: four registers each."""
    if operation not in ("cas", "exch") or len(values) != (2 if operation == "cas" else 1):
        raise Unknown("its form")
    pairs = [(t.wide(value, U8), t.wide(value.next(2), U8)) for value in values if is_register(value)]
    if len(pairs) != len(values):
        raise Unknown("a value that is in no registers")

    def quadruple(lower: Reader, upper: Reader) -> Reader:
        def read(registers):
            parts = np.broadcast_arrays(lower(registers), upper(registers))
            whole = np.empty(parts[0].shape, QUADRUPLE)
            whole["lower"], whole["upper"] = parts
            return whole

        return read

    readers = [quadruple(*pair) for pair in pairs]
    execute = accesses.atomic(t.space, OPERATIONS[operation], QUADRUPLE, address, readers, True)
    slots = () if destination is None else t.targets(destination, 4)

    def old(wave, registers, mask):
        (before,) = execute(wave, registers, mask)
        return (*halves(before["lower"].copy()), *halves(before["upper"].copy())) if slots else None

    return Effect(slots, old, swaps=operation == "cas", strong=s.has("STRONG"))


def _below(limit: int, execute: Execute, address: Reader, answers: int) -> Execute:
    """ATOM.E.ADD.F16x2 p, d, [address], value, where d has so many registers, 0 for RZ: p = whether the address is
    below a limit: in global memory, or for CAS and EXCH in shared memory, too.

    If not, nothing is done: the code that follows updates the own shared memory in a way of its own (behind CAS and
    EXCH there is none but for local memory, a load and a store). For that of another block of the cluster it has a load
    and a store, so that of blocks that update one place some are lost.
    """

    def update_those(wave, registers, mask):
        inside = np.broadcast_to(address(registers) < limit, wave.shape)
        lanes = inside if mask is None else inside & mask
        old = execute(wave, registers, lanes) if lanes.any() else None
        if old is None:  # then nobody looks at the value
            return (inside, *[np.zeros(wave.shape, I4)] * answers)
        return (inside, *(halves(old[0]) if answers == 2 else (old[0].view(I4),)))

    return update_those


def _compare_and_set(t: Operands, s: sass.Statement, address: Reader, values, before) -> Effect:
    """ATOMS.CAST.SPIN{.64} d, [address], compare, value: d = 1 if it was equal and is set, else 0.

    d is as wide as the values: a pair of registers for .64. It may be a predicate.
    """
    if len(before) == 2 and before[0] == sass.Register("P", None):  # of another block of the cluster
        before = before[1:]
    if len(before) != 1 or len(values) != 2:
        raise Unknown(f"its form with {len(s.operands)} operands")
    (destination,) = before
    dtype = U8 if s.has("64") else U4
    compare, value = (t.wide(operand, dtype) if dtype is U8 else t.read(operand, dtype) for operand in values)
    swap = accesses.atomic(t.space, OPERATIONS["cas"], dtype, address, [compare, value], True)
    was_equal = lambda wave, r, mask: swap(wave, r, mask)[0] == compare(r)  # noqa: E731
    if is_predicate(destination):
        return Effect((t.target(destination),), lambda wave, r, mask: (was_equal(wave, r, mask),), swaps=True)
    if dtype is U4:
        execute = lambda wave, r, mask: (was_equal(wave, r, mask).astype(I4),)  # noqa: E731
        return Effect((t.target(destination),), execute, swaps=True)
    execute = lambda wave, r, mask: (was_equal(wave, r, mask).astype(I4), np.int32(0))  # noqa: E731
    return Effect(t.targets(destination, 2), execute, swaps=True)


# ---- barriers in shared memory


def barrier_object(t: Operands, s: sass.Statement) -> Effect | PhaseWait:
    """SYNCS, an mbarrier of Hopper. SYNCS.EXCH.64 URZ, [address], value makes one; at its end comes SYNCS.CCTL.IV, and
    .IVALL after the plain stores that make one on Blackwell: they change nothing here.

    SYNCS.ARRIVE.TRANS64{.RED}{.A1T0,.ART0,.A0TR,.A0TX,.A0T1}{.OPTOUT} d, [address], r: how many threads arrive, one,
    none or a register's, and may leave (.OPTOUT); and how many bytes are expected, or have come (X); without either
    word one thread arrives and a register's bytes are expected. .RED: at a barrier of any block of the cluster.
    SYNCS.PHASECHK.TRANS64{.TRYWAIT} p, [address], phase: whether the phase of a parity, bit 31, has ended.
    """
    if s.has("CCTL"):
        return NOTHING
    destination, place, value = exactly(s, 3)
    space, address = "shared", address_of(t, address_operand(place), "shared")
    if s.has("RED"):  # in any block of the cluster
        space, raw = "generic", address_of(t, address_operand(place), "local")
        address = lambda registers: raw(registers) + np.int64(SHARED_WINDOW)  # noqa: E731
    if s.has("EXCH"):
        if t.target(destination) is not None:
            raise Unknown("the value that there was before")
        return Effect((), accesses.store("shared", address, [t.wide(value, U8)]))
    if s.has("PHASECHK"):
        state, shift = t.read(value, U4), np.uint32(31)
        phase = lambda registers: state(registers) >> shift  # noqa: E731
        if s.has("TRYWAIT"):
            return PhaseWait(t.target(destination), accesses.PhaseLook("shared", address, phase))
        return Effect((t.target(destination),), accesses.phase_ended("shared", address, phase))
    given = t.read(value, U4)
    amount = lambda registers: given(registers).astype(U8)  # noqa: E731
    one = lambda registers: np.uint64(1)  # noqa: E731
    arrives = mbarrier.arrive_and_drop if s.has("OPTOUT") else mbarrier.arrive
    update, counts = chosen(
        s,
        {
            "A1T0": (arrives, [one]),
            "ART0": (arrives, [amount]),
            "A0TR": (mbarrier.expect, [amount]),
            "A0TX": (mbarrier.complete, [amount]),
            "A0T1": (mbarrier.expect, [one]),
        },
        (arrives, [one, amount]),
    )
    arrive = accesses.arrive(space, update, address, counts)
    # The lower register of the pair keeps what it holds.
    upper = lambda wave, r, mask: (halves(arrive(wave, r, mask)[0])[1],)  # noqa: E731
    return Effect((t.target(destination, 1) if t.target(destination) is not None else None,), upper)


def copies_arrive(t: Operands, s: sass.Statement) -> Effect:
    """ARRIVES.LDGSTSBAR.64.{ARVCNT,TRANSCNT} [address]: when the thread's copies so far have come, it arrives at an
    mbarrier, or one byte comes, which SYNCS.A0T1 made expected. With neither word it arrives at one of Ampere."""
    (place,) = exactly(s, 1)
    if s.has("ARVCNT"):
        update = mbarrier.arrive
    elif s.has("TRANSCNT"):
        update = mbarrier.complete
    else:
        update = lambda old, _: mbarrier.arrive_at_ampere(old)  # noqa: E731
    address = address_of(t, address_operand(place), "shared")
    of_ampere = update not in (mbarrier.arrive, mbarrier.complete)  # whose phase plain loads look at
    return Effect((), accesses.copies_arrive("shared", update, address), looked_at=of_ampere)


def _arrive_at_ampere(t: Operands, destination: sass.Operand, address: Reader) -> Effect:
    """ATOMS.ARRIVE.64 d, [address]: one thread arrives at an mbarrier of Ampere, whose phase plain loads look at."""
    return _returns_pair(
        t, destination, accesses.arrive("shared", mbarrier.arrive_at_ampere, address, []), looked_at=True
    )


def _returns_pair(t: Operands, destination: sass.Operand, execute: Execute, looked_at: bool = False) -> Effect:
    slots = t.targets(destination, 2)
    return Effect(slots, lambda wave, registers, mask: halves(execute(wave, registers, mask)[0]), looked_at=looked_at)


# ---- asynchronous copies and fences


def copy_async(t: Operands, s: sass.Statement) -> Effect:
    """LDGSTS.E{.BYPASS}{.64,.128}{.ZFILL} [shared], [global] {, p}: zeros are written where p is false.

    .ZFILL reads only the first bytes: the address is that of the source plus the number of bytes that are not read.
    """
    to, origin, *condition = at_least(s, 2, 3)
    destination, source = address_of(t, address_operand(to), "shared"), address_of(t, address_operand(origin), "global")
    read = t.predicate(condition[0]) if condition else None
    skip = None if read is None else (lambda registers: np.logical_not(read(registers)))
    size = 4 * words_of(s)
    if not s.has("ZFILL"):
        return Effect((), accesses.copy_async(size, destination, source, None, skip))
    last, whole = np.int64(size - 1), np.int64(size)
    start = lambda registers: source(registers) & ~last  # noqa: E731
    given = lambda registers: whole - (source(registers) & last)  # noqa: E731
    return Effect((), accesses.copy_async(size, destination, start, given, skip))


def end_copy_group(t: Operands, s: sass.Statement) -> Effect:
    """LDGDEPBAR: the copies since the last one are a group."""
    return Effect((), accesses.copy_group("commit_group", 0))


def wait_for_copies(t: Operands, s: sass.Statement) -> Effect:
    """DEPBAR.LE SB0, n waits for all but the n newest groups of copies, of threads and in bulk; other forms wait for
    what has happened here."""
    if not s.has("LE") or s.operands[:1] != (sass.Name("SB0"),):
        return NOTHING
    pending = number(s.operands[1]) if len(s.operands) > 1 else 0
    waits = accesses.copy_group("wait_group", pending), bulk.group("wait", pending)

    def execute(wave, registers, mask):
        for wait in waits:
            wait(wave, registers, mask)

    return Effect((), execute)


def query_space(t: Operands, s: sass.Statement) -> Effect:
    """QSPC.E.{S,D,L,G} p, d, [address]: whether a generic address is one of the block's shared memory, of that of other
    blocks of its cluster, of local or of global memory."""
    *destinations, place = at_least(s, 2, 3)
    kept = [t.target(operand) if is_predicate(operand) else None for operand in destinations]
    if any(not is_predicate(operand) and operand != sass.Register("R", None) for operand in destinations):
        raise Unknown("its answer in a register")
    low, high = chosen(
        s,
        {
            "S": (SHARED_WINDOW, LOCAL_WINDOW),
            "D": (SHARED_WINDOW, LOCAL_WINDOW),
            "L": (LOCAL_WINDOW, 1 << 62),
            "G": (0, SHARED_WINDOW),
        },
    )
    address = address_of(t, address_operand(place), "generic")

    def execute(wave, registers, mask):
        value = address(registers)
        inside = (value >= low) & (value < high)
        if low == SHARED_WINDOW:
            is_own = value - low >> RANK_SHIFT == wave.special["cluster_ctarank"]
            inside &= is_own if s.has("S") else ~is_own
        return tuple(None if slot is None else inside for slot in kept)

    return Effect(tuple(kept), execute)


def fence(t: Operands, s: sass.Statement) -> Effect:
    """MEMBAR.{SC,ALL}.{CTA,GPU,SYS}."""
    scope = "block" if s.has("CTA") else "system" if s.has("SYS") else "device"
    return Effect((), accesses.fence(scope))
