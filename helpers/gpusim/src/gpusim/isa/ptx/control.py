"""Branches, barriers and ends of PTX. Reference: PTX ISA, 'Control Flow Instructions' and 'bar'."""

import numpy as np

from gpusim.compiler.ptx import Immediate, Statement
from gpusim.engine import clusters
from gpusim.engine.named_barriers import counted
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import Barrier, Branch, ClusterBarrier, Effect, Exit, Outcome, Reader, WarpBarrier


def jump(t: Operands, s: Statement) -> Outcome:
    """bra{.uni} label."""
    return Branch((t.function.labels[s.operands[0].name],))


def jump_by_index(t: Operands, s: Statement) -> Outcome:
    """brx.idx{.uni} index, table."""
    index, table = s.operands
    labels = t.function.branch_tables[table.name]
    return Branch(tuple(t.function.labels[label] for label in labels), t.read(index, "s32"))


def leave(t: Operands, s: Statement) -> Outcome:
    """exit."""
    return Exit()


def barrier(t: Operands, s: Statement) -> Outcome:
    """bar.{sync,arrive} number {, threads}; bar.red.{popc,and,or} d, number {, threads}, p; bar.warp.sync mask."""
    if "warp" in s.modifiers or s.type == "warp":
        return WarpBarrier(t.read(s.operands[0], "u32"))  # for the sanitizer: nobody waits
    if "cluster" in s.opcode:
        return _of_cluster(t, s)
    if "red" in s.opcode:
        return _reduction(t, s)
    which, *threads = s.operands or (Immediate(0, 0),)
    if "arrive" in s.opcode:
        return Barrier(named=_named(t, which, threads), waits=False)
    if "sync" not in s.opcode:
        raise Unknown("its form")
    if not threads and isinstance(which, Immediate) and which.value == 0:
        return Barrier()
    return Barrier(named=_named(t, which, threads))


def _named(t: Operands, which, threads: list) -> Reader:
    """(number, threads) of a barrier, 0 for all threads of the block."""
    number, count = t.read(which, "s32"), t.read(threads[0] if threads else Immediate(0, 0), "s32")
    return lambda registers: (number(registers), count(registers))


def _reduction(t: Operands, s: Statement) -> Barrier:
    destination, which, *threads, condition = s.operands
    vote, votes, slot = t.read(condition, "pred"), t.hidden("votes at a barrier"), t.target(destination)

    def arrive(wave, registers, mask):
        mine = vote(registers)
        registers[votes] = mine if mask is None else np.where(mask, mine, registers[votes])

    def keep(registers, going, yes, voters):
        value = yes if "popc" in s.opcode else yes == voters if "and" in s.opcode else yes > 0
        if slot is not None:
            registers[slot] = np.where(going, value, registers[slot])

    writes = () if slot is None else (slot,)
    return Barrier(arrive, _named(t, which, threads), passed=counted(votes, keep), writes=writes)


def _of_cluster(t: Operands, s: Statement) -> Outcome:
    """barrier.cluster.arrive{.release,.relaxed}{.aligned}; barrier.cluster.wait{.acquire}{.aligned}."""
    words = (*s.opcode, s.type)
    if "arrive" in words:
        return Effect((), lambda wave, registers, mask: clusters.arrive(wave, mask))
    if "wait" in words:
        return ClusterBarrier()
    raise Unknown("its form")
