"""Pictures of notebook 15: who holds which element, a number bit by bit, and the roofs."""

import numpy as np
import pytest

from helpers.pictures.bits.figure import Row, bits_figure
from helpers.pictures.fragments.figure import NO_LANE, Part, map_figure, product_figure
from helpers.pictures.roofs.figure import Dot, Roofs, roofs_columns_figure, roofs_figure


def part(name: str, rows: int, columns: int, lane: int = 0) -> Part:
    return Part(name, np.full((rows, columns), lane), np.zeros((rows, columns), int))


def artist(figure, label: str):
    (artist,) = [child for axes in figure.axes for child in axes.get_children() if child.get_label() == label]
    return artist


def test_a_product_frames_what_the_lane_holds_and_counts_it():
    a, b, c = part("A", 16, 8), part("B", 8, 8), part("C", 16, 8)
    a.lane[3, 4] = b.lane[1, 1] = b.lane[5, 1] = 7
    figure = product_figure(a, b, c, 7, "a product")
    assert figure.caption == "Lane 7 brings 1 elements of A and 2 of B, and holds 0 of C."
    framed = [artist for artist in figure.axes[0].get_children() if artist.get_label() == "framed"]
    assert sorted(len(artist.get_paths()) for artist in framed) == [1, 2]


def test_learners_map_is_framed_where_it_is_not_the_instructions():
    given = part("A", 16, 8)
    mine = part("A", 16, 8)
    assert "all 128 elements" in map_figure(mine, given, "maps").caption
    mine.lane[2, 3], mine.register[4, 5] = NO_LANE, 1
    figure = map_figure(mine, given, "maps")
    assert figure.caption.startswith("2\N{NO-BREAK SPACE}elements of 128")
    framed = [artist for artist in figure.axes[0].get_children() if artist.get_label() == "framed"]
    assert [len(artist.get_paths()) for artist in framed] == [2, 2]


def test_the_flipped_bit_is_framed_in_the_formats_that_have_it():
    fp32 = Row("FP32", "0 10000000 10010010000111111011011", 3.14, ("fraction", 9))
    rows = [fp32, Row("E4M3", "0 1000 101", 3.25, None)]
    figure = bits_figure(rows, "a number", "its bits")
    (flipped,) = [artist for artist in figure.axes[0].get_children() if artist.get_label() == "flipped"]
    fraction = [artist for artist in figure.axes[0].get_children() if artist.get_label() == "fraction"][0]
    assert np.allclose(flipped.get_paths()[0].vertices[:4], fraction.get_paths()[9].vertices[:4])


@pytest.mark.parametrize("memory", [4.8, 0.3])
def test_each_roof_begins_where_memory_reaches_it(memory):
    data = Roofs("X1", memory, {"FP32": 60.0, "BF16": 600.0, "FP16": 600.0}, {"BF16": 400.0})
    figure = roofs_figure(data, "roofs")
    for label, tflops in (("FP32", 60.0), ("BF16/FP16", 600.0), ("BF16 mma.sync", 400.0)):
        x, y = artist(figure, label).get_data()
        assert x[0] * memory == pytest.approx(tflops) and set(y) == {tflops}
    assert f"FP32\u00a0{60 / memory:.0f}, BF16/FP16\u00a0{600 / memory:.0f}" in figure.caption


def test_a_multiplication_stands_at_its_intensity_and_speed():
    figure = roofs_figure(Roofs("X1", 1.0, {"FP8": 60.0}, {}, (Dot("FP8", "cuBLAS", 42.0, 50.0),)), "roofs")
    assert [value.tolist() for value in map(np.asarray, artist(figure, "FP8 cuBLAS").get_data())] == [[42.0], [50.0]]


def test_roofs_side_by_side_have_the_same_axes():
    several = [Roofs(name, 1.0, {"FP16": tflops}, {}) for name, tflops in (("X1", 10.0), ("X2", 1000.0))]
    figure = roofs_columns_figure(several, "roofs")
    assert len({axes.get_ylim() for axes in figure.axes[1:]}) == 1
    assert figure.caption.endswith("10 (X1), 1000 (X2).")
