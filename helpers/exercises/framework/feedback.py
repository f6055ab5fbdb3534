"""The answer to a learner: what was checked, or what is wrong first, who did it, and the slip that explains it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusim.errors import GLOBAL_RACE, GUARD, SHARED_RACE, SimulatorError, StepLimitExceeded, coordinates
from helpers.exercises.framework import repairs, trial
from helpers.exercises.framework.answers import Clue, Verdict, as_line
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.judge import Examination, Goal
from helpers.exercises.framework.maps import MatrixMap
from helpers.exercises.framework.problems import Case, Problem
from helpers.exercises.framework.trial import Outcome
from helpers.pictures import theme
from helpers.pictures.barriers.facts import easiest

if TYPE_CHECKING:
    from gpusim import Finding

MOST_ELEMENTS = 200_000  # of a picture
WIDEST_TITLE = 0.8  # of a picture's width, in letters that are not bold
HEAD_OF_HAZARD = 2  # lines: the launch, and what happened where

BOTH_STORE = "Both store, in no order, so that it is chance which value stays."
ATOMIC_AND_STORE = (
    "One thread changes the element by an atomic function, another one stores to it, and nothing that puts the two in "
    "order was found. A store that comes later overwrites the change."
)
ONE_OWNER = "One thread reads what another one writes, in no order."


def verdict(
    examination: Examination,
    problem: Problem,
    goals: Sequence[Goal],
    because: Sequence[str],
    *,
    starter: bool,
    more: str = "",
) -> Verdict:
    """The answer to a source.

    because: what explains the failure, reasons or clues.  starter: the source is still the one that the
    exercise begins with: no cross for it.  more: what to add for a kernel that passed.
    """
    if examination.kernel is None:
        message = without_launch(examination.message)
        return Verdict(False, "\n".join([message, *map(as_line, because)]))
    failure = examination.first_failure
    picture = None
    if failure is not None:
        text = _failure(examination, failure, problem, because, starter)
        picture = _picture(examination, failure, problem)
    else:
        text = _checked(examination, problem)
        text += (
            f"\n{_OF_LAUNCH.sub(MUCH_WORK, examination.message)}"
            if examination.message
            else _measured(examination, goals)
        )
    text += _printed(failure or examination.outcomes[0], problem)
    done = failure is None and not examination.message and _reached(examination, goals)
    if done:
        return Verdict(True, f"{text}{more}")
    if starter:
        return Verdict(None, f"This is the kernel that the exercise begins with. {text}", picture)
    reasons = [as_line(sentence) for sentence in because]
    lines = text.split("\n")
    # Of a hazard its first sentence, and who did what there behind the reasons: that is long, and they are short.
    head = HEAD_OF_HAZARD if failure is not None and failure.report.findings else len(lines)
    return Verdict(False, "\n".join([*lines[:head], *reasons, *lines[head:]]), picture)


def passed(examination: Examination, goals: Sequence[Goal]) -> bool:
    """Right for every case, and every goal reached."""
    return (
        examination.kernel is not None
        and examination.first_failure is None
        and not examination.message
        and _reached(examination, goals)
    )


def _reached(examination: Examination, goals: Sequence[Goal]) -> bool:
    return all(goal.reached(value) for goal, value in zip(goals, examination.measures, strict=True))


def _checked(examination: Examination, problem: Problem) -> str:
    """'C is right for 8 shapes, … none is out of bounds, and no race that can change a value was found.'"""
    outcomes = examination.outcomes
    text = f"{problem.output} is right for {theme.plural(len(outcomes), 'shape')}"
    if not _whole_tiles(examination, problem):
        shapes = {problem.as_matrix(outcome.expected).shape for outcome in outcomes if outcome.expected.ndim == 2}
        axes = [axis for axis, sizes in zip(("rows", "columns"), zip(*shapes, strict=True), strict=False) if 1 in sizes]
        text += ", tails and single " + " and ".join(axes) + " included" if axes else ", tails included"
    twice = any(outcome.case.launches > 1 for outcome in outcomes)
    text += ", also when launched twice" if twice else ""
    accesses = sum(outcome.report.shared_accesses + outcome.report.global_accesses for outcome in outcomes)
    rest = "none is out of bounds, and no race that can change a value was found."  # but stores of equal ones
    return f"{text}. In {theme.plural(accesses, 'access', 'es')} {rest}"


def _whole_tiles(examination: Examination, problem: Problem) -> bool:
    """Whether every output consists of whole tiles, so that no thread is without an element."""
    shapes = (problem.as_matrix(outcome.expected).shape for outcome in examination.outcomes)
    pairs = (pair for shape in shapes for pair in zip(shape[-2:], problem.tile[-len(shape) :], strict=True))
    return not any(size % tile for size, tile in pairs)


def _measured(examination: Examination, goals: Sequence[Goal]) -> str:
    """' 2.5 sectors per load request: done, the goal is at most 2.6.'"""
    lines = []
    for goal, value in zip(goals, examination.measures, strict=True):
        done = "done" if goal.reached(value) else "not there yet"
        lines.append(f"\n{goal.stated(value)}: {done}, the goal is {goal.wanted}.")
    return "".join(lines)


def _printed(outcome: Outcome, problem: Problem) -> str:
    """What the kernel's printf said in one launch, the beginning of its first lines."""
    lines = outcome.printed.splitlines()
    if not lines:
        return ""
    most = trial.MOST_LETTERS
    shown = [line if len(line) <= most else f"{line[:most]} …" for line in lines[: trial.MOST_PRINTED]]
    more = len(lines) - len(shown)
    rest = [f"… and {theme.plural(more, 'line')} more"] if more else []
    return "\n".join([f"\nPrinted with {outcome.case.label(problem.scalars)}:", *shown, *rest])


