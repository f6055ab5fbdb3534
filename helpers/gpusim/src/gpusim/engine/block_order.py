"""In which order diverged threads go through the basic blocks of PTX, so that they are together again where paths meet.

The engine follows the threads with the lowest block first. In the order of the text that is right as long as no jump
goes back in it, other than to the start of a loop. Compilers do place a rare path behind the code where it joins the
others again: then what comes after it would be executed without those threads, and a vote there would miss them.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence


def meeting_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """The blocks, of which 0 is the first, in an order in which each comes after all that lead to it.

    Loops stay in one piece, and jumps to their start do not count. Where the text has that order already it is kept.
    """
    blocks = list(range(len(successors)))
    ordered = _ordered(blocks, successors, 0)
    rank = {block: number for number, block in enumerate(ordered)}
    backward = [(u, v) for u in blocks for v in successors[u] if v <= u]
    return ordered if any(rank[u] < rank[v] for u, v in backward) else blocks


def _ordered(blocks: list[int], successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """`blocks` in order, without the edges that lead to `entry`."""
    inside = set(blocks)
    following = {u: [v for v in successors[u] if v in inside and v != entry] for u in blocks}
    component = components(blocks, following)
    members: dict[int, list[int]] = {}
    for block in blocks:
        members.setdefault(component[block], []).append(block)
    leading = dict.fromkeys(members, 0)
    edges = {(component[u], component[v]) for u in blocks for v in following[u] if component[u] != component[v]}
    after: dict[int, list[int]] = {}
    for u, v in edges:
        leading[v] += 1
        after.setdefault(u, []).append(v)
    first = {name: members[name][0] for name in members}
    ready = [(first[name], name) for name, count in leading.items() if count == 0]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        _, name = heapq.heappop(ready)
        loop = members[name]
        ordered += loop if len(loop) == 1 else _ordered(loop, successors, _start(loop, blocks, following))
        for other in after.get(name, ()):
            leading[other] -= 1
            if leading[other] == 0:
                heapq.heappush(ready, (first[other], other))
    return ordered


def _start(loop: list[int], blocks: list[int], following: dict[int, list[int]]) -> int:
    """The block that a loop is entered at; the first in the text of several."""
    own = set(loop)
    entered = {v for u in blocks if u not in own for v in following[u] if v in own}
    return min(entered, default=loop[0])


def components(
    blocks: Iterable[int], following: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]
) -> dict[int, int]:
    """Block → a number that it shares with the blocks that it can go to and come back from (Tarjan's algorithm)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    component: dict[int, int] = {}
    stack: list[int] = []
    for root in blocks:
        if root in index:
            continue
        work = [(root, iter(following[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            block, rest = work[-1]
            for successor in rest:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    work.append((successor, iter(following[successor])))
                    break
                if successor not in component:
                    low[block] = min(low[block], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[block])
                if low[block] == index[block]:
                    while True:
                        member = stack.pop()
                        component[member] = block
                        if member == block:
                            break
    return component
