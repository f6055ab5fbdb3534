"""Between which times a launch may lie, from the errors that the model made for others.

The course's own kernels were in view when the model was built and fitted, at other sizes too. So the errors for them
say nothing about a kernel that the model has not seen; those for the half of the workloads that was held back do. A
range is as wide as 8 of 10 of them need. Whether that holds is tried with each kernel in turn: the range that others
give is compared with its launches, and how many of all lie inside is told with the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.timing.series import CALIBRATION, HELD_BACK, LEARNT, VALIDATION

SHARE = 0.8  # of the launches that a range shall hold
FEWEST = 6  # kernels with such a limiter that a range is made from; below, all limiters count
ANY = 1.4  # the factor where nothing was compared


@dataclass(frozen=True)
class Compared:
    """A launch that was measured and predicted.  kind: of the limiter.  factor: measured time over predicted."""

    kernel: str
    kind: str
    seen: bool
    factor: float

    @property
    def error(self) -> float:
        """How wide a range must be to hold it."""
        return abs(math.log(self.factor))


@dataclass(frozen=True)
class Range:
    """A measured time is probably between `1 / factor` and `factor` times the predicted one.

    launches: that this comes from.  inside: how many of them a range held that their own kernel had no part in.
    seen: whether they are of kernels that the model was built on.  alike: whether all had the same kind of limiter.
    """

    factor: float
    inside: int
    launches: int
    seen: bool
    alike: bool

    @property
    def reason(self) -> str:
        """How often such ranges were right, a sentence."""
        if not self.launches:
            return "No launch on this GPU was compared with its prediction."
        of = "the course's own kernels" if self.seen else "other kernels"
        alike = " with the same kind of limit" if self.alike else ""
        return (
            f"Of {self.launches} timed launches of {of}{alike}, {self.inside} fell within the range that was predicted "
            "for them in the same way."
        )


def compared(launches: Iterable[Sequence[Any]]) -> tuple[Compared, ...]:
    """The launches that `errors.record` keeps: rows of (set, name, measured ms, predicted ms, kind of limiter).

    Those that constants were fitted to, and are of no kernel of the course, say nothing about either.
    """
    return tuple(
        Compared(name.split(" ")[0], kind, which not in (HELD_BACK, VALIDATION), measured / predicted)
        for which, name, measured, predicted, kind in launches
        if which not in (CALIBRATION, LEARNT)
    )


def range_for(launches: Iterable[Compared], kind: str, seen: bool) -> Range:
    """For a launch with that kind of limiter, of a kernel of the course (seen) or of any other."""
    rows = [launch for launch in launches if launch.seen == seen]
    same = [row for row in rows if row.kind == kind]
    alike = _kernels(same) >= FEWEST
    chosen = same if alike else rows
    if not chosen:
        return Range(ANY, 0, 0, seen, alike)
    inside = sum(
        launch.error <= _error([other for other in chosen if other.kernel != launch.kernel]) for launch in chosen
    )
    return Range(math.exp(_error(chosen)), inside, len(chosen), seen, alike)


def _kernels(launches: Iterable[Compared]) -> int:
    return len({launch.kernel for launch in launches})


def _error(launches: Sequence[Compared]) -> float:
    """What a further launch of their kind stays below with a probability of SHARE: of n, the errors leave n + 1 gaps
    that are equally likely (conformal prediction)."""
    errors = sorted(launch.error for launch in launches)
    return errors[min(len(errors), math.ceil((len(errors) + 1) * SHARE)) - 1] if errors else math.inf
