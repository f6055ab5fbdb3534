"""An exercise: a kernel to change, what it must do, and the way there: pictures, checks, hints, the solution."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.compiler import CompileError
from gpusim.errors import SHARED_RACE, SimulatorError
from helpers.exercises.framework import (
    compiler_errors,
    convergence,
    feedback,
    integers,
    judge,
    marked,
    on_gpu,
    progress,
    reasons,
    repairs,
    text_slips,
    trial,
)
from helpers.exercises.framework.answers import Clue, Verdict
from helpers.exercises.framework.card import Answer, Card, Hints
from helpers.exercises.framework.facts import Facts
from helpers.exercises.framework.judge import Examination, Goal, Judged
from helpers.exercises.framework.problems import Case, Problem
from helpers.pictures import theme
from helpers.pictures.source_diff import Diff, source_diff
from helpers.run import simulated

if TYPE_CHECKING:
    from gpusim import Kernel, Recording

SOURCES = Path(__file__).parents[1] / "sources"
Picture = Callable[["Kernel", Problem], "theme.Figure"]


@dataclass(frozen=True)
class Wrong:
    """A known wrong solution.

    version: its name; without changes a version of the marked source.  because: the sentence that explains it.
    changes: (text, other text), made to the solution.  text: a pattern that the learner's source must have, for a
    reason that speaks of certain code.
    """

    version: str
    because: str
    changes: tuple[tuple[str, str], ...] = ()
    text: str = ""


@dataclass(frozen=True, eq=False)
class Exercise:
    """What all exercises have.

    name: what `exercises.get` finds it by.  notebook: its number, "04".  difficulty: 1 to 3.
    task: what is to be done, in a few sentences.  hints: three steps towards the solution.
    """

    name: str
    notebook: str
    title: str
    difficulty: int
    task: str
    hints: tuple[str, str, str]

    def hint(self, step: int | None = None) -> Hints | str:
        """Three hints and the solution, each folded until it is opened; with a step, 1 to 3, that hint alone."""
        if step is None:
            return Hints(self.hints, self.solution())
        if step not in (1, 2, 3):
            return f"There are three hints: hint(1), hint(2), hint(3); {step!r} is none of them."
        return self.hints[step - 1]

    def solution(self) -> Diff | Answer:
        """The solution: what changes from the starter."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return Card(self.notebook, self.title, self.difficulty, self.task).bundle()


