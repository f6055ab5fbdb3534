"""What `show` draws of the kernels of notebook 18, and the pictures that its prose speaks of."""

from __future__ import annotations

from functools import cache

import numpy as np

from gpusim import Kernel
from helpers.exercises.framework import trial
from helpers.exercises.framework.problems import Case, Problem
from helpers.exercises.n18.members import Convolution, Grouped, T, result_size
from helpers.pictures import theme
from helpers.pictures.bank_board.facts import shared_accesses
from helpers.pictures.bank_board.figure import bank_board_figure
from helpers.pictures.grouped.facts import Shares, shares
from helpers.pictures.grouped.figure import grouped_figure
from helpers.pictures.implicit import facts as implicit
from helpers.pictures.implicit.figure import implicit_figure
from helpers.pictures.scales import model
from helpers.pictures.scales.figure import NumberLine, scales_figure

SLOTS = 4  # blocks at a time, of the drawn GPU
ROWS_OF = (20, 5, 0, 37, 16, 3)  # of the drawn experts
IMAGE = Case({"images": 1, "H": 6, "W": 6, "C": 4, "R": 3, "S": 3, "N": 16, "stride": 1, "pad": 1})
ITERATION = 1  # of the drawn warp
X = 3  # the parameter of the convolution that the images are
SMALL = 1  # a column of B whose numbers are of usual size


def of_turned_store(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The banks of the costliest store of warp 0 to shared memory; of equal ones the last, which fills Bs."""
    recording = trial.record(kernel, problem.prepare(problem.cases[0]), blocks=((0, 0, 0),), only_traced=True)
    stores = [access for _, access in shared_accesses(recording) if access.op == "st"]
    if not stores:
        raise LookupError("Warp 0 stores nothing to shared memory.")
    costliest = max(reversed(stores), key=lambda store: store.wavefronts)
    return bank_board_figure(costliest, f"{_begins(title)}: warp 0 stores a tile")


def shares_of(kernel: Kernel, problem: Problem) -> Shares:
    """What each block stores in a launch of six experts of which one has no rows. CannotTell where it is not clear."""
    case = Case({"experts": len(ROWS_OF), "rows": sum(ROWS_OF), "N": T, "K": 8})
    drawn = Grouped(problem.entry, (case,), rows_of=(ROWS_OF,))
    recording, name = trial.record(kernel, drawn.prepare(case)), trial.output_name(kernel, drawn.prepare(case))
    return shares(recording, name, case.sizes["N"], drawn.offsets(case).tolist(), T)


def of_experts(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """Whose rows each block stores, and when they run."""
    shares = shares_of(kernel, problem)
    return grouped_figure(shares, SLOTS, f"{_begins(title)}: whose rows does each block compute?")


def warp_of_image(kernel: Kernel, problem: Problem) -> implicit.WarpOfImage:
    """What warp 0 wants of a small image. CannotTell where it loads something else."""
    _, H, W, C, R, S, _, stride, pad = IMAGE.sizes.values()
    P, Q = result_size(H, R, stride, pad), result_size(W, S, stride, pad)
    sizes = implicit.Convolution(H, W, C, R, S, P, Q, stride, pad)
    setup = Convolution(problem.entry, (IMAGE,), output="Y").prepare(IMAGE)
    recording = trial.record(kernel, setup, blocks=((0, 0, 0),), only_traced=True)
    return implicit.warp_of_image(
        recording, kernel.compiled.parameters[X].name, sizes, (P * Q, R * S * C), T, ITERATION
    )


def of_image(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """Where warp 0 finds its elements of the implicit matrix."""
    warp = warp_of_image(kernel, problem)
    return implicit_figure(warp, f"{_begins(title)}: where does warp 0 find its elements?")


@cache
def digits(factor: float = model.FACTOR) -> theme.Figure:
    """Which numbers eight bits have for a small column, and the error of the product by granularity of the scales."""
    given = model.operands(factor)
    column = given.B[:, SMALL]
    lines, formats = [], ((model.INT8, theme.SPEED), (model.FP8, theme.REFERENCE))
    scale_of = {(form, colour): float(model.scales(given.B, form, colour, 0)[0, SMALL])
                for form, _ in formats for colour in (model.TENSOR, model.COLUMN)}  # fmt: skip
    # as far as the numbers that a value becomes, which may lie further out than it
    most = max(
        float(np.abs(model.rounded(column / scale, form)).max()) * scale for (form, _), scale in scale_of.items()
    )
    for form, colour in formats:
        for granularity in (model.TENSOR, model.COLUMN):
            numbers = model.numbers_within(form, scale_of[form, granularity], most)
            lines.append(NumberLine(f"{form}, {granularity}", numbers, colour))
    title = f"One column in {model.EVERY} is {theme.number(factor)} times as large: what is left of the others?"
    return scales_figure(column, lines, model.errors(factor), title)


def _begins(title: str) -> str:
    return title[:1].upper() + title[1:]
