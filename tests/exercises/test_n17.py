"""Notebook 17: what must come out, how a pair is judged, and how pairs are drawn."""

import numpy as np
import pytest

from gemm_kernels import get
from helpers import run
from helpers.exercises import n17, smallest
from helpers.exercises.framework.problems import Case
from helpers.exercises.n17 import explorer, matrices, pictures
from helpers.exercises.n17.matrices import NOWHERE, two_smallest
from helpers.pictures.pairs.facts import DONE, FIRST, SECOND

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("elements", "pair"),
    [
        ([[3, 1, 2]], [1, 1, 2, 2]),
        ([[1, 1, 1]], [1, 0, 1, 1]),  # ties go to the smallest place
        ([[NAN, 5, NAN, 4]], [4, 3, 5, 1]),
        ([[7]], [7, 0, INF, NOWHERE]),  # M * N = 1 has one answer
        ([[NAN]], [INF, NOWHERE, INF, NOWHERE]),
        ([[INF, INF]], [INF, 0, INF, 1]),  # infinity is a number
        ([[0.0], [-0.0]], [0, 0, 0, 1]),
    ],
)
def test_the_expected_pair_follows_the_stated_rules(elements, pair):
    C = np.array(elements, np.float32)
    assert two_smallest(C, np.zeros(C.shape, int), 1)[0].tolist() == pair
    answer = smallest.pair_of(C)
    assert [*answer.values, *answer.places] == [pair[0], pair[2], pair[1], pair[3]]


def test_groups_share_out_all_elements_of_c():
    row, col = np.ogrid[:70, :150]
    for level, size in ((matrices.THREAD, 16), (matrices.WARP, 512), (matrices.BLOCK, 2048)):
        group = level.group(row, col, 3)
        assert group.shape == (70, 150) and np.bincount(group.ravel()).max() == size
        assert group.max() < level.groups(9)


def test_both_smallest_stand_in_one_patch_where_a_case_says_so():
    case = Case({"M": 90, "N": 180, "K": 5, matrices.NEIGHBOURS: 1})
    places_read = pictures.Places(case)
    (_, at), (_, then) = places_read.winners
    assert at - then == 1 and places_read.owner(at) == places_read.owner(then)


@pytest.mark.parametrize("step", n17.STEPS, ids=lambda step: step.name)
def test_a_step_knows_slips_and_the_cases_that_find_them(step):
    assert len(step.wrong) >= 14
    names = {name for case in step.problem.cases for name in case.sizes}
    assert names >= {matrices.NEIGHBOURS, matrices.EQUAL, matrices.NAN_ROWS, matrices.INFINITE}
    assert any(case.sizes["M"] * case.sizes["N"] == 1 for case in step.problem.cases)


def test_what_is_judged_are_values_places_and_the_count():
    problem = n17.TWO_OF_ALL.problem
    setup = problem.prepare(problem.cases[0])
    *_, arrived, value, destination = setup.args
    value[0], destination[0], arrived[0] = (1.5, 2.5), (7, 9), 3
    assert setup.left(setup.args).tolist() == [1.5, 7, 2.5, 9, 3]
    assert [setup.place_of(element) for element in range(5)] == [(7, 0), (8, 0), (7, 4), (8, 4), (6, 0)]
    assert problem.index((3,)) == ("second, place",) and problem.index((4,)) == ("the count of blocks",)


def test_the_first_wrong_number_is_named_with_its_thread():
    step = n17.TWO_OF_THREAD
    slip = next(slip for slip in step.wrong if slip.version == "rows_of_m")
    sentence = step.check(step.wrong_source(slip)).sentence
    assert slip.because in sentence and "the pair[thread 0, smallest, place] is 97, expected 193" in sentence


def test_no_block_stores_c_and_the_time_is_that_of_the_product():
    verdict = n17.TWO_OF_ALL.check(n17.TWO_OF_ALL.solved)
    assert verdict.passed and "sectors stored: done" in verdict.sentence
    assert "times the product alone, predicted at M = N = K = 1024: done" in verdict.sentence


@pytest.mark.parametrize("step", n17.STEPS[1:], ids=lambda step: step.name)
def test_the_goal_of_stored_sectors_leaves_no_room_for_c(step):
    sizes = step.judged.sizes
    assert step.goals[0].what == "sectors stored" and step.goals[0].limit < sizes["M"] * sizes["N"] * 4 / 32


