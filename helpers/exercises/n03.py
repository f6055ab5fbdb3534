"""Exercises of notebook 03, coalescing: sectors by hand, a block that helps, a kernel for column-major matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gemm_kernels import get
from gpusim import counting
from gpusim.devices import DEFAULT, FLOAT_BYTES, WARP
from helpers import run
from helpers.exercises.framework import goals, slips, texts
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import SectorsOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.exercises.n02.blanks import ONE_K_TOO_MANY
from helpers.measure import recorded_on
from helpers.pictures import bars, theme
from helpers.pictures.block_shapes.facts import SHORT_K, counted
from helpers.pictures.coalescing.facts import gemm_accesses, warp_access
from helpers.pictures.coalescing.figure import sectors_figure


def predict_naive_load() -> Prediction:
    """How many sectors does the naive kernel's load of A cost per warp? The answer comes from a recording."""
    recording = run.record(get("naive").launch(M=1024, N=1024, K=1024).in_blocks(32, 8))
    return predict(
        "Sectors for one load of A by one warp of the naive kernel:",
        reasons={
            1: "That needs all 32 lanes to read floats of the same 32 bytes.",
            4: "32 floats are 128 bytes, and 128 / 32 = 4: that needs the 32 floats to be neighbours in memory.",
            16: "That needs the lanes to share sectors in pairs.",
            32: "The lanes' floats are a whole row of A apart, so no two of them lie in the same sector.",
        },
        answer=warp_access(recording, "A").sectors,
        picture=lambda: sectors_figure(gemm_accesses(recording), "naive, block (32, 8): warp 0, k = 0"),
    )


def predict_gain() -> Prediction:
    """What do the two lines change? The answer comes from recordings."""
    before, after = (counted(get(name), (32, 8), WIDTH, speed_at=MEASURED_AT) for name in ("naive", "coalesced"))
    if before.gflops is None or after.gflops is None:
        raise RuntimeError("The block shapes are not recorded: run `make record`.")
    gain, fewer = after.gflops / before.gflops, before.sectors_per_request / after.sectors_per_request
    reasons = {
        1: "The arithmetic is the same, but most of the time goes into waiting for memory.",
        2: "That would be a kernel which spends about half of its time on other things than these loads.",
        7: f"That is about the factor by which the sectors fell, {fewer:.1f}. Something else must have fallen by more.",
        14: f"Time fell by more than the sectors, which fell by a factor of {fewer:.1f}. The next step explains why.",
    }
    rows = [bars.Bar("x is the row index", before.gflops), bars.Bar("x is the column index", after.gflops)]
    title = f"Blocks of 32 × 8 threads, M = N = K = {theme.thousands(MEASURED_AT)}"
    return predict(
        f"M = N = K = {theme.thousands(MEASURED_AT)}, blocks of 32 × 8 threads, on an H200. The kernel with x as the "
        "column index is faster by a factor of about:",
        reasons=reasons,
        answer=min(reasons, key=lambda factor: abs(factor - gain)),
        picture=lambda: bars.gflops_figure(rows, title, recorded_on(DEFAULT.name)),
    )


def predict_gap() -> Prediction:
    """What does it cost that a warp of a (16, 16) block jumps to the next row of C? Counted, beside a (32, 1) block."""
    launch = get("coalesced").launch(WIDTH, WIDTH, SHORT_K)
    line, square = (warp_access(run.record(launch.in_blocks(*block)), "C", "st") for block in ((32, 1), (16, 16)))
    gap = int(np.diff(square.offset).max()) // FLOAT_BYTES
    more = square.sectors - line.sectors, square.tags - line.tags
    free = "no sector; one more line to look up"
    reasons = {
        f"the {theme.thousands(gap - 1)} floats in between": "No lane asked for them. Memory sends the sectors that a "
        "lane asked for, and no others.",
        "one more sector": f"Each half of the warp has 16 neighbours, 64 bytes, which begin where a sector begins: two "
        f"whole sectors each, {square.sectors} in all, as many as in a (32, 1) block.",
        free: f"{square.sectors} sectors in both launches, all of them used in full. They lie in {square.tags} lines "
        f"instead of {line.tags}, and each line is looked up.",
        "a second request": "A warp's store is one request, wherever its lanes point.",
    }
    assert more == (0, 1), more
    return predict("A store of C by a warp of a (16, 16) block, beside one of a (32, 1) block, costs:", reasons, free)


# --- sectors by hand: lane i reads the float with index FIRST + STRIDE * i