UNWRITTEN = "which no thread has written"


def _failure(
    examination: Examination, failure: Outcome, problem: Problem, because: Sequence[str], starter: bool
) -> str:
    """What went wrong in a launch. Advice comes with it only where the reasons are not known, or are about the order
    of accesses; none to a starter, which is there to be understood."""
    source = examination.kernel.compiled.source  # type: ignore[union-attr]
    right = sum(outcome.passed for outcome in examination.outcomes)
    already = ""
    if right:
        tried = len(examination.outcomes)
        of = f"{tried}{' that were tried' if tried < len(problem.cases) else ''}"
        already = f"\n{theme.plural(right, 'shape')} of {of} {'is' if right == 1 else 'are'} right."
    launch = failure.case.label(problem.scalars)
    if failure.error is not None:
        return f"{launch}:\n{_stopped(failure.error, not all(isinstance(each, Clue) for each in because))}{already}"
    if failure.report.findings:
        reported = first_reported(failure, problem)
        more = _others(reported, failure.report.findings)
        if reported.kind in (SHARED_RACE, GLOBAL_RACE):
            already = ""  # C may be right in the launch that races, too
        advised = not starter and all(_OF_ORDER.search(reason) for reason in because)
        advised = advised and not any(repairs.PROVEN in reason for reason in because)  # that is the better advice
        return f"{launch}:\n{_hazard(reported, problem, source, advised)}{more}{already}"
    return f"{launch}:\n{_first_wrong(examination, failure, problem)}{already}"


def first_reported(failure: Outcome, problem: Problem) -> Finding:
    """The finding of a launch that is reported: what a block computes comes before what blocks exchange."""
    block = failure.case.block or getattr(problem, "block", ())  # an exercise that is no multiplication has none
    in_shared = [finding for finding in failure.report.findings if finding.kind == SHARED_RACE]
    if in_shared and block:
        return easiest(in_shared, block)
    return (in_shared or failure.report.findings)[0]


