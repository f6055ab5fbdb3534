"""Exercises whose answer is a Python function that the learner writes in a cell, below its signature."""

from __future__ import annotations

import ast
import dis
import io
import math
import numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from inspect import getsource, signature
from itertools import combinations
from textwrap import dedent
from typing import Any

from helpers.exercises.framework.answers import Clue, Verdict, as_line
from helpers.exercises.framework.card import Answer
from helpers.exercises.framework.values import ValueExercise

NAMES = {"math": math}  # what the notebook has imported for the function
ROUNDS = r"\b(?:ceil|floor|round|int)$"  # a call that makes a whole number of a quotient
MOST_MISTAKES = 2  # that are looked for together in one function: three may give its answers by coincidence


@dataclass(frozen=True, eq=False)
class Version:
    """A function as a cell has it, which can be called.

    name: what tests call it.  text: its definition.  changes: (text, other text), what `replace` made it of.
    """

    name: str
    text: str
    changes: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _function(self) -> Callable[..., Any]:
        names: dict[str, Any] = dict(NAMES)
        exec(compile(self.text, f"<{self.name}>", "exec"), names)
        return next(value for name, value in names.items() if name not in (*NAMES, "__builtins__"))

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __repr__(self) -> str:
        return self.name

    def replace(self, name: str, *changes: tuple[str, str]) -> Version:
        """The same function with some of its text changed. ValueError if there is no such text."""
        text = self.text
        for before, after in changes:
            if before not in text:
                raise ValueError(f"{self.name} has no text {before!r} that could be replaced.")
            text = text.replace(before, after)
        return Version(name, text, (*self.changes, *changes))

    def with_changes_of(self, other: Version) -> Version:
        """Two mistakes in one function. ValueError if one of them took away the text that the other one changes."""
        return self.replace(f"{self.name} and {other.name}", *other.changes)


@dataclass(frozen=True)
class Case:
    """One call of a learner's function.

    arguments: of the call.  expected: what it should return.  words: what is asked.  right: the expected answer in
    words.  help: said where no known mistake explains the answer.
    """

    arguments: tuple[Any, ...]
    expected: float
    words: str
    right: str
    help: str = ""


def judged(
    function: Any,
    cases: Sequence[Case],
    mistakes: Sequence[tuple[Version, str]],
    right: str,
    probed: Callable[[Callable[..., Any]], tuple[str, ...]] = lambda _: (),
) -> Verdict:
    """A learner's function against all cases. The first wrong answer is named, and the mistake that gives all of them.

    mistakes: known wrong functions and what explains each.  right: the sentence for a function that is right.  probed:
    what calls with other arguments prove about a wrong function; it is asked first.
    """
    if not callable(function):
        return Verdict(False, f"Give check the function itself, by its name and without brackets; found {function!r}.")
    printed = io.StringIO()
    with redirect_stdout(printed):
        answers = answers_of(function, cases)
    if all(answer is None for answer in answers):
        if printed.getvalue():
            return Verdict(False, "Your function prints and returns None: its answer is what stands behind return.")
        return returns_none(function, "Your function returns None. Write its body; it ends with return and the answer.")
    print(printed.getvalue(), end="")  # what the learner wants to see while looking for a mistake
    for case, answer in zip(cases, answers, strict=True):
        if _is_number(answer):
            continue
        if isinstance(answer, Raised):
            if answer == DIVIDED_BY_ZERO:
                continue
            because = _of_an_error(function, answer, case)
            return Verdict(False, f"{case.words}: your function ends with {answer}.{because}")
        return Verdict(False, f"{case.words}: your function returns {answer!r}; a number is asked for.")
    for case, answer in zip(cases, answers, strict=True):
        if not _same(answer, case.expected):
            known = (
                probed(function)
                or explained(answers, cases, mistakes, of=case)
                or _divided(function, cases)
                or _rounded(answers, cases)
                or _in_parts(answers, cases)
                or _times(answers, cases)
            )
            because = "".join(f"\n{as_line(why)}" for why in known) or f" {case.help}".rstrip()
            does = f"returns {float(answer):.6g}" if _is_number(answer) else "ends with a division by zero"
            return Verdict(False, f"{case.words}: {case.right}, and your function {does}.{because}")
    if any(_changes(function, case) for case in cases):
        return Verdict(
            False, "All answers are right, but your function changes an argument: its caller still needs it."
        )
    return Verdict(True, right)


