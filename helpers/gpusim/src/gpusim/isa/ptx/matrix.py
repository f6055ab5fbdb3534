"""Instructions of PTX for the matrices of a warp. Reference: PTX ISA, 'Warp Level Matrix Multiply-Accumulate
Instructions'.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from gpusim.arithmetic import tensor_core
from gpusim.compiler.ptx import Immediate, Statement
from gpusim.engine import matrices
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands, items_of
from gpusim.isa.rules import Effect, Outcome


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


# What a tensor core that lacks a narrow format multiplies in its place: ptxas unpacks one half of each register, then
# the other, and adds C to the sum of the two products. So it is on sm_90, and for floating-point numbers on sm_100 and
# sm_103; on others it has not been looked at, but integers that are not limited come to the same whichever way they are
# added.
_UNPACKED = (*tensor_core.EIGHTS, *tensor_core.FOURS)


def selector_of(s: Statement) -> int:
    """Which lanes of four bring the places of a sparse A's elements: the last operand of mma.sp."""
    if len(s.operands) != 6 or not isinstance(s.operands[5], Immediate):
        raise Unknown(f"{s.name} with a selector that is no number")
    return int(s.operands[5].value) & 3


SPARSE = ("sp", "sp::ordered_metadata")


def shape_and_types(s: Statement) -> tuple[int, int, list[str]]:
    """(m, k, the types of D, A, B and C) of mma."""
    words = [word for word in s.opcode[1:] if word not in ("sync", "aligned", "row", "col", "satfinite", *SPARSE)]
    shape = re.fullmatch(r"m(\d+)n8k(\d+)", words[0])
    types = [word for word in words[1:] if word not in ("and", "xor", "popc")]
    if shape is None or len(types) != 4 or types[0] != types[3]:
        raise Unknown(f"the product {'.'.join(words)}")
    return int(shape[1]), int(shape[2]), types


def form_of(arch: str, m: int, k: int, types: Sequence[str], words: Sequence[str]) -> tensor_core.Form:
    """The form of a product of (m, k) and (k, 8), and whether `arch` unpacks its elements.

    types: of D, A, B and C.  words: of the opcode, of which satfinite and sp count.
    """
    result, a, b, _ = types
    family, eights, saturates = arch.rstrip("af"), a in tensor_core.EIGHTS, "satfinite" in words
    is_there = family in (tensor_core.HAS_EIGHTS if eights else tensor_core.HAS_FOURS)
    narrow = a in _UNPACKED and b in _UNPACKED and not is_there
    if narrow and (saturates or eights) and family not in ("sm_90", *(("sm_100", "sm_103") if eights else ())):
        others = "; without .satfinite it runs" if a in tensor_core.FOURS else ""
        raise Unknown(f"how the tensor cores of {arch} multiply .{a} and .{b}{others}")
    form = tensor_core.form(m, k, a, b, result, saturates, any(word in SPARSE for word in words))
    return replace(form, unpacked=narrow and eights)
