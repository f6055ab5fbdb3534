"""The addresses of one instruction, kept for a block that is traced."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, slots=True)
class Trace:
    """One instruction's accesses by one traced block.

    `step` numbers the accesses of a launch; `addresses` (threads,) are bytes in `space`, of which `array` begins at
    `base`; `width` bytes per thread; `active` (threads,) are those that take part, None if all do.
    """

    step: int
    block: tuple[int, int, int]
    instruction: int
    space: str
    op: str
    array: str
    base: int
    width: int
    addresses: np.ndarray
    active: np.ndarray | None


class Traces(Sequence[Trace]):
    """The accesses of a launch, in the order of their steps: each becomes a `Trace` when it is looked at.

    `find` is called when the first one is: by access what a `Trace` says between its step and its addresses; and
    addresses and active threads, (accesses, threads).
    """

    def __init__(self, find: Callable[[], tuple[list[tuple], np.ndarray, np.ndarray]]) -> None:
        self._find = find

    @cached_property
    def _content(self) -> tuple[list[tuple], np.ndarray, np.ndarray, list[bool]]:
        kinds, addresses, active = self._find()
        return kinds, addresses, active, active.all(axis=1).tolist()

    def __len__(self) -> int:
        return len(self._content[0])

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self._trace(each) for each in range(*index.indices(len(self)))]
        return self._trace(range(len(self))[index])

    def __iter__(self) -> Iterator[Trace]:
        return map(self._trace, range(len(self)))

    def _trace(self, index: int) -> Trace:
        kinds, addresses, active, whole = self._content
        return Trace(index + 1, *kinds[index], addresses[index], None if whole[index] else active[index])
