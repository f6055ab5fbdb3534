"""What all elements of a wrong output have in common: a factor, a constant, another formula of alpha and beta.

Such a sentence is given only if it holds for every element of every case that ran to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from helpers.exercises.framework.gemm import Gemm

if TYPE_CHECKING:
    from helpers.exercises.framework.facts import Facts
    from helpers.exercises.framework.trial import Outcome

FEWEST = 3  # elements from which on a factor or a constant is no accident
MOST_DIGITS = 4  # units in the last place of the largest element: a few roundings leave no more
# What may stand before the sum, and before the old C, as it is said and as it is computed from alpha and beta.
OF_SUM = {
    "0": lambda a, b: 0.0, "sum": lambda a, b: 1.0, "alpha * sum": lambda a, b: a, "beta * sum": lambda a, b: b,
    "alpha * beta * sum": lambda a, b: a * b, "alpha * alpha * sum": lambda a, b: a * a,
    "alpha * sum + beta * sum": lambda a, b: a + b,
    "alpha * sum + alpha * beta * sum": lambda a, b: a + a * b,
}  # fmt: skip
OF_C = {
    "": lambda a, b, C: 0.0, " + C": lambda a, b, C: C, " + alpha * C": lambda a, b, C: a * C,
    " + beta * C": lambda a, b, C: b * C, " + alpha * beta * C": lambda a, b, C: a * b * C,
    " - beta * C": lambda a, b, C: -b * C, " + beta * beta * C": lambda a, b, C: b * b * C,
    " + beta": lambda a, b, C: b, " + beta + C": lambda a, b, C: b + C,
}  # fmt: skip


def factor_or_constant(facts: Facts) -> str:
    """'Every element of C is 1 more than it should be.', 'Every element of bins is 3 times what it should be, …'"""
    outcomes = _ended(facts)
    if not outcomes:
        return ""
    due = np.concatenate([outcome.expected.reshape(-1) for outcome in outcomes]).astype(float)
    left = np.concatenate([outcome.output.reshape(-1) for outcome in outcomes]).astype(float)  # type: ignore[union-attr]
    if np.isnan(due).any() or len(due) < FEWEST or not np.isfinite(left).all():  # NaN: what keeps its old value
        return ""
    name = facts.problem.output
    more = np.unique(left - due)
    if len(more) == 1:
        return f"Every element of {name} is {abs(more[0]):g} {'more' if more[0] > 0 else 'less'} than it should be."
    some = due != 0
    factors = np.unique(left[some] / due[some])
    if len(factors) != 1 or factors[0] == 0 or len(np.unique(due[some])) < FEWEST or left[~some].any():
        return ""
    return f"Every element of {name} is {factors[0]:g} times what it should be."


def rounded(facts: Facts) -> str:
    """'Every element of C is right but for its last digits, …', and which line divides by a float of the head."""
    outcomes = _ended(facts)
    if not outcomes or type(facts.problem) is not Gemm:  # whose numbers are chosen so that nothing rounds
        return ""
    for outcome in outcomes:
        last_digit = np.spacing(np.float32(np.abs(outcome.expected).max()))
        if not (np.abs(outcome.output - outcome.expected) <= MOST_DIGITS * last_digit)[outcome.wrong].all():
            return ""
    said = (
        f"Every element of {facts.problem.output} is right but for its last digits. The numbers of this check are "
        "chosen so that a float holds each product and each sum exactly: something else is computed, and rounds."
    )
    for number, line in enumerate(facts.lines, 1):
        divides = re.search(r"/ ?(\w+)\b", line)
        if divides and isinstance(facts.parameters.get(divides[1]), np.floating):
            return f"{said} Line {number} divides by {divides[1]}; where {divides[1]} is 0, that gives no number."
    return said


def other_formula(facts: Facts) -> str:
    """'C becomes alpha * beta * sum + C, and alpha * sum + beta * C is needed.'"""
    outcomes = _ended(facts)
    if not outcomes or not isinstance(facts.problem, Gemm) or not facts.problem.scalars:
        return ""
    for when, concerned in _by_beta(outcomes):
        for sum_, old, cut in _formulas():
            if all(_becomes(facts.problem, outcome, sum_, old, cut) for outcome in concerned):
                if cut:
                    return f"The old C is cut to whole numbers: C becomes {sum_}{old} of those."
                due = "alpha * sum" if concerned[0].case.beta == 0 and when else "alpha * sum + beta * C"
                when = when or ("Where beta is not 0, " if old else "")  # else the formulas have no old C
                formula = f"{sum_}{old}".removeprefix("0 + ")
                return f"{when}C becomes {formula}, and {due} is needed."
    return ""


def _by_beta(outcomes: list[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """All outcomes; and those with beta = 0, or all others, where the rest of them is right."""
    yield "", outcomes
    zero, other = (
        [outcome for outcome in outcomes if (outcome.case.beta == 0) == is_zero] for is_zero in (True, False)
    )
    for when, concerned, rest in (("Where beta is 0, ", zero, other), ("Where beta is not 0, ", other, zero)):
        if len(concerned) > 1 and rest and all(outcome.passed for outcome in rest):
            yield when, concerned


def _formulas() -> Iterator[tuple[str, str, bool]]:
    for cut, (sum_, old) in product((False, True), product(OF_SUM, OF_C)):
        if cut == ((sum_, old) == ("alpha * sum", " + beta * C")):
            yield sum_, old, cut


def _becomes(problem: Gemm, outcome: Outcome, sum_: str, old: str, cut: bool) -> bool:
    inputs = problem._inputs(outcome.case)
    P, C = inputs.A @ inputs.B, inputs.C
    for _ in range(outcome.case.launches):
        before = np.trunc(C) if cut else C
        with np.errstate(invalid="ignore"):
            C = OF_SUM[sum_](inputs.alpha, inputs.beta) * P
            C = C + OF_C[old](inputs.alpha, inputs.beta, before) if inputs.beta else C
    return bool(np.isclose(problem._in_memory(C), outcome.output, rtol=1e-6, atol=1e-6).all())


def _ended(facts: Facts) -> list[Outcome]:
    """The outcomes of all cases, [] unless all ran to their end without a hazard and wrote what they had to."""
    outcomes = list(facts.examination.outcomes)
    for outcome in outcomes:
        if (
            outcome.output is None
            or outcome.report.findings
            or (np.isnan(outcome.output) & ~np.isnan(outcome.expected)).any()
        ):
            return []
    return outcomes