FIRST, STRIDE = 3, 2
_ADDRESSES = 4 * (FIRST + STRIDE * np.arange(32, dtype=np.int64))
STRIDED = int(counting.sectors(_ADDRESSES[None, :], np.ones((1, 32), bool), 4)[0])
_LAST = int(_ADDRESSES[-1]) + 3
BECAUSE_STRIDED = (
    f"The lanes' bytes reach from {_ADDRESSES[0]} to {_LAST}, which is from sector {_ADDRESSES[0] // 32} to sector "
    f"{_LAST // 32}, and none in between is left out."
)
STRIDED_SLIPS = (
    Slip(32, "Neighbouring lanes are so close that several of them share a sector."),
    Slip(4, "That would be 32 floats without holes; here every second float is skipped."),
    Slip(8, "Every second float of 8 whole sectors would do, but where does the first one stand?"),
    Slip(
        16, "Two lanes per sector? A sector has eight floats, and every second one is read: up to four lanes share it."
    ),
)

STRIDED_SECTORS = ValueExercise(
    **texts.of("03", "strided_sectors"),
    difficulty=1,
    variable="my_answer",
    starter=None,
    solved=STRIDED,
    because=BECAUSE_STRIDED,
    judge=lambda answer: check_number(
        answer, STRIDED, unit="sectors", because=BECAUSE_STRIDED, slips=STRIDED_SLIPS
    ),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in STRIDED_SLIPS),
)  # fmt: skip


# --- a block for the naive kernel

WIDTH = 1024  # columns of the matrices on which a block shape is judged
MEASURED_AT = 2048
MOST_SECTORS = 2.6
NAIVE = get("naive")


def _judge_block(block: Any) -> Verdict:
    """Does the naive kernel, launched with this block, cost at most MOST_SECTORS per load request?"""
    if not isinstance(block, Sequence) or len(block) != 2 or any(not isinstance(b, int) or b < 1 for b in block):
        return Verdict(False, f"A block here is (x, y) with two whole numbers of at least 1, not {block!r}.")
    threads, most = block[0] * block[1], DEFAULT.max_threads_per_block
    if threads > most:
        return Verdict(False, f"A block of {threads} threads is not launched: it has at most {most}.")
    if left := threads % WARP:
        warp = "the block's last warp" if threads > WARP else "the warp"
        idle = f"{theme.plural(WARP - left, 'lane')} of {warp} idle"
        return Verdict(
            False,
            f"A block of {theme.plural(threads, 'thread')} leaves {idle}: use a multiple of {WARP}, up to {most}.",
        )
    shape = counted(NAIVE, tuple(block), WIDTH, speed_at=MEASURED_AT)
    sectors = theme.thousands(shape.sectors_per_request, 1)
    cost = f"{NAIVE.name} with block {shape.label} costs {sectors} sectors per request"
    if shape.gflops is not None:
        cost += f" and reached {theme.thousands(shape.gflops)} GFLOPS at {theme.thousands(MEASURED_AT)}³ when recorded"
    goal = f"the goal is at most {MOST_SECTORS:g}"
    if shape.sectors_per_request <= MOST_SECTORS:
        return Verdict(True, f"{cost}: {goal}, done.")
    lanes = min(block[0], 32)
    why = f"{lanes} neighbouring lanes lie along x, each in a row of its own" if lanes > 1 else ""
    return Verdict(False, f"{cost}; {goal}. {why[:1].upper()}{why[1:]}.")


def _sectors_of_block(block: tuple[int, int]) -> theme.Figure:
    """What warp 0 of the naive kernel asks for."""
    recording = run.record(NAIVE.launch(M=WIDTH, N=WIDTH, K=SHORT_K).in_blocks(*block))
    return sectors_figure(gemm_accesses(recording), f"naive, block ({block[0]}, {block[1]}): warp 0, k = 0")


NARROW_BLOCK = ValueExercise(
    **texts.of("03", "narrow_block"),
    difficulty=2,
    variable="block",
    starter=(32, 32),
    solved=(1, 32),
    because="With one thread along x, the 32 lanes differ in y alone: they share the float of A and read 32 neighbours "
    "of B.",
    judge=_judge_block,
    wrong=(
        WrongValue((16, 16), "16 neighbouring lanes lie along x, each in a row of its own."),
        WrongValue((8, 32), "8 neighbouring lanes lie along x, each in a row of its own."),
        WrongValue((64, 64), "4096 threads is not launched: it has at most 1024"),
        WrongValue((1, 2000), "2000 threads is not launched: it has at most 1024"),
        WrongValue((1, 8), "24\u00a0lanes of the warp idle: use a multiple of 32"),
        WrongValue((1, 33), "31\u00a0lanes of the block's last warp idle"),
        WrongValue((1, 0), "at least 1, not (1, 0)"),
        WrongValue(32, "at least 1, not 32"),
    ),
    picture=_sectors_of_block,
)


