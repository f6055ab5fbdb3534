"""From moving a control to the new picture: how long does each explorer take?

    python -m helpers.explore.bench

Every move is timed as the learner feels it without the browser: new value in, simulate if the launch is a new one,
draw, PNG out. Launches that are kept from earlier moves are forgotten first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from helpers.explore import coalescing, launches


@dataclass(frozen=True)
class Move:
    """One move: which control of which explorer, to which value, and the milliseconds until the picture was there."""

    explorer: str
    control: str
    value: object
    milliseconds: float


def coalescing_moves(positions: int | None = None) -> Iterator[Move]:
    """Every control of notebook 03's explorer over its range, or over its first so many positions.

    A new block, width or kernel makes a new launch; warp and k do not.
    """
    launches.forget()
    explorer = coalescing.explore(block=(32, 32))
    coalesced = explorer.kernel.options[1][1]
    values = {
        "warp": range(1, 32, 6),
        "k": range(1, 64, 10),
        "block_x": (16, 8, 4, 2, 1, 32),
        "block_y": (16, 8, 4, 2, 1, 32),
        "width": (64, 128, 512, 1000, 1023, 4096),
        "kernel": (coalesced,),
    }
    for name, range_of_control in values.items():
        control = getattr(explorer, name)
        for value in list(range_of_control)[:positions]:
            started = time.perf_counter()
            control.value = value
            yield Move("coalescing", name, value, 1e3 * (time.perf_counter() - started))


def main() -> None:
    """Print the median and the slowest move of each control, and of all."""
    moves = list(coalescing_moves())
    print(f"{'explorer':12} {'control':10} {'moves':>5} {'median ms':>10} {'slowest ms':>11}")
    for control in dict.fromkeys(move.control for move in moves):
        _line(control, [move for move in moves if move.control == control])
    _line("all", moves)


def _line(name: str, moves: list[Move]) -> None:
    times = [move.milliseconds for move in moves]
    print(f"{moves[0].explorer:12} {name:10} {len(times):5} {statistics.median(times):10.0f} {max(times):11.0f}")


if __name__ == "__main__":
    main()