@dataclass(frozen=True, eq=False)
class KernelExercise(Exercise):
    """A CUDA kernel to change: sources/<name>.cu.

    problem: what the kernel computes.  picture: what `show` draws.  wrong: known wrong solutions.  goals, judged:
    numbers to reach besides being right, counted in the machine code, and the case they are measured on.  remark: what
    an accepted kernel still lacks, measured on that case, "" if nothing.  before: the exercise whose kernel this one
    improves on, "" for none.
    """

    problem: Problem
    picture: Picture
    wrong: tuple[Wrong, ...]
    goals: tuple[Goal, ...] = ()
    judged: Case | None = None
    remark: Callable[[Judged], str] = lambda _: ""
    before: str = ""

    @cached_property
    def marked(self) -> marked.Marked:
        """The source with its versions."""
        return marked.read(SOURCES / f"{self.name}.cu")

    @property
    def starter(self) -> str:
        """What the learner begins with: a complete kernel that runs, and is wrong or slow."""
        return self.marked.version(marked.STARTER)

    @property
    def solved(self) -> str:
        """A complete kernel that passes."""
        return self.marked.version(marked.SOLUTION)

    @property
    def lines(self) -> int:
        """Lines of CUDA that the solution has beyond the starter; comments, blank lines and braces are not counted."""
        written = Counter(code_of(self.solved)) - Counter(code_of(self.starter))
        return sum(count for line, count in written.items() if line.strip("{}; "))

    def show(self, source: str | None = None) -> theme.Figure | Verdict:
        """What the kernel touches, drawn from its recorded addresses, or why it cannot run. None: the starter."""
        return self._drawn(source, self.picture)

    def _drawn(self, source: str | None, picture: Picture) -> theme.Figure | Verdict:
        problem = _not_a_source(source)
        if problem:
            return problem
        try:
            with _without_advice_on_launches():
                return picture(simulated(source or self.starter, self.problem.entry), self.problem)
        except (CompileError, SimulatorError, LookupError, ValueError) as error:
            return Verdict(False, str(error))

    def check(self, source: str | None = None) -> Verdict:
        """Is it right, for every shape, without races, and are the goals reached? None: the starter."""
        with _without_advice_on_launches():
            return self._checked(source)

    def _checked(self, source: str | None) -> Verdict:
        problem = _not_a_source(source)
        if problem:
            return problem
        text = self.starter if source is None else source
        untouched = text.strip() == self.starter.strip()
        slip = text_slips.found_in(self._launched(text), self._computes)
        if slip is not None:
            progress.note(self.name, solved=False)
            return Verdict(False, slip, alone=True)
        examination = self.examine(text)
        if not feedback.passed(examination, self.goals):
            because: tuple[str, ...] = ()  # the starter is there to be understood by its learner
            if not untouched:
                because = self._because(examination, text)
                progress.note(self.name, solved=False)
            said = feedback.verdict(examination, self.problem, self.goals, because, starter=untouched)
            return replace(said, alone=not untouched and not self._draws(examination))
        assert examination.kernel is not None
        course = simulated(self.solved, self.problem.entry)
        largest = max(self.problem.cases, key=lambda case: math.prod(case.sizes.values()))
        case = self.judged or largest  # of a single element a remark says little
        both = (
            judge.measured(examination.kernel, self.problem, case),
            judge.known_launch(course, self.problem, case),
        )
        if apart := self._right_by_luck(examination, text) or _rounded_to_half(*both):
            progress.note(self.name, solved=False)
            return Verdict(False, f"{self.problem.output} is right here.\nWhy that is not enough: {apart}", alone=True)
        device = on_gpu.run(text, self.problem)
        if not device.passed:
            return Verdict(False, device.sentence)
        progress.note(self.name, solved=True)
        from helpers.exercises.framework import speed  # a kernel that passed: now the model of its time is loaded

        timed = any(goal.predicted for goal in self.goals) and not speed.is_multiplication(self.problem)
        unpredicted = timed or _far_more_work(*both) or _loads_by_few(*both)
        fast = "" if unpredicted else speed.line(examination.kernel, text, self.problem, self.name, self.before)
        more = f"{fast}{device.sentence}{self._remarks(*both)}"
        return feedback.verdict(examination, self.problem, self.goals, (), starter=False, more=more)

    def _launched(self, source: str) -> str:
        """A source without comments, and without functions and lines that are no part of the launch."""
        return integers.launched(text_slips.without_comments(source), self.problem.entry.partition("<")[0])

    def _right_by_luck(self, examination: Examination, source: str) -> str:
        """Why a kernel whose numbers are right is refused; "" if it is not."""
        facts = [Facts(source, examination, outcome, self.problem, self.solved) for outcome in examination.outcomes]
        return (
            next(filter(None, map(convergence.explained, facts)), "")
            or convergence.of_those_who_happen_to_be_here(facts[0])
            or reasons.reads_where_beta_is_0(facts[0])
            or reasons.asks_for_warpid(facts[0])
        )

    def _draws(self, examination: Examination) -> bool:
        """Whether the picture shows what is wrong: it is made from a launch of its own, in which another case's failure
        need not be seen."""
        if examination.first_failure is None:
            return self._misses_there(examination)
        if examination.kernel is None or not getattr(self.picture, "draws_races", False):
            return False
        shown = trial.run(examination.kernel, self.problem, self.picture.case)  # type: ignore[attr-defined]
        return any(finding.kind == SHARED_RACE for finding in shown.report.findings)

    def _misses_there(self, examination: Examination) -> bool:
        """Whether a goal that is missed is missed in the launch of the picture, too, where that has one."""
        missed = [
            goal
            for goal, value in zip(self.goals, examination.measures, strict=False)
            if not goal.reached(value) and not goal.predicted
        ]
        case = getattr(self.picture, "case", None)
        if not missed or case is None or case == self.judged or examination.kernel is None:
            return True
        try:
            there = judge.measured(examination.kernel, self.problem, case)
            return not all(goal.reached(goal.measure(there)) for goal in missed)
        except SimulatorError:
            return True

    def _remarks(self, own: Judged, course: Judged) -> str:
        """What an accepted kernel still lacks, each remark in a line of its own."""
        remarks = (self.remark(own), *(remark(own, course) for remark in self._due_remarks()))
        return "".join(f"\n{remark}" for remark in remarks if remark)

    def examine(self, source: str) -> Examination:
        """Everything that `check` finds out in the simulator."""
        return judge.examine(source, self.problem, self.goals, self.judged)

    def _because(self, examination: Examination, source: str) -> tuple[str, ...]:
        """Why a source fails: it is a known wrong one, or there is a change with which it is right; else the clues that
        its text, its launches and its missed goals give, or a slip that does exactly the same.

        Numbers tell slips apart where there are any. Where elements are merely not written, or NaN, or where the kernel
        was stopped, many slips leave the same: there the text is asked first.
        """
        if examination.kernel is None:
            why = compiler_errors.explanation(examination.message, source, self.solved)
            return (why,) if why else ()
        same_text = [
            known for known in self.wrong if self._fits(known, source) and alike(self.wrong_source(known), source)
        ]
        if same_text:
            if self._has_the_names(same_text[0], source):
                return (same_text[0].because,)
            return self._repaired(examination, source) or (judge.as_slip(same_text[0].because),)
        if examination.first_failure is None:
            if examination.message:
                return tuple(map(Clue, examination.explained)) or self._stored_by_many(examination)
            counted = examination.explained or self._loads_more(examination)
            known = self._known(examination, source) or tuple(map(Clue, counted))
            return known or self._repaired(examination, source) or self._lacks(examination)
        if in_text := text_slips.explanation(self._launched(source), self._computes):
            # A line that is found elsewhere by trying is the cause, and not the slip that only stands in the text.
            repaired = self._repaired(examination, source)
            elsewhere = repaired and not repairs.lines_named(repaired[0]) & repairs.lines_named(in_text)
            return repaired if elsewhere else (Clue(in_text),)
        if by_text := reasons.of(source, examination, self.problem, self.solved, reasons.BY_TEXT):
            return by_text
        asked = (source, examination, self.problem, self.solved)
        numbers = judge.has_wrong_numbers(examination.outcomes)
        observed = () if numbers else reasons.of(*asked)
        if not observed:
            if named := judge.library_slips(examination.outcomes, self.problem) or self._known(examination, source):
                return named
            observed = (reasons.of(*asked) if numbers else ()) or reasons.of(*asked, reasons.LAST)
        repaired = self._repaired(examination, source)
        return (*observed, *repaired) or reasons.of_others(*asked)

    def _stored_by_many(self, examination: Examination) -> tuple[str, ...]:
        """That a right kernel stores an element many times as often as the course's solution does."""
        course = simulated(self.solved, self.problem.entry)
        for case in self.problem.cases:
            most, due = (
                int(trial.stores(kernel, self.problem, case).max())  # type: ignore[arg-type]
                for kernel in (examination.kernel, course)
            )
            if most > MANY_STORES * due:
                return (
                    f"With {case.label(self.problem.scalars)}, an element of {self.problem.output} is stored {most} "
                    f"times, and by the course's solution {theme.plural(due, 'time')} at most.",
                )
        return ()

    def _repaired(self, examination: Examination, source: str) -> tuple[str, ...]:
        """The one change with which a source is right, if there is one."""
        failed = examination.first_failure
        findings = failed.report.findings if failed is not None else ()
        stored = {line for finding in findings if feedback.both_store(finding) for line in finding.lines}
        racing = next((finding.lines for finding in findings if finding.kind == SHARED_RACE), ())
        passes = partial(self._is_right_with, examination)
        # Where a goal is missed, the kernel is right as it stands, and that tells no line from another.
        computes = self._computes if failed is not None else lambda _: False
        stopped = getattr(failed.error, "line", None) if failed is not None else None
        sentence = repairs.explained(
            source, self.solved, passes, racing=racing, stopped=stopped, stored=stored, computes=computes
        )
        if failed is None:
            sentence = sentence.replace(repairs.PROVEN, repairs.REACHED)
        return (sentence,) if sentence else ()

    def _lacks(self, examination: Examination) -> tuple[str, ...]:
        """What a right kernel that misses a goal lacks beside the course's solution, in the launch that is counted."""
        course = simulated(self.solved, self.problem.entry)
        both = (
            judge.measured(examination.kernel, self.problem, self.judged),  # type: ignore[arg-type]
            judge.known_launch(course, self.problem, self.judged),
        )
        due = (*self._due_remarks(), _narrower)
        remark = next(filter(None, (remark(*both) for remark in due)), "").removeprefix("Right, but ")
        return (Clue(f"{remark[0].upper()}{remark[1:]}"),) if remark else ()

    def _due_remarks(self) -> list[Callable[[Judged, Judged], str]]:
        """What is asked of a right kernel beside the course's solution: nothing of its room where a goal limits that,
        for then the course's is no measure."""
        limits_room = any(goal.limits_room for goal in self.goals)
        return [remark for remark in REMARKS if not (limits_room and remark is _more_shared)]

    def _loads_more(self, examination: Examination) -> tuple[str, ...]:
        """Which line of a right kernel loads more floats of an array than the course's solution does in all."""
        from helpers.exercises.framework import goals  # it knows the machine code: not before a goal is missed

        if not any(goal.what == goals.FLOATS_LOADED for goal in self.goals) or examination.kernel is None:
            return ()
        course = simulated(self.solved, self.problem.entry)
        own, due = (
            goals.loaded(judge.measured(kernel, self.problem, self.judged)) for kernel in (examination.kernel, course)
        )
        text = text_slips.without_comments(examination.kernel.compiled.source)
        for number, lines in own.items():
            line, floats = max(lines.items(), key=lambda pair: pair[1])
            needed = sum(due.get(number, {}).values())
            if floats > needed > 0:
                name = examination.kernel.compiled.parameters[number].name
                end = sum(len(part) + 1 for part in text.splitlines()[:line]) - 1
                heads = [at for at, begin, last, _ in integers.loops(text) if begin <= end <= last]
                inside = f" It stands in the loops of lines {theme.runs(heads)}." if len(heads) > 1 else ""
                return (
                    f"Line {line} loads {theme.thousands(floats)} floats of {name}, and the course's solution "
                    f"{theme.thousands(needed)} in all.{inside}",
                )
        return ()

    def _computes(self, source: str) -> bool:
        """Whether a source is right in all cases, whatever its goals say."""
        return trial.is_right(source, self.problem, self.problem.cases)

    def _is_right_with(self, examination: Examination, source: str) -> bool:
        """Whether a changed source passes; the case in which the learner's failed is tried first. Of a kernel that
        computed something else no time is asked: a prediction takes longer than all else."""
        failed = examination.first_failure
        cases = sorted(self.problem.cases, key=lambda case: failed is None or case != failed.case)
        goals = [goal for goal in self.goals if failed is None or not goal.predicted]
        outcomes = trial.outcomes_of_right(source, self.problem, cases)
        if not outcomes or not judge.reaches(source, self.problem, goals, self.judged):
            return False
        if text_slips.found_in(self._launched(source), self._computes) is not None:
            return False
        return not self._right_by_luck(Examination(simulated(source, self.problem.entry), outcomes), source)

    def wrong_source(self, known: Wrong) -> str:
        """The complete text of a known wrong solution. ValueError if what it changes is not in the solution."""
        if not known.changes:
            return self.marked.version(known.version)
        text = self.solved
        for before, after in known.changes:
            if before not in text:
                raise ValueError(f"{known.version}: the solution of {self.name} has no text {before!r}.")
            text = text.replace(before, after)
        return text

    def _known(self, examination: Examination, source: str) -> tuple[str, ...]:
        """The sentence of the known wrong solution that does exactly what was found. Where the lines that the wrong one
        lacks do not make the source right, a change elsewhere that does is the better answer."""
        passes = partial(self._is_right_with, examination)
        what = judge.SAME
        if any(outcome.error is not None for outcome in examination.outcomes):
            shown = examination.first_failure
            what = judge.SAME_STOP if shown is not None and shown.error is not None else judge.SAME_WHERE_ENDED
        for known in self._doing_the_same(examination, source):
            lines = self._changed_by(self.wrong_source(known), source)
            elsewhere = not repairs.explained(source, self.solved, passes, lines)
            repaired = self._repaired(examination, source) if elsewhere else ()
            return repaired or (judge.as_slip(known.because, what=what),)
        return ()

    def _has_the_names(self, known: Wrong, source: str) -> bool:
        """Whether a source gives the names that the reason for a known wrong solution speaks of to the same things."""
        own, other = _words(source), _words(self.wrong_source(known))
        if len(own) == len(other):
            renamed = {theirs for mine, theirs in zip(own, other, strict=True) if mine != theirs}
        else:
            renamed = {*other} - {*own}
        return not renamed & {*re.findall(r"\w+", known.because)}

    def _doing_the_same(self, examination: Examination, source: str) -> Iterator[Wrong]:
        """The known wrong solutions that do exactly what was found."""
        for known in self.wrong:
            text = self.wrong_source(known)
            if not self._fits(known, source) or self._is_right_there(text, source):
                continue
            if judge.does_the_same(text, examination, self.problem, self.goals, self.judged):
                yield known

    def _is_right_there(self, wrong: str, source: str) -> bool:
        """Whether a source has, as the solution has them, all the lines in which a wrong one is another: then its
        mistake is elsewhere, though it leaves the same numbers."""
        missing = Counter(map(repairs.code, self._changed_by(wrong, source)))
        return bool(missing) and not missing - Counter(map(repairs.code, source.splitlines()))

    def _changed_by(self, wrong: str, source: str) -> list[str]:
        """The lines of the solution that a wrong one does not have, with the names that a source has for its
        variables."""
        solved, other = (repairs.with_names_of(source, self.solved, text).splitlines() for text in (self.solved, wrong))
        due = Counter(map(repairs.code, solved)) - Counter(map(repairs.code, other))
        return [line for line in solved if due[repairs.code(line)]]

    def _fits(self, known: Wrong, source: str) -> bool:
        """Whether a source has the code that the reason for a known wrong solution speaks of: what it shall have, and
        the comparison which it says is the wrong one."""
        text = "\n".join(code_of(source))
        compared = _NOT_THIS.search(known.because)
        has_it = compared is None or re.search(rf"(?<![-<>=]){compared[1]}(?![<>=(])", text) is not None
        return has_it and re.search(known.text, text) is not None

    def solution(self) -> Diff:
        """What changes from the starter to the solution."""
        return source_diff(self.starter, self.solved, ("the starter", "the solution"), context=3)

    def cells(self) -> tuple[str, ...]:
        """The notebook cells in which the exercise is solved."""
        head = f'{self.name} = exercises.get("{self.name}")\n{self.name}'
        return head, f"%%cuda {self.name}{self.starter}".rstrip("\n"), f"{self.name}.hint()"


