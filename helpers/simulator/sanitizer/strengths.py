"""How strong the loads and stores of shared memory are, read off the PTX.

Those of `cuda::atomic_ref` and its like are *strong*: they do not race with each other, and threads hand on by them
what they did before a fence. Those of volatile variables and pointers are, too (PTX ISA, 'Memory Consistency Model'),
and so is a flag that another thread looks at again and again until it has changed. But `v[t] += v[t + 16]` on a
volatile array depends on who comes first, and relies on a warp that runs in step, which no warp needs to do: such a
look at what nobody waits for (a *glance*) comes in a defined order with what others store, or it is a race.

In a kernel in which nobody waits for others in shared memory, volatile orders nothing for anybody, and is taken for
plain, as by racecheck.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum

from helpers.compiler.ptx import Function, Statement
from helpers.simulator.engine.block_order import components
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


def of_statements(
    function: Function, in_shared: Mapping[int, Hashable | None], called: int | None = None
) -> dict[int, Strength]:
    """By the index of a statement how strong it is, where its opcode says more than load or store.

    in_shared: those that may reach shared memory, each with the variable that it reaches, None where that is not known.
    called: where the statements of called functions begin. Who calls one may wait for what it loads, unless they store,
    too, as one that relies on a warp that runs in step.
    """
    accesses = {index: function.statements[index] for index in in_shared}
    volatile = {index: one for index, one in accesses.items() if "volatile" in one.modifiers}
    found = {index: Strength.STRONG for index, one in accesses.items() if not ORDERED.isdisjoint(one.modifiers)}
    if not volatile:
        return found
    loads = {index: one for index, one in volatile.items() if one.name == "ld"}
    loops = Loops(function)
    own = len(function.statements) if called is None or max(volatile.keys() - loads, default=0) >= called else called
    polls = [index for index in loads if index >= own or loops.decides(index)]
    # The compiler may look once before the loop of a line. And who waits may have looked what there is to change.
    lines, flags = {_place(loads[index]) for index in polls}, {in_shared[index] for index in polls} - {None}
    if not (polls or found or any(one.name in ATOMIC for one in accesses.values())):
        return dict.fromkeys(volatile, Strength.PLAIN)
    for index, one in volatile.items():
        if one.name == "ld":
            waits = _place(one) in lines or in_shared[index] in flags
            found[index] = Strength.STRONG if waits else Strength.GLANCE
        else:
            found[index] = Strength.VOLATILE
    return found


def _place(statement: Statement) -> tuple:
    return statement.line, statement.called_from


class Loops:
    """The ways through a function that no barrier lies on, and the loops that they make."""

    def __init__(self, function: Function) -> None:
        self._statements = function.statements
        ways = [
            () if one.name in BARRIERS else following(function, index) for index, one in enumerate(function.statements)
        ]
        self._ways: list[Sequence[int]] = ways
        self._loop_of = components(range(len(ways)), ways)
        self._loops: dict[int, set[int]] = defaultdict(set)
        for index, loop in self._loop_of.items():
            self._loops[loop].add(index)

    def decides(self, load: int) -> bool:
        """Whether a thread goes round a loop without a barrier until it loads something else here."""
        loop, ways = self._loops[self._loop_of[load]], self._ways
        tainted: dict[int, set[str]] = defaultdict(set)  # by statement, the registers before it that depend on the load
        todo = [load] if len(loop) > 1 else []
        while todo:
            index = todo.pop()
            one, taint = self._statements[index], tainted[index]
            reads, overwritten = reads_and_writes(one)
            depends = not taint.isdisjoint(reads)
            if depends and (one.name in LEAVES or not loop.issuperset(ways[index])):
                return True
            after = taint | set(written(one)) if depends or index == load else taint - overwritten
            more = {way: after for way in ways[index]}
            if depends and len(ways[index]) > 1:  # so does what is only done on one of its ways
                sides = [self._reached(way, loop - {index, load}) for way in ways[index]]
                for at in set.union(*sides) - set.intersection(*sides):
                    for way in ways[at]:
                        more[way] = more.get(way, set()) | set(written(self._statements[at]))
            for way, registers in more.items():
                if way in loop and not (way in tainted and registers <= tainted[way]):
                    tainted[way] |= registers
                    todo.append(way)
        return False

    def _reached(self, first: int, inside: set[int]) -> set[int]:
        """What can be reached from a statement, it included, by ways inside a set."""
        found, todo = set(), [first]
        while todo:
            index = todo.pop()
            if index in inside and index not in found:
                found.add(index)
                todo += self._ways[index]
        return found
