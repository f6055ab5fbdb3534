"""A learner's source judged by an exercise: every case, then the goals; and the slip that explains a failure."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.compiler import CompileError
from gpusim.errors import (
    ArgumentError,
    LaunchError,
    OutOfBounds,
    SimulatorError,
    StepLimitExceeded,
    UnsupportedInstruction,
)
from helpers.exercises.framework import trial
from helpers.exercises.framework.answers import Clue
from helpers.exercises.framework.problems import Case, Guess, NotApplicable, Problem
from helpers.exercises.framework.slips import EPILOGUES
from helpers.exercises.framework.trial import Outcome
from helpers.pictures import theme
from helpers.run import simulated

if TYPE_CHECKING:
    from gpusim import Kernel, Recording

NOT_YOURS = "That is a bug of the course, not of your kernel: please report it, with the kernel."
FATAL = (ArgumentError, LaunchError, StepLimitExceeded, UnsupportedInstruction)  # the next case is no better


BARRIERS = "barriers passed by blocks"  # what a goal counts


@dataclass(frozen=True, eq=False)
class Judged:
    """What goals look at.

    kernel: compiled.  recording: of a launch.  threads: of a block.  shared_bytes: dynamic, of a block.  barriers: that
    the launch's blocks passed.  all_blocks: records the launch once more, with the addresses of every block.
    """

    kernel: Kernel
    recording: Recording
    threads: int
    shared_bytes: int
    barriers: int
    all_blocks: Callable[[], Recording]


@dataclass(frozen=True)
class Goal:
    """A number that the kernel must reach besides being right.

    what: "sectors per load request", as it follows a number.  measure: the number.  limit: at most, or at least, this.
    digits: after the decimal point.  percent: shown as a percentage.  predicted: it is a predicted time.
    explain: why it is not reached, said where no known wrong solution explains it; "" where there is nothing to
    say.  detail: what kernels have in common, besides the number, that miss it for the same reason.  limits_room: it
    says how much shared memory a block may take.
    """

    what: str
    measure: Callable[[Judged], float]
    limit: float
    at_least: bool = False
    digits: int = 0
    percent: bool = False
    predicted: bool = False
    explain: Callable[[Judged], str] = lambda _: ""
    detail: Callable[[Judged], Hashable] = lambda _: ()
    limits_room: bool = False

    def reached(self, value: float) -> bool:
        """Whether a measured value will do."""
        return value >= self.limit if self.at_least else value <= self.limit

    def stated(self, value: float) -> str:
        """'2.5 sectors per load request', with as many digits as tell a value that will not do from the limit."""
        digits = self.digits
        while not self.reached(value) and self._number(value, digits) == self._number(self.limit, digits):
            digits += 1
        number = self._number(value, digits)
        return f"{number} {_of_one(self.what) if number == '1' else self.what}"

    @property
    def wanted(self) -> str:
        """'at most 2.6'"""
        return f"at {'least' if self.at_least else 'most'} {self._number(self.limit, self.digits)}"

    def _number(self, value: float, digits: int) -> str:
        return f"{100 * value:.{digits}f} %" if self.percent else theme.thousands(value, digits)


_SINGULAR = {"are": "is", "have": "has", "lie": "lies", "wait": "waits", "depend": "depends"}


def _of_one(what: str) -> str:
    """'load request to B' for 'load requests to B': the first plural and its verb, of what a goal counts."""
    noun = what if what.startswith("of ") else re.sub(r"(\w\w)(?:(?<=ss)es|s)\b", r"\1", what, count=1)
    return re.sub(rf"\b(?:{'|'.join(_SINGULAR)})\b", lambda verb: _SINGULAR[verb[0]], noun, count=1)


@dataclass(frozen=True, eq=False)
class Examination:
    """Everything that was found about a source.

    kernel: None if it does not compile; then `message` says why.  outcomes: of the cases, in order, up to the first
    that makes the rest hopeless.  measures: of the goals, () unless the kernel is right.  traffic: of the launch that
    they were measured on.  message: why there are none.  explained: why goals are not reached, as far as they can tell,
    those before the one that could not be measured, too.
    """

    kernel: Kernel | None
    outcomes: tuple[Outcome, ...] = ()
    measures: tuple[float, ...] = ()
    traffic: frozenset[tuple[Any, ...]] = frozenset()
    message: str = ""
    explained: tuple[str, ...] = ()

    @property
    def first_failure(self) -> Outcome | None:
        """Of the cases that are not passed one with wrong values or a hazard, if there is one, else the first."""
        failed = [outcome for outcome in self.outcomes if not outcome.passed]
        with_findings = [outcome for outcome in failed if outcome.report.findings]
        return (with_findings or failed or [None])[0]

    @property
    def signature(self) -> tuple[Any, ...]:
        """Equal for two sources that do the same, right or wrong."""
        return tuple(outcome.signature for outcome in self.outcomes), self.measures, self.traffic


def examine(source: str, problem: Problem, goals: Sequence[Goal] = (), judged: Case | None = None) -> Examination:
    """Compile, run all cases under the sanitizer, and if all are right measure the goals on the case `judged`.

    Never raises for what a learner wrote.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of the launch: the verdict has its reasons
            return _examined(source, problem, goals, judged)
    except Exception as error:  # a bug of the course must not look like the learner's
        what = f"{type(error).__name__}: {error}"
        return Examination(None, message=f"The simulator stumbled over this kernel ({what}). {NOT_YOURS}")


