"""Tensor cores in SASS: matrices between shared memory and the registers of a warp, and their products."""

from dataclasses import replace

from gpusim.arithmetic import tensor_core
from gpusim.compiler import sass
from gpusim.engine import matrices
from gpusim.errors import Unknown
from gpusim.isa.rules import Effect
from gpusim.isa.sass.memory import address_of
from gpusim.isa.sass.operands import U4, Operands, address_operand, chosen, exactly


def is_transposed(s: sass.Statement) -> bool:
    """Whether matrices are moved with their rows for columns."""
    if not s.has("M88", "MT88"):
        raise Unknown("the matrix shape")
    return s.has("MT88")


def count_of(s: sass.Statement) -> int:
    """How many matrices of 8 × 8 are moved."""
    return chosen(s, {"1": 1, "2": 2, "4": 4}, 1)


def load_matrix(t: Operands, s: sass.Statement) -> Effect:
    """LDSM.16.M88.{1,2,4}, .MT88 (transposed) d, [address]."""
    destination, place = exactly(s, 2)
    execute = matrices.load(count_of(s), is_transposed(s), address_of(t, address_operand(place), t.space))
    return Effect(t.targets(destination, count_of(s)), execute, loads_shared=True)


def store_matrix(t: Operands, s: sass.Statement) -> Effect:
    """STSM.16.M88.{1,2,4}, .MT88 (transposed) [address], value."""
    place, value = exactly(s, 2)
    values = [t.read(value, U4, distance) for distance in range(count_of(s))]
    return Effect((), matrices.store(is_transposed(s), address_of(t, address_operand(place), t.space), values))


def selector_of(s: sass.Statement) -> int:
    """Which lanes of four bring the places of a sparse A's elements."""
    if not isinstance(s.operands[5], sass.Immediate):
        raise Unknown("a selector that is no number")
    return s.operands[5].integer & 3


def plain(operand: sass.Operand, order: str) -> sass.Operand:
    """A factor without the order of its elements, which QMMA, IMMA and BMMA name; they have but one."""
    if isinstance(operand, sass.Register) and operand.modifiers == (order,):
        return replace(operand, modifiers=())
    return operand


# (m, k) by the word for the shape, which is m, n and k with nothing or an x between them.
_SHAPES = {
    "16816": (16, 16), "1688": (16, 8), "1684": (16, 4), "8816": (8, 16), "16832": (16, 32), "88128": (8, 128),
    "168128": (16, 128), "168256": (16, 256), "8832": (8, 32), "16864": (16, 64),
    "884": (8, 4), "8x8x4": (8, 4), "16x8x4": (16, 4), "16x8x8": (16, 8), "16x8x16": (16, 16),
}  # fmt: skip


def form_of(s: sass.Statement) -> tensor_core.Form:
    """The form that the words of an opcode name: HMMA.16816.F32.BF16, IMMA.16832.U8.S8.SAT, DMMA.8x8x4."""
    m, k = chosen(s, _SHAPES)
    words = [word for word in s.opcode[1:] if word not in _SHAPES and word != "SP"]
    match s.base:
        case "DMMA":
            a = b = result = "f64"
        case "BMMA":
            a = b = "b1"
            result = "s32"
        case "IMMA":
            a, b = (*(word.lower() for word in words), "", "")[:2]
            result = "s32"
        case "QMMA":
            result, a, b = (*(word.lower() for word in words), "", "", "")[:3]
        case _:
            result, a, *_ = (*(word.lower() for word in words), "f16", "f16")
            b = a
    return tensor_core.form(m, k, a, b, result, saturates=s.has("SAT"), sparse=s.has("SP"))
