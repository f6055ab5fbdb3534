"""The questions of notebook 14: shares from the recordings, blocks for SMs, and the order of the tiles."""

import pytest

from helpers.exercises import n14
from helpers.exercises.framework import judge
from helpers.run import simulated


def test_the_prediction_s_answer_agrees_with_the_counted_wins():
    prediction = n14.predict_wins()
    won = sum(share > 1 for share in n14.shares().values())
    assert str(won) in prediction.reasons[prediction.answer]
    assert (prediction.answer == "at none") is (won == 0)


@pytest.mark.parametrize(
    ("answer", "passed", "says"),
    [
        (None, None, "Not answered yet"),
        (51.4, True, "51.4 %: right."),
        (51, True, "51 %: right."),
        (25.7, False, "A multiply-add counts as two"),
        (26, False, "it is more"),
        (103, False, "The peak counts a multiply-add as two"),
        (0.5136, False, "a percentage is 100 times as much"),
        (83, False, "an old card"),
        (60, False, "it is less than that"),
    ],
)
def test_share_of_the_peak_must_be_within_half_a_per_cent(answer, passed, says):
    verdict = n14.check_share(answer)
    assert verdict.passed is passed and says in verdict.sentence


def test_one_step_below_the_smallest_full_size_an_sm_is_idle():
    size = n14.smallest_full()
    rows, columns = n14.KERNEL.tile
    assert n14.check_full(size).passed
    assert n14.check_full(size - 256).passed is False
    assert (size - 256) // rows * ((size - 256) // columns) < n14.DEVICE.sms


@pytest.mark.parametrize(("rows", "passed"), [(None, None), (1, False), (4, False), (16, True), (65, False)])
def test_rows_that_make_the_running_blocks_nearly_square_pass(rows, passed):
    assert n14.check_group(rows).passed is passed


def test_order_is_not_explained_by_another_of_equal_tile_count():
    verdict = n14.RASTER.check(n14.RASTER.solved.replace("#define GROUP 4", "#define GROUP 2"))
    assert "10 rows and columns of tiles" in verdict.sentence
    assert "tiles of rows 0 and 1 and columns 0 to 7." in verdict.sentence and "whole columns" not in verdict.sentence


def test_the_picture_of_an_order_counts_what_the_goal_counts():
    raster, (goal,) = n14.RASTER, n14.RASTER.goals
    kernel = simulated(raster.wrong_source(raster.wrong[1]), raster.problem.entry)  # down whole columns
    count = goal.measure(judge.measured(kernel, raster.problem, raster.judged))
    assert count > goal.limit and f", {count} together." in raster.picture(kernel, raster.problem).caption


def test_shares_cover_every_iteration_once_and_differ_by_one():
    for case in n14.SHARES.problem.cases:
        tiles, steps, blocks = (case.sizes[name] for name in ("tiles", "steps", "blocks"))
        shares = [n14._share(tiles, steps, blocks, block) for block in range(blocks)]
        covered = [(piece.tile, step) for share in shares for piece in share for step in range(piece.first, piece.last)]
        assert covered == [(tile, step) for tile in range(tiles) for step in range(steps)]
        lengths = [sum(piece.steps for piece in share) for share in shares]
        assert max(lengths) - min(lengths) <= 1


def test_classes_are_disjoint_and_large_shapes_win_by_less():
    by_class = n14.classes()
    assert sorted(sum(by_class.values(), [])) == sorted(n14.shares())
    mean = {name: n14.mean_of(n14.shares()[shape] for shape in shapes) for name, shapes in by_class.items()}
    assert mean["large, rows not aligned"] < 1 < mean["large, rows aligned"] < 1.1 < 1.3 < mean["small"]
