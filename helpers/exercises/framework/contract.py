"""What the exercises keep of their promises, counted: known wrong solutions, how many are diagnosed, how long it takes.

    python -m helpers.exercises --contract [NAME …]

Every solution, starter and known wrong solution is submitted as a learner would; the command keeps no progress. A
wrong solution is *diagnosed* if the verdict tells its own reason. Tests hold every single one of them to it
(tests/exercises/test_contract.py); this is the table to read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.exercise import Exercise, KernelExercise
from helpers.exercises.framework.values import ValueExercise


@dataclass(frozen=True)
class Kept:
    """One exercise.

    wrong: how many known wrong solutions there are, diagnosed: how many get their own reason.  solved: the solution
    passes.  waits: the starter is neither accepted nor marked wrong.  seconds: of CPU time of the slowest check.
    """

    exercise: Exercise
    wrong: int
    diagnosed: int
    solved: bool
    waits: bool
    seconds: float


def kept(exercise: Exercise) -> Kept:
    """Submit everything that is known of an exercise. TypeError for one that is neither a kernel nor a value."""
    times: list[float] = []

    def timed(check: Callable[[], Verdict]) -> Verdict:
        started = time.process_time()
        verdict = check()
        times.append(time.process_time() - started)
        return verdict

    solved = timed(lambda: exercise.check(exercise.solved)).passed is True
    waits = timed(exercise.check).passed is None
    verdicts = [(because, timed(lambda typed=answer: exercise.check(typed))) for answer, because in wrong(exercise)]
    diagnosed = sum(verdict.passed is False and because in verdict.sentence for because, verdict in verdicts)
    return Kept(exercise, len(verdicts), diagnosed, solved, waits, max(times))


def wrong(exercise: Exercise) -> Iterator[tuple[object, str]]:
    """(answer, reason) of the known wrong solutions; the starter, which is met first and is no mistake, is left out."""
    if isinstance(exercise, KernelExercise):
        for known in exercise.wrong:
            if known.version != "starter":
                yield exercise.wrong_source(known), known.because
    elif isinstance(exercise, ValueExercise):
        for known in exercise.wrong:
            yield known.answer, known.because
    else:
        raise TypeError(f"{exercise.name} is a {type(exercise).__name__}, of which no wrong solutions are known")


def table(exercises: Iterable[Exercise]) -> Iterator[str]:
    """The lines of the table, each as soon as it is known; the last one sums up."""
    yield "| notebook | exercise | difficulty | wrong solutions | diagnosed | solution | starter | slowest check, s |"
    yield "|---|---|---|--:|--:|---|---|--:|"
    rows = []
    for exercise in exercises:
        row = kept(exercise)
        rows.append(row)
        accepted, open_ = ("accepted" if row.solved else "REFUSED"), ("open" if row.waits else "JUDGED")
        yield (
            f"| {exercise.notebook} | {exercise.name} | {'●' * exercise.difficulty} | {row.wrong} | {row.diagnosed} | "
            f"{accepted} | {open_} | {row.seconds:.2f} |"
        )
    wrong_all, diagnosed = sum(row.wrong for row in rows), sum(row.diagnosed for row in rows)
    slowest = max((row.seconds for row in rows), default=0.0)
    yield f"| all | {len(rows)} | | **{wrong_all}** | **{diagnosed}** | | | **{slowest:.2f}** |"
