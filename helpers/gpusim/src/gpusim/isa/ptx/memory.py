"""Loads, stores, asynchronous copies and fences of PTX. Reference: PTX ISA, 'Data Movement and Conversion Instructions'
and 'Parallel Synchronization and Communication Instructions'.

What cache operators and eviction hints change, the time, is not modelled; volatile and the memory orders are for the
sanitizer, which reads them in the opcode.
"""

from collections.abc import Callable

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.compiler.ptx import Address, Immediate, Statement, Symbol
from gpusim.engine import accesses
from gpusim.engine.memory import SHARED_WINDOW
from gpusim.errors import Unknown
from gpusim.isa.ptx import bulk
from gpusim.isa.ptx.operands import Operands, dtype_of, items_of
from gpusim.isa.rules import NOTHING, Compute, Effect, Outcome, PhaseWait, Reader

SPACES = {"global": "global", "const": "global", "shared": "shared", "local": "local", "param": "param"}
CLUSTER = "cluster"
SCOPES = {"cta": "block", "gl": "device", "gpu": "device", "sys": "system"}
STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"))
GROUPS = ("commit_group", "wait_group", "wait_all")


def space_of(s: Statement) -> str:
    """The state space that an instruction names, "generic" if it names none; the constants' is global memory here."""
    for part in s.modifiers:
        name, _, window = part.partition("::")
        if name in SPACES:
            return CLUSTER if window == "cluster" else SPACES[name]
    return "generic"


def place_of(t: Operands, s: Statement, address) -> tuple[str, Reader]:
    """(the state space that an instruction accesses, the address in it).

    What lies in the shared memory of a cluster is reached by a generic address.
    """
    space, place = space_of(s), t.address(address)
    if space != CLUSTER:
        return space, place
    return "generic", lambda registers: place(registers) + np.int64(SHARED_WINDOW)


def load(t: Operands, s: Statement) -> Outcome:
    """ld.space.type d, [address]; ld.v2, ld.v4 {d, …}, [address]."""
    destination, address, *_ = s.operands
    space, dtype = space_of(s), dtype_of(s.type)
    items = items_of(destination)
    slots = tuple(t.target(item) for item in items)
    if space == "param":
        execute = _load_parameter(t, address, dtype, len(items))
    else:
        # The low 4 or 8 bytes of a float register can be loaded in the register's own dtype.
        slot = next((slot for slot in slots if slot is not None), None)
        own = t.initial[slot].dtype if slot is not None else dtype
        dtype = own if own.itemsize == dtype.itemsize else dtype
        where, place = place_of(t, s, address)
        execute = accesses.load(where, dtype, len(items), place)
    loads_shared = s.name == "ld" and space in ("shared", "generic", CLUSTER)
    fits = [t.fit(slot, dtype) for slot in slots]
    if not any(fits):
        return Effect(slots, _after(s, execute), loads_shared, strong=is_strong(s))

    def widened(wave, registers, mask):
        values = execute(wave, registers, mask)
        return tuple(fit(value) if fit else value for fit, value in zip(fits, values, strict=True))

    return Effect(slots, _after(s, widened), loads_shared, strong=is_strong(s))


def _load_parameter(t: Operands, address: Address, dtype: np.dtype, count: int) -> Callable:
    if not isinstance(address.base, Symbol):
        place = t.address(address)
        return lambda wave, registers, mask: wave.global_memory.load(wave, place(registers), mask, dtype, count)
    if address.base.name in t.text.places:
        return _load_passed(t.address(address), dtype, count)
    if address.base.name not in t.parameters:
        return lambda wave, registers, mask: (wave.call_result.astype(dtype),)
    offset = t.parameters[address.base.name].offset + address.offset

    return lambda wave, registers, mask: tuple(np.frombuffer(wave.parameters, dtype, count, offset))


def _load_passed(place: Reader, dtype: np.dtype, count: int) -> Callable:
    """What a function is given or gives back. In machine code that is in registers: nobody watches."""
    return lambda wave, registers, mask: wave.local.load(wave, place(registers), mask, dtype, count)


def _pass(place: Reader, values: list[Reader]) -> Callable:
    def execute(wave, registers, mask):
        wave.local.store(wave, place(registers), mask, [value(registers) for value in values])

    return execute


def store(t: Operands, s: Statement) -> Outcome:
    """st.space.type [address], a; st.v2, st.v4 [address], {a, …}."""
    address, source, *_ = s.operands
    space = space_of(s)
    values = [t.read(item, s.type) for item in items_of(source)]
    if space != "param":
        return Effect((), _before(s, accesses.store(*place_of(t, s, address), values)), strong=is_strong(s))
    if not isinstance(address.base, Symbol):
        raise Unknown("a parameter at a computed address")
    if address.base.name in t.text.places:
        return Effect((), _pass(t.address(address), values))
    place, (value,) = (address.base.name, address.offset), values

    def keep(wave, registers, mask):
        wave.call_parameters[place] = value(registers)

    return Effect((), keep)


def cache_policy(t: Operands, s: Statement) -> Outcome:
    """createpolicy d, …: how long lines stay in the L2 cache. What takes a policy here does not look at it."""
    policy = np.uint64(0)
    return Compute((t.target(s.operands[0]),), lambda registers: policy)


# ---- memory order


def fence(t: Operands, s: Statement) -> Outcome:
    """membar.{cta,gl,sys}; fence.{sc,acq_rel}.{cta,cluster,gpu,sys}."""
    return Effect((), accesses.fence(scope_of(s)))


def is_strong(s: Statement) -> bool:
    """Whether an access is ordered among the threads of the grid, as those of volatile variables are too."""
    return not STRONG.isdisjoint(s.modifiers)


