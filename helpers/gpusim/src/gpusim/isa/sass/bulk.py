"""Copies in bulk of SASS. A warp asks for one, with registers that its lanes share.

`UBLKCP.S.G [UR4], [UR8], UR6`: to the address in UR4, for the mbarrier at that in UR5, from the one in UR8 and UR9; the
lower half of UR6 counts units of 16 bytes, the upper half has a bit for each block of the cluster that `.MULTICAST`
copies to.
"""

from collections.abc import Callable

import numpy as np

from gpusim.arithmetic.atomics import update
from gpusim.compiler import sass
from gpusim.engine import bulk
from gpusim.errors import Unknown
from gpusim.isa.rules import NOTHING, Effect, Reader
from gpusim.isa.sass.operands import U4, Operands, address_operand, at_least, chosen, is_register

OPERATIONS = {name: name.lower() for name in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")}
TYPES = {"F32": "f32", "F64": "f64", "F16": "f16", "BF16": "bf16", "S32": "s32", "U64": "u64", "S64": "s64"}
DTYPES: dict[str, type] = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16, "s32": np.int32, "u32": np.uint32,
    "u64": np.uint64, "s64": np.int64,
}  # fmt: skip


def copy(t: Operands, s: sass.Statement) -> Effect:
    """UBLKCP.S.G{.MULTICAST}, .S.S, .G.S [to], [from], size {, desc[UR]}."""
    to, origin, size, *_ = at_least(s, 3, 4)
    ends = "".join(part for part in s.opcode[1:3])
    if ends == "GS":
        return Effect((), bulk.put(True, _far(t, to), _near(t, origin), _bytes(t, size)))
    barrier = _near(t, to, 1)
    if ends == "SS":
        return Effect((), bulk.send(True, _near(t, to), barrier, _near(t, origin), _bytes(t, size)))
    if ends != "SG":
        raise Unknown("its form")
    ranks = _upper(t, size) if s.has("MULTICAST") else None
    return Effect((), bulk.fetch(True, _near(t, to), barrier, _far(t, origin), _bytes(t, size), ranks))


def reduce(t: Operands, s: sass.Statement) -> Effect:
    """UBLKRED.G.S.ADD.F32.RN [to], [from], size {, desc[UR]}."""
    to, origin, size, *_ = at_least(s, 3, 4)
    if s.opcode[1:3] != ("G", "S"):
        raise Unknown("its form")
    type_ = chosen(s, TYPES, "u32")
    function = combined(chosen(s, OPERATIONS), type_)
    return Effect((), bulk.put(True, _far(t, to), _near(t, origin), _bytes(t, size), function, DTYPES[type_]))


def combined(operation: str, type_: str) -> Callable:
    """What becomes of elements in global memory and those that come from shared memory: PTX's names for both."""
    return update(operation, type_)


def close_group(t: Operands, s: sass.Statement) -> Effect:
    """UTMACMDFLUSH: the copies since the last one are a group."""
    return Effect((), bulk.group("commit"))


def prefetch(t: Operands, s: sass.Statement) -> Effect:
    """UBLKPF.L2 [from], size: no value changes."""
    return NOTHING


def in_one_register(operand: sass.Operand) -> sass.Register:
    """The register that holds an address, alone or as the first of a pair."""
    place = address_operand(operand)
    if len(place.registers) != 1 or place.offset or place.registers[0].number is None:
        raise Unknown("an address that is not in one register")
    return place.registers[0]


def _near(t: Operands, operand: sass.Operand, distance: int = 0) -> Reader:
    """An address in shared memory; `distance` 1: that in the next register, of the mbarrier."""
    value = t.read(in_one_register(operand), U4, distance)
    return lambda registers: value(registers).astype(np.int64)


def _far(t: Operands, operand: sass.Operand) -> Reader:
    return t.wide(in_one_register(operand))


def _bytes(t: Operands, operand: sass.Operand) -> Reader:
    value, units, each = _size(t, operand), np.uint32(0xFFFF), np.uint32(bulk.UNIT)
    return lambda registers: (value(registers) & units) * each


def _upper(t: Operands, operand: sass.Operand) -> Reader:
    value, half = _size(t, operand), np.uint32(16)
    return lambda registers: value(registers) >> half


def _size(t: Operands, operand: sass.Operand) -> Reader:
    if not is_register(operand):
        raise Unknown("a size that is in no register")
    return t.read(operand, U4)
