"""Picture 11: the landscape of configurations."""

import pytest

from helpers.pictures import theme
from helpers.pictures.tuning import figure as picture
from helpers.pictures.tuning.facts import Configuration, Landscape
from helpers.pictures.tuning.figure import landscape_figure, landscapes_figure
from tests.pictures.facts_data import MEASURED, RULE, predicted
from tests.pictures.figure_data import boxes_of, plain


def boxes(drawn, label: str) -> list[tuple[float, float]]:
    """Left upper corners in pixels."""
    return [tuple(corners.min(axis=0)) for corners in boxes_of(drawn, label)]


def test_forbidden_cells_are_hatched_and_the_best_is_framed():
    drawn = landscape_figure(MEASURED, "BM", "WM", "gflops")
    left, top = picture.MAP_X, picture.MAP_Y
    width, height = picture.MAP_WIDTH / 2, picture.MAP_HEIGHT / 2
    assert boxes(drawn, "forbidden") == [(left + width, top + height)]
    assert boxes(drawn, "best cell") == [(left, top + height)]
    assert len(boxes(drawn, "cells")) == 3


def test_the_best_cell_of_a_cost_is_the_smallest():
    drawn = landscape_figure(MEASURED, "BM", "WM", "floats_a_fma")
    assert boxes(drawn, "best cell") == [(picture.MAP_X + picture.MAP_WIDTH / 2, picture.MAP_Y)]


def test_dots_are_coloured_by_limiter_at_the_height_of_speed():
    dots = landscape_figure(MEASURED, "BM", "WM", "gflops").axes[1]
    rings = {line.get_label(): line.get_ydata().tolist() for line in dots.lines[-2:]}
    assert rings == {"first guess": [1000.0], "best": [3000.0]}
    by_label = {line.get_label(): (line.get_color(), sorted(line.get_ydata())) for line in dots.lines[:-2]}
    assert by_label == {
        "registers": (theme.WARP, [1000.0, 3000.0]),
        "warps": (theme.C, [1500.0]),
        "spills": (theme.TROUBLE, [2000.0]),
    }
    assert all(abs(x / 16 - 1) < 0.04 or abs(x / 32 - 1) < 0.04 for line in dots.lines for x in line.get_xdata())


def test_search_caption_compares_the_best_with_the_first_guess():
    assert plain(picture.caption(MEASURED, "gflops")) == (
        "4 configurations were measured; the best reaches 3 000 GFLOPS, 3 times the first guess "
        "(recorded on a GPU): BM 64, WM 64."
    )


def test_best_that_is_the_first_guess_or_no_faster_shows_no_gain():
    guess = Configuration({"BM": 64, "WM": 32}, "", predicted(4, 16.0), 1000.0)
    other = Configuration({"BM": 128, "WM": 32}, "", predicted(4, 16.0), 1004.0)
    alone = Landscape("k", "a GPU", (guess,), guess.params, "recorded on a GPU")
    assert "1 000 GFLOPS, and is the first guess (recorded on a GPU)" in plain(picture.caption(alone, "gflops"))
    both = Landscape("k", "a GPU", (guess, other), guess.params, "recorded on a GPU")
    assert "1 004 GFLOPS, as fast as the first guess (recorded on a GPU)" in plain(picture.caption(both, "gflops"))


def test_prediction_caption_says_that_nothing_was_measured():
    caption = plain(picture.caption(MEASURED, "occupancy"))
    assert caption == (
        "4 of 6 configurations are legal; 50 % of those are limited by registers. Predicted, not measured: "
        "the best has 12.5 % of an SM's warps, with BM 128, WM 32."
    )


def test_without_measurements_legal_cells_are_empty():
    nothing = Landscape("k", "a GPU", (Configuration({"BM": 64, "WM": 64}, "", predicted(4, 16.0)),), {})
    drawn = landscape_figure(nothing, "BM", "WM", "gflops")
    assert "none of them was measured" in drawn.caption
    assert len(boxes(drawn, "not measured")) == 1
    assert not boxes(drawn, "forbidden") and not boxes(drawn, "cells")


def test_the_rule_that_forbids_most_is_quoted():
    said = f"Forbids most, 2: “{RULE}”"
    assert said in [text.get_text() for text in landscape_figure(MEASURED, "BM", "WM", "intensity").axes[0].texts]
    searched = landscape_figure(MEASURED, "BM", "WM", "gflops")
    assert said not in [text.get_text() for text in searched.axes[0].texts]  # a search looks in another space


def test_an_axis_cannot_be_both():
    with pytest.raises(ValueError, match="BM cannot be both"):
        landscape_figure(MEASURED, "BM", "BM", "gflops")


def test_the_twin_has_a_map_for_each_pair():
    drawn = landscapes_figure(MEASURED, (("BM", "WM"), ("WM", "BM")), "gflops", "t")
    assert len(boxes(drawn, "best cell")) == 2
    with pytest.raises(ValueError, match="Between 1 and 3"):
        landscapes_figure(MEASURED, (), "gflops", "t")