def _changes(function: Callable[..., Any], case: Case) -> bool:
    """Whether an argument is another value after a call."""
    arguments = deepcopy(case.arguments)
    with redirect_stdout(io.StringIO()):
        function(*arguments)
    return arguments != case.arguments


def returns_none(function: Callable[..., Any], untouched: str) -> Verdict:
    """The word on a function that returns None; untouched: on one without a body, which is not answered yet."""
    if _computes(function):
        return Verdict(False, "Your function computes something and returns None: end it with return and the answer.")
    return Verdict(None, untouched)


def _computes(function: Callable[..., Any]) -> bool:
    """Whether a function sets a variable of its own, looks something up, or combines its arguments."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    combines = any(step.opname.startswith(("BINARY", "COMPARE", "UNARY")) for step in dis.get_instructions(code))
    return combines or code.co_nlocals > len(signature(function).parameters) or bool(code.co_names)


class _Values(dict[Any, Any]):
    """A dict over whose values a loop runs."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())


def _of_an_error(function: Callable[..., Any], answer: Raised, case: Case) -> str:
    """What an error comes from that says it in the words of types: ^ for a power, and a loop over a dict's keys where
    one over its values ends without it."""
    if "for ^: " in answer.message:
        return "\nWhy: ^ is no power in Python: ten to the sixth is 10**6, or 1e6."
    by_values = [_Values(value) if isinstance(value, Mapping) else value for value in case.arguments]
    if "'int' and 'str'" in answer.message and _answer(function, replace(case, arguments=tuple(by_values))) != answer:
        return "\nWhy: a loop over a dict, and its sum, take its keys, which are text here: .values() are its numbers."
    return ""


def _divided(function: Callable[..., Any], cases: Sequence[Case]) -> tuple[str, ...]:
    """That a function is right with // for each / whose quotient it does not round, or the other way round; () if it is
    not, or has no text that can be executed again. What it prints meanwhile has been shown already."""
    for before, after, signs in ((ast.Div, ast.FloorDiv, "// for /"), (ast.FloorDiv, ast.Div, "/ for //")):
        # Exception: the text is not to be had, begins within a statement, or asks at its head for what is not there
        with suppress(Exception), redirect_stdout(io.StringIO()):
            tree = ast.parse(dedent(getsource(function)))
            if not isinstance(tree.body[0], ast.FunctionDef):
                return ()  # a lambda has the text of its whole statement, which must not be executed again
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            rounding = [call for call in calls if re.search(ROUNDS, ast.unparse(call.func))]
            rounded = {node for call in rounding for node in ast.walk(call)}
            for node in {*ast.walk(tree)} - rounded:
                if isinstance(getattr(node, "op", None), before):
                    node.op = after()  # type: ignore[attr-defined]
            names = dict(function.__globals__)
            exec(compile(tree, "<function>", "exec"), names)
            if all(map(_is_right, answers_of(names[tree.body[0].name], cases), cases)):
                return (f"With {signs} your function is right: // leaves out what is behind the point.",)
    return ()


def _is_right(answer: Any, case: Case) -> bool:
    return _is_number(answer) and _same(answer, case.expected)


def _rounded(answers: Sequence[Any], cases: Sequence[Case]) -> tuple[str, ...]:
    """That all answers are right up to so many digits; () if they are not."""
    for round_, how in ((math.floor, "down"), (math.ceil, "up")):
        if all(_same(answer, round_(case.expected)) for answer, case in zip(answers, cases, strict=True)):
            return (f"Your answers are the right ones rounded {how} to whole numbers. Return the number as it is.",)
    for digits in range(5):
        if all(_same(answer, round(case.expected, digits)) for answer, case in zip(answers, cases, strict=True)):
            figures = f"{digits} digit{'' if digits == 1 else 's'} behind the point" if digits else "whole numbers"
            return (f"Your answers are the right ones rounded to {figures}. Return the number as it is.",)
    return ()