def _examined(source: str, problem: Problem, goals: Sequence[Goal], judged: Case | None) -> Examination:
    try:
        kernel = simulated(source, problem.entry)
    except (CompileError, SimulatorError) as error:
        return Examination(None, message=str(error))
    outcomes: list[Outcome] = []
    for case in problem.cases:
        outcomes.append(_outcome(kernel, problem, case))
        if isinstance(outcomes[-1].error, FATAL):
            break
    if not goals or not all(outcome.passed for outcome in outcomes):
        return Examination(kernel, tuple(outcomes))
    measures: list[float] = []
    explained: list[str] = []
    try:
        launch = measured(kernel, problem, judged)
        for goal in goals:
            measures.append(goal.measure(launch))
            explained += _explained(launch, (goal,), measures[-1:])
    except SimulatorError as error:
        return Examination(kernel, tuple(outcomes), message=str(error), explained=tuple(explained))
    return Examination(kernel, tuple(outcomes), tuple(measures), _traffic(launch, goals), explained=tuple(explained))


def reaches(source: str, problem: Problem, goals: Sequence[Goal], judged: Case | None) -> bool:
    """Whether a right source reaches all goals. A time is predicted only if all that is counted is reached."""
    if not goals:
        return True
    try:
        launch = measured(simulated(source, problem.entry), problem, judged)
        return all(goal.reached(goal.measure(launch)) for goal in sorted(goals, key=lambda goal: goal.predicted))
    except SimulatorError:
        return False


def _explained(launch: Judged, goals: Sequence[Goal], measures: Sequence[float]) -> Iterator[str]:
    """Why goals are not reached, as far as they can tell."""
    for goal, value in zip(goals, measures, strict=True):
        if not goal.reached(value) and (why := goal.explain(launch)):
            yield why


def measured(kernel: Kernel, problem: Problem, judged: Case | None) -> Judged:
    """The launch that goals are measured on. Raises SimulatorError."""
    case = judged or problem.cases[-1]
    setup = problem.prepare(case)
    recording = trial.record(kernel, setup, blocks=((0, 0, 0),), checks="report")
    threads = int(np.prod(setup.block))
    return Judged(
        kernel, recording, threads, setup.shared_bytes, recording.checks.barriers,
        lambda: trial.record(kernel, problem.prepare(case)),
    )  # fmt: skip


def _traffic(launched: Judged, goals: Sequence[Goal]) -> frozenset[tuple[Any, ...]]:
    """What a launch asked of memory, alike for kernels that are slow for the same reason, whatever they call things.

    For each kind of access its requests, sectors and wavefronts; how often blocks waited; the very addresses of
    block (0, 0, 0), in whatever order; and the details of the goals.
    """
    names = {parameter.name: number for number, parameter in enumerate(launched.kernel.compiled.parameters)}
    launch = launched.recording.launches[-1]
    kinds = {(space, op, array) for _, space, op, array in launch.counts}
    totals = {
        (space, op, names.get(array, -1))
        + tuple(launched.recording.total(what, space, op, array) for what in ("requests", "sectors", "wavefronts"))
        for space, op, array in kinds
    }
    addresses = Counter(
        (
            trace.space, trace.op, names.get(trace.array, -1), trace.width,
            (trace.addresses - (trace.base if trace.space == "global" else 0)).tobytes(),
            b"" if trace.active is None else trace.active.tobytes(),
        )
        for trace in launch.traces
    )  # fmt: skip
    details = {(goal.what, goal.detail(launched)) for goal in goals}
    return frozenset(
        totals | details | {("barriers", launched.barriers), ("addresses", hash(frozenset(addresses.items())))}
    )


