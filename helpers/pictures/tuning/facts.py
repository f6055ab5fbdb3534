"""The configurations of a kernel: which are legal, what is predicted for them, and what a search recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal

import numpy as np

from gemm_kernels import get
from gemm_kernels.rules import broken
from gpusim import devices
from helpers import recordings
from helpers.pictures.tuning.model import Prediction, predict
from helpers.pictures.tuning.search_space import suits
from helpers.recordings.measurement import recorded_on
from helpers.recordings.suites import SEARCH

Measure = Literal["gflops", "speed", "occupancy", "intensity", "floats_a_fma"]
# name, unit, whether less is better, whether it is a prediction
MEASURES: Mapping[str, tuple[str, str, bool, bool]] = {
    "gflops": ("speed", "GFLOPS", False, False),
    "speed": ("speed", "GFLOPS", False, True),
    "occupancy": ("occupancy", "% of an SM's warps", False, True),
    "intensity": ("intensity", "FLOP per byte from global memory", False, True),
    "floats_a_fma": ("shared loads", "floats per FMA", True, True),
}

KERNEL = "autotuned"
FIRST_GUESS = "warptiled"  # whose parameters were chosen by hand
DEFAULT_SIZE = 4096
# The recording with what `helpers.cycles` says of the space, and M = N = K that it says it for
PREDICTED, PREDICTED_SIZE = "predicted", 2048
SPACE = {
    "BM": (32, 64, 128, 256),
    "BN": (32, 64, 128, 256),
    "BK": (8, 16, 32),
    "WM": (16, 32, 64, 128),
    "WN": (16, 32, 64, 128),
    "TM": (4, 8, 16),
    "TN": (4, 8, 16),
}


@dataclass(frozen=True)
class Configuration:
    """One choice of all parameters.

    broken: the rule that it breaks, "" if it is legal.  predicted: for the legal ones, by hand.  gflops: measured, or
    None.  speed: GFLOPS at PREDICTED_SIZE that `helpers.cycles` predicted, or None.
    """

    params: Mapping[str, int] = field(hash=False)
    broken: str = ""
    predicted: Prediction | None = None
    gflops: float | None = None
    speed: float | None = None

    def value(self, measure: Measure) -> float | None:
        """The number to draw: GFLOPS, occupancy in percent, FLOP per byte, floats per FMA; None if there is none."""
        if self.broken or self.predicted is None:
            return None
        if measure in ("gflops", "speed"):
            return getattr(self, measure)
        number = float(getattr(self.predicted, measure))
        return 100 * number if measure == "occupancy" else number


@dataclass(frozen=True, eq=False)
class Landscape:
    """Configurations of one kernel on one GPU. first: the parameters that the search begins with.

    source: where GFLOPS come from, "" if nothing was measured: a search launches on an idle GPU, so that its times
    contain what a launch costs, unlike those of kernels that take turns.  size: M = N = K at which they were measured,
    else 0.
    """

    kernel: str
    device: str
    configurations: tuple[Configuration, ...]
    first: Mapping[str, int]
    source: str = ""
    size: int = 0

    @cached_property
    def legal(self) -> tuple[Configuration, ...]:
        return tuple(configuration for configuration in self.configurations if not configuration.broken)

    def measured(self, pruned: bool = False) -> tuple[Configuration, ...]:
        """Those that were measured; pruned: only those that `suits` keeps at this size today."""
        measured, sms = (
            (configuration for configuration in self.legal if configuration.gflops),
            devices.get(self.device).sms,
        )
        return tuple(
            configuration
            for configuration in measured
            if not pruned or suits(configuration.params, (self.size,) * 3, sms)
        )

    def best(self, measure: Measure) -> Configuration | None:
        """The configuration with the best value, or None if none has one."""
        candidates = [configuration for configuration in self.legal if configuration.value(measure) is not None]
        sign = -1 if MEASURES[measure][2] else 1
        return max(candidates, key=lambda configuration: sign * (configuration.value(measure) or 0.0), default=None)

    def values(self, name: str) -> list[int]:
        """The values of a parameter, ascending."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, list[int]]:
        names = self.configurations[0].params if self.configurations else ()
        return {name: sorted({configuration.params[name] for configuration in self.configurations}) for name in names}

    @property
    def free(self) -> tuple[str, ...]:
        """The parameters that have more than one value."""
        names = self.configurations[0].params if self.configurations else ()
        return tuple(name for name in names if len(self.values(name)) > 1)

    def allowed(self, across: str, down: str) -> np.ndarray:
        """(values of `down`, values of `across`): whether any legal configuration has both."""
        xs, ys = self.values(across), self.values(down)
        allowed = np.zeros((len(ys), len(xs)), bool)
        for configuration in self.legal:
            allowed[ys.index(configuration.params[down]), xs.index(configuration.params[across])] = True
        return allowed

    def grid(self, across: str, down: str, measure: Measure) -> np.ndarray:
        """(values of `down`, values of `across`): the best of each cell; NaN where no configuration has a value."""
        xs, ys = self.values(across), self.values(down)
        sign = -1 if MEASURES[measure][2] else 1
        best = np.full((len(ys), len(xs)), np.nan)
        for configuration in self.legal:
            value = configuration.value(measure)
            if value is None:
                continue
            where = ys.index(configuration.params[down]), xs.index(configuration.params[across])
            if np.isnan(best[where]) or sign * value > sign * best[where]:
                best[where] = value
        return best


