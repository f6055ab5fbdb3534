"""How strong the loads and stores of shared memory are, read off the PTX.

Those of `cuda::atomic_ref` and its like are *strong*: they do not race with each other, and threads hand on by them
what they did before a fence. Those of volatile variables and pointers are, too (PTX ISA, 'Memory Consistency Model'),
and so is a flag that another thread looks at again and again until it has changed. But `v[t] += v[t + 16]` on a
volatile array depends on the order of threads, and relies on a warp that runs in step, which no warp needs to do: such
an *unpolled* load is ordered with the stores of other threads, or it is a race.

In a kernel in which no thread waits for others in shared memory, volatile orders nothing for anybody, and is taken for
plain, as by racecheck.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush

from gpusim.compiler.ptx import Function, Statement
from gpusim.engine.block_order import components
from gpusim.isa.ptx.flow import following, reads_and_writes, written

ATOMIC, BARRIERS = ("atom", "red"), ("bar", "barrier")
ORDERED = frozenset(("relaxed", "acquire", "release", "mmio"))
LEAVES = ("ret", "exit", "trap")


class Strength(IntEnum):
    """How a load or a store takes part in races.

    Attributes:
        PLAIN: it races with every store by another thread that no barrier or fence orders.
        UNPOLLED: a volatile load of a word that no loop polls; it races with VOLATILE stores, too.
        VOLATILE: a volatile store; of loads only PLAIN and UNPOLLED ones race with it.
        STRONG: it races with plain accesses alone.
    """

    PLAIN = 0
    UNPOLLED = 1
    VOLATILE = 2
    STRONG = 3


def of_statements(
    function: Function, in_shared: Mapping[int, Hashable | None], starts: Iterable[int] = ()
) -> dict[int, Strength]:
    """By the index of a statement how strong it is, where its opcode says more than load or store.

    in_shared: those that may reach shared memory, each with the variable that it reaches, None where that is not known.
    starts: where the statements of called functions begin. A caller may wait for what it loads, unless it stores,
    too, as one that relies on a warp that runs in step.
    """
    accesses = {index: function.statements[index] for index in in_shared}
    volatile = {index: access for index, access in accesses.items() if "volatile" in access.modifiers}
    strengths = {
        index: Strength.STRONG for index, access in accesses.items() if not ORDERED.isdisjoint(access.modifiers)
    }
    if not volatile:
        return strengths
    loads = {index: access for index, access in volatile.items() if access.name == "ld"}
    firsts = sorted(starts)
    function_of = {index: bisect(firsts, index) for index in volatile}
    stores = {0} | {function_of[index] for index in volatile.keys() - loads}
    polls = {index for index in loads if function_of[index] not in stores} | Waits(function).decided_by(loads)
    # The compiler may look once before the loop of a line. And a waiting thread may have read what it will change.
    lines, flags = {_source_location(loads[index]) for index in polls}, {in_shared[index] for index in polls} - {None}
    if not (polls or strengths or any(access.name in ATOMIC for access in accesses.values())):
        return dict.fromkeys(volatile, Strength.PLAIN)
    for index, access in volatile.items():
        if access.name == "ld":
            waits = _source_location(access) in lines or in_shared[index] in flags
            strengths[index] = Strength.STRONG if waits else Strength.UNPOLLED
        else:
            strengths[index] = Strength.VOLATILE
    return strengths


def _source_location(statement: Statement) -> tuple:
    return statement.line, statement.called_from


class Waits:
    """The ways through a function that no barrier lies on, and by which loads threads wait on them."""

    def __init__(self, function: Function) -> None:
        self._statements = function.statements
        self._ways: list[Sequence[int]] = [
            () if statement.name in BARRIERS else following(function, index)
            for index, statement in enumerate(function.statements)
        ]

    def decided_by(self, loads: Collection[int]) -> set[int]:
        """The loads until which bring something else a thread goes round a loop without a barrier.

        The compiler may have unrolled it: then several loads of an address in a line, on which decisions depend, follow
        one another until one brings that.
        """
        loop_of = components(range(len(self._ways)), self._ways)
        loops: dict[int, set[int]] = defaultdict(set)
        for index, loop in loop_of.items():
            loops[loop].add(index)
        rounds, unrolled = defaultdict(list), defaultdict(list)
        for load in loads:
            if len(loops[loop_of[load]]) > 1:
                rounds[loop_of[load]].append(load)
            else:
                statement = self._statements[load]
                unrolled[statement.operands[1], *_source_location(statement)].append(load)
        deciding = set()
        for loop, inside in rounds.items():
            deciding |= self._deciding(inside, loops[loop], self._leaves)
        for alike in unrolled.values():
            if len(alike) > 1:
                region = self._reached(alike)
                deciding |= self._deciding(self._deciding(alike, region, self._branches), region, self._skips)
        return deciding

    def _leaves(self, index: int, region: set[int], loads: set[int]) -> bool:
        """Whether a statement may lead out of a loop."""
        return self._statements[index].name in LEAVES or not region.issuperset(self._ways[index])

    def _branches(self, index: int, region: set[int], loads: set[int]) -> bool:
        """Whether a statement may go on in more than one way."""
        return len(self._ways[index]) + (self._statements[index].name in LEAVES) > 1

    def _skips(self, index: int, region: set[int], loads: set[int]) -> bool:
        """Whether a statement decides if more of some loads follow."""
        if not self._branches(index, region, loads):
            return False
        follow = [bool(loads & self._reached([way], {index})) for way in self._ways[index]]
        return any(follow) and (self._statements[index].name in LEAVES or not all(follow))

    def _deciding(self, loads: Collection[int], region: set[int], is_decision) -> set[int]:
        """On which of some loads the decisions in a region depend.

        What depends on which is a bit for each load, by register, before each statement.
        """
        bit_of = {load: 1 << number for number, load in enumerate(loads)}
        known: dict[int, dict[str, int]] = defaultdict(dict)
        sides: dict[int, set[int]] = {}
        todo, waiting, decided = list(loads), set(loads), 0
        heapify(todo)

        def add(way: int, registers: Mapping[str, int]) -> None:
            there = known[way]
            more = {name: bits for name, bits in registers.items() if bits & ~there.get(name, 0)}
            for name, bits in more.items():
                there[name] = there.get(name, 0) | bits
            if (more or way not in seen) and way not in waiting:
                waiting.add(way)
                heappush(todo, way)

        seen = set(loads)
        while todo:
            index = heappop(todo)
            waiting.discard(index)
            seen.add(index)
            statement, before, ways = self._statements[index], known[index], self._ways[index]
            reads, overwritten = reads_and_writes(statement)
            bits = 0
            for name in reads & before.keys():
                bits |= before[name]
            if bits & ~decided and is_decision(index, region, bit_of.keys()):
                decided |= bits
            result = dict.fromkeys(written(statement), bits | bit_of.get(index, 0))
            after = {name: more for name, more in before.items() if name not in overwritten}
            after |= {name: after.get(name, 0) | more for name, more in result.items() if more}
            for way in ways:
                if way in region:
                    add(way, after)
            if bits and len(ways) > 1:  # so does what is only done on one of its ways
                if index not in sides:
                    reached = [self._reached([way], {index}, region) for way in ways]
                    sides[index] = set.union(*reached) - set.intersection(*reached)
                for at in sides[index]:
                    registers = dict.fromkeys(written(self._statements[at]), bits)
                    for way in self._ways[at] if registers else ():
                        if way in region:
                            add(way, registers)
        return {load for load, bit in bit_of.items() if decided & bit}

    def _reached(
        self, first: Iterable[int], without: Collection[int] = (), inside: Collection[int] | None = None
    ) -> set[int]:
        """What can be reached from some statements, they included, by ways inside a set and without some others."""
        reached, todo = set(), list(first)
        while todo:
            index = todo.pop()
            if index not in reached and index not in without and (inside is None or index in inside):
                reached.add(index)
                todo += self._ways[index]
        return reached
