"""Kernels by occupancy and speed."""

import pytest

from helpers.pictures.occupancy.speed_figure import Dot, occupancy_speed_figure

DOTS = [Dot("full", 1.0, 900.0), Dot("fuller", 1.0, 800.0), Dot("lean", 0.125, 4000.0)]


def test_the_caption_sets_the_fastest_against_the_fullest():
    caption = occupancy_speed_figure(DOTS, "three", "recorded on a GPU").caption.replace("\u202f", " ")
    assert caption == (
        "The fastest, lean, has 12.5 % occupancy and reaches 4 000 GFLOPS (recorded on a GPU). "
        "At 100 % the fastest is full, with 900."
    )


def test_every_kernel_is_a_dot_and_captioned_ones_have_names():
    axes = occupancy_speed_figure(DOTS, "three", "here", named=("lean",)).axes[0]
    (dots,) = axes.get_lines()
    assert sorted(zip(dots.get_xdata(), dots.get_ydata(), strict=True)) == [(12.5, 4000), (100, 800), (100, 900)]
    assert [text.get_text() for text in axes.texts] == ["lean", "full"]


def test_names_of_neighbouring_dots_are_moved_apart():
    axes = occupancy_speed_figure([*DOTS, Dot("near", 1.0, 901.0)], "four", "here").axes[0]
    heights = {}
    for text in axes.texts:
        pixel = axes.transData.transform(text.xy)[1] + text.get_position()[1] * axes.figure.dpi / 72
        heights[text.get_text()] = pixel * 72 / axes.figure.dpi
    ordered = [heights[name] for name in ("fuller", "full", "near")]
    assert all(after - before > 12 for before, after in zip(ordered, ordered[1:], strict=False))


def test_the_fullest_that_is_the_fastest_is_said_to_be_so():
    drawn = occupancy_speed_figure([Dot("a", 1.0, 9.0), Dot("b", 0.5, 3.0)], "two", "here")
    assert drawn.caption.endswith("It is the fullest, too.")


def test_one_dot_compares_nothing():
    with pytest.raises(ValueError, match="at least two"):
        occupancy_speed_figure(DOTS[:1], "one", "here")


def test_names_of_crowded_dots_stand_apart_and_inside_the_axes():
    crowd = [Dot(f"k{number}", 0.25, 4000 - number) for number in range(12)] + [Dot("other", 0.5, 100)]
    axes = occupancy_speed_figure(crowd, "many", "here").axes[0]
    unit = 3.1 * 72 / sum(map(abs, axes.get_ylim()))
    names = [text for text in axes.texts if text.get_text() != "other"]
    heights = sorted(text.xy[1] * unit + text.xyann[1] for text in names)
    assert min(b - a for a, b in zip(heights, heights[1:], strict=False)) >= 12.99
    assert heights[-1] <= axes.get_ylim()[1] * unit - 6
