"""The explorer of notebook 10: stages and latencies → the pipeline's timeline, by the model.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import ipywidgets

from gemm_kernels import Kernel, OwnKernel, get
from gemm_kernels.refused import Refused
from gpusim.devices import DEFAULT as GPU
from helpers.pictures import theme
from helpers.pictures.controls import choice_list, range_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication, of_kind
from helpers.pictures.pipeline.facts import Loop, loop_of
from helpers.pictures.pipeline.figure import (
    ARTICLES,
    FIGURE_HEIGHT,
    MOST_WARPS,
    NAMES,
    comparison,
    pipeline_figure,
    pipelines_figure,
)
from helpers.pictures.pipeline.model import Pipeline, Work, timeline
from helpers.pictures.speeds import speed_of
from helpers.pictures.widgets import choice_slider

KERNELS = ("vectorized", "double_buffered", "ping_pong", "async_copy", "warptiled")
BY_HAND = "these numbers"
MOST_LATENCY, LATENCY_STEP, MOST_MULTIPLY, MOST_MOVES = 1000, 20, 1200, 80


def picture_of(pipeline: Pipeline, name: str = "") -> theme.Figure:
    """The timeline of a pipeline by the model. name: whose work it is."""
    return pipeline_figure(comparison(pipeline), name)


def speed_with(kernel: Kernel | OwnKernel, stages: int) -> str:
    """How fast a kernel is with so many stages, on a GPU and not with the sliders' numbers; why it cannot have them; ""
    if its stages cannot be chosen."""
    if stages != min(loop_of(kernel).stages, max(NAMES)):
        if not isinstance(kernel, Kernel) or "STAGES" not in kernel.params:
            return ""
        try:
            kernel = kernel.replace(STAGES=stages)
        except Refused as refused:
            return str(refused)
    speed = speed_of(kernel)
    return speed and f"Bars: a model. {kernel.name} with {ARTICLES[stages]} at {speed}."


class PipelineExplorer(LiveExplorer):
    """Controls for the stages, the latency, the warps and the work; a kernel of the ladder sets all but the latency."""

    def __init__(self, kernels: Sequence[Kernel | OwnKernel], first: OwnKernel | None, pipeline: Pipeline) -> None:
        names = [(BY_HAND, None), *((f"kernel {kernel.name}", kernel) for kernel in kernels)]
        self.kernel = choice_list("work of", names, first)
        self.stages = choice_slider("stages", [(name, stages) for stages, name in NAMES.items()], pipeline.stages)
        self.latency = range_slider("latency, cycles", 0, MOST_LATENCY, pipeline.latency, LATENCY_STEP)
        self.warps = range_slider("warps", 1, MOST_WARPS, pipeline.warps)
        self.multiply = range_slider("multiply, cycles", 10, MOST_MULTIPLY, pipeline.work.multiply, 10)
        self.copy = range_slider("copy, cycles", 1, MOST_MOVES, pipeline.work.copy)
        self.store = range_slider("store, cycles", 0, MOST_MOVES, pipeline.work.store)
        self._shown: Kernel | OwnKernel | None = None
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

    def needs(self) -> Iterable[Hashable]:
        return [self.kernel.value] if self.kernel.value else []

    def draw(self) -> tuple[theme.Figure, str]:
        kernel = self.kernel.value
        if kernel not in (None, self._shown):
            self._take_the_numbers(loop_of(kernel))
        self._shown = kernel
        name = kernel.name if kernel else ""
        note = f" Work: instructions of {name} for {GPU.arch}; warps: of a scheduler of an {GPU.name}." if name else ""
        return picture_of(self.pipeline, name), f"A model: no time here was measured.{note}"

    def later(self) -> Callable[[], str] | None:
        """How fast the chosen kernel is with so many stages; nothing for numbers of no kernel."""
        kernel = self.kernel.value
        return kernel and partial(speed_with, kernel, self.stages.value)

    def _take_the_numbers(self, loop: Loop) -> None:
        """Set the sliders to a kernel's work, stages and warps."""
        with self.quiet():
            self.multiply.max = max(self.multiply.max, loop.work.multiply)
            self.multiply.step = 1
            self.copy.max, self.store.max = max(MOST_MOVES, loop.work.copy), max(MOST_MOVES, loop.work.store)
            self.multiply.min = min(self.multiply.min, loop.work.multiply)
            self.multiply.value, self.copy.value, self.store.value = loop.work.multiply, loop.work.copy, loop.work.store
            self.stages.value, self.warps.value = min(loop.stages, max(NAMES)), min(loop.warps, MOST_WARPS)


DEFAULT = Pipeline(Work(copy=20, store=20, multiply=160))


def explore(own: Own = None, *, pipeline: Pipeline = DEFAULT) -> PipelineExplorer:
    """The explorer, beginning with this pipeline, or with the work of a learner's own kernel."""
    own = multiplication(own, "a loop over k", any_k=True)
    kernels = [*([own] if own else []), *map(get, KERNELS)]
    return PipelineExplorer(kernels, own, of_kind("pipeline", pipeline, Pipeline) or DEFAULT)


TELLING = (1, 2, 3, 4)


def small_multiples(stages: Sequence[int] = TELLING, pipeline: Pipeline = DEFAULT) -> theme.Figure:
    """The explorer's static twin: the same work with several numbers of stages, on one axis of time."""
    shown = [timeline(replace(pipeline, stages=count)) for count in stages]
    latency = theme.plural(pipeline.latency, "cycle")
    return pipelines_figure(shown, f"{theme.plural(pipeline.warps, 'warp')}, a latency of {latency}: a model")