def fixed() -> dict[str, int]:
    """The kernel's other parameters, which keep their values while the space is drawn."""
    return {name: value for name, value in get(KERNEL).params.items() if name not in SPACE}


@lru_cache(maxsize=1)
def space() -> tuple[Configuration, ...]:
    """Every configuration of SPACE, legal or with the rule that it breaks."""
    rules, others, configurations = get(KERNEL).rules, fixed(), []
    for values in product(*SPACE.values()):
        params = {**dict(zip(SPACE, values, strict=True)), **others}
        rule = broken(rules, params)
        configurations.append(Configuration(params, rule.sentence if rule else ""))
    return tuple(configurations)


@lru_cache(maxsize=8)
def landscape_of(device: devices.Device, size: int | None = None) -> Landscape:
    """The space with what is predicted for a GPU; with a size, also what a search recorded on it at M = N = K = size.

    A search varies parameters that `space()` leaves alone, so that its configurations come on top of the space's.
    """
    kernel = get(KERNEL)
    measured = _searched(device.name, size) if size else {}
    speeds = predicted_speeds(device.name)
    by_params = {tuple(configuration.params.values()): configuration for configuration in space()}
    names = (*SPACE, *fixed())
    for params in measured:  # the search may have looked outside of SPACE
        by_params.setdefault(params, Configuration(dict(zip(names, params, strict=True))))
    configurations = []
    for key, configuration in by_params.items():
        if not configuration.broken:
            prediction = predict(device, kernel.replace(**configuration.params))
            configuration = Configuration(configuration.params, "", prediction, measured.get(key), speeds.get(key))
        configurations.append(configuration)
    source = f"{recorded_on(device.name)} by the search, cost of a launch included" if measured else ""
    first = {name: value for name, value in get(FIRST_GUESS).params.items() if name in SPACE}
    return Landscape(
        KERNEL, device.name, tuple(configurations), {**fixed(), **first}, source, size if measured and size else 0
    )


@lru_cache(maxsize=8)
def predicted_speeds(gpu: str) -> Mapping[tuple[int, ...], float]:
    """GFLOPS at PREDICTED_SIZE by parameters, in the order of SPACE and `fixed()`, as `helpers.cycles` predicted them
    for a GPU; empty if it has no constants for it. `python -m helpers.tools.speeds` writes them."""
    try:
        rows = recordings.raw(gpu, PREDICTED)["rows"]
    except recordings.NoRecording:
        return {}
    return {tuple(params): gflops for *params, gflops in rows}


def _searched(gpu: str, size: int) -> dict[tuple[int, ...], float]:
    """GFLOPS of a recorded search by parameters, in the order of SPACE and `fixed()`; empty if there is none."""
    try:
        rows = recordings.load(gpu, SEARCH)
    except recordings.NoRecording:
        return {}
    names = (*SPACE, *fixed())
    return {
        tuple(row.params[name] for name in names): row.gflops for row in rows if (size,) * 3 == (row.M, row.N, row.K)
    }


@lru_cache(maxsize=16)
def sizes(gpu: str) -> tuple[int, ...]:
    """The sizes of the searches that were recorded on a GPU, ascending."""
    try:
        return tuple(sorted({row.M for row in recordings.load(gpu, SEARCH) if row.M == row.N == row.K}))
    except recordings.NoRecording:
        return ()


def most_searched(gpu: str) -> int:
    """The size of which most configurations are kept in a GPU's recorded search; DEFAULT_SIZE if there is none."""
    return max(sizes(gpu), key=lambda size: len(_searched(gpu, size)), default=DEFAULT_SIZE)
