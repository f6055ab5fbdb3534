"""Branches, barriers, ends and calls of PTX. Reference: PTX ISA, 'Control Flow Instructions' and 'bar'."""

from helpers.compiler.ptx import Immediate, Statement, Symbol
from helpers.simulator.engine import printf
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.ptx.operands import Operands
from helpers.simulator.frontends.rules import Barrier, Branch, Effect, Exit, Outcome, WarpBarrier

SYSTEM_FUNCTIONS = {"vprintf": printf.vprintf, "__assertfail": printf.assert_fail}


def jump(t: Operands, s: Statement) -> Outcome:
    """bra{.uni} label."""
    return Branch((t.function.labels[s.operands[0].name],))


def jump_by_index(t: Operands, s: Statement) -> Outcome:
    """brx.idx{.uni} index, table."""
    index, table = s.operands
    labels = t.function.branch_tables[table.name]
    return Branch(tuple(t.function.labels[label] for label in labels), t.read(index, "s32"))


def leave(t: Operands, s: Statement) -> Outcome:
    """ret, exit."""
    return Exit()


def barrier(t: Operands, s: Statement) -> Outcome:
    """bar.sync 0, barrier.sync{.aligned} 0 of the whole block; bar.warp.sync mask."""
    if "warp" in s.modifiers or s.type == "warp":
        return WarpBarrier()
    which, *threads = s.operands or (Immediate(0, 0),)
    if "red" in s.opcode:
        raise Unknown("a barrier that counts or combines predicates")
    if "sync" not in s.opcode or threads or not isinstance(which, Immediate) or which.value != 0:
        raise Unknown("a barrier other than number 0, or of a part of the block")
    return Barrier()


def trap(t: Operands, s: Statement) -> Outcome:
    """trap."""
    return Effect((), printf.trap)


def call(t: Operands, s: Statement) -> Outcome:
    """call (result), function, (arguments): printf and assert, which the system provides."""
    name = next((operand.name for operand in s.operands if isinstance(operand, Symbol)), "")
    if name not in SYSTEM_FUNCTIONS:
        raise Unknown("a call of a function that was not inlined")
    return Effect((), SYSTEM_FUNCTIONS[name])
