"""The explorer of notebook 11: two parameters → where the good configurations are, and what the rules forbid.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
Speeds come from a recorded search: rows of the suite "tuning" in a GPU's recordings. Until a GPU has one, everything
is predicted, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import ipywidgets

from gemm_kernels import get
from helpers import devices
from helpers.analysis.tuning import MEASURES, Configuration, Landscape, Measure
from helpers.draw import theme
from helpers.draw.tuning import FIGURE_HEIGHT, landscape_figure, landscapes_figure
from helpers.explore.controls import choice_list
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.measure import recordings
from helpers.measure.measurement import recorded_on
from helpers.models.tuning import predict

KERNEL = "autotuned"
FIRST_GUESS = "warptiled"  # whose parameters were chosen by hand
DEFAULT_SIZE = 4096
SUITE = "tuning"
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
class Choice:
    """One position of the explorer's controls. across, down: parameters.  measure: one of MEASURES.

    size: M = N = K of the recorded search.
    """

    device: devices.Device
    across: str = "BM"
    down: str = "BN"
    measure: Measure = "occupancy"
    size: int = DEFAULT_SIZE


def fixed() -> dict[str, int]:
    """The kernel's other parameters, which keep their values while the space is drawn."""
    return {name: value for name, value in get(KERNEL).params.items() if name not in SPACE}


@lru_cache(maxsize=1)
def space() -> tuple[Configuration, ...]:
    """Every configuration of SPACE, legal or with the rule that it breaks."""
    kernel, others, found = get(KERNEL), fixed(), []
    for values in product(*SPACE.values()):
        params = {**dict(zip(SPACE, values, strict=True)), **others}
        broken = next((rule.sentence for rule in kernel.rules if not rule.holds(params)), "")
        found.append(Configuration(params, broken))
    return tuple(found)


@lru_cache(maxsize=8)
def landscape(device: devices.Device, size: int | None = None) -> Landscape:
    """The space with what is predicted for a GPU; with a size, also what a search recorded on it at M = N = K = size.

    A search varies parameters that `space()` leaves alone, so that its configurations come on top of the space's.
    """
    kernel = get(KERNEL)
    measured = _searched(device.name, size) if size else {}
    found = {tuple(one.params.values()): one for one in space()}
    names = (*SPACE, *fixed())
    for params in measured:  # the search may have looked outside of SPACE
        found.setdefault(params, Configuration(dict(zip(names, params, strict=True))))
    configurations = []
    for key, one in found.items():
        if not one.broken:
            prediction = predict(device, kernel.replace(**one.params))
            one = Configuration(one.params, "", prediction, measured.get(key))
        configurations.append(one)
    source = recorded_on(device.name) if measured else ""
    first = {name: value for name, value in get(FIRST_GUESS).params.items() if name in SPACE}
    return Landscape(KERNEL, device.name, tuple(configurations), {**fixed(), **first}, source)


def _searched(gpu: str, size: int) -> dict[tuple[int, ...], float]:
    """GFLOPS of a recorded search by parameters, in the order of SPACE and `fixed()`; empty if there is none."""
    try:
        rows = recordings.load(gpu, SUITE)
    except recordings.NoRecording:
        return {}
    names = (*SPACE, *fixed())
    return {
        tuple(row.params[name] for name in names): row.gflops for row in rows if (size,) * 3 == (row.M, row.N, row.K)
    }


def pairs(gpu: str, size: int, name: str, old: int, new: int) -> list[tuple[dict[str, int], float, float]]:
    """(the other parameters, GFLOPS with the old value of one, GFLOPS with the new one), for every configuration that
    a recorded search at M = N = K = size measured with both."""
    found: dict[tuple[tuple[str, int], ...], dict[int, float]] = {}
    for params, gflops in _searched(gpu, size).items():
        named = dict(zip((*SPACE, *fixed()), params, strict=True))
        value = named.pop(name)
        found.setdefault(tuple(named.items()), {})[value] = gflops
    return [(dict(others), both[old], both[new]) for others, both in found.items() if {old, new} <= both.keys()]


@lru_cache(maxsize=16)
def sizes(gpu: str) -> tuple[int, ...]:
    """The sizes of the searches that were recorded on a GPU, ascending."""
    try:
        return tuple(sorted({row.M for row in recordings.load(gpu, SUITE) if row.M == row.N == row.K}))
    except recordings.NoRecording:
        return ()