_NOT_THIS = re.compile(r"\bnot (?:by |with )?([<>]=?)(?=[.,;:]?(?:\s|$))")  # ">=, not >."


@contextmanager
def _without_advice_on_launches() -> Iterator[None]:
    """Without the simulator's warning about the launch of a kernel with several extern __shared__ arrays: the launch is
    the exercise's, and the verdict says what is wrong."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has several arrays of dynamic shared memory")
        yield


MANY_STORES = 8  # times as often as by the course's solution
MANY_SECTORS = 1.5  # times as many as the course's solution needs for a request


def _scattered(own: Judged, course: Judged) -> str:
    """Which array a right kernel loads in many more sectors per request than the course's solution does, and in more of
    them in all; "" if none, or if it fetches no more sectors of all arrays together."""
    fetched, due_in_sum = (judged.recording.total("sectors", "global", "ld") for judged in (own, course))
    if fetched <= due_in_sum:
        return ""
    for mine, theirs in zip(own.kernel.compiled.parameters, course.kernel.compiled.parameters, strict=False):
        both = [_sectors(judged.recording, parameter.name) for judged, parameter in ((own, mine), (course, theirs))]
        (in_all, sectors), (due_in_all, due) = both
        if in_all > due_in_all and sectors > MANY_SECTORS * due > 0:  # a wide load takes more, and fewer take less
            return (
                f"Right, but a load request to {mine.name} fetches {sectors:.1f} sectors on average, and one of the "
                f"course's solution {due:.1f}; all its loads together fetch more sectors of that array, too."
            )
    return ""


def _narrower(own: Judged, course: Judged) -> str:
    """That no load, or store, of block (0, 0, 0) moves as much of an array at once as one of the course's solution."""
    for op, verb in (("ld", "load"), ("st", "store")):
        for mine, theirs in zip(own.kernel.compiled.parameters, course.kernel.compiled.parameters, strict=False):
            widest, due = (
                max((trace.width for trace in traces if (trace.op, trace.array) == (op, name)), default=0)
                for traces, name in (
                    (judged.recording.launches[-1].traces, parameter.name)
                    for judged, parameter in ((own, mine), (course, theirs))
                )
            )
            if 0 < widest < due:
                return (
                    f"In the launch that is counted a thread of block (0, 0, 0) {verb}s at most "
                    f"{theme.plural(widest, 'byte')} of {mine.name} by one instruction, and one of the course's "
                    f"solution {due}."
                )
    return ""


