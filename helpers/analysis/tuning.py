"""The configurations of a kernel: which are legal, what is predicted for them, and what a search recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from helpers.models.tuning import Prediction


@dataclass(frozen=True)
class Configuration:
    """One choice of all parameters.

    broken: the rule that it breaks, "" if it is legal.  predicted: for the legal ones.  gflops: measured, or None.
    """

    params: Mapping[str, int] = field(hash=False)
    broken: str = ""
    predicted: Prediction | None = None
    gflops: float | None = None

    def value(self, measure: Measure) -> float | None:
        """The number to draw: GFLOPS, occupancy in percent, FLOP a byte, floats a FMA; None if there is none."""
        if self.broken or self.predicted is None:
            return None
        if measure == "gflops":
            return self.gflops
        found = float(getattr(self.predicted, measure))
        return 100 * found if measure == "occupancy" else found


@dataclass(frozen=True, eq=False)
class Landscape:
    """Configurations of one kernel on one GPU. first: the parameters that the search begins with.

    source: where GFLOPS come from, "" if nothing was measured.
    """

    kernel: str
    device: str
    configurations: tuple[Configuration, ...]
    first: Mapping[str, int]
    source: str = ""

    @cached_property
    def legal(self) -> tuple[Configuration, ...]:
        return tuple(one for one in self.configurations if not one.broken)

    def best(self, measure: Measure) -> Configuration | None:
        """The configuration with the best value, or None if none has one."""
        found = [one for one in self.legal if one.value(measure) is not None]
        sign = -1 if MEASURES[measure][2] else 1
        return max(found, key=lambda one: sign * (one.value(measure) or 0.0), default=None)

    def values(self, name: str) -> list[int]:
        """The values of a parameter, ascending."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, list[int]]:
        names = self.configurations[0].params if self.configurations else ()
        return {name: sorted({one.params[name] for one in self.configurations}) for name in names}

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters that have more than one value."""
        names = self.configurations[0].params if self.configurations else ()
        return tuple(name for name in names if len(self.values(name)) > 1)

    def allowed(self, across: str, down: str) -> np.ndarray:
        """(values of `down`, values of `across`): whether any legal configuration has both."""
        xs, ys = self.values(across), self.values(down)
        found = np.zeros((len(ys), len(xs)), bool)
        for one in self.legal:
            found[ys.index(one.params[down]), xs.index(one.params[across])] = True
        return found

    def grid(self, across: str, down: str, measure: Measure) -> np.ndarray:
        """(values of `down`, values of `across`): the best of each cell; NaN where no configuration has a value."""
        xs, ys = self.values(across), self.values(down)
        sign = -1 if MEASURES[measure][2] else 1
        best = np.full((len(ys), len(xs)), np.nan)
        for one in self.legal:
            value = one.value(measure)
            if value is None:
                continue
            where = ys.index(one.params[down]), xs.index(one.params[across])
            if np.isnan(best[where]) or sign * value > sign * best[where]:
                best[where] = value
        return best


Measure = Literal["gflops", "occupancy", "intensity", "floats_a_fma"]
# name, unit, whether less is better, whether it is a prediction
MEASURES: Mapping[str, tuple[str, str, bool, bool]] = {
    "gflops": ("speed", "GFLOPS", False, False),
    "occupancy": ("occupancy", "% of an SM's warps", False, True),
    "intensity": ("intensity", "FLOP a byte from global memory", False, True),
    "floats_a_fma": ("shared loads", "floats a FMA", True, True),
}
