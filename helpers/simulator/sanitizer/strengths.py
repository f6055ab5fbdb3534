"""How strong the loads and stores of shared memory are, read off the PTX.

Those of `cuda::atomic_ref` and its like are *strong*: they do not race with each other, and threads hand on by them
what they did before a fence. Those of volatile variables and pointers are, too (PTX ISA, 'Memory Consistency Model'),
and so is a flag that another thread looks at again and again until it has changed. But `v[t] += v[t + 16]` on a
volatile array depends on who comes first, and relies on a warp that runs in step, which no warp needs to do: such a
look without a loop around it (a *glance*) comes in a defined order with what others store, or it is a race.

In a kernel in which nobody waits for others in shared memory, volatile orders nothing for anybody, and is taken for
plain, as by racecheck.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum

from helpers.compiler.ptx import Function, Statement
from helpers.simulator.frontends.ptx.flow import following, reads_and_writes, written

ATOMIC, BARRIERS = ("atom", "red"), ("bar", "barrier")
ORDERED = frozenset(("relaxed", "acquire", "release", "mmio"))
LEAVES = ("ret", "exit", "trap")


class Strength(IntEnum):
    """How a load or a store takes part in races. VOLATILE is a store: only a GLANCE, a load, races with it as well."""

    PLAIN = 0
    GLANCE = 1
    VOLATILE = 2
    STRONG = 3


def of_statements(function: Function, in_shared: Iterable[int]) -> dict[int, Strength]:
    """By the index of a statement how strong it is, where its opcode says more than load or store.

    in_shared: those that may reach shared memory.
    """
    accesses = {index: function.statements[index] for index in in_shared}
    volatile = {index: one for index, one in accesses.items() if "volatile" in one.modifiers}
    found = {index: Strength.STRONG for index, one in accesses.items() if not ORDERED.isdisjoint(one.modifiers)}
    if not volatile:
        return found
    loads = {index: one for index, one in volatile.items() if one.name == "ld"}
    # The compiler may look once before the loop of a line.
    lines = {_place(one) for index, one in loads.items() if decides_its_loop(function, index)}
    if not (lines or found or any(one.name in ATOMIC for one in accesses.values())):
        return dict.fromkeys(volatile, Strength.PLAIN)
    for index, one in volatile.items():
        if one.name == "ld":
            found[index] = Strength.STRONG if _place(one) in lines else Strength.GLANCE
        else:
            found[index] = Strength.VOLATILE
    return found


def _place(statement: Statement) -> tuple:
    return statement.line, statement.called_from


def decides_its_loop(function: Function, load: int) -> bool:
    """Whether a thread goes round a loop without a barrier until it loads something else here."""
    statements = function.statements
    ways = [() if one.name in BARRIERS else following(function, index) for index, one in enumerate(statements)]
    loop = _reached(ways, ways[load]) & _reached(_turned_round(ways), [load])
    if load not in loop:
        return False
    tainted: dict[int, set[str]] = defaultdict(set)  # by statement, the registers before it that depend on the load
    todo = [load]
    while todo:
        index = todo.pop()
        one, taint = statements[index], tainted[index]
        reads, overwritten = reads_and_writes(one)
        depends = not taint.isdisjoint(reads)
        if depends and (one.name in LEAVES or not loop.issuperset(ways[index])):
            return True
        after = taint | set(written(one)) if depends or index == load else taint - overwritten
        more = {way: after for way in ways[index]}
        if depends and len(ways[index]) > 1:  # so does what is only done on one of its ways
            sides = [_reached(ways, [way], {index, load}) & loop for way in ways[index]]
            for at in set.union(*sides) - set.intersection(*sides):
                for way in ways[at]:
                    more[way] = more.get(way, set()) | set(written(statements[at]))
        for way, registers in more.items():
            if way in loop and not (way in tainted and registers <= tainted[way]):
                tainted[way] |= registers
                todo.append(way)
    return False


def _reached(ways: Sequence[Sequence[int]], first: Iterable[int], without: Iterable[int] = ()) -> set[int]:
    """What can be reached from some statements, these included, by ways past others."""
    found, todo = set(without), list(first)
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo += ways[index]
    return found.difference(without)


def _turned_round(ways: Sequence[Sequence[int]]) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in ways]
    for index, following_ones in enumerate(ways):
        for way in following_ones:
            before[way].append(index)
    return before
