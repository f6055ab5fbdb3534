"""What an element of the output is made of, where a kernel is no multiplication: a reduction, a scan, a transpose.

Such an output is linear in each of its inputs. So with ones in one row alone it counts that row's elements, and with
powers of a base in several rows it counts all of them at once. The solution is asked the same, and the two are compared
as sets. All numbers are small and whole, so that they are exact as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.errors import SimulatorError
from helpers.exercises.framework import trial
from helpers.exercises.framework.gemm import Gemm
from helpers.pictures import theme
from helpers.run import simulated

if TYPE_CHECKING:
    from helpers.exercises.framework.facts import Facts

BITS = 20  # of all the counts of a launch together: their sum, and alpha times it, is exact as float32
MOST_COUNTED = 768  # rows, columns or elements of an input


def explained(facts: Facts) -> str:
    """Which elements of an input the first wrong element of the output is made of, and which it should be; "" where
    they are the right ones, or where the output is no sum of them."""
    failure = facts.failure
    if failure.output is None or failure.report.findings or isinstance(facts.problem, Gemm):
        return ""
    stored = failure.wrong & ~trial.same(failure.output, facts.setup.output)
    if not stored.any():
        return ""
    first = int(np.flatnonzero(stored)[0])
    index = facts.problem.index(np.unravel_index(first, failure.expected.shape))  # type: ignore[arg-type]
    element = f"{facts.problem.output}[{', '.join(map(str, index))}]"
    solution = simulated(facts.solution, facts.problem.entry)
    try:
        for number, name in enumerate(facts.parameters):
            if _is_input(facts, number):
                sentence = _of_input(facts, solution, number, name, element, first)
                if sentence:
                    several = failure.case.launches > 1 and " times" in sentence
                    return f"In each launch {sentence}" if several else sentence
    except SimulatorError:
        pass
    return ""


def _is_input(facts: Facts, number: int) -> bool:
    arg = facts.setup.args[number]
    return isinstance(arg, np.ndarray) and arg.dtype == np.float32 and number != facts.setup.position and arg.any()


def _of_input(facts: Facts, solution: Any, number: int, name: str, element: str, first: int) -> str:
    shape = facts.setup.args[number].shape

    def launches(kernel: Any) -> Callable[[np.ndarray], float]:
        return lambda values: _launched(kernel, facts, number, np.broadcast_to(values, shape))[first]

    mine, needed = launches(facts.examination.kernel), launches(solution)
    zeros, ones = np.zeros(1), np.ones(1)
    all_needed, constant = needed(ones), mine(zeros)
    if all_needed == 0 or needed(zeros) != 0 or not _is_sum(needed, shape) or not np.isfinite(constant):
        return ""
    if constant != 0:
        if mine(ones) - constant != mine(2 * ones) - mine(ones):
            return ""  # then it is no sum to which a number is added
        return f"Where all numbers of the arrays that the kernel reads are 0, {element} becomes {constant:g} and not 0."
    all_mine = mine(ones)
    if not _is_sum(mine, shape) or mine(ones / 2) != all_mine / 2:  # whole numbers may be cut off
        return ""
    if all_mine == 0 and _is_used(facts, number, first):
        return ""  # not as a summand, but it is there
    unit = _unit(facts, all_needed)
    counted = round(all_needed / unit)
    if all_mine == -all_needed:
        return f"Where all numbers of {name} are 1 and all others 0, {element} has the wrong sign."
    if all_mine / unit != round(all_mine / unit) or all_mine < 0:
        mine_times, due = ("once" if n == 1 else f"{n:g} times" for n in (all_mine, all_needed))
        named = f"{facts.problem.scalars[0]} = " if unit != 1 else ""
        return f"{element} has {name} {mine_times}, and {named}{due} is needed." if counted == 1 else ""
    along_axes, of_both = [], ((mine, all_mine), (needed, all_needed))
    for axis, size in enumerate(shape):
        if size > MOST_COUNTED:
            return ""
        both = [_counts(launch, shape, axis, unit, round(all_ / unit)) for launch, all_ in of_both]
        if both[0] is None or both[1] is None:
            return ""
        along_axes.append(both)
    if all(counts.sum() == 1 for both in along_axes for counts in both):
        at, wanted = (
            ", ".join(str(int(np.flatnonzero(counts)[0])) for counts in ones) for ones in zip(*along_axes, strict=True)
        )
        return "" if at == wanted else f"{element} is made of {name}[{at}], and {name}[{wanted}] is needed."
    for axis, (has, due) in enumerate(along_axes):
        if (has != due).any():
            words, others = _words(name, axis, len(shape)), along_axes[1 - axis] if len(shape) == 2 else ()
            lines = [np.flatnonzero(counts) for counts in others]
            single = _of_one_line(name, axis, lines[0][0]) if [len(line) for line in lines] == [1, 1] else None
            single = single if single and lines[0][0] == lines[1][0] else None
            return _difference(element, name, has, due, words, words if len(shape) == 1 else single)
    return ""


def _is_sum(launch: Callable[[np.ndarray], float], shape: tuple[int, ...]) -> bool:
    """Whether an output is linear in an input, as far as ones show it: the largest element is no sum of two halves."""
    ones, half = np.ones(1), (np.arange(int(np.prod(shape))) % 2).reshape(shape)
    return launch(2 * ones) == 2 * launch(ones) and launch(half) + launch(1 - half) == launch(ones)


def _is_used(facts: Facts, number: int, first: int) -> bool:
    """Whether an element of the output depends on an input, if the others are as the kernel was given them."""
    given = facts.problem.prepare(facts.failure.case).args[number]
    once, twice = (
        _launched(facts.examination.kernel, facts, number, times * given, others=True)[first] for times in (1, 2)
    )
    return not trial.same(once, twice)


def _unit(facts: Facts, all_needed: float) -> float:
    """What an element that is taken once counts: alpha where the output is a multiple of the input."""
    alpha = facts.failure.case.alpha if facts.problem.scalars else 1.0
    return alpha if (all_needed / alpha).is_integer() else 1.0


def _counts(
    launch: Callable[[np.ndarray], float], shape: tuple[int, ...], axis: int, unit: float, most: int
) -> np.ndarray | None:
    """How many elements of each row (axis 0), or column, are in the output's element; None if that is no count.

    most: how many there are together.
    """
    often = np.zeros(shape[axis], int)
    bits = max(1, most.bit_length())
    base, digits = 2**bits, max(1, BITS // bits)
    for begin in range(0, shape[axis], digits):
        chosen = range(begin, min(begin + digits, shape[axis]))
        values = np.zeros(shape[axis])
        values[list(chosen)] = [float(base) ** digit for digit in range(len(chosen))]
        left = launch(values.reshape([-1 if dimension == axis else 1 for dimension in range(len(shape))])) / unit
        if not np.isfinite(left) or left < 0 or left != round(left):
            return None
        left = int(left)
        for index in chosen:
            often[index], left = left % base, left // base
        if left:
            return None
    return often


def _words(name: str, axis: int, dimensions: int) -> Callable[[np.ndarray], str]:
    def words(chosen: np.ndarray) -> str:
        numbers = theme.runs(np.flatnonzero(chosen).tolist())
        if dimensions == 1:
            return f"{name}[{numbers}]"
        return f"{'row' if axis == 0 else 'column'}{'' if chosen.sum() == 1 else 's'} {numbers} of {name}"

    return words


def _of_one_line(name: str, axis: int, line: int) -> Callable[[np.ndarray], str]:
    """'A[1 to 63, 0]': elements in rows (axis 0) of one column, or in columns of one row."""

    def words(chosen: np.ndarray) -> str:
        numbers = theme.runs(np.flatnonzero(chosen).tolist())
        return f"{name}[{numbers}, {line}]" if axis == 0 else f"{name}[{line}, {numbers}]"

    return words


def _difference(
    element: str,
    name: str,
    has: np.ndarray,
    due: np.ndarray,
    words: Callable[[np.ndarray], str],
    elements: Callable[[np.ndarray], str] | None,
) -> str:
    """'parts[0] lacks x[128 to 255].', 'total[0] has x[0 to 127] 2 times.' elements: names those that are counted, None
    where rows or columns are, each of which may have several."""
    lacks, foreign, often = (due > 0) & (has == 0), (due == 0) & (has > 0), (due > 0) & (has > due)
    parts = []
    if lacks.any():
        parts.append(f"lacks {words(lacks)}")
    if often.any():
        times = sorted(set((has[often] / due[often] if elements else has[often]).tolist()))
        many = f"{times[0]:g}" if len(times) == 1 else f"up to {times[-1]:g}"
        parts.append(
            f"has {elements(often)} {many} times"
            if elements
            else f"takes {many} summands from {'each of ' if often.sum() > 1 else ''}{words(often)}, where "
            f"{due[often].max()} would do"
        )
    if foreign.any():
        parts.append(f"has {words(foreign)}, which {'does' if foreign.sum() == 1 else 'do'} not belong to it")
    if not parts:
        needed = f"{due.sum()} {'is' if due.sum() == 1 else 'are'} needed"
        return f"{element} has {theme.plural(int(has.sum()), 'summand')} from {name}, and {needed}."
    return f"{element} {' and '.join(parts)}."


def _launched(kernel: Any, facts: Facts, number: int, values: np.ndarray, *, others: bool = False) -> np.ndarray:
    """The output, flat, of a launch with these values in one input, and 0 in the others, or what they are given."""
    setup = facts.problem.prepare(facts.failure.case)
    args = tuple(
        np.ascontiguousarray(values, np.float32) if n == number
        else np.zeros_like(arg) if isinstance(arg, np.ndarray) and n != setup.position and not others else arg
        for n, arg in enumerate(setup.args)
    )  # fmt: skip
    trial.record(kernel, replace(setup, args=args), blocks=())
    return setup.output.reshape(-1).astype(float)
