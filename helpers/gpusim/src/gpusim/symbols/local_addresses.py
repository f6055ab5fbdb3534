"""Addresses in a thread's own memory at both levels, for arguments drawn at random: see `match_by_address`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.compiler import CompiledKernel
from gpusim.engine.ir import Program
from gpusim.isa.ptx.program import addresses_alone
from gpusim.symbols.local_accesses import Access
from gpusim.symbols.local_arrays import LocalArray
from gpusim.symbols.match_by_address import ADDRESS_BITS, ROWS, THREADS, Reach, Reaches, reached_by

ELSEWHERE = np.full((ROWS, THREADS), -1)  # no address in local memory
SAMPLES = 2  # of arguments: an index is often the same for all threads
Wanted = Mapping[int, Mapping[int, Access]]  # by the index of an access of machine code, the statements it may be of


@dataclass(frozen=True)
class LocalPlaces:
    """What accesses reach, by index: those of the machine code, and those of the PTX where both should be the same."""

    machine: Mapping[int, Reach]
    source: Mapping[int, Reach]
    wanted: Wanted

    def agree(self) -> bool:
        """Whether PTX's variable lies where it is expected to.

        Addresses of the machine code that differ among the samples may have a distance to some of the PTX that does
        not, several where these are of arrays with one index. The most frequent distance must be none.
        """
        distances: Counter[int] = Counter()
        for index, access in self.machine.items():
            known = (access.first == access.first[0]).all(axis=0)
            if known.any() and np.ptp(access.first[0, known]):
                for statement in self.wanted[index].keys() & self.source.keys():
                    distance = (access.first - self.source[statement].first)[:, known]
                    distances.update([int(distance[0, 0])] if not np.ptp(distance) else ())
        most = distances.most_common(2)
        return bool(most) and most[0][0] == 0 and (len(most) == 1 or most[0][1] > most[1][1])

    def arrays(self, undecided: Wanted) -> dict[int, LocalArray]:
        """By the index of an access of the machine code the array that it reaches, where that is found.

        For that, every statement that it may come from must have an address that is known.
        """
        of_lines = {
            id(ours): {statement: each.array for statement, each in ours.items()} for ours in undecided.values()
        }
        accesses = {
            index: of_lines[id(ours)]
            for index, ours in undecided.items()
            if index in self.machine
            and all(
                statement in self.source for statement, each in ours.items() if each.width <= self.machine[index].width
            )
        }
        arrays = reached_by(self.machine, self.source, accesses)
        return {index: array for index, array in arrays.items() if _may_be_in(array, self.machine[index])}


def _may_be_in(array: LocalArray, access: Reach) -> bool:
    """Whether an access reaches an array as far as it has only one address: that may be one of a later round."""
    first = access.first.flat[0]
    return bool((access.first != first).any()) or array.offset <= first < array.end


def sampled(kernel: CompiledKernel, program: Program, base: int, wanted: Wanted) -> LocalPlaces:
    """The places of accesses from the beginning of PTX's variable on, which is expected at `base` in machine code."""
    statements = {statement for ours in wanted.values() for statement in ours if statement >= 0}
    text = addresses_alone(kernel, statements)
    return LocalPlaces(_several(program, wanted, base), _several(text, statements, 0), wanted)


def _several(program: Program, accesses: Iterable[int], base: int) -> dict[int, Reach]:
    """The places of all samples, side by side. Of an access to what may be any memory some may lie elsewhere."""
    samples = [Reaches(program, accesses, "local", seed).places for seed in range(1, 1 + SAMPLES)]
    several = {}
    for index in set().union(*samples):
        places = [each.get(index) for each in samples]
        first, second = (
            np.concatenate(
                [ELSEWHERE if each is None else getattr(each, name) - base & ADDRESS_BITS for each in places], axis=1
            )
            for name in ("first", "second")
        )
        several[index] = Reach(first, second, next(each.width for each in places if each is not None))
    return several
