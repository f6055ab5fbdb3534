"""How fast a kernel that passed would be: a line of the verdict, predicted from its machine code, and measured where
there is a GPU.

The shapes that a kernel is judged by are tiny. So multiplications are predicted at SIDE, where the course compares its
kernels, beside the recorded time of the kernel before; what computes something else, at the largest of its cases. Where
the model puts the two in another order than the recordings of the course's own kernels, the recordings are right, and
the line says so.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

import gpusim
from gpusim import Kernel, devices
from helpers import cycles, gpu, recordings, run
from helpers.exercises.framework import trial
from helpers.exercises.framework.gemm import AnyTile, Gemm
from helpers.exercises.framework.problems import Case, Problem, Setup
from helpers.measure.timing import WRITE, interleave
from helpers.recordings.measurement import MEASURED, Measurement

SIDE = 2048  # M = N = K of a multiplication: one of those that the suite `plain` records
SUITE = "plain"
BUDGET_S = 0.1  # of measuring
MUCH_SLOWER = 1.25  # times the course's predicted time: from there on it is said
LIKE = 1.05  # at most so many times the course's predicted time: then what was recorded of its kernel concerns this one


def line(kernel: Kernel, source: str, problem: Problem, name: str = "", before: str = "") -> str:
    """'M = N = K = 2048: 1.1 ms (1.0 to 1.2), predicted for NVIDIA H200; the limit is latency. Of 67 timed
    launches …, 53 fell within …' or '' where it cannot be predicted; on a GPU also '1.08 ms, measured here (…)'.

    source: the kernel's.  name: of the exercise.  before: of the one whose kernel this one improves on, '' for none.
    """
    case = _case(problem)
    prediction = _prediction(kernel, problem, case)
    times = [words for words in (_predicted_words(prediction), _measured(source, problem, case)) if words]
    if not times:
        return ""
    sizes = (
        " = ".join(case.sizes) + f" = {SIDE}"
        if is_multiplication(problem)
        else ", ".join(f"{name} = {size}" for name, size in case.sizes.items())
    )
    held = f" {prediction.range.reason}" if prediction is not None else ""
    beside = f" {_beside(prediction.ms, name, before)}" if prediction is not None and before else ""
    return f"\n{sizes}: {'; '.join(times)}.{held}{beside}"


def predicted_ms(kernel: Kernel, problem: Problem) -> float | None:
    """The predicted time of the launch that `line` speaks of; None where it cannot be predicted."""
    prediction = _prediction(kernel, problem, _case(problem))
    return None if prediction is None else prediction.ms


@lru_cache(maxsize=4)
def _of_solution(name: str) -> float | None:
    """The predicted time of the course's solution of an exercise."""
    from helpers import exercises

    exercise = exercises.get(name)
    return predicted_ms(run.simulated(exercise.solved, exercise.problem.entry), exercise.problem)


def _prediction(kernel: Kernel, problem: Problem, case: Case) -> cycles.Prediction | None:
    return _multiplied(kernel, problem) if is_multiplication(problem) else _launched(kernel, problem, case)


@lru_cache(maxsize=4)
def _multiplied(kernel: Kernel, problem: Problem) -> cycles.Prediction | None:
    """A goal and the line after it ask for the same."""
    return _launched(kernel, problem, _case(problem))


def _launched(kernel: Kernel, problem: Problem, case: Case) -> cycles.Prediction | None:
    try:
        with gpusim.capture() as caught:
            trial.launch(kernel, _setup(problem, case))
        return cycles.predict(caught[0])
    except cycles.CANNOT:
        return None


def _predicted_words(prediction: cycles.Prediction | None) -> str:
    if prediction is None:
        return ""
    likely, (least, most) = (
        _time(prediction.ms),
        (_time(ms, prediction.ms)[: -len(" ms")] for ms in prediction.range_ms),
    )
    return f"{likely} ({least} to {most}), {prediction.label}; {prediction.limiter_in_short}"


