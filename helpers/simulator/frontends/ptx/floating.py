"""Floating-point arithmetic of PTX. Reference: PTX ISA, 'Floating-Point Instructions' and 'Half Precision …'."""

import numpy as np

from helpers.compiler.ptx import Statement
from helpers.simulator.arithmetic.operations import operation, refuse_unknown
from helpers.simulator.frontends.evaluation import applied, flushing
from helpers.simulator.frontends.ptx.operands import Operands, dtype_of
from helpers.simulator.frontends.rules import Compute, Outcome

SUBNORMAL_STAYS = ("neg", "abs", "min", "max", "copysign")  # these make no subnormal number of normal ones


def arithmetic(t: Operands, s: Statement) -> Outcome:
    """name{.rounding}{.ftz}{.sat}.type d, a {, b, c}, as `operation` knows them."""
    destination, *sources = s.operands
    readers = [t.read(source, s.type) for source in sources]
    if s.type == "f32" and "ftz" in s.modifiers:
        fma = tuple(readers) if s.opcode == ("fma", "rn", "ftz", "f32") else None
        return t.result(destination, flushing(s.name, s.modifiers, readers), dtype_of("f32"), fma)
    if s.type in ("f32", "f32x2") and s.name not in SUBNORMAL_STAYS:
        t.subnormal = True
    function = operation(s.name, s.modifiers, s.type)
    return t.result(destination, applied(function, readers), dtype_of(s.type))


def test(t: Operands, s: Statement) -> Outcome:
    """testp.kind.type p, a: a class of floating-point numbers."""
    destination, source = s.operands
    a = t.read(source, s.type)
    tiny = np.finfo(dtype_of(s.type)).tiny
    kinds = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= tiny) | (x == 0)),
        "subnormal": lambda x: (np.abs(x) < tiny) & (x != 0),
    }
    refuse_unknown(s.modifiers, kinds)
    return Compute((t.target(destination),), applied(kinds[s.opcode[1]], [a]))