# --- a kernel for column-major matrices

COLUMN_MAJOR = Blank(
    **texts.of("03", "column_major"),
    difficulty=2,
    problem=Gemm(
        "sgemm_columns", (32, 8), (8, 32), Tiles(), rows_along="either", column_major=True,
        shapes=((64, 40, 8), (40, 64, 9), (33, 65, 17), (5, 37, 35), (41, 1, 6), (1, 35, 2), (1, 1, 1)),
    ),
    picture=SectorsOf(
        ((4, "ld"), (5, "ld"), (7, "st")), Case({"M": 128, "N": 128, "K": 32}),
        "sgemm_columns, column-major, block (32, 8)",
    ),
    goals=(goals.sectors_a_load(2.6),),
    judged=Case({"M": 128, "N": 128, "K": 32}),
    wrong=(
        Wrong("x_is_the_column", "col comes from x, so neighbouring lanes are in neighbouring columns of C, M elements "
              "apart in memory. Which index is contiguous here?"),
        Wrong("stores_rows", "C is read and written row by row, C[row * N + col], but it is column-major: "
              "C[col * M + row]."),
        Wrong("reads_rows_of_B", "B is read as if it were row-major, B[k * N + col]; it is column-major: "
              "B[col * K + k]."),
        Wrong("reads_rows_of_A", "A is read as if it were row-major, A[row * K + k]; it is column-major: "
              "A[k * M + row]."),
        Wrong("pitch_of_B", "A column of B has K floats, not N: B[col * K + k]."),
        Wrong("row_major", "This kernel treats the matrices as row-major. The layout is given; what may change is "
              "which thread computes which element."),
        Wrong("last_k", slips.sentence("last_k_missing")),
        Wrong("no_guard", "The grid is rounded up to whole blocks: threads without an element must not read or "
              "write."),
        Wrong("guard_swapped", "C has M rows and N columns: the guard compares row with N and col with M."),
        Wrong("reads_always", "With beta = 0 the old C may hold anything, even NaN, and 0 · NaN is NaN: read it only "
              "where beta is not 0."),
        Wrong("beta_ignored", "beta · C is missing."),
        Wrong("one_too_many", "The rows are 0 to M - 1 and the columns 0 to N - 1: a thread whose row is M or whose "
              "column is N has no element.", (("row >= M || col >= N", "row > M || col > N"),)),
        Wrong("pitch_of_A", "A column of A has M floats, not K: A[k * M + row].", (("k * M + row", "k * K + row"),)),
    ),
)  # fmt: skip


COALESCED = Blank(
    **texts.of("03", "coalesced"),
    difficulty=1,
    problem=Gemm("sgemm", (32, 8), (8, 32), scaled=False, shapes=((16, 96, 24), (8, 32, 37), (32, 64, 7), (24, 32, 1))),
    picture=SectorsOf(((3, "ld"), (4, "ld"), (5, "st")), Case({"M": 16, "N": 96, "K": 8}), "your kernel"),
    goals=(goals.sectors_a_load(2.6),),
    judged=Case({"M": 16, "N": 96, "K": 64}),
    before="naive",
    wrong=(
        Wrong("naive_again", "x is the row index here, as in notebook 02: blockIdx.x and threadIdx.x belong to the "
              "column now."),
        Wrong("threads_alone", "The threads trade x and y, the blocks do not: both belong together, x for the column "
              "and y for the row."),
        Wrong("dims_swapped", "A block has blockDim.x columns and blockDim.y rows: here the two trade places."),
        Wrong("blocks_alone", "The blocks trade x and y, the threads do not: threadIdx.x belongs to the column, too."),
        Wrong("pitch_of_B", slips.sentence("B_width_K")),
        Wrong("B_by_columns", slips.sentence("B_transposed")),
        Wrong("C_by_columns", slips.sentence("stored_by_columns")),
        Wrong("pitch_of_A", slips.sentence("A_width_N"), (("A[row * K + k]", "A[row * N + k]"),)),
        Wrong("one_k_too_many", ONE_K_TOO_MANY, (("k < K", "k <= K"),)),
    ),
)  # fmt: skip


PREDICTIONS = (predict_naive_load, predict_gain, predict_gap)
QUESTIONS = ()
EXERCISES = (COALESCED, STRIDED_SECTORS, NARROW_BLOCK, COLUMN_MAJOR)
