"""Memory and cross-lane instructions of SASS.

Each function takes the operands' translator and a statement and returns (slots written, execute): what an engine's
EFFECT instruction needs. `[R2.64+0x10]` is a 64-bit address, `[R5+UR4]` a 32-bit one of shared or local memory.
"""

from collections.abc import Callable

import numpy as np

from helpers.compiler import sass
from helpers.simulator.arithmetic import tensor_core
from helpers.simulator.engine import accesses, printf
from helpers.simulator.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from helpers.simulator.errors import UnsupportedInstruction
from helpers.simulator.frontends.sass.operands import F4, F8, I4, I8, U4, U8, Operands, Reader, halves

Effect = tuple[tuple[int | None, ...], Callable]
NARROW = {"U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16}
SPACES = {"G": "global", "S": "shared", "L": "local", "": "generic"}
# Special registers by the name that the engine knows them under.
SPECIAL = {
    **{f"SR_{name}.{axis.upper()}": f"{key}.{axis}" for name, key in (("TID", "tid"), ("CTAID", "ctaid"),
       ("NTID", "ntid"), ("NCTAID", "nctaid")) for axis in "xyz"},
    "SR_LANEID": "laneid", "SR_LTMASK": "lanemask_lt", "SR_LEMASK": "lanemask_le", "SR_GTMASK": "lanemask_gt",
    "SR_GEMASK": "lanemask_ge", "SR_EQMASK": "lanemask_eq", "SR_WARPID": "warpid", "SR_NWARPID": "nwarpid",
}  # fmt: skip
# A block is a cluster of its own; windows lie at the upper half of generic addresses.
SPECIAL_CONSTANTS = {"SR_CgaCtaId": 0, "SR_SWINHI": SHARED_WINDOW >> 32, "SR_LWINHI": LOCAL_WINDOW >> 32, "SRZ": 0}
FUNCTIONS = {"vprintf": printf.vprintf, "__assertfail": printf.assert_fail}
FUNCTION_ADDRESSES = {name: (1 << 62) + 16 * number for number, name in enumerate(FUNCTIONS, 1)}


def _address(t: Operands, operand: sass.Address, space: str, shared_base: int) -> Reader:
    """The byte address of an operand in its space, int64."""
    offset = operand.offset - (shared_base if space == "shared" else 0)
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
        raise ValueError("an address of three registers")
    return total if is_wide else (lambda registers: total(registers).astype(I8))


def _term(t: Operands, register: sass.Register, is_wide: bool) -> Reader:
    scale = next((int(m[1:]) for m in register.modifiers if m in ("X4", "X8", "X16")), 1)
    if not is_wide:
        value = t.read(sass.Register(register.file, register.number))
        factor = np.int32(scale)
        return value if scale == 1 else (lambda registers: value(registers) * factor)
    if "U32" in register.modifiers or "S32" in register.modifiers:
        narrow = t.read(sass.Register(register.file, register.number), U4 if "U32" in register.modifiers else I4)
        return lambda registers: narrow(registers).astype(I8)
    return t.wide(sass.Register(register.file, register.number))


def _place(s: sass.Statement) -> sass.Address:
    return next(operand for operand in s.operands if isinstance(operand, sass.Address))


def _space(s: sass.Statement) -> str:
    """The state space that the last letter of LDG, STS, ATOMG, … names; none of them means a generic address."""
    for prefix in ("LD", "ST", "ATOM", "RED"):
        if s.base.startswith(prefix):
            return SPACES[s.base[len(prefix) :]] if s.base != "RED" else "global"
    raise ValueError(f"the space of {s.base}")


def _words(s: sass.Statement) -> int:
    return 4 if s.has("128") else 2 if s.has("64") else 1


# ---- loads and stores


def load(t: Operands, s: sass.Statement) -> Effect:
    """LDG, LDS, LDL, LD{.U8, .64, .128, …} d, [address]."""
    space = _space(s)
    address = _address(t, _place(s), space, t.shared_base)
    destination = s.operands[0]
    if any(isinstance(operand, sass.Register) and operand.file.endswith("P") for operand in s.operands[1:]):
        raise ValueError("a load with a predicate")
    narrow = next((NARROW[part] for part in s.opcode if part in NARROW), None)
    if narrow is not None:
        execute = accesses.load(space, np.dtype(narrow), 1, address)
        return (t.target(destination),), lambda wave, r, mask: (execute(wave, r, mask)[0].astype(I4),)
    count = _words(s)
    slots = t.targets(destination, count)
    dtype = F4 if t.is_read_as_float(s, destination, count) else I4
    return slots, accesses.load(space, dtype, count, address)


def store(t: Operands, s: sass.Statement) -> Effect:
    """STG, STS, STL, ST{.U8, .64, …} [address], value."""
    space = _space(s)
    address = _address(t, _place(s), space, t.shared_base)
    value = s.operands[-1]
    narrow = next((NARROW[part] for part in s.opcode if part in NARROW), None)
    if narrow is not None:
        bits, dtype = t.read(value), np.dtype(narrow)
        return (), accesses.store(space, address, [lambda registers: bits(registers).astype(dtype)])
    count = _words(s)
    values = [t.bits(value, distance) for distance in range(count)]
    if count == 1:
        return (), accesses.store(space, address, values)
    as_integers = [(lambda registers, v=v: _as_integer(v(registers))) for v in values]
    return (), accesses.store(space, address, as_integers)


def _as_integer(value):
    return value if value.dtype is I4 else value.view(I4)


def load_constant(t: Operands, s: sass.Statement) -> Effect:
    """LDC{.64,.U8,…} d, c[bank][R + offset]."""
    destination, place = s.operands
    index = t.read(place.register)
    offset = np.int64(place.offset)
    dtype = np.dtype(next((NARROW[part] for part in s.opcode if part in NARROW), np.int32))
    count = _words(s)

    def execute(wave, registers, mask):
        bank = wave.constant_banks.get(place.bank, b"")
        words = np.frombuffer(bank, dtype, len(bank) // dtype.itemsize)
        at = (index(registers).view(U4).astype(I8) + offset) >> (dtype.itemsize.bit_length() - 1)
        at = np.clip(at if mask is None else np.where(mask, at, 0), 0, max(0, len(words) - count))
        return tuple(words.take(at + part).astype(I4) for part in range(count))

    return t.targets(destination, count), execute


# ---- atomics

ATOMIC_NAMES = {"ADD": "add", "MIN": "min", "MAX": "max", "INC": "inc", "DEC": "dec", "AND": "and", "OR": "or",
                "XOR": "xor", "EXCH": "exch", "CAS": "cas"}  # fmt: skip


def _atomic_dtype(s: sass.Statement, operation: str) -> np.dtype:
    if s.has("F64"):
        return F8
    if s.has("F32"):
        return F4
    if s.has("F16x2", "BF16x2", "F16", "BF16"):
        raise ValueError("atomics on 16-bit floats")
    if s.has("64", "S64", "U64"):
        return I8 if s.has("S64") else U8
    return I4 if s.has("S32") else U4


def atomic(t: Operands, s: sass.Statement) -> Effect:
    """ATOMG, ATOM {p,} d, [address], values; ATOMS d, [address], values; RED, REDG [address], value."""
    space = _space(s)
    place = _place(s)
    address = _address(t, place, space, t.shared_base)
    position = s.operands.index(place)
    values, before = s.operands[position + 1 :], s.operands[:position]
    destination = next((o for o in before if isinstance(o, sass.Register) and not o.file.endswith("P")), None)
    returns = destination is not None and destination.number is not None
    if s.has("POPC") and s.has("INC"):
        # Counts the lanes that name an address: each adds one.
        one: Reader = lambda registers: np.uint32(1)  # noqa: E731
        execute = accesses.atomic(space, "add", U4, address, [one], returns)
        return (t.target(destination),) if returns else (), execute
    if s.has("CAST"):
        return _compare_and_set(t, s, space, address, values, before)
    operation = ATOMIC_NAMES[next(part for part in s.opcode if part in ATOMIC_NAMES)]
    dtype = _atomic_dtype(s, operation)
    if operation == "cas":
        # The two values of a 64-bit comparison are one pair of registers after the other.
        values = values if len(values) > 1 else (values[0], values[0].next(dtype.itemsize // 4))
    if dtype.itemsize == 8:
        readers = [t.wide(value, dtype) for value in values]
    else:
        readers = [t.read(value, dtype) for value in values]
    execute = accesses.atomic(space, operation, dtype, address, readers, returns)
    if not returns:
        return (), execute
    if dtype.itemsize == 4:
        return (t.target(destination),), lambda wave, r, mask: (execute(wave, r, mask)[0].view(I4),)
    return t.targets(destination, 2), lambda wave, r, mask: halves(execute(wave, r, mask)[0])


def _compare_and_set(t: Operands, s: sass.Statement, space: str, address: Reader, values, before) -> Effect:
    """ATOMS.CAST.SPIN{.64} d, [address], compare, value: d = 1 if it was equal and is set, else 0.

    d is as wide as the values: a pair of registers for .64. It may be a predicate.
    """
    dtype = U8 if s.has("64") else U4
    compare, value = (t.wide(operand, dtype) if dtype is U8 else t.read(operand, dtype) for operand in values)
    execute = accesses.atomic(space, "cas", dtype, address, [compare, value], True)
    destination = before[0]
    if destination.file.endswith("P"):
        return (t.target(destination),), lambda wave, r, mask: (execute(wave, r, mask)[0] == compare(r),)
    was_set = lambda wave, r, mask: (execute(wave, r, mask)[0] == compare(r)).astype(I4)  # noqa: E731
    if dtype is U4:
        return (t.target(destination),), lambda wave, r, mask: (was_set(wave, r, mask),)
    return t.targets(destination, 2), lambda wave, r, mask: (was_set(wave, r, mask), np.int32(0))


# ---- asynchronous copies and matrix loads


def copy_async(t: Operands, s: sass.Statement) -> Effect:
    """LDGSTS.E{.BYPASS}{.64,.128} [shared], [global] {, p}: zeros are written where p is false."""
    to, origin = (operand for operand in s.operands if isinstance(operand, sass.Address))
    destination, source = _address(t, to, "shared", t.shared_base), _address(t, origin, "global", 0)
    predicates = [operand for operand in s.operands if isinstance(operand, sass.Register)]
    read = t.predicate(predicates[0]) if predicates else None
    skip = None if read is None else (lambda registers: np.logical_not(read(registers)))
    return (), accesses.copy_async(4 * _words(s), destination, source, None, skip)


def copy_group(t: Operands, s: sass.Statement) -> Effect:
    """LDGDEPBAR ends a group of copies, DEPBAR.LE SB0, n waits for all but the n newest groups."""
    if s.base == "LDGDEPBAR":
        return (), accesses.copy_group("commit_group", 0)
    pending = s.operands[1].integer if len(s.operands) > 1 else 0
    if not s.has("LE") or s.operands[0] != sass.Name("SB0"):
        return (), nothing
    return (), accesses.copy_group("wait_group", pending)


def nothing(wave, registers, mask) -> None:
    """An instruction that changes no value."""


def together(wave, registers, mask) -> None:
    """NOP: what ptxas leaves of `__syncwarp()` where it knows that the lanes of a warp are together."""
    if wave.recorder is not None:
        wave.recorder.warp_barrier(wave, mask)


def fence(t: Operands, s: sass.Statement) -> Effect:
    """MEMBAR.{SC,ALL}.{CTA,GPU,SYS}."""
    scope = "block" if s.has("CTA") else "system" if s.has("SYS") else "device"
    return (), accesses.fence(scope)


def load_matrix(t: Operands, s: sass.Statement) -> Effect:
    """LDSM.16.M88.{1,2,4}, .MT88 (transposed): 8 × 8 matrices of 16-bit elements, a row of 16 bytes at each address.

    Lane i names row i % 8 of matrix i // 8, and receives from each matrix row i // 4, elements 2 · (i % 4) and the
    next one. PTX ISA, 'ldmatrix'.
    """
    destination = s.operands[0]
    count = next((int(part) for part in s.opcode if part in ("1", "2", "4")), 1)
    transposed = s.has("MT88")
    if not transposed and not s.has("M88"):
        raise ValueError("the matrix shape")
    address = _address(t, _place(s), "shared", t.shared_base)
    lane = np.arange(32)
    column, row = lane // 4, 2 * (lane % 4)

    def execute(wave, registers, mask):
        rows = accesses.by_warp(wave, address(registers))
        active = accesses.active_lanes(wave, mask)
        results = []
        for matrix in range(count):
            first = 8 * matrix
            if transposed:
                low = _shared(wave, rows[..., first + row] + 2 * column, active, np.uint16)
                high = _shared(wave, rows[..., first + row + 1] + 2 * column, active, np.uint16)
                results.append((low.astype(U4) | (high.astype(U4) << np.uint32(16))).view(I4))
            else:
                results.append(_shared(wave, rows[..., first + column] + 2 * row, active, np.int32))
        if wave.recorder is not None:
            named = accesses.by_thread(wave, active & (lane < 8 * count))
            wave.recorder.access(wave, "shared", "ld", 16, accesses.by_thread(wave, rows), named)
        return tuple(results)

    return t.targets(destination, count), execute


def _shared(wave, addresses, active, dtype):
    """One element of shared memory for every lane, (B, T)."""
    places, lanes = accesses.by_thread(wave, addresses), accesses.by_thread(wave, active)
    (values,) = wave.shared.load(wave, places, lanes, np.dtype(dtype), 1)
    return np.broadcast_to(values, wave.shape)


def multiply_matrices(t: Operands, s: sass.Statement) -> Effect:
    """HMMA.{16816,1688}.{F32,F16}{.BF16,.TF32} d, a, b, c: d = a · b + c by a warp. See `tensor_core`."""
    destination, a, b, c = s.operands
    form = tensor_core.form(s.opcode[1], [part for part in s.opcode[2:]])
    registers_of = lambda operand, count: [t.read(operand, U4, i) for i in range(count)]  # noqa: E731
    sources = [
        registers_of(operand, count)
        for operand, count in zip((a, b, c), (form.a_registers, form.b_registers, form.c_registers), strict=True)
    ]
    terms = tensor_core.terms_at_once(t.arch, form)

    def execute(wave, registers, mask):
        parts = [[accesses.by_warp(wave, reader(registers)) for reader in readers] for readers in sources]
        results = tensor_core.multiply(form, *parts, terms)
        return tuple(accesses.by_thread(wave, result) for result in results)

    return t.targets(destination, form.c_registers), execute


# ---- lanes


def shuffle(t: Operands, s: sass.Statement) -> Effect:
    """SHFL.{IDX,UP,DOWN,BFLY} p, d, a, lane, clamp."""
    inside, destination, value, lane, control = s.operands
    mode = {"IDX": "idx", "UP": "up", "DOWN": "down", "BFLY": "bfly"}[s.opcode[1]]
    slots = (t.target(destination), t.target(inside))
    return slots, accesses.shuffle(mode, t.bits(value), t.read(lane, U4), t.read(control, U4))


def vote(t: Operands, s: sass.Statement) -> Effect:
    """VOTE.{ALL,ANY,EQ} {d,} p, q: p = all (any, all equal) of the active lanes' q; d = the ballot of q."""
    mode = {"ALL": "all", "ANY": "any", "EQ": "uni"}[s.opcode[1]]
    *results, condition = s.operands
    asked = t.truth(condition)
    ballot = next((o for o in results if not o.file.endswith("P")), None)
    answer = next((o for o in results if o.file.endswith("P")), None)
    wanted = [(ballot, accesses.vote("ballot", asked)), (answer, accesses.vote(mode, asked))]
    wanted = [(t.target(operand), execute) for operand, execute in wanted if operand is not None]
    slots = tuple(slot for slot, _ in wanted)

    def execute(wave, registers, mask):
        return tuple(
            part(wave, registers, mask)[0] if slot is not None else None for slot, part in wanted
        )  # fmt: skip

    return slots, execute


def reduce_warp(t: Operands, s: sass.Statement) -> Effect:
    """REDUX{.SUM,.MIN,.MAX,.OR,.XOR}{.S32} d, a: without a word it is AND."""
    destination, a = s.operands
    names = {"SUM": "add", "MIN": "min", "MAX": "max", "AND": "and", "OR": "or", "XOR": "xor"}
    operation = next((names[part] for part in s.opcode if part in names), "and")
    dtype = I4 if s.has("S32") else U4
    execute = accesses.reduce_warp(operation, dtype, t.read(a, dtype))
    return (t.target(destination),), lambda wave, r, mask: (execute(wave, r, mask)[0].view(I4),)


def match(t: Operands, s: sass.Statement) -> Effect:
    """MATCH.ANY d, a: the lanes with the same value; MATCH.ALL p, d, a: all lanes if all are equal, and whether."""
    *results, a = s.operands
    value = t.wide(a) if s.has("U64") else t.read(a)
    everybody = s.has("ALL")
    destination = next(o for o in results if not o.file.endswith("P"))
    answer = next((o for o in results if o.file.endswith("P")), None)

    def execute(wave, registers, mask):
        values, active = accesses.by_warp(wave, value(registers)), accesses.active_lanes(wave, mask)
        same = (values[..., :, None] == values[..., None, :]) & active[..., None, :]
        lanes = (same.astype(U4) << np.arange(32, dtype=U4)).sum(axis=-1, dtype=U4)
        if not everybody:
            return accesses.by_thread(wave, lanes).view(I4), None
        present = (active.astype(U4) << np.arange(32, dtype=U4)).sum(axis=-1, keepdims=True, dtype=U4)
        equal = (np.where(active, lanes, present) == present).all(axis=-1, keepdims=True)
        mask_of_all = np.where(equal, present, U4.type(0))
        full = (wave.shape[0], wave.warps, 32)
        spread = lambda x: accesses.by_thread(wave, np.broadcast_to(x, full))  # noqa: E731
        return spread(mask_of_all).view(I4), spread(equal)

    return (t.target(destination), t.target(answer) if answer is not None else None), execute


def to_uniform(t: Operands, s: sass.Statement) -> Effect:
    """R2UR d, a: what the active lanes of a warp agree on becomes a register of the warp."""
    destination, source = [operand for operand in s.operands if not operand.file.endswith("P")][:2]
    value = t.bits(source)

    def execute(wave, registers, mask):
        found = value(registers)
        if mask is None or found.ndim == 0:
            return (found,)
        lanes = accesses.by_warp(wave, found)
        first = accesses.active_lanes(wave, mask).argmax(axis=2)[..., None]
        one = np.take_along_axis(lanes, first, axis=2)
        return (accesses.by_thread(wave, np.broadcast_to(one, lanes.shape)),)

    return (t.target(destination),), execute


def special_register(t: Operands, s: sass.Statement) -> Effect:
    """S2R, S2UR, CS2R d, SR_….

    Clocks and the number of the SM are not simulated: ValueError.
    """
    destination, source = s.operands
    if source.name in SPECIAL_CONSTANTS:
        constant = np.int32(SPECIAL_CONSTANTS[source.name])
        return (t.target(destination),), lambda wave, registers, mask: (constant,)
    if source.name not in SPECIAL:
        raise ValueError(f"the special register {source.name}")
    key = SPECIAL[source.name]
    return (t.target(destination),), lambda wave, registers, mask: (wave.special_value(key).view(I4),)


# ---- functions of the system


def call(t: Operands, s: sass.Statement) -> Effect:
    """CALL.ABS.NOINC R8: a function that the system provides, printf or assert, at a 64-bit address.

    Arguments are in R4:R5, R6:R7 and so on; the return address is that of the next instruction.
    """
    target = t.wide(s.operands[-1])
    arguments = [t.wide(sass.Register("R", number)) for number in (4, 6)]
    by_address = {address: FUNCTIONS[name] for name, address in FUNCTION_ADDRESSES.items()}

    def execute(wave, registers, mask):
        where = np.broadcast_to(target(registers), wave.shape)
        where = int(where.reshape(-1)[0] if mask is None else where[mask][0])
        if where not in by_address:
            raise UnsupportedInstruction(f"{wave.program.name} calls a function through a pointer (`{s.text}`).")
        wave.call_parameters = {number: argument(registers) for number, argument in enumerate(arguments)}
        by_address[where](wave, registers, mask)

    return (t.slot("R4"), t.slot("R5")), lambda wave, r, mask: execute(wave, r, mask) or (np.int32(0), np.int32(0))


def trap(t: Operands, s: sass.Statement) -> Effect:
    """BPT.TRAP."""
    return (), printf.trap


def position(t: Operands, s: sass.Statement) -> Effect:
    """LEPC d: the address of the code, which only return addresses of the system's functions are made of."""
    return t.targets(s.operands[0], 2), lambda wave, registers, mask: (np.int32(s.address), np.int32(0))
