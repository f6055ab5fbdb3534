"""Questions of notebook 14: how often the ladder wins, what a share of the peak is, and in which order blocks run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from gemm_kernels import LADDER, get
from gpusim import Kernel, devices
from helpers import recordings
from helpers.exercises.framework import goals, texts, trial
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import Drawn, ThreadMapOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Guess, NotApplicable, Setup
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.slips import Tiles
from helpers.pictures import theme
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.ladder.facts import ladder_of, shape_label
from helpers.pictures.raster import facts as raster
from helpers.pictures.raster.figure import rasters_figure
from helpers.pictures.schedule import facts as schedule
from helpers.pictures.schedule.figure import schedules_figure
from helpers.pictures.tables import Table
from helpers.recordings import compared
from helpers.recordings.suites import FASTEST, SQUARES, UNSEEN

KERNEL = get("serpentine")
DEVICE = devices.DEFAULT
MULTIPLICATION = (4096, 4.0)  # M = N = K and milliseconds of `check_share`
CLOSE = 1.05  # of the fewest floats is good enough
TILES = (64, 32)  # (down, along): tiles of 128 x 256 in a C of 8192 x 8192
SMALL = 1024
FEW, MOST = 0.25, 0.5  # shares of the shapes up to which the ladder wins "at a few" and "at less than half"


COMPARED = frozenset(kernel.name for kernel in LADDER[: LADDER.index(get("autotuned")) + 1])


def shares() -> dict[tuple[int, int, int], float]:
    """Shape -> the speed of the fastest kernel of the ladder up to `autotuned`, over that of cuBLAS in the same run.

    What comes after it was made for what these lose, and has a step of its own in the notebook.
    """
    shapes = {}
    for _, suite in ladder.SUITES:
        data = ladder_of(DEVICE.name, suite)
        for shape in data.shapes:
            points = (point for name, point in data.at(shape).items() if name in COMPARED)
            best = max(points, key=lambda point: point.gflops)
            shapes[shape] = best.gflops / best.cublas
    return shapes


LARGE, ALIGNED = 1024, 4  # the side from which on a shape is large; floats of a float4


def class_of(shape: tuple[int, int, int]) -> str:
    """What a comparison depends on, in words."""
    if max(shape) <= LARGE:
        return "small"
    if min(shape) < LARGE:
        return "one side is short"
    return "large, rows aligned" if all(side % ALIGNED == 0 for side in shape) else "large, rows not aligned"


def classes() -> dict[str, list[tuple[int, int, int]]]:
    """The shapes of `shares` by class."""
    shapes: dict[str, list[tuple[int, int, int]]] = {}
    for shape in shares():
        shapes.setdefault(class_of(shape), []).append(shape)
    return shapes


def mean_of(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def fastest_by_group() -> Table:
    """What `gemm_kernels.fastest` reached on each GPU, a line for each group of shapes."""
    rows = []
    for gpu in recordings.gpus(suites=(FASTEST,)):
        recorded_rows = [row for row in recordings.fastest(gpu) if row.group != UNSEEN]  # the objections have others
        for summary in compared.summaries(recorded_rows):
            used = Counter(row.kernel for row in recorded_rows if row.group == summary.group).most_common(3)
            means = (f"{summary.faster} of {summary.shapes}", f"{summary.of_cublas:.2f}", f"{summary.of_best:.2f}")
            rows.append((devices.get(gpu).short, summary.group, *means, ", ".join(f"{name} {n}" for name, n in used)))
    head = (
        "GPU",
        "shapes",
        "faster than cuBLAS",
        "geometric mean",
        "of the best that cuBLASLt names",
        "kernels chosen most",
    )
    return Table(
        head,
        tuple(rows),
        "fastest(M, N, K), recorded on both (below 1024³ replayed from a graph, with their inputs in the L2)",
        words=frozenset({0, 1, 5}),
    )


def further_squares() -> dict[tuple[int, int, int], float]:
    """Shape -> `autotuned`'s share of cuBLAS at the squares that the ladder's run lacks, by the suite `fastest`, where
    it times as the ladder does: launch by launch, with a cold L2."""
    known = shares()
    return {
        row.shape: row.cublas_median_ms / row.autotuned_median_ms
        for row in recordings.fastest(DEVICE.name)
        if row.group == SQUARES and row.way == compared.EVENTS and row.shape not in known
    }


def predict_wins() -> Prediction:
    """At how many of the recorded shapes the fastest kernel of the ladder beats cuBLAS. The recordings answer."""
    won_by = shares()
    wins_by = list(won_by.values())
    won = sum(share > 1 for share in wins_by) / len(wins_by)
    options = ("at none", "at a few", "at less than half, but more than a few", "at most of them")
    answer = options[0 if not won else 1 if won <= FEW else 2 if won <= MOST else 3]
    best = max(won_by, key=won_by.__getitem__)
    small = [share for (M, N, _), share in won_by.items() if M * N < SMALL**2]
    large = [share for (M, N, _), share in won_by.items() if M * N >= SMALL**2]
    wins = [sum(share > 1 for share in some) for some in (wins_by, small, large)]
    sentence = f"It is {wins[0]} of {len(wins_by)} in the recordings."
    reasons = (
        f"A library chooses by rules among kernels for every purpose: at {shape_label(best)} the best of the ladder is "
        f"{won_by[best]:.2f} times as fast.",
        f"Of the {len(small)} shapes with fewer than {SMALL}² elements in C it is {wins[1]}, of the {len(large)} "
        f"others {wins[2]}.",
        sentence,
        f"{sentence} The parameters of autotuned were found by measuring, for shapes like each of these.",
    )
    return predict(
        f"At how many of the {len(wins_by)} recorded shapes is a kernel of the ladder faster than cuBLAS?",
        reasons=dict(zip(options, reasons, strict=True)),
        answer=answer,
        picture=ladder.small_multiples,
    )


@question("share_of_the_peak", "What 4.0 ms are worth")
def check_share(answer: float | None) -> Verdict:
    """Percent of the H200's peak that a multiplication of MULTIPLICATION reaches, to within half a per cent."""
    size, milliseconds = MULTIPLICATION
    gflops = 2 * size**3 / milliseconds / 1e6
    percent = 100 * gflops / DEVICE.peak_fp32_gflops
    return check_number(
        answer,
        percent,
        unit="%",
        because=f"2 · {size}³ operations in {milliseconds:g} ms are {gflops:.0f} GFLOPS; the peak is "
        f"{DEVICE.peak_fp32_gflops:.0f}.",
        slips=(
            Slip(percent / 2, "A multiply-add counts as two operations."),
            Slip(percent * 2, "The peak counts a multiply-add as two operations, too."),
            Slip(percent / 100, "That is the share; a percentage is 100 times as much."),
            Slip(100 / 1.2, "How fast a library is on an old card says nothing about this one's peak."),
        ),
        tolerance=0.5 / percent,
    )


