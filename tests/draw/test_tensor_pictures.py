"""Pictures of notebook 15: who holds which element, a number bit by bit, and four roofs."""

import numpy as np
import pytest

from helpers.draw.bits import Row, bits_figure
from helpers.draw.fragments import NOBODY, Part, map_figure, product_figure
from helpers.draw.roofs import Dot, Roof, roofs_figure


def part(name: str, rows: int, columns: int, lane: int = 0) -> Part:
    return Part(name, np.full((rows, columns), lane), np.zeros((rows, columns), int))


def artist(figure, label: str):
    (found,) = [one for axes in figure.axes for one in axes.get_children() if one.get_label() == label]
    return found


def test_a_product_frames_what_the_lane_holds_and_counts_it():
    a, b, c = part("A", 16, 8), part("B", 8, 8), part("C", 16, 8)
    a.lane[3, 4] = b.lane[1, 1] = b.lane[5, 1] = 7
    figure = product_figure(a, b, c, 7, "a product")
    assert figure.caption == "Lane 7 brings 1 elements of A and 2 of B, and holds 0 of C."
    framed = [one for one in figure.axes[0].get_children() if one.get_label() == "framed"]
    assert sorted(len(one.get_paths()) for one in framed) == [1, 2]


def test_a_learners_map_is_framed_where_it_is_not_the_instructions():
    given = part("A", 16, 8)
    mine = part("A", 16, 8)
    assert "all 128 elements" in map_figure(mine, given, "maps").caption
    mine.lane[2, 3], mine.register[4, 5] = NOBODY, 1
    figure = map_figure(mine, given, "maps")
    assert figure.caption.startswith("2\N{NO-BREAK SPACE}elements of 128")
    framed = [one for one in figure.axes[0].get_children() if one.get_label() == "framed"]
    assert [len(one.get_paths()) for one in framed] == [2, 2]


def test_the_flipped_bit_is_framed_in_the_formats_that_have_it():
    fp32 = Row("FP32", "0 10000000 10010010000111111011011", 3.14, ("fraction", 9))
    rows = [fp32, Row("E4M3", "0 1000 101", 3.25, None)]
    figure = bits_figure(rows, "a number", "its bits")
    (flipped,) = [one for one in figure.axes[0].get_children() if one.get_label() == "flipped"]
    fraction = [one for one in figure.axes[0].get_children() if one.get_label() == "fraction"][0]
    assert np.allclose(flipped.get_paths()[0].vertices[:4], fraction.get_paths()[9].vertices[:4])


@pytest.mark.parametrize("l2", [8.9, 2.4])
def test_each_roof_begins_where_the_l2_cache_reaches_it(l2):
    roofs = [Roof("FP32", 60.0, "", "#000000"), Roof("BF16", 600.0, "", "#000000")]
    figure = roofs_figure(l2, roofs, [Dot("one", 42.0, 50.0, "#000000")], "roofs")
    for roof in roofs:
        x, y = artist(figure, roof.name).get_data()
        assert x[0] * l2 == pytest.approx(roof.tflops) and set(y) == {roof.tflops}
    assert f"FP32\u00a0{60 / l2:.0f}, BF16\u00a0{600 / l2:.0f}" in figure.caption