def most_searched(gpu: str) -> int:
    """The size of which most configurations are kept in a GPU's recorded search; DEFAULT_SIZE if there is none."""
    return max(sizes(gpu), key=lambda size: len(_searched(gpu, size)), default=DEFAULT_SIZE)


def landscape_of(choice: Choice) -> Landscape:
    """What a choice shows: predictions over `space()` alone, speeds over what the search tried at the size."""
    return landscape(choice.device, choice.size if choice.measure == "gflops" else None)


def picture_of(choice: Choice) -> theme.Figure:
    """The landscape over two parameters. Raises CannotShow if both are the same, or nothing was measured."""
    if choice.across == choice.down:
        raise CannotShow(f"Both axes are {choice.across}. Choose another parameter for one of them.")
    data = landscape_of(choice)
    if choice.measure == "gflops" and not data.source:
        raise CannotShow(
            f"No search was recorded on the {choice.device.name} yet: `python -m helpers.measure tune` on such a GPU "
            "records one. Until then choose what is predicted: occupancy, intensity, shared loads."
        )
    return landscape_figure(data, choice.across, choice.down, choice.measure)


class TuningExplorer(LiveExplorer):
    """Controls for the two parameters, what is shown of them, the GPU and the size."""

    def __init__(self, device: str, measure: Measure) -> None:
        found = devices.get(device)
        searched, size = sizes(found.name) or [DEFAULT_SIZE], most_searched(found.name)
        names = [(name, name) for name in landscape_of(Choice(found, measure=measure, size=size)).free]
        labels = [
            (f"{name}, {'predicted' if guess else 'recorded'}", key) for key, (name, _, _, guess) in MEASURES.items()
        ]
        self.across, self.down = choice_list("across", names, "BM"), choice_list("down", names, "BN")
        self.measure = choice_list("show", labels, measure)
        self.device = choice_list("GPU", [(one.name, one) for one in devices.DEVICES.values()], found)
        self.size = choice_list("M = N = K", [(theme.thousands(one), one) for one in searched], size)
        rows = [[self.across, self.down], [self.measure, self.device], [self.size]]
        super().__init__("Explorer: the landscape of configurations.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.device.value, self.across.value, self.down.value, self.measure.value, self.size.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """The sizes that were searched on the chosen GPU, and the parameters that have several values there."""
        options = [(theme.thousands(size), size) for size in sizes(self.device.value.name) or [DEFAULT_SIZE]]
        if list(self.size.options) != options:
            self.size.options = options
            self.size.value = most_searched(self.device.value.name)
        names = [(name, name) for name in landscape_of(self.choice).free]
        for control in (self.across, self.down):
            if list(control.options) != names:
                before = control.value
                control.options = names
                control.value = before if (before, before) in names else names[0][1]

    def is_slow(self) -> bool:
        return space.cache_info().currsize == 0

    def draw(self) -> tuple[theme.Figure, str]:
        choice = self.choice
        return picture_of(choice), "Predictions are helpers.models.tuning's: nothing was compiled or run for them."


def explore(*, device: str = recordings.DEFAULT_GPU, measure: Measure | None = None) -> TuningExplorer:
    """The explorer, beginning with recorded speeds if the GPU has a recorded search, else with predictions."""
    return TuningExplorer(device, measure or ("gflops" if sizes(devices.get(device).name) else "occupancy"))


TELLING = (("BM", "BN"), ("TM", "TN"), ("WM", "WN"))


def small_multiples(pairs: Sequence[tuple[str, str]] = TELLING, device: str = recordings.DEFAULT_GPU) -> theme.Figure:
    """The explorer's static twin: three maps side by side, of recorded speeds or else of predicted occupancy."""
    found = devices.get(device)
    size = most_searched(found.name)
    measure: Measure = "gflops" if sizes(found.name) else "occupancy"
    data = landscape_of(Choice(found, measure=measure, size=size))
    where = f" at {theme.thousands(size)}" if measure == "gflops" else ""
    return landscapes_figure(data, pairs, measure, f"{KERNEL} on the {found.name}{where}: the best of every cell")