_OF_ORDER = re.compile(r"barrier|wait|__sync|fence", re.IGNORECASE)
# What the simulator advises about a launch, which in an exercise is not the learner's.
_OF_LAUNCH = re.compile(
    r"\nDynamic shared memory has the size that shared_mem=… in the launch gives it\."
    r"| Shared memory alone may get its size at the launch:[^\n]*shared_mem=…\."
    r"|; pass numpy\.\w+\(…\)| Pass numpy\.\w+\([^\n]*\)\."
    r"|, or say which instantiation is meant, in the way of \"[^\"]*\"|: compile the kernel by RawModule\([^)]*\)"
    r"| If the work is really that long, use a smaller problem, or gpusim\.record\(max_instructions=…\)\."
)
MUCH_WORK = " If it does, it executes far more instructions than the course's solution."


def without_launch(text: str) -> str:
    """What the simulator says, without its advice about a launch that is not the learner's."""
    return _OF_LAUNCH.sub("", text)


def _stopped(error: SimulatorError, explained: bool) -> str:
    """What stopped the kernel, without the advice to guard an index: that is one cause of many. explained: the reason
    is known."""
    what, _, advice = str(error).rpartition("\n")
    if isinstance(error, StepLimitExceeded):
        return what if explained else _OF_LAUNCH.sub(MUCH_WORK, str(error))
    return what if advice.startswith(GUARD) else without_launch(str(error))


# Advice that is one way of several, or needs a second launch
_USUAL = re.compile(
    r" (?:Put __sync(?:threads|warp)\(\)|If several threads|Where the value of|Write to another array) "
)
_OF_FLAGS = re.compile(r" Where one waits for a flag[^.]*\.")
_SIDE = re.compile(r"^    (?:thread|lane) .*\) (\w+)(?: \(atomically\))? \w+\[", re.MULTILINE)


def _hazard(finding: Finding, problem: Problem, source: str, advised: bool) -> str:
    """A hazard's sentences. Where two threads meet at an element of the result, or store to one of a tile, they do
    without the advice to put a barrier between them, or to add by an atomic function, which no exercise on matrices
    asks for; and in no exercise a thread waits for a flag. The place of a barrier is said only where it is proven: with
    one elsewhere a kernel may race no more, and still be wrong."""
    message = _OF_FLAGS.sub("", _in_its_call(finding.message, source))
    sides = frozenset(_SIDE.findall(message))
    advice = {frozenset(("writes",)): BOTH_STORE, frozenset(("writes", "updates")): ATOMIC_AND_STORE}.get(sides, "")
    if not advice and finding.kind == GLOBAL_RACE and isinstance(problem, Gemm | MatrixMap):
        advice = ONE_OWNER
    what, _, usual = message.rpartition("\n")
    return f"{what}\n{advice or _USUAL.split(usual)[0]}" if advised else what


def both_store(finding: Finding) -> bool:
    """Whether a finding is of two threads that store to one element."""
    return frozenset(_SIDE.findall(finding.message)) == {"writes"}


_CALL = re.compile(r"copies into (\w+)\[[^\n]*\n    called from line (\d+): (\w+)\(([^\n]*)")


def _in_its_call(message: str, source: str) -> str:
    """A hazard's sentences with the line that calls the function for the array that is named, and without it where
    several lines do. Of calls of one inline function the compiler may name the first one."""
    match = _CALL.search(message)
    if match is None or re.search(rf"\b{match[1]}\b", match[4]):
        return message
    lines = source.splitlines()
    calls = [n for n, line in enumerate(lines, 1) if re.search(rf"\b{match[3]}\s*\([^;]*&\s*{match[1]}\b", line)]
    if not calls:
        return message
    wrong = message[match.start(2) : match.end()]
    if len(calls) > 1:
        return message.replace(f"    called from line {wrong}\n", "")
    return message.replace(wrong, f"{calls[0]}: {lines[calls[0] - 1].strip()}")


def _others(shown: Finding, findings: Sequence[Finding]) -> str:
    """What else the sanitizer found: the other arrays with the same trouble, else how many findings there are."""
    others = [finding for finding in findings if finding is not shown]
    if not others:
        return ""
    arrays = sorted({other.array for other in others} - {shown.array, ""})
    sides = _SIDE.findall(shown.message)  # in their order: who reads first, and who writes
    if arrays and all(other.kind == shown.kind and _SIDE.findall(other.message) == sides for other in others):
        return f"\n(The same happens to {' and '.join(arrays)}.)"
    return f"\n({theme.plural(len(others), 'more finding')}.)"