def scope_of(s: Statement) -> str:
    """Who sees the memory in order: the threads of the "block", of the "device" or of the "system"."""
    return next((SCOPES[part] for part in s.opcode[1:] if part in SCOPES), "block")


def ordered(s: Statement, execute: Callable) -> Callable:
    """An access with the fences that its memory order stands for: .release before it, .acquire after it, .acq_rel both.

    PTX ISA, 'Memory Consistency Model'.
    """
    return _before(s, _after(s, execute))


def _after(s: Statement, execute: Callable) -> Callable:
    if "acquire" not in s.modifiers and "acq_rel" not in s.modifiers:
        return execute
    after = accesses.fence(scope_of(s))

    def acquire(wave, registers, mask):
        result = execute(wave, registers, mask)
        after(wave, registers, mask)
        return result

    return acquire


def _before(s: Statement, execute: Callable) -> Callable:
    if "release" not in s.modifiers and "acq_rel" not in s.modifiers:
        return execute
    before = accesses.fence(scope_of(s))

    def release(wave, registers, mask):
        before(wave, registers, mask)
        return execute(wave, registers, mask)

    return release


# ---- barriers in shared memory


def barrier_object(t: Operands, s: Statement) -> Outcome:
    """mbarrier.{init,inval,arrive,arrive_drop,expect_tx,complete_tx,test_wait,try_wait,pending_count}. PTX ISA,
    'mbarrier'.

    The bits of an object and of a state are those of Hopper (`arithmetic.mbarrier`).
    """
    what = s.opcode[1]
    if what == "pending_count":
        destination, state = s.operands
        of_state = t.read(state, "b64")
        return Compute(
            (t.target(destination),), lambda registers: mbarrier.pending(of_state(registers)).astype(np.int32)
        )
    if what == "inval":
        return NOTHING
    if what == "init":
        place, count = s.operands
        threads = t.read(count, "u32")
        bits = lambda registers: mbarrier.initial(threads(registers))  # noqa: E731
        return Effect((), accesses.store(*place_of(t, s, place), [bits]))
    if what in ("expect_tx", "complete_tx"):
        (place, size), update = s.operands, mbarrier.expect if what == "expect_tx" else mbarrier.complete
        space, address = place_of(t, s, place)
        return Effect((), accesses.arrive(space, update, address, [_amount(t, size)]))
    destination, place, *more = s.operands
    space, address = place_of(t, s, place)
    if what in ("test_wait", "try_wait"):
        if "parity" in s.opcode:
            given, one = t.read(more[0], "u32"), np.uint32(1)
            phase = lambda registers: given(registers) & one  # noqa: E731
        else:
            state = t.read(more[0], "b64")
            phase = lambda registers: mbarrier.parity(state(registers))  # noqa: E731
        if what == "try_wait":
            return PhaseWait(t.target(destination), accesses.PhaseLook(space, address, phase))
        return Effect((t.target(destination),), accesses.phase_ended(space, address, phase))
    updates = {"arrive": mbarrier.arrive, "arrive_drop": mbarrier.arrive_and_drop}
    if what not in updates:
        raise Unknown(f"mbarrier.{what}")
    amounts = [_amount(t, more[0] if more else Immediate(1, 1))]
    if "expect_tx" in s.opcode:
        amounts.insert(0, lambda registers: np.uint64(1))
    execute = accesses.arrive(space, updates[what], address, amounts)
    if space_of(s) == CLUSTER:  # no state is answered
        return Effect((), execute)
    slot = t.target(destination)
    return Effect((slot,), lambda wave, r, mask: (mbarrier.state_of(execute(wave, r, mask)[0]).view(np.int64),))


def _amount(t: Operands, operand) -> Reader:
    value = t.read(operand, "u32")
    return lambda registers: value(registers).astype(np.uint64)


# ---- asynchronous copies


def copy_async(t: Operands, s: Statement) -> Outcome:
    """cp.async.{ca,cg}.shared.global [to], [from], size {, source size | ignore predicate}; its groups, and
    cp.async.mbarrier.arrive{.noinc}. For copies in bulk see `bulk`."""
    if "bulk" in s.opcode and "tensor" not in s.opcode:
        return bulk.reduce(t, s) if s.opcode[1] == "reduce" else bulk.copy(t, s)
    if s.opcode[1:3] == ("async", "mbarrier"):
        (place,) = s.operands
        space, address = place_of(t, s, place)
        if "noinc" in s.opcode:
            return Effect((), accesses.copies_arrive(space, mbarrier.arrive, address))
        # One more is expected, and comes when the copies have come: nobody else sees the number between.
        return Effect(
            (), accesses.copies_arrive(space, lambda old, count: mbarrier.arrive(old, count - count), address)
        )
    if s.opcode[1] != "async" or s.opcode[2] not in ("ca", "cg", *GROUPS):
        raise Unknown(f"{'.'.join(s.opcode[:5])}, a copy of another form")
    if s.opcode[2] in GROUPS:
        pending = t.constant(s.operands[0]) if s.operands else 0
        return Effect((), accesses.copy_group(s.opcode[2], pending))
    to, origin, size, *rest = s.operands
    source_size = skip = None
    for operand in rest:
        if t.is_predicate(operand):
            skip = t.read(operand, "pred")
        elif isinstance(operand, Immediate) or t.width(operand) == 4:  # a cache policy has 8 bytes
            source_size = t.read(operand, "u32")
    copied = t.constant(size)
    return Effect((), accesses.copy_async(copied, t.address(to), t.address(origin), source_size, skip))
