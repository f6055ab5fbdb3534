"""What each warp of one scheduler does in every clock cycle: it issues, waits for something, or is ready in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpusim.devices import SCHEDULERS
from helpers.cycles import STALLS, Prediction

FMA, OTHER, READY, AWAY = "fma", "other", "not_selected", ""  # besides the stall reasons; AWAY: not there (any more)
QUEUES = {"LDS": "mio_throttle", "STS": "mio_throttle", "LDG": "lg_throttle", "STG": "lg_throttle"}


@dataclass(frozen=True)
class WarpStates:
    """rows: for each warp its state in each cycle, FMA, OTHER, READY, AWAY or a stall reason.  first: number of the
    first cycle.  names: of the rows.  label: where it comes from, "" for an example."""

    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    first: int = 1
    label: str = ""

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


def predicted_states(prediction: Prediction, first: int, cycles: int, scheduler: int = 0) -> WarpStates:
    """The warps of one scheduler of an SM, from cycle `first` of a predicted launch on.

    Where the scheduler issues nothing although the operands of a warp's next instruction are there, that instruction
    waits for its way in: to shared memory (MIO Throttle), to global memory (LG Throttle), or to the register file and
    the pipes behind it (Dispatch Stall).
    """
    program = prediction.trace.program.instructions
    rows: dict[int, list[str]] = {}
    queues: dict[int, list[str]] = {}  # by warp and cycle, what its next instruction would wait for
    free: dict[int, int] = {}  # by warp: the cycle after its last issue
    for event in prediction.timeline():
        warp, issued, ready = int(event["warp"]), int(event["issued"]), int(event["ready"])
        begin = free.get(warp, issued)
        if warp % SCHEDULERS != scheduler or begin > first + cycles:
            continue
        opcode = program[event["pc"]].opcode
        row = rows.setdefault(warp, [AWAY] * cycles)
        queue = queues.setdefault(warp, [AWAY] * cycles)
        for cycle in range(max(begin, first), min(issued, first + cycles)):
            row[cycle - first] = STALLS[event["reason"]] if cycle < ready else READY
            queue[cycle - first] = QUEUES.get(opcode.split(".")[0], "dispatch_stall")
        if first <= issued < first + cycles:
            row[issued - first] = FMA if opcode.startswith("FFMA") else OTHER
        free[warp] = issued + 1
    for cycle in range(cycles):
        if not any(row[cycle] in (FMA, OTHER) for row in rows.values()):
            for warp, row in rows.items():
                row[cycle] = queues[warp][cycle] if row[cycle] == READY else row[cycle]
    order = sorted(rows)
    return WarpStates(
        tuple(tuple(rows[warp]) for warp in order), tuple(f"warp {n}" for n in order), first, prediction.label
    )