def _first_wrong(examination: Examination, failure: Outcome, problem: Problem) -> str:
    """'C[0, 32] is −3.125, expected 7.5. Thread (0, 0) of block (2, 0) wrote it in line 24.'"""
    index = tuple(int(i) for i in np.argwhere(failure.wrong)[0])
    got, expected = failure.output[index], failure.expected[index]  # type: ignore[index]
    element = int(np.ravel_multi_index(index, failure.expected.shape))
    writer = trial.writer(examination.kernel, problem, failure.case, element)  # type: ignore[arg-type]
    element_of = f"{problem.output}[{', '.join(map(str, problem.index(index)))}]"
    if writer is None:
        return f"{element_of} was not written by any thread; expected {_number(expected)}."
    writes = f"Thread {_short(writer.thread)} of block {_short(writer.block)} wrote it in line {writer.line}."
    said = [_number(got), _number(expected)]
    if said[0] == said[1]:  # they differ behind the digits of that: as many as tell two numbers of their type apart
        said = [np.format_float_positional(value, unique=True).replace("-", "\u2212") for value in (got, expected)]
    about = "about " if getattr(problem, "rounded", False) else ""
    return f"{element_of} is {about}{said[0]}, expected {said[1]}. {writes}"


def _number(value: np.floating | np.integer) -> str:
    whole = isinstance(value, np.integer)
    return "NaN" if np.isnan(value) else format(value, "d" if whole else "g").replace("-", "\u2212")


def _short(index: tuple[int, int, int]) -> str:
    return f"({index[0]}, {index[1]})" if index[2] == 0 else coordinates(index)


def _tile(problem: Problem, case: Case) -> tuple[int, int]:
    """Rows and columns that one block of a launch should compute; all of them where blocks have other parts, or where
    the learner decides."""
    setup = problem.prepare(case)
    shape = problem.as_matrix(setup.expected).shape
    of_threads = case.block and not getattr(problem, "block_tile", None)
    tile = (case.block[1], case.block[0]) if of_threads else problem.tile
    tiles = np.prod([-(-size // part) for size, part in zip(shape, tile, strict=True)])
    either = getattr(problem, "rows_along", "") == "either"
    return shape if either or tiles != np.prod(setup.grid) else tile


def _picture(examination: Examination, failure: Outcome, problem: Problem) -> theme.Figure | None:
    """The map of the errors; none where a single element, or the sentence alone, says as much."""
    if failure.output is None or failure.expected.ndim != 2 or not failure.wrong.any():
        return None
    if not 1 < failure.wrong.size <= MOST_ELEMENTS:
        return None
    from helpers.pictures import page  # the first picture loads matplotlib
    from helpers.pictures.error_map.figure import ErrorMap, error_map_figure

    stores = trial.stores(examination.kernel, problem, failure.case)  # type: ignore[arg-type]
    several = np.zeros(stores.shape, bool)
    if any(finding.kind == GLOBAL_RACE for finding in failure.report.findings):
        several = trial.stored_by_several(examination.kernel, problem, failure.case)  # type: ignore[arg-type]
    wrong = failure.wrong | several  # what these hold is chance, in whatever order they were stored here
    shown = [problem.as_matrix(array) for array in (wrong, wrong & (stores == 0), several)]
    first = problem.index(tuple(int(i) for i in np.argwhere(wrong)[0]))
    data = ErrorMap(problem.output, shown[0], shown[1], first, _tile(problem, failure.case), shown[2])
    sizes = ", ".join(f"{name} = {size}" for name, size in failure.case.sizes.items())
    title = f"{problem.output} for {sizes}"
    if page.text_width(title, theme.TITLE) > WIDEST_TITLE * page.WIDTH:
        title = f"{problem.output} in this launch"  # the sizes stand above
    return error_map_figure(data, title)
