"""An exercise: a kernel to change, what it must do, and the way there: pictures, checks, hints, the solution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.draw.diff import Diff, source_diff
from helpers.exercises.framework import feedback, judge, marked, on_gpu, progress, text_slips
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.card import Answer, Card, Hints
from helpers.exercises.framework.judge import Examination, Goal
from helpers.exercises.framework.problems import Case, Problem
from helpers.run import simulated
from helpers.simulator import Kernel
from helpers.simulator.errors import SimulatorError

SOURCES = Path(__file__).parents[1] / "sources"
Picture = Callable[[Kernel, Problem], "theme.Figure"]


@dataclass(frozen=True)
class Wrong:
    """A known wrong solution.

    version: its name; without changes a version of the marked source.  because: what the learner is told about it.
    changes: (text, other text), made to the solution.
    """

    version: str
    because: str
    changes: tuple[tuple[str, str], ...] = ()


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
    numbers to reach besides being right, counted in the machine code, and the case they are measured on.
    """

    problem: Problem
    picture: Picture
    wrong: tuple[Wrong, ...]
    goals: tuple[Goal, ...] = ()
    judged: Case | None = None

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
            return picture(simulated(source or self.starter, self.problem.entry), self.problem)
        except (CompileError, SimulatorError, LookupError, ValueError) as error:
            return Verdict(False, str(error))

    def check(self, source: str | None = None) -> Verdict:
        """Is it right, for every shape, without races, and are the goals reached? None: the starter."""
        problem = _not_a_source(source)
        if problem:
            return problem
        text = self.starter if source is None else source
        untouched = text.strip() == self.starter.strip()
        slip = text_slips.found_in(text)
        if slip is not None:
            progress.note(self.name, solved=False)
            return Verdict(False, slip)
        found = self.examine(text)
        if not feedback.passed(found, self.goals):
            because: tuple[str, ...] = ()  # the starter is there to be understood by its learner
            if not untouched:
                because = self._because(found)
                progress.note(self.name, solved=False)
            return feedback.verdict(found, self.problem, self.goals, because, starter=untouched)
        device = on_gpu.run(text, self.problem)
        if not device.passed:
            return Verdict(False, device.sentence)
        progress.note(self.name, solved=True)
        told = any(goal.predicted for goal in self.goals)
        from helpers.exercises.framework import speed  # a kernel that passed: now the model of its time is loaded

        fast = "" if told else speed.line(found.kernel, text, self.problem)
        more = f"{fast}{device.sentence}"
        return feedback.verdict(found, self.problem, self.goals, (), starter=False, more=more)

    def examine(self, source: str) -> Examination:
        """Everything that `check` finds out in the simulator."""
        return judge.examine(source, self.problem, self.goals, self.judged)

    def _because(self, found: Examination) -> tuple[str, ...]:
        """The sentences of the known slip that reproduces what was found, else what its missed goals can tell."""
        if found.kernel is None:
            return ()
        slips = judge.library_slips(found.outcomes, self.problem) if found.first_failure else ()
        return slips or self._known(found) or found.explained

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

    def _known(self, found: Examination) -> tuple[str, ...]:
        """The sentence of the known wrong solution that does exactly what was found, if there is one."""
        for known in self.wrong:
            source = self.wrong_source(known)
            if judge.does_the_same(source, found, self.problem, self.goals, self.judged):
                return (known.because,)
        return ()

    def solution(self) -> Diff:
        """What changes from the starter to the solution."""
        return source_diff(self.starter, self.solved, ("the starter", "the solution"), context=3)

    def cells(self) -> tuple[str, ...]:
        """The notebook cells in which the exercise is solved."""
        head = f'{self.name} = exercises.get("{self.name}")\n{self.name}'
        return head, f"%%cuda {self.name}{self.starter}".rstrip("\n"), f"{self.name}.hint()"


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
