"""A diagnosis is given when a known slip reproduces every result bit for bit, and only then."""

import contextlib
import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from helpers.exercises.framework import judge, slips, trial
from helpers.exercises.framework.gemm import Gemm, shapes_that_tell
from helpers.exercises.framework.problems import NotApplicable
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.trial import Outcome
from helpers.run import simulated

PROBLEM = Gemm("sgemm", (64,), (32, 32), Tiles(BM=32, BN=32, BK=8, TM=4, TN=4))


def outcomes(name: str, problem: Gemm = PROBLEM) -> list[Outcome]:
    """What a kernel with this slip, or with these two joined by +, would leave."""
    chosen = list(slips.RIGHT)
    for part in filter(None, name.split("+")):
        slip = slips.ALL[part]
        kind = next(n for n, some in enumerate((slips.PRODUCTS, slips.EPILOGUES, slips.STORES)) if slip in some)
        chosen[kind] = slip
    results = []
    for case in problem.cases:
        setup = problem.prepare(case)
        try:
            result = slips.result(chosen, problem._inputs(case), case.launches)
        except slips.LeavesArrays:
            results.append(Outcome(case, None, setup.expected, judge.OutOfBounds("outside")))
        else:
            results.append(Outcome(case, result, setup.expected))
    return results


SQUARE = Gemm("sgemm", (16, 16), (16, 16), Tiles(BM=16, BN=16, BK=16))  # one element for each thread of a tile
ONLY_STOPPED = ("A_width_M", "row_col_swapped")  # right, or outside of the arrays: no value says which slip it was
OF_SQUARE_TILES = ("row_x_of_As", "column_y_of_Bs", "As_read_transposed", "Bs_read_transposed")


def claims(results: list[Outcome], problem: Gemm = PROBLEM) -> tuple[str, ...]:
    return judge.library_slips(results, problem)


def said(*names: str, results: Sequence[Outcome] = ()) -> tuple[str, ...]:
    what = judge.SAME_WHERE_ENDED if any(outcome.error for outcome in results) else judge.SAME
    return (judge.as_slip(*map(slips.sentence, names), what=what),)


@pytest.mark.parametrize("name", slips.ALL)
def test_each_slip_is_recognised_by_what_it_leaves(name):
    problem = SQUARE if name in OF_SQUARE_TILES else PROBLEM
    results = outcomes(name, problem)
    assert any(not outcome.passed for outcome in results)
    assert claims(results, problem) == (said(name, results=results) if name not in ONLY_STOPPED else ())


def test_no_two_slips_leave_the_same_in_every_case():
    for problem in (PROBLEM, SQUARE):
        left = {}
        for name in slips.ALL:
            with contextlib.suppress(NotApplicable):
                left[name] = tuple(outcome.signature for outcome in outcomes(name, problem))
        same = [pair for pair in itertools.combinations(left, 2) if left[pair[0]] == left[pair[1]]]
        assert same == []


@pytest.mark.parametrize(
    "pair",
    ["last_k_missing+beta_ignored", "B_transposed+alpha_twice", "tail_of_k_missing+tail_rows_unwritten",
     "alpha_ignored+last_column_unwritten"],
)  # fmt: skip
def test_two_slips_together_are_both_named(pair):
    assert claims(outcomes(pair)) == said(*pair.split("+"))


@pytest.mark.parametrize("seed", range(10))
def test_one_more_wrong_element_withdraws_the_claim(seed):
    random = np.random.default_rng(seed)
    name = random.choice([slip for slip in slips.ALL if slip not in OF_SQUARE_TILES])
    results = outcomes(name)
    number = int(
        random.choice(
            [n for n, outcome in enumerate(results) if outcome.output is not None and outcome.output.size > 1]
        )
    )
    spoilt = results[number].output.copy()
    spoilt.reshape(-1)[random.integers(spoilt.size)] += np.float32(0.125)
    spoilt = np.where(np.isnan(spoilt), np.float32(1), spoilt) if np.isnan(spoilt).all() else spoilt
    if np.array_equal(spoilt, results[number].output, equal_nan=True):
        spoilt.reshape(-1)[0] = 1.0
    results[number] = Outcome(results[number].case, spoilt, results[number].expected)
    assert claims(results) == ()


def test_values_do_not_explain_what_stopped_for_another_reason():
    results = outcomes("last_k_missing")
    results[0] = Outcome(results[0].case, None, results[0].expected, judge.StepLimitExceeded("still running"))
    assert claims(results) == ()


def test_kernel_without_tiles_gets_no_explanation_about_tiles():
    problem = Gemm("sgemm", (16, 8), (8, 16), Tiles())
    results = [
        Outcome(case, problem.prepare(case).expected * 0, problem.prepare(case).expected) for case in problem.cases
    ]
    assert all("tile" not in sentence for sentence in claims(results, problem))


def test_every_sum_is_exact_in_float32():
    for case in PROBLEM.cases:
        exact = slips.RIGHT[1].formula(PROBLEM._inputs(case), slips.product(PROBLEM._inputs(case)))
        if case.launches == 1:
            assert np.array_equal(exact, PROBLEM.prepare(case).expected.astype(np.float64))
        inputs = PROBLEM._inputs(case)
        largest = np.abs(inputs.A) @ np.abs(inputs.B) * 64  # in units of the smallest product
        assert largest.max() < 2**20  # four bits are left for alpha and beta


def test_shapes_have_tails_single_rows_and_no_two_equal_sizes():
    for BM, BN, BK in ((8, 16, 8), (16, 16, 16), (64, 32, 8), (32, 32, 8)):
        shapes = shapes_that_tell(BM, BN, BK)
        assert all(len({M, N, K}) == 3 for M, N, K in shapes if (M, N, K) != (1, 1, 1))
        assert any(M % BM and N % BN and K % BK for M, N, K in shapes)
        assert any(M == 1 < N for M, N, _ in shapes) and any(N == 1 < M for M, N, _ in shapes)
        assert any(K == 1 for _, _, K in shapes) and (1, 1, 1) in shapes
        assert any(M > N for M, N, _ in shapes) and any(M < N for M, N, _ in shapes)


# ---- what the library says that a slip leaves is what a kernel with it leaves

KERNEL = """extern "C" __global__ void sgemm(int M, int N, int K, float alpha, const float *A, const float *B,
                                 float beta, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (GUARD) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + col]);
    }
}"""


@pytest.mark.parametrize(
    ("name", "guard"),
    [
        ("nothing_stored", "row < 0"),
        ("last_row_unwritten", "row < M - 1 && col < N"),
        ("last_column_unwritten", "row < M && col < N - 1"),
        ("last_row_and_column_unwritten", "row < M - 1 && col < N - 1"),
        ("first_row_unwritten", "0 < row && row < M && col < N"),
        ("first_column_unwritten", "row < M && 0 < col && col < N"),
    ],
)
def test_a_kernel_with_the_slip_leaves_what_the_library_says(name, guard):
    kernel = simulated(KERNEL.replace("GUARD", guard), SQUARE.entry)
    assert claims([trial.run(kernel, SQUARE, case) for case in SQUARE.cases], SQUARE) == said(name)
