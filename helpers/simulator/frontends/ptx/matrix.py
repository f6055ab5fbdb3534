"""Instructions of PTX for the matrices of a warp. Reference: PTX ISA, 'Warp Level Matrix Multiply-Accumulate
Instructions'.
"""

import re
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
    execute = matrices.load(_count(s, items), "trans" in s.modifiers, t.address(place))
    return Effect(tuple(t.target(item) for item in items), execute, loads_shared=True)


def store_matrix(t: Operands, s: Statement) -> Outcome:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16 [address], {a, …}."""
    place, source = s.operands
    items = items_of(source)
    _count(s, items)
    values = [t.read(item, "u32") for item in items]
    return Effect((), matrices.store("trans" in s.modifiers, t.address(place), values))


def _count(s: Statement, items: tuple) -> int:
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
# the other, and adds C to the sum of the two products. So it is on sm_90; on others it has not been looked at.
_UNPACKED = {"e4m3": "f16", "e5m2": "f16", "s4": "s8", "u4": "u8"}


def multiply_matrices(t: Operands, s: Statement) -> Outcome:
    """mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c d, a, b, c, of the types that the tensor cores have."""
    words = [word for word in s.opcode[1:] if word not in ("sync", "aligned", "row", "col", "satfinite")]
    shape = re.fullmatch(r"m(\d+)n8k(\d+)", words[0])
    types = [word for word in words[1:] if word not in ("and", "popc")]
    if shape is None or len(types) != 4 or "xor" in types or types[0] != types[3]:
        raise Unknown(f"the product {'.'.join(words)}")
    result, a, b, _ = types
    narrow = a in _UNPACKED and b in _UNPACKED
    if narrow and (t.arch.removesuffix("a") != "sm_90" or "satfinite" in s.opcode):
        raise Unknown(f"how the tensor cores of {t.arch} multiply .{a} and .{b}")
    form = tensor_core.form(
        int(shape[1]), int(shape[2]) // (2 if narrow else 1), _UNPACKED.get(a, a), _UNPACKED.get(b, b), result,
        "satfinite" in s.opcode,
    )  # fmt: skip
    destination, *operands = s.operands
    wide = form.a == "f64"
    sources = [[t.read(item, "b64" if wide else "b32") for item in items_of(operand)] for operand in operands]
    counts = [form.a_registers, form.b_registers, form.c_registers]
    if [len(part) * (2 if wide else 1) for part in sources] != counts:
        raise Unknown("a product with other fragments")
    product = partial(tensor_core.multiply, form, addition=tensor_core.terms_at_once(t.arch, form))
    if narrow:
        product = partial(_multiply_halves, product, form, a, b)
    return Effect(tuple(t.target(item) for item in items_of(destination)), matrices.multiply(product, sources))


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
    return [(old + new).view(np.int32) for old, new in zip(c, total, strict=True)]


def _unpacked(word: np.ndarray, type_: str, half: int) -> np.ndarray:
    """One half of a register's elements, each in twice the bits."""
    if type_ in ("e4m3", "e5m2"):
        return float8.to_halves(word >> np.uint32(16 * half), type_)
    fours = word[..., None] >> np.uint32(16 * half) + np.arange(0, 16, 4, dtype=np.uint32) & np.uint32(15)
    bytes_ = (fours | (np.uint32(0xF0) * (fours >> np.uint32(3)) if type_ == "s4" else np.uint32(0))).astype(np.uint8)
    return np.ascontiguousarray(bytes_).view(np.uint32)[..., 0]