MANY_WAVEFRONTS = 2  # times as many as the course's solution needs for a request


def _in_conflict(own: Judged, course: Judged) -> str:
    """That requests of a right kernel to shared memory take many more wavefronts than those of the course's solution,
    and all of them together more, too; "" if they do not."""
    in_all = [judged.recording.total("wavefronts", "shared") for judged in (own, course)]
    mine, due = (
        wavefronts / max(1, judged.recording.total("requests", "shared"))
        for wavefronts, judged in zip(in_all, (own, course), strict=True)
    )
    if in_all[0] <= in_all[1] or not mine > MANY_WAVEFRONTS * due > 0:
        return ""  # fewer requests, of which the slow ones are left
    return (
        f"Right, but a request to shared memory is served in {mine:.1f} turns (wavefronts) on average, and one of the "
        f"course's solution in {due:.1f}; all requests together take more, too."
    )


def _more_shared(own: Judged, course: Judged) -> str:
    """That a block of a right kernel takes more shared memory than one of the course's solution; "" if it does not, or
    if padding saves wavefronts."""
    mine, due = (judged.kernel.shared_size_bytes + judged.shared_bytes for judged in (own, course))
    served, served_there = (judged.recording.total("wavefronts", "shared") for judged in (own, course))
    if mine <= due or served < served_there:
        return ""
    declared = theme.thousands(own.kernel.shared_size_bytes)
    beside = f", of which the kernel itself declares {declared}" if own.shared_bytes else ""
    return (
        f"A block takes {theme.thousands(mine)} bytes of shared memory{beside}, and one of the course's solution "
        f"{theme.thousands(due)}."
    )