def has_wrong_numbers(outcomes: Sequence[Outcome]) -> bool:
    """Whether a case left numbers that are wrong: then they tell which slip it was. NaN, what was not written, and a
    kernel that was stopped do not."""
    return any(
        outcome.output is not None and not outcome.report.findings and np.isfinite(outcome.output[outcome.wrong]).any()
        for outcome in outcomes
    )


SAME = "Exactly the same happens with"
SAME_STOP = "A launch stops in the same way with"  # where it stops was compared, and not what it had stored
SAME_WHERE_ENDED = "In the launches that run to their end exactly the same happens with"


def as_slip(*because: str, what: str = SAME) -> Clue:
    """The sentence on a slip, or on two together, recognised by what they do alone: the learner's text may be another
    one.

    what: was compared.
    """
    which = "a known slip. The answer to it is:"
    if len(because) > 1:
        which = "two known slips together. The answers to them are:"
    return Clue(f"{what} {which} {' '.join(f'“{sentence}”' for sentence in because)}")


def library_slips(outcomes: Sequence[Outcome], problem: Problem) -> tuple[str, ...]:
    """What is said of the first slip, or pair of slips, that reproduces all outcomes bit for bit; () if there is none.

    Every case must have run to its end, or have left the arrays where the slip would, too; what is done with the
    product shows in the cases that ran alone. One at least must have left wrong values: that a kernel is stopped at
    some shapes and right at others, many slips have in common.
    """
    if any(outcome.report.findings for outcome in outcomes):
        return ()
    if not any(outcome.output is not None and outcome.wrong.any() for outcome in outcomes):
        return ()
    if any(outcome.error is not None and not isinstance(outcome.error, OutOfBounds) for outcome in outcomes):
        return ()
    small_first = sorted(outcomes, key=lambda outcome: outcome.expected.size)
    ran = [outcome for outcome in small_first if outcome.output is not None]
    finishes = {(slip.sentence,) for slip in EPILOGUES}  # they show where the kernel ran, though a guard be missing
    same = _reproducing(problem.guesses(), small_first)
    if not same and any(outcome.case.beta for outcome in ran):
        same = _reproducing((guess for guess in problem.guesses() if guess.sentences in finishes), ran)
    return (as_slip(*same, what=SAME if len(ran) == len(outcomes) else SAME_WHERE_ENDED),) if same else ()


def _reproducing(guesses: Iterable[Guess], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The sentences of the first guess that leaves what all outcomes have."""
    for guess in guesses:
        try:
            if all(_reproduces(outcome, guess.result(outcome.case)) for outcome in outcomes):
                return guess.sentences
        except NotApplicable:
            continue
    return ()


def _reproduces(outcome: Outcome, result: np.ndarray | None) -> bool:
    if outcome.output is None or result is None:
        return outcome.output is None and result is None
    return bool(trial.same(outcome.output, result).all())


def does_the_same(
    source: str, examination: Examination, problem: Problem, goals: tuple[Goal, ...], judged: Case | None
) -> bool:
    """Whether a known wrong source has the very outcomes and measures that were found, and its missed goals can tell as
    much about it."""
    # Small cases first: one launch tells most sources apart. A single element tells little.
    outcomes = sorted(
        examination.outcomes, key=lambda outcome: (outcome.passed, outcome.expected.size < 2, outcome.expected.size)
    )
    try:
        kernel = simulated(source, problem.entry)
        if any(_outcome(kernel, problem, outcome.case).signature != outcome.signature for outcome in outcomes):
            return False
        if not examination.measures:
            return True
        # What a launch asked of memory is known at once; a goal may take launches of its own.
        launch, measures = known_launch(kernel, problem, judged), examination.measures
        return (
            _traffic(launch, goals) == examination.traffic
            and all(
                _known_measure(kernel, problem, judged, goal) == value
                for goal, value in zip(goals, measures, strict=True)
            )
            and len([*_explained(launch, goals, measures)]) == len(examination.explained)
        )
    except (CompileError, SimulatorError):
        return False


@lru_cache(maxsize=128)
def _outcome(kernel: Kernel, problem: Problem, case: Case) -> Outcome:
    """What a kernel does; for a known wrong one it is asked in every check of the same exercise."""
    return trial.run(kernel, problem, case)


@lru_cache(maxsize=32)
def known_launch(kernel: Kernel, problem: Problem, judged: Case | None) -> Judged:
    """`measured` of a kernel of the course's, which is asked for in every check of the same exercise."""
    return measured(kernel, problem, judged)


@lru_cache(maxsize=128)
def _known_measure(kernel: Kernel, problem: Problem, judged: Case | None, goal: Goal) -> float:
    return goal.measure(known_launch(kernel, problem, judged))
