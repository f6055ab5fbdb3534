"""What each warp of one scheduler does in every clock cycle: it issues, waits for something, or is ready in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

FMA, OTHER, READY, AWAY = "fma", "other", "not_selected", ""  # besides the stall reasons; AWAY: not there (any more)


@dataclass(frozen=True)
class WarpStates:
    """rows: for each warp its state in each cycle, FMA, OTHER, READY, AWAY or a stall reason.  names: of the rows."""

    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]

    @property
    def cycles(self) -> int:
        return len(self.rows[0])

    @property
    def issued(self) -> tuple[str, ...]:
        """What the scheduler issues in each cycle: FMA, OTHER, or AWAY for nothing."""
        return tuple(
            next((state for state in column if state in (FMA, OTHER)), AWAY) for column in zip(*self.rows, strict=True)
        )

    @property
    def waits(self) -> Mapping[str, int]:
        """Cycles that warps wait, all of them together, by reason."""
        counts = Counter(state for row in self.rows for state in row)
        return {state: number for state, number in counts.items() if state not in (FMA, OTHER, READY, AWAY)}

    @property
    def idle(self) -> int:
        """Cycles in which nothing is issued."""
        return self.issued.count(AWAY)

    @property
    def waits_while_idle(self) -> Mapping[str, int]:
        """The same as `waits` in those cycles alone: what a sampler sees while nothing is issued."""
        counts = Counter(
            state
            for column, issued in zip(zip(*self.rows, strict=True), self.issued, strict=True)
            for state in column
            if issued == AWAY and state != AWAY
        )
        return dict(counts)


def states_of(letters: Mapping[str, str], rows: tuple[str, ...]) -> WarpStates:
    """An example: each row a text with one letter per cycle, and what the letters mean."""
    return WarpStates(
        tuple(tuple(letters[state] for state in row) for row in rows), tuple(f"warp {n}" for n in range(len(rows)))
    )