def _in_double(own: Judged, course: Judged) -> str:
    """That a right kernel adds in double where the course's solution does not; "" if it does not."""
    from helpers.exercises.framework import goals  # it knows the machine code, and is not needed before a kernel passes

    if not goals.in_double(own) or goals.in_double(course):
        return ""
    return "Right, but it adds in double: numbers of 64 bits take the units for double and twice the registers."


def _stores_to_input(own: Judged, course: Judged) -> str:
    """That a right kernel stores to an array that the course's solution only reads; "" if it does not."""
    for mine, theirs in zip(own.kernel.compiled.parameters, course.kernel.compiled.parameters, strict=False):
        stores = [
            judged.recording.total("requests", "global", "st", parameter.name)
            for judged, parameter in ((own, mine), (course, theirs))
        ]
        if stores[0] and not stores[1] and course.recording.total("requests", "global", "ld", theirs.name):
            return f"Right, but it stores to {mine.name}, too, which the course's solution only reads."
    return ""


def _stored_again(own: Judged, course: Judged) -> str:
    """That block (0, 0, 0) stores to an element more often on average than the course's solution; "" if not."""
    often = [_stores_per_element(judged) for judged in (own, course)]
    if not 0 < often[1] < often[0]:  # a solution that only updates by atomics stores nothing
        return ""
    return (
        "Right, but block (0, 0, 0) stores to an element more often, on average, than that block of the course's "
        "solution does."
    )


