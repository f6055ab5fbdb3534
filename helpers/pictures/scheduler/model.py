"""How many warps does a scheduler need so that it never waits? A model that a learner can follow cycle by cycle.

An SM has four schedulers, and each issues at most one instruction of one warp in a clock cycle. An instruction that
needs the result of an earlier one must wait until that is there: its latency. Meanwhile the scheduler may issue from
another warp, or another instruction of the same warp that does not need the result. That helps until the unit that
executes the instructions is full: it takes one instruction of the scheduler in so many cycles, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_WARP = -1


@dataclass(frozen=True)
class Latency:
    """Cycles from issuing an instruction to the first one that can use its result."""

    what: str
    cycles: int


# Arithmetic: CUDA C++ Programming Guide, "Multiprocessor Level" (4 cycles since compute capability 7.0). Memory: as
# measured on an H200 with nothing else under way (recordings/nvidia-h200/memories.json; a test compares them). They
# vary from GPU to GPU, and grow with the queue in front of the memory.
FMA = Latency("a multiply-add", 4)
SHARED = Latency("a load from shared memory", 23)
GLOBAL = Latency("a load from main memory", 690)


@dataclass(frozen=True)
class Timeline:
    """What one scheduler issues. issued: for each cycle the number of the warp that issues, or NO_WARP.

    every: cycles for which an instruction of the scheduler takes the unit that executes it.
    """

    warps: int
    independent: int
    latency: int
    issued: tuple[int, ...]
    every: int = 1

    @property
    def busy(self) -> int:
        """Cycles in which an instruction is issued."""
        return sum(warp != NO_WARP for warp in self.issued)

    def waits(self, warp: int) -> tuple[bool, ...]:
        """For each cycle, whether the warp waits for a result: it has work, but cannot issue any of it."""
        issues = [cycle for cycle, issuer in enumerate(self.issued) if issuer == warp]
        return tuple(
            _ready_at(issues[: sum(start < cycle for start in issues)], self.independent, self.latency) > cycle
            for cycle in range(len(self.issued))
        )


def timeline(warps: int, independent: int, latency: int, cycles: int, every: int = 1) -> Timeline:
    """The first cycles of a scheduler whose warps all run the same endless loop.

    independent: instructions of a warp that do not need each other's results; the next one needs the result of the one
    that many before it. Among the warps that are ready, the one that has waited longest issues.
    every: cycles for which the unit is taken by an instruction; while it is, none is issued.
    """
    _check(warps, independent, latency, every)
    issues: list[list[int]] = [[] for _ in range(warps)]
    issued: list[int] = []
    for cycle in range(cycles):
        taken = any(issuer != NO_WARP for issuer in issued[max(cycle - every + 1, 0) : cycle])
        ready = [warp for warp in range(warps) if not taken and _ready_at(issues[warp], independent, latency) <= cycle]
        chosen = min(ready, key=lambda warp: issues[warp][-1] if issues[warp] else NO_WARP, default=NO_WARP)
        if chosen != NO_WARP:
            issues[chosen].append(cycle)
        issued.append(chosen)
    return Timeline(warps, independent, latency, tuple(issued), every)


def warps_to_hide(latency: int, independent: int = 1, every: int = 1) -> int:
    """The fewest warps that keep the unit busy: latency / (independent · every), rounded up (Little's law)."""
    _check(1, independent, latency, every)
    return -(-latency // (independent * every))


def issue_rate(warps: int, independent: int, latency: int, every: int = 1) -> float:
    """Instructions per cycle in the long run: each warp has `independent` of them under way, for `latency` cycles, and
    the unit takes one of them in `every` cycles."""
    _check(warps, independent, latency, every)
    return min(1 / every, warps * independent / latency)


def _ready_at(issues: list[int], independent: int, latency: int) -> int:
    """The cycle from which on a warp that issued in these cycles may issue again."""
    return issues[-independent] + latency if len(issues) >= independent else 0


def _check(warps: int, independent: int, latency: int, every: int = 1) -> None:
    for name, value in (("warps", warps), ("independent", independent), ("latency", latency), ("every", every)):
        if value < 1:
            raise ValueError(f"{name} is {value}, expected at least 1.")
