"""How fast a kernel that passed would be: a line of the verdict, predicted from its machine code.

The shapes that a kernel is judged by are tiny. So multiplications are predicted at a larger one; what computes
something else, at the largest of its cases, and the line says which.
"""

from __future__ import annotations

import math
import re

from helpers import cycles, simulator
from helpers.cycles.prediction import WHAT
from helpers.exercises.framework import trial
from helpers.exercises.framework.gemm import AnyTile, Gemm
from helpers.exercises.framework.problems import Case, Problem
from helpers.simulator import Kernel

SIDE = 512  # M = N = K of a multiplication


def line(kernel: Kernel, problem: Problem) -> str:
    """'M = 512, N = 512, K = 512: 31 µs (28 to 35), predicted for NVIDIA H200; the limit is latency.' or '' where it
    cannot be predicted."""
    case = _case(problem)
    try:
        with simulator.capture() as caught:
            trial.launch(kernel, problem.prepare(case))
        found = cycles.predict(caught[0])
    except cycles.CANNOT:
        return ""
    likely, least, most = (f"{1e3 * ms:.3g}" for ms in (found.ms, *found.range_ms))
    sizes = ", ".join(f"{name} = {size}" for name, size in case.sizes.items())
    limit = re.split("[:,]", WHAT[found.kind])[0]
    return f"\n{sizes}: {likely} µs ({least} to {most}), {found.label}; the limit is {limit}."


def _case(problem: Problem) -> Case:
    if isinstance(problem, Gemm) and not isinstance(problem, AnyTile):
        return Case(dict.fromkeys("MNK", SIDE))
    return max(problem.cases, key=lambda case: math.prod(case.sizes.values()))
