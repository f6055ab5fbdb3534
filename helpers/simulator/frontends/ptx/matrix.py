"""Instructions of PTX for the matrices of a warp. Reference: PTX ISA, 'Warp Level Matrix Multiply-Accumulate
Instructions'.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from helpers.compiler.ptx import Statement
from helpers.simulator.arithmetic import float8, float32, tensor_core
from helpers.simulator.arithmetic.operations import operation
from helpers.simulator.engine import matrices
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import Operands, items_of
from helpers.simulator.frontends.rules import Effect, Outcome


def load_matrix(t: Operands, s: Statement) -> Outcome:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16 {d, …}, [address]."""
    destination, place = s.operands
    items = items_of(destination)
    execute = matrices.load(count_of(s, items), "trans" in s.modifiers, t.address(place))
    return Effect(tuple(t.target(item) for item in items), execute, loads_shared=True)


def store_matrix(t: Operands, s: Statement) -> Outcome:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16 [address], {a, …}."""
    place, source = s.operands
    items = items_of(source)
    count_of(s, items)
    values = [t.read(item, "u32") for item in items]
    return Effect((), matrices.store("trans" in s.modifiers, t.address(place), values))


def count_of(s: Statement, items: tuple) -> int:
    """How many matrices of 8 × 8 it moves."""
    count = next((int(word[1:]) for word in s.modifiers if word in ("x1", "x2", "x4")), None)
    if "m8n8" not in s.modifiers or s.type != "b16" or count != len(items):
        raise Unknown(f"{s.name} of another shape or type")
    return count


def transpose_matrix(t: Operands, s: Statement) -> Outcome:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a."""
    destination, source = s.operands
    return Effect((t.target(destination),), matrices.transpose(t.read(source, "u32")))


# What a tensor core that lacks a narrow format multiplies in its place: ptxas unpacks one half of each register, then
# the other, and adds C to the sum of the two products. So it is on sm_90, and for floating-point numbers on sm_100 and
# sm_103; on others it has not been looked at, but integers that are not limited come to the same whichever way they are
# added.
_UNPACKED = {"e4m3": "f16", "e5m2": "f16", "s4": "s8", "u4": "u8"}


def multiply_matrices(t: Operands, s: Statement) -> Outcome:
    """mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c{.op.popc} d, a, b, c, of the types that tensor cores have."""
    form, product = product_of(t.arch, *shape_and_types(s), s.opcode)
    destination, *operands = s.operands
    wide = form.a == "f64"
    sources = [[t.read(item, "b64" if wide else "b32") for item in items_of(operand)] for operand in operands]
    counts = [form.a_registers, form.b_registers, form.c_registers]
    if [len(part) * (2 if wide else 1) for part in sources] != counts:
        raise Unknown("a product with other fragments")
    return Effect(tuple(t.target(item) for item in items_of(destination)), matrices.multiply(product, sources))


def shape_and_types(s: Statement) -> tuple[int, int, list[str]]:
    """(m, k, the types of D, A, B and C) of mma."""
    words = [word for word in s.opcode[1:] if word not in ("sync", "aligned", "row", "col", "satfinite")]
    shape = re.fullmatch(r"m(\d+)n8k(\d+)", words[0])
    types = [word for word in words[1:] if word not in ("and", "xor", "popc")]
    if shape is None or len(types) != 4 or types[0] != types[3]:
        raise Unknown(f"the product {'.'.join(words)}")
    return int(shape[1]), int(shape[2]), types


def product_of(
    arch: str, m: int, k: int, types: Sequence[str], words: Sequence[str]
) -> tuple[tensor_core.Form, Callable]:
    """The form whose fragments a product of (m, k) and (k, 8) has, and the function of these fragments.

    types: of D, A, B and C.  words: of the opcode, of which satfinite and xor count.
    """
    result, a, b, _ = types
    family, eights, saturates = arch.rstrip("af"), a in tensor_core.EIGHTS, "satfinite" in words
    is_there = family in (tensor_core.HAS_EIGHTS if eights else tensor_core.HAS_FOURS)
    narrow = a in _UNPACKED and b in _UNPACKED and not is_there
    if narrow and (saturates or eights) and family not in ("sm_90", *(("sm_100", "sm_103") if eights else ())):
        others = "; without .satfinite it runs" if a in ("s4", "u4") else ""
        raise Unknown(f"how the tensor cores of {arch} multiply .{a} and .{b}{others}")
    unpacked = _UNPACKED if narrow else {}
    form = tensor_core.form(
        m, k // (2 if narrow else 1), unpacked.get(a, a), unpacked.get(b, b), result, saturates
    )  # fmt: skip
    plain = replace(form, saturates=False) if narrow else form
    product = partial(tensor_core.multiply, plain, addition=tensor_core.terms_at_once(arch, form))
    if narrow:
        return form, partial(_multiply_halves, product, form, a, b)
    return form, partial(tensor_core.multiply_where_bits_differ, product) if "xor" in words else product


def _multiply_halves(product, form: tensor_core.Form, a_type: str, b_type: str, a: list, b: list, c: list) -> list:
    """The product of matrices in a format that is unpacked first."""
    total = [np.zeros_like(register) for register in c]
    for half in (0, 1):
        left, right = ([_unpacked(word, type_, half) for word in part] for part, type_ in ((a, a_type), (b, b_type)))
        total = [register.view(np.uint32) for register in product(left, right, total)]
    match form.result:
        case "f32":
            return [float32.add(old.view(np.float32), new.view(np.float32)) for old, new in zip(c, total, strict=True)]
        case "f16":
            add = operation("add", (), "f16")
            halves = ([np.ascontiguousarray(register).view(np.float16) for register in part] for part in (c, total))
            return [add(old, new).view(np.int32) for old, new in zip(*halves, strict=True)]
    if form.saturates:
        limits = np.iinfo(np.int32)
        sums = (old.view(np.int32).astype(np.int64) + new.view(np.int32) for old, new in zip(c, total, strict=True))
        return [np.clip(one, limits.min, limits.max).astype(np.int32) for one in sums]
    return [(old + new).view(np.int32) for old, new in zip(c, total, strict=True)]


def _unpacked(word: np.ndarray, type_: str, half: int) -> np.ndarray:
    """One half of a register's elements, each in twice the bits."""
    if type_ in ("e4m3", "e5m2"):
        return float8.to_halves(word >> np.uint32(16 * half), type_)
    fours = word[..., None] >> np.uint32(16 * half) + np.arange(0, 16, 4, dtype=np.uint32) & np.uint32(15)
    bytes_ = (fours | (np.uint32(0xF0) * (fours >> np.uint32(3)) if type_ == "s4" else np.uint32(0))).astype(np.uint8)
    return np.ascontiguousarray(bytes_).view(np.uint32)[..., 0]
