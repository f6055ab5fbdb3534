"""One module of random kernels, compiled once and tried at each level, or on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.simulator.random_kernels import shapes
from tests.simulator.random_kernels.language import Fault, Kernel

OPTIONS = ("-std=c++17",)


class Task(NamedTuple):
    """Some kernels that are compiled together."""

    seeds: tuple[int, ...]
    planted: bool
    arch: str
    levels: tuple[str, ...]
    gpu: bool


@dataclass
class Found:
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


def _module(task: Task) -> tuple[list[tuple[Kernel, Fault | None, str, np.ndarray]], str]:
    """(kernel, fault, kind, result without the fault) of each, and the source of all."""
    made = []
    for seed in task.seeds:
        if task.planted:
            kernel, fault, kind = shapes.planted(seed)
            made.append((kernel, fault, kind, np.zeros(0, np.float32)))
        else:
            kernel, _, y = shapes.right(seed)
            made.append((kernel, None, "right", y))
    texts = [kernel.source(f"k{number}", fault) for number, (kernel, fault, _, _) in enumerate(made)]
    return made, shapes.INCLUDES + "\n".join(texts)


def tried(task: Task) -> list[Found]:
    """Compile and run some kernels."""
    made, source = _module(task)
    found = []
    for level in task.levels:
        found += _simulated(task, made, source, level)
    if task.gpu and not task.planted:
        found += _on_gpu(task, made, source)
    return found


def _simulated(task: Task, made, source: str, level: str) -> Iterator[Found]:
    from helpers import simulator

    module = simulator.RawModule(code=source, options=OPTIONS, arch=task.arch)
    for number, (seed, (kernel, fault, kind, wanted)) in enumerate(zip(task.seeds, made, strict=True)):
        y = np.zeros(kernel.blocks * kernel.threads, np.float32)
        outcome, message = "right", ""
        try:
            with simulator.record(level=level, blocks=(), checks="raise"):
                module.get_function(f"k{number}")(
                    (kernel.blocks,), (kernel.threads,), (kernel.x.copy(), kernel.w.copy(), y, np.int32(kernel.n))
                )
            if len(wanted) and not np.array_equal(y, wanted):
                outcome = "wrong numbers"
        except Exception as error:  # a crash is a failure of that kernel, too
            outcome, message = type(error).__name__, str(error)
        yield Found(seed, kind, task.arch, level, outcome, message, kernel.source("k", fault))


def _on_gpu(task: Task, made, source: str) -> Iterator[Found]:
    import cupy

    module = cupy.RawModule(code=source, options=(*OPTIONS, *_include_options()))
    for number, (seed, (kernel, _, kind, wanted)) in enumerate(zip(task.seeds, made, strict=True)):
        outcome, message = "right", ""
        y = cupy.zeros(kernel.blocks * kernel.threads, np.float32)
        arguments = cupy.asarray(kernel.x), cupy.asarray(kernel.w), y, np.int32(kernel.n)
        try:
            module.get_function(f"k{number}")((kernel.blocks,), (kernel.threads,), arguments)
            if not np.array_equal(y.get(), wanted):
                outcome = "wrong numbers"
        except Exception as error:
            outcome, message = type(error).__name__, str(error)
        yield Found(seed, kind, gpu_name(), "gpu", outcome, message, kernel.source("k"))


def gpu_name() -> str:
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def _include_options() -> list[str]:
    """Where cuda/atomic is: CuPy does not look there for a source of others."""
    import cupy

    toolkit = Path(cupy.cuda.get_cuda_path() or "/usr/local/cuda") / "include"
    folders = (Path(cupy.__file__).parent / "_core/include/cupy/_cccl/libcudacxx", toolkit / "cccl", toolkit)
    return [f"-I{folder}" for folder in folders if (folder / "cuda/atomic").exists()][:1]