def _beside(ms: float, name: str, before: str) -> str:
    """'patch, the kernel before it, takes 0.988 ms (recorded).'; and what the recordings say where the model errs, or
    how much faster the course's own kernel is predicted to be."""
    earlier, own = recorded(before), recorded(name)
    if earlier is None:
        return ""
    blocks = " × ".join(str(size) for size in earlier.block if size > 1)
    predicted = _of_solution(before)
    also = f", predicted {_time(predicted)}" if predicted is not None else ""  # a prediction compares with its like
    takes = f"takes {_time(earlier.median_ms)} in blocks of {blocks} ({earlier.label}{also})"
    sentence = f"{before}, the kernel before it, {takes}."
    own_ms = _of_solution(name)
    if own_ms is not None and ms > MUCH_SLOWER * own_ms:
        return f"{sentence} The course's own {name} is predicted to take {_time(own_ms)}."
    if own is None or predicted is None or (ms < predicted) == (own.median_ms < earlier.median_ms):
        return sentence
    if own_ms is None or (own_ms < predicted) != (ms < predicted) or not 1 / LIKE < ms / own_ms < LIKE:
        return sentence  # another kernel than the course's: of this one nothing is recorded
    slower = own.median_ms > earlier.median_ms
    share = (own.median_ms / earlier.median_ms if slower else earlier.median_ms / own.median_ms) - 1
    return (
        f"{sentence} The model errs in the order of the course's own two kernels: {name} is predicted to be "
        f"{'faster' if slower else 'slower'}, and was recorded at {_time(own.median_ms)}, "
        f"{100 * share:.0f} % {'slower' if slower else 'faster'} than {before}."
    )


def _time(ms: float, unit_of: float | None = None) -> str:
    """A time in ms or in µs, whichever suits it, or suits `unit_of`."""
    if (unit_of or ms) >= 1:
        return f"{ms:.3g} ms"
    return f"{1e3 * ms:.0f} µs" if ms >= 1 else f"{1e3 * ms:.3g} µs"


def recorded(name: str, size: int = SIDE, gpu_name: str = devices.DEFAULT.name) -> Measurement | None:
    """The recorded speed of a plain kernel, the solution of a blank, at M = N = K = size; None if there is none."""
    try:
        rows = recordings.raw(gpu_name, SUITE)["rows"]
    except recordings.NoRecording:
        return None
    for row in rows:
        if (row["kernel"], row["M"], row["N"], row["K"]) == (name, size, size, size):
            return Measurement.from_row({key: value for key, value in row.items() if key != "sha256"}, gpu_name)
    return None


def _measured(source: str, problem: Problem, case: Case) -> str:
    """The median of launches with a cold L2, as predictions have it; '' without a GPU."""
    if gpu.backend() != "gpu":
        return ""
    setup = _setup(problem, case)
    args = tuple(gpu.array(arg) if isinstance(arg, np.ndarray) else arg for arg in setup.args)
    start = partial(trial.launch, run.function(source, problem.entry), replace(setup, args=args))
    ms = float(np.median(interleave([start], BUDGET_S, flush=WRITE)))
    return f"{_time(ms)}, {MEASURED} ({gpu.name()})"


def _case(problem: Problem) -> Case:
    if is_multiplication(problem):
        return Case(dict.fromkeys("MNK", SIDE))
    return max(problem.cases, key=lambda case: math.prod(case.sizes.values()))


def is_multiplication(problem: Problem) -> bool:
    """Whether its kernels are predicted at SIDE."""
    return isinstance(problem, Gemm) and not isinstance(problem, AnyTile)


def _setup(problem: Problem, case: Case) -> Setup:
    """A launch of a case; of a multiplication without the right answer, which takes seconds at this size."""
    return (
        problem.unanswered(case) if isinstance(problem, Gemm) and is_multiplication(problem) else problem.prepare(case)
    )
