"""Copies in bulk of PTX. Reference: PTX ISA, 'cp.async.bulk', 'cp.reduce.async.bulk' and their groups.

What is said about caches changes no value: `.L2::cache_hint` and its policy, and prefetching.
"""

import numpy as np

from gpusim.arithmetic.atomics import OPERATIONS, update
from gpusim.compiler.ptx import Address, Statement
from gpusim.engine import bulk
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands, dtype_of
from gpusim.isa.rules import NOTHING, Effect, Outcome, Reader

GROUPS = {"commit_group": "commit", "wait_group": "wait"}


def copy(t: Operands, s: Statement) -> Outcome:
    """cp.async.bulk.{shared::cluster.global, shared::cluster.shared::cta, global.shared::cta, prefetch, …_group}."""
    what = s.opcode[3]
    if what in GROUPS:
        pending = t.constant(s.operands[0]) if s.operands else 0
        return Effect((), bulk.group(GROUPS[what] + "_read" * ("read" in s.opcode), pending))
    if what == "prefetch":
        return NOTHING
    ends = s.opcode[3:5]
    if ends == ("global", "shared::cta"):
        to, origin, size, *_ = s.operands
        return Effect((), bulk.put(False, t.address(to), t.address(origin), _size(t, size)))
    if len(s.operands) < 4 or not isinstance(s.operands[3], Address):
        raise Unknown(f"{'.'.join(s.opcode)}, a copy in bulk of another form")
    to, origin, size, barrier, *more = s.operands
    readers = t.address(to), t.address(barrier), t.address(origin), _size(t, size)
    if ends == ("shared::cluster", "shared::cta"):
        return Effect((), bulk.send(False, *readers))
    if ends not in (("shared::cluster", "global"), ("shared::cta", "global")):
        raise Unknown(f"{'.'.join(s.opcode)}, a copy in bulk of another form")
    ranks = t.read(more[0], "u16") if "multicast::cluster" in s.opcode else None
    return Effect((), bulk.fetch(False, *readers, ranks))


def reduce(t: Operands, s: Statement) -> Outcome:
    """cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type [to], [from], size."""
    if s.opcode[4:6] != ("global", "shared::cta"):
        raise Unknown("an operation on shared memory")
    to, origin, size, *_ = s.operands
    operation = next((part for part in s.modifiers if part in OPERATIONS), None)
    if operation is None:
        raise Unknown("the operation")
    type_ = s.type.replace("b", "u") if s.type in ("b32", "b64") else s.type
    function = update(operation, type_)
    return Effect((), bulk.put(False, t.address(to), t.address(origin), _size(t, size), function, dtype_of(type_)))


def _size(t: Operands, operand) -> Reader:
    value = t.read(operand, "u32")
    return lambda registers: value(registers).astype(np.int64)
