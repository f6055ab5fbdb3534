"""What is wrong with a picture: letters cut off by an edge, and letters over each other."""

import numpy as np

from helpers.pictures import theme
from helpers.pictures.faults import faults


def figure(*texts, **axis):
    drawn = theme.Figure(2.0, "A caption that states 3 numbers.")
    for x, y, words in texts:
        drawn.text(x, y, words, fontsize=12)
    if axis:
        axes = drawn.axes_in_inches(1.0, 0.5, 7.0, 1.0)
        axes.set(**axis)
    return drawn


def test_texts_apart_and_an_axis_have_no_fault():
    assert faults(figure((0.1, 0.9, "left"), (0.7, 0.9, "right"), xlim=(0, 1), xscale="linear")) == []


def test_numbers_beyond_an_axis_end_are_not_drawn():
    assert faults(figure(xscale="log", xlim=(0.9, 11), xticks=[1e-3, 1, 10, 1e6])) == []


def test_letters_cut_by_the_edge_are_named():
    (cut, ink) = faults(figure((0.9, 0.5, "far to the right")))
    assert (cut, ink) == ("“far to the right” is cut off at the edge", "ink reaches its right edge")


def test_letters_over_letters_are_named_with_both():
    assert faults(figure((0.1, 0.5, "under"), (0.11, 0.51, "over"))) == ["“under” and “over” lie over each other"]


def test_ink_that_is_no_text_is_seen_at_the_edge():
    drawn = figure()
    drawn.add_axes((0.0, 0.4, 0.5, 0.3)).imshow(np.zeros((2, 9)), cmap="gray", aspect="auto")
    assert "ink reaches its left edge" in faults(drawn)
