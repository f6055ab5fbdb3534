"""How fast a kernel that passed would be: a line of the verdict, predicted from its machine code, and measured where
there is a GPU.

The shapes that a kernel is judged by are tiny. So multiplications are predicted at a larger one; what computes
something else, at the largest of its cases, and the line says which.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial

import numpy as np

from helpers import cycles, gpu, run, simulator
from helpers.cycles.prediction import WHAT
from helpers.exercises.framework import trial
from helpers.exercises.framework.gemm import AnyTile, Gemm
from helpers.exercises.framework.problems import Case, Problem
from helpers.measure.measurement import MEASURED
from helpers.measure.timing import interleave
from helpers.simulator import Kernel

SIDE = 512  # M = N = K of a multiplication
BUDGET_S = 0.1  # of measuring


def line(kernel: Kernel, source: str, problem: Problem) -> str:
    """'M = 512, N = 512, K = 512: 31 µs (28 to 35), predicted for NVIDIA H200; the limit is latency.' or '' where it
    cannot be predicted; on a GPU also '29.8 µs, measured here (NVIDIA H200)'.

    source: the kernel's.
    """
    case = _case(problem)
    sizes = ", ".join(f"{name} = {size}" for name, size in case.sizes.items())
    told = [one for one in (_predicted(kernel, problem, case), _measured(source, problem, case)) if one]
    return f"\n{sizes}: {'; '.join(told)}." if told else ""


def _predicted(kernel: Kernel, problem: Problem, case: Case) -> str:
    try:
        with simulator.capture() as caught:
            trial.launch(kernel, problem.prepare(case))
        found = cycles.predict(caught[0])
    except cycles.CANNOT:
        return ""
    likely, least, most = (f"{1e3 * ms:.3g}" for ms in (found.ms, *found.range_ms))
    limit = re.split("[:,]", WHAT[found.kind])[0]
    return f"{likely} µs ({least} to {most}), {found.label}; the limit is {limit}"


def _measured(source: str, problem: Problem, case: Case) -> str:
    """The median of launches with a cold L2, as predictions have it; '' without a GPU."""
    if gpu.backend() != "gpu":
        return ""
    setup = problem.prepare(case)
    args = tuple(gpu.array(arg) if isinstance(arg, np.ndarray) else arg for arg in setup.args)
    start = partial(trial.launch, run.function(source, problem.entry), replace(setup, args=args))
    ms = float(np.median(interleave([start], BUDGET_S)))
    return f"{1e3 * ms:.3g} µs, {MEASURED} ({gpu.name()})"


def _case(problem: Problem) -> Case:
    if isinstance(problem, Gemm) and not isinstance(problem, AnyTile):
        return Case(dict.fromkeys("MNK", SIDE))
    return max(problem.cases, key=lambda case: math.prod(case.sizes.values()))
