"""The explorer of notebook 09: stages and latencies → the pipeline's timeline, by the model.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import ipywidgets

from gemm_kernels import Kernel, get
from helpers import devices
from helpers.draw import theme
from helpers.draw.pipeline import FIGURE_HEIGHT, MOST_WARPS, NAMES, comparison, pipeline_figure, pipelines_figure
from helpers.explore.controls import choice_list, range_slider
from helpers.explore.live import LiveExplorer
from helpers.explore.machine_code import record_as_run
from helpers.explore.occupancy import Launch, resources_of
from helpers.explore.widgets import choice_slider
from helpers.models.occupancy import occupancy
from helpers.models.pipeline import Pipeline, Work, timeline

KERNELS = {"vectorized": 1, "double_buffered": 2, "async_copy": None, "warptiled": None}  # stages; None: its STAGES
BY_HAND = "these numbers"
DEVICE = "NVIDIA H200"
SCHEDULERS = 4  # of an SM since compute capability 5.0 (CUDA C++ Programming Guide, "Compute Capabilities")
LANES = 32
FEW, MORE = 8, 9  # K-blocks of two launches: what the second does beyond the first is the work of one more
MOST_LATENCY, LATENCY_STEP, MOST_MULTIPLY, MOST_MOVES = 1000, 20, 1200, 80


@dataclass(frozen=True)
class Loop:
    """A kernel's main loop on one scheduler. name: the kernel's.  work: of a warp for a K-block.  warps: resident."""

    name: str
    work: Work
    stages: int
    warps: int


@lru_cache(maxsize=8)
def loop_of(kernel: Kernel) -> Loop:
    """What the machine code of a kernel of the ladder issues for one K-block, and its warps on a scheduler of an H200.

    Two launches are counted that differ by one K-block. Raises the simulator's and the compiler's errors.
    """
    rows, columns = kernel.tile
    depth, shared = kernel.params["BK"], kernel.shared_bytes
    few, more = (
        record_as_run(kernel, kernel.block, rows, columns, count * depth, shared_bytes=shared) for count in (FEW, MORE)
    )
    warps = kernel.threads // LANES

    def added(*opcodes: str) -> int:
        return round(sum(more.instructions(name) - few.instructions(name) for name in opcodes) / warps)

    if few.level == "sass":
        copy, store, every = added("LDG.", "LDGSTS"), added("STS"), added("")
    else:
        copy, store, every = added("ld.global", "cp.async"), added("st.shared"), added("")
    stages = KERNELS.get(kernel.name) or kernel.params["STAGES"]
    device = devices.get(DEVICE)
    taken = resources_of(Launch.of(kernel), device.arch)
    resident = occupancy(device, taken.threads, taken.registers, taken.shared_bytes).warps
    return Loop(kernel.name, Work(copy, store, every - copy - store), stages, max(1, resident // SCHEDULERS))


def picture_of(pipeline: Pipeline, name: str = "") -> theme.Figure:
    """The timeline of a pipeline by the model. name: whose work it is."""
    return pipeline_figure(comparison(pipeline), name)


class PipelineExplorer(LiveExplorer):
    """Controls for the stages, the latency, the warps and the work; a kernel of the ladder sets all but the latency."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.kernel = choice_list("work of", [(BY_HAND, None), *((f"kernel {name}", name) for name in KERNELS)], None)
        self.stages = choice_slider("stages", [(name, stages) for stages, name in NAMES.items()], pipeline.stages)
        self.latency = range_slider("latency, cycles", 0, MOST_LATENCY, pipeline.latency, LATENCY_STEP)
        self.warps = range_slider("warps", 1, MOST_WARPS, pipeline.warps)
        self.multiply = range_slider("multiply, cycles", 10, MOST_MULTIPLY, pipeline.work.multiply, 10)
        self.copy = range_slider("copy, cycles", 1, MOST_MOVES, pipeline.work.copy)
        self.store = range_slider("store, cycles", 0, MOST_MOVES, pipeline.work.store)
        self._shown: str | None = None
        self._counted: set[str | None] = {None}
        rows = [
            [self.stages, self.latency],
            [self.warps, self.kernel],
            [self.multiply, self.copy],
            [self.store],
        ]
        super().__init__("Explorer: who waits for whom, by a model.", rows, FIGURE_HEIGHT)

    @property
    def pipeline(self) -> Pipeline:
        """What the controls say now."""
        work = Work(self.copy.value, self.store.value, self.multiply.value)
        return Pipeline(work, self.stages.value, self.latency.value, warps=self.warps.value)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """A slider of the work leaves the kernel's numbers."""
        if moved in (self.multiply, self.copy, self.store):
            self.kernel.value = None

    def is_slow(self) -> bool:
        return self.kernel.value not in self._counted

    def draw(self) -> tuple[theme.Figure, str]:
        name = self.kernel.value
        if name not in (None, self._shown):
            self._take_the_numbers(loop_of(get(name)))
        self._shown = name
        self._counted.add(name)
        note = f" Work: instructions of {name} for sm_90; warps: of a scheduler of an {DEVICE}." if name else ""
        return picture_of(self.pipeline, name or ""), f"A model: no time here was measured.{note}"

    def _take_the_numbers(self, loop: Loop) -> None:
        """Set the sliders to a kernel's work, stages and warps."""
        with self.quiet():
            self.multiply.max = max(self.multiply.max, loop.work.multiply)
            self.multiply.step = 1
            self.multiply.value, self.copy.value, self.store.value = loop.work.multiply, loop.work.copy, loop.work.store
            self.stages.value, self.warps.value = loop.stages, min(loop.warps, MOST_WARPS)


DEFAULT = Pipeline(Work(copy=20, store=20, multiply=160))


def explore(pipeline: Pipeline = DEFAULT) -> PipelineExplorer:
    """The explorer, beginning with this pipeline."""
    return PipelineExplorer(pipeline)


TELLING = (1, 2, 3, 4)


def small_multiples(stages: Sequence[int] = TELLING, pipeline: Pipeline = DEFAULT) -> theme.Figure:
    """The explorer's static twin: the same work with several numbers of stages, on one axis of time."""
    shown = [timeline(replace(pipeline, stages=count)) for count in stages]
    latency = theme.plural(pipeline.latency, "cycle")
    return pipelines_figure(shown, f"{theme.plural(pipeline.warps, 'warp')}, a latency of {latency}: a model")
