"""Notebook 16: what must come out at every length, how slips are told apart, and what decides its predictions."""

import numpy as np
import pytest

from helpers import run
from helpers.exercises import n16, reductions
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.problems import Case
from helpers.exercises.n16 import arrays
from helpers.exercises.n16.predictions import in_orders, numbers

BLANKS = [exercise for exercise in n16.EXERCISES if isinstance(exercise, Blank)]


def test_the_learner_writes_sixty_lines_in_nine_blanks():
    assert len(BLANKS) == 9 and sum(blank.lines for blank in BLANKS) >= 60


@pytest.mark.parametrize("blank", BLANKS, ids=lambda blank: blank.name)
def test_a_blank_knows_eight_slips_and_odd_and_tiny_lengths(blank):
    assert len(blank.wrong) >= 8
    lengths = {case.sizes["n"] for case in blank.problem.cases}
    assert any(n % 32 for n in lengths) and min(lengths) < 40


@pytest.mark.parametrize(
    ("x", "at"),
    [
        ([3, 1, 2, 1], 1),  # ties go to the smallest index
        ([np.nan, 5, np.nan, 4], 3),
        ([np.nan, np.nan], arrays.NOT_THERE),
        ([np.nan, np.inf, np.inf], 1),  # infinity is a number
        ([-0.0, 0.0], 0),
    ],
)
def test_argmin_follows_the_stated_rules(x, at):
    assert arrays.argmin(np.array(x, np.float32)) == at


def test_minimum_stands_several_times_beyond_the_first_elements():
    problem = n16.ARGMIN.problem
    places = [int(problem.prepare(case).expected[0]) for case in problem.cases]
    assert max(places) >= 128 and arrays.NOT_THERE in places
    x = arrays.few_values(problem.cases[1])
    assert np.count_nonzero(x == x.min()) > 1


def test_sums_of_the_inputs_are_exact_in_any_order():
    x = arrays.floats(Case({"n": 2304}))
    exact = x.sum(dtype=np.float64)
    assert np.cumsum(x, dtype=np.float32)[-1] == np.cumsum(x[::-1], dtype=np.float32)[-1] == exact


def test_a_missing_fence_is_named_with_both_lines():
    sentence = n16.without_fence()
    assert "parts[blockIdx.x] = v" in sentence and "put __threadfence() behind line" in sentence


def test_a_barrier_in_a_comment_is_not_remarked_on():
    lockstep = n16.LOCKSTEP.solved
    assert "is enough here" not in n16.LOCKSTEP.check(f"// no __syncthreads() is needed\n{lockstep}").sentence
    assert "is enough here" in n16.LOCKSTEP.check(lockstep.replace("__syncwarp", "__syncthreads")).sentence


def test_the_predictions_are_answered_by_what_was_executed():
    assert n16.predict_banks().answer == 4
    assert n16.predict_paths().answer.startswith("41 instructions")
    assert n16.predict_bits().answer == "5 different results"


def test_a_tree_is_nearer_than_one_long_sum():
    x = numbers()
    sums, exact = in_orders(x), x.sum(dtype=np.float64)
    errors = {name: abs(total - exact) for name, total in sums.items()}
    assert min(errors, key=errors.get) == "halves, as a tree"
    assert 50 * errors["halves, as a tree"] < errors["first to last"]


@pytest.mark.parametrize(("answer", "passed"), [(None, None), (1056, True), (2**26, False), (8448, False)])
def test_atomics_are_counted_by_block(answer, passed):
    assert n16.check_atomics(answer).passed is passed


# --- the kernels at the speed of memory


def launched(entry: str, n: int, x: np.ndarray, *more: np.ndarray, grid: int = 3, threads: int = 512) -> None:
    kernel = run.simulated(reductions.FAST.read_text(encoding="utf-8"), entry)
    report = run.checked(kernel, (grid,), (threads,), (np.int32(n), x, *more))
    assert report.findings == ()


@pytest.mark.parametrize(("n", "begin"), [(1, 0), (127, 1), (6151, 0), (13000, 1)])
def test_fast_kernels_are_right_for_any_length_and_alignment(n, begin):
    x = arrays.values(1, n + begin, 3)[0][begin:]
    whole = np.random.default_rng(n).integers(0, reductions.FAST_BINS, n + begin).astype(np.int32)[begin:]
    parts, arrived, total = np.zeros(3, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)
    launched("sum", n, x, parts, arrived, total)
    assert total[0] == x.sum(dtype=np.float64) and arrived[0] == 0
    best, bins = np.full(1, 2**64 - 1, np.uint64), np.zeros(256, np.int32)
    launched("argmin", n, x, best)
    assert int(best[0]) & 0xFFFFFFFF == x.argmin()
    launched("histogram", n, whole, bins)
    assert (bins == np.bincount(whole, minlength=256)).all()


@pytest.mark.parametrize("way", [reductions.FASTEST_SCAN, reductions.Scan(128, 2)])
@pytest.mark.parametrize(("n", "begin"), [(1, 0), (127, 1), (13000, 0), (9001, 1)])
def test_a_scan_is_right_for_any_length_and_alignment(way, n, begin):
    x, y = arrays.values(1, n + begin, 3)[0][begin:], np.zeros(n, np.float32)
    published, taken = np.zeros(way.tiles(n), np.uint64), np.zeros(1, np.uint32)
    for launch in range(2):  # the second finds what the first has published
        x[n // 2] += launch
        launched(way.entry, n, x, y, published, taken, np.uint32(launch), grid=way.tiles(n), threads=way.threads)
        assert (y == np.cumsum(x, dtype=np.float64)).all()


def test_fast_argmin_skips_nan_and_takes_the_first_of_equals():
    x = np.array([np.nan, 0.0, -0.0, np.nan, 3.0], np.float32)
    best = np.full(1, 2**64 - 1, np.uint64)
    launched("argmin", 5, x, best)
    assert int(best[0]) & 0xFFFFFFFF == 1
    best[0] = 2**64 - 1
    launched("argmin", 2, np.full(2, np.nan, np.float32), best)
    assert int(best[0]) == 2**64 - 1
