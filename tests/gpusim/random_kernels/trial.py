"""One module of random kernels, compiled once and tried at each level, or on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.gpusim.random_kernels import shapes
from tests.gpusim.random_kernels.language import Fault, Kernel

OPTIONS = ("-std=c++17",)


class Task(NamedTuple):
    """Some kernels that are compiled together."""

    seeds: tuple[int, ...]
    planted: bool
    arch: str
    levels: tuple[str, ...]
    gpu: bool


@dataclass
class Outcome:
    """What became of one kernel at a level: "right", "wrong numbers", or the name of the error that stopped it."""

    seed: int
    kind: str  # "right", or what was planted
    arch: str
    level: str
    outcome: str
    message: str = ""
    source: str = ""

    @property
    def is_good(self) -> bool:
        """Whether a right kernel is right, or a fault was found."""
        return self.outcome == "right" if self.kind == "right" else self.outcome not in ("right", "wrong numbers")


class Made(NamedTuple):
    """A kernel of a module: its seed, what was planted, and its result without that."""

    seed: int
    kernel: Kernel
    fault: Fault | None
    kind: str
    wanted: np.ndarray

    @property
    def text(self) -> str:
        """Its source, by itself."""
        return self.kernel.source("k", self.fault)


def _made(seed: int, planted: bool) -> Made:
    if planted:
        return Made(seed, *shapes.planted(seed), np.zeros(0, np.float32))
    kernel, _, y = shapes.right(seed)
    return Made(seed, kernel, None, "right", y)


def tried(task: Task) -> list[Outcome]:
    """Compile and run some kernels: those that need the headers of cuda::atomic_ref, which are long, by themselves."""
    outcomes = []
    made = [_made(seed, task.planted) for seed in task.seeds]
    for with_headers in (False, True):
        group = [trial for trial in made if ("atomic_ref" in trial.text) == with_headers]
        source = (shapes.INCLUDES if with_headers else shapes.INCLUDES_OF_HALVES) + "\n".join(
            trial.kernel.source(f"k{number}", trial.fault) for number, trial in enumerate(group)
        )
        if group and task.levels:
            outcomes += _simulated(task, group, source)
        if group and task.gpu and not task.planted:
            outcomes += _on_gpu(group, source)
    return outcomes


def _simulated(task: Task, group: list[Made], source: str) -> Iterator[Outcome]:
    import gpusim

    module = gpusim.RawModule(code=source, options=OPTIONS, arch=task.arch)
    for (number, trial), level in product(enumerate(group), task.levels):
        kernel, outcome, message = trial.kernel, "right", ""
        y = np.zeros(kernel.blocks * kernel.threads, np.float32)
        try:
            with gpusim.record(level=level, blocks=(), checks="raise"):
                module.get_function(f"k{number}")(
                    (kernel.blocks,), (kernel.threads,), (kernel.x.copy(), kernel.w.copy(), y, np.int32(kernel.n))
                )
            if len(trial.wanted) and not np.array_equal(y, trial.wanted):
                outcome = "wrong numbers"
        except Exception as error:  # a crash is a failure of that kernel, too
            outcome, message = type(error).__name__, str(error)
        yield Outcome(trial.seed, trial.kind, task.arch, level, outcome, message, trial.text)


def _on_gpu(group: list[Made], source: str) -> Iterator[Outcome]:
    import cupy

    module = cupy.RawModule(code=source, options=(*OPTIONS, *_include_options()))
    for number, trial in enumerate(group):
        kernel, outcome, message = trial.kernel, "right", ""
        y = cupy.zeros(kernel.blocks * kernel.threads, np.float32)
        arguments = cupy.asarray(kernel.x), cupy.asarray(kernel.w), y, np.int32(kernel.n)
        try:
            module.get_function(f"k{number}")((kernel.blocks,), (kernel.threads,), arguments)
            if not np.array_equal(y.get(), trial.wanted):
                outcome = "wrong numbers"
        except Exception as error:
            outcome, message = type(error).__name__, str(error)
        yield Outcome(trial.seed, trial.kind, gpu_name(), "gpu", outcome, message, trial.text)


def gpu_name() -> str:
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def _include_options() -> list[str]:
    """Where cuda/atomic is: CuPy does not look there for a source of others."""
    import cupy

    toolkit = Path(cupy.cuda.get_cuda_path() or "/usr/local/cuda") / "include"
    folders = (Path(cupy.__file__).parent / "_core/include/cupy/_cccl/libcudacxx", toolkit / "cccl", toolkit)
    return [f"-I{folder}" for folder in folders if (folder / "cuda/atomic").exists()][:1]
