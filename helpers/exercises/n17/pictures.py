"""What `show` draws of the four steps: how pairs move, from a thread's patch to the two smallest of C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpusim import Kernel, Recording
from gpusim.devices import WARP
from helpers.exercises.framework import trial
from helpers.exercises.framework.problems import Case, Problem
from helpers.exercises.n17 import matrices
from helpers.exercises.n17.matrices import BM, BN, THREADS, TM, exact, product
from helpers.pictures import CannotTell, theme
from helpers.pictures.exchange.facts import shuffles
from helpers.pictures.exchange.figure import exchange_figure
from helpers.pictures.pairs import facts as pairs
from helpers.pictures.pairs.facts import Journey, Level, Pair
from helpers.pictures.pairs.figure import pairs_figure
from helpers.pictures.patch_pairs.figure import patch_pairs_figure

SHAPE = Case({"M": 90, "N": 180, "K": 5})  # nine blocks, those at the edges with tails
PARTS = 5  # the parameter of step 4 that the blocks leave their pairs in
PAIR_BYTES = 4 * matrices.PAIR_WORDS
WARPS = THREADS // WARP
CAPTION = "The smallest, {:g}, comes from thread {} of block {}, the second, {:g}, from thread {} of block {}."


Drawer = Callable[[Kernel, Recording, "Places"], Level]


class Places:
    """Which pair every thread, warp and block of a case's launch has found when it is done."""

    def __init__(self, case: Case = SHAPE) -> None:
        A, B = product(case)
        self.C = exact(A, B)
        M, N = self.C.shape
        self.across = -(-N // BN)
        row, col = np.ogrid[:M, :N]
        shared = [
            pairs.pairs_by_group(self.C, level.group(row, col, self.across))
            for level in (matrices.THREAD, matrices.WARP, matrices.BLOCK)
        ]
        self.threads, self.warps, self.blocks = shared
        self.count = self.across * -(-M // BM)
        self.winners: Pair = pairs.two_of(*self.blocks.values())

    def owner(self, index: int) -> int:
        """The number of the thread in the launch whose patch has a place."""
        row, col = (np.array(numbers) for numbers in divmod(index, self.C.shape[1]))
        return int(matrices.THREAD.group(row, col, self.across))

    @property
    def caption(self) -> str:
        """Where the two come from."""
        (v, at), (w, from_) = self.winners
        first, second = (divmod(self.owner(index), THREADS) for index in (at, from_))
        return CAPTION.format(v, first[1], first[0], w, second[1], second[0]).replace("-", "\u2212")


def of_threads(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """C of the launch, its tiles and patches, and in one tile the two smallest that each thread has left."""
    locations = Places()
    block = locations.owner(locations.winners[0][1]) // THREADS
    setup = problem.prepare(SHAPE)
    trial.launch(kernel, setup)
    left = setup.left(setup.args).reshape(-1, 4)[block * THREADS : (block + 1) * THREADS]
    rows, columns = block // locations.across * BM, block % locations.across * BN
    tile = locations.C[rows : rows + BM, columns : columns + BN]
    return patch_pairs_figure(tile, _in_tile(left, locations, rows, columns),
                              (matrices.TM, matrices.TN), f"{_begins(title)}: block {block}")  # fmt: skip


def _in_tile(left: np.ndarray, locations: Places, row: int, col: int) -> list[list[tuple[int, int]]]:
    """For the first and the second of every thread their (row, column) in the tile; what is not there is left out."""
    answers = []
    for e in (1, 3):
        places = left[left[:, e] >= 0, e].astype(int)
        rows, columns = np.divmod(places, locations.C.shape[1])
        answers.append(list(zip((rows - row).tolist(), (columns - col).tolist(), strict=True)))
    return answers


def of_lanes(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The shuffles of the warp that finds the smallest."""
    return journey_figure(kernel, problem, f"{_begins(title)}: how pairs move in a warp", levels=(_warp,))


def of_warps(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The same, then the warps of its block."""
    return journey_figure(kernel, problem, f"{_begins(title)}: how pairs move in a block", levels=(_warp, _block))


def of_blocks(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The same, then the blocks of the grid."""
    return journey_figure(kernel, problem, f"{_begins(title)}: how pairs move in a grid")


def journey_figure(
    kernel: Kernel, problem: Problem, title: str, case: Case = SHAPE, levels: Sequence[Drawer] = ()
) -> theme.Figure:
    """How the pairs of a case move. levels: which ones are drawn; () for all three. CannotTell without two numbers."""
    locations = Places(case)
    if len(locations.winners) < 2:
        raise CannotTell("C has fewer than two numbers, so that no two of them move.")
    recording = trial.record(kernel, problem.prepare(case))
    drawn = tuple(level(kernel, recording, locations) for level in levels or LEVELS.values())
    return pairs_figure(Journey(drawn, locations.winners), title, locations.caption)


def of_row_lanes(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The shuffles of warp 0, by which the lanes of a row bring their numbers together: those of the last row of a
    patch, if all rows have the same."""
    recording = trial.record(kernel, problem.prepare(problem.cases[0]), blocks=((0, 0, 0),), only_traced=True)
    shuffled = shuffles(recording)
    names = [step.name for step in shuffled.steps]
    first = names[: len(names) // TM]
    title = f"{_begins(title)}: which lane gives, and which takes?"
    if names == TM * first:
        return exchange_figure(replace(shuffled, steps=shuffled.steps[-len(first) :]), title)
    return exchange_figure(shuffled, title)


def _first_warp(locations: Places) -> int:
    """The number, in the launch, of the warp that finds the smallest."""
    return locations.owner(locations.winners[0][1]) // WARP


def _warp(kernel: Kernel, recording: Recording, locations: Places) -> Level:
    warp = _first_warp(locations)
    threads = [locations.threads.get(WARP * warp + lane, ()) for lane in range(WARP)]
    return pairs.of_warp(recording, threads, locations.winners, f"Warp {warp % WARPS} of block {warp // WARPS}")


def _block(kernel: Kernel, recording: Recording, locations: Places) -> Level:
    block = _first_warp(locations) // WARPS
    warps = [locations.warps.get(WARPS * block + warp, ()) for warp in range(WARPS)]
    return pairs.of_block(recording, warps, locations.winners, f"Block {block}")


def _grid(kernel: Kernel, recording: Recording, locations: Places) -> Level:
    blocks = [locations.blocks.get(number, ()) for number in range(locations.count)]
    parts = kernel.compiled.parameters[PARTS].name
    return pairs.of_grid(recording, parts, blocks, PAIR_BYTES, "The grid, by its last block")


LEVELS: Mapping[str, Drawer] = {"a warp": _warp, "a block": _block, "the grid": _grid}


def _begins(title: str) -> str:
    return title[:1].upper() + title[1:]
