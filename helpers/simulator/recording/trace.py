"""The addresses of one instruction, kept for a block that is traced."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Trace:
    """One instruction's accesses by one traced block.

    `step` numbers the accesses of a launch; `addresses` (threads,) are bytes in `space`, of which `array` begins at
    `base`; `width` bytes per thread; `active` (threads,) tells who takes part, None if all do.
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

    `kinds` hold by access what a `Trace` says between its step and its addresses; `addresses` and `active` are
    (accesses, threads).
    """

    def __init__(self, kinds: list[tuple], addresses: np.ndarray, active: np.ndarray) -> None:
        self._kinds = kinds
        self._addresses = addresses
        self._active = active
        self._whole = active.all(axis=1).tolist()

    def __len__(self) -> int:
        return len(self._kinds)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self._trace(each) for each in range(*place.indices(len(self)))]
        return self._trace(range(len(self))[place])

    def __iter__(self) -> Iterator[Trace]:
        return map(self._trace, range(len(self)))

    def _trace(self, place: int) -> Trace:
        active = None if self._whole[place] else self._active[place]
        return Trace(place + 1, *self._kinds[place], self._addresses[place], active)