def _loads_by_few(own: Judged, course: Judged) -> str:
    """That a thread of block (0, 0, 0) loads many times as many elements as one of the course's solution, and stores no
    more: then a large launch is not predicted; "" if none does."""
    said = "" if _stores_by_few(own, course) else _moved_by_few(own, course, "ld", "loads")
    return said and f"{said} At large sizes its time is not predicted."


def _stores_by_few(own: Judged, course: Judged) -> str:
    """That a thread of block (0, 0, 0) stores many times as many elements as one of the course's solution; "" if none
    does."""
    return _moved_by_few(own, course, "st", "stores")


def _moved_by_few(own: Judged, course: Judged, op: str, verb: str) -> str:
    most, due = (int(moved_per_thread(judged, op).max()) for judged in (own, course))
    if due == 0 or most < MANY_STORES * due:  # a solution may only update by atomics
        return ""
    return (
        f"Right, but a thread of block (0, 0, 0) of the launch that is counted {verb} up to "
        f"{theme.plural(most, 'number')}, and one of the course's solution at most {due}."
    )


def moved_per_thread(judged: Judged, op: str) -> np.ndarray:
    """The elements of global memory that each thread of block (0, 0, 0) loads or stores, counted as often as it
    does."""
    moved = np.zeros(judged.threads, int)
    for trace in judged.recording.launches[-1].traces:
        if (trace.space, trace.op) == ("global", op):
            active = slice(None) if trace.active is None else trace.active[: judged.threads]
            moved[active] += max(trace.width // 4, 1)
    return moved


def _shares_nothing(own: Judged, course: Judged) -> str:
    """That a right kernel never reads shared memory, where the course's solution does; "" if it does, or if its lanes
    hand each other what they have."""
    reads, due = (judged.recording.total("requests", "shared", "ld") for judged in (own, course))
    if reads or not due or own.recording.instructions("SHFL"):
        return ""
    return "Right, but the compiled kernel never reads shared memory, and the course's solution does."


HALVES = ("F2FP.F16.F32", "F2FP.BF16.F32", "F2F.F16.F32", "F2F.BF16.F32", "cvt.rn.f16", "cvt.rn.bf16")


def _rounded_to_half(own: Judged, course: Judged) -> str:
    """That a kernel whose numbers are right rounds floats to 16 bits where the course's solution does not; "" if it
    does not."""
    mine, due = (any(map(judged.recording.instructions, HALVES)) for judged in (own, course))
    if not mine or due:
        return ""
    return "It rounds floats to numbers of 16 bits, and most floats need more."


def _stores_per_element(judged: Judged) -> float:
    """Stores of threads of block (0, 0, 0) for each element of global memory that it stores to; 0 without a store."""
    stores = [trace for trace in judged.recording.launches[-1].traces if (trace.space, trace.op) == ("global", "st")]
    places = [(store.array, element) for store in stores for element in trial.elements(store).tolist()]
    return len(places) / max(1, len(set(places)))


def _sectors(recording: Recording, array: str) -> tuple[float, float]:
    """What loads from an array fetch, in all and for each request."""
    in_all, requests = (recording.total(what, "global", "ld", array) for what in ("sectors", "requests"))
    return in_all, in_all / max(1, requests)


def _more_barriers(own: Judged, course: Judged) -> str:
    """That a block of a right kernel passes more barriers than one of the course's solution; "" if it does not."""
    if own.barriers <= course.barriers:
        return ""
    mine, due = (judged.barriers / np.prod(judged.recording.launches[-1].facts.grid) for judged in (own, course))
    return (
        "Right, but a block of the launch that is counted passes more barriers on average than one of the course's "
        f"solution, {theme.number(mine)} to {theme.number(due)}."
    )


MANY_INSTRUCTIONS = 8  # times the instructions of the course's solution: at large sizes such a launch is not predicted


def _far_more_work(own: Judged, course: Judged) -> str:
    """That a right kernel executes many times the instructions of the course's solution; "" if it does not."""
    times = own.recording.instructions() / course.recording.instructions()
    if times <= MANY_INSTRUCTIONS:
        return ""
    return (
        f"Right, but its warps execute {times:.0f} times the instructions of the course's solution. At large sizes its "
        "time is not predicted."
    )


def _by_active_lanes(own: Judged, course: Judged) -> str:
    """Which line of a right kernel takes the lanes that are active for those that belong together; "" if none does."""
    for number, line in enumerate(text_slips.without_comments(own.kernel.compiled.source).split("\n"), 1):
        if "__activemask" in line and "__activemask" not in course.kernel.compiled.source:
            return (
                f"Right here, but __activemask() in line {number} names the lanes that happen to be active there, and "
                "CUDA does not promise that lanes meet again behind a branch. Name those that take part."
            )
    return ""


def _renamed(own: Judged, course: Judged) -> str:
    """That a right kernel lacks the `extern "C"` of the course's solution; "" if it does not."""
    mine, due = (
        re.search(r'extern\s*"C"', "\n".join(code_of(judged.kernel.compiled.source))) for judged in (own, course)
    )
    if mine or not due:
        return ""
    return 'Right, but without extern "C" the compiler changes the kernel\'s name, and on a GPU CuPy does not find it.'


# What a right kernel still lacks, beside the course's solution.
REMARKS = (
    _scattered,
    _in_conflict,
    _in_double,
    _stores_to_input,
    _stored_again,
    _loads_by_few,
    _stores_by_few,
    _shares_nothing,
    _more_barriers,
    _more_shared,
    _far_more_work,
    _by_active_lanes,
    _renamed,
)


def alike(source: str, other: str) -> bool:
    """Whether two sources are the same but for comments, spaces, `const` and the names of their variables."""
    return _tokens(source) == _tokens(other)


def _tokens(source: str) -> list[str]:
    """The words of a source; its names, but for those that CUDA gives, are numbered in the order of their coming."""
    text, words = "\n".join(code_of(source)), _words(source)
    known = {*re.findall(r"[.#]\s*(\w+)", re.sub(r'"[^"]*"', "", text)), *KEYWORDS, *_functions_of_cuda(text)}
    numbers: dict[str, str] = {}
    return [
        numbers.setdefault(word, f"name {len(numbers)}") if re.match(r"[A-Za-z_]", word) and word not in known else word
        for word in words
    ]


def _words(source: str) -> list[str]:
    """The words and signs of a source without comments, spaces and `const`."""
    text = "\n".join(code_of(source))
    return [word for word in re.findall(r'"[^"]*"|[A-Za-z_]\w*|[\d.]\w*|\S', text) if word != "const"]


def _functions_of_cuda(text: str) -> set[str]:
    """What a source calls and does not define: `__shfl_sync` is no other name for `__shfl_up_sync`."""
    called = set(re.findall(r"([A-Za-z_]\w*)\s*\(", text))
    declared = r"\b(?!return\b|else\b)[A-Za-z_]\w*(?:\s+[*&]*|[*&]+\s+)([A-Za-z_]\w*)\s*[(=]"  # a * f(x) declares none
    return called - set(re.findall(declared, text))


KEYWORDS = frozenset((
    "int", "float", "float4", "double", "bool", "auto", "const", "void", "if", "else", "for", "while", "return",
    "unsigned", "extern", "template", "constexpr", "static_assert", "reinterpret_cast", "threadIdx", "blockIdx",
    "blockDim", "gridDim", "__shared__", "__device__", "__global__", "__syncthreads", "__syncwarp", "wmma",
))  # fmt: skip


def code_of(source: str) -> list[str]:
    """The lines of a source without comments and indentation, without those that are empty then."""
    return [line for line in (raw.split("//")[0].strip() for raw in source.splitlines()) if line]


def _not_a_source(source: object) -> Verdict | None:
    if source is None or isinstance(source, str):
        return None
    return Verdict(
        False,
        f'The kernel is a text: check(my_kernel) with my_kernel = r"""…""", not a {type(source).__name__}.',
    )
