"""Instructions of PTX for the matrices of a warp. Reference: PTX ISA, 'Warp Level Matrix Multiply-Accumulate
Instructions'.
"""

import re
from functools import partial

from helpers.compiler.ptx import Statement
from helpers.simulator.arithmetic import tensor_core
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


def multiply_matrices(t: Operands, s: Statement) -> Outcome:
    """mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c d, a, b, c, of the types that the tensor cores have."""
    words = [word for word in s.opcode[1:] if word not in ("sync", "aligned", "row", "col", "satfinite")]
    shape = re.fullmatch(r"m(\d+)n8k(\d+)", words[0])
    types = [word for word in words[1:] if word not in ("and", "popc")]
    if shape is None or len(types) != 4 or "xor" in types or types[0] != types[3]:
        raise Unknown(f"the product {'.'.join(words)}")
    result, a, b, _ = types
    form = tensor_core.form(int(shape[1]), int(shape[2]), a, b, result, "satfinite" in s.opcode)
    if form.a == "f64":
        raise Unknown("a product of float64 matrices")
    destination, *operands = s.operands
    sources = [[t.read(item, "b32") for item in items_of(operand)] for operand in operands]
    if [len(part) for part in sources] != [form.a_registers, form.b_registers, form.c_registers]:
        raise Unknown("a product with other fragments")
    product = partial(tensor_core.multiply, form, addition=tensor_core.terms_at_once(t.arch, form))
    return Effect(tuple(t.target(item) for item in items_of(destination)), matrices.multiply(product, sources))