def _in_parts(answers: Sequence[Any], cases: Sequence[Case]) -> tuple[str, ...]:
    """That all answers are right once they are rounded down; () if they are not."""
    if all(
        _is_number(answer) and math.isfinite(answer) and math.floor(answer) == case.expected
        for answer, case in zip(answers, cases, strict=True)
    ):
        return ("Rounded down, all your answers are right.",)
    return ()


def _times(answers: Sequence[Any], cases: Sequence[Case]) -> tuple[str, ...]:
    """That all answers are the right ones times a number; () if they are not."""
    pairs = [(answer, case.expected) for answer, case in zip(answers, cases, strict=True) if case.expected]
    if len({due for _, due in pairs}) < 3 or not all(_is_number(answer) for answer, _ in pairs):
        return ()
    factor = pairs[0][0] / pairs[0][1]
    if factor and all(_same(answer, factor * case.expected) for answer, case in zip(answers, cases, strict=True)):
        return (f"Each of your answers is {factor:g} times the right one.",)
    return ()


def explained(
    answers: Sequence[Any], cases: Sequence[Case], mistakes: Sequence[tuple[Version, str]], of: Case | None = None
) -> tuple[str, ...]:
    """The sentences of the fewest known mistakes that together give all these answers; () if none do.

    of: only those without which the answer in this case would be another one.
    """
    one_number = all(map(_is_number, answers)) and len({*answers}) == 1  # which does not show two mistakes
    for count in range(1, 2 if one_number else MOST_MISTAKES + 1):
        for chosen in combinations(mistakes, count):
            wrong = _together(chosen)
            if wrong is None:
                continue
            if all(_same(answer, _answer(wrong, case)) for answer, case in zip(answers, cases, strict=True)):
                head = "A known mistake gives exactly your answers. The answer to it is:"
                if count > 1:
                    head = "Two known mistakes together give exactly your answers. The answer to one of them is:"
                counting = (why for version, why in chosen if of is None or _counts(version, chosen, of))
                return tuple(Clue(f"{head} “{why}”") for why in counting)
    return ()


def _together(chosen: Sequence[tuple[Version, str]]) -> Version | None:
    """A function with all of these mistakes; None if they exclude each other."""
    try:
        return reduce(Version.with_changes_of, (version for version, _ in chosen))
    except ValueError:
        return None


def _counts(mistake: Version, chosen: Sequence[tuple[Version, str]], case: Case) -> bool:
    """Whether the answer in a case would be another one without this mistake."""
    others = [pair for pair in chosen if pair[0] is not mistake]
    without = _together(others) if others else None
    expected = case.expected if without is None else _answer(without, case)
    return not _same(_answer(_together(chosen), case), expected)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Raised:
    """A function ended with an error. name: of its type.  message: not compared, for two ways to write one mistake."""

    name: str
    message: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


DIVIDED_BY_ZERO = Raised(ZeroDivisionError.__name__)


def answers_of(function: Callable[..., Any], cases: Sequence[Case]) -> tuple[Any, ...]:
    """What a function returns in each case, or how it ended."""
    return tuple(_answer(function, case) for case in cases)


def _answer(function: Callable[..., Any], case: Case) -> Any:
    try:
        return function(*deepcopy(case.arguments))
    except Exception as error:  # whatever a learner's function raises is answered by a sentence
        return Raised(type(error).__name__, str(error))


def _is_number(answer: Any) -> bool:
    return isinstance(answer, numbers.Real) and not isinstance(answer, bool)


def _same(answer: Any, expected: Any) -> bool:
    if isinstance(answer, Raised) or isinstance(expected, Raised):
        return answer == expected
    return math.isclose(answer, expected, rel_tol=1e-6)


@dataclass(frozen=True, eq=False)
class FunctionExercise(ValueExercise):
    """A function to write: `starter`, `solved` and the known wrong answers are `Version`s, `variable` is its name."""

    starter: Version
    solved: Version

    def solution(self) -> Answer:
        """The whole function, and why it is right."""
        return Answer(self.solved.text, self.because)

    def cells(self) -> tuple[str, ...]:
        """The notebook cells in which the function is written."""
        head, _, hints = super().cells()
        return head, f"{self.starter.text}\n\n\n{self.name}.check({self.variable})", hints

    def go_on_with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The learner's function if it is right, else the course's, so that every notebook runs to its end."""
        return function if self.judge(function).passed else self.solved
