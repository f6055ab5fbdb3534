"""The speeds of notebook 13's template with many settings, which the learner's own search asks for, and an explorer.

`measure_at(size)` is what the search calls, `explore()` the explorer, `picture_of(setting)` its static twin.

python -m helpers.exercises --record     on a GPU: time the solutions, and these, and write the recordings
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import ipywidgets

from gemm_kernels import Launch, OwnKernel
from gpusim import devices
from gpusim.devices import WARP
from helpers import gpu, recordings
from helpers.exercises.framework import rungs
from helpers.exercises.n13 import PARAMS, TUNABLE, Setting, entry_of
from helpers.measure.problem import WrongResult
from helpers.measure.provenance import provenance
from helpers.pictures import theme
from helpers.pictures.hierarchy.facts import levels_of
from helpers.pictures.hierarchy.figure import FIGURE_HEIGHT, hierarchy_figure
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.widgets import choice_slider, number_slider
from helpers.recordings.measurement import MEASURED, recorded_on

SUITE = "settings"
SIZES = (512, 4096)  # M = N = K; every tile of SPACE divides them
SPACE: Mapping[str, tuple[int, ...]] = {
    "BM": (32, 64, 128), "BN": (32, 64, 128), "BK": (8, 16), "TM": (4, 8), "TN": (4, 8),
}  # fmt: skip


def settings() -> Iterator[Setting]:
    """All settings of SPACE whose block has 32 to 1024 threads."""
    for BM, BN, BK, TM, TN in product(*SPACE.values()):
        if 32 <= BM // TM * (BN // TN) <= 1024:
            yield BM, BN, BK, TM, TN


def kernel_of(setting: Setting, source: str = TUNABLE.solved) -> OwnKernel:
    """The template, the course's solution or a learner's, with this setting."""
    BM, BN, BK, TM, TN = setting
    return OwnKernel(
        source, entry_of(setting), (BM // TM * (BN // TN),), (BM, BN), BK, name=entry_of(setting), scaled=False
    )


def speeds(size: int, gpu_name: str = devices.DEFAULT.name) -> dict[Setting, float]:
    """Setting -> GFLOPS of our template at M = N = K = size, as recorded. Raises recordings.NoRecording."""
    rows = recordings.raw(gpu_name, SUITE)["rows"]
    return {tuple(row["setting"]): row["gflops"] for row in rows if row["size"] == size}


@dataclass(frozen=True)
class Measure:
    """What a search calls: setting → GFLOPS at M = N = K = size, or None if the result was wrong.

    known: what was recorded, or what was measured so far.  label: where the numbers come from.  budgets: how many
    settings a search may try; on a GPU each of them is compiled, so that all would take minutes.
    """

    size: int
    known: dict[Setting, float | None]
    label: str
    budgets: tuple[int, ...]

    def __call__(self, setting: Setting) -> float | None:
        if setting not in self.known:
            launch = kernel_of(setting, TUNABLE.written.source).launch(self.size, self.size, self.size)
            try:
                self.known[setting] = rungs.timed([launch], budget_s=0.05)[0].gflops
            except WrongResult:
                self.known[setting] = None
        return self.known[setting]


FEW = 10  # settings that a search tries


@cache
def measure_at(size: int) -> Measure:
    """With a GPU the learner's accepted template (or ours), compiled, checked and timed there; else as recorded."""
    if gpu.backend() == "gpu":
        return Measure(size, {}, f"{MEASURED} on {gpu.name()}", (FEW,))
    measured = speeds(size)
    return Measure(size, dict(measured), recorded_on(devices.DEFAULT.name), (FEW, len(measured)))


# --- the explorer


def picture_of(setting: Setting, warp: int = 0, lane: int = 0) -> theme.Figure:
    """Who computes which elements of a block's tile. Raises the simulator's and the compiler's errors."""
    return hierarchy_figure(levels_of(_shown(setting)), warp, lane)


def _shown(setting: Setting) -> Launch:
    BM, BN, BK = setting[:3]
    return kernel_of(setting, TUNABLE.written.source).launch(4 * BM, 4 * BN, 2 * BK)


class SettingsExplorer(LiveExplorer):
    """Controls for the five parameters of the template, the size whose speed is shown, and a warp and a lane."""

    def __init__(self, setting: Setting, size: int) -> None:
        options = zip(SPACE.items(), setting, strict=True)
        self.sizes = {name: choice_slider(name, values, value) for (name, values), value in options}
        self.size = choice_slider("M = N = K", SIZES, size)
        self.warp, self.lane = number_slider("warp", 0), number_slider("lane", WARP - 1)
        BM, BN, BK, TM, TN = self.sizes.values()
        rows = [[BM, BN], [TM, TN], [BK, self.size], [self.warp, self.lane]]
        super().__init__("Explorer: five parameters, and who computes what.", rows, FIGURE_HEIGHT)

    @property
    def setting(self) -> Setting:
        """What the sliders say. Raises CannotShow where the block would be too small or too large."""
        BM, BN, BK, TM, TN = sizes = tuple(slider.value for slider in self.sizes.values())
        threads = BM // TM * (BN // TN)
        if sizes not in set(settings()):
            raise CannotShow(f"{BM} × {BN} in patches of {TM} × {TN} makes {threads} threads; a block has 32 to 1024.")
        return BM, BN, BK, TM, TN

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """As many warps as the block has."""
        values = {name: slider.value for name, slider in self.sizes.items()}
        threads = values["BM"] // values["TM"] * (values["BN"] // values["TN"])
        self.warp.max = max(-(-threads // WARP), 1) - 1

    def needs(self) -> Iterable[Hashable]:
        return [tuple(slider.value for slider in self.sizes.values())]

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.setting, self.warp.value, self.lane.value), self._speed(measure_at(self.size.value))

    def later(self) -> Callable[[], str] | None:
        """The speed, where it has to be measured first."""
        measure, setting = measure_at(self.size.value), self.setting
        return None if setting in measure.known else partial(self._measured, measure, setting)

    def _measured(self, measure: Measure, setting: Setting) -> str:
        measure(setting)
        return self._speed(measure)

    def _speed(self, measure: Measure) -> str:
        gflops = measure.known.get(self.setting)
        if gflops is None:
            return ""
        better = sum((other or 0) > gflops for other in measure.known.values())
        at = f"at {theme.thousands(measure.size)}³, {measure.label}"
        return f"{theme.thousands(gflops)} GFLOPS {at}; {better} of {len(measure.known)} settings are faster."


def explore(setting: Setting = (64, 64, 8, 4, 4), size: int = SIZES[-1]) -> SettingsExplorer:
    """The explorer, beginning with this setting; size: M = N = K of the speed that is shown."""
    return SettingsExplorer(setting, size)


def record() -> str:
    """Time every setting on the GPU at hand, each checked against float64 first, and write it. Returns where."""
    rows = []
    for size in SIZES:
        every = list(settings())
        for setting, measured in zip(
            every,
            rungs.timed([kernel_of(setting).launch(size, size, size) for setting in every], budget_s=3.0),
            strict=True,
        ):
            rows.append({"setting": list(setting), "size": size, "gflops": round(measured.gflops, 1),
                         "time": [measured.time.median_ms, measured.time.lower_ms, measured.time.upper_ms,
                                  measured.repeats], "error": measured.error})  # fmt: skip
    file = recordings.path(gpu.name(), SUITE)
    content = {"gpu": gpu.name(), "provenance": provenance(), "sha256": rungs.sha256(TUNABLE), "parameters": PARAMS}
    recordings.write(file, {**content, "rows": rows})
    return str(file)
