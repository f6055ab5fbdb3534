"""The explorer of notebook 13: two parameters → where the good configurations are, and what the rules forbid.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
Speeds come from a recorded search: rows of the suite "search" in a GPU's recordings. Until a GPU has one, everything
is predicted, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import ipywidgets

from gemm_kernels import get
from gemm_kernels.architecture import refused
from gpusim import devices
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.speeds import predicted
from helpers.pictures.tuning.facts import (
    DEFAULT_SIZE,
    KERNEL,
    MEASURES,
    PREDICTED,
    Landscape,
    Measure,
    landscape_of,
    most_searched,
    sizes,
    space,
)
from helpers.pictures.tuning.figure import FIGURE_HEIGHT, landscape_figure, landscapes_figure
from helpers.recordings.measurement import recorded_on


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


def _shown(choice: Choice) -> Landscape:
    """What a choice shows: predictions over `space()` alone, speeds over what the search tried at the size."""
    return landscape_of(choice.device, choice.size if choice.measure == "gflops" else None)


def picture_of(choice: Choice) -> theme.Figure:
    """The landscape over two parameters. Raises CannotShow if both are the same, or nothing was measured."""
    if choice.across == choice.down:
        raise CannotShow(f"Both axes are {choice.across}. Choose another parameter for one of them.")
    data = _shown(choice)
    if choice.measure == "gflops" and not data.source:
        raise CannotShow(
            f"No search was recorded on the {choice.device.name} yet: `python -m helpers.tools.measuring tune` on "
            "such a GPU records one. Until then choose what is predicted: occupancy, intensity, shared loads."
        )
    if choice.measure == "speed" and data.best("speed") is None:
        others = " or ".join(recordings.gpus(suites=(PREDICTED,)))
        raise CannotShow(
            f"No speed is predicted for the {choice.device.name}, because its constants were not measured. Choose "
            f"another GPU ({others}), or what is predicted by hand: occupancy, intensity, shared loads."
        )
    return landscape_figure(data, choice.across, choice.down, choice.measure)


def speed_of_best(choice: Choice) -> str:
    """How fast the best configuration of a map is, recorded by the search, or else predicted; "" without either."""
    best = landscape_of(choice.device, choice.size).best(choice.measure)
    if best is None:
        return ""
    best_at = f"The best {MEASURES[choice.measure][0]} at {theme.thousands(choice.size)}³"
    if choice.measure == "speed":
        best_at = f"The one that is predicted to be the fastest, at {theme.thousands(choice.size)}³"
    if best.gflops is not None:
        return f"{best_at}: {theme.thousands(best.gflops)} GFLOPS, {recorded_on(choice.device.name)} by the search."
    if best.predicted.spills:  # which would keep the reader waiting: compiling and predicting take half a minute
        return f"{best_at}: its sums do not fit into registers, so no speed is predicted."
    speed = predicted(get(KERNEL).replace(**best.params).launch(*(choice.size,) * 3))
    return speed and f"{best_at}: {speed}."


class TuningExplorer(LiveExplorer):
    """Controls for the two parameters, what is shown of them, the GPU and the size."""

    def __init__(self, device: str, measure: Measure) -> None:
        gpu = devices.get(device)
        searched, size = sizes(gpu.name) or [DEFAULT_SIZE], most_searched(gpu.name)
        names = [(name, name) for name in _shown(Choice(gpu, measure=measure, size=size)).free]
        labels = [
            (f"{name}, {'predicted' if guess else 'recorded'}", key) for key, (name, _, _, guess) in MEASURES.items()
        ]
        self.across, self.down = choice_list("across", names, "BM"), choice_list("down", names, "BN")
        self.measure = choice_list("show", labels, measure)
        kernel = get(KERNEL)
        able = [gpu for gpu in devices.DEVICES.values() if not refused(kernel.source, gpu.arch)]
        self.device = choice_list("GPU", [(gpu.name, gpu) for gpu in able], gpu)
        self.size = choice_list("M = N = K", [(theme.thousands(number), number) for number in searched], size)
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
        names = [(name, name) for name in _shown(self.choice).free]
        for control in (self.across, self.down):
            if list(control.options) != names:
                before = control.value
                control.options = names
                control.value = before if (before, before) in names else names[0][1]

    def needs(self) -> Iterable[Hashable]:
        return () if space.cache_info().currsize else ["the space of parameters"]

    def draw(self) -> tuple[theme.Figure, str]:
        choice = self.choice
        by_hand = "Predicted by a model: nothing was compiled or run for it."
        by_cycles = "helpers.cycles predicted these speeds from the machine code of each configuration, without a GPU."
        return picture_of(choice), by_cycles if choice.measure == "speed" else by_hand

    def later(self) -> Callable[[], str] | None:
        """How fast the best configuration of the map is."""
        choice = self.choice
        known = choice.device != devices.DEFAULT or choice.measure == "gflops"
        return None if known else partial(speed_of_best, choice)


def explore(*, device: str = devices.DEFAULT.name, measure: Measure | None = None) -> TuningExplorer:
    """The explorer, beginning with recorded speeds if the GPU has a recorded search, else with predictions.

    Raises CannotRun for a GPU that cannot run the kernel.
    """
    return TuningExplorer(device, measure or ("gflops" if sizes(devices.get(device).name) else "occupancy"))


TELLING = (("BM", "BN"), ("TM", "TN"), ("WM", "WN"))


def small_multiples(pairs: Sequence[tuple[str, str]] = TELLING, device: str = devices.DEFAULT.name) -> theme.Figure:
    """The explorer's static twin: three maps side by side, of recorded speeds or else of predicted occupancy."""
    gpu = devices.get(device)
    size = most_searched(gpu.name)
    measure: Measure = "gflops" if sizes(gpu.name) else "occupancy"
    data = _shown(Choice(gpu, measure=measure, size=size))
    where = f" at {theme.thousands(size)}" if measure == "gflops" else ""
    return landscapes_figure(data, pairs, measure, f"{KERNEL} on the {gpu.name}{where}: the best of every cell")
