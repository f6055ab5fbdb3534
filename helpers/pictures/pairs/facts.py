"""How pairs of smallest elements move, as recorded: from the lanes of a warp to lane 0, from the warps of a block to
thread 0, from the blocks to the last one; and which of these moves carry the two that win.

What each thread begins with is known from C. Who takes from whom is recorded: shuffles in the machine code, shared and
global memory in the addresses that were stored to and loaded from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim import Recording
from gpusim.devices import WARP, WORD_BYTES
from helpers.pictures import CannotTell
from helpers.pictures.exchange.facts import Exchange, shuffles
from helpers.pictures.threads import BlockAccess, accesses_by_block, block_accesses

Pair = tuple[tuple[float, int], ...]  # at most two (value, place), in ascending order
FIRST, SECOND = 1, 2  # flags: holds, or carries, the smallest or the second smallest of all
DONE = -1  # in place of flags: has given its pair away, and does nothing more
NOTHING: Pair = ()


def two_of(*pairs: Pair) -> Pair:
    """The two smallest of several pairs: of equal values the smaller place first. An element counts once."""
    return tuple(sorted({element for pair in pairs for element in pair})[:2])


@dataclass(frozen=True)
class Row:
    """Those who hold pairs between two moves. names: a word for each.  holds: flags for each, or DONE."""

    what: str
    names: tuple[str, ...]
    holds: tuple[int, ...]


@dataclass(frozen=True)
class Move:
    """From the row above to the row below. links: (giver, taker, flags of what arrives and stays)."""

    name: str
    links: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Level:
    """A warp, a block or the grid: a row, and after each move another one."""

    title: str
    rows: tuple[Row, ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Journey:
    """All levels. winners: the two smallest of all that take part."""

    levels: tuple[Level, ...]
    winners: Pair


@dataclass
class _Track:
    """Pairs of some holders, and their rows and moves so far."""

    what: str
    names: tuple[str, ...]
    pairs: list[Pair]
    winners: Pair
    rows: list[Row] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._note()

    def _flags(self, pair: Pair) -> int:
        return sum(flag for flag, winner in zip((FIRST, SECOND), self.winners, strict=False) if winner in pair)

    def _note(self) -> None:
        holds = tuple(DONE if n in self.done else self._flags(pair) for n, pair in enumerate(self.pairs))
        self.rows.append(Row(self.what, self.names, holds))

    def exchange(self, name: str, links: Iterable[tuple[int, int]]) -> None:
        """Every taker takes the pair of its giver, all at the same time."""
        links, before = tuple(links), list(self.pairs)
        for giver, taker in links:
            self.pairs[taker] = two_of(self.pairs[taker], before[giver])
        self.moves.append(Move(name, tuple((g, t, self._flags(before[g])) for g, t in links)))
        self.done |= {giver for giver, _ in links} - {taker for _, taker in links}
        self._note()

    def hand_over(self, name: str, links: Iterable[tuple[int, int]], what: str, names: tuple[str, ...]) -> None:
        """Takers, who are others, hold nothing but what they are given."""
        links, before = tuple(links), self.pairs
        self.pairs, self.what, self.names = [NOTHING] * len(names), what, names
        for giver, taker in links:
            self.pairs[taker] = two_of(self.pairs[taker], before[giver])
        self.moves.append(Move(name, tuple((g, t, self._flags(before[g])) for g, t in links)))
        self._note()

    def level(self, title: str) -> Level:
        return Level(title, tuple(self.rows), tuple(self.moves))


def _needed(exchange: Exchange, steps: slice) -> list[tuple[str, list[tuple[int, int]]]]:
    """The links of some shuffles that lead to lane 0, with their names."""
    part = Exchange(exchange.steps[steps], exchange.threads, (0,))
    return [(step.name, sorted(links)) for step, links in zip(part.steps, part.needed(), strict=True) if links]


def _first_tree(exchange: Exchange) -> int:
    """How many of the first steps bring all lanes to lane 0."""
    for count in range(1, len(exchange.steps) + 1):
        reached = {0}
        for _, links in reversed(_needed(exchange, slice(0, count))):
            reached |= {giver for giver, taker in links if taker in reached}
        if len(reached) == WARP:
            return count
    raise CannotTell("The shuffles do not bring the pairs of all 32 lanes to lane 0, so they make no tree to draw.")


def of_warp(recording: Recording, threads: Sequence[Pair], winners: Pair, title: str) -> Level:
    """A warp whose lanes hold `threads`: the first shuffles of the kernel, as many as bring all lanes to lane 0."""
    exchange = shuffles(recording)
    track = _Track("lane", tuple(map(str, range(WARP))), list(threads), winners)
    for name, links in _needed(exchange, slice(0, _first_tree(exchange))):
        track.exchange(name, links)
    return track.level(title)


def of_block(recording: Recording, warps: Sequence[Pair], winners: Pair, title: str) -> Level:
    """The warps of a block: who takes from shared memory what lane 0 of each warp has stored, then the shuffles."""
    links = _through_shared(recording)
    track = _Track("warp", tuple(map(str, range(len(warps)))), list(warps), winners)
    if not links:
        raise CannotTell("No thread takes from shared memory a pair that one lane of each warp has stored.")
    takers = sorted({taker for _, taker in links})
    track.hand_over("shared memory", [(giver // WARP, takers.index(taker)) for giver, taker in links],
                    "thread", tuple(map(str, takers)))  # fmt: skip
    exchange = shuffles(recording)
    begin = _first_tree(exchange)
    for name, some in _needed(exchange, slice(begin, 2 * begin)):
        inside = [(takers.index(g), takers.index(t)) for g, t in some if g in takers and t in takers]
        if inside:
            track.exchange(name, inside)
    return track.level(title)


def _through_shared(recording: Recording) -> list[tuple[int, int]]:
    """(storing, loading thread) of words that few threads have stored: a pair of each warp, not a tile."""
    owner: dict[int, int] = {}
    links: dict[tuple[int, int], None] = {}
    for access in block_accesses(recording, space="shared"):
        active = np.flatnonzero(access.active).tolist()
        if access.width < WORD_BYTES:  # a bool for all
            continue
        words = [
            int(access.offset[thread]) // WORD_BYTES + w for thread in active for w in range(access.width // WORD_BYTES)
        ]
        threads = [thread for thread in active for _ in range(access.width // WORD_BYTES)]
        few = len({thread // WARP for thread in active}) == len(active)
        for word, thread in zip(words, threads, strict=True):
            if access.op != "ld":
                owner.pop(word, None)
                if few:
                    owner[word] = thread
            elif word in owner:
                links[owner[word], thread] = None
    return list(links)


def of_grid(recording: Recording, parts: str, blocks: Sequence[Pair], pair_bytes: int, title: str) -> Level:
    """The blocks: who takes, in the last block, what which block has stored in `parts`, then the way to thread 0."""
    grid = recording.launches[-1].facts.grid
    by_block = accesses_by_block(recording, space="global", array=parts)
    number = {block: block[0] + grid[0] * block[1] for block in by_block}
    stored: dict[int, int] = {}
    loaded: list[tuple[int, int]] = []
    for block, accesses in by_block.items():
        for access in accesses:
            for thread, slot in _places(access, pair_bytes):
                if access.op == "ld":
                    loaded.append((slot, thread))
                else:
                    stored[slot] = number[block]
    links = sorted({(stored[slot], thread) for slot, thread in loaded if slot in stored})
    if not links:
        raise CannotTell(f"No block takes from {parts} what another block has stored there.")
    takers = sorted({thread for _, thread in links})
    track = _Track("block", tuple(map(str, range(len(blocks)))), list(blocks), two_of(*blocks))
    track.hand_over("global memory", [(giver, takers.index(thread)) for giver, thread in links],
                    "thread", tuple(map(str, takers)))  # fmt: skip
    exchange = shuffles(recording)
    if max(takers) < WARP:
        for name, some in _needed(exchange, slice(0, _first_tree(exchange))):
            inside = [(takers.index(g), takers.index(t)) for g, t in some if g in takers and t in takers]
            if inside:
                track.exchange(name, inside)
    return track.level(title)


def _places(access: BlockAccess, pair_bytes: int) -> set[tuple[int, int]]:
    """(thread, number of the pair) of an access."""
    return {(int(t), int(access.offset[t]) // pair_bytes) for t in np.flatnonzero(access.active)}


def pairs_by_group(C: np.ndarray, group: np.ndarray) -> Mapping[int, Pair]:
    """The pair of every group of C's elements that has a number."""
    pairs_of: dict[int, list[tuple[float, int]]] = {}
    numbers = np.flatnonzero(~np.isnan(C.ravel()))
    for element in numbers[np.argsort(C.ravel()[numbers], kind="stable")].tolist():
        pair = pairs_of.setdefault(int(group.ravel()[element]), [])
        if len(pair) < 2:
            pair.append((float(C.ravel()[element]), element))
    return {number: tuple(pair) for number, pair in pairs_of.items()}
