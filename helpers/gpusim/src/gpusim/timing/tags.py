"""Which bank of L1 holds the tag of a line: found from how long loads take whose lanes are so many floats apart.

L1 looks up a line in each of four banks in a cycle. Two bits name the bank of a line, and each is the parity of some
bits of the line's number. `banks` looks for those bits; the pitches that `helpers.tools.measuring.calibrate` measures
tell them, because each of them brings other lines together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from gpusim.devices import WARP

OFFSETS = 16  # lines that the microbenchmark moves on by, so that L1 has what it asks for
BANKS = 4
FLOATS = 32  # of a line, and banks of its data
LOOP = 2.3  # cycles below which the microbenchmark's own loop is slower than L1
FARTHEST = 3.0  # cycles: a row that is further off says no more about how wrong a guess is
STARTS = 8


def cycles(pitches: Sequence[int], bits: Sequence[int]) -> np.ndarray:
    """What a load takes L1 whose lanes are so many floats apart, for each pitch, on average over the offsets.

    bits: for each bit of a line's number what it changes in the number of the bank, 0 to 3.
    """
    lines = np.arange(WARP) * np.array(pitches)[:, None, None] // FLOATS + np.arange(OFFSETS)[:, None]
    return np.maximum(lookups(lines, bits), np.gcd(pitches, FLOATS)[:, None]).mean(axis=1)


def lookups(lines: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """In how many cycles the tags of lines, ascending along the last axis, are looked up: those in the fullest bank."""
    bank = np.zeros_like(lines)
    for bit, change in enumerate(bits):
        bank ^= (lines >> bit & 1) * int(change)
    another = np.diff(lines, axis=-1, prepend=-1) > 0  # lanes that name the line of the lane before are served with it
    return np.max([(another & (bank == index)).sum(axis=-1) for index in range(BANKS)], axis=0)


def banks(measured: Mapping[int, float]) -> tuple[int, int]:
    """The bits of a line's number, as two numbers, whose parities make the number of its bank.

    measured: cycles of a load, by the floats between its lanes. The bits beyond the farthest line are left out.
    """
    telling = {floats: cost for floats, cost in measured.items() if cost > LOOP and np.gcd(floats, FLOATS) < OFFSETS}
    pitches, wanted = list(telling), np.array(list(telling.values()))
    width = int(max(pitches) * (WARP - 1) // FLOATS + OFFSETS).bit_length()

    def cost(bits: np.ndarray) -> float:
        return float(np.minimum(np.abs(cycles(pitches, bits) - wanted), FARTHEST).sum())

    draw = np.random.default_rng(1)
    improved = [_improved(draw.integers(0, BANKS, width), cost) for _ in range(STARTS)]
    best = min(improved, key=cost)
    return tuple(sum(int(change >> which & 1) << bit for bit, change in enumerate(best)) for which in (0, 1))


def changes(masks: Sequence[int]) -> list[int]:
    """What `cycles` takes, from what `banks` finds."""
    width = max(mask.bit_length() for mask in masks)
    return [sum((mask >> bit & 1) << which for which, mask in enumerate(masks)) for bit in range(width)]


def _improved(bits: np.ndarray, cost) -> np.ndarray:
    """Change one bit's part, or two at once, as long as that helps."""
    least = cost(bits)
    while True:
        for other in _neighbours(bits):
            if (now := cost(other)) < least - 1e-9:
                bits, least = other, now
                break
        else:
            return bits


def _neighbours(bits: np.ndarray) -> Iterator[np.ndarray]:
    for places in (*combinations(range(len(bits)), 1), *combinations(range(len(bits)), 2)):
        for values in product(range(1, BANKS), repeat=len(places)):
            other = bits.copy()
            other[list(places)] ^= values
            yield other