def smallest_full() -> int:
    """The smallest M = N, a multiple of 256, at which KERNEL has a block for each SM."""
    rows, columns = KERNEL.tile
    step = max(rows, columns)
    size = step
    while (size // rows) * (size // columns) < DEVICE.sms:
        size += step
    return size


@question("block_for_every_sm", "A block for every SM")
def check_full(answer: float | None) -> Verdict:
    """The smallest M = N, a multiple of 256, at which every SM has a block."""
    rows, columns = KERNEL.tile
    size = smallest_full()
    if isinstance(answer, int | float) and answer % max(rows, columns):
        return Verdict(False, f"Not yet: {answer} is no multiple of {max(rows, columns)}.")
    blocks = (size // rows) * (size // columns)
    return check_number(
        answer,
        size,
        because=f"({size} / {rows}) · ({size} / {columns}) = {blocks} blocks for {DEVICE.sms} SMs.",
        slips=(
            Slip(size - max(rows, columns), f"One step too small: count its blocks, and compare with {DEVICE.sms}."),
        ),
    )


def floats_a_step(rows: int) -> int:
    """Different floats of A and B that the blocks which run first, one on each SM, read at one k."""
    tile_rows, tile_columns = KERNEL.tile
    running = [tile for _, tile in zip(range(DEVICE.sms), raster.in_groups(rows, *TILES), strict=False)]
    return tile_rows * len({row for row, _ in running}) + tile_columns * len({column for _, column in running})


@question("rows_together", "Rows of tiles together")
def check_group(rows: int | None) -> Verdict:
    """How many rows of tiles blocks should take together."""
    if rows is None:
        return Verdict(None, "Not answered yet: put your number in place of None and run the cell again.")
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= TILES[0]:
        return Verdict(False, f"{rows!r} is not a number of rows of tiles: C has 1 to {TILES[0]} of them.")
    counted = {number: floats_a_step(number) for number in range(1, TILES[0] + 1)}
    fewest = min(counted.values())
    together = f"{rows} row{'s' * (rows > 1)} together: {counted[rows]} different floats at each k"
    sentence = f"{together}, where one row at a time needs {counted[1]}."
    if counted[rows] <= CLOSE * fewest:
        return Verdict(True, f"{sentence} The fewest of all numbers is {fewest}.")
    return Verdict(
        False, f"{sentence} Another number needs fewer: the running blocks should form nearly a square of C."
    )


# --- which block takes which tile

RUNNING = 16  # blocks of the small GPU in the picture
COUNTED = Case({"M": 64, "N": 128, "K": 1})  # whose rows and columns the goal counts, and the picture shows


def _drawn_order(kernel: Kernel, problem: Gemm, title: str) -> theme.Figure:
    """The order of the grid beside the learner's, with the panels that the first blocks need."""
    recorded = raster.recorded(trial.record(kernel, problem.prepare(COUNTED)), problem.tile, RUNNING, title)
    down, along = recorded.tiles
    return rasters_figure(
        (raster.grouped(1, down, along, RUNNING), recorded), "In which order do blocks take the tiles?"
    )


RASTER = Blank(
    **texts.of("14", "raster"),
    difficulty=3,
    problem=Gemm("sgemm", (8, 8), (8, 8), Tiles(BM=8, BN=8), scaled=False,
                 shapes=((32, 64, 4), (48, 40, 3), (8, 64, 5), (64, 8, 2), (72, 24, 6))),
    picture=Drawn(_drawn_order),
    goals=(goals.rows_and_columns_of_tiles(RUNNING, (8, 8), 8),),
    judged=COUNTED,
    wrong=(
        Wrong("last_group", "The last group may have fewer than GROUP rows of tiles, and its blocks leave C: divide by "
              "the rows that it has."),
        Wrong("whole_columns", "Right, but the blocks go down whole columns of C: only GROUP rows belong together.",
              text=r"% tiles_y\b"),
        Wrong("along_rows", "Right, but inside a group the blocks still go along the rows: go down the columns of the "
              "group."),
        Wrong("numbered_down", "Right, but blocks start along x first: a block's number is blockIdx.y * tiles_x + "
              "blockIdx.x.",
              (("blockIdx.y * tiles_x + blockIdx.x", "blockIdx.x * tiles_y + blockIdx.y"),)),
        Wrong("number_by_threads", "A row of the grid has gridDim.x blocks: a block's number is blockIdx.y * "
              "gridDim.x + blockIdx.x.",
              (("blockIdx.y * tiles_x + blockIdx.x", "blockIdx.y * blockDim.x + blockIdx.x"),)),
        Wrong("group_of_blocks", "GROUP rows of tiles are GROUP * tiles_x blocks, not GROUP."),
        Wrong("group_unscaled", "A group begins GROUP rows after the one before, not one."),
        Wrong("group_of_columns", "A group has GROUP rows of tiles, and a row has tiles_x of them: divide by GROUP "
              "* tiles_x.",
              (("(GROUP * tiles_x)", "(GROUP * tiles_y)"),)),
        Wrong("rest_in_each_group", "tiles_y % GROUP is the last group's rows, if it is not 0; all others have GROUP.",
              (("left < GROUP ? left : GROUP", "tiles_y % GROUP"),)),
        Wrong("left_unscaled", "Each group before this one has GROUP rows of tiles: tiles_y - group * GROUP are "
              "left.",
              (("tiles_y - group * GROUP", "tiles_y - group"),)),
        Wrong("traded", "Inside a group the remainder by the number of rows is the row of a tile, the quotient its "
              "column."),
    ),
)  # fmt: skip


# --- who takes which part of k

SLICES = Blank(
    **texts.of("14", "slices"),
    difficulty=2,
    problem=Gemm("sgemm", (8, 8, 4), (8, 8), Tiles(BM=8, BN=8), scaled=False,
                 shapes=((16, 24, 32), (8, 16, 9), (24, 8, 5), (16, 16, 101))),
    picture=ThreadMapOf("C", Case({"M": 16, "N": 24, "K": 32}), "your kernel"),
    goals=(
        goals.stored_once(),
        goals.no_atomics("The task is to do without atomics: where they add the parts, the order is that in which the "
                         "groups come, and another order may give other bits."),
        goals.multiplications(1024, "Right, but 808 would do: a group needs the products of its own k alone."),
        goals.places_loaded(26, "Four groups share out 101 products of each element: 26 at most for a thread.", 3, "A"),
    ),
    wrong=(
        Wrong("all_of_k", "Every group adds up all of k: each product is counted four times."),
        Wrong("slices_of_SLICES", "The length of a part is K / SLICES, rounded up, and not SLICES."),
        Wrong("rounded_down", "K / SLICES is rounded down, so the last products of K may belong to no group."),
        Wrong("beyond_k", "The last groups may go beyond K: a part ends at K at the latest."),
        Wrong("one_short", "A part that ends before K loses its last k: begin + length is the first k behind the "
              "part."),
        Wrong("nobody_waits", "The first group may add parts that others have not stored yet: a barrier belongs "
              "between."),
        Wrong("one_place", "All groups store to parts[0]: each of them needs a place of its own."),
        Wrong("own_part", "Every group stores its own part in C, where only one of them stays: no thread adds them."),
        Wrong("first_part", "Only the first part is stored: the others must be added to it."),
        Wrong("everybody_adds", "All groups add to the same element of C at the same time, and parts may be lost. "
              "Let one thread add them."),
    ),
)  # fmt: skip


# --- equal shares


@dataclass(frozen=True)
class Shares:
    """Every block notes the pieces of tiles that make up its equal share of all iterations.

    A case's sizes are tiles, steps (iterations of a tile) and blocks.
    """

    entry: str = "shares"
    output: str = field(default="P", init=False)
    scalars: tuple[str, ...] = field(default=(), init=False)
    tile: tuple[int, int] = field(default=(1, 3), init=False)
    cases: tuple[Case, ...] = tuple(
        Case({"tiles": tiles, "steps": steps, "blocks": blocks})
        for tiles, steps, blocks in (
            (5, 8, 4), (3, 10, 4), (2, 7, 5), (9, 4, 4), (1, 3, 5), (2, 31, 7),
            # In these a share begins beyond 255, and elsewhere by each of the usual ways to divide floats.
            (26, 18, 14), (20, 17, 20), (20, 23, 14),
        )
    )  # fmt: skip

    def prepare(self, case: Case) -> Setup:
        tiles, steps, blocks = (case.sizes[name] for name in ("tiles", "steps", "blocks"))
        shares = [_share(tiles, steps, blocks, block) for block in range(blocks)]
        most = max(map(len, shares)) + 1
        expected = np.full((blocks, most, 3), np.nan, np.float32)
        for block, pieces in enumerate(shares):
            for number, piece in enumerate(pieces):
                expected[block, number] = piece.tile, piece.first, piece.last
        P = np.full_like(expected, np.nan)
        sizes = tuple(np.int32(size) for size in (tiles, steps, most))
        return Setup((blocks,), (1,), 0, (*sizes, P), P, expected)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output

    def guesses(self) -> Iterator[Guess]:
        for begins, sentence in OTHER_SHARES:
            yield Guess((sentence,), partial(self._noted, begins))

    def _noted(self, begins: Begins, case: Case) -> np.ndarray:
        """What the blocks note if their shares begin elsewhere. NotApplicable if P has no room for it."""
        tiles, steps, blocks = (case.sizes[name] for name in ("tiles", "steps", "blocks"))
        P = self.prepare(case).output
        for block in range(blocks):
            for number, piece in enumerate(_share(tiles, steps, blocks, block, begins)):
                if number >= P.shape[1]:
                    raise NotApplicable
                P[block, number] = piece.tile, piece.first, piece.last
        return P


Begins = Callable[[int, int, int], int]  # (block, iterations of all tiles, blocks) -> where its share begins
EQUAL = "Shares that begin at block * total / blocks differ by one iteration at most."
OTHER_SHARES: tuple[tuple[Begins, str], ...] = (
    (lambda block, total, blocks: min(block * -(-total // blocks), total),
     f"total / blocks is rounded up, so that the last blocks get less than the others, or nothing. {EQUAL}"),
    (lambda block, total, blocks: block * -(-total // blocks),
     f"total / blocks is rounded up, so that the last shares go beyond the last iteration. {EQUAL}"),
    (lambda block, total, blocks: block * (total // blocks) if block < blocks else total,
     f"total / blocks is rounded down, and the last block takes all that is left. {EQUAL}"),
    (lambda block, total, blocks: block * (total // blocks) + min(block, total % blocks),
     "The shares are as equal, but the first blocks get the longer ones. They should begin at block * total / blocks."),
)  # fmt: skip


def _equal(block: int, total: int, blocks: int) -> int:
    return block * total // blocks


def _share(tiles: int, steps: int, blocks: int, block: int, begins: Begins = _equal) -> tuple[schedule.Piece, ...]:
    """The pieces of a block's share, up to where the next block's begins, cut where a tile ends."""
    begin, end = (begins(part, tiles * steps, blocks) for part in (block, block + 1))
    cuts = sorted({begin, end, *range(-(-begin // steps) * steps, end, steps)})
    return tuple(
        schedule.Piece(begin // steps, begin % steps, begin % steps + other - begin)
        for begin, other in zip(cuts, cuts[1:], strict=False)
    )


def _drawn_shares(kernel: Kernel, problem: Shares, title: str) -> theme.Figure:
    """Whole tiles above, the learner's shares below, on one axis of time."""
    case = problem.cases[0]
    setup = problem.prepare(case)
    trial.launch(kernel, setup)
    tiles, steps, blocks = (case.sizes[name] for name in ("tiles", "steps", "blocks"))
    mine = schedule.of_pieces(setup.output, steps, f"{title}: equal shares")
    return schedules_figure(
        (schedule.whole_tiles(tiles, steps, blocks), mine),
        f"{tiles} tiles of {steps} iterations on {blocks} SMs",
    )


SHARES = Blank(
    **texts.of("14", "shares"),
    difficulty=2,
    problem=Shares(),
    picture=Drawn(_drawn_shares),
    wrong=(
        Wrong("rounded_down", "The number of iterations divided by the blocks is rounded down, so the last ones "
              "may belong to no block: compute where a share begins as block * total / blocks."),
        Wrong("rounded_apart", "total / blocks is rounded down by itself, so that a share may end before the next "
              "one begins: it ends where the next begins, at (block + 1) * total / blocks.",
              (("(block + 1) * total / blocks", "block * total / blocks + total / blocks"),)),
        Wrong("end_in_its_tile", "The end of a share is counted in the long row of all iterations, `last` inside of "
              "its tile: the piece ends at steps, or at first + what is left of the share.",
              (("first + left < steps ? first + left : steps", "min(steps, end)"),)),
        Wrong("whole_tiles", "These are whole tiles dealt out in turns, no equal shares."),
        Wrong("one_piece", "Only the first piece of each share is multiplied: a share may reach into several tiles."),
        Wrong("tile_not_left", "A piece ends with the tile or with the share, whichever comes first; here it always "
              "goes on to the end of its tile."),
        Wrong("share_not_cut", "A piece ends with the tile or with the share, whichever comes first; here it always "
              "goes on to the end of the share.", (("first + left < steps ? first + left : steps", "first + left"),)),
        Wrong("not_moved", "The loop never gets to the end of the share: behind each piece next must grow by what "
              "the piece took, last - first.", (("next += last - first;", ""),)),
        Wrong("moved_by_one", "Behind a piece next goes on by one iteration, but the piece took last - first of them.",
              (("next += last - first;", "++next;"),)),
        Wrong("moved_to_last", "`last` is counted inside of its tile, a share in the long row of all iterations: go "
              "on by last - first, not to last.", (("next += last - first;", "next = last;"),)),
        Wrong("moved_by_a_tile", "Behind a piece next goes on by a whole tile, but the piece may be shorter: it took "
              "last - first iterations.", (("next += last - first;", "next += steps;"),)),
        Wrong("last_in_the_piece", "`last` is the first iteration behind the piece: it goes up to last - 1.",
              (("tile, first, last)", "tile, first, last - 1)"),)),
        Wrong("in_the_row", "A piece's iterations are counted inside of its tile, where it begins with first.",
              (("tile, first, last)", "tile, next, next + last - first)"),)),
        Wrong("left_as_last", "What is left of a share is counted from the piece's beginning, `last` from that of its "
              "tile: steps, or first + what is left.",
              (("first + left < steps ? first + left : steps", "left < steps ? left : steps"),)),
        Wrong("first_from_0", "A piece need not begin with its tile: its first iteration is that of the row % steps."),
        Wrong("one_place", "All pieces of a block are noted as number 0: count them."),
        Wrong("last_as_length", "last is where a piece ends in its tile, not how long it is: first + its length."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_wins,)
QUESTIONS = (check_share, check_full, check_group)
EXERCISES = (SLICES, RASTER, SHARES)