# --- pictures


def journey(levels=tuple(pictures.LEVELS)):
    kernel = run.simulated(n17.TWO_OF_ALL.solved, "two_smallest")
    drawn = pictures.Places()
    recording = pictures.trial.record(kernel, n17.TWO_OF_ALL.problem.prepare(pictures.SHAPE))
    return drawn, {name: pictures.LEVELS[name](kernel, recording, drawn) for name in levels}


def test_both_of_c_arrive_in_thread_0_of_the_last_block():
    steps, levels = journey()
    assert [len(level.moves) for level in levels.values()] == [5, 3, 5]
    assert levels["the grid"].rows[-1].holds == (FIRST | SECOND, *(DONE,) * 8)
    flat = steps.C.ravel()
    assert steps.winners == tuple((flat[at], at) for at in np.argsort(flat, kind="stable")[:2].tolist())


@pytest.mark.parametrize("elements", list(explorer.C))
def test_every_setting_of_the_explorer_shows_a_picture(elements):
    for level in pictures.LEVELS:
        assert explorer.picture_of(explorer.Choice(elements, level)).caption.startswith("The smallest, ")


def test_a_kernel_without_a_tree_gets_a_sentence():
    slip = next(slip for slip in n17.TWO_OF_WARP.wrong if slip.version == "starts_at_eight")
    source = n17.TWO_OF_WARP.wrong_source(slip)
    assert "make no tree" in n17.TWO_OF_WARP.show(source).sentence


# --- questions and the score


@pytest.mark.parametrize(("answer", "passed"), [(None, None), (131072, True), (67108864, False), (8192, False)])
def test_bytes_that_blocks_leave_are_counted(answer, passed):
    assert n17.check_written(answer).passed is passed


def test_predictions_are_answered_by_what_is_known():
    assert n17.predict_merge().answer == "2 and 4"
    assert n17.predict_length().answer == "less than 2 %"


def test_a_score_is_a_time_or_the_verdict_on_a_wrong_kernel():
    assert "Score " in n17.score(n17.TWO_OF_ALL.solved).sentence
    wrong = n17.TWO_OF_ALL.solved.replace("gridDim.x * gridDim.y", "gridDim.x")
    assert n17.score(wrong).passed is False


def test_what_is_given_is_found_by_its_name():
    assert "struct Two" in n17.given("pair.cuh").source
    with pytest.raises(LookupError, match="product.cuh"):
        n17.given("two.cuh")


# --- the fused kernel of the course

SMALL = {  # tiles that blocks share; on a GPU `smallest.verified` also shares their k out to slices
    "BM": 32, "BN": 32, "BK": 8, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "SLICES": 1, "STAGES": 3, "BLOCKS": 1,
    "WORKERS": 3, "LOOPS": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def fused():
    return smallest.Fused(get("stream_k", **SMALL), run.simulated, on_host=True)


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 70, 9), (100, 36, 20), (5, 1, 3)])
@pytest.mark.parametrize("kind", [smallest.TIES, smallest.NANS])
def test_the_fused_kernel_finds_both_without_a_hazard(fused, shape, kind):
    A, B = (np.round(8 * matrix) / 8 for matrix in smallest.inputs(kind, *shape))
    with np.errstate(invalid="ignore"):
        expected = smallest.pair_of(A @ B)
    for _ in range(2):  # the count is left as it was found
        values, places = np.full(2, NAN, np.float32), np.full(2, 12345, np.int64)
        grid, block, arguments, shared_bytes = fused.arguments(*shape, A, B, values, places)
        report = run.checked(fused._compiled, grid, block, arguments, shared_bytes)
        assert report.findings == ()
        assert smallest.Pair(tuple(values.tolist()), tuple(places.tolist())) == expected


def test_second_kernel_finds_both_at_any_alignment_of_the_array():
    C = matrices.values(1, 6151, 3)[0]
    of_array = smallest.OfArray(3, run.simulated, on_host=True)
    for begin in (0, 1):
        values, places = np.full(2, NAN, np.float32), np.full(2, 12345, np.int64)
        of_array(C[begin:].copy() if begin else C, values, places)
        assert smallest.Pair(tuple(values.tolist()), tuple(places.tolist())) == smallest.pair_of(C[begin:])
