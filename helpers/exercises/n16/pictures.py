"""What `show` draws of the kernels of notebook 16: who reads what, and who gives a value to whom."""

from __future__ import annotations

from gpusim import Kernel, Recording
from helpers.exercises.framework import trial
from helpers.exercises.framework.problems import Problem
from helpers.pictures import theme
from helpers.pictures.exchange import facts as exchange
from helpers.pictures.exchange.figure import exchange_figure
from helpers.pictures.reads.facts import reads
from helpers.pictures.reads.figure import reads_figure

ARRAY = 1  # x is the second parameter of every kernel of this notebook


def who_reads(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """Which warp reads which elements of x, in a launch whose last elements do not fill a block."""
    case = problem.cases[1]
    recording = trial.record(kernel, problem.prepare(case))
    name = kernel.compiled.parameters[ARRAY].name
    reads_of = reads(recording, name, case.sizes["n"])
    return reads_figure(reads_of, f"{_begins(title)}: which warp reads which elements?")


def tree(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """Who takes from whom through shared memory."""
    return exchange_figure(exchange.tree(_first_block(kernel, problem)), f"{_begins(title)}: who gives, and who takes?")


def shuffles(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """Which lane takes from which by shuffles."""
    exchanged = exchange.shuffles(_first_block(kernel, problem))
    return exchange_figure(exchanged, f"{_begins(title)}: which lane gives, and which takes?")


def _first_block(kernel: Kernel, problem: Problem) -> Recording:
    return trial.record(kernel, problem.prepare(problem.cases[0]), blocks=((0, 0, 0),), only_traced=True)


def _begins(title: str) -> str:
    return title[:1].upper() + title[1:]
